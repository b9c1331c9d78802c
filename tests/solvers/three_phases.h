/* Three buffers that take turns in a loop of wr_iteration: in phase k an iteration multiplies v[k] by a permutation and adds 1,
 * into v[k + 1], while v[k + 2] is prepared for the next apply; indices are modulo 3. After `count` iterations all elements of
 * v[count] are `count`, if each iteration has used its own buffers. */
#ifndef WR_TEST_THREE_PHASES_H
#define WR_TEST_THREE_PHASES_H

#include "solvers/iteration.h"
#include "tests/counting.h"
#include "tests/solvers/solve_fixture.h"

typedef struct turning {
  wr_plan *plan;
  wr_vec v[3], bank;
  wr_iteration *loop;
} turning;

static inline wr_status turn(void *solver, int phase) {
  turning *t = solver;
  wr_epilogue add = {.shift = {&t->bank, WR_SCALAR_INDEX(wr_pagerank_scalars, shift)},
                     .reduce = {{WR_SUM, NULL, NULL, {&t->bank, WR_SCALAR_INDEX(wr_pagerank_scalars, dangling)}}},
                     .then = WR_THEN(pagerank_after_iteration, &t->bank, &t->loop->log)};
  return wr_plan_apply(t->plan, &(wr_apply){.alpha = 1,
                                            .x = &t->v[phase],
                                            .y = &t->v[(phase + 1) % 3],
                                            .y_next = &t->v[(phase + 2) % 3],
                                            .epilogue = &add});
}

static inline double turn_measure(const void *solver, double value) {
  (void)solver;
  return value;
}

/* `limit` iterations, the host looking every `every`. */
static inline void turn_until(ground *g, turning *t, int64_t limit, int64_t every) {
  static const wr_monitor none = {0};
  const wr_vecops *ops = g->env.ops;
  wr_iteration *it = t->loop;
  wr_pagerank_scalars s = counting_from(0, (double)limit);
  int interrupted = 0;
  int64_t bad = 0, n = t->v[0].n;
  double *last = room_for(n, sizeof *last);
  it->monitor = &none, it->target = 1;
  CHECK_OK(wr_iteration_every(it, every));
  s.shift = s.rest = s.weight = 1; /* so that the step keeps the shift at 1 */
  s.every = (double)it->every, s.log_room = WR_LOG_ROOM, s.last_part = (double)(limit - it->unroll);
  CHECK_OK(ops->upload(&g->env, &t->bank, (const double *)&s));
  for (int k = 0; k < 3; k++) CHECK_OK(ops->fill(&g->env, &t->v[k], 0));
  wr_iteration_begin(it);
  CHECK_OK(wr_iteration_go(it, (double *)&s, &interrupted));
  CHECK_OK(ops->download(&g->env, &t->v[limit % 3], last));
  for (int64_t i = 0; i < n; i++) bad += last[i] != (double)limit;
  CHECKF(s.steps == (double)limit && bad == 0, "%g of %lld iterations, %lld elements are wrong", s.steps,
         (long long)limit, (long long)bad);
  free(last);
}

static inline void test_three_phases(ground *g) {
  enum { SIZE = 300 };
  static const int64_t distances[] = {1, 2, 3, 4, 8};
  turning t = {0};
  entry entries[SIZE];
  for (int64_t i = 0; i < SIZE; i++) entries[i] = (entry){i, (i + 7) % SIZE, 1};
  wr_csr *A = matrix_of(SIZE, entries, SIZE, 1);
  t.plan = ground_plan(g, A);
  for (int k = 0; k < 3; k++) CHECK_OK(g->env.ops->alloc(&g->env, SIZE, g->env.type, "a buffer", &t.v[k]));
  CHECK_OK(g->env.ops->alloc(&g->env, WR_SCALAR_COUNT(wr_pagerank_scalars), WR_F64, "a bank", &t.bank));
  for (int resident = 0; t.plan && resident < 2; resident++) {
    CHECK_OK(wr_iteration_open(&g->env, &t.loop));
    t.loop->plan = t.plan, t.loop->solver = &t, t.loop->phases = 3, t.loop->step = turn;
    t.loop->measure = turn_measure, t.loop->bank = &t.bank, t.loop->no_resident = !resident;
    t.loop->at = (wr_iteration_scalars)WR_ITERATION_SCALARS(wr_pagerank_scalars, steps, limit, last_part, steps, change,
                                                            stop, logged);
    for (int k = 0; k < 3; k++) t.loop->left[k][0] = &t.v[k];
    for (size_t d = 0; d < sizeof distances / sizeof *distances; d++)
      for (int64_t limit = 1; limit <= 30; limit += limit < 12 ? 1 : 6) {
        ground_case(g, "three buffers, %lld iterations, a check every %lld", (long long)limit, (long long)distances[d]);
        turn_until(g, &t, limit, distances[d]);
      }
    if (g->env.place == WR_CUDA) CHECK(t.loop->repeats.by != WR_BY_HOST);
    wr_iteration_close(t.loop);
  }
  wr_plan_destroy(t.plan);
  for (int k = 0; k < 3; k++) g->env.ops->release(&g->env, &t.v[k]);
  g->env.ops->release(&g->env, &t.bank);
  wr_csr_free(A);
}

#endif
