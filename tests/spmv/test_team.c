/* Threads that share the pieces of a loop: every piece runs once, and all threads take part, also if one starts late. */
#define _DEFAULT_SOURCE /* nanosleep, usleep */
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "spmv/device/team.h"
#include "spmv/spmv.h"
#include "tests/check.h"

enum { MOST = 5000, PIECES = 5 };

static void sleep_us(int64_t us) {
  struct timespec nap = {us / 1000000, us % 1000000 * 1000};
  nanosleep(&nap, NULL);
}

static void count_piece(void *context, int64_t piece) { atomic_fetch_add((atomic_int *)context + piece, 1); }

/* All numbers of pieces on all sizes of a team, repeatedly, sometimes after the threads have gone to sleep. */
static void test_once(void) {
  static const int64_t counts[] = {0, 1, 3, 4, 5, 64, MOST};
  static const int sizes[] = {1, 2, 5, 16};
  static atomic_int seen[MOST];
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    wr_team *team = NULL;
    CASE("each piece once");
    CHECK_OK(wr_team_open(sizes[s], (int)s % 2, &team));
    CHECK(wr_team_threads(team) == sizes[s]);
    for (int round = 0; round < 200; round++) {
      int64_t count = counts[round % (int)(sizeof counts / sizeof *counts)], wrong = 0;
      for (int64_t k = 0; k < MOST; k++) atomic_store(&seen[k], 0);
      wr_team_for(team, count, count_piece, seen);
      for (int64_t k = 0; k < MOST; k++) wrong += atomic_load(&seen[k]) != (k < count);
      CHECKF(wrong == 0, "%lld of %lld pieces on %d threads", (long long)wrong, (long long)count, sizes[s]);
      if (round % 50 == 49) sleep_us(2 * WR_TEAM_POLL_NS / 1000);
    }
    wr_team_close(team);
  }
  CASE("no team");
  atomic_store(&seen[0], 0), atomic_store(&seen[1], 0);
  wr_team_for(NULL, 2, count_piece, seen);
  CHECK(atomic_load(&seen[0]) == 1 && atomic_load(&seen[1]) == 1);
  wr_team_close(NULL);
}

/* The calling thread sees what a loop wrote, and the next loop sees what the calling thread wrote: 1 is doubled again and again
 * by plain loads and stores. */
static void add_neighbours(void *context, int64_t piece) {
  int64_t(*value)[2][PIECES] = context;
  (*value)[1][piece] = (*value)[0][piece] + (*value)[0][(piece + 1) % PIECES];
}

static void test_order(void) {
  CASE("loops one after the other");
  wr_team *team = NULL;
  int64_t value[2][PIECES], wrong = 0;
  CHECK_OK(wr_team_open(3, 0, &team));
  for (int round = 0; round < 60000; round++) {
    for (int k = 0; k < PIECES; k++) value[0][k] = round % 60 == 0 ? 1 : value[1][k];
    wr_team_for(team, PIECES, add_neighbours, &value);
    for (int k = 0; k < PIECES; k++) wrong += value[1][k] != (int64_t)1 << (round % 60 + 1);
  }
  CHECKF(wrong == 0, "%lld sums", (long long)wrong);
  wr_team_close(team);
}

typedef struct meeting {
  pthread_t caller;
  atomic_int here, others, open_signals, left_alone;
} meeting;

/* Waits until all four threads have arrived; fails after a minute, which is longer than any delay. */
static void meet(void *context, int64_t piece) {
  meeting *m = context;
  sigset_t blocked;
  (void)piece;
  if (!pthread_equal(pthread_self(), m->caller)) {
    atomic_fetch_add(&m->others, 1);
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    for (int number = SIGHUP; number <= SIGTERM; number++)
      if (number != SIGKILL && !sigismember(&blocked, number)) atomic_fetch_add(&m->open_signals, 1);
  }
  atomic_fetch_add(&m->here, 1);
  for (int naps = 0; atomic_load(&m->here) < 4 && naps < 600000; naps++) sleep_us(100);
  if (atomic_load(&m->here) < 4) atomic_fetch_add(&m->left_alone, 1);
}

static void test_meeting(void) {
  CASE("four threads, four pieces that wait for each other");
  wr_team *team = NULL;
  CHECK_OK(wr_team_open(4, 0, &team));
  for (int round = 0; round < 20; round++) {
    meeting m = {.caller = pthread_self()};
    wr_team_for(team, 4, meet, &m);
    CHECKF(atomic_load(&m.left_alone) == 0 && atomic_load(&m.others) == 3, "%d others", atomic_load(&m.others));
    CHECKF(atomic_load(&m.open_signals) == 0, "%d signals would reach a thread of the team",
           atomic_load(&m.open_signals));
  }
  wr_team_close(team);
}

/* The calling thread waits until another has taken a piece, which then takes 20 ms more. */
static void be_late(void *context, int64_t piece) {
  meeting *m = context;
  (void)piece;
  if (!pthread_equal(pthread_self(), m->caller)) {
    atomic_fetch_add(&m->others, 1);
    sleep_us(20000);
  } else {
    for (int naps = 0; atomic_load(&m->others) < 1 && naps < 600000; naps++) sleep_us(10);
  }
}

static void test_late(void) {
  for (int adapts = 0; adapts < 2; adapts++) {
    CASE(adapts ? "fewer threads where the others are late" : "the same threads however late they are");
    wr_team *team = NULL;
    CHECK_OK(wr_team_open(2, adapts, &team));
    for (int round = 0; round < 50 && wr_team_least_threads(team) == 2; round++) {
      meeting m = {.caller = pthread_self()};
      wr_team_for(team, WR_TEAM_LEAST, be_late, &m);
      if (!adapts && round == 5) break;
    }
    CHECK(wr_team_least_threads(team) == (adapts ? 1 : 2) && wr_team_threads(team) == 2);
    wr_team_close(team);
  }
}

/* An environment takes threads of its own and leaves OpenMP's number alone. */
static void test_environment(void) {
  CASE("an environment");
  int before = omp_get_max_threads();
  wr_env env = {.place = WR_HOST, .type = WR_F32, .threads = 3};
  wr_csr *A = NULL;
  wr_plan *plan = NULL;
  const wr_backend *backend = NULL;
  CHECK_OK(wr_env_open(&env));
  CHECK(omp_get_max_threads() == before && wr_team_threads(wr_env_team(&env)) == 3);
  CHECK(strstr(env.device_name, "3 threads") != NULL);
  CHECK_OK(wr_csr_create(1, 1, 0, 1, &A));
  for (int b = 0; b < wr_backend_count(); b++) {
    backend = wr_backend_at(b);
    if (backend->place != WR_HOST || backend->plan == NULL) continue;
    CHECK_OK(wr_plan_create(backend, NULL, A, &env, &plan));
    CHECK_OK(wr_plan_prepare(plan));
    (void)wr_plan_advise(plan);
    CHECKF(omp_get_max_threads() == before, "%s leaves OpenMP with %d threads", backend->name, omp_get_max_threads());
    wr_plan_destroy(plan);
  }
  CHECK(wr_plan_create(wr_backend_at(0), "none=1", A, &env, &plan) == WR_EUSAGE && omp_get_max_threads() == before);
  wr_csr_free(A);
  wr_env_close(&env);
}

int main(void) {
  test_once();
  test_order();
  test_meeting();
  test_late();
  test_environment();
  return wr_test_report("team");
}
