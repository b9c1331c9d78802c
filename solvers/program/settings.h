/* The command lines of the programs: the options as a struct, the table of each, and the words of --help. */
#ifndef WR_SETTINGS_H
#define WR_SETTINGS_H

#include <stdint.h>

#include "config/option.h"
#include "io/edge_choice.h"
#include "io/vector_file.h"
#include "solvers/api/place.h"
#include "solvers/verify.h"

enum { WR_STOP_BOUND, WR_STOP_CHANGE, WR_STOP_ORDER };                  /* --stop of pagerank            */
enum { WR_STOP_RESIDUAL, WR_STOP_BACKWARD };                            /* --stop of bicgstab            */
enum { WR_FALLBACK_NONE, WR_FALLBACK_DIRECT };                          /* --fallback                   */
enum { WR_PRECISION_MIXED = 2 };                                        /* --precision of pagerank, behind wr_type's */
enum { WR_EDGES_OUT, WR_EDGES_IN };                                     /* --edges                       */
enum { WR_REPEATED_AUTO, WR_REPEATED_SUM, WR_REPEATED_ONCE };           /* --duplicates                  */

typedef enum wr_top_format { WR_TOP_TABLE, WR_TOP_TSV, WR_TOP_CSV, WR_TOP_JSON } wr_top_format;

typedef struct wr_settings {
  char *config;
  /* what to run */
  char *backends, *device_text, *tune_cache;
  int precision; /* wr_type, or WR_PRECISION_MIXED: the choices' order is f32|f64|mixed */
  int64_t threads;
  int deterministic, no_graph, no_resident;
  /* when to stop */
  double tolerance, atol, time_limit; /* time_limit: s since the process began; 0: none */
  int64_t gpus;    /* -g: processes with a GPU each; 0: not given */
  int exchange;     /* wr_exchange: the choices' order is that of the type */
  char *partition; /* which rows each part has: NULL, "metis", or a file */
  double patience; /* s that a part waits for the others */
  int stop;
  int64_t iterations, check_every;
  /* PageRank */
  double damping;
  int ranking; /* wr_rank_method: the choices' order of pagerank's --method */
  char *personalize;
  char *seeds;
  int64_t vectors; /* sets of --seeds at once; 0: wr_rank_sets_columns */
  int edges, duplicates; /* WR_EDGES_..., WR_REPEATED_... */
  int64_t top;
  /* BiCGSTAB */
  int method;  /* 0: automatic; else of wr_method_at, plus 1 */
  int64_t ell;
  char *precond_text;
  int scale;   /* wr_scale: the choices' order is auto|none|equilibrate|match */
  int fallback; /* WR_FALLBACK_... */
  char *rhs, *rhs_text;
  /* pagerank and bicgstab */
  char *check;
  /* files */
  char *guess, *output, *json, *jsonl, *report, *history, *save_binary, *columns_text;
  int header, separator, ids; /* of edge lists: the choices' orders are those of io/edge_choice.h */
  int format, input_format; /* the choices' order is auto and that of wr_vector_format; that of wr_input_format */
  /* reports */
  int verbose, quiet;
  int64_t repeat;
  char *verify_text;
  /* actions */
  int list_backends, list_generators, version, help;
  /* -- derived by wr_settings_finish */
  wr_device device;
  int device_number;  /* of cuda:N                             */
  int verify_auto;    /* 1: the level is chosen by cost        */
  wr_verified verify;
  int64_t verify_rows; /* of sample:N */
  char **rhs_files;    /* [rhs_count] of --rhs-file, in one block for wr_free */
  int64_t rhs_count;
  int rhs_random;      /* 1: --rhs random:SEED                 */
  int64_t rhs_seed;
  wr_edge_choice columns; /* of --columns                      */
  int precond;         /* of wr_preconditioner_at; 0 with precond_auto */
  int precond_auto;    /* 1: --precond auto, also by default   */
  const char *precond_knobs; /* within precond_text, or NULL   */
  wr_vector_format output_format; /* of --format and --output  */
  wr_top_format top_format;       /* of --format without --output; WR_TOP_TABLE: a part of the report */
  wr_top_format sets_form;        /* of the sets of --seeds, with --output or without; WR_TOP_JSON: lines of JSON */
} wr_settings;

/* The options of spmv: those that it shares with the solvers, and its own. */
enum { WR_SPMV_BOTH = 2 }; /* --precision: f32 and f64 are wr_type's */

typedef struct wr_spmv_settings {
  wr_settings common;        /* those of the solvers; wr_settings_finish fills in the rest    */
  int precision;             /* the choices' order is f32|f64|both                             */
  int values, pattern;       /* 1: multiply with values; without                               */
  int standard;
  int cold, sectors;
  int calibrate;             /* 1: measures the device for -k auto, and nothing else           */
  int advise;                /* 1: nothing is timed; a model expects                           */
  int64_t solves;            /* for which it advises; 0: for none                              */
  int64_t batches, vectors;
  double seconds;
  char *csv;
} wr_spmv_settings;

extern const wr_option wr_pagerank_table[];
extern const wr_option wr_bicgstab_table[];
extern const wr_option wr_spmv_options[]; /* of a wr_spmv_settings */

/* The type of vectors and values; in mixed precision that of the answer, f64. */
static inline wr_type wr_settings_type(const wr_settings *s) { return s->precision == WR_F32 ? WR_F32 : WR_F64; }

/* "f32", "f64" or "mixed". */
const char *wr_settings_precision(const wr_settings *settings);

/* Fills in the derived fields; WR_EUSAGE where a text makes no sense. */
wr_status wr_settings_finish(wr_settings *settings);

/* An option that makes no sense beside another one. A list of them ends with a NULL name. */
typedef struct wr_given {
  const char *name;
  int is_given;
} wr_given;

/* The name of the first one that is given; NULL: none is. */
const char *wr_first_given(const wr_given *options);

/* ---- the words of --help, of which tools/manual.c makes the manual page ---- */

/* A word and what it means. Lists of them end with a NULL word. */
typedef struct wr_phrase {
  const char *word, *text;
} wr_phrase;

typedef struct wr_program_text {
  const char *operands;         /* of the usage line, behind [options]                                           */
  const char *summary;          /* one sentence, with its full stop                                              */
  const wr_phrase *words;       /* what the operands are                                                         */
  const wr_phrase *report;      /* how to read what is printed; "" stands for a plain sentence; NULL: no list    */
  const wr_phrase *examples;    /* a command, and what it does                                                   */
  const wr_phrase *exits;       /* exit codes, ascending                                                         */
} wr_program_text;

extern const wr_program_text wr_pagerank_text;
extern const wr_program_text wr_bicgstab_text;
extern const wr_program_text wr_spmv_text;

#endif
