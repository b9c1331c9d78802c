/* The fused operation of several vectors (vec.h): its check, and the function of the host. */
#ifndef WR_FUSED_MANY_H
#define WR_FUSED_MANY_H

#include "spmv/device/apply.h"
#include "spmv/device/env.h"

WR_C_BEGIN

wr_status wr_fused_many_check(const wr_env *env, const wr_fused_many *f);

/* partials: room for 2 * ld sums for each 1024 rows. */
void wr_host_fused_many(wr_env *env, const wr_fused_many *f, double *partials);

/* Runs the step of f, if it has one, for each column on the host, bank[f->bank->n] being the scalars. */
void wr_host_many_step(const wr_fused_many *f, double *bank);

/* On a device, for a multiply that has left the sums as partial[sum * WR_MAX_COLUMNS + column][parts]: adds them up and runs
 * the step. */
wr_status wr_cuda_many_sums_end(wr_env *env, const wr_fused_many *f, double *partial, unsigned parts);

/* Number of inputs, and the sums' vectors by number: inputs from 0 on, outputs behind WR_MANY_INPUTS. */
static inline int wr_many_inputs(const wr_fused_many *f) {
  int count = 0;
  while (count < WR_MANY_INPUTS && f->in[count]) count++;
  return count;
}
static inline int wr_many_slot(const wr_fused_many *f, const wr_vec *v) {
  for (int o = 0; o < WR_MANY_OUTPUTS; o++)
    if (v && v == f->out[o]) return WR_MANY_INPUTS + o;
  for (int k = 0; k < WR_MANY_INPUTS; k++)
    if (v && v == f->in[k]) return k;
  return -1;
}

WR_C_END
#endif
