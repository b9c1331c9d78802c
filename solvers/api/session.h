/* What the functions of windrow.h share: structs that may grow, choices by words, a place to compute, and the callbacks of one
 * call. `function` is always the public one, whose name begins the sentence of an error. */
#ifndef WR_SESSION_H
#define WR_SESSION_H

#include <signal.h>

#include "io/ids.h"
#include "solvers/api/choice.h"
#include "solvers/api/place.h"
#include "solvers/api/windrow.h"
#include "solvers/solver.h"
#include "solvers/verify.h"

/* ---- structs that may grow (docs/api.md) ---- */

/* own[own_size] := the caller's struct as far as both have it, and 0 behind that; NULL: 0 throughout. WR_EUSAGE: its size was
 * not set, or it has members that this library does not know and that are not 0. */
wr_status wr_struct_take(const char *function, const char *name, const void *given, void *own, size_t own_size);

/* WR_EUSAGE where the size of a result is not set. */
wr_status wr_struct_check(const char *function, const char *name, const void *given);

/* The caller's struct := own, as far as the caller knows it; its size stays. Does nothing if that is not set, or given NULL. */
void wr_struct_give(void *given, const void *own, size_t own_size);

/* *index := the place of text in "auto|power|idr"; NULL: 0. WR_EUSAGE with all words. */
wr_status wr_word_choose(const char *function, const char *member, const char *text, const char *words, int *index);

/* ---- matrices ---- */

struct wr_matrix {
  wr_csr *csr;
  wr_ids ids;
  int holders; /* the caller, and the solvers and operators of it; atomic */
};

wr_status wr_matrix_check(const char *function, const wr_matrix *A);

/* Keeps A until wr_matrix_free. *rows := a struct with its host arrays and device views of its own, for wr_csr_forget_device:
 * so no two solvers share a device view. */
wr_matrix *wr_matrix_hold(const wr_matrix *A, wr_csr *rows);

/* An array of 32-bit or of 64-bit integers; the other member is NULL. */
typedef struct wr_integers {
  const int32_t *narrow;
  const int64_t *wide;
} wr_integers;

/* wr_matrix_new_csr in the name of another function. */
wr_status wr_matrix_of_rows(const char *function, int64_t rows, int64_t columns, wr_integers row_ptr, wr_integers col,
                            const double *val, wr_matrix **A);

/* ---- callbacks ---- */

struct wr_trace {
  int64_t count;       /* of columns that have a history */
  wr_history *columns; /* [count]                        */
};

/* *history := an empty one for a column; columns from there on are forgotten. WR_ENOMEM. */
wr_status wr_trace_begin(wr_trace *trace, int64_t column, wr_history **history);

/* The callbacks of a call, as a monitor. It refers to the struct. */
typedef struct wr_listener {
  wr_progress_function *progress;
  wr_log_function *log;
  void *context;
  wr_trace *trace;
  double time_limit;             /* s of a call; 0: none    */
  double deadline;               /* of this call            */
  volatile sig_atomic_t stopped; /* 1: progress has said so */
} wr_listener;

void wr_listener_begin(wr_listener *listener); /* of a call, whose time begins now */

/* history: that gets the residuals, or NULL. */
wr_monitor wr_listener_monitor(wr_listener *listener, wr_history *history);

void wr_listener_say(const wr_listener *listener, const char *format, ...) WR_PRINTF(2, 3);

/* ---- a place to compute ---- */

typedef struct wr_place_options {
  const char *backend, *device;
  wr_type type;
  int threads; /* 1 or more */
  int deterministic, need_beta;
  int several;                    /* 1: the default backend is that for several vectors at once, also for "auto" */
  double bytes;                   /* that the work moves, for "auto"; INFINITY: "auto" is the GPU if there is one; 0: the CPU */
  const wr_listener *listener;
} wr_place_options;

typedef struct wr_session {
  wr_choice choice; /* the backend */
  wr_env env;
} wr_session;

/* The backend "auto" is left to wr_session_plan. */
wr_status wr_session_open(const char *function, const wr_place_options *options, wr_session *session);
/* *plan := a prepared one of the session's backend for A, or of the one that auto chooses for `use`, which becomes the
 * session's; says to the listener why. After an error *plan may be a plan that is not prepared. */
wr_status wr_session_plan(wr_session *session, wr_csr *A, const wr_plan_use *use, const wr_listener *listener,
                          wr_plan **plan);
void wr_session_close(wr_session *session); /* a zeroed one is fine */

/* WR_OK if the session computes on a device, of which arrays[count] then are addresses, by their names: WR_EUSAGE otherwise;
 * WR_EUNAVAILABLE in a build without CUDA. An address that is NULL is passed over. */
wr_status wr_session_check_arrays(const char *function, wr_session *session, int count, const double *const *arrays,
                                  const char *const *names);

/* Sets OpenMP's number of threads in the calling thread for work on so many entries. *before := what it was, which
 * wr_threads_leave restores (0: it does nothing); *threads 0 := all. WR_EUSAGE for what is no number of threads, naming the
 * member. */
wr_status wr_threads_enter(const char *function, const char *member, int64_t entries, int *threads, int *before);
void wr_threads_leave(int before);

/* The level of verification by a word: "auto", "full" or "off", of which full_seconds and run_seconds decide the first. */
wr_verified wr_level_choose(int word, double full_seconds, double run_seconds);

/* The words of the options that are common. */
#define WR_VERIFY_WORDS "auto|full|off"

#endif
