#include "spmv/device/fused_many.h"

#include <string.h>

#include "spmv/device/team.h"
#include "spmv/device/vec_argument.h"
#include "spmv/steps/step.h"

/* ---- Arguments ---- */

/* v is an array of columns of the operation; NULL is fine. */
static wr_status check_columns(const wr_env *env, const wr_fused_many *f, const wr_vec *v) {
  if (v == NULL) return WR_OK;
  if (v->id == 0 || v->data == NULL || v == f->bank || v->place != env->place || v->reciprocal_bytes)
    return wr_fail(WR_EUSAGE, "fused operation of columns: a vector is not allocated at this place");
  if (v->type != f->in[0]->type || v->n != f->in[0]->n)
    return wr_fail(WR_EUSAGE, "fused operation of columns: vectors of different types or lengths");
  return WR_OK;
}

/* The scalars that columns have from index on. */
static wr_status check_index(const wr_fused_many *f, int64_t index) {
  if (index >= 0 && f->bank && index < f->bank->n - (f->columns - 1) * f->stride) return WR_OK;
  return wr_fail(WR_EUSAGE, "fused operation of columns: scalar %lld is not in the bank", (long long)index);
}

static wr_status check_sums(const wr_fused_many *f) {
  for (int s = 0; s < WR_MANY_SUMS; s++) {
    const wr_many_sum *sum = &f->sum[s];
    if (sum->u == NULL) continue;
    if ((s > 0 && f->sum[s - 1].u == NULL) || wr_many_slot(f, sum->u) < 0 || wr_many_slot(f, sum->z) < 0 ||
        sum->is_scaled < 0 || sum->is_scaled > 2 || (sum->is_scaled && f->times == NULL))
      return wr_fail(WR_EUSAGE, "fused operation of columns: sum %d is not of inputs and outputs", s);
    PASS(check_index(f, sum->into));
  }
  return WR_OK;
}

static wr_status check_outputs(const wr_env *env, const wr_fused_many *f) {
  int inputs = wr_many_inputs(f);
  for (int o = 0; o < WR_MANY_OUTPUTS; o++) {
    PASS(check_columns(env, f, f->out[o]));
    if (o > 0 && f->out[o] && (f->out[o - 1] == NULL || f->out[o] == f->out[0]))
      return wr_fail(WR_EUSAGE, "fused operation of columns: outputs have a gap, or are one vector");
    for (int k = 0; f->out[o] && k < WR_MANY_INPUTS; k++) {
      if (f->c[o][k].factor != 0 && k >= inputs)
        return wr_fail(WR_EUSAGE, "fused operation of columns: a coefficient of no input");
      if (f->c[o][k].scalar != 0) PASS(check_index(f, f->c[o][k].scalar));
    }
  }
  PASS(check_columns(env, f, f->scaled));
  if (f->scaled && (f->out[0] == NULL || wr_many_slot(f, f->scaled) >= 0))
    return wr_fail(WR_EUSAGE, "fused operation of columns: scaled is one of the other vectors, or of no output");
  return WR_OK;
}

wr_status wr_fused_many_check(const wr_env *env, const wr_fused_many *f) {
  WR_NEED_OPEN(env);
  WR_NEED(f);
  if ((f->ld != 1 && f->ld != 2 && f->ld != 4 && f->ld != 8) || f->columns < 1 || f->columns > f->ld)
    return wr_fail(WR_EUSAGE, "fused operation of columns: %d columns in rows of %d elements", f->columns, f->ld);
  if (f->in[0] == NULL || f->in[0]->n % f->ld != 0)
    return wr_fail(WR_EUSAGE, "fused operation of columns: no input, or one that is not of whole rows");
  for (int k = 0; k < WR_MANY_INPUTS; k++) {
    PASS(check_columns(env, f, f->in[k]));
    if (k > 0 && f->in[k] && f->in[k - 1] == NULL)
      return wr_fail(WR_EUSAGE, "fused operation of columns: inputs have a gap");
  }
  const wr_vec *times = f->times, *bank = f->bank;
  if (times ? times->id == 0 || times->place != env->place || times->type != f->in[0]->type ||
                  times->reciprocal_bytes || times->n != f->in[0]->n / f->ld
            : f->times_first || f->scaled != NULL)
    return wr_fail(WR_EUSAGE, "fused operation of columns: times has not an element for each row");
  if (bank && (bank->place != env->place || bank->type != WR_F64 || f->stride < 0 || f->stride > bank->n))
    return wr_fail(WR_EUSAGE, "fused operation of columns: the bank is no f64 vector at this place");
  PASS(check_outputs(env, f));
  PASS(check_sums(f));
  if (f->step == NULL) return WR_OK;
  if (f->step->run == NULL || f->step->scalars > f->stride)
    return wr_fail(WR_EUSAGE, "the step %s does not run for columns", f->step->name);
  return check_index(f, f->step->scalars - 1);
}

/* ---- The host ---- */

enum { BLOCK_ROWS = 1024, PIECE = 512 }; /* rows of which sums are taken; elements that are computed at a time */

/* The operation with its coefficients, repeated to the eight elements of 8 / ld rows. */
typedef struct computing {
  const wr_fused_many *f;
  int inputs, u[WR_MANY_SUMS], z[WR_MANY_SUMS];
  double c[WR_MANY_OUTPUTS][WR_MANY_INPUTS][WR_MAX_COLUMNS];
  double *partials; /* [blocks][WR_MANY_SUMS][ld] */
} computing;

#define T float
#define NAME(x) x##_f32
#include "spmv/device/fused_many_host_type.h"
#undef T
#undef NAME
#define T double
#define NAME(x) x##_f64
#include "spmv/device/fused_many_host_type.h"
#undef T
#undef NAME

static void compute_block(void *context, int64_t block) {
  const computing *job = context;
  (job->f->in[0]->type == WR_F32 ? compute_f32 : compute_f64)(job, block,
                                                              job->partials + block * WR_MANY_SUMS * job->f->ld);
}

static void read_coefficients(computing *job) {
  const wr_fused_many *f = job->f;
  for (int o = 0; o < WR_MANY_OUTPUTS; o++)
    for (int k = 0; k < WR_MANY_INPUTS; k++)
      for (int e = 0; e < WR_MAX_COLUMNS; e++) {
        const wr_many_coefficient *from = &f->c[o][k];
        double factor = e % f->ld < f->columns ? from->factor : 0;
        if (factor != 0 && from->scalar != 0)
          factor *= ((const double *)f->bank->data)[from->scalar + e % f->ld * f->stride];
        job->c[o][k][e] = factor;
      }
}

void wr_host_many_step(const wr_fused_many *f, double *bank) {
  for (int c = 0; c < f->columns && f->step; c++) {
    wr_step_request request = {0};
    f->step->run(bank + c * f->stride, &request);
  }
}

void wr_host_fused_many(wr_env *env, const wr_fused_many *f, double *partials) {
  int64_t rows = f->in[0]->n / f->ld, blocks = rows / BLOCK_ROWS + (rows % BLOCK_ROWS != 0);
  computing job = {.f = f, .inputs = wr_many_inputs(f), .partials = partials};
  double *bank = f->bank ? f->bank->data : NULL;
  for (int s = 0; s < WR_MANY_SUMS; s++)
    job.u[s] = wr_many_slot(f, f->sum[s].u), job.z[s] = wr_many_slot(f, f->sum[s].z);
  read_coefficients(&job);
  wr_team_for(rows < 16 * BLOCK_ROWS / f->ld ? NULL : wr_env_team(env), blocks, compute_block, &job);
  for (int o = 0; o < WR_MANY_OUTPUTS; o++)
    if (f->out[o]) f->out[o]->writes++;
  if (f->scaled) f->scaled->writes++;
  if (bank) f->bank->writes++;
  for (int c = 0; c < f->columns; c++) {
    for (int s = 0; s < WR_MANY_SUMS && f->sum[s].u; s++) {
      double sum = 0;
      for (int64_t b = 0; b < blocks; b++) sum += partials[(b * WR_MANY_SUMS + s) * f->ld + c];
      bank[f->sum[s].into + c * f->stride] = sum;
    }
  }
  wr_host_many_step(f, bank);
}
