/* The one way to launch a kernel, and the one way to have shared memory. Everything else that kernels may use is listed in
 * the design's rules for kernels: barriers, *_sync shuffles and votes, atomics, __ldg __ldcs __stcs, fences.
 *
 *   status = WR_LAUNCH((scale<float, 4>), blocks, threads, shared_bytes, stream, n, x, y);
 *
 * The kernel stands in parentheses, so that commas of a template stay inside. The value is a wr_status: WR_OK, or WR_EDEVICE
 * with the kernel's name when the launch was refused. What fails later, while the kernel runs, is reported by the next wait.
 * A build for another execution model defines these macros before it includes a kernel. */
#ifndef WR_LAUNCH_CUH
#define WR_LAUNCH_CUH

#include <cuda_runtime.h>
#include <string.h>

#include "config/status.h"
#include "spmv/device/cuda_state.h"

/* kernel: as it stands in WR_LAUNCH, in its parentheses. */
inline wr_status wr_launch_check(cudaError_t error, const char *kernel) {
  if (error == cudaSuccess) return WR_OK;
  int length = (int)strlen(kernel) - 2;
  if (error == cudaErrorNoKernelImageForDevice)
    return wr_fail(WR_EUNAVAILABLE,
                   "kernel %.*s: this build has no code for this card; run make again with CUDA_ARCH set to its "
                   "architecture (such as sm_90)",
                   length, kernel + 1);
  return wr_fail(WR_EDEVICE, "kernel %.*s: %s (%s)", length, kernel + 1, cudaGetErrorString(error),
                 cudaGetErrorName(error));
}

/* Stands before a kernel's parameter that functions take by reference: of one that is not marked so, every thread would copy
 * all of it to its own memory. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 700
#define WR_KERNEL_PARAMETER const
#else
#define WR_KERNEL_PARAMETER const __grid_constant__
#endif

/* Both in every kernel that WR_LAUNCH_EARLY launches, by every thread, in this order (CUDA Programming Guide, "Programmatic
 * Dependent Launch"). From the first on the next such kernel may be brought in, where there is room for its blocks; the second
 * waits until what was asked for before is done. Between them a kernel reads nothing but what plans keep, which has not
 * changed since wr_plan_prepare has waited, and writes nothing. */
static __device__ inline void wr_let_next_begin() {
#if !defined(WR_SIMT) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" : : : "memory");
#endif
}

static __device__ inline void wr_wait_for_earlier() {
#if !defined(WR_SIMT) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" : : : "memory");
#endif
}

/* The same for a kernel that has nothing to read before. */
static __device__ inline void wr_begin_kernel() {
  wr_let_next_begin();
  wr_wait_for_earlier();
}

#ifndef WR_LAUNCH
/* early: see wr_cuda_state. together: all blocks run at the same time, or the launch is refused. */
template <typename... Parameters, typename... Arguments>
inline cudaError_t wr_launch(int early, int together, void (*kernel)(Parameters...), unsigned grid, unsigned block,
                             size_t shared, void *stream, const Arguments &...arguments) {
  cudaLaunchConfig_t config = {};
  cudaLaunchAttribute attribute = {};
  if (together)
    attribute.id = cudaLaunchAttributeCooperative, attribute.val.cooperative = 1;
  else
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization,
    attribute.val.programmaticStreamSerializationAllowed = 1;
  config.gridDim = dim3(grid), config.blockDim = dim3(block), config.dynamicSmemBytes = shared;
  config.stream = (cudaStream_t)stream;
  config.attrs = &attribute, config.numAttrs = early || together ? 1 : 0;
  cudaError_t error = cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...);
  return error == cudaSuccess ? cudaGetLastError() : error;
}

/* Whether the next kernel of env may be early. Not behind a library's kernels: these may be brought in early themselves, and
 * end before those that they follow, for which an early one would then not wait. */
inline int wr_next_is_early(const wr_env *env) {
  wr_cuda_state *state = (wr_cuda_state *)env->state;
  int early = state->early && !state->foreign;
  state->foreign = 0;
  return early;
}

#define WR_WITHOUT_PARENTHESES(...) __VA_ARGS__
#define WR_LAUNCH(kernel, grid, block, shared, stream, ...)                                            \
  wr_launch_check((WR_WITHOUT_PARENTHESES kernel<<<(grid), (block), (shared), (cudaStream_t)(stream)>>>( \
                       __VA_ARGS__),                                                                   \
                   cudaGetLastError()),                                                                \
                  #kernel)

/* The same for a kernel that says when the next may begin and waits for what is earlier: it may be brought in while the one
 * before it ends: 0.4 us less for each of the eight of an iteration on a small system, and what it reads before it waits. */
#define WR_LAUNCH_EARLY(env, kernel, grid, block, shared, ...)                                                  \
  wr_launch_check(wr_launch(wr_next_is_early(env), 0, WR_WITHOUT_PARENTHESES kernel, (grid), (block), (shared), \
                            (env)->stream, __VA_ARGS__),                                                        \
                  #kernel)

/* For a kernel whose blocks wait for each other (meet.cuh): all of them run at the same time, or it is refused. */
#define WR_LAUNCH_TOGETHER(kernel, grid, block, shared, stream, ...)                                              \
  wr_launch_check(wr_launch(0, 1, WR_WITHOUT_PARENTHESES kernel, (grid), (block), (shared), (stream), __VA_ARGS__), \
                  #kernel)

/* T name[n], one array a block; n is a constant. Use it as a pointer: sizeof is not promised. */
#define WR_SHARED(T, name, n) __shared__ T name[n]

/* T *name: the launch's shared_bytes, 16-byte aligned; at most one a kernel. */
#define WR_SHARED_DYNAMIC(T, name)                                \
  extern __shared__ __align__(16) unsigned char wr_shared_room[]; \
  T *name = reinterpret_cast<T *>(wr_shared_room)
#endif

#endif
