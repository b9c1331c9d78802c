#define _GNU_SOURCE /* syscall, CPU_SET, pthread_setaffinity_np */
#include "spmv/device/team.h"

#include <linux/futex.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "config/memory.h"

enum { POLLS = 32 }; /* between two readings of the clock */

/* After each window of this much time in loops the number of threads is adapted. Threads that are left out are used again after
 * a pause, which doubles if they are late again and halves if they are not: on a machine without other load, one late thread
 * then costs little. */
static const int64_t window_ns = 4000000, least_pause_ns = 16000000, most_pause_ns = 1024000000;
static const double late_share = 0.5; /* of the window; up to a third is spent waiting because pieces differ in size */

/* A range of neighbouring pieces, in a cache line of its own. */
typedef struct share {
  _Alignas(64) _Atomic int64_t next;
  int64_t end;
} share;

typedef struct member {
  wr_team *team;
  int number; /* 1, 2, ...; 0 is the calling thread */
  pthread_t thread;
} member;

struct wr_team {
  int threads, adapts;
  int started;      /* 1: the threads - 1 threads of `members` run */
  member *members;
  /* The loop. `job` is its number: odd while there are pieces to take. A thread increments `inside` before it checks that the
   * loop is still open, and the calling thread closes the loop before it checks that `inside` is 0. So no thread accesses the
   * members below after wr_team_for has returned. */
  _Alignas(64) _Atomic uint32_t job;
  _Alignas(64) _Atomic uint32_t inside;
  _Atomic uint32_t caller_sleeps;
  _Alignas(64) _Atomic uint32_t sleepers; /* threads that sleep on job */
  _Atomic uint32_t active;                /* threads with this number or a larger one are left out and sleep on this word */
  _Atomic int quits;
  void (*work)(void *context, int64_t piece);
  void *context;
  int nshares;
  share *shares; /* [threads] */
  /* used by the calling thread alone: */
  int least;
  int64_t spent_ns, waited_ns; /* of the window */
  int64_t pause_ns, all_again_ns; /* length of the next pause; when the present one ends */
};

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Yields the core to its other hardware thread for some cycles, if the processor has an instruction for that. */
static void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

/* Sleeps, if *word is `value`, until another thread calls wake. */
static void sleep_on(_Atomic uint32_t *word, uint32_t value) {
  (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void wake(_Atomic uint32_t *word, int most) {
  (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, most, NULL, NULL, 0);
}

/* Called repeatedly by a thread that polls, with *until 0 at first. Returns 1 when the thread is to sleep. */
static int has_polled_enough(int64_t *until, int *polls) {
  relax();
  if (++*polls % POLLS != 0) return 0;
  int64_t now = now_ns();
  if (*until == 0) *until = now + WR_TEAM_POLL_NS;
  return now >= *until;
}

/* Does the pieces of the thread's own share, then those left in the others'. */
static void take_pieces(wr_team *t, int number) {
  for (int k = 0; k < t->nshares; k++) {
    share *s = &t->shares[(number + k) % t->nshares];
    for (int64_t piece; atomic_load_explicit(&s->next, memory_order_relaxed) < s->end;)
      if ((piece = atomic_fetch_add_explicit(&s->next, 1, memory_order_relaxed)) < s->end) t->work(t->context, piece);
  }
}

/* Waits for an open loop with another number than `done`, and returns the number; 0: the team is being closed. */
static uint32_t await_loop(wr_team *t, int number, uint32_t done) {
  int64_t until = 0;
  int polls = 0;
  for (;;) {
    uint32_t job = atomic_load(&t->job), active = atomic_load(&t->active);
    if (atomic_load(&t->quits)) return 0;
    if ((uint32_t)number >= active) {
      sleep_on(&t->active, active);
    } else if (job % 2 == 1 && job != done) {
      return job;
    } else if (has_polled_enough(&until, &polls)) {
      atomic_fetch_add(&t->sleepers, 1);
      sleep_on(&t->job, job);
      atomic_fetch_sub(&t->sleepers, 1);
      until = 0;
    }
  }
}

static void *run_member(void *one) {
  const member *m = one;
  wr_team *t = m->team;
  uint32_t job = 0;
  while ((job = await_loop(t, m->number, job)) != 0) {
    atomic_fetch_add(&t->inside, 1);
    if (atomic_load(&t->job) == job) take_pieces(t, m->number);
    if (atomic_fetch_sub(&t->inside, 1) == 1 && atomic_load(&t->caller_sleeps)) wake(&t->inside, 1);
  }
  return NULL;
}

/* If OpenMP binds threads to processors, the calling thread is bound and a new thread would inherit its processor. So each
 * thread is bound to a place (OpenMP) of its own, at equal distances. */
static void bind_to_place(const wr_team *t, const member *m) {
  int places = omp_get_num_places(), processors[CPU_SETSIZE];
  if (omp_get_proc_bind() == omp_proc_bind_false || places < 1 || omp_get_place_num() < 0) return;
  int step = places > t->threads ? places / t->threads : 1, place = (omp_get_place_num() + m->number * step) % places;
  int count = omp_get_place_num_procs(place);
  cpu_set_t set;
  if (count < 1 || count > CPU_SETSIZE) return;
  omp_get_place_proc_ids(place, processors);
  CPU_ZERO(&set);
  for (int k = 0; k < count; k++)
    if (processors[k] < CPU_SETSIZE) CPU_SET(processors[k], &set);
  (void)pthread_setaffinity_np(m->thread, sizeof set, &set); /* a failure is harmless */
}

static void start(wr_team *t) {
  sigset_t all, before;
  int count = 1;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (; count < t->threads; count++) {
    member *m = &t->members[count - 1];
    *m = (member){.team = t, .number = count};
    if (pthread_create(&m->thread, NULL, run_member, m) != 0) break;
    bind_to_place(t, m);
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  t->threads = count, t->started = 1;
  if (atomic_load(&t->active) > (uint32_t)count) atomic_store(&t->active, (uint32_t)count);
}

static void set_active(wr_team *t, int active) {
  atomic_store(&t->active, (uint32_t)active);
  wake(&t->active, INT32_MAX);
  if (active < t->least) t->least = active;
}

/* If the calling thread of k spends more than 1 - 1/k of the time waiting, one thread would be faster. late_share is this limit
 * for k = 2; for larger k the number of threads is halved until the share is below it. */
static void adapt_threads(wr_team *t, int64_t begin, int64_t own_end) {
  int64_t end = now_ns();
  t->spent_ns += end - begin, t->waited_ns += end - own_end;
  if (t->spent_ns < window_ns) return;
  if ((double)t->waited_ns > late_share * (double)t->spent_ns) {
    set_active(t, (int)atomic_load(&t->active) / 2);
    t->all_again_ns = end + t->pause_ns;
    if (t->pause_ns < most_pause_ns) t->pause_ns *= 2;
  } else if (t->pause_ns > least_pause_ns) {
    t->pause_ns /= 2;
  }
  t->spent_ns = t->waited_ns = 0;
}

static int threads_for(wr_team *t, int64_t count) {
  if (t == NULL || count < WR_TEAM_LEAST || t->threads < 2) return 1;
  if (!t->started) start(t);
  int active = (int)atomic_load(&t->active);
  if (active < t->threads && now_ns() >= t->all_again_ns) set_active(t, active = t->threads);
  return count < active ? (int)count : active;
}

static void await_others(wr_team *t) {
  int64_t until = 0;
  int polls = 0;
  for (uint32_t inside; (inside = atomic_load(&t->inside)) != 0;) {
    if (!has_polled_enough(&until, &polls)) continue;
    atomic_store(&t->caller_sleeps, 1);
    sleep_on(&t->inside, inside);
    atomic_store(&t->caller_sleeps, 0);
  }
}

void wr_team_for(wr_team *t, int64_t count, void (*work)(void *context, int64_t piece), void *context) {
  int threads = threads_for(t, count);
  if (threads == 1) {
    for (int64_t piece = 0; piece < count; piece++) work(context, piece);
    return;
  }
  int64_t begin = t->adapts ? now_ns() : 0, each = count / threads, more = count % threads, first = 0;
  t->work = work, t->context = context, t->nshares = threads;
  for (int k = 0; k < threads; k++) {
    int64_t end = first + each + (k < more);
    atomic_store_explicit(&t->shares[k].next, first, memory_order_relaxed);
    t->shares[k].end = first = end;
  }
  atomic_fetch_add(&t->job, 1);
  if (atomic_load(&t->sleepers) > 0) wake(&t->job, threads - 1);
  take_pieces(t, 0);
  atomic_fetch_add(&t->job, 1);
  int64_t own_end = t->adapts ? now_ns() : 0;
  await_others(t);
  if (t->adapts) adapt_threads(t, begin, own_end);
}

wr_status wr_team_open(int threads, int adapts, wr_team **team) {
  wr_status status;
  wr_team *t = NULL;
  *team = NULL;
  TRY(wr_alloc_zeroed(&t, 1, sizeof *t, "a team of threads"));
  t->threads = t->least = threads, t->adapts = adapts, t->pause_ns = least_pause_ns;
  atomic_store(&t->active, (uint32_t)threads);
  TRY(wr_alloc_zeroed(&t->members, threads, sizeof *t->members, "a team of threads"));
  TRY(wr_alloc_zeroed(&t->shares, threads, sizeof *t->shares, "a team of threads"));
  *team = t, t = NULL;
done:
  wr_team_close(t);
  return status;
}

void wr_team_close(wr_team *t) {
  if (t == NULL) return;
  atomic_store(&t->quits, 1);
  atomic_fetch_add(&t->job, 2);
  set_active(t, t->threads + 1); /* so that no thread goes on sleeping on the old value */
  wake(&t->job, INT32_MAX);
  for (int k = 0; t->started && k < t->threads - 1; k++) pthread_join(t->members[k].thread, NULL);
  wr_free(t->members);
  wr_free(t->shares);
  wr_free(t);
}

int wr_team_threads(const wr_team *team) { return team->threads; }
int wr_team_least_threads(const wr_team *team) { return team->least < team->threads ? team->least : team->threads; }
