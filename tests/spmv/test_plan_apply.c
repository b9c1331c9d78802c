/* wr_plan_apply: every refusal, the bookkeeping of y_next, and what the core does for a backend that cannot. */
#include "spmv/device/testing.h"
#include "tests/spmv/recorder.h"

/* ---- refusals ---- */

/* Vectors of the wrong length, type or place. */
typedef struct misfits {
  wr_vec longer, f32, elsewhere, unallocated, without_data, f32_bank;
} misfits;

typedef enum spoil {
  NO_X, NO_Y, X_LONGER, Y_LONGER, NEXT_LONGER, X_F32, Y_F32, NEXT_F32, X_ELSEWHERE, Y_ELSEWHERE, X_UNALLOCATED,
  Y_WITHOUT_DATA, X_IS_Y, X_IS_NEXT, Y_IS_NEXT, SHIFT_F32, SHIFT_BELOW, SHIFT_BEHIND, SHIFT_ELSEWHERE,
  DIRECTION_ALONE, DIRECTION_LONGER, DIRECTION_IS_X, DIRECTION_IS_Y, DIRECTION_IS_NEXT, SCALED_ALONE, SCALE_F32,
  SCALE_IS_Y, SCALED_IS_SCALE, SCALED_IS_DIRECTION, SCALED_IS_X, SCALED_IS_NEXT, SUM_OF_OTHER, SUM_NOWHERE,
  SUM_F32, SUM_BEHIND, UNSCALED_WITHOUT_SCALE, DOT_WITHOUT_Z, L1DIFF_WITHOUT_Z, Z_LONGER, Z_F32, Z_IS_Y,
  Z_IS_SCALED, SECOND_SUM_NOWHERE, SCALES_WITHOUT_SCALE, SCALES_TWICE, RELAXES_BY_NOTHING, RELAXATION_F32,
  RELAXES_FROM_X, RELAXES_FROM_Y, RELAXES_FROM_SCALE, RELAXES_FROM_LONGER, CHANGE_WITHOUT_SCALE, CHANGE_WITHOUT_Z,
  ADDS_NO_DIRECTION,
  SPOILS
} spoil;

static const char *const says[SPOILS] = {
    [NO_X] = "x and y are needed",
    [NO_Y] = "x and y are needed",
    [X_LONGER] = "x has 5 elements, not 4",
    [Y_LONGER] = "y has 5 elements, not 4",
    [NEXT_LONGER] = "y_next has 5 elements, not 4",
    [X_F32] = "x is of another type",
    [Y_F32] = "y is of another type",
    [NEXT_F32] = "y_next is of another type",
    [X_ELSEWHERE] = "x is not at the place",
    [Y_ELSEWHERE] = "y is not at the place",
    [X_UNALLOCATED] = "x is not allocated",
    [Y_WITHOUT_DATA] = "y is not allocated",
    [X_IS_Y] = "distinct",
    [X_IS_NEXT] = "distinct",
    [Y_IS_NEXT] = "distinct",
    [SHIFT_F32] = "the shift",
    [SHIFT_BELOW] = "the shift",
    [SHIFT_BEHIND] = "the shift",
    [SHIFT_ELSEWHERE] = "the shift",
    [DIRECTION_ALONE] = "direction without a shift",
    [ADDS_NO_DIRECTION] = "a direction is to be added",
    [DIRECTION_LONGER] = "5 elements",
    [DIRECTION_IS_X] = "x, y or y_next",
    [DIRECTION_IS_Y] = "x, y or y_next",
    [DIRECTION_IS_NEXT] = "x, y or y_next",
    [SCALED_ALONE] = "scaled without scale",
    [SCALE_F32] = "another type",
    [SCALE_IS_Y] = "x, y or y_next",
    [SCALED_IS_SCALE] = "two vectors",
    [SCALED_IS_DIRECTION] = "two vectors",
    [SCALED_IS_X] = "x, y or y_next",
    [SCALED_IS_NEXT] = "x, y or y_next",
    [SUM_OF_OTHER] = "is of y",
    [SUM_NOWHERE] = "no bank for its result",
    [SUM_F32] = "bank of f64",
    [SUM_BEHIND] = "bank of f64",
    [UNSCALED_WITHOUT_SCALE] = "needs a scale",
    [DOT_WITHOUT_Z] = "second vector",
    [L1DIFF_WITHOUT_Z] = "second vector",
    [Z_LONGER] = "5 elements",
    [Z_F32] = "another type",
    [Z_IS_Y] = "reads what this apply writes",
    [Z_IS_SCALED] = "reads what this apply writes",
    [SECOND_SUM_NOWHERE] = "reduction 1 has no bank",
    [SCALES_WITHOUT_SCALE] = "scaled without scale",
    [SCALES_TWICE] = "y is scaled, and so is another vector",
    [RELAXES_BY_NOTHING] = "relax_from without a relaxation",
    [RELAXATION_F32] = "the relaxation",
    [RELAXES_FROM_X] = "x, y or y_next",
    [RELAXES_FROM_Y] = "x, y or y_next",
    [RELAXES_FROM_SCALE] = "two vectors",
    [RELAXES_FROM_LONGER] = "5 elements",
    [CHANGE_WITHOUT_SCALE] = "needs a scale",
    [CHANGE_WITHOUT_Z] = "second vector",
};

static void spoil_request(spoil what, fixture *f, misfits *m, wr_apply *r) {
  switch (what) {
    case NO_X: r->x = NULL; break;
    case NO_Y: r->y = NULL; break;
    case X_LONGER: r->x = &m->longer; break;
    case Y_LONGER: r->y = &m->longer; break;
    case NEXT_LONGER: r->y_next = &m->longer; break;
    case X_F32: r->x = &m->f32; break;
    case Y_F32: r->y = &m->f32; break;
    case NEXT_F32: r->y_next = &m->f32; break;
    case X_ELSEWHERE: r->x = &m->elsewhere; break;
    case Y_ELSEWHERE: r->y = &m->elsewhere; break;
    case X_UNALLOCATED: r->x = &m->unallocated; break;
    case Y_WITHOUT_DATA: r->y = &m->without_data; break;
    case X_IS_Y: r->x = &f->y[0]; break;
    case X_IS_NEXT: r->x = &f->y[1]; break;
    case Y_IS_NEXT: r->y = &f->y[1]; break;
    default: break;
  }
}

static void spoil_vectors(spoil what, fixture *f, misfits *m, wr_epilogue *e) {
  switch (what) {
    case SHIFT_F32: e->shift.bank = &m->f32_bank; break;
    case SHIFT_BELOW: e->shift.index = -1; break;
    case SHIFT_BEHIND: e->shift.index = BANK; break;
    case SHIFT_ELSEWHERE: e->shift.bank = &m->elsewhere; break;
    case DIRECTION_ALONE: e->shift.bank = NULL; break;
    case ADDS_NO_DIRECTION: e->shift_dir = NULL, e->adds_dir = 1; break;
    case DIRECTION_LONGER: e->shift_dir = &m->longer; break;
    case DIRECTION_IS_X: e->shift_dir = &f->x; break;
    case DIRECTION_IS_Y: e->shift_dir = &f->y[0]; break;
    case DIRECTION_IS_NEXT: e->shift_dir = &f->y[1]; break;
    case SCALED_ALONE: e->scale = NULL; break;
    case SCALE_F32: e->scale = &m->f32; break;
    case SCALE_IS_Y: e->scale = &f->y[0]; break;
    case SCALED_IS_SCALE: e->scaled = &f->scale; break;
    case SCALED_IS_DIRECTION: e->scaled = &f->direction; break;
    case SCALED_IS_X: e->scaled = &f->x; break;
    case SCALED_IS_NEXT: e->scaled = &f->y[1]; break;
    case SCALES_WITHOUT_SCALE: e->scale = NULL, e->scaled = NULL, e->scales_y = 1; break;
    case SCALES_TWICE: e->scales_y = 1; break;
    case RELAXES_BY_NOTHING: e->relax_from = &f->z; break;
    case RELAXATION_F32: e->relax_from = &f->z, e->relaxation = (wr_scalar){&m->f32_bank, 0}; break;
    case RELAXES_FROM_X: e->relax_from = &f->x, e->relaxation = (wr_scalar){&f->bank, 0}; break;
    case RELAXES_FROM_Y: e->relax_from = &f->y[0], e->relaxation = (wr_scalar){&f->bank, 0}; break;
    case RELAXES_FROM_SCALE: e->relax_from = &f->scale, e->relaxation = (wr_scalar){&f->bank, 0}; break;
    case RELAXES_FROM_LONGER: e->relax_from = &m->longer, e->relaxation = (wr_scalar){&f->bank, 0}; break;
    default: break;
  }
}

static void spoil_reductions(spoil what, fixture *f, misfits *m, wr_epilogue *e) {
  switch (what) {
    case SUM_OF_OTHER: e->reduce[0].of = &f->z; break;
    case SUM_NOWHERE: e->reduce[0].into.bank = NULL; break;
    case SUM_F32: e->reduce[0].into.bank = &m->f32_bank; break;
    case SUM_BEHIND: e->reduce[0].into.index = BANK; break;
    case UNSCALED_WITHOUT_SCALE:
      e->scale = NULL, e->scaled = NULL;
      e->reduce[2].kind = WR_SUM_UNSCALED;
      break;
    case DOT_WITHOUT_Z: e->reduce[0].z = NULL; break;
    case L1DIFF_WITHOUT_Z: e->reduce[0] = (wr_reduction){.kind = WR_L1DIFF, .into = e->reduce[0].into}; break;
    case Z_LONGER: e->reduce[0].z = &m->longer; break;
    case Z_F32: e->reduce[0].z = &m->f32; break;
    case Z_IS_Y: e->reduce[0].z = &f->y[0]; break;
    case Z_IS_SCALED: e->reduce[0].z = &f->scaled; break;
    case SECOND_SUM_NOWHERE: e->reduce[1].into.bank = NULL; break;
    case CHANGE_WITHOUT_SCALE:
      e->scale = NULL, e->scaled = NULL;
      e->reduce[1].kind = WR_L1DIFF_UNSCALED;
      break;
    case CHANGE_WITHOUT_Z: e->reduce[1].kind = WR_L1DIFF_UNSCALED, e->reduce[1].z = NULL; break;
    default: break;
  }
}

static misfits make_misfits(fixture *f) {
  misfits m = {.unallocated = {.n = N, .type = WR_F64}, .elsewhere = f->z, .without_data = f->z};
  CHECK_OK(f->env.ops->alloc(&f->env, N + 1, WR_F64, "a test", &m.longer));
  CHECK_OK(f->env.ops->alloc(&f->env, N, WR_F32, "a test", &m.f32));
  CHECK_OK(f->env.ops->alloc(&f->env, BANK, WR_F32, "a test", &m.f32_bank));
  m.elsewhere.place = WR_CUDA, m.elsewhere.id = wr_vec_new_id();
  m.without_data.data = NULL, m.without_data.id = wr_vec_new_id();
  return m;
}

/* A request in which everything is right. */
static wr_epilogue good_epilogue(fixture *f) {
  return (wr_epilogue){.shift = {&f->bank, 0}, .shift_dir = &f->direction, .scale = &f->scale, .scaled = &f->scaled,
                       .reduce = {{.kind = WR_DOT, .z = &f->z, .into = {&f->bank, 1}},
                                  {.kind = WR_L1DIFF, .z = &f->y[1], .into = {&f->bank, 2}},
                                  {.kind = WR_NRM2SQ, .into = {&f->bank, 3}}}};
}

static wr_apply good_request(fixture *f, const wr_epilogue *e) {
  return (wr_apply){.alpha = 1, .x = &f->x, .y = &f->y[0], .y_next = &f->y[1], .epilogue = e};
}

static void test_refusals(void) {
  fixture f = open_fixture(EVERYTHING, WR_F64, 0);
  misfits m = make_misfits(&f);
  make_plan(&f);
  wr_epilogue e = good_epilogue(&f);
  wr_apply request = good_request(&f, &e);
  CHECK_OK(wr_plan_apply(f.plan, &request)); /* y[1] is prepared from here on */
  for (int what = 0; what < SPOILS; what++) {
    CASE(says[what]);
    uint64_t writes = f.y[0].writes + f.y[1].writes + f.scaled.writes + f.bank.writes + f.x.writes;
    e = good_epilogue(&f);
    request = good_request(&f, &e);
    spoil_request((spoil)what, &f, &m, &request);
    spoil_vectors((spoil)what, &f, &m, &e);
    spoil_reductions((spoil)what, &f, &m, &e);
    int applies = seen.applies;
    CHECK_FAILS(WR_EUSAGE, wr_plan_apply(f.plan, &request));
    CHECK_MESSAGE(says[what]);
    CHECK(seen.applies == applies);
    CHECK(writes == f.y[0].writes + f.y[1].writes + f.scaled.writes + f.bank.writes + f.x.writes);
  }
  CASE("after all the refusals");
  e = good_epilogue(&f);
  request = (wr_apply){.alpha = 1, .x = &f.x, .y = &f.y[1], .y_next = &f.y[0]};
  CHECK_OK(wr_plan_apply(f.plan, &request));
  CHECK(seen.y_prepared == 1); /* refused applies have left y_next as it was */
  f.env.ops->release(&f.env, &m.longer), f.env.ops->release(&f.env, &m.f32), f.env.ops->release(&f.env, &m.f32_bank);
  close_fixture(&f);
}

/* Vectors of a rectangular matrix: x has its columns, all others its rows. */
static void test_rectangular(void) {
  CASE("rectangular");
  fixture f = open_fixture(EVERYTHING, WR_F64, 0);
  wr_vec y = {0}, x = {0};
  f.A->ncols = 5; /* an empty column more */
  CHECK_OK(f.env.ops->alloc(&f.env, 5, WR_F64, "a test", &x));
  CHECK_OK(f.env.ops->alloc(&f.env, 5, WR_F64, "a test", &y));
  make_plan(&f);
  CHECK_FAILS(WR_EUSAGE, wr_plan_apply(f.plan, &(wr_apply){.alpha = 1, .x = &f.x, .y = &f.y[0]}));
  CHECK_FAILS(WR_EUSAGE, wr_plan_apply(f.plan, &(wr_apply){.alpha = 1, .x = &x, .y = &y}));
  wr_epilogue e = {.reduce = {{.kind = WR_DOT, .z = &x, .into = {&f.bank, 1}}}};
  wr_apply request = {.alpha = 1, .x = &x, .y = &f.y[0], .epilogue = &e};
  CHECK_FAILS(WR_EUSAGE, wr_plan_apply(f.plan, &request)); /* z is x only where A is square */
  CHECK_MESSAGE("wr_plan_apply: ");
  CHECK_MESSAGE("5 elements, not 4");
  e.reduce[0].z = &f.z;
  CHECK_OK(wr_plan_apply(f.plan, &request));
  f.env.ops->release(&f.env, &x), f.env.ops->release(&f.env, &y);
  close_fixture(&f);
}

/* ---- the bookkeeping of y_next ---- */

/* Applies with y and y_next by number (-1: none), and checks whether the backend was told that y is prepared. */
static void expect_apply(fixture *f, int y, int next, int prepared) {
  wr_vec *y_next = next < 0 ? NULL : &f->y[next];
  uint64_t y_writes = f->y[y].writes, next_writes = y_next ? y_next->writes : 0, x_writes = f->x.writes;
  CHECK_OK(wr_plan_apply(f->plan, &(wr_apply){.alpha = 1, .x = &f->x, .y = &f->y[y], .y_next = y_next}));
  CHECKF(seen.y_prepared == prepared, "y %d, y_next %d: prepared %d", y, next, seen.y_prepared);
  CHECK(seen.request.y == &f->y[y] && seen.request.y_next == y_next);
  CHECK(f->y[y].writes > y_writes && f->x.writes == x_writes && (!y_next || y_next->writes > next_writes));
}

static void test_order(void) {
  fixture f = open_fixture(EVERYTHING, WR_F64, 0);
  make_plan(&f);
  CASE("two buffers in turn");
  expect_apply(&f, 0, 1, 0);
  expect_apply(&f, 1, 0, 1);
  expect_apply(&f, 0, 1, 1);
  expect_apply(&f, 1, -1, 1);
  expect_apply(&f, 0, -1, 0);
  CASE("three buffers");
  expect_apply(&f, 0, 1, 0);
  expect_apply(&f, 1, 2, 1);
  expect_apply(&f, 2, 0, 1);
  CASE("another buffer than promised, and then the promised one");
  expect_apply(&f, 1, -1, 0);
  expect_apply(&f, 0, 1, 0);
  expect_apply(&f, 2, 0, 0);
  CASE("after wr_plan_forget");
  wr_plan_forget(f.plan);
  expect_apply(&f, 0, 1, 0);
  CASE("y_next written by another operation");
  f.env.ops->fill(&f.env, &f.y[1], 0);
  expect_apply(&f, 1, 2, 0);
  set_vectors(&f);
  expect_apply(&f, 2, 0, 0);
  wr_fused copy = {.in = {&f.x}, .out = {&f.y[0]}, .c = {{{.factor = 1}}}};
  CHECK_OK(f.env.ops->fused(&f.env, &copy));
  expect_apply(&f, 0, 1, 0);
  CASE("y_next read by another operation");
  double room[N];
  CHECK_OK(f.env.ops->download(&f.env, &f.y[1], room));
  expect_apply(&f, 1, 0, 1);
  CASE("another vector in the same place");
  f.env.ops->release(&f.env, &f.y[0]);
  CHECK_OK(f.env.ops->alloc(&f.env, N, WR_F64, "a test", &f.y[0]));
  expect_apply(&f, 0, -1, 0);
  close_fixture(&f);
}

static void test_promise(void) {
  fixture f = open_fixture(EVERYTHING, WR_F64, 0);
  wr_apply with_beta = {.alpha = 1, .beta = 1, .x = &f.x, .y = &f.y[1]};
  make_plan(&f);
  for (int way = 0; way < 4; way++) {
    CASE("a beta after the promise of none");
    expect_apply(&f, 0, 1, 0);
    CHECK_FAILS(WR_EUSAGE, wr_plan_apply(f.plan, &with_beta));
    CHECK_MESSAGE("beta must be 0");
    if (way == 0) expect_apply(&f, 1, -1, 1); /* y is the buffer that was y_next */
    if (way == 1) expect_apply(&f, 2, -1, 0); /* y is another buffer             */
    if (way == 2) wr_plan_forget(f.plan);
    if (way == 3) { /* after an apply that fails, y is not prepared */
      seen.apply = WR_EDEVICE;
      wr_apply failing = {.alpha = 1, .x = &f.x, .y = &f.y[1], .y_next = &f.y[0]};
      CHECK_FAILS(WR_EDEVICE, wr_plan_apply(f.plan, &failing));
      seen.apply = WR_OK;
    }
    CHECK_OK(wr_plan_apply(f.plan, &with_beta));
    CHECK(seen.request.beta == 1 && seen.y_prepared == 0);
  }
  CASE("the apply that promises may have a beta itself");
  with_beta.y_next = &f.y[0];
  CHECK_OK(wr_plan_apply(f.plan, &with_beta));
  expect_apply(&f, 0, -1, 1);
  close_fixture(&f);
}

/* Where the backend is not given y_next, its next y is not prepared; with poison it holds NaN until then. */
static void test_not_passed(void) {
  static const struct {
    const char *name;
    unsigned caps;
    int reads_next, passed;
    double beta;
  } ways[] = {
      {"everything", EVERYTHING, 0, 1, 0},
      {"everything, z is y_next", EVERYTHING, 1, 1, 0},
      {"everything, beta", EVERYTHING, 1, 1, 1},
      {"no y_next", EVERYTHING & ~WR_CAP_Y_NEXT, 0, 0, 0},
      {"no epilogue", EVERYTHING & ~WR_CAP_EPILOGUE, 0, 1, 0},
      {"no epilogue, z is y_next", EVERYTHING & ~WR_CAP_EPILOGUE, 1, 0, 0},
      {"no beta", EVERYTHING & ~WR_CAP_BETA, 1, 1, 0},
      {"no beta, beta", EVERYTHING & ~WR_CAP_BETA, 0, 0, 1},
  };
  for (size_t w = 0; w < 2 * (sizeof ways / sizeof *ways); w++) {
    CASE(ways[w / 2].name);
    fixture f = open_fixture(ways[w / 2].caps, WR_F64, 1);
    int passed = ways[w / 2].passed, poison = w % 2;
    wr_testing testing = {.poison = poison};
    f.env.testing = &testing;
    make_plan(&f);
    wr_epilogue e = good_epilogue(&f);
    if (!ways[w / 2].reads_next) e.reduce[1].z = &f.z;
    wr_apply request = good_request(&f, &e);
    request.beta = ways[w / 2].beta;
    CHECK_OK(wr_plan_apply(f.plan, &request));
    CHECK((seen.request.y_next != NULL) == passed);
    CHECK(isnan(element(&f.y[1], 0)) == (poison && !passed) && isnan(element(&f.y[1], 3)) == (poison && !passed));
    CHECK_FAILS(WR_EUSAGE, wr_plan_apply(f.plan, &(wr_apply){.alpha = 1, .beta = 1, .x = &f.x, .y = &f.y[1]}));
    CHECK_OK(wr_plan_apply(f.plan, &(wr_apply){.alpha = 1, .x = &f.x, .y = &f.y[1]}));
    CHECK(seen.y_prepared == passed && holds(&f.y[1], 6, 0, -2, 44));
    close_fixture(&f);
  }
}

/* ---- what the core does for a backend ---- */

/* The write counters of y, scaled and banks go up; those of vectors that are only read do not. */
static void test_writes(void) {
  CASE("write counts of an epilogue");
  fixture f = open_fixture(EVERYTHING, WR_F64, 0);
  make_plan(&f);
  wr_epilogue e = good_epilogue(&f);
  wr_apply request = good_request(&f, &e);
  uint64_t scaled = f.scaled.writes, bank = f.bank.writes, read = f.scale.writes + f.direction.writes + f.z.writes;
  CHECK_OK(wr_plan_apply(f.plan, &request));
  CHECK(f.scaled.writes > scaled && f.bank.writes > bank && f.scale.writes + f.direction.writes + f.z.writes == read);
  close_fixture(&f);
}

/* y = 2 A x - y = (-88 -200 -304 -312), shifted by 10 times the direction (1 1 2 2): (-78 -190 -284 -292); all exact. */
static void test_fallbacks(void) {
  static const unsigned lacking[] = {WR_CAP_EPILOGUE, WR_CAP_BETA | WR_CAP_EPILOGUE, WR_CAP_BETA};
  for (int way = 0; way < 6; way++) {
    CASE("beta and epilogue apart");
    fixture f = open_fixture(EVERYTHING & ~lacking[way / 2], way % 2 ? WR_F32 : WR_F64, 1);
    int beta_apart = (lacking[way / 2] & WR_CAP_BETA) != 0;
    make_plan(&f);
    wr_epilogue e = good_epilogue(&f);
    wr_apply request = good_request(&f, &e);
    request.alpha = 2, request.beta = -1;
    CHECK_OK(wr_plan_apply(f.plan, &request));
    CHECK(seen.request.epilogue == NULL && seen.request.alpha == 2);
    CHECK(seen.request.beta == (beta_apart ? 0 : -1) && (seen.request.y == &f.y[0]) == !beta_apart);
    CHECK(holds(&f.y[0], -78, -190, -284, -292));
    CHECK(holds(&f.scaled, -78, 0, -1136, -146));
    CHECK(element(&f.bank, 0) == 10 && element(&f.bank, 1) == -78 - 190 - 284 - 292);
    CHECK(element(&f.bank, 2) == 178 + 390 + 584 + 692 && element(&f.bank, 4) == -1);
    CHECK(element(&f.bank, 3) == 78. * 78 + 190. * 190 + 284. * 284 + 292. * 292);
    close_fixture(&f);
  }
}

static void test_beta_unannounced(void) {
  CASE("a beta that was not announced");
  for (int has_beta = 0; has_beta < 2; has_beta++) {
    fixture f = open_fixture(has_beta ? EVERYTHING : EVERYTHING & ~WR_CAP_BETA, WR_F64, 0);
    make_plan(&f);
    wr_status status = wr_plan_apply(f.plan, &(wr_apply){.alpha = 1, .beta = 1, .x = &f.x, .y = &f.y[0]});
    CHECK(status == (has_beta ? WR_OK : WR_EUSAGE) && seen.applies == has_beta);
    if (!has_beta) CHECK_MESSAGE("need_beta");
    CHECK(has_beta ? holds(&f.y[0], 106, 200, 298, 444) : holds(&f.y[0], 100, 200, 300, 400));
    close_fixture(&f);
  }
}

/* ---- several vectors at once ---- */

static int many_calls;

/* Y := 7 in every column. */
static wr_status record_many(void *state, wr_env *env, const wr_apply_many *r) {
  (void)state, (void)env;
  many_calls++;
  for (int64_t k = 0; k < r->y->n; k++) ((double *)r->y->data)[k] = 7;
  return answer(seen.apply, "apply_many");
}

/* X has the columns x and 2 x, in rows of 3; Y = 3 A X - Y, in rows of 2 that were (100 10), ..., (400 40). Column by column
 * there is an apply for each; a backend with apply_many is called once. */
static void test_many(void) {
  static const double x[] = {1, 2, NAN, 2, 4, NAN, 4, 8, NAN, 8, 16, NAN},
                      y[] = {100, 10, 200, 20, 300, 30, 400, 40},
                      expected[] = {-82, 26, -200, -20, -306, -42, -268, 224};
  for (int way = 0; way < 3; way++) {
    CASE(way == 0 ? "column by column" : way == 1 ? "column by column, without beta" : "apply_many");
    fixture f = open_fixture(way == 1 ? EVERYTHING & ~WR_CAP_BETA : EVERYTHING, WR_F64, 1);
    wr_vec X, Y;
    int64_t taken = way == 2 ? 0 : 2 * N * 8 + (way == 1 ? N * 8 : 0);
    if (way == 2) f.backend.apply_many = record_many;
    CHECK_OK(f.env.ops->alloc(&f.env, 3 * N, WR_F64, "a test", &X));
    CHECK_OK(f.env.ops->alloc(&f.env, 2 * N, WR_F64, "a test", &Y));
    set(&f, &X, x), set(&f, &Y, y);
    f.env.need_columns = 2;
    make_plan(&f);
    CHECK(wr_plan_get_info(f.plan)->extra_bytes == 1010 + taken);
    CHECK_OK(wr_plan_time_start(f.plan));
    expect_apply(&f, 0, 1, 0); /* y[1] is prepared, which the call for several vectors ends */
    int applies = seen.applies;
    uint64_t writes = Y.writes, read = X.writes;
    wr_apply_many r = {.columns = 2, .alpha = 3, .beta = -1, .x = &X, .y = &Y, .ldx = 3, .ldy = 2};
    many_calls = 0;
    CHECK_OK(wr_plan_apply_many(f.plan, &r));
    CHECK(Y.writes > writes && X.writes == read);
    CHECK(many_calls == (way == 2) && seen.applies - applies == (way == 2 ? 0 : 2));
    for (int k = 0; k < 2 * N; k++) CHECK(element(&Y, k) == (way == 2 ? 7 : expected[k]));
    expect_apply(&f, 1, -1, 0);
    CHECK_OK(wr_plan_time_collect(f.plan));
    CHECK(wr_plan_get_times(f.plan).applies == 3);
    seen.apply = WR_EDEVICE;
    CHECK_FAILS(WR_EDEVICE, wr_plan_apply_many(f.plan, &r));
    f.env.ops->release(&f.env, &X), f.env.ops->release(&f.env, &Y);
    close_fixture(&f);
  }
}

static void test_many_beta(void) {
  CASE("several vectors: a beta that was not announced");
  fixture f = open_fixture(EVERYTHING & ~WR_CAP_BETA, WR_F64, 0);
  wr_apply_many r = {.columns = 1, .alpha = 1, .beta = 1, .x = &f.x, .y = &f.y[0], .ldx = 1, .ldy = 1};
  f.env.need_columns = 1;
  make_plan(&f);
  CHECK_FAILS(WR_EUSAGE, wr_plan_apply_many(f.plan, &r));
  CHECK_MESSAGE("need_beta");
  r.beta = 0;
  CHECK_OK(wr_plan_apply_many(f.plan, &r));
  CHECK(holds(&f.y[0], 6, 0, -2, 44));
  close_fixture(&f);
}

int main(void) {
  test_refusals();
  test_rectangular();
  test_order();
  test_promise();
  test_not_passed();
  test_writes();
  test_fallbacks();
  test_beta_unannounced();
  test_many();
  test_many_beta();
  return wr_test_report("plan_apply");
}
