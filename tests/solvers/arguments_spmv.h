/* Rows of test_arguments.c: csr.h, vec.h, spmv.h; and the matrix, the env and the plan that the calls need. */
#ifndef WR_ARGUMENTS_SPMV_H
#define WR_ARGUMENTS_SPMV_H

enum { SIZE = 4 };

static struct {
  wr_csr *A, *larger;
  wr_csr bare; /* of A's sizes, without arrays */
  wr_env env, closed;
  wr_plan *plan;
  wr_vec x, y, bank;
} given;

static wr_csr *identity(int64_t n) {
  wr_csr *A;
  CHECK_OK(wr_csr_create(n, n, n, 1, &A));
  if (A == NULL) exit(wr_test_report("arguments"));
  for (int64_t i = 0; i < n; i++) A->row_ptr[i + 1] = i + 1, A->col[i] = (int32_t)i, A->val[i] = 2;
  return A;
}

static void open_ground(void) {
  const wr_backend *backend;
  CASE("what the calls need");
  given.A = identity(SIZE), given.larger = identity(SIZE + 1);
  given.bare = (wr_csr){.nrows = SIZE, .ncols = SIZE, .nnz = SIZE};
  given.env = (wr_env){.place = WR_HOST, .type = WR_F64, .threads = 1};
  given.closed = given.env;
  CHECK_OK(wr_env_open(&given.env));
  CHECK_OK(wr_backend_find("reference", &backend));
  CHECK_OK(wr_plan_create(backend, NULL, given.A, &given.env, &given.plan));
  CHECK_OK(wr_plan_prepare(given.plan));
  CHECK_OK(given.env.ops->alloc(&given.env, SIZE, WR_F64, "x", &given.x));
  CHECK_OK(given.env.ops->alloc(&given.env, SIZE, WR_F64, "y", &given.y));
  CHECK_OK(given.env.ops->alloc(&given.env, SIZE, WR_F64, "a bank", &given.bank));
}

static void close_ground(void) {
  given.env.ops->release(&given.env, &given.x);
  given.env.ops->release(&given.env, &given.y);
  given.env.ops->release(&given.env, &given.bank);
  wr_plan_destroy(given.plan);
  wr_env_close(&given.env);
  wr_csr_free(given.A);
  wr_csr_free(given.larger);
}

/* ---- csr.h ---- */

static void try_triplets_free(void) {
  wr_triplets none = {0};
  wr_triplets_free(NULL);
  wr_triplets_free(&none);
  CHECK(none.nchunks == 0);
}

static void try_assemble(void) {
  int32_t row[] = {0, 1}, col[] = {1, 0};
  wr_triplet_chunk good = {.count = 2, .capacity = 2, .row = row, .col = col}, chunk;
  const wr_triplets fine = {.nrows = 2, .ncols = 2, .nchunks = 1, .chunks = &chunk};
  wr_triplets t = fine;
  wr_csr *A = given.A;
  chunk = good;
  REFUSED("out is NULL", wr_csr_assemble(&t, WR_DUPLICATES_SUM, NULL, NULL));
  REFUSED("triplets is NULL", wr_csr_assemble(NULL, WR_DUPLICATES_SUM, &A, NULL));
  CHECK(A == NULL);
  REFUSED("duplicates is 2", wr_csr_assemble(&t, (wr_duplicates)2, &A, NULL));
  t.nrows = 0;
  REFUSED("0 x 2", wr_csr_assemble(&t, WR_DUPLICATES_SUM, &A, NULL));
  t = fine, t.ncols = (int64_t)WR_MAX_INDEX + 1;
  REFUSED("2 x 2147483648", wr_csr_assemble(&t, WR_DUPLICATES_SUM, &A, NULL));
  t = fine, t.symmetry = (wr_symmetry)3;
  REFUSED("triplets->symmetry is 3", wr_csr_assemble(&t, WR_DUPLICATES_SUM, &A, NULL));
  t = fine, t.nchunks = -1;
  REFUSED("triplets has -1 chunks", wr_csr_assemble(&t, WR_DUPLICATES_SUM, &A, NULL));
  t = fine, t.chunks = NULL;
  REFUSED("chunks is NULL", wr_csr_assemble(&t, WR_DUPLICATES_SUM, &A, NULL));
  t = fine, chunk.count = -2;
  REFUSED("chunk 0 of triplets has -2 entries", wr_csr_assemble(&t, WR_DUPLICATES_SUM, &A, NULL));
  chunk = good, chunk.col = NULL;
  REFUSED("lacks row or col", wr_csr_assemble(&t, WR_DUPLICATES_SUM, &A, NULL));
}

static void try_csr_create(void) {
  wr_csr *A = given.A;
  REFUSED("out is NULL", wr_csr_create(1, 1, 1, 1, NULL));
  REFUSED("0 x 1", wr_csr_create(0, 1, 1, 1, &A));
  CHECK(A == NULL);
  REFUSED("1 x -1", wr_csr_create(1, -1, 1, 1, &A));
  REFUSED("with -1 entries", wr_csr_create(1, 1, -1, 1, &A));
  REFUSED("2147483648 x 1", wr_csr_create((int64_t)WR_MAX_INDEX + 1, 1, 1, 1, &A));
}

static void try_csr_copy(void) {
  wr_csr *B = given.A;
  REFUSED("out is NULL", wr_csr_copy(given.A, NULL));
  REFUSED("A is NULL", wr_csr_copy(NULL, &B));
  CHECK(B == NULL);
  REFUSED("A has no row_ptr", wr_csr_copy(&given.bare, &B));
}

static void try_csr_free(void) {
  wr_csr_free(NULL);
  CHECK(wr_status_message() != NULL);
}

static void try_csr_host(void) {
  REFUSED("A is NULL", wr_csr_host(NULL, NULL));
  REFUSED("A has neither host arrays nor a device view", wr_csr_host(&given.bare, &given.env));
}

static void try_csr_forget_device(void) {
  wr_csr_forget_device(NULL);
  wr_csr_forget_device(&given.bare);
  CHECK(given.bare.device == NULL);
}

static void try_csr_values_changed(void) {
  wr_csr_values_changed(NULL);
  wr_csr_values_changed(&given.bare);
  CHECK(given.bare.device == NULL);
}

static void try_csr_same_pattern(void) {
  CHECK(wr_csr_same_pattern(NULL, given.A) == 0 && wr_csr_same_pattern(given.A, NULL) == 0);
  CHECK(wr_csr_same_pattern(&given.bare, given.A) == 0 && wr_csr_same_pattern(given.A, &given.bare) == 0);
}

static void try_plan_generation(void) { CHECK(wr_plan_generation(NULL) == 0); }
static void try_plan_resident_side(void) { CHECK(wr_plan_resident_side(NULL) == 0); }

static void try_csr_transpose(void) {
  wr_csr *T = given.A;
  REFUSED("out is NULL", wr_csr_transpose(given.A, NULL));
  REFUSED("A is NULL", wr_csr_transpose(NULL, &T));
  CHECK(T == NULL);
  REFUSED("A has no row_ptr", wr_csr_transpose(&given.bare, &T));
}

static void try_csr_check(void) {
  REFUSED("A is NULL", wr_csr_check(NULL));
  REFUSED("A has no row_ptr", wr_csr_check(&given.bare));
}

static void try_csr_check_range(void) {
  wr_csr values = given.bare;
  values.val = given.A->val;
  REFUSED("A is NULL", wr_csr_check_range(NULL, 1));
  REFUSED("A has no row_ptr", wr_csr_check_range(&values, 1));
}

static void try_csr_device_view(void) {
  wr_csr_view view;
  REFUSED("A is NULL", wr_csr_device_view(NULL, &given.env, &view));
  REFUSED("view is NULL", wr_csr_device_view(given.A, &given.env, NULL));
  REFUSED("env is NULL", wr_csr_device_view(given.A, NULL, &view));
  REFUSED("env is not open", wr_csr_device_view(given.A, &given.closed, &view));
}

static void try_csr_device_free(void) {
  wr_csr_device_free(NULL);
  CHECK(given.A->device == NULL);
}

/* ---- vec.h ---- */

/* scale: of SIZE elements. */
static void try_epilogue_many(const wr_vecops *ops, wr_env *env, const wr_vec *scale) {
  wr_vec x, y, entries, sums, one, none = {0};
  CHECK_OK(ops->alloc(env, SIZE, WR_F64, "a column", &one));
  CHECK_OK(ops->alloc(env, 2 * SIZE, WR_F64, "X", &x));
  CHECK_OK(ops->alloc(env, 2 * SIZE, WR_F64, "Y", &y));
  CHECK_OK(ops->alloc(env, WR_MAX_COLUMNS, WR_F64, "entries", &entries));
  CHECK_OK(ops->alloc(env, 2 * WR_MAX_COLUMNS, WR_F64, "sums", &sums));
  const wr_epilogue_many fine = {.columns = 2, .y = &y, .ldy = 2, .x = &x, .ldx = 2, .scale = scale, .room = 1,
                                 .rows = &entries, .values = &entries, .sums = &sums};
  CHECK_OK(ops->epilogue_many(env, &fine));
  CHECK_FAILS(WR_EUSAGE, ops->epilogue_many(env, NULL));
#define WRONG(member, value)                             \
  do {                                                   \
    wr_epilogue_many e = fine;                           \
    e.member = value;                                    \
    CHECK_FAILS(WR_EUSAGE, ops->epilogue_many(env, &e)); \
  } while (0)
  WRONG(columns, 0);
  WRONG(columns, 3);
  WRONG(y, NULL);
  WRONG(y, &none);
  WRONG(y, &x); /* which is x */
  WRONG(y, &sums);
  WRONG(ldy, 3);
  WRONG(ldy, 1);
  WRONG(x, &none);
  WRONG(x, &sums);
  WRONG(ldx, 1);
  WRONG(scale, NULL);
  WRONG(scale, &sums);
  WRONG(room, 0);
  WRONG(room, 2);
  WRONG(room, INT64_MAX);
  WRONG(rows, NULL);
  WRONG(values, NULL);
  WRONG(sums, NULL);
  WRONG(sums, &entries);
  WRONG(marks, &none);
#undef WRONG
  CHECK_OK(ops->start_column(env, &fine, 1));
  CHECK_FAILS(WR_EUSAGE, ops->start_column(env, NULL, 1));
  CHECK_FAILS(WR_EUSAGE, ops->start_column(env, &fine, 2));
  CHECK_FAILS(WR_EUSAGE, ops->start_column(env, &fine, -1));
  CHECK_OK(ops->move_column(env, &x, 2, 1, &one));
  CHECK_FAILS(WR_EUSAGE, ops->move_column(NULL, &x, 2, 1, &one));
  CHECK_FAILS(WR_EUSAGE, ops->move_column(env, &none, 2, 1, &one));
  CHECK_FAILS(WR_EUSAGE, ops->move_column(env, &x, 2, 2, &one));
  CHECK_FAILS(WR_EUSAGE, ops->move_column(env, &x, 1, 0, &one));
  CHECK_FAILS(WR_EUSAGE, ops->move_column(env, &x, 2, 1, &x));
  CHECK_FAILS(WR_EUSAGE, ops->move_column(env, &x, 2, 1, NULL));
  ops->release(env, &x), ops->release(env, &y), ops->release(env, &entries), ops->release(env, &sums);
  ops->release(env, &one);
}

/* times: of SIZE elements. */
static void try_fused_many(const wr_vecops *ops, wr_env *env, const wr_vec *times) {
  static const wr_step host_alone = {.name = "none", .scalars = 2};
  wr_vec x, y, bank, none = {0};
  CHECK_OK(ops->alloc(env, 2 * SIZE, WR_F64, "X", &x));
  CHECK_OK(ops->alloc(env, 2 * SIZE, WR_F64, "Y", &y));
  CHECK_OK(ops->alloc(env, 8, WR_F64, "a bank", &bank));
  const wr_fused_many fine = {.columns = 2, .ld = 2, .in = {&x}, .out = {&y}, .times = times, .c = {{{1, 1}}},
                              .sum = {{&x, &y, 1, 2}}, .bank = &bank, .stride = 4};
  CHECK_OK(ops->fused_many(env, &fine));
  CHECK_FAILS(WR_EUSAGE, ops->fused_many(env, NULL));
#define WRONG(member, value)                          \
  do {                                                \
    wr_fused_many f = fine;                           \
    f.member = value;                                 \
    CHECK_FAILS(WR_EUSAGE, ops->fused_many(env, &f)); \
  } while (0)
  WRONG(columns, 0);
  WRONG(columns, 3);
  WRONG(ld, 1);
  WRONG(ld, 3);
  WRONG(in[0], NULL);
  WRONG(in[0], &none);
  WRONG(in[0], &bank);
  WRONG(in[2], &x);
  WRONG(out[0], &none);
  WRONG(out[0], &bank);
  WRONG(out[0], NULL); /* of which there is a sum */
  WRONG(out[1], &y);
  WRONG(scaled, &y);
  WRONG(scaled, &bank);
  WRONG(times, NULL);
  WRONG(times, &x);
  WRONG(c[0][1].factor, 1);
  WRONG(c[0][0].scalar, -1);
  WRONG(c[0][0].scalar, 4);
  WRONG(sum[0].z, NULL);
  WRONG(sum[0].z, &bank);
  WRONG(sum[0].into, 4);
  WRONG(sum[0].into, -1);
  WRONG(bank, NULL);
  WRONG(bank, &none);
  WRONG(stride, -1);
  WRONG(stride, 9);
  WRONG(step, &host_alone);
#undef WRONG
  ops->release(env, &x), ops->release(env, &y), ops->release(env, &bank);
}

/* The operations of a table, on its env. Their sentences need not begin with a function's name. */
static void try_operations(const wr_vecops *ops, wr_env *env) {
  wr_vec v = {0}, made, bank;
  double values[SIZE] = {1}, seconds;
  int64_t free_bytes, total_bytes;
  CHECK_OK(ops->alloc(env, SIZE, WR_F64, "a vector", &made));
  CHECK_OK(ops->alloc(env, SIZE, WR_F64, "a bank", &bank));
  CHECK_FAILS(WR_EUSAGE, ops->alloc(env, SIZE, WR_F64, "a vector", NULL));
  CHECK_FAILS(WR_EUSAGE, ops->alloc(env, 0, WR_F64, "a vector", &v));
  CHECK_FAILS(WR_EUSAGE, ops->alloc(env, -5, WR_F64, "a vector", &v));
  CHECK_FAILS(WR_EUSAGE, ops->alloc(env, SIZE, (wr_type)7, "a vector", &v));
  CHECK_FAILS(WR_EUSAGE, ops->alloc(env, SIZE, WR_F64, NULL, &v));
  CHECK_FAILS(WR_EUSAGE, ops->upload(env, NULL, values));
  CHECK_FAILS(WR_EUSAGE, ops->upload(env, &v, values));
  CHECK_FAILS(WR_EUSAGE, ops->upload(env, &made, NULL));
  CHECK_FAILS(WR_EUSAGE, ops->download(env, NULL, values));
  CHECK_FAILS(WR_EUSAGE, ops->download(env, &v, values));
  CHECK_FAILS(WR_EUSAGE, ops->download(env, &made, NULL));
  CHECK_FAILS(WR_EUSAGE, ops->fill(env, NULL, 1));
  CHECK_FAILS(WR_EUSAGE, ops->fill(env, &v, 1));
  CHECK_FAILS(WR_EUSAGE, ops->compact(env, SIZE, NULL, "a vector", &v));
  CHECK_FAILS(WR_EUSAGE, ops->compact(env, SIZE, values, "a vector", NULL));
  CHECK_FAILS(WR_EUSAGE, ops->compact(env, 0, values, "a vector", &v));
  CHECK_FAILS(WR_EUSAGE, ops->widen(env, NULL, &made));
  CHECK_FAILS(WR_EUSAGE, ops->widen(env, &made, NULL));
  CHECK_FAILS(WR_EUSAGE, ops->fused(env, NULL));
  CHECK_FAILS(WR_EUSAGE, ops->fused(env, &(wr_fused){0}));
  CHECK_FAILS(WR_EUSAGE, ops->step(env, NULL));
  CHECK_FAILS(WR_EUSAGE, ops->step(env, &(wr_then){.bank = &bank}));
  CHECK_FAILS(WR_EUSAGE, ops->epilogue(env, NULL));
  CHECK_FAILS(WR_EUSAGE, ops->maxima(env, NULL, &made, 1, &bank));
  CHECK_FAILS(WR_EUSAGE, ops->maxima(env, &made, NULL, 1, &bank));
  CHECK_FAILS(WR_EUSAGE, ops->maxima(env, &made, &made, 1, NULL));
  CHECK_FAILS(WR_EUSAGE, ops->maxima(env, &made, &made, 1, &v));
  CHECK_FAILS(WR_EUSAGE, ops->maxima(env, &made, &made, 1, &made));
  CHECK_FAILS(WR_EUSAGE, ops->maxima(env, &made, &made, 2, &bank)); /* so long are fewer pieces */
  CHECK_FAILS(WR_EUSAGE, ops->maxima(env, &made, &made, 0, &bank));
  CHECK_FAILS(WR_EUSAGE, ops->maxima(env, &made, &made, INT64_MAX, &bank));
  CHECK_OK(ops->maxima(env, &made, &made, 1, &bank));
  CHECK_FAILS(WR_EUSAGE, ops->pick(env, NULL, 1, &bank, &made));
  CHECK_FAILS(WR_EUSAGE, ops->pick(env, &made, 1, NULL, &bank));
  CHECK_FAILS(WR_EUSAGE, ops->pick(env, &made, 1, &v, &bank));
  CHECK_FAILS(WR_EUSAGE, ops->pick(env, &made, 1, &bank, NULL));
  CHECK_FAILS(WR_EUSAGE, ops->pick(env, &made, 1, &bank, &made));
  CHECK_FAILS(WR_EUSAGE, ops->pick(env, &made, 0, &bank, &made));
  CHECK_FAILS(WR_EUSAGE, ops->pick(env, &made, 2, &bank, &v));
  CHECK_FAILS(WR_EUSAGE, ops->check_address(env, NULL, "b"));
  CHECK_FAILS(WR_EUSAGE, ops->check_address(env, made.data, NULL));
  CHECK_OK(ops->check_address(env, made.data, "b"));
  CHECK_FAILS(WR_EUSAGE, ops->take(env, NULL, made.data));
  CHECK_FAILS(WR_EUSAGE, ops->take(env, &v, made.data));
  CHECK_FAILS(WR_EUSAGE, ops->take(env, &made, NULL));
  CHECK_FAILS(WR_EUSAGE, ops->give(env, NULL, made.data));
  CHECK_FAILS(WR_EUSAGE, ops->give(env, &v, made.data));
  CHECK_FAILS(WR_EUSAGE, ops->give(env, &made, NULL));
  CHECK_OK(ops->copy_column(env, &made, 2, 1, &bank, 2, 0));
  CHECK_FAILS(WR_EUSAGE, ops->copy_column(env, NULL, 2, 1, &bank, 2, 0));
  CHECK_FAILS(WR_EUSAGE, ops->copy_column(env, &made, 2, 1, NULL, 2, 0));
  CHECK_FAILS(WR_EUSAGE, ops->copy_column(env, &v, 2, 1, &bank, 2, 0));
  CHECK_FAILS(WR_EUSAGE, ops->copy_column(env, &made, 2, 1, &made, 2, 0));
  CHECK_FAILS(WR_EUSAGE, ops->copy_column(env, &made, 2, 2, &bank, 2, 0));
  CHECK_FAILS(WR_EUSAGE, ops->copy_column(env, &made, 2, -1, &bank, 2, 0));
  CHECK_FAILS(WR_EUSAGE, ops->copy_column(env, &made, 0, 0, &bank, 2, 0));
  CHECK_FAILS(WR_EUSAGE, ops->copy_column(env, &made, 3, 0, &bank, 3, 0)); /* 4 elements are no rows of 3 */
  CHECK_FAILS(WR_EUSAGE, ops->copy_column(env, &made, 2, 0, &bank, 1, 0)); /* another number of rows      */
  try_epilogue_many(ops, env, &made);
  try_fused_many(ops, env, &made);
  CHECK_FAILS(WR_EUSAGE, ops->stamp(env, -1));
  CHECK_FAILS(WR_EUSAGE, ops->stamp(env, WR_STAMPS));
  CHECK_OK(ops->stamp(env, 0));
  CHECK_FAILS(WR_EUSAGE, ops->elapsed(env, 0, -1, &seconds));
  CHECK_FAILS(WR_EUSAGE, ops->elapsed(env, 0, 0, NULL));
  CHECK_FAILS(WR_EUSAGE, ops->memory(env, NULL, &total_bytes));
  CHECK_FAILS(WR_EUSAGE, ops->memory(env, &free_bytes, NULL));
  ops->release(env, NULL);
  ops->release(env, &v);
  ops->release(env, &made);
  ops->release(env, &bank);
  CHECK(made.id == 0 && bank.id == 0);
}

/* The same operations on an env that is not open. */
static void try_operations_closed(const wr_vecops *ops, wr_env *env) {
  wr_vec v = given.x;
  double values[SIZE] = {1}, seconds;
  int64_t free_bytes, total_bytes;
  wr_apply apply = {.x = &v, .y = &v};
  CHECK_FAILS(WR_EUSAGE, ops->compact(env, SIZE, values, "a vector", &v));
  CHECK_FAILS(WR_EUSAGE, ops->alloc(env, SIZE, WR_F64, "a vector", &v));
  CHECK_FAILS(WR_EUSAGE, ops->fused(env, &(wr_fused){0}));
  CHECK_FAILS(WR_EUSAGE, ops->recast(env, &(wr_recast){0}));
  CHECK_FAILS(WR_EUSAGE, ops->step(env, &(wr_then){.bank = &given.bank}));
  CHECK_FAILS(WR_EUSAGE, ops->epilogue(env, &apply));
  CHECK_FAILS(WR_EUSAGE, ops->maxima(env, &v, &v, 1, &given.bank));
  CHECK_FAILS(WR_EUSAGE, ops->pick(env, &v, 1, &given.bank, &given.bank));
  CHECK_FAILS(WR_EUSAGE, ops->check_address(env, values, "b"));
  CHECK_FAILS(WR_EUSAGE, ops->take(env, &v, values));
  CHECK_FAILS(WR_EUSAGE, ops->give(env, &v, values));
  CHECK_FAILS(WR_EUSAGE, ops->copy_column(env, &v, 1, 0, &given.bank, 1, 0));
  CHECK_FAILS(WR_EUSAGE, ops->epilogue_many(env, &(wr_epilogue_many){.columns = 1, .y = &v, .ldy = 1, .scale = &v}));
  CHECK_FAILS(WR_EUSAGE, ops->wait(env));
  CHECK_FAILS(WR_EUSAGE, ops->stamp(env, 0));
  CHECK_FAILS(WR_EUSAGE, ops->elapsed(env, 0, 0, &seconds));
  CHECK_FAILS(WR_EUSAGE, ops->memory(env, &free_bytes, &total_bytes));
}

static void try_table(const wr_vecops *ops, wr_place place) {
  wr_env env = {.place = place, .type = WR_F64, .threads = 1};
  wr_status status = wr_env_open(&env);
  CHECK(status == WR_OK || (place == WR_CUDA && status == WR_EUNAVAILABLE));
  if (status != WR_OK) SKIP("%s", wr_status_message());
  if (status != WR_OK) return;
  CHECK(env.ops == ops);
  try_operations(ops, &env);
  wr_env_close(&env);
  try_operations_closed(ops, &env);
  try_operations_closed(ops, NULL);
}

static void try_vecops_host(void) { try_table(&wr_vecops_host, WR_HOST); }
static void try_vecops_cuda(void) { try_table(&wr_vecops_cuda, WR_CUDA); }
static void try_cuda_toolkit(void) { CHECK(wr_cuda_toolkit() >= 0); }

static void try_env_open(void) {
  wr_env env = {.place = (wr_place)2};
  REFUSED("env is NULL", wr_env_open(NULL));
  REFUSED("env->place is 2", wr_env_open(&env));
  env = (wr_env){.place = WR_HOST, .type = (wr_type)-1};
  REFUSED("env->type is -1", wr_env_open(&env));
  env = (wr_env){.place = WR_HOST, .threads = -3};
  REFUSED("env->threads is -3", wr_env_open(&env));
  env = (wr_env){.place = WR_CUDA, .device = -1};
  CHECK_FAILS(WR_EUNAVAILABLE, wr_env_open(&env)); /* as for any device that the machine lacks */
}

static void try_env_with_type(void) {
  wr_env other = {.threads = 3};
  REFUSED("other is NULL", wr_env_with_type(&given.env, WR_F32, NULL));
  REFUSED("env is NULL", wr_env_with_type(NULL, WR_F32, &other));
  CHECK(other.threads == 0 && other.ops == NULL);
  REFUSED("env is not open", wr_env_with_type(&given.closed, WR_F32, &other));
  REFUSED("type is 2", wr_env_with_type(&given.env, (wr_type)2, &other));
  CHECK_OK(wr_env_with_type(&given.env, WR_F32, &other));
  CHECK(other.type == WR_F32 && other.state == given.env.state && given.env.type == WR_F64);
}

static void try_recast_check(void) {
  wr_vec longer = given.x;
  wr_recast r = {.in = {&given.x}, .out = &given.x};
  REFUSED("env is NULL", wr_recast_check(NULL, &r));
  REFUSED("env is not open", wr_recast_check(&given.closed, &r));
  REFUSED("r is NULL", wr_recast_check(&given.env, NULL));
  CHECK_OK(wr_recast_check(&given.env, &r));
  longer.n++;
  r.out = &longer;
  CHECK_FAILS(WR_EUSAGE, wr_recast_check(&given.env, &r));
  r = (wr_recast){.out = &given.x};
  REFUSED("a recast needs in[0]", wr_recast_check(&given.env, &r));
  r = (wr_recast){.in = {&given.x}};
  REFUSED("a recast needs out, or a sum", wr_recast_check(&given.env, &r));
  r.sum = (wr_scalar){&given.x, 0};
  CHECK((wr_recast_check(&given.env, &r) == WR_OK) == (given.x.type == WR_F64));
  r.sum = (wr_scalar){&given.bank, -1};
  CHECK_FAILS(WR_EUSAGE, wr_recast_check(&given.env, &r));
}

static void try_env_close(void) {
  wr_env_close(NULL);
  wr_env_close(&given.closed);
  CHECK(given.closed.ops == NULL);
}

static void try_vec_new_id(void) { CHECK(wr_vec_new_id() != wr_vec_new_id()); }

static void try_fused_check(void) {
  wr_fused f = {.in = {&given.x}, .reduce = {{(wr_reduction_kind)9, &given.x, NULL, {&given.bank, 0}}}};
  REFUSED("env is NULL", wr_fused_check(NULL, &f));
  REFUSED("env is not open", wr_fused_check(&given.closed, &f));
  REFUSED("f is NULL", wr_fused_check(&given.env, NULL));
  CHECK_FAILS(WR_EUSAGE, wr_fused_check(&given.env, &f));
  CHECK_MESSAGE("9 is no kind of reduction");
}

static void try_step_check(void) {
  static const wr_step two = {.name = "two", .scalars = 2};
  REFUSED("env is NULL", wr_step_check(NULL, &(wr_then){&two, &given.bank, NULL}));
  REFUSED("env is not open", wr_step_check(&given.closed, &(wr_then){&two, &given.bank, NULL}));
  REFUSED("then is NULL", wr_step_check(&given.env, NULL));
  REFUSED("then->step is NULL", wr_step_check(&given.env, &(wr_then){.bank = &given.bank}));
  CHECK_FAILS(WR_EUSAGE, wr_step_check(&given.env, &(wr_then){.step = &two}));
  CHECK_OK(wr_step_check(&given.env, &(wr_then){&two, &given.bank, NULL}));
}

static void try_then_run(void) {
  REFUSED("env is NULL", wr_then_run(NULL, &(wr_then){0}));
  REFUSED("env is not open", wr_then_run(&given.closed, &(wr_then){0}));
  REFUSED("then is NULL", wr_then_run(&given.env, NULL));
}

/* ---- spmv.h ---- */

static void try_backend_count(void) { CHECK(wr_backend_count() > 0); }

static void try_backend_at(void) {
  CHECK(wr_backend_at(-1) == NULL);
  CHECK(wr_backend_at(wr_backend_count()) == NULL);
}

static void try_backend_find(void) {
  const wr_backend *backend = wr_plan_backend(given.plan);
  REFUSED("backend is NULL", wr_backend_find("reference", NULL));
  REFUSED("name is NULL", wr_backend_find(NULL, &backend));
  CHECK(backend == NULL);
}

static void try_backend_default(void) { CHECK(wr_backend_default((wr_place)5) == NULL); }

static void try_backend_default_many(void) {
  CHECK(wr_backend_default_many((wr_place)5) == NULL);
  CHECK(wr_backend_default_many(WR_HOST) == wr_backend_default(WR_HOST));
}

static void try_backends_print(void) {
  wr_backends_print(NULL);
  CHECK(strcmp(wr_status_message(), "nothing was said") == 0);
}

static void try_plan_create(void) {
  const wr_backend *backend = wr_plan_backend(given.plan);
  wr_backend partial = *backend;
  wr_csr odd = *given.A;
  wr_plan *plan = given.plan;
  REFUSED("plan is NULL", wr_plan_create(backend, NULL, given.A, &given.env, NULL));
  REFUSED("backend is NULL", wr_plan_create(NULL, NULL, given.A, &given.env, &plan));
  CHECK(plan == NULL);
  partial.apply = NULL;
  REFUSED("backend lacks", wr_plan_create(&partial, NULL, given.A, &given.env, &plan));
  partial = *backend, partial.check = NULL;
  REFUSED("backend lacks", wr_plan_create(&partial, NULL, given.A, &given.env, &plan));
  REFUSED("A is NULL", wr_plan_create(backend, NULL, NULL, &given.env, &plan));
  REFUSED("A has neither host arrays", wr_plan_create(backend, NULL, &given.bare, &given.env, &plan));
  odd.nrows = 0;
  REFUSED("A is 0 x 4", wr_plan_create(backend, NULL, &odd, &given.env, &plan));
  odd = *given.A, odd.nnz = -1;
  REFUSED("with -1 entries", wr_plan_create(backend, NULL, &odd, &given.env, &plan));
  REFUSED("env is NULL", wr_plan_create(backend, NULL, given.A, NULL, &plan));
  REFUSED("env is not open", wr_plan_create(backend, NULL, given.A, &given.closed, &plan));
  partial = *backend, partial.plan = NULL;
  REFUSED("backend has no function plan", wr_plan_create(&partial, NULL, given.A, &given.env, &plan));
  CHECK_FAILS(WR_EUSAGE, wr_plan_create(backend, "no_such_knob=1", given.A, &given.env, &plan));
}

static void try_plan_prepare(void) { REFUSED("plan is NULL", wr_plan_prepare(NULL)); }

static void try_plan_apply(void) {
  wr_epilogue e = {.reduce = {{(wr_reduction_kind)-2, NULL, NULL, {&given.bank, 0}}}};
  wr_apply request = {.alpha = 1, .x = &given.x, .y = &given.y, .epilogue = &e};
  static const wr_step two = {.name = "two", .scalars = 2};
  REFUSED("plan is NULL", wr_plan_apply(NULL, &request));
  REFUSED("request is NULL", wr_plan_apply(given.plan, NULL));
  CHECK_FAILS(WR_EUSAGE, wr_plan_apply(given.plan, &request));
  CHECK_MESSAGE("-2 is no kind of reduction");
  e = (wr_epilogue){.then = {.step = &two}};
  CHECK_FAILS(WR_EUSAGE, wr_plan_apply(given.plan, &request));
  CHECK_MESSAGE("the step two needs a bank");
  static const wr_step more = {.name = "more", .scalars = SIZE + 1};
  e = (wr_epilogue){.then = {&more, &given.bank, NULL}};
  CHECK_FAILS(WR_EUSAGE, wr_plan_apply(given.plan, &request));
  CHECK_MESSAGE("the step more needs a bank");
  request = (wr_apply){.alpha = 1, .x = &given.x};
  CHECK_FAILS(WR_EUSAGE, wr_plan_apply(given.plan, &request));
  request = (wr_apply){.alpha = 1, .y = &given.y};
  CHECK_FAILS(WR_EUSAGE, wr_plan_apply(given.plan, &request));
}

static void try_plan_apply_many(void) {
  wr_env *env = &given.env;
  wr_vec X, Y, f32, compact = given.x;
  wr_plan *plan = NULL;
  CHECK_OK(env->ops->alloc(env, 3 * SIZE, WR_F64, "X", &X));
  CHECK_OK(env->ops->alloc(env, 4 * SIZE, WR_F64, "Y", &Y));
  CHECK_OK(env->ops->alloc(env, 3 * SIZE, WR_F32, "X in f32", &f32));
  const wr_apply_many good = {.columns = 2, .alpha = 1, .x = &X, .y = &Y, .ldx = 3, .ldy = 4};
  wr_apply_many r = good;
  REFUSED("plan is NULL", wr_plan_apply_many(NULL, &r));
  REFUSED("request is NULL", wr_plan_apply_many(given.plan, NULL));
  CHECK_FAILS(WR_EUSAGE, wr_plan_apply_many(given.plan, &r)); /* prepared for none */
  CHECK_MESSAGE("wr_plan_apply_many: 2 columns; the plan was prepared for 0");
  CHECK_OK(wr_plan_create(wr_plan_backend(given.plan), NULL, given.A, env, &plan));
  CHECK_FAILS(WR_EUSAGE, wr_plan_apply_many(plan, &r));
  CHECK_MESSAGE("is not prepared");
  env->need_columns = WR_MAX_COLUMNS + 1;
  CHECK_FAILS(WR_EUSAGE, wr_plan_prepare(plan));
  CHECK_MESSAGE("env->need_columns is 9");
  env->need_columns = -1;
  CHECK_FAILS(WR_EUSAGE, wr_plan_prepare(plan));
  env->need_columns = 2;
  CHECK_OK(wr_plan_prepare(plan));
  CHECK_OK(wr_plan_apply_many(plan, &r));
#define REFUSED_WITH(text, ...)                             \
  do {                                                      \
    r = good, __VA_ARGS__;                                  \
    CHECK_FAILS(WR_EUSAGE, wr_plan_apply_many(plan, &r));   \
    CHECK_MESSAGE(text);                                    \
  } while (0)
  REFUSED_WITH("0 columns", r.columns = 0);
  REFUSED_WITH("-1 columns", r.columns = -1);
  REFUSED_WITH("3 columns; the plan was prepared for 2", r.columns = 3);
  REFUSED_WITH("x and y are needed", r.x = NULL);
  REFUSED_WITH("x and y are needed", r.y = NULL);
  REFUSED_WITH("x has rows of 1 elements, for 2", r.ldx = 1);
  REFUSED_WITH("y has rows of -4 elements", r.ldy = -4);
  REFUSED_WITH("x has rows of 9223372036854775807", r.ldx = INT64_MAX);
  REFUSED_WITH("wr_plan_apply_many: x has 12 elements, not 16", r.ldx = 4);
  REFUSED_WITH("y has 16 elements, not 8", r.ldy = 2);
  REFUSED_WITH("x and y must be distinct", r.x = &Y, r.ldx = 4);
  REFUSED_WITH("another type", r.x = &f32);
  compact = X, compact.reciprocal_bytes = 1;
  REFUSED_WITH("compact", r.x = &compact);
#undef REFUSED_WITH
  env->need_columns = 0;
  wr_plan_destroy(plan);
  env->ops->release(env, &X), env->ops->release(env, &Y), env->ops->release(env, &f32);
}

static void try_plan_many_bytes(void) {
  CHECK(wr_plan_many_bytes(NULL, 1) == 0 && wr_plan_many_bytes(given.plan, 0) == 0);
  CHECK(wr_plan_many_bytes(given.plan, WR_MAX_COLUMNS + 1) == 0);
  CHECK(wr_plan_many_bytes(given.plan, 1) > 0);
}

static void try_plan_forget(void) {
  wr_plan_forget(NULL);
  CHECK(strcmp(wr_status_message(), "nothing was said") == 0);
}

static void try_plan_destroy(void) {
  wr_plan_destroy(NULL);
  CHECK(strcmp(wr_status_message(), "nothing was said") == 0);
}

static void try_plan_decode(void) {
  wr_csr *B = given.A;
  REFUSED("A is NULL", wr_plan_decode(given.plan, NULL));
  REFUSED("plan is NULL", wr_plan_decode(NULL, &B));
  CHECK(B == NULL);
}

static void try_plan_update_values(void) {
  REFUSED("plan is NULL", wr_plan_update_values(NULL, given.A));
  REFUSED("A is NULL", wr_plan_update_values(given.plan, NULL));
  CHECK_FAILS(WR_EUSAGE, wr_plan_update_values(given.plan, given.larger));
}

static void try_plan_swap(void) {
  REFUSED("plan is NULL", wr_plan_swap(NULL, given.plan));
  REFUSED("other is NULL", wr_plan_swap(given.plan, NULL));
}

static void try_plan_backend(void) { CHECK(wr_plan_backend(NULL) == NULL); }
static void try_plan_get_info(void) { CHECK(wr_plan_get_info(NULL) == NULL); }
static void try_plan_advise(void) { CHECK(wr_plan_advise(NULL) == NULL); }
static void try_plan_knobs(void) { CHECK(wr_plan_knobs(NULL)[0] == '\0'); }
static void try_plan_time_start(void) { REFUSED("plan is NULL", wr_plan_time_start(NULL)); }
static void try_plan_time_collect(void) { REFUSED("plan is NULL", wr_plan_time_collect(NULL)); }
static void try_plan_time_pause(void) { CHECK(wr_plan_time_pause(NULL, 1) == 0); }

static void try_plan_get_times(void) {
  wr_plan_times times = wr_plan_get_times(NULL);
  CHECK(times.applies == 0 && times.count == 0 && times.seconds == NULL && times.total == 0);
}

static void try_env_read_bandwidth(void) {
  double bandwidth = 1;
  REFUSED("bytes_per_second is NULL", wr_env_read_bandwidth(&given.env, 1e6, NULL));
  REFUSED("env is NULL", wr_env_read_bandwidth(NULL, 1e6, &bandwidth));
  REFUSED("env is not open", wr_env_read_bandwidth(&given.closed, 1e6, &bandwidth));
  CHECK(bandwidth == 0);
}

#define ARGUMENTS_SPMV                                                                                   \
  {"wr_csr_values_changed", try_csr_values_changed}, {"wr_csr_same_pattern", try_csr_same_pattern},            \
      {"wr_plan_generation", try_plan_generation}, {"wr_plan_resident_side", try_plan_resident_side},          \
      {"wr_triplets_free", try_triplets_free}, {"wr_csr_assemble", try_assemble},                            \
      {"wr_csr_create", try_csr_create}, {"wr_csr_copy", try_csr_copy}, {"wr_csr_free", try_csr_free},   \
      {"wr_csr_host", try_csr_host}, {"wr_csr_forget_device", try_csr_forget_device},                    \
      {"wr_csr_transpose", try_csr_transpose}, {"wr_csr_check", try_csr_check},                          \
      {"wr_csr_check_range", try_csr_check_range}, {"wr_csr_device_view", try_csr_device_view},          \
      {"wr_csr_device_free", try_csr_device_free}, {"wr_vecops_host", try_vecops_host},                  \
      {"wr_vecops_cuda", try_vecops_cuda}, {"wr_cuda_toolkit", try_cuda_toolkit},                        \
      {"wr_env_open", try_env_open}, {"wr_env_close", try_env_close}, {"wr_vec_new_id", try_vec_new_id}, \
      {"wr_fused_check", try_fused_check}, {"wr_step_check", try_step_check},                      \
      {"wr_env_with_type", try_env_with_type}, {"wr_recast_check", try_recast_check},              \
      {"wr_then_run", try_then_run}, {"wr_backend_count", try_backend_count},                            \
      {"wr_backend_at", try_backend_at}, {"wr_backend_find", try_backend_find},                          \
      {"wr_backend_default", try_backend_default},                                                      \
      {"wr_backend_default_many", try_backend_default_many}, {"wr_backends_print", try_backends_print},            \
      {"wr_plan_create", try_plan_create}, {"wr_plan_prepare", try_plan_prepare},                        \
      {"wr_plan_apply", try_plan_apply}, {"wr_plan_apply_many", try_plan_apply_many},                    \
      {"wr_plan_many_bytes", try_plan_many_bytes}, {"wr_plan_forget", try_plan_forget},                            \
      {"wr_plan_destroy", try_plan_destroy}, {"wr_plan_decode", try_plan_decode},                        \
      {"wr_plan_update_values", try_plan_update_values}, {"wr_plan_backend", try_plan_backend},          \
      {"wr_plan_swap", try_plan_swap},                                                                   \
      {"wr_plan_get_info", try_plan_get_info}, {"wr_plan_advise", try_plan_advise},                      \
      {"wr_plan_knobs", try_plan_knobs}, {"wr_plan_time_start", try_plan_time_start},                    \
      {"wr_plan_time_collect", try_plan_time_collect}, {"wr_plan_time_pause", try_plan_time_pause},      \
      {"wr_plan_get_times", try_plan_get_times}, {"wr_env_read_bandwidth", try_env_read_bandwidth},

#endif
