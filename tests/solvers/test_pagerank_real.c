/* PageRank of real graphs, by the power method and, where links are symmetric, by Chebyshev's: the ten best scores agree to
 * 1e-9 with those that numpy and scipy computed (tests/data/real/README.md), and an f32 run differs from the f64 run by its
 * bound at most. Large graphs need WR_MATRICES, which names their folder. */
#define _DEFAULT_SOURCE
#include "solvers/top.h"
#include "tests/solvers/rank_fixture.h"

enum { TEN = 10, LINE = 8192 };

typedef struct expected_ranks {
  char name[64];
  int64_t id[TEN]; /* from 0 */
  double score[TEN];
} expected_ranks;

/* Field number `field` of a tab-separated line, in room[size]. */
static const char *field_of(const char *line, int field, char *room, size_t size) {
  for (; field > 0 && line; field--) line = strchr(line, '\t') ? strchr(line, '\t') + 1 : NULL;
  snprintf(room, size, "%.*s", line ? (int)strcspn(line, "\t\n") : 0, line ? line : "");
  return room;
}

static int field_named(const char *header, const char *name) {
  char room[64];
  for (int field = 0; field < 32; field++)
    if (strcmp(field_of(header, field, room, sizeof room), name) == 0) return field;
  CHECKF(0, "expected.tsv has no field %s", name);
  return 0;
}

/* All lines with ranks, at most `most`; returns how many. */
static int read_expected(expected_ranks *expected, int most) {
  char header[LINE], line[LINE], ids[LINE], scores[LINE];
  FILE *file = fopen("tests/data/real/expected.tsv", "r");
  CHECKF(file != NULL, "tests/data/real/expected.tsv cannot be opened");
  if (file == NULL || fgets(header, sizeof header, file) == NULL) return 0;
  int id_field = field_named(header, "pagerank_ids"), score_field = field_named(header, "pagerank_scores"), count = 0;
  while (count < most && fgets(line, sizeof line, file)) {
    field_of(line, id_field, ids, sizeof ids);
    field_of(line, score_field, scores, sizeof scores);
    if (strcmp(ids, "-") == 0) continue;
    expected_ranks *e = &expected[count++];
    field_of(line, 0, e->name, sizeof e->name);
    char *id = ids, *score = scores;
    for (int k = 0; k < TEN; k++) {
      e->id[k] = strtoll(id, &id, 10) - 1, e->score[k] = strtod(score, &score);
      id += *id == ',', score += *score == ',';
    }
    CHECKF(*id == '\0' && *score == '\0' && e->id[TEN - 1] >= 0 && e->score[TEN - 1] > 0, "%s: not ten of each",
           e->name);
  }
  fclose(file);
  return count;
}

static expected_ranks expected[16];
static int expected_count;

static void check_best(const ranking *r, const expected_ranks *e) {
  int64_t best[TEN];
  wr_top(r->scores, r->links->nrows, TEN, best);
  for (int k = 0; k < TEN; k++) {
    CHECKF(fabs(r->scores[best[k]] - e->score[k]) <= 1e-9, "rank %d: score %.12g, not %.12g", k + 1, r->scores[best[k]],
           e->score[k]);
    CHECKF(fabs(r->scores[e->id[k]] - e->score[k]) <= 1e-9, "node %lld: score %.12g, not %.12g",
           (long long)e->id[k] + 1, r->scores[e->id[k]], e->score[k]);
    int tied = 0; /* the node found here has the score that belongs here, or it is the expected one */
    for (int other = 0; other < TEN; other++) tied |= fabs(e->score[other] - e->score[k]) <= 2e-12;
    CHECKF(best[k] == e->id[k] || tied, "rank %d: node %lld, not %lld", k + 1, (long long)best[k] + 1,
           (long long)e->id[k] + 1);
  }
}

static void check_verified(const ranking *r) {
  CHECKF(r->result.outcome == WR_CONVERGED, "%s after %lld", wr_outcome_title(r->result.outcome),
         (long long)r->result.iterations);
  CHECKF(r->verdict.multiplied_right && r->verdict.met_tolerance, "error %g of its bound, change %g of %g",
         r->verdict.worst_row, r->verdict.measure, r->verdict.limit);
}

/* The run in f64 to 1e-12 that others are measured against; it has been compared with the expected scores. */
static void rank_in_double(const ground *g, const expected_ranks *e, ranking *fine) {
  ground twin;
  if (!ground_open(&twin, g->backend, WR_F64)) return;
  for (double tolerance = 1e-9; tolerance > 1e-13; tolerance /= 1e3) {
    fine->options.tolerance = tolerance;
    ranking_run(&twin, fine);
    check_verified(fine);
    check_best(fine, e);
  }
  wr_env_close(&twin.env);
}

/* The theory's worst case is 0.557 to the power's 0.85, which is 28% of the multiplies, and some more for its constants. */
static void rank_by_chebyshev(const ground *g, const expected_ranks *e, wr_csr *links) {
  ground twin;
  if (!links->symmetric || !ground_open(&twin, g->backend, WR_F64)) return;
  ranking power = ranking_of(&twin, links), r = power;
  r.options.method = WR_PAGERANK_CHEBYSHEV;
  ranking_run(&twin, &power);
  ranking_run(&twin, &r);
  check_verified(&r);
  check_best(&r, e);
  CHECKF(r.result.iterations * 2 < power.result.iterations, "%lld multiplies, %lld by the power method",
         (long long)r.result.iterations, (long long)power.result.iterations);
  ranking_free(&power), ranking_free(&r);
  wr_env_close(&twin.env);
}

static void test_file(ground *g, const expected_ranks *e) {
  wr_csr *links = real_matrix(e->name, 0);
  if (links == NULL) return;
  rank_by_chebyshev(g, e, links);
  ranking fine = ranking_of(g, links), single = fine;
  ground_case(g, "%s", e->name);
  rank_in_double(g, e, &fine);
  ranking_run(g, &single);
  check_verified(&single);
  double distance = ranking_distance(&single, &fine);
  CHECKF(distance <= single.result.bound + fine.result.bound, "%g, bound %g", distance, single.result.bound);
  CHECKF(distance <= single.options.tolerance, "%g", distance);
  ranking_free(&fine), ranking_free(&single);
  wr_csr_free(links);
}

static void test_all(ground *g) {
  if (g->env.type != WR_F32) return; /* f64 is run beside it */
  for (int k = 0; k < expected_count; k++) test_file(g, &expected[k]);
}

int main(void) {
  CASE("expected.tsv");
  expected_count = read_expected(expected, 16);
  CHECKF(expected_count >= 2, "%d graphs", expected_count);
  int small = 0;
  for (int k = 0; k < expected_count; k++)
    small += strcmp(expected[k].name, "polblogs") == 0 || strcmp(expected[k].name, "as-22july06") == 0;
  CHECKF(small == 2 && real_path("polblogs") && real_path("as-22july06"), "%d of the two small graphs", small);
  on_default_grounds(test_all);
  return wr_test_report("pagerank_real");
}
