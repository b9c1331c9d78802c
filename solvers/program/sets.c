#include "solvers/program/sets.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "config/memory.h"
#include "io/id_text.h"
#include "io/number.h"
#include "io/output_file.h"
#include "solvers/api/scoring.h"
#include "solvers/report/json.h"
#include "solvers/report/report_text.h"
#include "spmv/parts/halo.h"

wr_status wr_sets_open(const wr_settings *s, const wr_vector_need *need, wr_kept_sets *sets) {
  PASS(wr_set_file_read(s->seeds, need, &sets->list));
  return wr_alloc_zeroed(&sets->kept, sets->list.count, sizeof *sets->kept, "sets");
}

void wr_sets_close(wr_kept_sets *sets) {
  for (int64_t k = 0; sets->kept && k < sets->list.count; k++) {
    wr_free(sets->kept[k].node);
    wr_free(sets->kept[k].score);
  }
  wr_free(sets->kept);
  wr_set_list_free(&sets->list);
  *sets = (wr_kept_sets){0};
}

/* ---- Ranking ---- */

static wr_status keep(void *context, const wr_set_ranks *found) {
  wr_kept_sets *sets = context;
  wr_kept_set *k = &sets->kept[found->set];
  *k = (wr_kept_set){.is_done = 1, .outcome = found->outcome, .iterations = found->iterations,
                     .change = found->change, .bound = found->bound, .checked = found->checked};
  PASS(wr_alloc(&k->node, found->count, sizeof *k->node, "the best nodes of sets"));
  PASS(wr_alloc(&k->score, found->count, sizeof *k->score, "the best nodes of sets"));
  k->count = found->count;
  memcpy(k->node, found->node, (size_t)k->count * sizeof *k->node);
  memcpy(k->score, found->score, (size_t)k->count * sizeof *k->score);
  return WR_OK;
}

/* The sets whose bounds the host computes again: as many as --verify asks for, or as take little time. */
static int64_t count_checks(const wr_settings *s, const wr_graph *graph, int64_t sets) {
  int64_t links = wr_csr_all_entries(graph->links);
  if (s->verify_auto) return wr_scoring_checked_sets(graph->n_all, links, sets);
  if (s->verify == WR_VERIFY_FULL) return sets;
  return s->verify == WR_VERIFY_SAMPLE ? (s->verify_rows < sets ? s->verify_rows : sets) : 0;
}

/* Sums up what was kept. */
static void describe(const wr_kept_sets *sets, const wr_rank_sets_facts *facts, const wr_settings *s, wr_run *run) {
  wr_run_sets *r = &run->sets;
  *r = (wr_run_sets){.count = sets->list.count, .done = facts->done, .checked = facts->checked,
                     .refuted = facts->refuted, .columns = facts->columns};
  run->result.outcome = facts->ended;
  for (int64_t k = 0; k < sets->list.count; k++) {
    const wr_kept_set *kept = &sets->kept[k];
    if (!kept->is_done) continue;
    run->result.outcome = wr_worse_outcome(run->result.outcome, kept->outcome);
    r->converged += kept->outcome == WR_CONVERGED;
    r->fewest = r->most == 0 || kept->iterations < r->fewest ? kept->iterations : r->fewest;
    r->most = kept->iterations > r->most ? kept->iterations : r->most;
    if (r->worst == 0 || kept->bound > run->result.bound) r->worst = k + 1, run->result.bound = kept->bound;
    run->result.change = fmax(run->result.change, kept->change);
  }
  run->result.iterations = facts->iterations, run->result.multiplies = facts->multiplies;
  run->result.by_change = s->stop == WR_STOP_CHANGE;
  run->result.measure = run->result.by_change ? run->result.change : run->result.bound;
  snprintf(run->result.method, sizeof run->result.method, "power");
  run->verdict = (wr_verdict){.level = s->verify_auto || s->verify == WR_VERIFY_SAMPLE ? WR_VERIFY_SAMPLE : s->verify,
                              .multiplied_right = facts->refuted == 0, .met_tolerance = 1,
                              .measure = run->result.measure, .limit = s->tolerance};
  if (facts->checked == sets->list.count) run->verdict.level = WR_VERIFY_FULL;
}

wr_status wr_sets_run(wr_kept_sets *sets, const wr_graph *graph, const wr_settings *s, wr_plan *plan, wr_env *env,
                      const wr_monitor *monitor, wr_run *run) {
  const wr_set_list *list = &sets->list;
  const wr_teleport_sets teleports = {list->count, list->first, list->node, list->weight};
  wr_rank_sets_facts facts;
  wr_rank_sets_options options = {.damping = s->damping, .tolerance = s->tolerance, .iterations = s->iterations,
                                  .stop_on_change = s->stop == WR_STOP_CHANGE, .check_every = s->check_every,
                                  .columns = (int)s->vectors, .top = s->top,
                                  .checks = count_checks(s, graph, list->count)};
  PASS(wr_rank_sets(graph, plan, env, &teleports, &options, monitor, keep, sets, &facts));
  describe(sets, &facts, s, run);
  return WR_OK;
}

/* ---- Output ---- */

/* The node stands last, as a name may have any width. */
void wr_sets_print(FILE *out, const wr_kept_sets *sets, const wr_ids *ids) {
  char bound[32], node[WR_ID_TEXT];
  fprintf(out, "\n%8s  %8s  %-18s  %-8s  node\n", "set", "rank", "score", "bound");
  for (int64_t k = 0; k < sets->list.count; k++) {
    const wr_kept_set *kept = &sets->kept[k];
    for (int64_t r = 0; r < kept->count; r++)
      fprintf(out, "%8" PRId64 "  %8" PRId64 "  %-18.12g  %-8s  %s\n", k + 1, r + 1, kept->score[r],
              wr_text_bound(kept->bound, bound), wr_ids_text(ids, kept->node[r], node));
  }
}

static void write_lines(FILE *file, const wr_kept_sets *sets, const wr_ids *ids, char separator) {
  char score[32], bound[32];
  for (int64_t k = 0; k < sets->list.count; k++) {
    const wr_kept_set *kept = &sets->kept[k];
    bound[wr_number_text(kept->bound, bound)] = '\0';
    for (int64_t r = 0; r < kept->count; r++) {
      score[wr_number_text(kept->score[r], score)] = '\0';
      fprintf(file, "%" PRId64 "%c%" PRId64 "%c", k + 1, separator, r + 1, separator);
      wr_id_put_field(file, ids, kept->node[r], separator);
      fprintf(file, "%c%s%c%s\n", separator, score, separator, bound);
    }
  }
}

static void write_json(FILE *file, const wr_kept_sets *sets, const wr_ids *ids) {
  for (int64_t k = 0; k < sets->list.count; k++) {
    const wr_kept_set *kept = &sets->kept[k];
    wr_json json = {.file = file, .one_line = 1};
    if (!kept->is_done) continue;
    wr_json_begin(&json, NULL, '{');
    wr_json_integer(&json, "set", k + 1);
    wr_json_integer(&json, "line", sets->list.line[k]);
    wr_json_text(&json, "outcome", wr_outcome_title(kept->outcome));
    wr_json_integer(&json, "iterations", kept->iterations);
    wr_json_real(&json, "change", kept->change);
    wr_json_real(&json, "bound", kept->bound);
    wr_json_positive(&json, "host_bound", kept->checked);
    wr_json_begin(&json, "top", '[');
    for (int64_t r = 0; r < kept->count; r++) {
      wr_json_begin(&json, NULL, '{');
      wr_json_begin_value(&json, "id");
      wr_id_put_json(file, ids, kept->node[r]);
      wr_json_real(&json, "score", kept->score[r]);
      wr_json_end(&json, '}');
    }
    wr_json_end(&json, ']');
    wr_json_end(&json, '}');
  }
}

wr_status wr_sets_write(const wr_kept_sets *sets, const wr_settings *s, const wr_ids *ids) {
  wr_output_file out;
  PASS(wr_output_open(s->output ? s->output : "-", &out));
  if (s->sets_form == WR_TOP_CSV) fputs("set,rank,id,score,bound\n", out.file);
  if (s->sets_form == WR_TOP_JSON)
    write_json(out.file, sets, ids);
  else
    write_lines(out.file, sets, ids, s->sets_form == WR_TOP_CSV ? ',' : '\t');
  return wr_output_commit(&out);
}
