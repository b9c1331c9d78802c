#define _DEFAULT_SOURCE /* madvise */
#include "config/memory.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "config/argument.h"
#include "config/memory_limits.h"

enum {
  HUGE_PAGE = 2 << 20,  /* bytes; blocks of at least four of them are aligned to one     */
  MOVED_FROM = 64 << 20 /* bytes; the C library maps such blocks, and moves them by page */
};

wr_status wr_alloc(void *block, int64_t count, size_t size, const char *what) {
  void **out = (void **)block;
  size_t bytes;
  WR_NEED(block);
  *out = NULL;
  WR_NEED(what);
  if (count < 0 || __builtin_mul_overflow((size_t)count, size, &bytes) || bytes > PTRDIFF_MAX - 2 * (size_t)HUGE_PAGE)
    return wr_fail(WR_ENOMEM, "out of memory: %lld elements of %zu bytes asked for %s", (long long)count, size, what);
  PASS(wr_memory_check_block((int64_t)bytes, what));
  size_t alignment = bytes >= 4 * (size_t)HUGE_PAGE ? HUGE_PAGE : WR_ALIGNMENT;
  size_t padded = (bytes + WR_ALIGNMENT - 1) / WR_ALIGNMENT * WR_ALIGNMENT;
  if (padded == 0) padded = WR_ALIGNMENT;
  if (posix_memalign(out, alignment, padded) != 0) {
    *out = NULL;
    return wr_fail(WR_ENOMEM, "out of memory: %.1f MB asked for %s", (double)bytes / 1e6, what);
  }
  if (alignment == HUGE_PAGE) madvise(*out, padded, MADV_HUGEPAGE); /* a hint: refusal changes speed alone */
  return WR_OK;
}

wr_status wr_alloc_zeroed(void *block, int64_t count, size_t size, const char *what) {
  wr_status status = wr_alloc(block, count, size, what);
  if (status == WR_OK) memset(*(void **)block, 0, (size_t)count * size);
  return status;
}

/* The system moves the pages of large blocks without copying them. */
static wr_status move_pages(void **block, int64_t bytes, int64_t more, const char *what) {
  PASS(wr_memory_check_block(more, what));
  void *moved = realloc(*block, (size_t)bytes);
  if (moved == NULL) return wr_fail(WR_ENOMEM, "out of memory: %.1f MB asked for %s", (double)more / 1e6, what);
  *block = moved;
  return WR_OK;
}

wr_status wr_resize(void *block, int64_t bytes, const char *what) {
  void **out = (void **)block, *other;
  WR_NEED(block);
  WR_NEED(what);
  if (bytes < 0) return wr_fail(WR_ENOMEM, "out of memory: %lld bytes asked for %s", (long long)bytes, what);
  int64_t now = *out ? (int64_t)malloc_usable_size(*out) : 0;
  if (bytes >= MOVED_FROM) return move_pages(out, bytes, bytes - now, what);
  if (*out && bytes <= now && now < MOVED_FROM) return WR_OK;
  PASS(wr_alloc(&other, bytes, 1, what));
  if (*out) memcpy(other, *out, (size_t)(bytes < now ? bytes : now));
  wr_free(*out);
  *out = other;
  return WR_OK;
}

void wr_free(void *block) { free(block); }
