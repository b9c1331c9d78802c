/* Timing multiplies, by a clock that only multiplies advance, so that times and the order of measurements are known exactly.
 * And products that are wrong by a little, in one apply, or in one row. */
#define _DEFAULT_SOURCE
#include <errno.h>
#include <stdlib.h>

#include "config/memory.h"
#include "data/generate.h"
#include "solvers/report/report_text.h"
#include "tests/program/apply_fixture.h"

/* ---- out of memory ---- */

static long granted = -1; /* requests that still succeed; -1: all of them */
int posix_memalign(void **block, size_t alignment, size_t size) {
  if (granted == 0) return ENOMEM;
  if (granted > 0) granted--;
  *block = aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  return *block ? 0 : ENOMEM;
}

/* ---- times ---- */

/* Powers of two: their sums, and the quotients of these by counts, have no rounding. */
static void test_hot(void) {
  CASE("hot times are those of the clock, in batches that are long enough");
  const wr_choice choices[] = {CHOICE(fake, "cost=0.000244140625:first=0.5"),
                               CHOICE(fake, "cost=0.000030517578125:name=B")};
  CHECK_OK(time_small(WR_F64, &plain, choices, 2));
  for (int k = 0; k < 2; k++) {
    double cost = k ? 0x1p-15 : 0x1p-12;
    const wr_sample *hot = &times[k].hot;
    CHECKF(hot->median == cost && hot->low == cost && hot->high == cost, "%g", hot->median);
    CHECK(runs[k].ran && runs[k].apply_median == cost && runs[k].apply_low == cost && runs[k].apply_high == cost);
    CHECK(times[k].hot.count == 7 && runs[k].applies == 8 && times[k].cold.count == 0);
    CHECK((double)times[k].repeat * cost >= 1e-3 && times[k].preparations == 3 && !times[k].dual);
    CHECK(runs[k].setup >= 0 && runs[k].info.apply_bytes == 6 && runs[k].read_bandwidth == 1e9);
  }
  CHECK(runs[0].apply_first == 0x1p-12 + 0.5 && times[0].first_once == 0x1p-12 + 0.5); /* and not in the median */
  CHECK(runs[1].apply_first == 0x1p-15 && log_of.prepares == 6 && log_of.flush_bytes == 0);
}

static void test_order(void) {
  CASE("backends alternate in both orders, and a multiply of the same backend precedes each batch");
  const wr_choice choices[] = {CHOICE(fake, "cost=0.001"), CHOICE(fake, "cost=0.0004:name=B"),
                               CHOICE(fake, "cost=0.002:name=C")};
  CHECK_OK(time_small(WR_F64, &plain, choices, 3));
  int batches = 0;
  for (int k = 9; k < log_of.count; k++) { /* after three first applies each */
    const span *s = &log_of.spans[k];
    CHECKF(s->before == 1 && !s->flushed, "span %d: %d multiplies before, %d flushes", k, s->before, s->flushed);
    if (s->seconds < 1e-3) continue; /* too short, measured anew */
    int round = batches / 3, place = batches % 3;
    CHECKF(s->name == 'A' + (round % 2 ? 2 - place : place), "batch %d is of %c", batches, s->name);
    batches++;
  }
  CHECKF(batches == 21, "%d batches", batches);
}

static void test_cold(void) {
  CASE("cold times are of single multiplies behind an overwritten cache");
  wr_apply_settings cold = plain;
  cold.cold = 1;
  const wr_choice choices[] = {CHOICE(fake, "cost=0.0625"), CHOICE(fake_dual, "cost=0.125:name=B")};
  CHECK_OK(time_small(WR_F64, &cold, choices, 2));
  int found = 0;
  for (int k = 0; k < log_of.count; k++) {
    const span *s = &log_of.spans[k];
    if (!s->flushed) continue;
    CHECKF(s->flushed == 1 && s->before == 1 && s->multiplies == 1, "span %d: %d multiplies", k, s->multiplies);
    found++;
  }
  CHECKF(found == 14 && log_of.flush_bytes >= 1 << 20, "%d, %lld bytes", found, (long long)log_of.flush_bytes);
  CHECK(times[0].cold.count == 7 && times[0].cold.median == 0.0625 && times[1].cold.median == 0.125);
  CHECK(!times[0].dual && times[1].dual);
}

/* The fake multiplies column by column, so each costs three times as much, and so do the applies that it counts. */
static void test_vectors(void) {
  CASE("several vectors at once, one of them wrong");
  wr_apply_settings three = plain;
  three.vectors = 3;
  const wr_choice choices[] = {CHOICE(fake, "cost=0.0625"), CHOICE(fake_dual, "cost=0.125:name=B"),
                               CHOICE(fake, "how=nan:row=3:from=1:until=2:name=C")};
  CHECK_OK(time_small(WR_F64, &three, choices, 3));
  for (int k = 0; k < 2; k++) {
    CHECK(runs[k].ran && runs[k].verdict.multiplied_right && runs[k].verdict.rows == 4);
    CHECK(times[k].vectors == 3 && !times[k].dual && times[k].hot.median == (k ? 0.375 : 0.1875));
    CHECK(runs[k].info.apply_bytes == 3 * (6 + 2 * (4 + 3) * 8));
  }
  CHECK(runs[2].ran && !runs[2].verdict.multiplied_right && isinf(runs[2].verdict.worst_row));
  CHECK_OK(time_small(WR_F64, &plain, choices, 1));
  CHECK(times[0].vectors == 1 && runs[0].info.apply_bytes == 6 && times[0].hot.median == 0.0625);
}

static void test_slow(void) {
  CASE("a slow backend has fewer batches, but enough for an interval");
  wr_apply_settings patient = plain;
  patient.batches = 30, patient.cold = 1, patient.seconds = 2;
  const wr_choice choices[] = {CHOICE(fake, "cost=1"), CHOICE(fake, "cost=0.25"), CHOICE(fake, "cost=0.001")};
  CHECK_OK(time_small(WR_F64, &patient, choices, 3));
  static const int64_t expected[] = {WR_LEAST_SAMPLE + 1, 9, 30}; /* 9 quarters: the first sum above 2 */
  for (int k = 0; k < 3; k++) {
    CHECKF(times[k].hot.count == expected[k], "%d: %lld hot", k, (long long)times[k].hot.count);
    CHECKF(times[k].cold.count == expected[k], "%d: %lld cold", k, (long long)times[k].cold.count);
    CHECK(times[k].hot.confidence >= 0.95);
  }
  CHECK(wr_apply_compare(&runs[1], &runs[0]).faster && runs[1].apply_total == 2.25);
  patient.seconds = 0.5; /* one multiply of the first takes longer: one batch */
  CHECK_OK(time_small(WR_F64, &patient, choices, 3));
  CHECK(times[0].hot.count == 1 && times[0].cold.count == 1 && runs[0].apply_median == 1);
  CHECK(times[1].hot.count == WR_LEAST_SAMPLE + 1 && times[2].hot.count == 30);
}

static wr_apply_standing standing_of(const wr_choice *choices) {
  CHECK_OK(time_small(WR_F64, &plain, choices, 2));
  return wr_apply_compare(&runs[1], wr_apply_base(runs, 2));
}

static void test_standing(void) {
  CASE("faster and slower by more than 2%, and the number of multiplies from which a preparation pays");
  const wr_choice close[] = {CHOICE(fake, "cost=0.002"), CHOICE(fake, "cost=0.0019616")};
  wr_apply_standing s = standing_of(close);
  CHECK(s.known && !s.faster && !s.slower && s.speed_up > 1.019 && s.speed_up < 1.02);
  const wr_choice ahead[] = {CHOICE(fake, "cost=0.002"), CHOICE(fake, "cost=0.00196")};
  s = standing_of(ahead);
  CHECK(s.known && s.faster && !s.slower);
  const wr_choice behind[] = {CHOICE(fake, "cost=0.0009765625"), CHOICE(fake, "cost=0.001953125")};
  s = standing_of(behind);
  CHECK(s.known && s.slower && !s.faster && s.speed_up == 0.5 && s.pays_at == -1);
  runs[0].setup = 1, runs[1].setup = 0.5; /* half a second sooner, 1/1024 s a multiply slower */
  s = wr_apply_compare(&runs[1], &runs[0]);
  CHECKF(s.ahead_until == 512 && s.pays_at == -1, "%lld", (long long)s.ahead_until);
  CHECK(wr_apply_is_worth(&runs[1], &runs[0], 511) && !wr_apply_is_worth(&runs[1], &runs[0], 512));
  CHECK(!wr_apply_is_worth(&runs[0], &runs[1], 511) && wr_apply_is_worth(&runs[0], &runs[1], 512));
  CHECK(!wr_apply_is_worth(&runs[0], &runs[0], 1e9) && !wr_apply_is_worth(&runs[0], NULL, 1e9));
  s = wr_apply_compare(&runs[0], &runs[1]);
  CHECKF(s.pays_at == 512 && s.ahead_until == 0, "%lld", (long long)s.pays_at);
  runs[1].setup = 1;
  CHECK(wr_apply_compare(&runs[1], &runs[0]).ahead_until == 0);
  CHECK(!wr_apply_compare(&runs[1], NULL).known);
}

/* ---- products ---- */

/* 1 if a backend multiplied right by its verdict, with which other members of the run must agree. */
static int is_right(const wr_backend *backend, const char *knobs, wr_type type) {
  wr_choice choice = {.backend = backend};
  snprintf(choice.knobs, sizeof choice.knobs, "%s", knobs);
  CHECK_OK(time_small(type, &plain, &choice, 1));
  const wr_verdict *v = &runs[0].verdict;
  CHECKF(runs[0].ran && v->level == WR_VERIFY_FULL && v->rows == 4, "%s: %lld rows", knobs, (long long)v->rows);
  CHECKF(wr_report_exit_code(runs, 1) == (v->multiplied_right ? 0 : 7), "%s", knobs);
  CHECKF((wr_apply_base(runs, 1) != NULL) == v->multiplied_right, "%s", knobs);
  CHECKF(v->multiplied_right == (v->worst_row <= 1), "%s: %g", knobs, v->worst_row);
  return v->multiplied_right;
}

static void test_bound(void) {
  CASE("errors just within and just beyond the bound of a row");
  for (int row = 0; row < 4; row += row ? 1 : 2) { /* row 1 is empty */
    char knobs[64];
    for (int sign = -1; sign <= 1; sign += 2) {
      snprintf(knobs, sizeof knobs, "row=%d:off=%g", row, 0.7 * sign);
      CHECKF(is_right(&fake, knobs, WR_F64), "%s: %g", knobs, runs[0].verdict.worst_row);
      snprintf(knobs, sizeof knobs, "row=%d:off=%g", row, 1.4 * sign);
      CHECKF(!is_right(&fake, knobs, WR_F64), "%s: %g", knobs, runs[0].verdict.worst_row);
      snprintf(knobs, sizeof knobs, "unit=f32:row=%d:off=%g", row, 0.7 * sign);
      CHECKF(is_right(&fake, knobs, WR_F32), "%s: %g", knobs, runs[0].verdict.worst_row);
      snprintf(knobs, sizeof knobs, "unit=f32:row=%d:off=%g", row, 1.4 * sign);
      CHECKF(!is_right(&fake, knobs, WR_F32), "%s: %g", knobs, runs[0].verdict.worst_row);
      snprintf(knobs, sizeof knobs, "row=%d:off=%g", row, 2.5 * sign); /* f32 stored, f64 summed */
      CHECKF(!is_right(&fake, knobs, WR_F32), "%s: %g", knobs, runs[0].verdict.worst_row);
    }
  }
  CHECK(is_right(&fake, "", WR_F32) && is_right(&fake, "", WR_F64) && is_right(&fake_dual, "", WR_F64));
}

/* term_unit counts once a row, whatever its length; with sums in either type, as most of the bound and as a small part. */
static void test_term_bound(void) {
  CASE("errors just within and just beyond the bound with term_unit");
  static const char *const terms[] = {"0.001", "1.79e-7", "5e-16"}; /* the second: three roundings to f32 */
  for (int row = 0; row < 4; row += row ? 1 : 2)
    for (int k = 0; k < 12; k++) {
      char knobs[64];
      wr_type type = k & 1 && k < 8 ? WR_F32 : WR_F64; /* the last is negligible for a y in f32 */
      for (int sign = -1; sign <= 1; sign += 2) {
        const char *unit = k & 2 ? "f32" : "f64";
        snprintf(knobs, sizeof knobs, "term=%s:unit=%s:row=%d:off=%g", terms[k / 4], unit, row, 0.7 * sign);
        CHECKF(is_right(&fake, knobs, type), "%s: %g", knobs, runs[0].verdict.worst_row);
        snprintf(knobs, sizeof knobs, "term=%s:unit=%s:row=%d:off=%g", terms[k / 4], unit, row, 1.4 * sign);
        CHECKF(!is_right(&fake, knobs, type), "%s: %g", knobs, runs[0].verdict.worst_row);
      }
    }
  CHECK(is_right(&fake, "term=1", WR_F32) && is_right(&fake, "term=1:unit=f32", WR_F64));
  CHECK(!is_right(&fake, "term=1:how=unwritten:row=1", WR_F64)); /* without terms there is nothing to round */
}

static void test_wrong(void) {
  CASE("NaN, rows not written, a wrong second buffer, errors in late applies");
  CHECK(!is_right(&fake, "how=nan:row=3", WR_F64) && isinf(runs[0].verdict.worst_row));
  CHECK(!is_right(&fake, "how=unwritten:row=1", WR_F64));
  CHECK(!is_right(&fake, "how=unwritten:row=3:from=1", WR_F32)); /* the first apply is right */
  CHECK(!is_right(&fake_dual, "how=second:row=2:off=3", WR_F64));
  CHECK(!is_right(&fake_dual, "how=second:row=2:off=3:cost=0.0007", WR_F64)); /* ends in the other buffer */
  CHECK(is_right(&fake, "how=second:row=2:off=3", WR_F64)); /* it has no second buffer */
  CHECK(!is_right(&fake, "off=3:from=9", WR_F64));
  CHECK(!is_right(&fake, "off=3:until=1", WR_F64)); /* right later applies do not excuse a wrong first one */
  const wr_choice choices[] = {CHOICE(fake, "off=3"), CHOICE(fake, ""), CHOICE(fake, "how=nan")};
  CHECK_OK(time_small(WR_F64, &plain, choices, 3));
  CHECK(wr_apply_base(runs, 3) == &runs[1] && wr_report_exit_code(runs, 3) == 7);
  CHECK(!wr_apply_compare(&runs[2], &runs[1]).known);
}

static void test_levels(void) {
  CASE("a sample of rows with both ends; no verification");
  wr_apply_settings sample = plain, off = plain;
  sample.verify = WR_VERIFY_SAMPLE, sample.verify_rows = 2;
  off.verify = WR_VERIFY_OFF;
  const wr_choice choices[] = {CHOICE(fake, "off=3:row=3"), CHOICE(fake, "off=3:row=2"), CHOICE(fake, "off=3:row=0")};
  CHECK_OK(time_small(WR_F64, &sample, choices, 3));
  for (int k = 0; k < 3; k++)
    CHECKF(runs[k].verdict.rows == 2 && runs[k].verdict.multiplied_right == (k == 1), "%d: %g", k,
           runs[k].verdict.worst_row);
  CHECK_OK(time_small(WR_F64, &off, choices, 1));
  CHECK(runs[0].ran && runs[0].verdict.level == WR_VERIFY_OFF && wr_report_exit_code(runs, 1) == 0);
}

/* ---- what does not run ---- */

static void test_absent(void) {
  CASE("runs of backends that cannot run or break off have an error");
  const wr_backend *stub = NULL;
  for (int k = 0; k < wr_backend_count() && !stub; k++)
    if (wr_backend_at(k)->plan == NULL) stub = wr_backend_at(k);
  static const wr_backend on_card = FAKE(.name = "card", .place = WR_CUDA, .caps = CAPS);
  const wr_choice choices[] = {CHOICE(on_card, ""), CHOICE(fake, "how=prepare"), CHOICE(fake, "how=fail:from=12"),
                               CHOICE(fake, "name=D"), {.backend = stub}};
  CHECK_OK(time_small(WR_F64, &plain, choices, stub ? 5 : 4));
  CHECK(runs[0].error.status == WR_EUNAVAILABLE && strcmp(runs[0].error.text, "no card today") == 0 && !runs[0].ran);
  CHECK(runs[1].error.status == WR_ENOMEM && strstr(runs[1].error.text, "told to fail") && !runs[1].ran);
  CHECK(runs[2].error.status == WR_EDEVICE && strstr(runs[2].error.text, "told to fail") && !runs[2].ran);
  CHECK(runs[3].error.status == WR_OK && runs[3].ran && times[3].hot.count == 7);
  CHECK(!stub || (runs[4].error.status == WR_EUNAVAILABLE && runs[4].error.text[0]));
  CHECK(wr_apply_base(runs, 4) == &runs[3]);
  const wr_choice misspelt[] = {CHOICE(fake, ""), CHOICE(fake, "cots=1")};
  CHECK_FAILS(WR_EUSAGE, time_small(WR_F64, &plain, misspelt, 2));
  CHECK_MESSAGE("cost");
}

static void test_interrupted(void) {
  CASE("an interrupt ends the rounds and keeps what was measured");
  const wr_choice late[] = {CHOICE(fake, ""), CHOICE(fake, "how=interrupt:from=8:name=B")};
  CHECK_OK(time_small(WR_F64, &plain, late, 2));
  CHECKF(times[1].hot.count > 0 && times[1].hot.count < 7, "%lld", (long long)times[1].hot.count);
  CHECK(runs[0].ran && runs[1].ran && runs[1].verdict.multiplied_right);
  const wr_choice at_once[] = {CHOICE(fake, "how=interrupt")};
  CHECK_OK(time_small(WR_F64, &plain, at_once, 1));
  CHECK(!runs[0].ran && runs[0].error.status == WR_EUNAVAILABLE && strstr(runs[0].error.text, "interrupted"));
}

static void test_overflow(void) {
  CASE("rows that the type cannot hold");
  open_places(1);
  wr_csr *A = small_matrix(1), *hubs = NULL;
  const wr_choice choice = CHOICE(fake, "");
  A->val[2] = A->val[3] = A->val[4] = 3e38; /* each fits f32 */
  CHECK_OK(wr_apply_time(A, WR_F64, places, &choice, 1, &plain, runs, times));
  CHECK_OK(wr_generate("gen:hubs:n=3000,hubs=3", 0, &hubs)); /* rows long enough to overflow, though no x is 1 */
  CHECK_OK(wr_alloc(&hubs->val, hubs->nnz, sizeof *hubs->val, "large values"));
  for (int64_t k = 0; k < hubs->nnz; k++) hubs->val[k] = 3e38;
  CHECK_FAILS(WR_ENUMERIC, wr_apply_time(hubs, WR_F32, places, &choice, 1, &plain, runs, times));
  CHECK_MESSAGE("beyond f32");
  CHECK_OK(wr_apply_time(hubs, WR_F64, places, &choice, 1, &plain, runs, times));
  A->val[3] = 1e39;
  CHECK_FAILS(WR_ENUMERIC, wr_apply_time(A, WR_F32, places, &choice, 1, &plain, runs, times));
  wr_csr_free(hubs);
  wr_csr_free(A);
  wr_apply_place_close(&places[WR_HOST]);
}

/* Every allocation in turn is the last that succeeds. */
static void test_no_memory(void) {
  CASE("a failed allocation is an error of the call or of a run");
  int through = 0;
  wr_apply_settings cold = plain;
  cold.cold = 1;
  const wr_choice choices[] = {CHOICE(fake, ""), CHOICE(fake_dual, "")};
  open_places(1);
  wr_csr *A = small_matrix(1);
  for (int k = 0; k < 200 && !through; k++) {
    granted = k;
    interrupted = 0;
    wr_status status = wr_apply_time(A, WR_F64, places, choices, 2, &cold, runs, times);
    int some_left = granted > 0;
    granted = -1;
    through = status == WR_OK && runs[0].ran && runs[1].ran;
    CHECKF(through || status == WR_ENOMEM || runs[0].error.status == WR_ENOMEM || runs[1].error.status == WR_ENOMEM,
           "%d granted: %s", k, wr_status_name(status));
    CHECKF(through || !some_left, "%d granted were too many", k);
  }
  CHECK(through);
  wr_csr_free(A);
  wr_apply_place_close(&places[WR_HOST]);
}

/* ---- real backends and clocks ---- */

static void test_backends(void) {
  CASE("reference and cpu_csr, with and without values, rectangular and square");
  static const char *const names[] = {"gen:hubs:n=3000,hubs=3", "gen:stencil:n=9", "gen:rmat:scale=8"};
  wr_apply_settings quick = {.batches = 2, .batch_seconds = 1e-5, .preparations = 1, .verify = WR_VERIFY_FULL};
  wr_choice choices[WR_MAX_RUNS];
  int count;
  CHECK_OK(wr_choices_parse("cpu_csr,reference", choices, &count));
  open_places(0);
  for (int k = 0; k < 5; k++) {
    wr_csr *A = k < 2 ? small_matrix(k) : NULL;
    if (A == NULL) CHECK_OK(wr_generate(names[k - 2], 0, &A));
    for (int type = WR_F32; type <= WR_F64 && A; type++) {
      CHECK_OK(wr_apply_time(A, (wr_type)type, places, choices, count, &quick, runs, times));
      for (int r = 0; r < count; r++)
        CHECKF(wr_run_counts(&runs[r]) && runs[r].verdict.rows == A->nrows && times[r].hot.count == 2,
               "matrix %d, %s: %s, worst row %g", k, runs[r].backend->name, runs[r].error.text,
               runs[r].verdict.worst_row);
    }
    wr_csr_free(A);
  }
  wr_choices_free(choices, &count);
  wr_apply_place_close(&places[WR_HOST]);
  wr_apply_place none;
  wr_apply_place_open(&none, (wr_env){.place = WR_CUDA, .device = 4000, .type = WR_F64});
  CHECK(none.error.status == WR_EUNAVAILABLE && none.error.text[0] && none.read_bandwidth == 0);
  wr_apply_place_close(&none);
}

int main(void) {
  test_hot();
  test_order();
  test_cold();
  test_vectors();
  test_slow();
  test_standing();
  test_bound();
  test_term_bound();
  test_wrong();
  test_levels();
  test_absent();
  test_interrupted();
  test_overflow();
  test_no_memory();
  test_backends();
  return wr_test_report("apply_time");
}
