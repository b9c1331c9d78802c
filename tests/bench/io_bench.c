/* How fast Matrix Market texts become rows, by the number of threads, beside plain fscanf into arrays; and what memory that
 * takes at its peak, beside what triplets and rows need. Texts come from the generator, into a folder for a while, unless
 * files are named. io_bench.py reads the same files with SciPy and fast_matrix_market where those are there.
 * usage: io_bench [FILE.mtx...]          WR_KEEP=DIR: leaves the generated texts there (for io_bench.py) */
#define _DEFAULT_SOURCE
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "config/memory.h"
#include "data/generate.h"
#include "io/reader.h"
#include "solvers/report/ledger.h"
#include "solvers/report/statistics.h"
#include "spmv/matrix/csr.h"

enum { REPEATS = 5, NAME = 512 };

/* The page cache holds the text before the first time, since it has just been written, or is read once. */
typedef struct text {
  char path[NAME];
  int64_t bytes;
} text;

static const char *const generated[] = {"gen:road:side=1500", "gen:web:n=200000", "gen:fem:n=18"};

static wr_status write_text(const char *name, const char *folder, text *t) {
  wr_status status;
  wr_csr *A = NULL;
  FILE *out = NULL;
  TRY(wr_generate(name, 0, &A));
  snprintf(t->path, sizeof t->path, "%s/%.60s.mtx", folder, name + strlen("gen:"));
  for (char *c = strrchr(t->path, '/'); *c; c++)
    if (*c == ':' || *c == '=' || *c == ',') *c = '_';
  out = fopen(t->path, "w");
  if (out == NULL) TRY(wr_fail(WR_EOUTPUT, "%s cannot be written", t->path));
  fprintf(out, "%%%%MatrixMarket matrix coordinate %s general\n%lld %lld %lld\n", A->val ? "real" : "pattern",
          (long long)A->nrows, (long long)A->ncols, (long long)A->nnz);
  for (int64_t i = 0; i < A->nrows; i++)
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
      if (A->val)
        fprintf(out, "%lld %d %.17g\n", (long long)i + 1, A->col[k] + 1, A->val[k]);
      else
        fprintf(out, "%lld %d\n", (long long)i + 1, A->col[k] + 1);
  t->bytes = ftell(out);
done:
  if (out && fclose(out) != 0 && status == WR_OK) status = wr_fail(WR_EOUTPUT, "%s: no room", t->path);
  wr_csr_free(A);
  return status;
}

/* Bytes of this process in memory at the most since the last reset. 0: this system does not say. */
static int64_t peak(void) {
  char line[256];
  long long kilobytes = 0;
  FILE *file = fopen("/proc/self/status", "r");
  while (file && fgets(line, sizeof line, file))
    if (sscanf(line, "VmHWM: %lld", &kilobytes) == 1) break;
  if (file) fclose(file);
  return kilobytes * 1024;
}

static void reset_peak(void) {
#ifdef __GLIBC__
  malloc_trim(0); /* so that freed memory is no longer counted */
#endif
  FILE *file = fopen("/proc/self/clear_refs", "w");
  if (file == NULL) return;
  fputs("5", file);
  fclose(file);
}

/* Triplets of 8 or 16 bytes, and rows. */
static int64_t needed(const wr_csr *A) {
  int64_t value = A->val ? 8 : 0;
  return A->nnz * (8 + value) + A->nnz * (4 + value) + (A->nrows + 1) * 8;
}

static wr_status read_once(const text *t, int threads, double *read, double *assemble, double *memory) {
  wr_status status;
  wr_triplets triplets = {0};
  wr_csr *A = NULL;
  wr_read_options options = {.threads = threads};
  reset_peak();
  int64_t before = peak();
  double begin = wr_clock();
  TRY(wr_read_triplets(t->path, &options, &triplets, NULL));
  double middle = wr_clock();
  TRY(wr_csr_assemble(&triplets, WR_DUPLICATES_SUM, &A, NULL));
  *read = middle - begin, *assemble = wr_clock() - middle;
  *memory = (double)(peak() - before) / (double)needed(A);
done:
  wr_triplets_free(&triplets);
  wr_csr_free(A);
  return status;
}

static wr_status bench_reader(const text *t, int threads) {
  wr_status status;
  double read[REPEATS], assemble[REPEATS], memory[REPEATS];
  wr_sample a, b, c;
  omp_set_num_threads(threads);
  for (int k = 0; k < REPEATS; k++) TRY(read_once(t, threads, &read[k], &assemble[k], &memory[k]));
  TRY(wr_sample_get(read, REPEATS, &a));
  TRY(wr_sample_get(assemble, REPEATS, &b));
  TRY(wr_sample_get(memory, REPEATS, &c));
  double megabytes = (double)t->bytes * 1e-6;
  printf("  windrow, %2d thread%s  %7.0f MB/s  %6.0f MB/s a thread   rows %7.1f ms   peak %.2f of triplets and rows\n",
         threads, threads == 1 ? " " : "s", megabytes / a.median, megabytes / a.median / threads, b.median * 1e3,
         c.median);
done:
  return status;
}

/* The reader of ten lines that windrow is compared with. */
static wr_status bench_fscanf(const text *t) {
  wr_status status = WR_OK;
  char line[1024];
  long long nrows, ncols, nnz, i, j;
  double *val = NULL, begin = wr_clock();
  int32_t *row = NULL, *col = NULL;
  FILE *file = fopen(t->path, "r");
  if (file == NULL || fgets(line, sizeof line, file) == NULL) TRY(wr_fail(WR_EINPUT, "%s cannot be read", t->path));
  int pattern = strstr(line, "pattern") != NULL;
  do {
    if (fgets(line, sizeof line, file) == NULL) TRY(wr_fail(WR_EINPUT, "%s has no sizes", t->path));
  } while (line[0] == '%');
  if (sscanf(line, "%lld %lld %lld", &nrows, &ncols, &nnz) != 3) TRY(wr_fail(WR_EINPUT, "%s has no sizes", t->path));
  TRY(wr_alloc(&row, nnz, sizeof *row, "rows"));
  TRY(wr_alloc(&col, nnz, sizeof *col, "columns"));
  TRY(wr_alloc(&val, nnz, sizeof *val, "values"));
  for (int64_t k = 0; k < nnz; k++) {
    int found = pattern ? fscanf(file, "%lld %lld", &i, &j) : fscanf(file, "%lld %lld %lg", &i, &j, &val[k]);
    if (found != (pattern ? 2 : 3)) TRY(wr_fail(WR_EINPUT, "%s: entry %lld is none", t->path, (long long)k + 1));
    row[k] = (int32_t)i - 1, col[k] = (int32_t)j - 1;
  }
  printf("  fscanf               %7.0f MB/s\n", (double)t->bytes * 1e-6 / (wr_clock() - begin));
done:
  if (file) fclose(file);
  wr_free(row);
  wr_free(col);
  wr_free(val);
  return status;
}

static wr_status bench(const text *t) {
  wr_status status;
  int most = omp_get_num_procs();
  printf("%s: %.1f MB\n", strrchr(t->path, '/') ? strrchr(t->path, '/') + 1 : t->path, (double)t->bytes * 1e-6);
  TRY(bench_fscanf(t));
  for (int threads = 1; threads < most; threads *= 2) TRY(bench_reader(t, threads));
  TRY(bench_reader(t, most));
done:
  return status;
}

static wr_status bench_generated(void) {
  wr_status status = WR_OK;
  const char *keep = getenv("WR_KEEP"), *temporary = getenv("TMPDIR");
  char folder[NAME / 2];
  if (keep)
    snprintf(folder, sizeof folder, "%s", keep);
  else
    snprintf(folder, sizeof folder, "%s/windrow.XXXXXX", temporary ? temporary : "/tmp");
  if (!keep && mkdtemp(folder) == NULL) return wr_fail(WR_EOUTPUT, "%s: no folder can be made", folder);
  for (size_t k = 0; k < sizeof generated / sizeof *generated && status == WR_OK; k++) {
    text t;
    status = write_text(generated[k], folder, &t);
    if (status == WR_OK) status = bench(&t);
    if (!keep) unlink(t.path);
  }
  if (!keep) rmdir(folder);
  return status;
}

static wr_status write_only(const char *folder, int count, char **names) {
  wr_status status = WR_OK;
  for (int k = 0; k < count && status == WR_OK; k++) {
    text t;
    if (strncmp(names[k], "gen:", 4) != 0) return wr_fail(WR_EUSAGE, "%s is not gen:NAME", names[k]);
    status = write_text(names[k], folder, &t);
    if (status == WR_OK) printf("%s %lld\n", t.path, (long long)t.bytes);
  }
  return status;
}

static wr_status bench_file(const char *path) {
  text t;
  struct stat facts;
  snprintf(t.path, sizeof t.path, "%s", path);
  if (stat(path, &facts) != 0) return wr_fail(WR_EINPUT, "%s does not exist", path);
  t.bytes = facts.st_size;
  return bench(&t);
}

int main(int argc, char **argv) {
  wr_status status = WR_OK;
  if (argc > 2 && strcmp(argv[1], "--write") == 0) {
    status = write_only(argv[2], argc - 3, argv + 3);
    argc = 0;
  }
  if (argc == 1) status = bench_generated();
  for (int k = 1; k < argc && status == WR_OK; k++) status = bench_file(argv[k]);
  if (status != WR_OK) fprintf(stderr, "io_bench: %s\n", wr_status_message());
  return wr_status_exit_code(status);
}
