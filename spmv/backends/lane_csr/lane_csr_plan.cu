/* What a plan of interleaved rows needs besides its format, and its launches by type. */
#include <algorithm>

#include "spmv/backends/lane_csr/lane_csr_build.h"
#include "spmv/backends/lane_csr/lane_csr_kernel.cuh"

extern "C" int64_t wr_lane_hub_bytes(const wr_env *env) {
  constexpr int TABLE = 256; /* of coded values */
  constexpr int OTHER = (LANE_WARPS * lane_window<HUBS> + TABLE) * (int)sizeof(double) + 2048; /* sums, and the rest */
  int most = 0;
  if (cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, env->device) != cudaSuccess) most = 0;
  return std::max(0, std::min((int)WR_LANE_HUB_BYTES, most - OTHER));
}

/* The warp in which a row ends adds up what so many others have of it, 256 at a time. One kernel was faster than two with up to
 * 1200 of them, the most that were measured (docs/lane_csr.md). */
constexpr int64_t MOST_SHARES_OF_ROW = 1536;
constexpr double MOST_CROWDED_CHUNKS = 1.5; /* of a warp: the thread block with the chunks of long rows is the last to end */

extern "C" int wr_lane_is_alone(const wr_env *env, const wr_lane_csr *c) {
  const int64_t warps = (int64_t)LANE_WARPS * wr_cuda_processors(env), each = (c->chunks + warps - 1) / warps;
  if (c->low || c->hubs || c->far || wr_lane_is_compact(c)) return 0;
  if (wr_lane_is_crowded(c) && (double)c->chunks > MOST_CROWDED_CHUNKS * (double)warps) return 0;
  return each <= LANE_ALONE_CHUNKS && c->longest <= MOST_SHARES_OF_ROW * each;
}

extern "C" wr_status wr_lane_plan_open(wr_env *env, int may_be_alone, wr_lane_plan *p) {
  wr_workspace workspace;
  const wr_lane_csr &c = p->format;
  const lane_shares shares = lane_shares_of(env, c);
  PASS(wr_cuda_enter(env));
  PASS(wr_device_alloc(env, &p->head, shares.all, sizeof *p->head, "parts of rows"));
  PASS(wr_device_alloc(env, &p->tail, shares.all, sizeof *p->tail, "parts of rows"));
  if (may_be_alone && c.order == NULL && wr_lane_is_alone(env, &c)) {
    const int even = lane_even_shares_of(env, c).all;
    PASS(wr_device_alloc(env, &p->carry, even, sizeof *p->carry, "parts of rows"));
    PASS(wr_device_alloc_zeroed(env, &p->ticket, 1, sizeof *p->ticket, "a ticket"));
    PASS(WR_CUDA(cudaMemsetAsync(p->carry, 0xff, (size_t)even * sizeof *p->carry, (cudaStream_t)env->stream)));
  }
  PASS(wr_device_alloc_zeroed(env, &p->turns, 1, sizeof *p->turns, "a count of turns"));
  PASS(wr_device_alloc(env, &p->hub_x, c.hubs, (size_t)wr_type_bytes(env->type), "hubs"));
  PASS(wr_device_alloc(env, &p->far_x, c.far, (size_t)wr_type_bytes(env->type), "staged elements of x"));
  p->columns = env->need_columns;
  PASS(wr_device_alloc(env, &p->many_head, c.chunks * p->columns, sizeof *p->many_head, "parts of rows"));
  PASS(wr_device_alloc(env, &p->many_tail, c.chunks * p->columns, sizeof *p->many_tail, "parts of rows"));
  return wr_workspace_reserve(env, shares.all + lane_last_grid(env, shares.all), &workspace);
}

extern "C" void wr_lane_plan_close(wr_env *env, wr_lane_plan *p) {
  wr_device_free(env, p->head), wr_device_free(env, p->tail), wr_device_free(env, p->hub_x),
      wr_device_free(env, p->far_x);
  wr_device_free(env, p->carry), wr_device_free(env, p->ticket), wr_device_free(env, p->turns);
  wr_device_free(env, p->many_head), wr_device_free(env, p->many_tail);
  p->head = p->tail = p->many_head = p->many_tail = NULL, p->hub_x = p->far_x = NULL, p->carry = NULL;
  p->ticket = p->turns = NULL;
  wr_lane_csr_device_free(env, &p->format);
}

extern "C" int64_t wr_lane_plan_bytes(const wr_env *env, const wr_lane_plan *p) {
  const wr_lane_csr *c = &p->format;
  return wr_lane_csr_device_bytes(c) + 2 * wr_device_bytes(lane_shares_of(env, *c).all, sizeof *p->head) +
         (p->carry ? wr_device_bytes(lane_even_shares_of(env, *c).all, sizeof *p->carry) +
                         wr_device_bytes(1, sizeof *p->ticket)
                   : 0) +
         wr_device_bytes(1, sizeof *p->turns) + wr_device_bytes(c->hubs, (size_t)wr_type_bytes(c->type)) +
         wr_device_bytes(c->far, (size_t)wr_type_bytes(c->type)) +
         2 * wr_device_bytes(c->chunks * p->columns, sizeof *p->many_head);
}

extern "C" wr_status wr_lane_csr_launch(wr_env *env, const wr_lane_plan *p, const wr_apply *request) {
  PASS(wr_cuda_enter(env));
  if (wr_lane_is_compact(&p->format)) return wr_lane_csr_launch_compact(env, p, request);
  return env->type == WR_F32 ? wr_lane_csr_launch_f32(env, p, request) : wr_lane_csr_launch_f64(env, p, request);
}
