/* The backends that are chosen, with the knobs of each: -k's list, or one. */
#ifndef WR_CHOICE_H
#define WR_CHOICE_H

#include "solvers/report/run.h" /* WR_MAX_RUNS */
#include "spmv/spmv.h"

typedef struct wr_choice {
  const wr_backend *backend;
  char knobs[128]; /* as given: "sigma=11:layout=paper"                                             */
  void *values;    /* [backend->knobs_size] the knobs, parsed; NULL: of a stub, or the text is to be parsed */
} wr_choice;

/* "cusparse:alg=2,cpu_csr" into choices[WR_MAX_RUNS], to be freed. WR_EUSAGE: a name or a knob that is unknown (the closest is
 * named), a value out of range, too many backends, an empty name; knobs of a backend that is not built are not checked.
 * WR_ENOMEM. After an error nothing is to be freed, and *count is 0. */
wr_status wr_choices_parse(const char *list, wr_choice *choices, int *count);

void wr_choices_free(wr_choice *choices, int *count); /* *count := 0 */

/* One backend, "cusparse:alg=2". option: the name of the option, which begins the sentence of an error. */
wr_status wr_choice_parse(const char *option, const char *text, wr_choice *choice);
void wr_choice_free(wr_choice *choice); /* a zeroed one is fine */

/* Why --tune-cache is of no use, a clause: no choice has its knob tune at quick or full, or deterministic is set. NULL: it is
 * of use, or a backend is not built, which is then the reason that is reported. */
const char *wr_choices_tune_nothing(const wr_choice *choices, int count, int deterministic);

/* wr_plan_create with the knobs of the choice. */
wr_status wr_choice_plan(const wr_choice *choice, wr_csr *A, wr_env *env, wr_plan **plan);

#endif
