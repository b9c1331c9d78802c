#include "solvers/iteration.h"

#include <string.h>

#include "config/clock.h"
#include "config/memory.h"
#include "spmv/device/testing.h"
#include "spmv/parts/comm.h"

wr_status wr_iteration_open(wr_env *env, wr_iteration **out) {
  wr_status status;
  wr_iteration *it = NULL;
  *out = NULL;
  TRY(wr_alloc_zeroed(&it, 1, sizeof *it, "a loop"));
  it->env = env, it->counts = 1;
  TRY(env->ops->alloc(env, WR_LOG_ROOM, WR_F64, "the history", &it->log));
  TRY(wr_alloc(&it->room, WR_LOG_ROOM, sizeof *it->room, "the history"));
  *out = it, it = NULL;
done:
  wr_iteration_close(it);
  return status;
}

static void drop_loop(wr_iteration *it) {
  if (it->loop) it->env->ops->loop_free(it->env, it->loop);
  it->loop = NULL;
}

void wr_iteration_close(wr_iteration *it) {
  if (it == NULL) return;
  drop_loop(it);
  it->env->ops->release(it->env, &it->log);
  wr_free(it->room);
  wr_free(it);
}

/* Bytes of an apply below which an iteration takes an H200 tens of microseconds at most, so that the 4 us of a check matter. */
static const double short_apply = 48e6;
enum { SHORT_EVERY = 8, MOST_UNROLLED = 8 };

/* Bytes below which a resident kernel may be faster than a graph of kernels: all of it stays in the H200's shared memory, of 30
 * MB, and its L2 cache of 50 MB. Recording finds out what fits. */
static const double resident_apply = 48e6;

/* Another constant, such as another method's, may have operations that a resident loop can run. */
static void refuse_resident(wr_iteration *it) {
  it->refused = wr_plan_generation(it->plan), it->refused_constant = it->constant;
}

int wr_iteration_may_be_resident(const wr_iteration *it) {
  int is_refused = it->refused == wr_plan_generation(it->plan) && it->refused_constant == it->constant;
  return it->env->place == WR_CUDA && !it->host_only && !it->no_resident && !it->env->deterministic && !is_refused &&
         wr_plan_resident_side(it->plan) != 0 && wr_plan_get_info(it->plan)->apply_bytes < resident_apply;
}

void wr_iteration_begin(wr_iteration *it) {
  wr_plan_forget(it->plan);
  it->phase = it->warm = 0;
  it->since = 0;
}

static void show(const wr_iteration *it, const double *scalars) {
  double measure = it->scale * it->measure(it->solver, scalars[it->at.measure]);
  wr_monitor_show(it->monitor, it->counts * (int64_t)scalars[it->at.steps], measure, it->target);
}

static wr_status add_to_history(wr_iteration *it, double steps, double logged) {
  return wr_monitor_keep(it->monitor, it->counts * (int64_t)steps, it->measure(it->solver, logged));
}

/* Moves the log into the history. */
static wr_status take_log(wr_iteration *it, double *scalars) {
  int64_t count = (int64_t)scalars[it->at.logged];
  if (count == 0) return WR_OK;
  wr_vec used = it->log;
  used.n = count < used.n ? count : used.n;
  PASS(it->env->ops->download(it->env, &used, it->room));
  for (int64_t k = 0; k + 1 < count; k += 2) PASS(add_to_history(it, it->room[k], it->room[k + 1]));
  scalars[it->at.logged] = 0;
  return it->env->ops->upload(it->env, it->bank, scalars);
}

static wr_status step(wr_iteration *it) {
  it->ends_period = 1; /* the step decides whether it is one */
  wr_status status = it->step(it->solver, it->phase);
  it->phase = (it->phase + 1) % it->phases, it->warm = 1;
  it->since++, it->taken++;
  return status;
}

/* Requests iterations one by one up to and including the next check. */
static wr_status go_to_check(wr_iteration *it, double *scalars) {
  int64_t left = (int64_t)(scalars[it->at.last] - scalars[it->at.rounds]);
  do { PASS(step(it)); } while (it->since < it->every && --left > 0);
  it->since = 0;
  PASS(it->env->ops->download(it->env, it->bank, scalars));
  PASS(wr_plan_time_collect(it->plan));
  show(it, scalars);
  return WR_OK;
}

/* The log is not needed then. */
static wr_status go_by_host(wr_iteration *it, double *scalars) {
  PASS(go_to_check(it, scalars));
  return add_to_history(it, scalars[it->at.steps], scalars[it->at.measure]);
}

/* The phase of a recorded loop's first iteration. Where parts have several iterations it is that after as many, which the host
 * asks for first: until phase 0 comes again could be three times as many. */
static int first_phase(const wr_iteration *it) { return it->unroll > 1 ? it->unroll % it->phases : 0; }

/* The least number of parts after which the buffers are where they were. */
static int parts(const wr_iteration *it) {
  int count = 1;
  while (count * it->unroll % it->phases != 0) count++;
  return count;
}

static wr_iteration_key key_of(const wr_iteration *it) {
  return (wr_iteration_key){
      wr_plan_generation(it->plan), it->constant, it->variant, it->resident, it->unroll, it->period};
}

/* 1 if there is a loop, recorded for what holds now. */
static int is_recorded(const wr_iteration *it) {
  wr_iteration_key now = key_of(it), then = it->recorded;
  return it->loop && now.generation == then.generation && now.constant == then.constant &&
         now.variant == then.variant && now.resident == then.resident && now.unroll == then.unroll &&
         now.period == then.period;
}

/* Records all parts of the loop without executing them. */
static wr_status record_parts(wr_iteration *it) {
  wr_status status;
  const wr_vecops *ops = it->env->ops;
  wr_loop_request request = {.parts = parts(it), .resident = it->resident, .bank = it->bank};
  for (int k = 0; k < request.parts; k++)
    memcpy(request.left[k], it->left[(first_phase(it) + (k + 1) * it->unroll) % it->phases], sizeof request.left[k]);
  TRY(ops->loop_open(it->env, &request, &it->loop));
  for (int k = 0; k < parts(it) * it->unroll; k++) {
    if (k > 0 && k % it->unroll == 0) TRY(ops->loop_part(it->env, it->loop));
    TRY(ops->loop_decide(it->env, it->loop, (k + 1) % it->unroll == 0));
    it->ends_period = (k + 1) % it->period == 0 || it->resident; /* a resident loop skips work that is not due at no cost */
    TRY(it->step(it->solver, (first_phase(it) + k) % it->phases));
  }
  TRY(ops->loop_close(it->env, it->loop));
  it->recorded = key_of(it);
done:
  if (status == WR_OK) return WR_OK;
  drop_loop(it);
  wr_plan_forget(it->plan); /* its bookkeeping counts recorded applies as executed */
  return status;
}

/* Records the loop. Buffers are prepared when a graph starts, so that it contains no clearing. It is no failure if the driver
 * has no loops or an operation cannot be recorded: instead of a resident loop a graph may do, and else the host requests each
 * iteration. */
static wr_status record(wr_iteration *it) {
  int paused = wr_plan_time_pause(it->plan, 1);
  wr_status status = record_parts(it);
  wr_plan_time_pause(it->plan, paused);
  int64_t refused = status != WR_OK;
  PASS(wr_comm_max_counts(it->env->comm, &refused, 1));
  if (!refused) return WR_OK;
  drop_loop(it); /* recorded here, and not in another part */
  wr_plan_forget(it->plan);
  if (it->resident) refuse_resident(it);
  it->host_only = !it->resident, it->resident = 0;
  return status == WR_EUNAVAILABLE || status == WR_EDEVICE ? WR_OK : status;
}

/* Whether the loop is resident is settled before the distance of checks, which cost nothing in a resident loop alone. Its
 * buffers need not be prepared. */
wr_status wr_iteration_every(wr_iteration *it, int64_t every) {
  int is_short = it->env->place == WR_CUDA && wr_plan_get_info(it->plan)->apply_bytes < short_apply;
  it->resident = wr_iteration_may_be_resident(it), it->unroll = 1, it->period = it->phases;
  if (it->resident && !is_recorded(it)) {
    drop_loop(it);
    PASS(record(it));
    wr_plan_forget(it->plan);
  }
  it->every = every ? every : is_short && !it->resident ? SHORT_EVERY : 1;
  it->unroll = 1;
  for (int divisor = 2; divisor <= MOST_UNROLLED && !it->resident; divisor++)
    if (it->every % divisor == 0) it->unroll = divisor;
  it->period = it->unroll == 1 ? it->phases : it->unroll;
  if (!is_recorded(it)) drop_loop(it);
  return WR_OK;
}

/* Runs the loop on the device until the host is to check. */
static wr_status go_by_device(wr_iteration *it, double *scalars) {
  const wr_vecops *ops = it->env->ops;
  int ended = 0, stopping = 0;
  double before = scalars[it->at.rounds], began = wr_clock();
  wr_status status = ops->loop_run(it->env, it->loop);
  if (status == WR_EDEVICE && it->resident) { /* other processes use the device and not all blocks fit: a graph instead */
    drop_loop(it);
    refuse_resident(it);
    it->resident = 0;
    return WR_OK;
  }
  PASS(status);
  while (!ended) {
    PASS(ops->loop_poll(it->env, it->loop, it->bank, scalars, &ended));
    show(it, scalars);
    int is_due = wr_monitor_ends_here(it->monitor) || (wr_monitor_rests(it->monitor) && !it->resident);
    if (!ended && !stopping && is_due) { /* of several parts, one that stops stops all */
      PASS(ops->loop_stop(it->env, it->loop));
      stopping = 1;
    }
  }
  it->repeats.by = it->resident ? WR_BY_KERNEL : WR_BY_GRAPH;
  it->repeats.seconds += wr_clock() - began;
  it->repeats.iterations += it->counts * (int64_t)(scalars[it->at.rounds] - before);
  it->taken += (int64_t)(scalars[it->at.rounds] - before);
  it->phase = (int)((first_phase(it) + (int64_t)(scalars[it->at.rounds] - before)) % it->phases);
  it->since = (it->since + (int64_t)(scalars[it->at.rounds] - before)) % it->every;
  /* The plan records that buffers are as the end of a period leaves them; a resident loop has prepared none. */
  if (it->phase != first_phase(it) || it->resident) wr_plan_forget(it->plan);
  it->warm = !it->resident;
  return take_log(it, scalars);
}

/* 1 if another part still fits within the limit. */
static int fits(const wr_iteration *it, const double *scalars) {
  return scalars[it->at.rounds] <= scalars[it->at.last] - it->unroll;
}

/* 1 if the next iteration may begin a part: with the right buffers, and prepared if the loop needs that. */
static int is_ready(const wr_iteration *it) {
  return it->phase == first_phase(it) && (it->warm || it->resident) && it->since % it->unroll == 0;
}

/* Requests iterations until a loop can take over, or fewer if the solve ends; then records the loop, if that is possible. */
static wr_status warm_up(wr_iteration *it, double *scalars) {
  do {
    while (!is_ready(it) && scalars[it->at.stop] == 0 && fits(it, scalars)) {
      do { PASS(step(it)); } while (it->since % it->unroll != 0); /* no check is in between */
      it->since %= it->every;
      PASS(it->env->ops->download(it->env, it->bank, scalars));
      PASS(wr_plan_time_collect(it->plan));
    }
    if (scalars[it->at.stop] != 0 || !fits(it, scalars)) break;
    if (it->loop == NULL) PASS(record(it));
  } while (it->loop == NULL && !it->host_only);
  if (scalars[it->at.stop] != 0 || it->host_only || !fits(it, scalars)) PASS(take_log(it, scalars));
  return WR_OK;
}

/* Iterations that the host asks for before a loop is recorded: to make a graph executable takes 2 ms, a check of the host 15 us
 * (one H100, 2026-11), so that most solves of PageRank at 0.85 end before. */
enum { ASKED_FIRST = 64 };

static int asks_first(const wr_iteration *it) {
  int at_once = it->env->testing && !it->env->testing->late_loops;
  return !it->host_only && !it->resident && it->loop == NULL && it->taken < ASKED_FIRST && !at_once;
}

/* As go_by_host, of iterations that are in the log, as those of a loop behind them will be. */
static wr_status ask_first(wr_iteration *it, double *scalars) {
  PASS(go_to_check(it, scalars));
  int goes_on = scalars[it->at.stop] == 0 && fits(it, scalars) && asks_first(it);
  return goes_on ? WR_OK : take_log(it, scalars);
}

/* With another plan a loop has to be recorded anew, and nothing is prepared for its first iteration. A resident loop does not
 * multiply by the plan. */
static void rest(wr_iteration *it) {
  uint64_t before = wr_plan_generation(it->plan);
  if (it->resident || !wr_monitor_rests(it->monitor)) return;
  it->monitor->rest(it->monitor->context);
  if (wr_plan_generation(it->plan) == before) return;
  drop_loop(it);
  it->warm = 0;
}

wr_status wr_iteration_go(wr_iteration *it, double *scalars, int *interrupted) {
  *interrupted = 0;
  if (it->env->ops->loop_open == NULL) it->host_only = 1;
  int early = wr_monitor_ends(it->monitor); /* while the host did other work; a signal leaves time for the first iterations */
  if (it->taken > 0 || early == WR_TIME_LIMIT) *interrupted = early;
  while (scalars[it->at.stop] == 0 && !*interrupted) {
    int first = asks_first(it) && fits(it, scalars);
    if (!it->host_only && !first && fits(it, scalars)) PASS(warm_up(it, scalars));
    if (scalars[it->at.stop] != 0) break;
    PASS((first ? ask_first : it->host_only || !fits(it, scalars) ? go_by_host : go_by_device)(it, scalars));
    *interrupted = scalars[it->at.stop] == 0 ? wr_monitor_ends(it->monitor) : 0;
    if (first && *interrupted) PASS(take_log(it, scalars));
    if (scalars[it->at.stop] == 0 && !*interrupted) rest(it);
  }
  return WR_OK;
}
