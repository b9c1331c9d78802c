/* The backends that are chosen, with the knobs of each: -k's list, or one. */
#ifndef WR_CHOICE_H
#define WR_CHOICE_H

#include "solvers/report/run.h" /* WR_MAX_RUNS */
#include "spmv/choose/choose.h"
#include "spmv/spmv.h"

typedef struct wr_choice {
  const wr_backend *backend;
  char knobs[128]; /* as given: "sigma=11:layout=paper"                                             */
  void *values;    /* [backend->knobs_size] the knobs, parsed; NULL: of a stub, or the text is to be parsed */
  int automatic;   /* 1: the matrix decides (wr_plan_choose); the backend tells the place alone              */
  int measure;     /* of auto: 1: the two best are timed                                                     */
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

/* 1 if text is "auto" or "auto:KNOBS", which stands for no backend by name. */
int wr_choice_is_auto(const char *text);

/* *choice := what stands for such a text, or for "auto" if it is NULL: the default backend of a place, to be replaced by what
 * wr_choice_prepare finds. WR_EUSAGE: an unknown knob, a list, or measure=1 together with `deterministic`. option: as for
 * wr_choice_parse. */
wr_status wr_choice_automatic(const char *option, const char *text, wr_place place, int deterministic,
                              wr_choice *choice);

/* wr_plan_create with the knobs of the choice. */
wr_status wr_choice_plan(const wr_choice *choice, wr_csr *A, wr_env *env, wr_plan **plan);

/* That, and wr_plan_prepare; or wr_plan_choose for `use`, which makes the choice that of the backend found. *chosen := why;
 * chosen->backend is NULL where the choice was made by name. After an error *plan may be a plan that is not prepared. */
wr_status wr_choice_prepare(wr_choice *choice, wr_csr *A, wr_env *env, const wr_plan_use *use, wr_plan **plan,
                            wr_chosen *chosen);

#endif
