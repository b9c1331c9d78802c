/* The solver to beat: PageRank and BiCGSTAB as a careful user of cuSPARSE and cuBLAS writes them. One CSR multiply by the
 * faster of the library's two algorithms, preprocessed, descriptors made once; level 1 with all scalars on the device; the
 * host checks a period of iterations while the next one runs and never waits for the device to be idle.
 *
 *   yardstick [-p f32|f64|both] [--graph] [--lazy] [--iterations N] [--check-every K] [--repeat N] [--json FILE]
 *             [--ilu0 auto|given|rcm|colour] pagerank|bicgstab MATRIX
 *
 * MATRIX: what the programs take, gen:... too. --graph: once more with the K iterations between two checks captured as a CUDA
 * graph and replayed. --lazy: PageRank measures its change only where it is checked, and may go on for K - 1 iterations
 * more than it had to. --ilu0: BiCGSTAB with windrow's ILU(0) in this order of rows (auto: reverse Cuthill-McKee's if it has
 * fewer levels), by cusparseSpSV. --iterations: the timed loops take so many and not as many as the tolerance, the programs'
 * default, needs. Times are medians by events over whole loops, from a fresh start each. The answer of the last one is checked
 * on the host in f64. --json appends a line for each run. Exit status: 0, or 2 if an answer does not meet the tolerance. */
#include "tests/bench/yardstick_bicgstab.cuh"
#include "tests/bench/yardstick_ilu.cuh"
#include "tests/bench/yardstick_pagerank.cuh"
#include "tests/bench/yardstick_problem.cuh"

enum { BATCHES = 31, MOST_LOOPS = 1000 };
static const int64_t most_iterations = 10000, without_end = 200; /* where the tolerance is not met */

struct settings {
  const char *precision, *json, *source, *ilu0; /* ilu0: an order, or NULL */
  enum method method;
  int graph, lazy;
  int64_t iterations, check_every, loops;
};

struct figures {
  wr_type type;
  int graph;
  double tolerance;
  wr_sample multiply[ALGORITHMS]; /* seconds */
  int algorithm;                  /* the one used: 0 or 1 */
  const struct factored *factored; /* NULL: no preconditioner */
  wr_sample solve;                 /* seconds of L and U      */
  wr_sample iteration;            /* seconds */
  int64_t launched, converged;    /* iterations of a loop; those that the tolerance needed, 0: it was not met */
  struct check check;
};

// ---- Loops ----

/* Multiplies in a row: median over batches of a millisecond or more. */
template <typename T>
wr_sample time_multiply(device<T> *d, const vector<T> *x, vector<T> *y) {
  double seconds[BATCHES];
  wr_sample sample;
  int calls = 4;
  for (int warm = 0; warm < 2; warm++) { /* the first batch loads code */
    begin_time(d);
    for (int k = 0; k < 4; k++) multiply(d, (T)1, x, y);
    calls = 4 + (int)(1e-3 / (end_time(d) / 4));
  }
  for (int b = 0; b < BATCHES; b++) {
    begin_time(d);
    for (int k = 0; k < calls; k++) multiply(d, (T)1, x, y);
    seconds[b] = end_time(d) / calls;
  }
  must(wr_sample_get(seconds, BATCHES, &sample));
  return sample;
}

/* Likewise solves with both triangles. */
template <typename T>
wr_sample time_solve(bicgstab_ilu<T> *m) {
  double seconds[BATCHES];
  wr_sample sample;
  int calls = 2;
  for (int b = -2; b < BATCHES; b++) { /* two batches to load code and to count */
    begin_time(m->d);
    for (int k = 0; k < calls; k++) m->precondition(&m->b);
    double each = end_time(m->d) / calls;
    if (b < 0) calls = 2 + (int)(1e-3 / each);
    if (b >= 0) seconds[b] = each;
  }
  must(wr_sample_get(seconds, BATCHES, &sample));
  return sample;
}

/* The library's algorithm for both, the faster one kept. */
template <typename T>
void choose_algorithm(device<T> *d, const vector<T> *x, vector<T> *y, struct figures *f) {
  for (int k = 0; k < ALGORITHMS; k++) {
    d->way = &d->ways[k];
    f->multiply[k] = time_multiply(d, x, y);
  }
  f->algorithm = f->multiply[1].median < f->multiply[0].median;
  d->way = &d->ways[f->algorithm];
}

/* The iterations between two checks: an even number, after which a method's two buffers have their first roles again. */
template <typename Method>
void iterate_period(Method *m, int64_t count) {
  for (int64_t k = 1; k <= count; k++) m->iterate(k == count);
}

template <typename Method>
cudaGraphExec_t capture(Method *m, int64_t count) {
  cudaGraph_t graph;
  cudaGraphExec_t ready = NULL;
  must(WR_CUDA(cudaStreamBeginCapture(m->d->stream, cudaStreamCaptureModeThreadLocal)));
  iterate_period(m, count);
  must(WR_CUDA(cudaStreamEndCapture(m->d->stream, &graph)));
  must(WR_CUDA(cudaGraphInstantiate(&ready, graph, 0)));
  must(WR_CUDA(cudaGraphDestroy(graph)));
  return ready;
}

/* Two checks in turn, each with the event that is reached when its scalars are on the host. */
struct check_slots {
  cudaEvent_t arrived[2];
};

template <typename T>
int has_ended(const device<T> *d, const struct check_slots *l, int slot) {
  must(WR_CUDA(cudaEventSynchronize(l->arrived[slot])));
  return d->checked[slot].converged > 0 || d->checked[slot].broken;
}

/* From a fresh start at most `most` iterations in periods of `every`; fewer, when `stop`, where the target is met: a check is
 * read while the next period runs. *result: the last check. Returns the iterations launched. */
template <typename T, typename Method>
int64_t run_loop(Method *m, const struct check_slots *l, cudaGraphExec_t graph, int64_t most, int64_t every, int stop,
                 scalars<T> *result, double *seconds) {
  device<T> *d = m->d;
  int64_t launched = 0;
  int slot = 0, ended = 0;
  m->start();
  begin_time(d);
  while (launched < most && !(stop && ended)) {
    if (graph)
      must(WR_CUDA(cudaGraphLaunch(graph, d->stream)));
    else
      iterate_period(m, every);
    launched += every;
    must(WR_CUDA(cudaMemcpyAsync(&d->checked[slot], d->s, sizeof *d->s, cudaMemcpyDeviceToHost, d->stream)));
    must(WR_CUDA(cudaEventRecord(l->arrived[slot], d->stream)));
    slot = 1 - slot;
    if (launched > every) ended = has_ended(d, l, slot);
  }
  *seconds = end_time(d);
  *result = d->checked[1 - slot];
  Method::judge(result);
  return launched;
}

static int64_t round_up(int64_t count, int64_t every) { return (count + every - 1) / every * every; }

/* One loop to the tolerance, which warms up too; then those that are timed. */
template <typename T, typename Method>
void time_loops(Method *m, const struct settings *s, const struct check_slots *l, cudaGraphExec_t graph,
                struct figures *f) {
  double seconds[MOST_LOOPS];
  scalars<T> result;
  int64_t every = s->check_every, most = round_up(s->iterations > 0 ? s->iterations : most_iterations, every);
  f->launched = run_loop<T>(m, l, graph, most, every, s->iterations == 0, &result, seconds);
  f->converged = result.converged;
  if (s->iterations == 0) f->launched = round_up(f->converged > 0 ? f->converged : without_end, every);
  for (int64_t k = 0; k < s->loops; k++) {
    run_loop<T>(m, l, graph, f->launched, every, 0, &result, &seconds[k]);
    seconds[k] /= (double)f->launched;
  }
  must(wr_sample_get(seconds, s->loops, &f->iteration));
}

// ---- Reports ----

static void print_figures(const struct settings *s, const struct problem *p, const struct figures *f,
                          const char *card) {
  const wr_sample *it = &f->iteration;
  int used = f->algorithm;
  printf("%s %s %s%s on %s: %lld rows, %lld entries; checks every %lld\n",
         p->method == PAGERANK ? "pagerank" : "bicgstab", p->facts.source, f->type == WR_F32 ? "f32" : "f64",
         f->graph ? " as a graph" : "", card, (long long)p->matrix->nrows, (long long)p->matrix->nnz,
         (long long)s->check_every);
  printf("  iteration %.2f us (%.2f to %.2f; %lld loops of %lld), multiply %.2f us by algorithm %d (%d: %.2f us)\n",
         it->median * 1e6, it->low * 1e6, it->high * 1e6, (long long)it->count, (long long)f->launched,
         f->multiply[used].median * 1e6, used + 1, 2 - used, f->multiply[1 - used].median * 1e6);
  if (f->factored)
    printf("  ILU(0), rows %s, %lld + %lld levels: L and U %.2f us by cusparseSpSV\n", f->factored->order,
           (long long)f->factored->lower, (long long)f->factored->upper, f->solve.median * 1e6);
  if (f->converged > 0)
    printf("  tolerance %g after %lld iterations; ", f->tolerance, (long long)f->converged);
  else
    printf("  tolerance %g not met; ", f->tolerance);
  printf("%s %.3g, at most %.3g allowed: %s\n", p->method == PAGERANK ? "an exact step changes" : "true residual",
         f->check.measure, f->check.limit, f->check.met ? "right" : "not met");
  fflush(stdout);
}

static void write_sample(wr_json *json, const char *name, const wr_sample *sample) {
  wr_json_begin(json, name, '{');
  wr_json_real(json, "median_us", sample->median * 1e6);
  wr_json_real(json, "low_us", sample->low * 1e6);
  wr_json_real(json, "high_us", sample->high * 1e6);
  wr_json_integer(json, "count", sample->count);
  wr_json_end(json, '}');
}

static void write_figures(wr_json *json, const struct settings *s, const struct problem *p, const struct figures *f,
                          const char *card) {
  wr_json_begin(json, NULL, '{');
  wr_json_text(json, "program", "yardstick");
  wr_json_text(json, "method", p->method == PAGERANK ? "pagerank" : "bicgstab");
  wr_json_text(json, "source", p->facts.source);
  wr_json_text(json, "precision", f->type == WR_F32 ? "f32" : "f64");
  wr_json_text(json, "device", card);
  wr_json_integer(json, "nrows", p->matrix->nrows);
  wr_json_integer(json, "nnz", p->matrix->nnz);
  wr_json_boolean(json, "graph", f->graph);
  wr_json_boolean(json, "lazy", s->lazy);
  wr_json_text(json, "preconditioner", f->factored ? "ilu0" : "none");
  if (f->factored) {
    wr_json_text(json, "order", f->factored->order);
    wr_json_integer(json, "levels", f->factored->lower + f->factored->upper);
    wr_json_integer(json, "shifted", f->factored->shifts.count);
    write_sample(json, "solve", &f->solve);
  }
  wr_json_integer(json, "check_every", s->check_every);
  write_sample(json, "iteration", &f->iteration);
  write_sample(json, "multiply", &f->multiply[f->algorithm]);
  wr_json_integer(json, "algorithm", f->algorithm + 1);
  write_sample(json, "multiply_alg1", &f->multiply[0]);
  write_sample(json, "multiply_alg2", &f->multiply[1]);
  wr_json_integer(json, "launched", f->launched);
  wr_json_boolean(json, "converged", f->converged > 0);
  wr_json_integer(json, "iterations", f->converged > 0 ? f->converged : f->launched);
  wr_json_real(json, "tolerance", f->tolerance);
  wr_json_real(json, "measure", f->check.measure);
  wr_json_real(json, "limit", f->check.limit);
  wr_json_boolean(json, "met", f->check.met);
  wr_machine_write(json);
  wr_json_end(json, '}');
}

/* The object without its line ends, as one line at the end of the file. */
static void append_json(const struct settings *s, const struct problem *p, const struct figures *f, const char *card) {
  char *text = NULL;
  size_t size;
  if (s->json == NULL) return;
  FILE *stream = open_memstream(&text, &size), *file = fopen(s->json, "a");
  if (stream == NULL || file == NULL) must(wr_fail(WR_EOUTPUT, "%s cannot be written", s->json));
  wr_json json = wr_json();
  json.file = stream;
  write_figures(&json, s, p, f, card);
  if (fclose(stream) != 0) must(wr_fail(WR_ENOMEM, "out of memory: a line of JSON"));
  for (size_t k = 0; k < size; k++)
    if (text[k] != '\n') fputc(text[k], file);
  fputc('\n', file);
  free(text);
  if (ferror(file) || fclose(file) != 0) must(wr_fail(WR_EOUTPUT, "%s cannot be written", s->json));
}

// ---- Runs ----

static const char *card_name(char *name, size_t size) {
  cudaDeviceProp card;
  must(WR_CUDA(cudaSetDevice(0)));
  must(WR_CUDA(cudaGetDeviceProperties(&card, 0)));
  snprintf(name, size, "%s", card.name);
  return name;
}

/* x[n] from the order of the factors to that of the system. */
static void put_back(const struct factored *f, double *x) {
  double *ordered;
  must(wr_alloc(&ordered, f->lu.n, sizeof *ordered, "the answer"));
  memcpy(ordered, x, (size_t)f->lu.n * sizeof *x);
  for (int64_t i = 0; i < f->lu.n; i++) x[f->lu.order[i]] = ordered[i];
  wr_free(ordered);
}

/* Plain launches, then a graph if that is wanted. Returns 1 if all answers are right. */
template <typename T, typename Method>
int run_method(Method *m, const struct settings *s, const struct problem *p, struct figures *f) {
  struct check_slots l;
  int right = 1;
  char card[256];
  double *answer;
  must(wr_alloc(&answer, m->d->n, sizeof *answer, "the answer"));
  for (int k = 0; k < 2; k++) must(WR_CUDA(cudaEventCreateWithFlags(&l.arrived[k], cudaEventDisableTiming)));
  for (f->graph = 0; f->graph <= s->graph; f->graph++) {
    cudaGraphExec_t graph = f->graph ? capture(m, s->check_every) : NULL;
    time_loops<T>(m, s, &l, graph, f);
    download(m->answer()->data, m->d->n, answer);
    if (f->factored) put_back(f->factored, answer);
    f->check = check_answer(p, f->type, answer);
    right = right && f->check.met;
    card_name(card, sizeof card);
    print_figures(s, p, f, card);
    append_json(s, p, f, card);
    if (graph) must(WR_CUDA(cudaGraphExecDestroy(graph)));
  }
  for (int k = 0; k < 2; k++) must(WR_CUDA(cudaEventDestroy(l.arrived[k])));
  wr_free(answer);
  return right;
}

template <typename T>
int run_precision(const struct settings *s, const struct problem *p) {
  device<T> d;
  struct figures f = figures();
  f.type = sizeof(T) == 4 ? WR_F32 : WR_F64;
  f.tolerance = default_tolerance(p->method, f.type);
  int right;
  struct factored factored = {};
  if (s->ilu0) open_factored(&factored, p, s->ilu0);
  open_device(&d, s->ilu0 ? factored.matrix : p->matrix, p->factor);
  if (s->ilu0) {
    bicgstab_ilu<T> m;
    f.factored = &factored;
    m.open_ilu(&d, &factored, stopping_square(p, f.type));
    choose_algorithm(&d, &m.b, &m.v, &f);
    f.solve = time_solve(&m);
    right = run_method<T>(&m, s, p, &f);
    m.close_ilu();
  } else if (p->method == PAGERANK) {
    pagerank<T> m;
    m.open(&d, p->damping, stopping_change(p, f.type), s->lazy);
    choose_algorithm(&d, &m.teleport, &m.rank[0], &f);
    right = run_method<T>(&m, s, p, &f);
    m.close();
  } else {
    bicgstab<T> m;
    m.open(&d, p->system.b, stopping_square(p, f.type));
    choose_algorithm(&d, &m.b, &m.v, &f);
    right = run_method<T>(&m, s, p, &f);
    m.close();
  }
  close_device(&d);
  close_factored(&factored);
  return right;
}

static int usage(void) {
  fprintf(stderr,
          "usage: yardstick [-p f32|f64|both] [--graph] [--lazy] [--iterations N] [--check-every K] [--repeat N]\n"
          "                 [--ilu0 auto|given|rcm|colour] [--json FILE] pagerank|bicgstab MATRIX\n"
          "K is even; N from 1 to 1000 repeats.\n");
  return 1;
}

/* 0 when the command line cannot be understood. */
static int parse(struct settings *s, int argc, char **argv) {
  const char *operands[2];
  int count = 0;
  for (int k = 1; k < argc; k++) {
    const char *word = argv[k], *value = k + 1 < argc ? argv[k + 1] : "";
    int64_t number = strtoll(value, NULL, 10);
    if (strcmp(word, "--graph") == 0)
      s->graph = 1;
    else if (strcmp(word, "--lazy") == 0)
      s->lazy = 1;
    else if (strcmp(word, "-p") == 0)
      s->precision = value, k++;
    else if (strcmp(word, "--ilu0") == 0)
      s->ilu0 = value, k++;
    else if (strcmp(word, "--json") == 0)
      s->json = value, k++;
    else if (strcmp(word, "--iterations") == 0)
      s->iterations = number, k++;
    else if (strcmp(word, "--check-every") == 0)
      s->check_every = number, k++;
    else if (strcmp(word, "--repeat") == 0)
      s->loops = number, k++;
    else if (*word == '-' || count == 2)
      return 0;
    else
      operands[count++] = word;
  }
  if (count < 2) return 0;
  int pagerank = strcmp(operands[0], "pagerank") == 0;
  s->method = pagerank ? PAGERANK : BICGSTAB, s->source = operands[1];
  int known = pagerank || strcmp(operands[0], "bicgstab") == 0;
  int precise =
      strcmp(s->precision, "both") == 0 || strcmp(s->precision, "f32") == 0 || strcmp(s->precision, "f64") == 0;
  if (s->ilu0 && (pagerank || (strcmp(s->ilu0, "auto") != 0 && strcmp(s->ilu0, "given") != 0 &&
                               strcmp(s->ilu0, "rcm") != 0 && strcmp(s->ilu0, "colour") != 0)))
    return 0;
  return known && precise && s->iterations >= 0 && s->check_every > 0 && s->check_every % 2 == 0 && s->loops > 0 &&
         s->loops <= MOST_LOOPS;
}

int main(int argc, char **argv) {
  struct settings s = settings();
  struct problem p;
  int right = 1;
  s.precision = "f64", s.check_every = 10, s.loops = 9;
  if (!parse(&s, argc, argv)) return usage();
  must(open_problem(&p, s.method, s.source));
  if (strcmp(s.precision, "f32") != 0) right = run_precision<double>(&s, &p);
  if (strcmp(s.precision, "f64") != 0) right = run_precision<float>(&s, &p) && right;
  close_problem(&p);
  return right ? 0 : 2;
}
