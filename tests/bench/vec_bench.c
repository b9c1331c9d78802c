/* How fast the vector operations of the solvers and one multiply run: bytes that must move, over the median time of a batch.
 *
 *   vec_bench [cpu|cuda] [FILE.json]     default: cuda where a device opens, else cpu
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/generate.h"
#include "spmv/spmv.h"
#include "spmv/steps/steps.h"

enum { BATCHES = 31, ROW_TEXT = 96 };

typedef struct bench {
  wr_env env;
  FILE *json;
  int rows;
  wr_vec v[6], bank;
} bench;

static void die(const char *what) {
  fprintf(stderr, "vec_bench: %s: %s\n", what, wr_status_message());
  exit(1);
}

static void must(wr_status status, const char *what) {
  if (status != WR_OK) die(what);
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

static double time_batch(bench *b, wr_status (*call)(bench *b, const void *what), const void *what, int calls) {
  double elapsed;
  must(b->env.ops->stamp(&b->env, 0), "stamp");
  for (int k = 0; k < calls; k++) must(call(b, what), "an operation");
  must(b->env.ops->stamp(&b->env, 1), "stamp");
  must(b->env.ops->elapsed(&b->env, 0, 1, &elapsed), "elapsed");
  return elapsed / calls;
}

/* Seconds of one call, median over batches of a millisecond or so. The very first call is apart: it loads the kernel. */
static double median_time(bench *b, wr_status (*call)(bench *b, const void *what), const void *what) {
  double seconds[BATCHES];
  time_batch(b, call, what, 1);
  double once = time_batch(b, call, what, 3);
  int calls = once > 1e-3 ? 1 : once < 1e-5 ? 100 : (int)(1e-3 / once) + 1;
  for (int t = 0; t < BATCHES; t++) seconds[t] = time_batch(b, call, what, calls);
  qsort(seconds, BATCHES, sizeof *seconds, by_value);
  return seconds[BATCHES / 2];
}

static void row(bench *b, const char *name, int64_t n, double bytes, double seconds) {
  const char *type = b->env.type == WR_F32 ? "f32" : "f64";
  printf("%-40s %s %10lld %10.2f us %8.1f GB/s\n", name, type, (long long)n, seconds * 1e6, bytes / seconds * 1e-9);
  fflush(stdout);
  if (b->json == NULL) return;
  fprintf(b->json, "%s\n  {\"name\": \"%s\", \"type\": \"%s\", \"n\": %lld, \"bytes\": %.0f, \"seconds\": %.9g}",
          b->rows++ ? "," : "[", name, type, (long long)n, bytes, seconds);
}

static wr_status call_fused(bench *b, const void *what) { return b->env.ops->fused(&b->env, what); }

static void time_fused(bench *b, const char *name, const wr_fused *f, int vectors_moved) {
  double bytes = (double)vectors_moved * (double)b->v[0].n * (double)wr_type_bytes(b->env.type);
  row(b, name, b->v[0].n, bytes, median_time(b, call_fused, f));
}

static wr_coefficient scalar(wr_vec *bank, int index) { return (wr_coefficient){1, {bank, index}}; }

static void time_shapes(bench *b) {
  wr_vec *x = &b->v[0], *p = &b->v[1], *s = &b->v[2], *t = &b->v[3], *shadow = &b->v[4], *bank = &b->bank;
  time_fused(b, "1 in, 1 out", &(wr_fused){.in = {x}, .out = {p}, .c = {{{.factor = 0.5}}}}, 2);
  time_fused(b, "1 in, norm", &(wr_fused){.in = {x}, .reduce = {{WR_NRM2SQ, x, NULL, {bank, 8}}}}, 1);
  time_fused(b, "2 in, dot", &(wr_fused){.in = {x, p}, .reduce = {{WR_DOT, x, p, {bank, 8}}}}, 2);
  time_fused(b, "2 in, dot and norm",
             &(wr_fused){.in = {x, p}, .reduce = {{WR_DOT, x, p, {bank, 8}}, {WR_NRM2SQ, x, NULL, {bank, 9}}}}, 2);
  time_fused(b, "s = r - a v, norm",
             &(wr_fused){.in = {x, p}, .out = {s}, .c = {{{.factor = 1}, scalar(bank, 0)}},
                         .reduce = {{WR_NRM2SQ, s, NULL, {bank, 8}}}}, 3);
  time_fused(b, "x, r: 5 in, 2 out, norm, dot",
             &(wr_fused){.in = {x, p, s, t, shadow}, .out = {x, s},
                         .c = {{{.factor = 1}, scalar(bank, 0), scalar(bank, 1)},
                               {[2] = {.factor = 1}, [3] = scalar(bank, 1)}},
                         .reduce = {{WR_NRM2SQ, s, NULL, {bank, 8}}, {WR_DOT, s, shadow, {bank, 9}}}}, 7);
  time_fused(b, "p = r + b p - c v",
             &(wr_fused){.in = {s, p, t}, .out = {p}, .c = {{{.factor = 1}, scalar(bank, 0), scalar(bank, 1)}}}, 4);
}

static wr_status call_epilogue(bench *b, const void *what) { return b->env.ops->epilogue(&b->env, what); }

static void time_epilogues(bench *b) {
  double vector = (double)b->v[0].n * (double)wr_type_bytes(b->env.type);
  wr_vec *y = &b->v[0], *old = &b->v[1];
  wr_epilogue teleport = {.shift = {&b->bank, 2}, .scale = &b->v[5], .scaled = &b->v[3],
                          .reduce = {{WR_L1DIFF, NULL, old, {&b->bank, 8}},
                                     {WR_SUM_UNSCALED, NULL, NULL, {&b->bank, 9}},
                                     {WR_SUM, NULL, NULL, {&b->bank, 10}}}};
  wr_apply apply = {.alpha = 1, .y = y, .y_next = old, .epilogue = &teleport};
  row(b, "epilogue of PageRank", y->n, 5 * vector, median_time(b, call_epilogue, &apply));
  wr_epilogue dots = {.reduce = {{WR_DOT, NULL, old, {&b->bank, 8}}, {WR_NRM2SQ, NULL, NULL, {&b->bank, 9}}}};
  apply.epilogue = &dots;
  row(b, "epilogue of BiCGSTAB", y->n, 2 * vector, median_time(b, call_epilogue, &apply));
}

static wr_status call_step(bench *b, const void *what) {
  return b->env.ops->step(&b->env, &(wr_then){what, &b->bank, NULL});
}

static wr_status call_download(bench *b, const void *what) {
  double values[64];
  (void)what;
  return b->env.ops->download(&b->env, &b->bank, values);
}

static wr_status call_upload(bench *b, const void *what) { return b->env.ops->upload(&b->env, &b->v[0], what); }

static wr_status call_read_back(bench *b, const void *what) {
  return b->env.ops->download(&b->env, &b->v[0], (double *)(uintptr_t)what);
}

static void time_small_things(bench *b) {
  row(b, "the step after an update", wr_step_bicgstab_after_update.scalars, 0,
      median_time(b, call_step, &wr_step_bicgstab_after_update));
  row(b, "download of 64 scalars", 64, 512, median_time(b, call_download, NULL));
}

static void time_copies(bench *b) {
  double *values = calloc((size_t)b->v[0].n, sizeof *values);
  double bytes = (double)b->v[0].n * (double)wr_type_bytes(b->env.type);
  if (values == NULL) exit(1);
  row(b, "upload", b->v[0].n, bytes, median_time(b, call_upload, values));
  row(b, "download", b->v[0].n, bytes, median_time(b, call_read_back, values));
  free(values);
}

static void alloc_vectors(bench *b, int64_t n) {
  for (int k = 0; k < 6; k++) {
    must(b->env.ops->alloc(&b->env, n, b->env.type, "the bench", &b->v[k]), "alloc");
    must(b->env.ops->fill(&b->env, &b->v[k], k == 5 ? 0.5 : 1e-3 * k), "fill");
  }
  must(b->env.ops->alloc(&b->env, 64, WR_F64, "the bench", &b->bank), "alloc");
  must(b->env.ops->fill(&b->env, &b->bank, 1e-3), "fill");
}

static void release_vectors(bench *b) {
  for (int k = 0; k < 6; k++) b->env.ops->release(&b->env, &b->v[k]);
  b->env.ops->release(&b->env, &b->bank);
}

typedef struct multiply {
  wr_plan *plan;
  wr_vec x, y;
} multiply;

static wr_status call_apply(bench *b, const void *what) {
  multiply *m = (multiply *)(uintptr_t)what;
  (void)b;
  return wr_plan_apply(m->plan, &(wr_apply){.alpha = 1, .x = &m->x, .y = &m->y});
}

static void time_multiply(bench *b, wr_csr *A, const char *matrix, const char *backend_name, const char *knobs) {
  multiply m = {0};
  const wr_backend *backend;
  char name[ROW_TEXT];
  must(wr_backend_find(backend_name, &backend), "find");
  must(wr_plan_create(backend, knobs, A, &b->env, &m.plan), "plan");
  must(wr_plan_prepare(m.plan), "prepare");
  must(b->env.ops->alloc(&b->env, A->ncols, b->env.type, "x", &m.x), "alloc");
  must(b->env.ops->alloc(&b->env, A->nrows, b->env.type, "y", &m.y), "alloc");
  must(b->env.ops->fill(&b->env, &m.x, 1), "fill");
  snprintf(name, sizeof name, "%s %s, %s", backend_name, wr_plan_knobs(m.plan), matrix);
  row(b, name, A->nnz, wr_plan_get_info(m.plan)->apply_bytes, median_time(b, call_apply, &m));
  wr_plan_destroy(m.plan);
  b->env.ops->release(&b->env, &m.x);
  b->env.ops->release(&b->env, &m.y);
}

static void time_matrix(bench *b, const char *matrix) {
  wr_csr *A;
  must(wr_generate(matrix, 0, &A), matrix);
  for (int type = WR_F32; type <= WR_F64; type++) {
    b->env.type = (wr_type)type;
    if (b->env.place == WR_CUDA) {
      time_multiply(b, A, matrix, "cusparse", "alg=1");
      time_multiply(b, A, matrix, "cusparse", "alg=2");
    } else {
      time_multiply(b, A, matrix, "cpu_csr", NULL);
    }
  }
  wr_csr_free(A);
}

static void open_place(bench *b, const char *place) {
  b->env = (wr_env){.place = WR_CUDA, .type = WR_F64};
  if (place && strcmp(place, "cpu") == 0) b->env.place = WR_HOST;
  wr_status status = wr_env_open(&b->env);
  if (status != WR_OK && place == NULL) {
    b->env = (wr_env){.place = WR_HOST, .type = WR_F64};
    status = wr_env_open(&b->env);
  }
  must(status, "open");
  printf("%s\n", b->env.device_name);
}

int main(int argc, char **argv) {
  bench b = {.rows = 0};
  open_place(&b, argc > 1 ? argv[1] : NULL);
  if (argc > 2 && (b.json = fopen(argv[2], "w")) == NULL) {
    perror(argv[2]);
    return 1;
  }
  int on_device = b.env.place == WR_CUDA;
  const int64_t lengths[] = {40000, 1000000, on_device ? 16777216 : 2000000};
  for (int k = 0; k < 3; k++)
    for (int type = WR_F32; type <= WR_F64; type++) {
      b.env.type = (wr_type)type;
      alloc_vectors(&b, lengths[k]);
      time_shapes(&b);
      time_epilogues(&b);
      if (k == 0) time_small_things(&b);
      if (k == 2) time_copies(&b);
      release_vectors(&b);
    }
  time_matrix(&b, on_device ? "gen:stencil:n=200" : "gen:stencil:n=60");
  time_matrix(&b, on_device ? "gen:web" : "gen:web:n=100000");
  if (on_device) time_matrix(&b, "gen:road");
  wr_env_close(&b.env);
  if (b.json) fprintf(b.json, "\n]\n");
  return b.json && fclose(b.json) != 0;
}
