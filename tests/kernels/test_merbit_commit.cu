/* How MERBIT's multiply commits rows that thread blocks share: what it adds to, what it clears, and that it touches nothing
 * else. Opens plans directly, so that a test controls whether y is prepared, or said to be. */
#include "spmv/device/device_memory.h"
#include "spmv/backends/merbit/merbit_build.h"
#include "tests/kernels/merbit_cases.h"
#include "tests/kernels/on_device.h"

/* How a plan is opened. */
typedef struct way {
  wr_merbit_commit commit;
  int long_rows, segmented, scattered, wide, fused;
} way;

static const wr_merbit_commit commits[] = {WR_MERBIT_DUAL, WR_MERBIT_CLEAR, WR_MERBIT_ORDERED};

/* All combinations of switches, by the bits of a number. */
static way way_of(wr_merbit_commit commit, unsigned bits) {
  way w = {commit, (int)(bits & 1), (int)(bits >> 1 & 1), (int)(bits >> 2 & 1), (int)(bits >> 3 & 1),
           (int)(bits >> 4 & 1)};
  return w;
}

struct opened {
  wr_env *env;
  void *wide_rows = nullptr;
  wr_merbit_plan plan = {};

  opened(wr_env *env, matrix &m, int sigma, const way &w) : env(env) {
    const wr_csr &A = m.A;
    CHECK_OK(wr_csr_device_view(&m.A, env, &plan.view));
    if (w.wide) {
      CHECK_OK(wr_device_alloc(env, &wide_rows, A.nrows + 1, 8, "row pointers"));
      CHECK_OK(wr_device_upload(env, wide_rows, A.row_ptr, A.nrows + 1, WR_AS_8_BYTES));
      plan.view.wide = 1, plan.view.row_ptr = wide_rows;
    }
    plan.commit = w.commit, plan.long_rows = w.long_rows, plan.segmented = w.segmented, plan.scattered = w.scattered;
    plan.fused = w.fused;
    CHECK_OK(wr_merbit_plan_open(env, A.nrows, A.ncols, A.nnz, sigma, &plan));
  }
  opened(const opened &) = delete;
  ~opened() {
    wr_merbit_plan_close(env, &plan);
    wr_device_free(env, wide_rows);
  }
};

/* The options of one multiply. */
typedef struct asked {
  int prepared, epilogue, next;
  double alpha, beta;
} asked;

static const asked requests[] = {
    {.prepared = 1, .epilogue = 0, .next = 1, .alpha = 1, .beta = 0},
    {.prepared = 1, .epilogue = 1, .next = 1, .alpha = -2, .beta = 0},
    {.prepared = 0, .epilogue = 0, .next = 1, .alpha = 2, .beta = 0},
    {.prepared = 0, .epilogue = 1, .next = 0, .alpha = 1, .beta = 0},
    {.prepared = 1, .epilogue = 0, .next = 0, .alpha = 1, .beta = 0},
    {.prepared = 1, .epilogue = 1, .next = 0, .alpha = 1, .beta = 0},
    {.prepared = 0, .epilogue = 0, .next = 1, .alpha = 1, .beta = 3},
    {.prepared = 0, .epilogue = 1, .next = 1, .alpha = -1, .beta = -2},
};

/* ---- Expected results ---- */

enum { SHIFT = 3 };

struct outcome {
  numbers y, next, scaled;
  double sums[WR_MAX_REDUCTIONS] = {0, 0, 0};
};

struct inputs {
  numbers x, y, next, direction, scale;
  inputs(const matrix &m)
      : x(make_numbers(m.A.ncols, 8, 1)), y(make_numbers(m.A.nrows, 50, 2)), next(make_numbers(m.A.nrows, 9, 3)),
        direction(make_numbers(m.A.nrows, 4, 4)), scale(make_numbers(m.A.nrows, 1, 5)) {
    for (double &v : y) v += 1000;
    for (double &v : next) v += 20; /* no zeros, so that a cleared row is seen */
  }
};

/* Only shared rows are added to: to the old y if it is said to be prepared. */
static outcome expect(const matrix &m, const way &w, const asked &r, const inputs &in) {
  outcome out;
  out.y = m.multiply(in.x), out.next = in.next, out.scaled = numbers(in.y.size(), 0);
  bool adds = w.commit == WR_MERBIT_DUAL && r.prepared && r.beta == 0;
  for (size_t i = 0; i < out.y.size(); i++) {
    double &y = out.y[i];
    y = r.alpha * y + (r.beta != 0 ? r.beta * in.y[i] : adds && m.is_shared((int64_t)i) ? in.y[i] : 0);
    if (r.epilogue) {
      y += SHIFT * in.direction[i];
      out.scaled[i] = in.scale[i] * y;
      out.sums[0] += y * in.next[i];
      out.sums[1] += in.scale[i] == 0 ? y : 0;
      out.sums[2] += fabs(y - in.next[i]);
    }
    if (w.commit == WR_MERBIT_DUAL && r.next && m.is_shared((int64_t)i)) out.next[i] = 0;
  }
  return out;
}

/* ---- One multiply ---- */

struct on_card {
  guarded x, y, next, direction, scale, scaled;
  wr_vec bank = {};
  wr_epilogue epilogue = {};
  on_card(wr_env *env, const inputs &in)
      : x(env, in.x), y(env, in.y), next(env, in.next), direction(env, in.direction), scale(env, in.scale),
        scaled(env, numbers(in.y.size(), 0)) {
    static const double start[] = {SHIFT, NAN, NAN, NAN};
    CHECK_OK(env->ops->alloc(env, 4, WR_F64, "scalars", &bank));
    CHECK_OK(env->ops->upload(env, &bank, start));
    epilogue.shift = {&bank, 0};
    epilogue.shift_dir = &direction.v, epilogue.scale = &scale.v, epilogue.scaled = &scaled.v;
    epilogue.reduce[0] = {.kind = WR_DOT, .of = nullptr, .z = &next.v, .into = {&bank, 1}};
    epilogue.reduce[1] = {.kind = WR_SUM_UNSCALED, .of = nullptr, .z = nullptr, .into = {&bank, 2}};
    epilogue.reduce[2] = {.kind = WR_L1DIFF, .of = nullptr, .z = &next.v, .into = {&bank, 3}};
  }
  ~on_card() { x.env->ops->release(x.env, &bank); }
};

static void launch(wr_env *env, const wr_merbit_plan *plan, on_card *v, const asked &r) {
  wr_apply_args args = {};
  args.request.alpha = r.alpha, args.request.beta = r.beta, args.request.x = &v->x.v, args.request.y = &v->y.v;
  args.request.y_next = r.next ? &v->next.v : nullptr;
  args.request.epilogue = r.epilogue ? &v->epilogue : nullptr;
  args.y_prepared = r.prepared;
  CHECK_OK(wr_merbit_launch(env, plan, &args));
}

static void test_request(wr_env *env, const matrix &m, const wr_merbit_plan *plan, const way &w, const asked &r,
                         const inputs &in) {
  on_card v(env, in);
  outcome expected = expect(m, w, r, in);
  long failed = wr_test_failed;
  launch(env, plan, &v, r);
  check_numbers("y", v.y.get(), expected.y);
  check_numbers("y_next", v.next.get(), expected.next);
  check_numbers("x", v.x.get(), in.x);
  if (r.epilogue) {
    numbers sums(4);
    check_numbers("scaled", v.scaled.get(), expected.scaled);
    CHECK_OK(env->ops->download(env, &v.bank, sums.data()));
    check_numbers("sums", numbers(sums.begin() + 1, sums.end()), numbers(expected.sums, expected.sums + 3));
  }
  if (wr_test_failed == failed) return;
  fprintf(stderr, "  with commit %d, long_rows %d, segmented %d, scattered %d, wide %d, fused %d,", (int)w.commit,
          w.long_rows, w.segmented, w.scattered, w.wide, w.fused);
  fprintf(stderr, " prepared %d, epilogue %d, next %d, beta %g\n", r.prepared, r.epilogue, r.next, r.beta);
}

/* ---- Shapes ---- */

static void test_shape(wr_env *env, const shape &s, unsigned number) {
  CASE(s.name);
  matrix m(s, number % 5 == 2);
  inputs in(m);
  for (unsigned c = 0; c < 3; c++)
    for (unsigned bits = 0; bits < 4; bits++) { /* both switches of the method; the others alternate */
      way w = way_of(commits[c], bits | ((number + c + bits) % 8) << 2);
      opened o(env, m, SHAPE_SIGMA, w);
      for (unsigned r = 0; r < sizeof requests / sizeof *requests; r++)
        if (w.commit == WR_MERBIT_DUAL || (r + bits) % 2 == 0) test_request(env, m, &o.plan, w, requests[r], in);
    }
}

/* The shapes have the properties of their names. */
static void test_shared_rows(void) {
  CASE("rows that blocks share");
  static const int64_t expected[] = {1, 0, -1, 0, 0, 0, -1, 0, 0, 4, 5, 1, 1, 0, 1, -1};
  for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
    matrix m(shapes[s]);
    int64_t shared = 0;
    for (int64_t i = 0; i < m.A.nrows; i++) shared += m.is_shared(i);
    CHECKF(expected[s] < 0 ? shared > 0 : shared == expected[s], "%s: %lld", shapes[s].name, (long long)shared);
  }
}

/* ---- NaN and infinities ---- */

static void test_nonfinite(wr_env *env) {
  CASE("NaN and infinities reach the rows that use them, and no others");
  matrix m(mixed, 700, SHAPE_SIGMA);
  inputs in(m);
  for (size_t j = 0; j < in.x.size(); j += 300) in.x[j] = NAN;
  in.x[1] = INFINITY, in.x[1501] = -INFINITY;
  numbers y = m.multiply(in.x);
  int64_t spoilt = 0, shared_spoilt = 0, shared_clean = 0;
  for (int64_t i = 0; i < m.A.nrows; i++) {
    int bad = !isfinite(y[(size_t)i]);
    spoilt += bad, shared_spoilt += bad && m.is_shared(i), shared_clean += !bad && m.is_shared(i);
  }
  CHECKF(spoilt > 5 && spoilt < 350 && shared_spoilt > 0 && shared_clean > 0, "%lld rows, %lld and %lld shared",
         (long long)spoilt, (long long)shared_spoilt, (long long)shared_clean);
  for (unsigned c = 0; c < 3; c++)
    for (unsigned bits = 0; bits < 8; bits++) {
      way w = way_of(commits[c], bits | (bits % 2) << 4);
      opened o(env, m, SHAPE_SIGMA, w);
      test_request(env, m, &o.plan, w, requests[2], in);
      if (w.commit != WR_MERBIT_DUAL) continue;
      test_request(env, m, &o.plan, w, requests[1], in);
    }
}

/* A y that is not prepared is never read, whatever it holds. */
static void test_old_y(wr_env *env) {
  CASE("NaN in the old y");
  matrix m(mixed, 700, SHAPE_SIGMA);
  inputs in(m);
  for (double &y : in.y) y = NAN;
  for (unsigned c = 0; c < 3; c++) {
    way w = way_of(commits[c], 3);
    opened o(env, m, SHAPE_SIGMA, w);
    test_request(env, m, &o.plan, w, requests[2], in);
    test_request(env, m, &o.plan, w, requests[3], in);
  }
}

static void test_device(wr_env *env) {
  for (unsigned s = 0; s < sizeof shapes / sizeof *shapes; s++) test_shape(env, shapes[s], s);
  test_nonfinite(env);
  test_old_y(env);
}

int main(void) {
  test_shared_rows();
  on_device(test_device);
  return wr_test_report("merbit_commit");
}
