#define _DEFAULT_SOURCE /* nanosleep, pthread_sigmask */
#include "solvers/direct/klu_factors.h"

#include "config/defaults.h"
#include "config/memory.h"

#ifndef WR_HAVE_KLU

wr_status wr_klu_check(void) {
  return wr_fail(WR_EUNAVAILABLE,
                 "a direct solver needs KLU of SuiteSparse, which this build lacks: install libsuitesparse-dev, then "
                 "make again");
}

wr_status wr_klu_factorise(const wr_csr *A, const wr_monitor *monitor, wr_klu_factors **factors,
                           wr_direct_facts *facts) {
  (void)A, (void)monitor, (void)facts;
  *factors = NULL;
  return wr_klu_check();
}

wr_status wr_klu_solve(wr_klu_factors *factors, double *x) {
  (void)factors, (void)x;
  return wr_klu_check();
}

void wr_klu_free(wr_klu_factors *factors) { (void)factors; }

#else

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "config/clock.h"
#include "config/memory_limits.h"

#if __has_include(<suitesparse/klu.h>)
#include <suitesparse/SuiteSparse_config.h>
#include <suitesparse/klu.h>
#else
#include <SuiteSparse_config.h>
#include <klu.h>
#endif

_Static_assert(sizeof(SuiteSparse_long) == sizeof(int64_t), "KLU's indices are 64 bits wide");

enum { ENTRY = 16 };               /* bytes of an entry of a factor: an index and a value          */
enum { CHECKED = 64 << 20 };       /* bytes in small blocks after which the free memory is read    */
enum { RUNNING, ENDED, ABANDONED };

/* KLU takes columns; so it is given the rows of A and factorises the transpose of A, whose transpose it then solves with. The
 * arrays are copies, since a thread that was left to itself still reads them when A is gone. */
struct wr_klu_factors {
  int64_t n;
  SuiteSparse_long *row_ptr, *col; /* [n + 1], [row_ptr[n]] */
  double *val;                     /* [row_ptr[n]]          */
  klu_l_common common;
  klu_l_symbolic *symbolic;
  klu_l_numeric *numeric;
  wr_error error;    /* of the first allocation that was refused                                     */
  int64_t unchecked; /* bytes of small blocks since the free memory was read last                    */
  atomic_int state;  /* RUNNING; the thread makes it ENDED, or the thread that waits for it ABANDONED */
};

wr_status wr_klu_check(void) { return WR_OK; }

/* ---- memory ---- */

/* What SuiteSparse allocates with is the same for the whole process. For threads that compute for windrow, `current` says for
 * which factors; others get what had been set before. */
typedef struct memory_functions {
  void *(*malloc_func)(size_t);
  void *(*calloc_func)(size_t, size_t);
  void *(*realloc_func)(void *, size_t);
  void (*free_func)(void *);
} memory_functions;

static struct hooks {
  pthread_once_t installed;
  memory_functions others;
} hooks = {.installed = PTHREAD_ONCE_INIT};
static _Thread_local struct wr_klu_factors *current;

/* 1 if so many bytes more may be allocated. */
static int may_take(wr_klu_factors *f, size_t bytes) {
  if (atomic_load(&f->state) == ABANDONED) return 0;
  f->unchecked += bytes < CHECKED ? (int64_t)bytes : 0; /* wr_alloc compares larger blocks itself */
  if (f->unchecked < CHECKED) return 1;
  f->unchecked = 0;
  wr_status status = wr_memory_check((int64_t)bytes, "the factors of KLU");
  return wr_error_keep(&f->error, status) == WR_OK;
}

static void *take(size_t bytes) {
  wr_klu_factors *f = current;
  void *block = NULL;
  if (f == NULL) return hooks.others.malloc_func(bytes);
  if (!may_take(f, bytes)) return NULL;
  wr_status status = wr_alloc(&block, bytes < PTRDIFF_MAX ? (int64_t)bytes : -1, 1, "the factors of KLU");
  if (status != WR_OK) (void)wr_error_keep(&f->error, status);
  return block;
}

static void *take_zeroed(size_t count, size_t size) {
  size_t bytes;
  if (current == NULL) return hooks.others.calloc_func(count, size);
  if (__builtin_mul_overflow(count, size, &bytes)) return NULL;
  void *block = take(bytes);
  if (block) memset(block, 0, bytes);
  return block;
}

static void *take_more(void *block, size_t bytes) {
  wr_klu_factors *f = current;
  if (f == NULL) return hooks.others.realloc_func(block, bytes);
  if (block == NULL) return take(bytes);
  if (!may_take(f, bytes)) return NULL;
  wr_status status = wr_resize(&block, bytes < PTRDIFF_MAX ? (int64_t)bytes : -1, "the factors of KLU");
  if (status == WR_OK) return block;
  (void)wr_error_keep(&f->error, status);
  return NULL;
}

static void give_back(void *block) {
  if (current == NULL)
    hooks.others.free_func(block);
  else
    wr_free(block);
}

#if SUITESPARSE_MAIN_VERSION >= 6
/* From version 6 on the functions are set by functions. */
static void install(void) {
  hooks.others = (memory_functions){SuiteSparse_config_malloc_func_get(), SuiteSparse_config_calloc_func_get(),
                                    SuiteSparse_config_realloc_func_get(), SuiteSparse_config_free_func_get()};
  SuiteSparse_config_malloc_func_set(take);
  SuiteSparse_config_calloc_func_set(take_zeroed);
  SuiteSparse_config_realloc_func_set(take_more);
  SuiteSparse_config_free_func_set(give_back);
}
#else
static void install(void) {
  hooks.others = (memory_functions){SuiteSparse_config.malloc_func, SuiteSparse_config.calloc_func,
                              SuiteSparse_config.realloc_func, SuiteSparse_config.free_func};
  SuiteSparse_config.malloc_func = take, SuiteSparse_config.calloc_func = take_zeroed;
  SuiteSparse_config.realloc_func = take_more, SuiteSparse_config.free_func = give_back;
}
#endif

void wr_klu_free(wr_klu_factors *f) {
  if (f == NULL) return;
  current = f;
  klu_l_free_numeric(&f->numeric, &f->common);
  klu_l_free_symbolic(&f->symbolic, &f->common);
  current = NULL;
  wr_free(f->row_ptr);
  wr_free(f->col);
  wr_free(f->val);
  wr_free(f);
}

/* ---- the thread in which KLU computes ---- */

/* Refuses factors that, by the estimate for pivots on the diagonal, do not fit into the memory. */
static wr_status check_estimate(const wr_klu_factors *f) {
  double entries = f->symbolic->lnz + f->symbolic->unz + 2 * (double)f->n;
  if (!(f->symbolic->lnz > 0)) return WR_OK;
  return wr_memory_check((int64_t)fmin(ENTRY * entries, 1e18), "the factors of KLU");
}

static void compute(wr_klu_factors *f) {
  f->symbolic = klu_l_analyze(f->n, f->row_ptr, f->col, &f->common);
  if (f->symbolic == NULL || (f->common.structural_rank >= 0 && f->common.structural_rank < f->n)) return;
  if (wr_error_keep(&f->error, check_estimate(f)) != WR_OK || atomic_load(&f->state) == ABANDONED) return;
  f->numeric = klu_l_factor(f->row_ptr, f->col, f->val, f->symbolic, &f->common);
}

static void *work(void *factors) {
  wr_klu_factors *f = factors;
  int running = RUNNING;
  current = f;
  compute(f);
  current = NULL;
  if (!atomic_compare_exchange_strong(&f->state, &running, ENDED)) wr_klu_free(f);
  return NULL;
}

/* Computes, and waits for the end or a reason to stop. Returns the reason; the thread then frees f when it ends. Signals are
 * blocked in the thread, so that the program's thread handles them. Without a thread this one computes. */
static wr_outcome run(wr_klu_factors *f, const wr_monitor *monitor) {
  pthread_t thread;
  sigset_t all, before;
  struct timespec nap = {0, 50000};
  wr_outcome stop = WR_CONVERGED;
  int running = RUNNING;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int started = pthread_create(&thread, NULL, work, f) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (!started) {
    work(f);
    return WR_CONVERGED;
  }
  while (atomic_load(&f->state) == RUNNING && stop == WR_CONVERGED) {
    nanosleep(&nap, NULL);
    if (nap.tv_nsec < 10000000) nap.tv_nsec += nap.tv_nsec / 8;
    stop = (wr_outcome)wr_monitor_ends(monitor);
  }
  if (stop != WR_CONVERGED && atomic_compare_exchange_strong(&f->state, &running, ABANDONED)) {
    pthread_detach(thread);
    return stop;
  }
  pthread_join(thread, NULL);
  return WR_CONVERGED;
}

/* ---- what callers see ---- */

/* Entries with the value 0 are left out: they would count in the structural rank, and make factors larger. */
static wr_status copy_matrix(const wr_csr *A, wr_klu_factors *f) {
  int64_t to = 0;
  PASS(wr_alloc(&f->row_ptr, A->nrows + 1, sizeof *f->row_ptr, "a matrix to be factorised"));
  PASS(wr_alloc(&f->col, A->nnz, sizeof *f->col, "a matrix to be factorised"));
  PASS(wr_alloc(&f->val, A->nnz, sizeof *f->val, "a matrix to be factorised"));
  f->row_ptr[0] = 0;
  for (int64_t i = 0; i < A->nrows; i++) {
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
      double value = A->val ? A->val[k] : 1;
      if (value == 0) continue;
      f->col[to] = A->col[k], f->val[to++] = value;
    }
    f->row_ptr[i + 1] = to;
  }
  return WR_OK;
}

/* The outcome, from KLU's status, and why it is none. A column of the transpose is a row of the matrix. */
static wr_status judge(const wr_klu_factors *f, wr_direct_facts *facts) {
  const klu_l_common *c = &f->common;
  facts->outcome = WR_BREAKDOWN;
  if (f->error.status != WR_OK) return wr_error_raise(&f->error);
  if (c->status == KLU_OUT_OF_MEMORY) return wr_fail(WR_ENOMEM, "out of memory: the factors of KLU");
  if (c->status == KLU_TOO_LARGE)
    return wr_fail(WR_ENOMEM, "out of memory: the factors of KLU have 2^63 bytes or more");
  if (c->status < 0) return wr_fail(WR_EINTERNAL, "KLU refuses the matrix, with status %d", (int)c->status);
  if (c->structural_rank >= 0 && c->structural_rank < f->n) {
    snprintf(facts->why, sizeof facts->why,
             "the matrix is structurally singular: no more than %" PRId64 " of its %" PRId64
             " rows can be matched with a column each in which they have an entry",
             (int64_t)c->structural_rank, f->n);
    facts->singular = 1;
  } else if (c->status == KLU_SINGULAR || f->numeric == NULL) {
    facts->singular = 1;
    facts->row = c->singular_col >= 0 && c->singular_col < f->n ? (int64_t)c->singular_col : -1;
    snprintf(facts->why, sizeof facts->why, "the matrix is singular: no pivot other than 0 was left");
  } else {
    facts->outcome = WR_CONVERGED;
  }
  return WR_OK;
}

static void tell(wr_klu_factors *f, wr_direct_facts *facts) {
  facts->bytes = (int64_t)f->common.mempeak;
  if (f->symbolic) facts->blocks = f->symbolic->nblocks, facts->largest_block = f->symbolic->maxblock;
  if (f->numeric) {
    facts->entries = f->numeric->lnz + f->numeric->unz - f->n + f->numeric->nzoff;
    if (klu_l_rcond(f->symbolic, f->numeric, &f->common)) facts->pivots = f->common.rcond;
  }
}

wr_status wr_klu_factorise(const wr_csr *A, const wr_monitor *monitor, wr_klu_factors **factors,
                           wr_direct_facts *facts) {
  wr_status status;
  wr_klu_factors *f = NULL;
  double begin = wr_clock();
  *factors = NULL;
  facts->outcome = (wr_outcome)wr_monitor_ends(monitor);
  if (facts->outcome != WR_CONVERGED) return WR_OK;
  pthread_once(&hooks.installed, install);
  TRY(wr_alloc_zeroed(&f, 1, sizeof *f, "a matrix to be factorised"));
  f->n = A->nrows;
  klu_l_defaults(&f->common);
  f->common.tol = WR_DIRECT_PIVOT;
  TRY(copy_matrix(A, f));
  facts->outcome = run(f, monitor);
  if (facts->outcome != WR_CONVERGED) f = NULL; /* its thread frees it */
  facts->seconds = wr_clock() - begin;
  if (f == NULL) goto done;
  tell(f, facts);
  TRY(judge(f, facts));
  if (facts->outcome == WR_CONVERGED) *factors = f, f = NULL;
done:
  wr_klu_free(f);
  return status;
}

wr_status wr_klu_solve(wr_klu_factors *f, double *x) {
  current = f;
  int solved = (int)klu_l_tsolve(f->symbolic, f->numeric, f->n, 1, x, &f->common);
  current = NULL;
  return solved ? WR_OK : wr_fail(WR_EINTERNAL, "KLU refuses its factors, with status %d", (int)f->common.status);
}

#endif
