/* Macros for kernel launches and shared memory; no other file launches a kernel or declares shared memory. Beside them
 * kernels use barriers, *_sync shuffles and votes, atomics, __ldg __ldcg __ldcs __stcs and fences.
 *
 *   status = WR_LAUNCH((scale<float, 4>), blocks, threads, shared_bytes, stream, n, x, y);
 *
 * The kernel stands in parentheses, so that commas of a template stay inside. The value is a wr_status: WR_OK, or WR_EDEVICE
 * with the kernel's name when the launch failed. An error while the kernel runs is reported by the next wait. A build that runs
 * kernels on the CPU (tests/simt) defines these macros before it includes a kernel.
 *
 * Launched early: with CUDA's programmatic dependent launch, blocks of a kernel may become resident before the kernel before
 * it in the stream has ended. */
#ifndef WR_LAUNCH_CUH
#define WR_LAUNCH_CUH

#include <cuda_runtime.h>
#include <string.h>

#include "config/status.h"
#include "spmv/device/check.cuh"
#include "spmv/device/cuda_state.h"

/* kernel: its text in WR_LAUNCH, with the parentheses. */
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

/* For a kernel parameter that device functions take by reference: without __grid_constant__ every thread would copy it to its
 * local memory. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 700
#define WR_KERNEL_PARAMETER const
#else
#define WR_KERNEL_PARAMETER const __grid_constant__
#endif

/* Every thread of a kernel that WR_LAUNCH_EARLY launches calls both, in this order (CUDA Programming Guide, "Programmatic
 * Dependent Launch"). After the first, blocks of the next such kernel may become resident if there is room; the second waits
 * until all earlier kernels have ended. Between them a kernel writes nothing, and reads only the arrays of a plan's format,
 * which are complete since wr_plan_prepare has waited. */
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

/* Both, for a kernel that reads nothing between them. */
static __device__ inline void wr_begin_kernel() {
  wr_let_next_begin();
  wr_wait_for_earlier();
}

/* Before a launch: blocks of the kernel may have so many bytes of dynamic shared memory, and `carveout` percent of a
 * multiprocessor's memory become shared memory (cudaSharedmemCarveoutDefault: as many as the driver likes). Both belong to the
 * kernel and are the same each time. An env asks once for each kernel, and for none that it does not launch, since the first
 * call loads the kernel. */
inline wr_status wr_allow_shared(const wr_env *env, const void *kernel, int bytes, int carveout) {
  wr_cuda_state *state = (wr_cuda_state *)env->state;
  for (int k = 0; k < state->nallowed; k++)
    if (state->allowed[k] == kernel) return WR_OK;
  if (carveout != cudaSharedmemCarveoutDefault)
    PASS(WR_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, carveout)));
  PASS(WR_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)));
  if (state->nallowed < WR_ALLOWED) state->allowed[state->nallowed++] = kernel;
  return WR_OK;
}

#ifndef WR_LAUNCH
/* early: as above. together: a cooperative launch: all blocks run at the same time, or the launch fails. */
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

/* Whether the next kernel of env may be launched early. Not after a library's kernel, which may itself have been launched early
 * and end before the kernels before it; an early kernel would then not wait for those. */
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

/* The same for a kernel that calls wr_let_next_begin and wr_wait_for_earlier: it is launched early, which saves 0.4 us for
 * each of the eight kernels of an iteration on a small system, and the time of the loads before the wait. */
#define WR_LAUNCH_EARLY(env, kernel, grid, block, shared, ...)                                                  \
  wr_launch_check(wr_launch(wr_next_is_early(env), 0, WR_WITHOUT_PARENTHESES kernel, (grid), (block), (shared), \
                            (env)->stream, __VA_ARGS__),                                                        \
                  #kernel)

/* For a kernel with a grid barrier (meet.cuh): all blocks run at the same time, or the launch fails. */
#define WR_LAUNCH_TOGETHER(kernel, grid, block, shared, stream, ...)                                              \
  wr_launch_check(wr_launch(0, 1, WR_WITHOUT_PARENTHESES kernel, (grid), (block), (shared), (stream), __VA_ARGS__), \
                  #kernel)

/* T name[n], one array a block; n is a constant. Use it as a pointer, as it may be one: sizeof is undefined. */
#define WR_SHARED(T, name, n) __shared__ T name[n]

/* T *name: the launch's shared_bytes, 16-byte aligned; at most one a kernel. */
#define WR_SHARED_DYNAMIC(T, name)                                \
  extern __shared__ __align__(16) unsigned char wr_shared_room[]; \
  T *name = reinterpret_cast<T *>(wr_shared_room)
#endif

#endif
