/* What is no argument of the functions of precond.h: a row for each (test_arguments.c). */
#ifndef WR_ARGUMENTS_PRECOND_H
#define WR_ARGUMENTS_PRECOND_H

static void try_precond_none(void) {
  CHECK(wr_precond_none.apply == NULL && wr_precond_none.diagonal == NULL &&
        wr_preconditioner_at(0) == &wr_precond_none);
}

static void try_precond_jacobi(void) { CHECK(wr_precond_jacobi.apply && wr_precond_jacobi.diagonal); }

static void try_precond_ilu0(void) { CHECK(wr_precond_ilu0.apply && wr_precond_ilu0.diagonal == NULL); }

static void try_precond_ilut(void) { CHECK(wr_precond_ilut.apply && wr_precond_ilut.diagonal == NULL); }

static void keep_share(void *share, const char *what, double value) {
  CHECK(strcmp(what, "work") == 0);
  *(double *)share = value;
}

static void try_monitor_watch(void) {
  double share = 0;
  const wr_monitor late = {.deadline = 1e-9}, early = {.preparing = keep_share, .context = &share};
  const wr_watch none = wr_monitor_watch(NULL), passed = wr_monitor_watch(&late), told = wr_monitor_watch(&early);
  CHECK_OK(wr_watch_check_at(&none, "work", 0.5));
  CHECK_FAILS(WR_EUNAVAILABLE, wr_watch_check_at(&passed, "work", 0.5));
  CHECK_OK(wr_watch_check_at(&told, "work", 0.25));
  CHECK(share == 0.25);
  CHECK_OK(wr_watch_check(&told, "work"));
  CHECK(share < 0);
}

static void count_shown(void *context, int64_t iteration, double measure, double target) {
  *(int64_t *)context = iteration + (measure == 1 && target == 2);
}

/* Without a function or a history nothing happens; iterations of earlier parts are added. */
static void try_monitor_show(void) {
  int64_t shown = 0;
  wr_history history = {0};
  const wr_monitor m = {.progress = count_shown, .context = &shown, .before = 100, .history = &history};
  wr_monitor_show(NULL, 1, 1, 2);
  wr_monitor_show(&(wr_monitor){0}, 1, 1, 2);
  CHECK_OK(wr_monitor_keep(NULL, 1, 1));
  CHECK_OK(wr_monitor_keep(&(wr_monitor){0}, 1, 1));
  wr_monitor_show(&m, 20, 1, 2);
  CHECK_OK(wr_monitor_keep(&m, 20, 3));
  CHECK(shown == 121 && history.count == 1 && history.iteration[0] == 120 && history.measure[0] == 3);
  wr_history_free(&history);
}

static void never(void *context) { CHECKF(0, "%p", context); }

static void try_monitor_rests(void) {
  const int yes = 1, no = 0;
  CHECK(wr_monitor_rests(NULL) == 0 && wr_monitor_rests(&(wr_monitor){.rest = never}) == 0);
  CHECK(wr_monitor_rests(&(wr_monitor){.rest_due = &yes}) == 0);
  CHECK(wr_monitor_rests(&(wr_monitor){.rest = never, .rest_due = &no}) == 0);
  CHECK(wr_monitor_rests(&(wr_monitor){.rest = never, .rest_due = &yes}) == 1);
}

static void try_monitor_ends(void) {
  int leaves = 1;
  const volatile sig_atomic_t set = 1;
  CHECK(wr_monitor_ends(NULL) == 0 && wr_monitor_ends(&(wr_monitor){0}) == 0);
  CHECK(wr_monitor_ends(&(wr_monitor){.deadline = 1e-9}) == WR_TIME_LIMIT);
  CHECK(wr_monitor_ends(&(wr_monitor){.deadline = 1e-9, .interrupted = &set}) == WR_INTERRUPTED);
  CHECK(wr_monitor_ends(&(wr_monitor){.deadline = 1e300}) == 0);
  CHECK(wr_monitor_ends(&(wr_monitor){.leaves = &leaves}) == WR_TIME_LIMIT && leaves == 1);
  leaves = 0;
  CHECK(wr_monitor_ends(&(wr_monitor){.leaves = &leaves}) == 0);
  CHECK(wr_monitor_ends_here(NULL) == 0 && wr_monitor_ends_here(&(wr_monitor){.interrupted = &set}) == WR_INTERRUPTED);
}

static void try_preconditioner_count(void) { CHECK(wr_preconditioner_count() >= 2); }

static void try_preconditioner_at(void) {
  CHECK(wr_preconditioner_at(-1) == NULL && wr_preconditioner_at(wr_preconditioner_count()) == NULL);
}

static void try_preconditioner_find(void) {
  const wr_preconditioner *of = &wr_precond_jacobi;
  REFUSED("name is NULL", wr_preconditioner_find(NULL, &of));
  REFUSED("of is NULL", wr_preconditioner_find("jacobi", NULL));
  CHECK_FAILS(WR_EUSAGE, wr_preconditioner_find("jakobi", &of));
  CHECK_MESSAGE("did you mean 'jacobi'");
  CHECK(of == NULL);
  for (int k = 0; k < wr_preconditioner_count(); k++) {
    CHECK_OK(wr_preconditioner_find(wr_preconditioner_at(k)->name, &of));
    CHECK(of == wr_preconditioner_at(k));
  }
}

static void try_precond_create(void) {
  wr_precond *p = NULL;
  const wr_preconditioner nameless = {0};
  REFUSED("precond is NULL", wr_precond_create(&wr_precond_jacobi, NULL, given.A, &given.env, NULL));
  REFUSED("of is NULL", wr_precond_create(NULL, NULL, given.A, &given.env, &p));
  REFUSED("env is NULL", wr_precond_create(&wr_precond_jacobi, NULL, given.A, NULL, &p));
  REFUSED("env is not open", wr_precond_create(&wr_precond_jacobi, NULL, given.A, &given.closed, &p));
  REFUSED("A is NULL", wr_precond_create(&wr_precond_jacobi, NULL, NULL, &given.env, &p));
  REFUSED("A has no row_ptr", wr_precond_create(&wr_precond_jacobi, NULL, &given.bare, &given.env, &p));
  REFUSED("lacks its name", wr_precond_create(&nameless, NULL, given.A, &given.env, &p));
  CHECK_FAILS(WR_EUSAGE, wr_precond_create(&wr_precond_jacobi, "sides=3", given.A, &given.env, &p));
  CHECK(p == NULL);
}

static wr_status apply_nothing(void *context, wr_env *env, const wr_precond_request *request) {
  return (void)context, (void)env, (void)request, WR_OK;
}

static void try_precond_of_function(void) {
  wr_precond *p = NULL;
  REFUSED("precond is NULL", wr_precond_of_function(apply_nothing, NULL, SIZE, &given.env, NULL));
  REFUSED("apply is NULL", wr_precond_of_function(NULL, NULL, SIZE, &given.env, &p));
  REFUSED("n is 0", wr_precond_of_function(apply_nothing, NULL, 0, &given.env, &p));
  REFUSED("env is not open", wr_precond_of_function(apply_nothing, NULL, SIZE, &given.closed, &p));
  CHECK(p == NULL);
}

static void try_precond_apply(void) {
  wr_precond *p = NULL;
  wr_vec x = given.x, y = given.y, shorter = given.x, f32 = given.x;
  shorter.n--, f32.type = WR_F32;
  CHECK_OK(wr_precond_create(&wr_precond_none, NULL, given.A, &given.env, &p));
  REFUSED("p is NULL", wr_precond_apply(NULL, &(wr_precond_request){.r = &x, .z = &y}));
  REFUSED("request is NULL", wr_precond_apply(p, NULL));
  const wr_precond_request bad[] = {
      {.z = &y}, {.r = &x}, {.r = &x, .z = &x}, {.r = &shorter, .z = &y}, {.r = &x, .z = &f32},
      {.r = &x, .z = &y, .reduce = {[1] = {WR_DOT_HASH, &x, NULL, {&y, 0}}}}};
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) CHECK_FAILS(WR_EUSAGE, wr_precond_apply(p, &bad[k]));
  wr_precond_destroy(p);
}

static void try_precond_apply_many(void) {
  wr_precond *p = NULL;
  int done = 1;
  given.env.need_columns = 2;
  CHECK_OK(wr_precond_create(&wr_precond_ilu0, NULL, given.A, &given.env, &p));
  given.env.need_columns = 0;
  REFUSED("p is NULL", wr_precond_apply_many(NULL, 2, &given.x, &given.y, &done));
  REFUSED("done is NULL", wr_precond_apply_many(p, 2, &given.x, &given.y, NULL));
  REFUSED("r is no array", wr_precond_apply_many(p, 2, &given.x, &given.y, &done)); /* of one column */
  CHECK_OK(wr_precond_apply_many(p, 1, &given.x, &given.y, &done));
  CHECK(done == 0);
  wr_precond_destroy(p);
}

static void try_precond_scale(void) {
  REFUSED("env is NULL", wr_precond_scale(NULL, NULL, &(wr_precond_request){.r = &given.x, .z = &given.y}));
  REFUSED("request is NULL", wr_precond_scale(&given.env, NULL, NULL));
}

static void try_precond_destroy(void) {
  wr_precond_destroy(NULL);
  CHECK(wr_precond_id(NULL) == 0);
}

static void try_precond_get_info(void) { CHECK(wr_precond_get_info(NULL) == NULL); }

static void try_precond_size(void) { CHECK(wr_precond_size(NULL) == 0); }

static void try_precond_is_diagonal(void) {
  wr_precond *p = NULL;
  CHECK(wr_precond_is_diagonal(NULL) == 0);
  CHECK_OK(wr_precond_create(&wr_precond_jacobi, NULL, given.A, &given.env, &p));
  CHECK(wr_precond_is_diagonal(p) == 1);
  wr_precond_destroy(p);
  CHECK_OK(wr_precond_create(&wr_precond_none, NULL, given.A, &given.env, &p));
  CHECK(wr_precond_is_diagonal(p) == 0);
  wr_precond_destroy(p);
}

static void try_precond_inverse(void) {
  wr_precond *p = NULL;
  CHECK(wr_precond_inverse(NULL) == NULL);
  CHECK_OK(wr_precond_create(&wr_precond_none, NULL, given.A, &given.env, &p));
  CHECK(wr_precond_inverse(p) == NULL);
  wr_precond_destroy(p);
}

static void try_precond_id(void) {
  wr_precond *p[2];
  for (int k = 0; k < 2; k++) CHECK_OK(wr_precond_of_function(apply_nothing, NULL, SIZE, &given.env, &p[k]));
  CHECK(wr_precond_id(p[0]) != 0 && wr_precond_id(p[0]) != wr_precond_id(p[1]) && wr_precond_size(p[0]) == SIZE);
  for (int k = 0; k < 2; k++) wr_precond_destroy(p[k]);
}

static void try_bicgstab_precondition(void) {
  wr_bicgstab none = {0};
  wr_precond *p = NULL;
  solving t;
  open_solving(&t);
  CHECK_OK(wr_precond_of_function(apply_nothing, NULL, SIZE + 1, &given.env, &p));
  REFUSED("s is NULL", wr_bicgstab_precondition(NULL, p));
  REFUSED("s is not open", wr_bicgstab_precondition(&none, p));
  REFUSED("precond is of", wr_bicgstab_precondition(&t.s, p));
  CHECK_OK(wr_bicgstab_precondition(&t.s, NULL));
  wr_precond_destroy(p);
  close_solving(&t);
}

#define ARGUMENTS_PRECOND                                                                             \
  {"wr_precond_none", try_precond_none}, {"wr_precond_jacobi", try_precond_jacobi},                   \
      {"wr_precond_ilu0", try_precond_ilu0}, {"wr_precond_ilut", try_precond_ilut},                   \
      {"wr_monitor_ends", try_monitor_ends}, {"wr_monitor_ends_here", try_monitor_ends},              \
      {"wr_monitor_show", try_monitor_show}, {"wr_monitor_keep", try_monitor_show},                   \
      {"wr_monitor_rests", try_monitor_rests},                                                        \
      {"wr_monitor_watch", try_monitor_watch},                                                        \
      {"wr_preconditioner_count", try_preconditioner_count},                                          \
      {"wr_preconditioner_at", try_preconditioner_at},                                                \
      {"wr_preconditioner_find", try_preconditioner_find}, {"wr_precond_create", try_precond_create}, \
      {"wr_precond_of_function", try_precond_of_function}, {"wr_precond_apply", try_precond_apply},   \
      {"wr_precond_apply_many", try_precond_apply_many}, \
      {"wr_precond_scale", try_precond_scale}, {"wr_precond_destroy", try_precond_destroy},           \
      {"wr_precond_get_info", try_precond_get_info}, {"wr_precond_size", try_precond_size},           \
      {"wr_precond_is_diagonal", try_precond_is_diagonal}, \
      {"wr_precond_inverse", try_precond_inverse}, \
      {"wr_precond_id", try_precond_id}, {"wr_bicgstab_precondition", try_bicgstab_precondition},

#endif
