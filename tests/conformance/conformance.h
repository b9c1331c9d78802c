/* The tests that every backend must pass: the checks, and two ways of combining parameters. A new backend needs no line here:
 * it is found in the registry, and its knobs in its table.
 *
 *   cases.c      the matrices
 *   trial.c      one apply with all that must hold after it
 *   many.c       several vectors at once
 *   exact.c      the expected numbers and their error bounds
 *   guarded.c    vectors that detect accesses outside them
 *   covering.c   few settings that contain all pairs
 *   test_conformance_faults.c   a backend with faults, all of which must be found; without them a model backend */
#ifndef WR_CONFORMANCE_H
#define WR_CONFORMANCE_H

#include "tests/conformance/trial.h"

/* The parameters of an apply: indices into the lists of conformance.c and into epilogue_kinds. */
enum { ALPHAS = 3, BETAS = 3 };
typedef struct choice {
  int alpha, beta, y_next, epilogue;
} choice;

/* y holds NaN if beta is 0. */
void conform_apply(trial *t, choice c);

/* NaN and infinities in x reach the rows that use them, and no others. Skipped for a backend that needs finite x, which the
 * registry's test allows only to the vendor's. */
void conform_nonfinite(trial *t);

/* Consecutive applies that alternate buffers, z = y_next. In one kind the core fills undefined elements with NaN; in others
 * the caller breaks the order: drops the prepared buffer, overwrites it, passes another one, or passes no y_next. */
typedef enum chain_kind { CHAIN_PLAIN, CHAIN_POISONED, CHAIN_BROKEN, CHAIN_KINDS } chain_kind;
void conform_chain(trial *t, chain_kind kind, int applies);

/* The format decodes to the same entries, explicit zeros too. */
void conform_decode(trial *t);

/* New values for the same pattern, then the old ones. */
void conform_update_values(trial *t);

/* A plan of a matrix that was freed by its owner. */
void conform_freed(trial *t);

/* A plan of an env without need_beta: it may refuse one, with an error. */
void conform_need_beta(trial *t);

/* Several vectors at once: numbers, bytes, bits. Few cases where the core multiplies column by column. bits[3 * nrows] := the
 * result of one such apply, where the backend has apply_many; else unchanged. */
void conform_many(trial *t);
void conform_many_bits(trial *t, double *bits);

/* Two applies give the same bits, if the plan says that it is deterministic. */
void conform_repeats(trial *t);

/* The same bits under env.deterministic from new plans, on the host with 1, 2 and 3 threads. */
void conform_deterministic(const trial *like);

/* Knobs by number: defaults, all minimal, all maximal; text is what follows the colon of -k. */
int conformance_knob_settings(const wr_backend *backend);
void conformance_knobs(const wr_backend *backend, int setting, char *text, size_t size);

/* All checks on the small cases with every combination of parameters, or on the large ones with every pair of them. */
void conformance_small(const wr_backend *backend, findings *f);
void conformance_large(const wr_backend *backend, findings *f);

/* The main function: one of these, for all backends that can run here or for those named by the arguments, which must be able
 * to run. WR_NEED_GPU in the environment: fails if no GPU backend can run. */
int conformance_main(int argc, char **argv, const char *name, void (*run)(const wr_backend *backend, findings *f));

#endif
