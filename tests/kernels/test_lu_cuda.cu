/* Solves with triangular factors on a device against substitution on the host in long double, within a bound that is
 * found along with the answer; in all ways in which blocks wait, with the same bits. */
#include <math.h>
#include <string.h>

#include "data/generate.h"
#include "solvers/precond.h"
#include "spmv/kernel/steps.cuh"
#include "spmv/loop/loop.h"
#include "spmv/precond/lu_cuda.h"
#include "spmv/precond/lu_slices.h"
#include "tests/kernels/lu_shapes.h"
#include "tests/kernels/on_device.h"
#ifdef WR_SIMT
#include "spmv/device/device_memory.h"
#include "tests/simt/simt.h"
#endif

typedef std::vector<double> vec;

/* ---- Substitution on the host ---- */

struct bounded {
  std::vector<long double> value, error; /* the exact result, and what the device's may differ from it */
};

/* x := (given - sum of val * x[col]) * inverse, and its bound. A stored element is rounded to the type (u), a sum of k
 * terms in f64 (v each). A long row is rounded two or three times more. Each rounding is taken as twice its bound, for
 * terms of higher order. */
static void solve_row(long double given, long double given_error, int64_t begin, int64_t end, const int32_t *col,
                      const double *val, long double inverse, long double u, bounded &x, int64_t i) {
  long double sum = given, error = given_error, size = fabsl(given) + given_error, v = DBL_EPSILON / 2;
  for (int64_t k = begin; k < end; k++) {
    long double entry = val[k], most = fabsl(entry) * (fabsl(x.value[(size_t)col[k]]) + x.error[(size_t)col[k]]);
    sum -= entry * x.value[(size_t)col[k]];
    error += fabsl(entry) * x.error[(size_t)col[k]];
    size += most;
  }
  int64_t count = end - begin;
  long double parts = count > WR_LU_LONGEST ? 3 * u : 0;
  error += 2 * (u + parts + (long double)(count + 4) * v) * size;
  x.value[(size_t)i] = sum * inverse;
  x.error[(size_t)i] = fabsl(inverse) * error * (1 + 2 * u) + 2 * (2 * u + v) * (fabsl(sum) + error) * fabsl(inverse);
}

static bounded solve_on_host(const wr_lu &lu, const vec &r, long double u) {
  size_t n = (size_t)lu.n;
  bounded y = {std::vector<long double>(n), std::vector<long double>(n)}, x = y, z = y;
  auto index = [&](int64_t i) { return (size_t)(lu.order ? lu.order[i] : i); };
  for (int64_t i = 0; i < lu.n; i++)
    solve_row(r[index(i)], 0, lu.l_ptr[i], lu.l_ptr[i + 1], lu.l_col, lu.l_val, 1, u, y, i);
  for (int64_t i = lu.n - 1; i >= 0; i--)
    solve_row(y.value[(size_t)i], y.error[(size_t)i], lu.u_ptr[i], lu.u_ptr[i + 1], lu.u_col, lu.u_val, lu.inverse[i],
              u, x, i);
  for (int64_t i = 0; i < lu.n; i++) z.value[index(i)] = x.value[(size_t)i], z.error[index(i)] = x.error[(size_t)i];
  return z;
}

/* ---- On the device ---- */

struct vectors {
  wr_env *env;
  wr_vec r = {}, z = {};
  vectors(wr_env *env, int64_t n) : env(env) {
    CHECK_OK(env->ops->alloc(env, n, env->type, "r", &r));
    CHECK_OK(env->ops->alloc(env, n, env->type, "z", &z));
  }
  ~vectors() { env->ops->release(env, &r), env->ops->release(env, &z); }
  vec solve(wr_lu_cuda *solver, const vec &from) {
    vec to(from.size());
    CHECK_OK(env->ops->upload(env, &r, from.data()));
    CHECK_OK(env->ops->fill(env, &z, 12345));
    CHECK_OK(wr_lu_cuda_apply(solver, env, &r, &z));
    CHECK_OK(env->ops->download(env, &z, to.data()));
    return to;
  }
};

/* Numbers that f32 holds. */
static vec right_side(int64_t n, int64_t seed) {
  vec r((size_t)n);
  for (int64_t i = 0; i < n; i++) r[(size_t)i] = (double)(drawn(i + seed * 7919, 4097) - 2048) / 256;
  return r;
}

static bool same_bits(const vec &a, const vec &b) {
  return a.size() == b.size() && (a.empty() || memcmp(a.data(), b.data(), a.size() * sizeof a[0]) == 0);
}

static void compare(wr_type type, const wr_lu &lu, const vec &r, const vec &found) {
  bounded z = solve_on_host(lu, r, (long double)wr_type_unit(type));
  int64_t wrong = 0;
  for (size_t i = 0; i < found.size(); i++) wrong += !(fabsl(found[i] - z.value[i]) <= z.error[i]);
  CHECKF(wrong == 0, "%lld of %zu elements are beyond their bound", (long long)wrong, found.size());
}

static const struct {
  const char *name;
  wr_lu_cuda_options options;
} ways[] = {{"values", {WR_LU_VALUES, 0, WR_LU_GATE_LEVEL, 0}},
            {"values, gates of inputs", {WR_LU_VALUES, 0, WR_LU_GATE_INPUT, 0}},
            {"values, no gates", {WR_LU_VALUES, 7, WR_LU_GATE_NONE, 0}},
            {"barriers", {WR_LU_BARRIERS, 0, WR_LU_GATE_LEVEL, 0}},
            {"launches", {WR_LU_LAUNCHES, 5, WR_LU_GATE_LEVEL, 0}},
            {"launches of many blocks", {WR_LU_LAUNCHES, 0, WR_LU_GATE_LEVEL, 0}}};

/* Factors in f32, whatever the type of the solve. */
static void test_in_f32(wr_env *env, const wr_lu &lu) {
  wr_lu_cuda *solver = nullptr, *usual = nullptr;
  const wr_lu_cuda_options options = {WR_LU_VALUES, 0, WR_LU_GATE_LEVEL, 1};
  CHECK_OK(wr_lu_cuda_create_as(&lu, env, &options, &solver));
  CHECK_OK(wr_lu_cuda_create(&lu, env, &usual));
  if (solver == nullptr || usual == nullptr || lu.n == 0) return;
  vectors v(env, lu.n);
  vec r = right_side(lu.n, 3), found = v.solve(solver, r);
  compare(WR_F32, lu, r, found);
  int64_t beyond = 0;
  for (double z : found) beyond += (double)(float)z != z;
  CHECKF(beyond == 0, "%lld elements are not of f32", (long long)beyond);
  double saved = wr_lu_cuda_get_info(usual)->bytes - wr_lu_cuda_get_info(solver)->bytes;
  CHECKF(env->type == WR_F64 ? saved > 0 : saved == 0, "%g bytes less", saved);
  wr_lu_cuda_destroy(solver, env), wr_lu_cuda_destroy(usual, env);
}

static void test_factors(wr_env *env, const wr_lu &lu, int64_t levels) {
  vec first[2];
  if (wr_lu_beyond_f32(&lu) < 0) test_in_f32(env, lu);
  for (const auto &way : ways) {
    wr_lu_cuda *solver = nullptr;
    CHECK_OK(wr_lu_cuda_create_as(&lu, env, &way.options, &solver));
    if (solver == nullptr) continue;
    const wr_lu_cuda_info *info = wr_lu_cuda_get_info(solver);
    if (levels >= 0) CHECKF(info->lower_levels == levels && info->upper_levels == levels, "%s: levels", way.name);
    vectors v(env, lu.n > 0 ? lu.n : 1); /* there are no vectors without elements */
    for (int turn = 0; turn < 5 && lu.n > 0; turn++) {
      int side = (turn + turn / 2) % 2; /* 0 1 1 0 0: each of the two vectors w is used again for another r */
      vec r = right_side(lu.n, side), found = v.solve(solver, r);
      if (turn < 2 && &way == ways) compare(env->type, lu, r, first[turn] = found);
      CHECKF(same_bits(found, first[side]), "%s, turn %d: other bits", way.name, turn);
    }
    wr_lu_cuda_destroy(solver, env);
  }
}

/* ---- Shapes ---- */

typedef std::vector<int64_t> columns;

static columns nothing(int64_t) { return {}; }
static columns chain(int64_t i) { return i > 0 ? columns{i - 1} : columns{}; }

/* A grid of width x width: wide levels, 2 width - 1 of them. */
static lower_shape grid(int64_t width) {
  return [=](int64_t i) {
    columns c;
    if (i % width > 0) c.push_back(i - 1);
    if (i >= width) c.push_back(i - width);
    return c;
  };
}

/* Rows of all lengths up to `most`, empty ones among them. */
static lower_shape irregular(int64_t most, int64_t reach) {
  return [=](int64_t i) {
    columns c;
    for (int64_t k = i % 7 == 0 ? 0 : drawn(i, most); k > 0 && i > 0; k--)
      c.push_back(i - 1 - drawn(i * 1009 + k, std::min(i, reach)));
    return c;
  };
}

/* Wide levels and chains in turn: `wide` rows that need the last row of the chain before them, then `length` rows in a
 * chain. */
static lower_shape mixed(int64_t wide, int64_t length) {
  return [=](int64_t i) {
    int64_t period = wide + length, place = i % period, first = i - place;
    if (place >= wide) return place == wide ? columns{first, first + wide - 1} : columns{i - 1, first + place % wide};
    return first > 0 ? columns{first - 1} : columns{};
  };
}

/* Rows of each level need the level before: `width` rows a level. */
static lower_shape layers(int64_t width) {
  return [=](int64_t i) {
    if (i < width) return columns{};
    int64_t before = (i / width - 1) * width;
    return columns{before + i % width, before + drawn(i, width), drawn(i + 3, before + width)};
  };
}

/* Row n - 1 needs all others; so does each of the last `count` rows with every third. */
static lower_shape huge(int64_t n, int64_t count) {
  return [=](int64_t i) {
    columns c;
    for (int64_t j = 0; i >= n - count && j < i; j++)
      if (i == n - 1 || (i + j) % 3 == 0) c.push_back(j);
    return c;
  };
}

static void test_shapes(wr_env *env) {
  struct {
    const char *name;
    int64_t n;
    lower_shape shape;
    int64_t levels; /* -1: any */
  } const cases[] = {{"no rows", 0, nothing, 0},
                     {"one row", 1, nothing, 1},
                     {"diagonal", 1000, nothing, 1},
                     {"bidiagonal", 700, chain, 700},
                     {"grid", 60 * 60, grid(60), 119},
                     {"long rows", 2000, irregular(300, 1500), -1},
                     {"short rows", 5000, irregular(6, 4000), -1},
                     {"narrow band", 3000, irregular(9, 12), -1},
                     {"wide and tiny", 4 * 2060, mixed(2000, 60), -1},
                     {"huge rows", 3000, huge(3000, 3), -1},
                     {"more than shared memory has", 45 * 400, layers(400), 45}};
  for (const auto &c : cases) {
    CASE(c.name);
    factors of(c.n, c.shape, c.n % 2 == 0);
    test_factors(env, of.lu, c.levels);
  }
}

/* The format has the parts that the cases are meant to reach. */
static void test_format(wr_env *) {
  CASE("the format");
  wr_lu_slices s;
  factors small(700, chain, true), wide(60 * 60, grid(60), false), both(2 * 2060, mixed(2000, 60), false);
  CHECK_OK(wr_lu_slices_make(&small.lu, 0, WR_LU_GATE_LEVEL, &s));
  CHECK(s.phases == 1 && s.phase[0].levels == 1400 && s.slots == 2048);
  wr_lu_slices_free(&s);
  CHECK_OK(wr_lu_slices_make(&both.lu, 1, WR_LU_GATE_LEVEL, &s));
  int64_t runs = 0, gates = 0;
  for (int64_t p = 0; p < s.phases; p++) runs += s.phase[p].levels > 0;
  for (int64_t k = 0; k < s.slices; k++) gates += s.slice[k].gate >= 0;
  CHECK(runs >= 3 && s.phases > runs && gates > 0);
  wr_lu_slices_free(&s);
  CHECK_OK(wr_lu_slices_make(&wide.lu, 0, WR_LU_GATE_LEVEL, &s));
  CHECK(s.lower == 3600 && s.unknowns == 7200 && s.lower_levels == 119);
  wr_lu_slices_free(&s);
}

/* ---- Values ---- */

/* A NaN with all bits set is the mark of values that are not there; it must not stop the solve. */
static void test_not_numbers(wr_env *env) {
  CASE("NaN and infinity");
  factors of(300, chain, false);
  vec r = right_side(300, 1);
  uint64_t ones = UINT64_MAX;
  memcpy(&r[100], &ones, sizeof ones), r[200] = INFINITY;
  for (const auto &way : ways) {
    wr_lu_cuda *solver = nullptr;
    CHECK_OK(wr_lu_cuda_create_as(&of.lu, env, &way.options, &solver));
    vectors v(env, 300);
    for (int turn = 0; turn < 2; turn++) {
      vec z = v.solve(solver, r);
      CHECK(isnan(z[100]) && isnan(z[0])); /* U is a chain, too, from the last row to the first */
    }
    vec fine = v.solve(solver, right_side(300, 2));
    compare(env->type, of.lu, right_side(300, 2), fine);
    wr_lu_cuda_destroy(solver, env);
  }
}

/* Rows of U times 2^300, which f32 does not hold, and 2^-300 times the inverse of their diagonal: the factors stay in f64. */
static void test_beyond_f32(wr_env *env) {
  CASE("factors beyond f32");
  factors of(60 * 60, grid(60), true);
  for (int64_t i = 0; i < of.lu.n; i += 5) {
    if (of.u_ptr[(size_t)i] == of.u_ptr[(size_t)i + 1]) continue;
    of.inverse[(size_t)i] = ldexp(of.inverse[(size_t)i], -300);
    for (int64_t k = of.u_ptr[(size_t)i]; k < of.u_ptr[(size_t)i + 1]; k++)
      of.u_val[(size_t)k] = ldexp(of.u_val[(size_t)k], 300);
  }
  CHECK(wr_lu_beyond_f32(&of.lu) >= 0);
  test_factors(env, of.lu, 119);
}

#ifdef WR_SIMT
/* Each allocation of the device fails once: WR_ENOMEM, and nothing is left. */
static void test_no_memory(wr_env *env) {
  CASE("failing allocations");
  env->testing->poison = 1; /* freed blocks are not kept */
  int64_t live = wr_device_blocks();
  factors of(2 * 2060, mixed(2000, 60), true);
  int failures = 0;
  for (bool refused = true; refused && failures < 100; failures += refused) {
    wr_lu_cuda *solver = nullptr;
    (void)simt_memory_end(failures);
    wr_status status = wr_lu_cuda_create(&of.lu, env, &solver);
    refused = simt_memory_end(-1);
    CHECKF(status == (refused ? WR_ENOMEM : WR_OK) && (solver == nullptr) == refused, "%s", wr_status_message());
    wr_lu_cuda_destroy(solver, env);
    CHECKF(wr_device_blocks() == live, "%lld allocations are left", (long long)(wr_device_blocks() - live));
  }
  CHECKF(failures == 10, "%d allocations", failures);
  env->testing->poison = 0;
}

/* The sentence says how much the factors take in all, and how to do without; nothing is left. */
static void test_no_memory_for(wr_env *env, const wr_preconditioner *ilu, const char *knobs, bool at_last) {
  CASE(ilu->name);
  env->testing->poison = 1;
  wr_csr *A = nullptr;
  CHECK_OK(wr_generate("gen:stencil:n=6,convection=0.4", 1, &A));
  int64_t live = wr_device_blocks();
  int failures = 0;
  for (bool refused = true; refused && failures < 100; failures += refused) {
    wr_precond *p = nullptr;
    (void)simt_memory_end(failures);
    wr_status status = wr_precond_create(ilu, knobs, A, env, &p);
    refused = simt_memory_end(-1);
    CHECKF(status == (refused ? WR_ENOMEM : WR_OK) && (p == nullptr) == refused, "%s", wr_status_message());
    if (refused && at_last)
      CHECKF(strstr(wr_status_message(), " bytes in all; --precond none needs no factors"), "%s", wr_status_message());
    wr_precond_destroy(p);
    CHECKF(wr_device_blocks() == live, "%lld allocations are left", (long long)(wr_device_blocks() - live));
  }
  CHECKF(failures == (at_last ? 10 : 20), "%d allocations", failures); /* and as many where the device factorises */
  wr_csr_free(A);
  env->testing->poison = 0;
}
#endif

static void test_refused(wr_env *env) {
  CASE("refused");
  factors of(40, chain, false);
  wr_lu_cuda *solver = nullptr;
  CHECK_OK(wr_lu_cuda_create(&of.lu, env, &solver));
  vectors v(env, 40), longer(env, 41);
  CHECK(wr_lu_cuda_apply(solver, env, &v.r, &v.r) == WR_EUSAGE);
  CHECK(wr_lu_cuda_apply(solver, env, &longer.r, &v.z) == WR_EUSAGE);
  CHECK(wr_lu_cuda_apply(solver, env, &v.r, &longer.z) == WR_EUSAGE);
  wr_lu_cuda_destroy(solver, env);
  wr_lu_cuda_destroy(nullptr, env);
}

/* ---- In a loop ---- */

typedef struct rounds_scalars {
  double rounds, limit;
} rounds_scalars;

WR_STEP void wr_rounds(rounds_scalars *s, wr_step_request *request) {
  s->rounds = s->rounds + 1;
  (void)wr_step_decide(request, s->rounds < s->limit);
}
WR_STEP_KERNEL(rounds, rounds_scalars);

/* z := M^-1 r, r := z; then the step. */
static wr_status iterate(wr_env *env, wr_lu_cuda *solver, vectors &v, wr_vec *bank) {
  wr_status status;
  wr_fused copy = {};
  wr_then then = {&wr_step_rounds, bank, nullptr};
  copy.in[0] = &v.z, copy.out[0] = &v.r, copy.c[0][0].factor = 1;
  TRY(wr_lu_cuda_apply(solver, env, &v.r, &v.z));
  TRY(env->ops->fused(env, &copy));
  TRY(env->ops->step(env, &then));
done:
  return status;
}

/* An odd number of rounds, so that the two vectors w have changed places when the loop runs again. */
static void test_loop(wr_env *env) {
  CASE("in a loop");
  const int64_t n = 900;
  factors of(n, grid(30), true);
  for (const auto &way : ways) {
    wr_lu_cuda *solver = nullptr;
    wr_loop *loop = nullptr;
    wr_loop_request request = {};
    wr_vec bank = {};
    rounds_scalars s = {0, 7};
    vec expected((size_t)n), found((size_t)n), r = right_side(n, 3);
    vectors v(env, n);
    CHECK_OK(wr_lu_cuda_create_as(&of.lu, env, &way.options, &solver));
    CHECK_OK(env->ops->alloc(env, WR_SCALAR_COUNT(rounds_scalars), WR_F64, "a bank", &bank));
    CHECK_OK(env->ops->upload(env, &v.r, r.data()));
    for (int k = 0; k < 7; k++) CHECK_OK(iterate(env, solver, v, &bank));
    CHECK_OK(env->ops->download(env, &v.z, expected.data()));
    request.parts = 1, request.bank = &bank, request.left[0][0] = &v.r, request.left[0][1] = &v.z;
    CHECK_OK(env->ops->loop_open(env, &request, &loop));
    CHECK_OK(iterate(env, solver, v, &bank));
    CHECK_OK(env->ops->loop_close(env, loop));
    for (int turn = 0; turn < 2; turn++) {
      int ended = 0;
      s.rounds = 0, s.limit = 7;
      CHECK_OK(env->ops->upload(env, &v.r, r.data()));
      CHECK_OK(env->ops->upload(env, &bank, (const double *)&s));
      CHECK_OK(env->ops->loop_run(env, loop));
      for (wr_status status = WR_OK; !ended && status == WR_OK;)
        CHECK_OK(status = env->ops->loop_poll(env, loop, &bank, (double *)&s, &ended));
      CHECK_OK(env->ops->download(env, &v.z, found.data()));
      CHECKF(s.rounds == 7 && same_bits(found, expected), "%s: %g rounds", way.name, s.rounds);
    }
    env->ops->loop_free(env, loop);
    env->ops->release(env, &bank);
    wr_lu_cuda_destroy(solver, env);
  }
}

static void test_all(wr_env *env) {
#ifdef WR_SIMT
  test_no_memory(env);
  test_no_memory_for(env, &wr_precond_ilu0, "at=host", true);
  test_no_memory_for(env, &wr_precond_ilut, nullptr, true);
  test_no_memory_for(env, &wr_precond_ilu0, "at=device", false); /* before there are blocks that were kept */
#endif
  test_format(env);
  test_shapes(env);
  test_not_numbers(env);
  test_beyond_f32(env);
  test_refused(env);
  test_loop(env);
}

int main(void) {
  on_device(test_all);
  return wr_test_report("lu_cuda");
}
