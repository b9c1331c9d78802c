/* What every backend must pass: the checks, and their two ways through the cases. A new backend needs no line here: it
 * is found in the registry, and its knobs are found in its table.
 *
 *   cases.c      the matrices
 *   trial.c      one apply with all that must hold after it
 *   exact.c      what the numbers must be, and how near
 *   guarded.c    vectors that notice strays
 *   covering.c   few settings that hold all pairs
 *   test_conformance_faults.c   a backend with faults, all of which must be found; without them the model of one */
#ifndef WR_CONFORMANCE_H
#define WR_CONFORMANCE_H

#include "tests/conformance/trial.h"

/* One apply of the many: positions in the lists of conformance.c, and in epilogue_kinds. */
enum { ALPHAS = 3, BETAS = 3 };
typedef struct choice {
  int alpha, beta, y_next, epilogue;
} choice;

/* y holds NaN if beta is 0. */
void conform_apply(trial *t, choice c);

/* NaN and infinities in x reach the rows that use them, and no others. Left out for a backend that needs finite x, which
 * the registry's test allows the vendor's alone. */
void conform_nonfinite(trial *t);

/* Applies in a row that alternate buffers, z = y_next. In one kind the core fills with NaN what is undefined; in the other
 * the caller breaks the order: forgets, overwrites the buffer that was prepared, comes with another, gives none. */
typedef enum chain_kind { CHAIN_PLAIN, CHAIN_POISONED, CHAIN_BROKEN, CHAIN_KINDS } chain_kind;
void conform_chain(trial *t, chain_kind kind, int applies);

/* The format as rows again: the same entries, explicit zeros too. */
void conform_decode(trial *t);

/* New values for the same pattern, and the old ones again. */
void conform_update_values(trial *t);

/* A plan whose matrix was freed by its owner. */
void conform_freed(trial *t);

/* A plan in whose env no beta was announced: it need not take one, but says so. */
void conform_need_beta(trial *t);

/* Twice the same bits, where the plan says that it is deterministic. */
void conform_repeats(trial *t);

/* The same bits again under env.deterministic, from plans made anew, on the host with 1, 2 and 3 threads. */
void conform_deterministic(const trial *like);

/* Knobs by number: their defaults, all at their least, all at their most; text is what -k takes behind the colon. */
int conformance_knob_settings(const wr_backend *backend);
void conformance_knobs(const wr_backend *backend, int setting, char *text, size_t size);

/* All checks on the small cases with every combination of parameters, or on the large ones with every pair of them. */
void conformance_small(const wr_backend *backend, findings *f);
void conformance_large(const wr_backend *backend, findings *f);

/* main: one of these for all backends that can run here, or for those that the arguments name, which have to be able to.
 * WR_NEED_GPU in the environment: none on a GPU is a failure. */
int conformance_main(int argc, char **argv, const char *name, void (*run)(const wr_backend *backend, findings *f));

#endif
