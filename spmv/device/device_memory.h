/* Device memory: allocation, release, and copies from and to the host. Only this folder calls CUDA for these. */
#ifndef WR_DEVICE_MEMORY_H
#define WR_DEVICE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "spmv/device/pack.h"
#include "spmv/device/env.h"

WR_C_BEGIN

/* Memory of an env. A freed block is kept for the next allocation of about its size until the env is closed or the device is
 * out of memory, since cudaMalloc of a large block takes 50 us and cudaFree 40 to 160 us and waits for the device. Blocks may
 * be used on env's stream alone, and must be freed before env is closed.
 *
 * *block (a pointer to a pointer of any type) := device memory for count elements of size bytes, aligned to 128 bytes and
 * padded with zeros to a multiple of 128; count 0 gives a valid block. _zeroed zeroes all of it. Zeroing is ordered by
 * env's stream. WR_ENOMEM with the bytes asked for, what for, and the bytes that are free. */
wr_status wr_device_alloc(wr_env *env, void *block, int64_t count, size_t size, const char *what);
wr_status wr_device_alloc_zeroed(wr_env *env, void *block, int64_t count, size_t size, const char *what);

/* Ordered by env's stream. Also takes NULL. */
void wr_device_free(wr_env *env, void *block);

/* Allocation and release of a block that other envs of the device use, too, or that outlives env. free waits for the device. */
wr_status wr_device_alloc_shared(wr_env *env, void *block, int64_t count, size_t size, const char *what);
void wr_device_free_shared(int device, void *block);

/* Blocks of this process that were allocated and not freed yet. */
int64_t wr_device_blocks(void);

/* Size in bytes of a block of count elements, padding included. */
int64_t wr_device_bytes(int64_t count, size_t size);

/* Pinned host memory, with which the device copies directly. */
wr_status wr_pinned_alloc(void *block, int64_t bytes, const char *what);
void wr_pinned_free(void *block);

/* Copies count elements in the order of env's stream, through pinned memory. An upload has read `from` when it returns, and
 * is complete on the device later; a download waits. */
wr_status wr_device_upload(wr_env *env, void *to, const void *from, int64_t count, wr_conversion how);
wr_status wr_device_download(wr_env *env, void *to, const void *from, int64_t count, wr_conversion how);

WR_C_END
#endif
