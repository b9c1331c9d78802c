/* From a name to a matrix: files, standard input, generators, and refusals. */
#define _DEFAULT_SOURCE
#include "solvers/api/source.h"
#include "tests/solvers/ground.h"

static char folder[512];

static const char *put(const char *name, const char *text) {
  static char path[1024];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "w");
  CHECKF(file != NULL && fputs(text, file) >= 0, "%s cannot be written", path);
  if (file) CHECK(fclose(file) == 0);
  return path;
}

typedef struct loaded {
  wr_status status;
  wr_csr *A;
  wr_problem_facts facts;
  wr_ledger ledger;
} loaded;

static loaded load(const char *name, wr_source_options options) {
  loaded l = {.status = WR_OK};
  wr_ledger_begin(&l.ledger, WR_PHASE_INIT);
  l.status = wr_source_load(name, &options, &l.ledger, &l.A, &l.facts);
  wr_ledger_stop(&l.ledger);
  return l;
}

static void test_file(void) {
  static const char text[] = "%%MatrixMarket matrix coordinate real general\n2 3 3\n1 1 0.5\n2 3 -4\n1 2 0\n";
  const char *path = put("plain.mtx", text);
  loaded l = load(path, (wr_source_options){0});
  CASE("a file");
  CHECKF(l.status == WR_OK, "%s", wr_status_message());
  if (l.status != WR_OK) return;
  CHECK(l.A->nrows == 2 && l.A->ncols == 3 && l.A->nnz == 3);
  CHECK(l.A->col[0] == 0 && l.A->col[1] == 1 && l.A->col[2] == 2);
  CHECK(l.A->val[0] == 0.5 && l.A->val[1] == 0 && l.A->val[2] == -4);
  CHECK(l.facts.nrows == 2 && l.facts.ncols == 3 && l.facts.nnz == 3 && l.facts.has_values);
  CHECKF(strcmp(l.facts.kind, "coordinate real general") == 0, "'%s'", l.facts.kind);
  CHECK(l.facts.source == path);
  CHECKF(l.facts.bytes == (int64_t)strlen(text), "%lld bytes", (long long)l.facts.bytes);
  CHECK(l.facts.remark[0] == '\0');
  CHECK(l.ledger.seconds[WR_PHASE_READ] > 0 && l.ledger.seconds[WR_PHASE_ASSEMBLE] > 0);
  wr_csr_free(l.A);
}

static const char repeated[] = "%%MatrixMarket matrix coordinate pattern general\n2 2 4\n1 2\n1 2\n2 1\n1 2\n";

static void test_duplicates(void) {
  const char *path = put("repeated.mtx", repeated);
  CASE("repeated entries");
  loaded l = load(path, (wr_source_options){.duplicates = WR_DUPLICATES_SUM});
  CHECKF(l.status == WR_OK && l.A->nnz == 2 && l.A->val && l.A->val[0] == 3 && l.A->val[1] == 1, "%s",
         wr_status_message());
  CHECKF(strcmp(l.facts.remark, "2 repeated entries summed") == 0, "'%s'", l.facts.remark);
  CHECK(l.facts.has_values);
  wr_csr_free(l.A);
  l = load(path, (wr_source_options){.duplicates = WR_DUPLICATES_ONCE});
  CHECKF(l.status == WR_OK && l.A->nnz == 2 && l.A->val == NULL, "%s", wr_status_message());
  CHECKF(strcmp(l.facts.remark, "2 repeated entries counted once") == 0, "'%s'", l.facts.remark);
  CHECK(!l.facts.has_values);
  wr_csr_free(l.A);
}

static void test_weights(void) {
  const char *path = put("negative.mtx", "%%MatrixMarket matrix coordinate integer general\n2 2 2\n1 2 7\n2 1 -3\n");
  CASE("weights");
  loaded l = load(path, (wr_source_options){0});
  CHECKF(l.status == WR_OK && l.A->val[1] == -3, "%s", wr_status_message());
  wr_csr_free(l.A);
  l = load(path, (wr_source_options){.nonnegative = 1});
  CHECKF(l.status == WR_EINPUT && l.A == NULL, "%s", wr_status_name(l.status));
  CHECK_MESSAGE("negative.mtx:4:");
  CHECK_MESSAGE("-3");
}

static void test_standard_input(void) {
  const char *path = put("input.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 3\n");
  CASE("standard input");
  CHECK(freopen(path, "r", stdin) != NULL);
  loaded l = load("-", (wr_source_options){0});
  CHECKF(l.status == WR_OK && l.A->nnz == 3 && l.A->symmetric, "%s", wr_status_message());
  CHECK(strcmp(l.facts.kind, "coordinate pattern symmetric") == 0);
  wr_csr_free(l.A);
}

static void test_generator(void) {
  CASE("a generator");
  loaded l = load("gen:stencil:n=6,points=7", (wr_source_options){.threads = 2});
  CHECKF(l.status == WR_OK && l.A->nrows == 216 && l.A->val, "%s", wr_status_message());
  CHECK(strcmp(l.facts.kind, "generated real") == 0 && l.facts.nnz == l.A->nnz);
  CHECK(l.ledger.seconds[WR_PHASE_READ] > 0);
  wr_csr_free(l.A);
  l = load("gen:road:side=8", (wr_source_options){0});
  CHECKF(l.status == WR_OK && strcmp(l.facts.kind, "generated pattern") == 0, "'%s'", l.facts.kind);
  wr_csr_free(l.A);
}

static loaded load_named(const char *name, wr_input_format format, wr_ids *ids) {
  return load(name, (wr_source_options){.format = format, .ids = ids, .duplicates = WR_DUPLICATES_ONCE});
}

static void test_edge_list(void) {
  wr_ids ids;
  const char *path = put("edges.el", "7 4\n4 30\n7 4\n");
  CASE("an edge list");
  for (int format = 0; format <= WR_INPUT_EDGES; format += WR_INPUT_EDGES) {
    loaded l = load_named(path, (wr_input_format)format, &ids);
    CHECKF(l.status == WR_OK && l.A->nrows == 3 && l.A->ncols == 3 && l.A->nnz == 2 && !l.A->val, "%s",
           wr_status_message());
    CHECK(ids.count == 3 && wr_ids_at(&ids, 0) == 4 && wr_ids_at(&ids, 1) == 7 && wr_ids_at(&ids, 2) == 30);
    CHECKF(strcmp(l.facts.remark, "ids 4 to 30; 1 repeated entry counted once") == 0, "'%s'", l.facts.remark);
    CHECKF(strcmp(l.facts.kind, "edge list") == 0, "'%s'", l.facts.kind);
    wr_csr_free(l.A);
    wr_ids_free(&ids);
  }
  loaded l = load(path, (wr_source_options){0}); /* without a struct for ids */
  CHECKF(l.status == WR_OK && l.facts.has_values, "%s", wr_status_message());
  wr_csr_free(l.A);
  l = load_named(path, WR_INPUT_MTX, &ids);
  CHECK(l.status == WR_EINPUT && l.A == NULL);
  CHECK_MESSAGE("edges.el:1: no Matrix Market banner");
  l = load_named("gen:chain:scale=3", WR_INPUT_EDGES, &ids); /* ids of a generated matrix: 1, 2, ... */
  CHECK(l.status == WR_OK && ids.count == l.A->nrows && ids.id == NULL && wr_ids_at(&ids, 0) == 1);
  wr_csr_free(l.A);
  wr_ids_free(&ids);
}

static void refuse(const char *name, wr_status code, const char *message) {
  loaded l = load(name, (wr_source_options){0});
  CHECKF(l.status == code && l.A == NULL, "%s: %s", name, wr_status_name(l.status));
  CHECK_MESSAGE(message);
}

static void test_refusals(void) {
  CASE("refusals");
  refuse("gen:stencyl:n=6", WR_EUSAGE, "stencil");
  refuse("gen:stencil:m=6", WR_EUSAGE, "stencil");
  refuse("no/such/file.mtx", WR_EINPUT, "no/such/file.mtx");
  refuse(folder, WR_EINPUT, folder);
  refuse(put("empty.mtx", ""), WR_EINPUT, "empty.mtx:1:");
  refuse(put("cut.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 3\n"), WR_EINPUT, "cut.mtx:4:");
}

static void remove_files(void) {
  static const char *const names[] = {"plain.mtx", "repeated.mtx", "negative.mtx", "input.mtx", "empty.mtx", "cut.mtx",
                                      "edges.el"};
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, names[k]);
    CHECKF(unlink(path) == 0, "%s is not there", path);
  }
  CHECK(rmdir(folder) == 0);
}

int main(void) {
  snprintf(folder, sizeof folder, "%.400s/windrow-test-XXXXXX", wr_test_folder());
  CHECK(mkdtemp(folder) != NULL);
  test_file();
  test_duplicates();
  test_weights();
  test_standard_input();
  test_generator();
  test_edge_list();
  test_refusals();
  remove_files();
  return wr_test_report("source");
}
