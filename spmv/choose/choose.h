/* -k auto: the backend with the least expected time of preparation and multiplies (docs/auto.md). */
#ifndef WR_CHOOSE_H
#define WR_CHOOSE_H

#include "spmv/spmv.h"

WR_C_BEGIN

/* What a plan is for. */
typedef struct wr_plan_use {
  double multiplies; /* expected                                                                                       */
  int resident;      /* 1: the solver runs a resident loop (loop/loop.h) where the backend has plain rows and all fits */
  const char *calibration; /* a file of calibration.h, for devices that the model does not know; NULL: none. Where it has  */
                           /* nothing about a GPU, the two best are timed there for a solve of 20 ms or more, and kept    */
  int measure;       /* 1: the two with the least expected time are both prepared and timed, and the faster one stays  */
} wr_plan_use;

/* What was chosen and why. */
typedef struct wr_chosen {
  const wr_backend *backend, *second; /* NULL: nothing was chosen; there is no second */
  double multiplies;                  /* expected                                     */
  double prepare, multiply;           /* s that are expected of the backend: to prepare it, with its first use, and of a */
                                      /* multiply with its epilogue                                                      */
  double second_total;                /* s in all that are expected of the second     */
  double timed, second_timed;         /* s of a multiply by each; 0: not timed        */
  char line[480];                     /* one line: by what it was chosen              */
  wr_error warning;                   /* why `calibration` was not used, or not in full; WR_OK: there is none */
} wr_chosen;

/* *plan := a prepared plan of the backend of env's place that is expected to take least, with default knobs. One that refuses
 * the matrix, or finds no memory, makes room for the next one. Makes A's device view. Where A's rows are on the device alone,
 * backends that read them on the host are left out; and on the CPU blocks, where the whole should take less than 5 ms, or where
 * even the best blocks would take longer to make than they save. Unless it measures, the choice depends on the matrix, env's
 * type, the device's name and `use` alone. Errors: WR_ENOMEM, and those of wr_plan_create, wr_plan_prepare and wr_plan_apply;
 * *plan is then NULL. */
wr_status wr_plan_choose(wr_csr *A, wr_env *env, const wr_plan_use *use, wr_plan **plan, wr_chosen *chosen);

enum { WR_MOST_CANDIDATES = 9 };

/* What the model expects of one candidate with default knobs. */
typedef struct wr_expected {
  const wr_backend *backend;
  double prepare, multiply; /* s                                                  */
  double epilogue;          /* s besides, of a multiply in a solve                */
  double first;             /* s besides, for the first use in a process          */
  int is_calibrated;        /* 1: by the file of calibration.h                    */
  wr_plan_info info;        /* the estimates of its plan                          */
  wr_error refusal;         /* not WR_OK: it cannot multiply with A; no times then */
} wr_expected;

/* s that are expected of a solve with so many multiplies, preparation included. */
double wr_expected_total(const wr_expected *e, double multiplies);

/* expected[*count] := the candidates of env's place that are built, the place's default backend first. Nothing is prepared or
 * timed. Makes A's device view; where A's rows are on the device alone, backends that read them on the host are refused.
 * calibration and *warning are those of wr_plan_use and wr_chosen. WR_ENOMEM, and errors of wr_plan_create that concern all
 * backends. */
wr_status wr_plans_expect(wr_csr *A, wr_env *env, const char *calibration, wr_expected expected[WR_MOST_CANDIDATES],
                          int *count, wr_error *warning);

WR_C_END
#endif
