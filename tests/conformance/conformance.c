#include "tests/conformance/conformance.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "config/memory.h"
#include "spmv/device/testing.h"
#include "tests/conformance/cases.h"
#include "tests/conformance/exact.h"

static const double alphas[ALPHAS] = {1, -2.5, 0}, betas[BETAS] = {0, 1, -0.5};

void conform_apply(trial *t, choice c) {
  step s = {.alpha = alphas[c.alpha], .beta = betas[c.beta], .epilogue = c.epilogue, .x = &t->x[0], .y = &t->y[0],
            .y_next = c.y_next ? &t->y[1] : NULL, .scaled = &t->scaled};
  if (s.beta == 0)
    trial_set(t, s.y, NAN);
  else
    trial_fill_one(t, s.y, 1);
  trial_fill_one(t, &t->y[1], 2);
  trial_step(t, &s);
  wr_plan_forget(t->plan);
}

/* x := numbers, with `value` in three columns, one of them that of the middle entry. */
static void spoil_x(trial *t, double value) {
  double *x;
  int64_t n = t->A->ncols, middle = t->A->nnz ? t->A->col[t->A->nnz / 2] : n / 2;
  wr_status status = wr_alloc(&x, n, sizeof *x, "x with NaN");
  TRIAL_OK(t, status);
  if (status != WR_OK) return;
  for (int64_t j = 0; j < n; j++) x[j] = case_number(3, j);
  x[0] = x[n / 3] = x[middle] = value;
  TRIAL_OK(t, guarded_set(&t->env, &t->x[0], x, 0));
  wr_free(x);
}

void conform_nonfinite(trial *t) {
  static const struct {
    double value;
    int epilogue;
  } ways[] = {{NAN, EPILOGUE_NONE}, {INFINITY, EPILOGUE_ALL}, {-INFINITY, EPILOGUE_PAGERANK}};
  if (t->backend->caps & WR_CAP_FINITE_X) return;
  for (int w = 0; w < 3; w++) {
    spoil_x(t, ways[w].value);
    conform_apply(t, (choice){.epilogue = ways[w].epilogue});
  }
  trial_fill(t, 0);
}

/* ---- Chains ---- */

/* scale := 1 / (sum of |a| of a column), or 0 for an empty column, which keeps a chain x := scale * A x bounded. */
static void scale_by_columns(trial *t) {
  double *sum;
  wr_status status = wr_alloc_zeroed(&sum, t->A->ncols, sizeof *sum, "sums of columns");
  TRIAL_OK(t, status);
  if (status != WR_OK) return;
  for (int64_t k = 0; k < t->A->nnz; k++) sum[t->A->col[k]] += fabs(exact_entry(t->A, t->env.type, k));
  for (int64_t j = 0; j < t->A->ncols; j++) sum[j] = sum[j] > 0x1p-10 ? 1 / sum[j] : 0;
  trial_set_scale(t, sum);
  wr_free(sum);
}

typedef struct buffers {
  guarded *last, *next, *spare; /* the last apply's y, its y_next, and a third buffer */
} buffers;

/* What a caller may do between applies. Returns whether it passes no y_next this time. */
static int break_order(trial *t, buffers *b, int k) {
  guarded *other = b->spare;
  switch (k % 6) {
    case 1: wr_plan_forget(t->plan); break;
    case 2: trial_set(t, b->next, NAN); break;
    case 4:
      trial_set(t, other, NAN);
      b->spare = b->next, b->next = other;
      break;
    case 5: return 1;
    default: break;
  }
  return 0;
}

void conform_chain(trial *t, chain_kind kind, int applies) {
  int square = t->A->nrows == t->A->ncols;
  wr_testing poison = {.poison = kind == CHAIN_POISONED};
  buffers b = {.last = &t->y[0], .next = &t->y[1], .spare = &t->y[2]};
  trial_fill(t, 4);
  trial_set(t, b.next, NAN);
  if (square) scale_by_columns(t);
  t->env.testing = &poison;
  for (int k = 0; k < applies; k++) {
    int without = kind == CHAIN_BROKEN && break_order(t, &b, k);
    step s = {.alpha = 1 - k / 128.0, .epilogue = EPILOGUE_PAGERANK, .x = &t->x[square ? k % 2 : 0], .y = b.next,
              .y_next = without ? NULL : b.last, .scaled = square ? &t->x[1 - k % 2] : &t->scaled};
    trial_step(t, &s);
    b.next = b.last, b.last = s.y;
  }
  wr_plan_forget(t->plan);
  trial_fill_one(t, &t->y[0], 5), trial_fill_one(t, &t->y[2], 6);
  for (int k = 0; square && k < applies; k++) { /* three vectors in turn; the one that is cleared is read before */
    step s = {.alpha = 1 - k / 128.0, .epilogue = EPILOGUE_CHEBYSHEV, .x = &t->y[k % 3], .y = &t->y[(k + 1) % 3],
              .y_next = &t->y[(k + 2) % 3], .scaled = &t->scaled};
    if (kind == CHAIN_POISONED) trial_fill_one(t, s.y_next, 7 + (uint64_t)k);
    trial_step(t, &s);
  }
  t->env.testing = NULL;
  wr_plan_forget(t->plan);
  trial_fill(t, 0);
}

/* ---- The format ---- */

void conform_decode(trial *t) {
  wr_csr *B = t->A;
  const wr_csr *A = t->A;
  wr_status status = wr_plan_decode(t->plan, &B);
  if (t->backend->decode == NULL) {
    trial_expect(t, status == WR_EUNAVAILABLE && B == NULL, "decode: %s without a format", wr_status_name(status));
    return;
  }
  trial_expect(t, status == WR_OK, "decode: %s", wr_status_message());
  if (status != WR_OK) return;
  int64_t k = 0;
  int same = B->nrows == A->nrows && B->ncols == A->ncols && B->nnz == A->nnz &&
             memcmp(B->row_ptr, A->row_ptr, (size_t)(A->nrows + 1) * sizeof *A->row_ptr) == 0 &&
             memcmp(B->col, A->col, (size_t)A->nnz * sizeof *A->col) == 0;
  while (same && k < A->nnz && exact_entry(B, WR_F64, k) == exact_entry(A, t->env.type, k)) k++;
  trial_expect(t, same && k == A->nnz, "decode: %lld x %lld with %lld entries, wrong from entry %lld on",
               (long long)B->nrows, (long long)B->ncols, (long long)B->nnz, (long long)k);
  wr_csr_free(B);
}

/* A plan still works after its matrix was freed by its owner, and does not read memory that was allocated since. */
void conform_freed(trial *t) {
  wr_plan *usual = t->plan;
  wr_csr *A = NULL, *later = NULL;
  t->plan = NULL;
  TRIAL_OK(t, wr_csr_copy(t->A, &A));
  if (A) TRIAL_OK(t, wr_plan_create(t->backend, t->knobs, A, &t->env, &t->plan));
  if (t->plan) TRIAL_OK(t, wr_plan_prepare(t->plan));
  wr_csr_free(A);
  TRIAL_OK(t, wr_csr_create(t->A->nrows, t->A->ncols, t->A->nnz, t->A->val != NULL, &later)); /* without entries */
  if (t->plan) conform_apply(t, (choice){.epilogue = EPILOGUE_ALL});
  wr_plan_destroy(t->plan);
  wr_csr_free(later);
  t->plan = usual;
}

void conform_need_beta(trial *t) {
  wr_plan *usual = t->plan;
  t->env.need_beta = 0;
  TRIAL_OK(t, wr_plan_create(t->backend, t->knobs, t->A, &t->env, &t->plan));
  if (t->plan == NULL) goto done;
  TRIAL_OK(t, wr_plan_prepare(t->plan));
  conform_apply(t, (choice){.epilogue = EPILOGUE_ALL});
  if (t->backend->caps & WR_CAP_BETA) {
    conform_apply(t, (choice){.epilogue = EPILOGUE_ALL, .beta = 2});
  } else {
    wr_apply request = {.alpha = 1, .beta = 1, .x = &t->x[0].vec, .y = &t->y[0].vec};
    TRIAL_OK(t, guarded_read(&t->env, &t->y[0]));
    trial_expect(t, wr_plan_apply(t->plan, &request) == WR_EUSAGE, "accepted a beta that was not announced");
    TRIAL_OK(t, guarded_read(&t->env, &t->y[0]));
    trial_expect(t, guarded_changed(&t->y[0], 1) == GUARDED_SAME, "refused, but computed a result");
  }
done:
  wr_plan_destroy(t->plan);
  t->plan = usual, t->env.need_beta = 1;
}

/* ---- The same bits ---- */

/* bits[count_of_bits] := y and the reductions of an apply, then Y of several vectors, or zeros. */
static int64_t count_of_bits(const trial *t) { return 4 * t->A->nrows + WR_MAX_REDUCTIONS; }

static void collect_bits(trial *t, double *bits) {
  conform_apply(t, (choice){.alpha = 1, .beta = 2, .epilogue = EPILOGUE_ALL});
  memcpy(bits, guarded_now(&t->y[0]), (size_t)t->A->nrows * sizeof *bits);
  memcpy(bits + t->A->nrows, guarded_now(&t->bank) + 1, WR_MAX_REDUCTIONS * sizeof *bits);
  conform_many_bits(t, bits + t->A->nrows + WR_MAX_REDUCTIONS);
}

static int same_bits(const trial *t, const double *a, const double *b) {
  return memcmp(a, b, (size_t)count_of_bits(t) * sizeof *a) == 0;
}

static double *room_for_bits(trial *t) {
  double *bits;
  TRIAL_OK(t, wr_alloc_zeroed(&bits, count_of_bits(t), sizeof *bits, "results to compare"));
  return bits;
}

void conform_repeats(trial *t) {
  double *first = room_for_bits(t), *again = room_for_bits(t);
  if (first && again && wr_plan_get_info(t->plan)->deterministic) {
    collect_bits(t, first);
    collect_bits(t, again);
    trial_expect(t, same_bits(t, first, again), "two applies give different bits");
  }
  wr_free(first);
  wr_free(again);
}

/* ---- New values ---- */

/* Pseudo-random numbers, some of them zeros of both signs; or whole numbers, which are exact in f32. */
static void renew_values(wr_csr *B, int whole) {
  for (int64_t k = 0; k < B->nnz && B->val; k++)
    B->val[k] = whole ? (double)(k % 7 - 3) : k % 11 == 5 ? 0.0 : k % 13 == 7 ? -0.0 : case_number(6, k);
}

/* The plan gives the same as a plan prepared with these values, bit for bit if it is deterministic. */
static void compare_with_fresh(trial *t) {
  wr_plan *usual = t->plan, *fresh = NULL;
  double *now = room_for_bits(t), *expected = room_for_bits(t);
  conform_apply(t, (choice){.epilogue = EPILOGUE_ALL, .y_next = 1});
  conform_decode(t);
  if (!wr_plan_get_info(usual)->deterministic || !now || !expected) goto done;
  collect_bits(t, now);
  TRIAL_OK(t, wr_plan_create(t->backend, t->knobs, t->A, &t->env, &fresh));
  if (fresh == NULL) goto done;
  TRIAL_OK(t, wr_plan_prepare(fresh));
  t->plan = fresh;
  collect_bits(t, expected);
  trial_expect(t, same_bits(t, now, expected), "new values: bits differ from those of a fresh plan");
done:
  t->plan = usual;
  wr_plan_destroy(fresh);
  wr_free(now), wr_free(expected);
}

/* The plan's own matrix, with values changed in place, and changed back. */
static void update_in_place(trial *t, wr_csr *other) {
  size_t bytes = (size_t)t->A->nnz * sizeof *t->A->val;
  double *kept;
  TRIAL_OK(t, wr_alloc(&kept, t->A->nnz, sizeof *kept, "a matrix's values"));
  if (kept == NULL) return;
  memcpy(kept, t->A->val, bytes);
  for (int turn = 0; turn < 3; turn++) {
    renew_values(other, turn);
    memcpy(t->A->val, turn < 2 ? other->val : kept, bytes);
    TRIAL_OK(t, wr_plan_update_values(t->plan, t->A));
    compare_with_fresh(t);
  }
  uint64_t generation = wr_plan_generation(t->plan);
  TRIAL_OK(t, wr_plan_update_values(t->plan, t->A)); /* once more: nothing has to be prepared again */
  trial_expect(t, t->backend->update_values == NULL || wr_plan_generation(t->plan) == generation,
               "new values in place: arrays have moved");
  wr_free(kept);
}

/* Moves an entry to an empty neighbouring place; returns 0 if there is none. */
static int move_entry(wr_csr *B) {
  for (int64_t i = 0; i < B->nrows; i++)
    for (int64_t k = B->row_ptr[i]; k < B->row_ptr[i + 1]; k++) {
      int64_t next = k + 1 < B->row_ptr[i + 1] ? B->col[k + 1] : B->ncols;
      if (B->col[k] + 1 < next) return B->col[k]++, 1;
    }
  return 0;
}

/* A matrix of another pattern is refused, and the plan keeps its values. */
static void refuse_other_patterns(trial *t, wr_csr *other) {
  wr_csr *A = t->A, fewer = *other;
  double one = 1;
  fewer.nnz--;
  if (A->nnz > 0) trial_expect(t, wr_plan_update_values(t->plan, &fewer) == WR_EUSAGE, "took fewer entries");
  A->nnz++; /* in place: the plan has stored their number */
  trial_expect(t, wr_plan_update_values(t->plan, A) == WR_EUSAGE, "took more entries");
  A->nnz--;
  fewer = *A;
  fewer.val = A->val ? NULL : &one;
  trial_expect(t, wr_plan_update_values(t->plan, &fewer) == WR_EUSAGE, "took %s", A->val ? "a pattern" : "values");
  if (move_entry(other)) trial_expect(t, wr_plan_update_values(t->plan, other) == WR_EUSAGE, "took another pattern");
  conform_apply(t, (choice){.epilogue = EPILOGUE_ALL});
}

void conform_update_values(trial *t) {
  wr_csr *A = t->A, *B;
  int64_t extra_bytes = wr_plan_get_info(t->plan)->extra_bytes;
  wr_status status = wr_csr_copy(A, &B);
  TRIAL_OK(t, status);
  if (status != WR_OK) return;
  for (int turn = 0; turn < 3; turn++) {
    if (turn < 2) renew_values(B, turn);
    t->A = turn < 2 ? B : A;
    TRIAL_OK(t, wr_plan_update_values(t->plan, t->A));
    compare_with_fresh(t);
  }
  if (A->val && A->nnz > 0) update_in_place(t, B);
  refuse_other_patterns(t, B);
  trial_expect(t, wr_plan_get_info(t->plan)->extra_bytes == extra_bytes, "new values: %lld bytes became %lld",
               (long long)extra_bytes, (long long)wr_plan_get_info(t->plan)->extra_bytes);
  wr_csr_free(B);
}

void conform_deterministic(const trial *like) {
  int turns = like->env.place == WR_HOST ? 3 : 2;
  double *first = NULL;
  for (int turn = 0; turn < turns; turn++) {
    trial t = {.backend = like->backend, .knobs = like->knobs, .name = like->name, .A = like->A,
               .findings = like->findings};
    t.env = (wr_env){.place = like->env.place, .device = like->env.device, .type = like->env.type, .deterministic = 1,
                     .need_beta = 1, .need_columns = WR_MAX_COLUMNS,
                     .threads = like->env.place == WR_HOST ? turn + 1 : 0};
    if (trial_open(&t)) {
      trial_expect(&t, wr_plan_get_info(t.plan)->deterministic, "accepts env.deterministic, but is not deterministic");
      trial_fill(&t, 0);
      double *bits = room_for_bits(&t);
      collect_bits(&t, bits);
      trial_expect(&t, first == NULL || same_bits(&t, first, bits), "bits differ on %d threads, or with another plan",
                   turn + 1);
      if (first == NULL)
        first = bits;
      else
        wr_free(bits);
      conform_repeats(&t);
    }
    trial_close(&t);
  }
  wr_free(first);
}
