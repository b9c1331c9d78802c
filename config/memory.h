/* Host memory: the one allocator. Every block is aligned to 128 bytes, padded to a multiple of 128, and large ones ask for
 * huge pages. Nothing is touched, so the thread that writes a page first decides on which memory node it lies. */
#ifndef WR_MEMORY_H
#define WR_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "config/status.h"

WR_C_BEGIN

#define WR_ALIGNMENT 128 /* bytes: a cache line pair, and four 32-byte sectors of a device */

/* *block (a pointer to a pointer of any type) := room for count elements of size bytes; count 0 gives a valid block.
 * WR_ENOMEM with how much was asked for, and for what, when there is none, or when a large block is more than the system has
 * available (config/memory_limits.h); *block is then NULL. A negative count, as of a product that has overflowed, is refused
 * likewise. */
wr_status wr_alloc(void *block, int64_t count, size_t size, const char *what);
wr_status wr_alloc_zeroed(void *block, int64_t count, size_t size, const char *what);

/* Makes a block of wr_alloc (or NULL) one of `bytes` bytes, which may lie elsewhere and has the same contents as far as they
 * fit. A block of 64 MiB or more is not held twice meanwhile, and is aligned to 16 bytes only. WR_ENOMEM: the block is as it
 * was. */
wr_status wr_resize(void *block, int64_t bytes, const char *what);

/* Frees what wr_alloc gave; NULL is fine. */
void wr_free(void *block);

WR_C_END
#endif
