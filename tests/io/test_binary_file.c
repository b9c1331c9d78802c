/* Matrices saved in binary: round trips, the bytes as the headers define them, files that change, outputs that cannot be
 * written, too little memory. */
#define _DEFAULT_SOURCE
#include "io/binary_file.h"

#include "data/generate.h"
#include "io/reader.h"
#include "tests/io/binary_image.h"
#include "tests/io/input_fixture.h"

static const wr_binary_origin plain;

static int same_matrix(const wr_csr *A, const wr_csr *B) {
  size_t nnz = (size_t)A->nnz;
  if (A->nrows != B->nrows || A->ncols != B->ncols || A->nnz != B->nnz || A->symmetric != B->symmetric) return 0;
  if ((A->val == NULL) != (B->val == NULL) || memcmp(A->row_ptr, B->row_ptr, (size_t)(A->nrows + 1) * 8) != 0) return 0;
  return nnz == 0 || (memcmp(A->col, B->col, nnz * 4) == 0 && (!A->val || memcmp(A->val, B->val, nnz * 8) == 0));
}

static wr_status read_path(const char *path, int threads, wr_csr **A, wr_binary_origin *origin) {
  wr_triplets t;
  recorder r;
  recorder_open(&r);
  wr_read_options how = {.threads = threads, .feed = &r.feed};
  wr_status status = wr_read_matrix(path, &how, &t, A, origin, NULL);
  int64_t pieces = *A ? ((*A)->nnz + PIECE - 1) / PIECE : 0;
  CHECKF(threads > 1 || *A == NULL || r.told == (pieces ? pieces : 1), "%d announcements", r.told);
  recorder_check(&r, *A);
  CHECK(t.nchunks == 0 && t.chunks == NULL);
  wr_triplets_free(&t);
  return status;
}

static int same_origin(const wr_csr *A, const wr_binary_origin *a, const wr_binary_origin *b) {
  if (a->repeated != b->repeated || a->repeats != b->repeats || a->ids.count != b->ids.count) return 0;
  for (int64_t i = 0; i < a->ids.count; i++)
    if (wr_ids_at(&a->ids, i) != wr_ids_at(&b->ids, i)) return 0;
  return a->ids.count == 0 || (a->ids.count == A->nrows && (a->ids.id == NULL) == (b->ids.id == NULL));
}

/* The ids as each of several processes reads them. */
static void check_ranges(const char *path, const wr_csr *A, const wr_binary_origin *origin) {
  wr_binary_ranges file;
  wr_binary_origin back = *origin;
  CHECK_OK(wr_binary_ranges_open(path, &file));
  CHECK_OK(wr_binary_ranges_ids(&file, &back.ids));
  CHECK(same_origin(A, origin, &back));
  wr_ids_free(&back.ids);
  wr_binary_ranges_close(&file);
}

/* Frees A. */
static void check_round_trip(wr_csr *A, wr_binary_origin origin) {
  const char *path = fixture_path("matrix.wrm");
  wr_csr *B;
  wr_binary_origin back;
  image m = image_of(A, &origin);
  for (int threads = 1; threads <= 5; threads += 2) {
    CHECK_OK(wr_binary_write(path, A, &origin, threads));
    fixture_text saved = fixture_read(path);
    CHECKF((int64_t)saved.count == m.size && memcmp(saved.bytes, m.bytes, saved.count) == 0,
           "%zu bytes, not those of the definition, on %d threads", saved.count, threads);
    fixture_free(&saved);
    CHECK_OK(read_path(path, threads, &B, &back));
    CHECK(B != NULL && same_matrix(A, B) && same_origin(A, &origin, &back));
    wr_ids_free(&back.ids);
    wr_csr_free(B);
    check_ranges(path, A, &origin);
  }
  CHECK_OK(read_image(&m, 0, &B));
  CHECK(B != NULL && same_matrix(A, B));
  wr_csr_free(B);
  free(m.bytes);
  wr_csr_free(A);
}

static void test_small(void) {
  CASE("small matrices");
  check_round_trip(small(1), plain);
  check_round_trip(small(0), (wr_binary_origin){.repeated = 7, .repeats = WR_REPEATS_ONCE});
  check_round_trip(make(1, 1, (int64_t[]){0, 1}, (int32_t[]){0}, (double[]){2}),
                   (wr_binary_origin){.repeated = 3, .repeats = WR_REPEATS_COUNTED});
  check_round_trip(make(1, 1, (int64_t[]){0, 0}, NULL, NULL), plain);
  check_round_trip(make(2, 5, (int64_t[]){0, 0, 0}, NULL, (double[]){0}), plain);
  wr_csr *A = make(2, 2, (int64_t[]){0, 2, 3}, (int32_t[]){0, 1, 0}, (double[]){1, -0.5, -0.5});
  A->symmetric = 1;
  check_round_trip(A, plain);
  check_round_trip(make(1, WR_MAX_INDEX, (int64_t[]){0, 2}, (int32_t[]){0, WR_MAX_INDEX - 1}, NULL), plain);
}

static void test_ids(void) {
  CASE("ids");
  int64_t *id = calloc(PIECE + 3, sizeof *id);
  for (int64_t i = 0; i < PIECE + 3; i++) id[i] = 1 + i * i;
  check_round_trip(small(1), (wr_binary_origin){.ids = {3, 1, id}});
  check_round_trip(small(0), (wr_binary_origin){.ids = {3, INT64_MAX - 2, NULL}});
  check_round_trip(make(1, 1, (int64_t[]){0, 0}, NULL, NULL), (wr_binary_origin){.ids = {.count = 1}});
  id[0] = 0, id[PIECE + 2] = INT64_MAX;
  wr_csr *A = NULL;
  CHECK_OK(wr_csr_create(PIECE + 3, PIECE + 3, 0, 0, &A));
  check_round_trip(A, (wr_binary_origin){.ids = {PIECE + 3, 0, id}});
  free(id);
}

/* Several pieces: of rows, of entries, of one row's entries. */
static void test_pieces(void) {
  static const char *const names[] = {"gen:road:side=300",  "gen:hubs:n=70000,hubs=3", "gen:web:n=20000",
                                      "gen:stencil:n=32",   "gen:stencil:n=30,convection=0", "gen:fem:n=7",
                                      "gen:chain:scale=16", "gen:density:n=300,block=300,density=1"};
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    wr_csr *A = NULL;
    CASE(names[k]);
    CHECK_OK(wr_generate(names[k], 2, &A));
    if (A) check_round_trip(A, plain);
  }
  for (int64_t n = PIECE - 1; n <= PIECE + 1; n++) {
    CASE("a row as long as a piece, or nearly");
    wr_csr *A = NULL;
    CHECK_OK(wr_csr_create(2, n, n, 0, &A));
    A->row_ptr[1] = A->row_ptr[2] = n;
    for (int64_t k = 0; k < n; k++) A->col[k] = (int32_t)k;
    check_round_trip(A, plain);
  }
}

/* A file that windrow 0.1.0 saved before there was a version 2: version 1, with every section. */
static void test_version_1(void) {
  CASE("a file of version 1");
  const char *path = "tests/data/binary/version_1.wrm";
  const int64_t row_ptr[] = {0, 2, 2, 3, 5}, id[] = {2, 30, 31, INT64_C(4000000000000)};
  const int32_t col[] = {1, 3, 2, 0, 1};
  const double val[] = {0.5, 3, -0.0, 1e-300, 2};
  wr_csr *expected = make(4, 4, row_ptr, col, val), *A;
  wr_binary_origin origin;
  for (int threads = 1; threads <= 2; threads++) {
    CHECK_OK(read_path(path, threads, &A, &origin));
    CHECK(A != NULL && same_matrix(A, expected));
    CHECK(origin.repeated == 2 && origin.repeats == WR_REPEATS_ADDED && origin.ids.count == 4);
    for (int64_t i = 0; i < origin.ids.count; i++) CHECK(wr_ids_at(&origin.ids, i) == id[i]);
    if (threads == 2) check_round_trip(A, origin); /* as version 2 */
    if (threads == 1) wr_csr_free(A);
    wr_ids_free(&origin.ids);
  }
  fixture_text saved = fixture_read(path);
  CHECK(saved.count == 5 * PAGE && saved.bytes[16] == 1);
  int64_t accepted = 0;
  image m = {(int64_t)saved.count, (char *)saved.bytes};
  for (int64_t k = 0; k < m.size; k++) {
    m.bytes[k] ^= 16;
    accepted += read_image(&m, 0, &A) != WR_EINPUT;
    m.bytes[k] ^= 16;
  }
  CHECKF(accepted == 0, "%lld bytes may be changed", (long long)accepted);
  fixture_free(&saved);
  wr_csr_free(expected);
}

static void test_changed(void) {
  CASE("a file that changes");
  wr_csr *A = small(1), *B;
  wr_binary_origin origin;
  wr_text text;
  const off_t lengths[] = {100, PAGE, 4 * PAGE - 1, 4 * PAGE + 1};
  for (int k = 0; k < 4; k++) {
    const char *path = fixture_path("changing.wrm");
    CHECK_OK(wr_binary_write(path, A, &plain, 1));
    CHECK_OK(wr_text_open(path, "%%MatrixMarket", &text));
    CHECK(text.kind == WR_FILE_BINARY && text.file >= 0);
    CHECK(truncate(path, lengths[k]) == 0);
    CHECK_FAILS(WR_EINPUT, wr_binary_read(&text, 2, 0, NULL, &B, &origin));
    CHECK_MESSAGE(lengths[k] < 4 * PAGE ? "changing.wrm: was cut short while it was being read"
                                        : "changing.wrm: was changed while it was being read");
    CHECK(B == NULL);
    wr_text_close(&text);
  }
  wr_csr_free(A);
}

static void test_outputs(void) {
  CASE("outputs");
  wr_csr *A = small(1);
  CHECK_FAILS(WR_EOUTPUT, wr_binary_write(fixture_path("no/such/folder"), A, &plain, 1));
  CHECK_FAILS(WR_EOUTPUT, wr_binary_write(fixture_folder(), A, &plain, 1));
  CHECK_FAILS(WR_EOUTPUT, wr_binary_write("/dev/full", A, &plain, 1));
  CHECK_MESSAGE("/dev/full: cannot write it: No space left on device");
  wr_csr_free(A);
}

static void test_no_memory(void) {
  CASE("no memory");
  const char *path = fixture_path("matrix.wrm");
  wr_csr *A = small(1), *B;
  const wr_binary_origin named = {.ids = {3, 1, (int64_t[]){1, 2, 5}}};
  wr_binary_origin origin = {0};
  int writes = 0, reads = 0;
  wr_status status;
  unlink(path);
  do {
    fixture_fail_after(writes);
    status = wr_binary_write(path, A, &named, 2);
    fixture_fail_never();
    CHECK(status == (access(path, F_OK) == 0 ? WR_OK : WR_ENOMEM));
  } while (status != WR_OK && ++writes < 100);
  do {
    fixture_fail_after(reads);
    status = read_path(path, 2, &B, &origin);
    fixture_fail_never();
    CHECK(status == (B != NULL ? WR_OK : WR_ENOMEM) && (origin.ids.id != NULL) == (B != NULL));
    wr_ids_free(&origin.ids);
    wr_csr_free(B);
  } while (status != WR_OK && ++reads < 100);
  CHECKF(writes == 4, "%d: sums of 4 sections", writes);
  CHECKF(reads == 10, "%d: these, the matrix, four arrays, which rows are final", reads);
  wr_csr_free(A);
}

int main(void) {
  fixture_begin();
  test_small();
  test_ids();
  test_pieces();
  test_version_1();
  test_changed();
  test_outputs();
  test_no_memory();
  fixture_end();
  return wr_test_report("binary_file");
}
