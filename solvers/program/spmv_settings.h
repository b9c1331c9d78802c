/* The options of spmv: those it shares with the solvers, and its own. */
#ifndef WR_SPMV_SETTINGS_H
#define WR_SPMV_SETTINGS_H

#include "solvers/program/settings.h"

enum { WR_SPMV_BOTH = 2 }; /* --precision: f32 and f64 are wr_type's */

typedef struct wr_spmv_settings {
  wr_settings common;        /* what it shares; wr_settings_finish fills in the derived fields */
  int precision;             /* the choices' order is f32|f64|both                             */
  int values, pattern;       /* 1: multiply with values; without                               */
  int standard;
  int cold, sectors;
  int64_t batches;
  double seconds;
} wr_spmv_settings;

extern const wr_option wr_spmv_options[];

#endif
