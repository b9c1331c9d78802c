/* pagerank: ranks the nodes of a graph. */
#include <math.h>
#include <stdio.h>

#include "config/defaults.h"
#include "config/memory.h"
#include "config/text.h"
#include "io/id_text.h"
#include "io/number.h"
#include "io/vector_file.h"
#include "solvers/api/scoring.h"
#include "solvers/api/source.h"
#include "solvers/order.h"
#include "solvers/program/comm_mpi.h"
#include "solvers/program/need.h"
#include "solvers/program/program.h"
#include "solvers/program/sets.h"
#include "solvers/report/html.h"
#include "solvers/report/report_text.h"
#include "solvers/scores.h"
#include "solvers/top.h"
#include "spmv/parts/halo.h"

typedef struct task {
  wr_graph graph;    /* the first member: functions that need no more take a task for it */
  wr_kept_sets sets; /* of --seeds */
} task;

static wr_scoring_options options_of(const wr_settings *s) {
  return (wr_scoring_options){.iterate = {.damping = s->damping,
                                          .tolerance = s->tolerance,
                                          .stop_on_change = s->stop == WR_STOP_CHANGE,
                                          .iterations = s->iterations,
                                          .order = s->stop == WR_STOP_ORDER ? s->top : 0,
                                          .check_every = s->check_every,
                                          .no_graph = s->no_graph,
                                          .no_resident = s->no_resident},
                              .method = (wr_rank_method)s->ranking};
}

static void complete(wr_settings *s) {
  wr_scoring_options options = options_of(s);
  if (s->ranking == WR_RANK_GAUSS_SEIDEL && s->device == WR_DEVICE_AUTO) s->device = WR_DEVICE_CPU;
  wr_scoring_complete(&options, wr_settings_type(s));
  s->tolerance = options.iterate.tolerance, s->iterations = options.iterate.iterations;
}

static wr_status in_parts(const wr_settings *s) {
  if (s->ranking == WR_RANK_GAUSS_SEIDEL)
    return wr_fail(WR_EUNAVAILABLE, "--method gauss-seidel is for one process: several have power, chebyshev and idr");
  return WR_OK;
}

static double work(const wr_settings *s, int64_t nrows, int64_t nnz) {
  const wr_scoring_options options = options_of(s);
  double solves = s->seeds ? WR_SETS_EXPECTED : (double)s->repeat;
  return wr_scoring_work(&options, wr_settings_type(s), nrows, nnz) * solves;
}

static wr_plan_use use_of(const wr_settings *s, const void *of) {
  const wr_scoring_options options = options_of(s);
  wr_plan_use use = wr_scoring_use(&options, of ? &((const task *)of)->graph : NULL);
  use.multiplies *= (double)s->repeat;
  return use;
}

static double usual(const wr_settings *s, const void *of) {
  const wr_scoring_options options = options_of(s);
  return wr_scoring_use(&options, &((const task *)of)->graph).multiplies;
}

/* *v := the numbers of the file for A's rows; every process reads the file, and keeps those of its own. */
static wr_status read_numbers(const char *path, const wr_vector_need *need, const wr_csr *A, double **v) {
  PASS(wr_comm_agree(wr_csr_comm(A), wr_vector_read(path, need, v)));
  return wr_halo_take_own(A, 1, v);
}

static wr_status open_problem(const wr_settings *s, wr_csr *A, const wr_ids *ids, const wr_watch *watch,
                              wr_problem_facts *facts, void *of) {
  wr_status status = WR_OK;
  wr_vector_need scores = {.n = wr_csr_all_rows(A), .whose = "the graph's nodes", .ids = ids}, jumps = scores;
  double *teleport = NULL, *start = NULL;
  (void)watch, (void)facts;
  jumps.subset = 1;
  if (s->seeds) TRY(wr_comm_agree(wr_csr_comm(A), wr_sets_open(s, &jumps, &((task *)of)->sets)));
  if (s->personalize) TRY(read_numbers(s->personalize, &jumps, A, &teleport));
  if (s->guess) TRY(read_numbers(s->guess, &scores, A, &start));
  status = wr_graph_begin(A, A->halo != NULL || s->edges == WR_EDGES_IN, teleport, start, of);
  teleport = start = NULL; /* the graph has taken them over */
done:
  wr_free(teleport);
  wr_free(start);
  return status;
}

static wr_status upload(void *problem, wr_env *device) { return wr_graph_upload(problem, device); }

static wr_status finish(void *problem, wr_env *device, wr_problem_facts *facts) {
  wr_graph *graph = problem;
  PASS(wr_scoring_finish(graph, device));
  char text[128];
  snprintf(text, sizeof text, "%lld dangling %s%s%s", (long long)graph->dangling,
           wr_plural(graph->dangling, "node", "nodes"),
           graph->links->symmetric || (graph->comm && graph->symmetric) ? ", undirected" : "",
           graph->order ? ", leaves in the order of their hubs" : "");
  wr_source_note(facts, text);
  return WR_OK;
}

static int uploads_input(const wr_settings *s, const wr_csr *A, int all_on_device) {
  return wr_graph_sends_links(A, s->edges == WR_EDGES_IN, wr_settings_type(s), all_on_device);
}

static void close_problem(void *of) {
  task *p = of;
  wr_graph_free(&p->graph);
  wr_sets_close(&p->sets);
}

static wr_csr *matrix(void *problem) { return ((wr_graph *)problem)->flow; }

static wr_status start_solve(void *problem, const wr_settings *s, wr_plan *plan, wr_env *env, void *solve) {
  const wr_scoring_options options = options_of(s);
  return wr_scoring_open(solve, &options, problem, plan, env);
}

static wr_status sweep_in(void *solve, wr_plan *plan, wr_env *env) {
  return wr_pagerank_sweep_in(&((wr_scoring *)solve)->rank.iterated, plan, env);
}

static wr_status run(void *solve, const wr_monitor *monitor, wr_result *result) {
  return wr_scoring_run(solve, monitor, result);
}

static wr_status multiply(void *solve, int count) {
  return wr_pagerank_multiply(&((wr_scoring *)solve)->rank.iterated, count);
}

static wr_status answer(void *solve, double *x) { return wr_scoring_answer(solve, x); }

static wr_status verify(void *solve, const double *x, wr_verified level, int64_t rows, wr_verdict *verdict) {
  return wr_scoring_verify(solve, x, level, rows, verdict);
}

static wr_status normalise(void *solve, double *x) { return wr_scoring_normalise(solve, x); }

static void stop(void *solve) { wr_scoring_close(solve); }

static wr_status resume(void *problem, const double *x) { return wr_graph_set_start(problem, x); }

/* A score below 0 is a mistake in the file, as is one that is not finite, which reading refuses. */
static wr_status check_signs(const char *path, const double *scores, int64_t n, const wr_ids *ids) {
  char text[WR_ID_TEXT];
  for (int64_t i = 0; i < n; i++)
    if (scores[i] < 0)
      return wr_fail(WR_EINPUT, "%s: node %s has the score %g; scores are not negative", path,
                     wr_ids_text(ids, i, text), scores[i]);
  return WR_OK;
}

/* By the scores as they are; or if the bound is then smaller, divided by their sum, which keeps the order. */
static wr_status prove_order(const wr_graph *g, const double *scores, wr_score_facts *facts) {
  wr_status status = WR_OK;
  wr_score_bound found;
  double *scaled = NULL;
  facts->order_bound = facts->bound;
  if (isfinite(facts->sum) && facts->sum > 0 && fabs(facts->sum - 1) > 1e-14) {
    TRY(wr_comm_agree(g->comm, wr_alloc(&scaled, g->n, sizeof *scaled, "scores of sum 1")));
    for (int64_t i = 0; i < g->n; i++) scaled[i] = scores[i] / facts->sum;
    TRY(wr_scores_certify(g, facts->damping, scaled, &found));
    facts->normalised = found.bound < facts->bound;
  }
  if (facts->normalised) facts->order_bound = found.bound;
  TRY(wr_order_prove(g, facts->normalised ? scaled : scores, facts->order_bound, &facts->proven, &facts->ties));
done:
  wr_free(scaled);
  return status;
}

static wr_status check(void *problem, const wr_settings *s, const wr_ids *ids, wr_certificate *c) {
  wr_status status;
  const wr_graph *g = problem;
  const wr_vector_need need = {.n = g->n_all, .whose = "the graph's nodes", .ids = ids, .complete = 1};
  double *scores = NULL;
  wr_score_bound found;
  wr_score_reading reading = {0};
  status = wr_vector_read(s->check, &need, &scores);
  if (status == WR_OK) status = check_signs(s->check, scores, g->n_all, ids);
  TRY(wr_comm_agree(g->comm, status));
  TRY(wr_halo_take_own(g->links, 1, &scores));
  TRY(wr_scores_certify(g, s->damping, scores, &found));
  *c = (wr_certificate){.x = s->check,
                        .measure = found.residual,
                        .error = found.rounding,
                        .limit = s->tolerance,
                        .by_change = s->stop == WR_STOP_CHANGE};
  c->met = c->by_change ? found.residual + found.rounding <= s->tolerance : found.bound <= s->tolerance;
  if (!c->met) TRY(wr_scores_explain(g, s->damping, scores, &found, &reading));
  c->scores = (wr_score_facts){.damping = s->damping,
                               .sum = found.sum,
                               .bound = found.bound,
                               .nodes = g->n_all,
                               .worst = wr_ids_at(ids, found.worst),
                               .worst_score = found.worst_score,
                               .worst_change = found.worst_residual};
  if (ids->names) wr_ids_text(ids, found.worst, c->scores.worst_name);
  if (reading.found) {
    snprintf(c->scores.reading, sizeof c->scores.reading, "%s", reading.text);
    c->scores.reading_damping = reading.damping, c->scores.reading_factor = reading.factor;
    c->scores.reading_bound = reading.bound;
  }
  TRY(prove_order(g, scores, &c->scores));
done:
  wr_free(scores);
  return status;
}

static double difference(const double *a, const double *b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += fabs(a[i] - b[i]);
  return sum;
}

/* The best nodes up to the one behind those that are shown, and what is proven of their order. */
typedef struct ranks {
  int64_t count, *best; /* [count] */
  unsigned char *tied;  /* [count], of each and the next one */
  wr_order order;
  double bound, gap;
} ranks;

static void ranks_free(ranks *r) {
  wr_free(r->best);
  wr_free(r->tied);
}

static wr_status find_ranks(const wr_graph *g, const wr_settings *s, const double *x, int64_t n, const wr_run *run,
                            ranks *r) {
  wr_status status;
  double *score = NULL;
  *r = (ranks){.count = s->top < n ? s->top + 1 : n,
               .bound = wr_run_counts(run) ? run->result.bound : (double)INFINITY};
  r->gap = wr_order_gap(r->bound);
  TRY(wr_alloc(&r->best, r->count, sizeof *r->best, "the best nodes"));
  TRY(wr_alloc_zeroed(&r->tied, r->count, sizeof *r->tied, "ties of nodes"));
  wr_top(x, n, r->count, r->best);
  if (g->comm == NULL) return wr_order_find(g, x, r->best, s->top, r->gap, r->tied, &r->order);
  TRY(wr_alloc(&score, r->count, sizeof *score, "the best scores")); /* nodes with the same links may be in other parts */
  for (int64_t k = 0; k < r->count; k++) score[k] = x[r->best[k]];
  r->order = wr_order_of(score, n, s->top, r->gap, NULL);
done:
  wr_free(score);
  return status;
}

static wr_status find_order(void *problem, const wr_settings *s, const double *x, int64_t n, wr_run *run) {
  ranks r;
  wr_status status = find_ranks(problem, s, x, n, run, &r);
  if (status == WR_OK) run->order = (wr_run_order){1, r.order.ranks, r.order.proven, r.order.ties};
  ranks_free(&r);
  return status;
}

/* How the score of rank k, from 0, is told from that of the next one. */
static int is_apart(const ranks *r, const double *x, int64_t k) { return x[r->best[k]] - x[r->best[k + 1]] > r->gap; }

/* How far the order of the nodes above is certain. */
static void say_order(wr_writer *out, const ranks *r, const double *x) {
  const wr_order *order = &r->order;
  int64_t shown = order->ranks;
  int last_is_open = shown < r->count && !r->tied[shown - 1] && !is_apart(r, x, shown - 1);
  char text[64];
  wr_line line = {0};
  wr_text_bound(r->bound, text);
  if (!isfinite(r->bound))
    wr_line_add(&line, "not proven: nothing bounds the error");
  else if (order->proven == shown && order->ties == 0)
    wr_line_add(&line, "proven: each score exceeds the next one by more than the bound %s on the error", text);
  else if (order->proven == shown)
    wr_line_add(&line, "proven: each score exceeds the next one by more than the bound %s on the error, or is the same",
                text);
  else if (order->proven > 0)
    wr_line_add(&line, "proven for the first %lld", (long long)order->proven);
  else
    wr_line_add(&line, "not proven from the first node on");
  if (isfinite(r->bound) && order->proven < shown)
    wr_line_add(&line, "; = stands where the score above is within the bound %s on the error%s", text,
                last_is_open              ? ", as the last score here is of the next one"
                : order->settled == shown ? ", as the last score here is of a lower one"
                                          : "");
  if (order->ties > 0)
    wr_line_add(&line, "; == where both are the same in truth, since the same nodes link to both%s",
                shown < r->count && r->tied[shown - 1] ? ", as the last one and the next one are" : "");
  wr_writer_item(out, "order", &line);
  wr_writer_end(out);
}

/* Columns of a terminal that a text takes, where each character of UTF-8 takes one. */
static int width_of(const char *text) {
  int width = 0;
  for (; *text; text++) width += ((unsigned char)*text & 0xc0) != 0x80;
  return width;
}

/* A row of the best nodes; as text, node in a column of `width` characters, on its left if `left`. */
static void write_rank(const wr_writer *out, int width, int left, const char *rank, const char *node,
                       const char *score) {
  if (out->is_html) {
    fprintf(out->file, "<tr><th scope=\"row\">%s</th><td class=\"node\">", rank);
    wr_html_text(out->file, node);
    fprintf(out->file, "</td><td>%s</td></tr>\n", score);
  } else {
    int blanks = width - width_of(node);
    fprintf(out->file, "%8s  %*s%s%*s  %s\n", rank, left ? 0 : blanks, "", node, left ? blanks : 0, "", score);
  }
}

/* Of the column of nodes. */
static int node_width(const wr_ids *ids, int64_t n, const ranks *r) {
  char node[WR_ID_TEXT];
  int widest = 4;
  if (ids->names == NULL) return wr_ids_at(ids, n - 1) < INT64_C(1000000000000) ? 12 : 19; /* ids ascend */
  for (int64_t k = 0; k < r->order.ranks; k++) {
    int width = width_of(wr_ids_text(ids, r->best[k], node));
    if (width > widest) widest = width;
  }
  return widest;
}

/* The best nodes for other programs. Errors of the stream are the caller's to find. */
static wr_status write_top(FILE *out, const wr_settings *s, const wr_ids *ids, const double *x, int64_t n) {
  wr_top_format form = s->top_format;
  char separator = form == WR_TOP_TSV ? '\t' : ',', score[64];
  int64_t *best, count = s->top < n ? s->top : n;
  PASS(wr_alloc(&best, count, sizeof *best, "the best nodes"));
  wr_top(x, n, count, best);
  if (form == WR_TOP_CSV) fputs("rank,id,score\n", out);
  if (form == WR_TOP_JSON) fputs("[", out);
  for (int64_t k = 0; k < count; k++) {
    score[wr_number_text(x[best[k]], score)] = '\0';
    if (form == WR_TOP_JSON) {
      fprintf(out, "%s\n  {\"rank\": %lld, \"id\": ", k > 0 ? "," : "", (long long)k + 1);
      wr_id_put_json(out, ids, best[k]);
      fprintf(out, ", \"score\": %s}", score);
    } else {
      fprintf(out, "%lld%c", (long long)k + 1, separator);
      wr_id_put_field(out, ids, best[k], separator);
      fprintf(out, "%c%s\n", separator, score);
    }
  }
  if (form == WR_TOP_JSON) fputs(count > 0 ? "\n]\n" : "]\n", out);
  wr_free(best);
  return WR_OK;
}

static wr_status present(wr_writer *out, void *problem, const wr_settings *s, const wr_ids *ids, const double *x,
                         int64_t n, const wr_run *run) {
  ranks r;
  if (s->top_format != WR_TOP_TABLE && !out->is_html) return write_top(out->file, s, ids, x, n);
  if (s->top == 0) return WR_OK;
  wr_status status = find_ranks(problem, s, x, n, run, &r);
  int width = status == WR_OK ? node_width(ids, n, &r) : 0, left = ids->names != NULL; /* names stand on the left */
  wr_writer_gap(out);
  if (out->is_html)
    fputs("<h2>Best nodes</h2>\n<table class=\"nodes\">\n<thead><tr><th scope=\"col\">rank</th>"
          "<th scope=\"col\">node</th><th scope=\"col\">score</th></tr></thead>\n<tbody>\n",
          out->file);
  else
    write_rank(out, width, left, "rank", "node", "score");
  for (int64_t k = 0; status == WR_OK && k < r.order.ranks; k++) {
    char rank[32], node[WR_ID_TEXT], score[32];
    const char *mark = k == 0 || is_apart(&r, x, k - 1) ? "" : r.tied[k - 1] ? "== " : "= ";
    snprintf(rank, sizeof rank, "%s%lld", mark, (long long)k + 1);
    snprintf(score, sizeof score, "%.12g", x[r.best[k]]);
    write_rank(out, width, left, rank, wr_ids_text(ids, r.best[k], node), score);
  }
  if (out->is_html) fputs("</tbody>\n</table>\n", out->file);
  if (status == WR_OK) say_order(out, &r, x);
  ranks_free(&r);
  return status;
}

/* ---- --seeds ---- */

static int columns(const wr_settings *s, const wr_env *env) {
  return s->vectors > 0 ? (int)s->vectors : wr_rank_sets_columns(env);
}

static wr_status run_sets(void *of, const wr_settings *s, wr_plan *plan, wr_env *env, const wr_monitor *monitor,
                          wr_run *run) {
  task *p = of;
  return wr_sets_run(&p->sets, &p->graph, s, plan, env, monitor, run);
}

static wr_status write_sets(void *of, const wr_settings *s, const wr_ids *ids) {
  return wr_sets_write(&((task *)of)->sets, s, ids);
}

static void print_sets(FILE *out, void *of, const wr_ids *ids) { wr_sets_print(out, &((task *)of)->sets, ids); }

int main(int argc, char **argv) {
  static const wr_program program = {
      .name = "pagerank",
      .text = &wr_pagerank_text,
      .begin_parts = wr_comm_mpi_begin,
      .end_parts = wr_comm_mpi_end,
      .in_parts = in_parts,
      .options = wr_pagerank_table,
      .measure = WR_MEASURE_L1_ERROR,
      .nonnegative = 1,
      .problem = "a graph",
      .values = "the scores",
      .problem_size = sizeof(task),
      .solve_size = sizeof(wr_scoring),
      .complete = complete,
      .row_bytes = wr_pagerank_row_bytes,
      .work = work,
      .use = use_of,
      .usual = usual,
      .open = open_problem,
      .upload = upload,
      .finish = finish,
      .uploads_input = uploads_input,
      .close = close_problem,
      .matrix = matrix,
      .start = start_solve,
      .sweep_in = sweep_in,
      .run = run,
      .multiply = multiply,
      .answer = answer,
      .verify = verify,
      .normalise = normalise,
      .verify_seconds = wr_scoring_verify_seconds,
      .stop = stop,
      .check = check,
      .resume = resume,
      .difference = difference,
      .find_order = find_order,
      .present = present,
      .columns = columns,
      .run_sets = run_sets,
      .write_sets = write_sets,
      .print_sets = print_sets,
  };
  return wr_program_run(&program, argc, argv);
}
