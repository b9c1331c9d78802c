#include "solvers/program/compare.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

#include "config/defaults.h"
#include "config/elements.h"
#include "config/memory.h"
#include "solvers/api/place.h"
#include "solvers/program/backend_change.h"
#include "solvers/program/head_start.h"
#include "solvers/program/progress.h"
#include "solvers/report/report_text.h"
#include "solvers/report/statistics.h"

/* WR_EUNAVAILABLE if -d excludes this backend. */
static wr_status check_device(const wr_comparison *c, const wr_backend *backend) {
  if (backend->plan == NULL) return WR_OK; /* the check of a stub says why */
  if (c->settings->device == WR_DEVICE_CPU && backend->place == WR_CUDA)
    return wr_fail(WR_EUNAVAILABLE, "--device cpu excludes backends that run on a GPU");
  if (c->settings->device == WR_DEVICE_CUDA && backend->place == WR_HOST)
    return wr_fail(WR_EUNAVAILABLE, "--device cuda excludes backends that run on the CPU");
  return WR_OK;
}

/* 1 if a solve is so long that -k auto is to choose among backends that read rows on the host, too. */
static int wants_rows(const wr_comparison *c) {
  return c->program->use && c->program->use(c->settings, NULL).multiplies >= WR_ROWS_WORTH_MULTIPLIES;
}

/* 1 if all backends that will run do so on the device. *reads_rows := 1 if one of them reads the matrix on the host. */
static int all_on_device(const wr_comparison *c, int *reads_rows) {
  int runs = 0;
  *reads_rows = 0;
  for (int k = 0; k < c->count; k++) {
    const wr_backend *backend = c->choices[k].backend;
    if (backend->plan == NULL || check_device(c, backend) != WR_OK) continue; /* it will be refused */
    if (backend->place != WR_CUDA) return 0;
    *reads_rows |= c->choices[k].automatic ? wants_rows(c) : !(backend->caps & WR_CAP_DEVICE_ROWS);
    runs++;
  }
  return runs > 0;
}

/* 1 if rows of A are to be uploaded while A is read. */
static int uploads_input(void *comparison, const wr_csr *A) {
  int reads_rows;
  const wr_comparison *c = comparison;
  if (c->program->uploads_input == NULL || A->nrows != A->ncols) return 0;
  return c->program->uploads_input(c->settings, A, all_on_device(c, &reads_rows));
}

/* Waits until the thread has opened the device, for so many seconds at most. Without a limit the thread is then ended and the
 * upload of the matrix completed. What the thread did while the program did other work is booked as hidden. */
static void wait_for_device(wr_comparison *c, double most) {
  wr_device_thread *t = &c->device;
  wr_ledger *ledger = &c->place_ledger[WR_CUDA];
  if (!wr_device_thread_wait(t, most)) return;
  wr_ledger_stop(ledger);
  ledger->hidden[WR_PHASE_INIT] = fmax(0, t->open_seconds - ledger->seconds[WR_PHASE_INIT]);
  c->env_error[WR_CUDA] = t->error;
  if (t->error.status == WR_OK) c->opening_took = t->open_seconds;
  if (t->error.status != WR_OK) wr_device_thread_stop(t);
  if (t->error.status != WR_OK || most < INFINITY) return;
  wr_ledger_enter(ledger, WR_PHASE_UPLOAD);
  double begin = wr_clock();
  wr_device_thread_stop(t);
  ledger->hidden[WR_PHASE_UPLOAD] = fmax(0, t->upload_seconds - (wr_clock() - begin));
  wr_status status = c->env[WR_CUDA].ops->wait(&c->env[WR_CUDA]); /* also makes it the current device of this thread */
  if (wr_error_keep(&c->env_error[WR_CUDA], status) == WR_OK) wr_device_thread_finish(t);
}

static void start_opening(wr_comparison *c, wr_place place, int in_thread) {
  wr_env *env = &c->env[place];
  *env = (wr_env){.place = place,
                  .device = c->settings->device_number,
                  .type = wr_settings_type(c->settings),
                  .threads = c->threads,
                  .deterministic = c->settings->deterministic,
                  .comm = c->comm,
                  .exchange = (wr_exchange)c->settings->exchange,
                  .tune_cache = c->settings->tune_cache};
  c->env_tried[place] = 1;
  int takes_long = place == WR_CUDA && wr_backend_default(WR_CUDA) != NULL; /* otherwise this build has no device to open */
  if (in_thread && takes_long && wr_device_thread_start(&c->device, env, uploads_input, c)) return;
  (void)wr_error_keep(&c->env_error[place], wr_env_open(env));
}

/* Opens a place, or waits at most so many seconds for it. A moment belongs to one phase only: this time is booked for the
 * place, and the program's ledger is stopped. */
static void open_within(wr_comparison *c, wr_place place, double most) {
  int interrupts = c->process->running;
  wr_phase phase = c->process->phase;
  wr_ledger_stop(c->process);
  wr_ledger_enter(&c->place_ledger[place], WR_PHASE_INIT);
  if (!c->env_tried[place]) start_opening(c, place, most < INFINITY);
  if (place == WR_CUDA && c->device.running) wait_for_device(c, most);
  wr_ledger_stop(&c->place_ledger[place]);
  if (interrupts) wr_ledger_enter(c->process, phase);
}

wr_status wr_comparison_begin_device(wr_comparison *c, double most) {
  if (!c->env_tried[WR_CUDA]) open_within(c, WR_CUDA, most);
  return c->device.running ? WR_OK : wr_error_raise(&c->env_error[WR_CUDA]);
}

wr_status wr_comparison_open_place(wr_comparison *c, wr_place place) {
  if (!c->env_tried[place] || (place == WR_CUDA && c->device.running)) open_within(c, place, INFINITY);
  return wr_error_raise(&c->env_error[place]);
}

int wr_comparison_is_opening(const wr_comparison *c) { return c->device.running && !atomic_load(&c->device.opened); }

double wr_comparison_opening_left(const wr_comparison *c) {
  double elapsed = wr_clock() - c->device.since;
  return fmax(c->opening - elapsed, elapsed / 10);
}

/* Uploads the matrix once for all runs of the device. */
static wr_status upload_matrix(wr_comparison *c) {
  wr_csr_view view;
  wr_ledger *ledger = &c->place_ledger[WR_CUDA];
  wr_ledger_enter(ledger, WR_PHASE_UPLOAD);
  wr_status status = wr_csr_device_view(c->program->matrix(c->problem), &c->env[WR_CUDA], &view);
  wr_ledger_stop(ledger);
  return status;
}

/* For reports that show shares of it. Reads as many bytes as a multiply by plain rows moves. */
static void measure_bandwidth(wr_comparison *c, wr_place place) {
  const wr_csr *A = c->program->matrix(c->problem);
  int64_t type = wr_type_bytes(c->env[place].type), entry = 4 + (A->val ? type : 0);
  if (c->comm) return; /* its sums would be those of all parts */
  if (c->bandwidth[place] != 0 || c->settings->quiet || (c->count == 1 && !c->settings->verbose)) return;
  wr_ledger_enter(c->process, WR_PHASE_CALIBRATE);
  if (wr_env_read_bandwidth(&c->env[place], (double)(A->nnz * entry + A->nrows * (8 + type) + A->ncols * type),
                            &c->bandwidth[place]) != WR_OK)
    c->bandwidth[place] = 0; /* without memory for it reports leave out the share */
}

wr_env *wr_comparison_only_device(wr_comparison *c, int *reads_rows) {
  if (!all_on_device(c, reads_rows)) return NULL;
  return wr_comparison_open_place(c, WR_CUDA) == WR_OK ? &c->env[WR_CUDA] : NULL;
}

const wr_csr_feed *wr_comparison_feed(wr_comparison *c) { return c->device.running ? &c->device.rows.feed : NULL; }

static wr_status take_times(wr_run *run, const wr_plan *plan) {
  wr_sample sample;
  wr_plan_times times = wr_plan_get_times(plan);
  run->applies = times.applies, run->apply_total = times.total;
  if (times.count == 0) return WR_OK;
  run->apply_first = times.seconds[0];
  int64_t later = times.count > 1 ? 1 : 0; /* the first one warms up */
  PASS(wr_sample_get(times.seconds + later, times.count - later, &sample));
  run->apply_median = sample.median, run->apply_low = sample.low, run->apply_high = sample.high;
  return WR_OK;
}

/* The plans of a run. The second one is of mixed precision: the same matrix in f32, or NULL. */
typedef struct run_plans {
  wr_plan *plan, *narrow;
  wr_env narrow_env;
} run_plans;

/* The plan of most multiplies, whose times and bytes are reported. */
static wr_plan *timed(const run_plans *plans, const wr_run *run) {
  return run->result.multiplies_f32 > 0 ? plans->narrow : plans->plan;
}

/* When the device repeats iterations by itself, multiplies cannot be stamped: a few multiplies are timed afterwards. Their time
 * is for reports and in no total. */
static wr_status time_afterwards(wr_comparison *c, void *solve, wr_plan *plan, wr_env *env, wr_run *run) {
  wr_status status = WR_OK;
  const int count = 32;
  double first = run->apply_first;
  wr_outcome outcome = run->result.outcome; /* that of all parts, unlike a signal */
  if (run->result.repeats.by == WR_BY_HOST || outcome == WR_INTERRUPTED || outcome == WR_TIME_LIMIT) return WR_OK;
  wr_ledger_enter(c->process, WR_PHASE_CALIBRATE);
  TRY(wr_plan_time_start(plan));
  TRY(c->program->multiply(solve, count));
  TRY(env->ops->wait(env));
  TRY(wr_plan_time_collect(plan));
  TRY(take_times(run, plan));
  run->timed_afterwards = 1, run->apply_first = first;
  run->applies = run->result.multiplies_f32 > 0 ? run->result.multiplies_f32 : run->result.multiplies;
  run->applies -= run->moved.multiplies;
  if (run->changed.from) run->applies -= run->changed.multiplies;
  /* One kernel for all iterations does not use the backend's multiply. */
  run->apply_total = run->result.repeats.by == WR_BY_KERNEL ? 0 : run->apply_median * (double)run->applies;
done:
  wr_ledger_stop(c->process);
  return status;
}

/* The level of verification: of the settings, or if they leave it open, full if that takes little time. */
static wr_verified choose_level(const wr_comparison *c, const wr_run *run) {
  if (!c->settings->verify_auto) return c->settings->verify;
  if (c->comm) return WR_VERIFY_FULL; /* parts take different times, and each has its own rows alone to check */
  double seconds = c->program->verify_seconds(c->facts->nrows, c->facts->nnz, omp_get_max_threads());
  return wr_verified_for(seconds, wr_ledger_end_to_end(&run->ledger));
}

/* *x := the answer, for wr_free. */
static wr_status take_answer(wr_comparison *c, void *solve, double **x) {
  wr_status status;
  TRY(wr_alloc(x, c->program->matrix(c->problem)->nrows, sizeof **x, c->program->values));
  TRY(c->program->answer(solve, *x));
done:
  if (status != WR_OK) wr_free(*x), *x = NULL;
  return status;
}

/* A short solve may repeat no iteration before its loop is recorded, and later ones all of them. */
static void add_repeats(wr_repeats *all, const wr_repeats *again) {
  if (again->by == WR_BY_HOST) return;
  all->by = again->by;
  all->iterations += again->iterations, all->seconds += again->seconds;
}

/* Times further solves with the same plan, as a program that solves repeatedly would do them. */
static wr_status run_warm(wr_comparison *c, void *solve, const wr_monitor *monitor, wr_run *run) {
  wr_status status = WR_OK;
  double *seconds = NULL, *solving = NULL;
  int64_t count = c->settings->repeat - 1;
  if (count < 1 || run->result.outcome == WR_INTERRUPTED || run->result.outcome == WR_TIME_LIMIT) return WR_OK;
  status = wr_alloc(&seconds, count, sizeof *seconds, "times of repeated solves");
  if (status == WR_OK) status = wr_alloc(&solving, count, sizeof *solving, "times of repeated solves");
  TRY(wr_comm_agree(c->comm, status));
  wr_monitor quiet = {.interrupted = monitor->interrupted, .deadline = monitor->deadline, .comm = c->comm};
  for (int64_t k = 0; k < count; k++) {
    wr_result again;
    double *x = NULL, begin = wr_clock();
    TRY(c->program->run(solve, &quiet, &again));
    solving[k] = wr_clock() - begin;
    if (again.outcome == WR_INTERRUPTED || again.outcome == WR_TIME_LIMIT) goto done;
    add_repeats(&run->result.repeats, &again.repeats);
    TRY(wr_comm_agree(c->comm, take_answer(c, solve, &x)));
    status = c->program->normalise ? c->program->normalise(solve, x) : WR_OK;
    seconds[k] = wr_clock() - begin;
    wr_free(x);
    if (status != WR_OK) goto done;
  }
  wr_sample sample;
  TRY(wr_sample_get(seconds, count, &sample));
  run->warm = sample.median;
  TRY(wr_sample_get(solving, count, &sample));
  run->warm_solve = sample.median;
done:
  wr_free(seconds);
  wr_free(solving);
  return status;
}

static int64_t count_sides(const wr_comparison *c) { return c->program->sides ? c->program->sides(c->problem) : 1; }

/* Keeps the first answer; measures the distance of later ones to it. */
static void keep_answer(wr_comparison *c, int index, double *x) {
  if (c->answer == NULL) {
    c->answer_columns = count_sides(c);
    c->answer = x, c->answer_n = c->program->matrix(c->problem)->nrows * c->answer_columns, c->answer_run = index;
    return;
  }
  c->runs[index].difference = c->program->difference(x, c->answer, c->answer_n);
  wr_free(x);
}

/* The run's result and verdict := those of the worst side. */
static void take_worst(wr_run *run) {
  int64_t worst = 0;
  int worst_code = 0;
  for (int64_t k = 0; k < run->side_count; k++) {
    run->result = run->sides[k].result, run->verdict = run->sides[k].verdict;
    int code = wr_run_exit_code(run), is_worse = code != worst_code && wr_worse_exit_code(code, worst_code) == code;
    if (k > 0 && !is_worse && (code != worst_code || !(run->result.measure > run->sides[worst].result.measure)))
      continue;
    worst = k, worst_code = code;
  }
  run->result = run->sides[worst].result, run->verdict = run->sides[worst].verdict;
}

/* Solves the right-hand side `side`, and adds the seconds in exchanges with other parts to run->waited and waited_halo.
 * seconds: of it, and of its share of what was done for several at once. */
static wr_status solve_side(wr_comparison *c, wr_run *run, void *solve, wr_env *env, const wr_monitor *monitor,
                            int64_t side, wr_result *result, double *seconds) {
  double moved = 0, begin = wr_clock(), waited = c->comm ? c->comm->waited : 0;
  double waited_halo = c->comm ? c->comm->waited_halo : 0;
  if (count_sides(c) > 1) PASS(c->program->take_side(c->problem, solve, side, monitor, &moved));
  PASS(c->program->run(solve, monitor, result));
  PASS(env->ops->wait(env));
  *seconds = wr_clock() - begin + moved;
  if (c->comm) run->waited += c->comm->waited - waited, run->waited_halo += c->comm->waited_halo - waited_halo;
  return WR_OK;
}

/* The right-hand sides behind the first one, with the same plan and preconditioner. *x: the answer of the first one becomes
 * those of all, one after the other. */
static wr_status solve_others(wr_comparison *c, int index, void *solve, wr_env *env, const wr_monitor *monitor,
                              double first_seconds, double **x) {
  wr_status status;
  wr_run *run = &c->runs[index];
  int64_t n = c->program->matrix(c->problem)->nrows, count = count_sides(c);
  wr_phase after = env->place == WR_CUDA ? WR_PHASE_DOWNLOAD : WR_PHASE_TRANSFORM;
  wr_verified level = run->verdict.level;
  double *all = NULL;
  status = wr_alloc(&all, n * count, sizeof *all, c->program->values);
  if (status == WR_OK) status = wr_alloc_zeroed(&run->sides, count, sizeof *run->sides, "results of right-hand sides");
  TRY(wr_comm_agree(c->comm, status));
  memcpy(all, *x, (size_t)n * sizeof *all);
  run->side_count = count;
  run->sides[0] = (wr_run_side){run->result, run->verdict, first_seconds};
  for (int64_t k = 1; k < count; k++) {
    wr_run_side *side = &run->sides[k];
    wr_ledger_enter(&run->ledger, WR_PHASE_SOLVE);
    TRY(solve_side(c, run, solve, env, monitor, k, &side->result, &side->seconds));
    wr_ledger_enter(&run->ledger, after);
    TRY(c->program->answer(solve, all + k * n));
    wr_ledger_enter(&run->ledger, WR_PHASE_VERIFY);
    TRY(c->program->verify(solve, all + k * n, level, c->settings->verify_rows, &side->verdict));
  }
  take_worst(run);
  c->program->describe_sides(solve, run->together, sizeof run->together);
  wr_free(*x);
  *x = all, all = NULL;
done:
  wr_free(all);
  return status;
}

/* What observes a solve: the line on the terminal, and whether a device or another backend is to go on with it. */
typedef struct looks {
  wr_progress progress;
  wr_comparison *c;
  wr_ledger *ledger; /* of the run */
  wr_head_start head;
  int is_open;    /* 1: the device has been opened meanwhile                                  */
  int moves;      /* 1: the solve is to end, for the device to go on                          */
  int may_change; /* 1: another backend may go on                                             */
  wr_backend_change change;
} looks;

/* Opens the device, or ends the solve, where a device would save time. */
static void look_for_device(looks *l, wr_progress_mark now, double target) {
  wr_comparison *c = l->c;
  const wr_head_start *head = &l->head;
  int may_open = !c->env_tried[WR_CUDA];
  if (l->moves || wr_comparison_is_opening(c) || !(may_open || c->device.running)) return;
  if (!may_open && !l->is_open) {
    wr_head_start_opened(&l->head, now);
    l->is_open = 1;
  }
  if (may_open && now.time - head->timed.time > WR_OPEN_LATE_SHARE * head->opening &&
      wr_head_start_gain(head, now, target, head->opening + WR_DEVICE_CLOSE_SECONDS) > 0) {
    wr_ledger_stop(l->ledger);
    (void)wr_comparison_begin_device(c, 0);
    wr_ledger_enter(l->ledger, WR_PHASE_SOLVE);
  }
  if (may_open || c->device.error.status != WR_OK) return;
  l->moves = wr_head_start_gain(head, now, target, 0) > 0;
}

static void look(void *context, int64_t iteration, double measure, double target) {
  looks *l = context;
  const wr_progress_mark now = {.time = wr_clock(), .iteration = iteration, .measure = measure};
  if (!l->c->settings->quiet) wr_progress_show(&l->progress, iteration, measure, target);
  wr_head_start_keep(&l->head, now);
  if (l->c->may_move) look_for_device(l, now, target);
  if (!l->may_change) return;
  int64_t here = iteration - l->c->runs->moved.iterations; /* there is one run */
  double allowed = (double)(l->c->settings->iterations - here), left = wr_head_start_left(&l->head, now, target);
  wr_backend_change_look(&l->change, here, fmin(left, allowed));
}

static void rest(void *context) { wr_backend_change_rest(&((looks *)context)->change); }

/* 1 if -k auto may change its backend in mid-run. It does not where a device may take over, where multiplies of the two best
 * were timed, or where a clock must not decide; nor for several solves, parts or types. */
static int may_change(const wr_comparison *c, const run_plans *plans, const wr_run *run) {
  return run->chosen.backend && run->chosen.timed == 0 && !c->may_move && !c->settings->deterministic && !c->comm &&
         c->settings->repeat == 1 && count_sides(c) == 1 && plans->narrow == NULL;
}

static void look_at_preparing(void *context, const char *what, double share) {
  wr_progress_prepare(&((looks *)context)->progress, what, share);
}

/* Keeps the iterate of a solve that is to go on elsewhere. */
static wr_status leave(wr_comparison *c, void *solve, wr_run *run, double seconds) {
  run->moved = (wr_run_moved){.backend = run->backend, .iterations = run->result.iterations,
                              .multiplies = run->result.multiplies, .seconds = seconds};
  wr_ledger_enter(&run->ledger, WR_PHASE_TRANSFORM);
  wr_status status = take_answer(c, solve, &c->iterate);
  wr_ledger_stop(&run->ledger);
  return status;
}

/* Makes the result that of the whole run. */
static void join_parts(wr_run *run) {
  wr_result *result = &run->result;
  if (result->outcome == WR_TIME_LIMIT && result->iterations == 0)
    snprintf(result->note, sizeof result->note, "the time limit has passed; the answer is the best iterate so far");
  result->iterations += run->moved.iterations, result->multiplies += run->moved.multiplies;
}

static wr_status solve_and_check(wr_comparison *c, int index, run_plans *plans, wr_env *env) {
  wr_status status;
  wr_plan *plan = plans->narrow ? plans->narrow : plans->plan; /* stamps are of one plan at a time */
  wr_run *run = &c->runs[index];
  wr_ledger *ledger = &run->ledger;
  void *solve = NULL;
  double *x = NULL;
  wr_history *history = c->histories && count_sides(c) == 1 ? &c->histories[index] : NULL; /* of one solve */
  run->history = history;
  looks observed = {.c = c, .ledger = ledger};
  wr_progress_begin(&observed.progress, stderr);
  observed.may_change = may_change(c, plans, run);
  observed.change = (wr_backend_change){.plan = plan, .A = c->program->matrix(c->problem), .env = env,
                                        .chosen = &run->chosen, .ledger = ledger, .changed = &run->changed};
  wr_monitor monitor = {.progress = c->settings->quiet && !c->may_move && !observed.may_change ? NULL : look,
                        .preparing = c->settings->quiet ? NULL : look_at_preparing,
                        .context = &observed,
                        .before = run->moved.iterations,
                        .interrupted = c->interrupted,
                        .deadline = c->deadline,
                        .leaves = &observed.moves,
                        .rest = rest,
                        .rest_due = &observed.change.due,
                        .comm = c->comm,
                        .history = history};
  int on_device = env->place == WR_CUDA; /* on the host nothing is uploaded or downloaded, and vectors are converted */
  wr_ledger_enter(ledger, on_device ? WR_PHASE_UPLOAD : WR_PHASE_TRANSFORM);
  TRY(wr_alloc_zeroed(&solve, 1, c->program->solve_size, "a solve"));
  if (count_sides(c) > 1) TRY(c->program->set_side(c->problem, 0));
  TRY(wr_comm_agree(c->comm, c->program->start(c->problem, c->settings, plans->plan, env, solve)));
  if (plans->narrow) TRY(wr_comm_agree(c->comm, c->program->sweep_in(solve, plans->narrow, &plans->narrow_env)));
  if (c->program->precondition) {
    double begin = wr_clock();
    wr_ledger_enter(ledger, WR_PHASE_PREPARE);
    TRY(wr_comm_agree(c->comm, c->program->precondition(solve, &monitor, &run->precond)));
    run->precond.seconds = wr_clock() - begin;
  }
  TRY(env->ops->wait(env));
  (void)omp_pause_resource_all(omp_pause_soft); /* its threads would spin for milliseconds and slow down the solve */
  wr_ledger_enter(ledger, WR_PHASE_SOLVE);
  TRY(wr_plan_time_start(plan));
  double seconds;
  double usual = c->program->usual ? c->program->usual(c->settings, c->problem) : WR_EXPECTED_MULTIPLIES;
  wr_head_start_begin(&observed.head, c->program->matrix(c->problem), env->type, usual, c->opening, wr_clock());
  TRY(solve_side(c, run, solve, env, &monitor, 0, &run->result, &seconds));
  int over = *c->interrupted || (c->deadline > 0 && wr_clock() >= c->deadline);
  if (observed.moves && !over && run->result.outcome == WR_TIME_LIMIT) {
    TRY(leave(c, solve, run, seconds));
    goto done;
  }
  if (run->moved.backend) join_parts(run);
  TRY(wr_plan_time_collect(plan));
  run->ran = 1;
  wr_progress_end(&observed.progress);
  wr_phase after = on_device ? WR_PHASE_DOWNLOAD : WR_PHASE_TRANSFORM;
  wr_ledger_enter(ledger, after);
  TRY(take_times(run, plan));
  TRY(wr_comm_agree(c->comm, take_answer(c, solve, &x)));
  wr_ledger_enter(ledger, WR_PHASE_VERIFY);
  TRY(c->program->verify(solve, x, choose_level(c, run), c->settings->verify_rows, &run->verdict));
  if (count_sides(c) > 1) {
    TRY(solve_others(c, index, solve, env, &monitor, seconds, &x));
    TRY(wr_plan_time_collect(plan));
    TRY(take_times(run, plan));
  }
  wr_ledger_enter(ledger, after);
  if (c->program->normalise) TRY(c->program->normalise(solve, x));
  wr_ledger_stop(ledger);
  keep_answer(c, index, x);
  x = NULL; /* keep_answer keeps or frees it */
  TRY(run_warm(c, solve, &monitor, run));
  TRY(time_afterwards(c, solve, timed(plans, run), env, run));
done:
  wr_free(x);
  wr_progress_end(&observed.progress);
  if (solve) c->program->stop(solve);
  wr_free(solve);
  return status;
}

/* Many sets in place of one solve. */
static wr_status solve_sets(wr_comparison *c, int index, wr_plan *plan, wr_env *env) {
  wr_status status;
  wr_run *run = &c->runs[index];
  wr_progress progress;
  wr_progress_begin(&progress, stderr);
  wr_monitor monitor = {.preparing = c->settings->quiet ? NULL : wr_progress_prepare, .context = &progress,
                        .interrupted = c->interrupted, .deadline = c->deadline, .comm = c->comm};
  double waited = c->comm ? c->comm->waited : 0, waited_halo = c->comm ? c->comm->waited_halo : 0;
  wr_ledger_enter(&run->ledger, WR_PHASE_SOLVE);
  TRY(wr_plan_time_start(plan));
  TRY(c->program->run_sets(c->problem, c->settings, plan, env, &monitor, run));
  if (c->comm) run->waited = c->comm->waited - waited, run->waited_halo = c->comm->waited_halo - waited_halo;
  TRY(wr_plan_time_collect(plan));
  run->ran = 1;
  TRY(take_times(run, plan));
done:
  wr_ledger_stop(&run->ledger);
  wr_progress_end(&progress);
  return status;
}

/* The plan in f32 of mixed precision. */
static wr_status prepare_narrow(wr_comparison *c, const wr_choice *choice, const wr_env *env, run_plans *plans) {
  PASS(wr_env_with_type(env, WR_F32, &plans->narrow_env));
  PASS(wr_choice_plan(choice, c->program->matrix(c->problem), &plans->narrow_env, &plans->narrow));
  return wr_plan_prepare(plans->narrow);
}

/* Adds the memory of the plan in f32, which borrows the same indices; of a multiply the bytes are those of the plan that most
 * multiplies are by. */
static void add_narrow(const wr_comparison *c, const run_plans *plans, wr_run *run) {
  const wr_plan_info *narrow = wr_plan_get_info(plans->narrow), *most = wr_plan_get_info(timed(plans, run));
  const wr_csr *A = c->program->matrix(c->problem);
  run->info.extra_bytes += narrow->extra_bytes;
  if (A->val && narrow->borrowed_bytes > 0) run->info.borrowed_bytes += A->nnz * wr_type_bytes(WR_F32);
  run->info.apply_bytes = most->apply_bytes, run->info.format_bytes = most->format_bytes;
  run->info.deterministic = run->info.deterministic && narrow->deterministic;
}

/* The backend of the run := that of its plan. */
static void take_backend(const wr_comparison *c, wr_run *run, const wr_plan *plan) {
  run->backend = wr_plan_backend(plan);
  snprintf(run->knobs, sizeof run->knobs, "%s", wr_plan_knobs(plan));
  int in_pieces = c->comm && !wr_exchange_is_direct(wr_plan_get_info(plan)->exchange); /* the epilogue follows by itself */
  run->fused_epilogue = (run->backend->caps & WR_CAP_EPILOGUE) != 0 && !in_pieces;
}

static wr_status run_one(wr_comparison *c, int index) {
  wr_status status;
  wr_run *run = &c->runs[index];
  wr_choice *choice = &c->choices[index];
  const wr_plan_use use = c->program->use ? c->program->use(c->settings, c->problem) : (wr_plan_use){.multiplies = 1};
  wr_place place = choice->backend->place;
  run_plans plans = {0};
  wr_env *env = &c->env[place];
  int built = choice->backend->plan != NULL;
  wr_ledger_stop(c->process);
  TRY(check_device(c, choice->backend));
  if (built) TRY(wr_comm_agree(c->comm, wr_comparison_open_place(c, place)));
  if (built && place == WR_CUDA && c->comm == NULL) TRY(upload_matrix(c)); /* plans of parts upload their pieces */
  if (built && !c->may_move) measure_bandwidth(c, place); /* else after the solve, which competes with opening */
  wr_ledger_stop(c->process);
  if (run->moved.backend == NULL) {
    wr_ledger_add(&run->ledger, c->process);
    wr_ledger_add(&run->ledger, &c->place_ledger[place]);
  }
  run->read_bandwidth = c->bandwidth[place], run->changed = (wr_run_changed){0};
  wr_ledger_enter(&run->ledger, WR_PHASE_PREPARE);
  double before = run->ledger.seconds[WR_PHASE_PREPARE];
  if (c->settings->seeds && built) env->need_columns = c->program->columns(c->settings, env);
  if (count_sides(c) > 1 && built) env->need_columns = choice->backend->apply_many ? WR_MAX_COLUMNS : 0;
  status = wr_choice_prepare(choice, c->program->matrix(c->problem), env, &use, &plans.plan, &run->chosen);
  if (plans.plan) take_backend(c, run, plans.plan);
  status = wr_comm_agree(c->comm, status);
  TRY(status);
  if (c->settings->precision == WR_PRECISION_MIXED) TRY(wr_comm_agree(c->comm, prepare_narrow(c, choice, env, &plans)));
  wr_ledger_stop(&run->ledger);
  run->setup = run->ledger.seconds[WR_PHASE_PREPARE] - before;
  run->info = *wr_plan_get_info(plans.plan);
  TRY(c->settings->seeds ? solve_sets(c, index, plans.plan, env) : solve_and_check(c, index, &plans, env));
  if (c->iterate) goto done; /* the run goes on elsewhere */
  take_backend(c, run, plans.plan);
  choice->backend = run->backend; /* -k auto may have changed it */
  if (c->may_move) measure_bandwidth(c, place);
  run->read_bandwidth = c->bandwidth[place];
  wr_ledger_enter(c->process, WR_PHASE_CALIBRATE);
  run->info = *wr_plan_advise(plans.plan);
  if (plans.narrow) add_narrow(c, &plans, run);
  wr_ledger_stop(c->process);
done:
  (void)wr_error_keep(&run->error, status);
  if (plans.plan) snprintf(run->device_name, sizeof run->device_name, "%s", env->device_name); /* the run may add to it */
  wr_plan_destroy(plans.narrow);
  wr_plan_destroy(plans.plan);
  wr_ledger_stop(&run->ledger);
  return status;
}

/* The rest of a solve that has left the CPU: on the device, and where that fails on the CPU again. The answer so far is its
 * first guess, unless numbers in it are not finite. */
static wr_status go_on_elsewhere(wr_comparison *c, int index) {
  wr_status status;
  wr_run *run = &c->runs[index];
  const wr_settings *settings = c->settings;
  wr_settings left = *settings; /* its texts are those of settings */
  wr_choice here = c->choices[index];
  c->choices[index] = c->later, c->later = here, c->may_move = 0;
  left.iterations -= run->moved.iterations;
  wr_ledger_enter(&run->ledger, WR_PHASE_TRANSFORM);
  if (wr_first_not_finite(c->iterate, c->program->matrix(c->problem)->nrows) < 0)
    TRY(c->program->resume(c->problem, c->iterate));
  wr_ledger_stop(&run->ledger);
  wr_free(c->iterate);
  c->iterate = NULL, c->settings = &left;
  status = run_one(c, index);
  if (status != WR_OK && !run->ran) {
    run->moved.failure = run->error, run->error = (wr_error){0};
    c->later = c->choices[index], c->choices[index] = here;
    status = run_one(c, index);
  }
done:
  c->settings = settings;
  wr_ledger_stop(&run->ledger);
  return status;
}

/* facts->place := what was done where, of a solve that might move. */
static void say_place(wr_comparison *c, const wr_run *run) {
  char took[16], opening[16] = "";
  const wr_run_moved *moved = &run->moved;
  if (!wr_comparison_is_opening(c)) wr_text_seconds(c->device.open_seconds, opening);
  if (moved->backend && moved->failure.status == WR_OK)
    snprintf(
        c->facts->place, sizeof c->facts->place,
        "%lld of the iterations on the CPU by %s, in %s, while the GPU was being opened, which took %s; the rest on "
        "the GPU",
        (long long)moved->iterations, moved->backend->name, wr_text_seconds(moved->seconds, took), opening);
  else if (moved->backend)
    snprintf(c->facts->place, sizeof c->facts->place,
             "the CPU, also after %lld iterations, when the GPU was open but could not go on",
             (long long)moved->iterations);
  else if (wr_comparison_is_opening(c))
    snprintf(c->facts->place, sizeof c->facts->place,
             "the CPU: it had the answer before the GPU was open; -d cuda would have waited for that");
  else if (c->device.running && c->device.error.status == WR_OK)
    snprintf(c->facts->place, sizeof c->facts->place,
             "the CPU: when the GPU was open, after %s, the rest was expected to take no longer there", opening);
  else if (!c->env_tried[WR_CUDA] && c->facts->place[0] == '\0')
    snprintf(c->facts->place, sizeof c->facts->place, "the CPU: it had the answer before opening a GPU paid");
}

/* A solve that begins on the CPU. */
static wr_status run_movable(wr_comparison *c) {
  wr_run *run = &c->runs[0];
  wr_status status = run_one(c, 0);
  if (status == WR_OK && c->iterate) status = go_on_elsewhere(c, 0);
  c->may_move = 0;
  say_place(c, run);
  if (c->device.running && !wr_comparison_is_opening(c)) open_within(c, WR_CUDA, 0); /* notes whether it has failed */
  wr_ledger_add(&run->ledger, &c->place_ledger[WR_CUDA]);
  return status;
}

/* 1 if the device's thread may upload rows while the CPU solves, since they are of the matrix that the device would need. No
 * upload may run while solves are timed to be compared. */
static int uploads_meanwhile(const wr_comparison *c) {
  return c->may_move && wr_row_channel_last(&c->device.rows).A == c->program->matrix(c->problem);
}

wr_status wr_compare(wr_comparison *c) {
  c->answer_run = -1;
  if (c->device.running && !uploads_meanwhile(c)) wr_row_channel_close(&c->device.rows);
  for (int k = 0; k < c->count; k++) {
    wr_run *run = &c->runs[k];
    *run = (wr_run){.backend = c->choices[k].backend};
    snprintf(run->knobs, sizeof run->knobs, "%s", c->choices[k].knobs); /* as given; a plan adds the others */
    if (*c->interrupted && c->comm == NULL) { /* parts agree on that in the solve */
      run->error = (wr_error){WR_EUNAVAILABLE, "interrupted before it began"};
      continue;
    }
    if (k > 0 && c->deadline > 0 && wr_clock() >= c->deadline) { /* the first run gives an answer in any case */
      run->error = (wr_error){WR_EUNAVAILABLE, "the time limit had passed before it began"};
      continue;
    }
    wr_status status = c->may_move ? run_movable(c) : run_one(c, k);
    if (status == WR_EUSAGE || status == WR_EINPUT) return status; /* these concern the whole command */
    if (status != WR_OK && c->comm) return status;                 /* other parts may wait for this one */
  }
  return WR_OK;
}

void wr_comparison_close(wr_comparison *c) {
  wr_device_thread_close(&c->device);
  wr_env_close(&c->env[WR_HOST]);
  wr_env_close(&c->env[WR_CUDA]);
  wr_choice_free(&c->later);
  wr_free(c->answer);
  wr_free(c->iterate);
  c->answer = c->iterate = NULL;
}
