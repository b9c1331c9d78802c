#define _GNU_SOURCE /* pthread_getattr_default_np, mallinfo2 */
#include "config/memory_limits.h"

#include <malloc.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "config/control_group.h"

enum { PATH_BYTES = 4096, LARGE = 64 << 20, LARGE_UNDER_LIMIT = 1 << 20 }; /* bytes */

/* ---- numbers of /proc and /sys ---- */

/* The digits at the beginning of text; INT64_MAX if they are too many, -1 if there are none ("max"). */
static int64_t leading_count(const char *text, const char **rest) {
  int64_t value = -1;
  for (text += strspn(text, " \t"); *text >= '0' && *text <= '9'; text++)
    if (__builtin_mul_overflow(value < 0 ? 0 : value, 10, &value) || __builtin_add_overflow(value, *text - '0', &value))
      value = INT64_MAX / 10;
  if (rest) *rest = text;
  return value;
}

/* *value := the number behind the key, in the first line that begins with it; of a file with one number, behind "". With
 * the unit kB it is multiplied by 1024. Returns 0, and leaves *value, if there is no such number. */
static int read_count(const char *path, const char *key, int64_t *value) {
  char line[256];
  int found = 0;
  FILE *file = fopen(path, "r");
  while (file && !found && fgets(line, sizeof line, file)) {
    const char *rest;
    if (strncmp(line, key, strlen(key)) != 0) continue;
    int64_t count = leading_count(line + strlen(key), &rest);
    if (count < 0) break;
    if (strncmp(rest, " kB", 3) == 0) count = count > INT64_MAX >> 10 ? INT64_MAX : count << 10;
    *value = count;
    found = 1;
  }
  if (file) fclose(file);
  return found;
}

static int64_t count_or_zero(const char *root, const char *path, const char *key) {
  char name[PATH_BYTES];
  int64_t value = 0;
  snprintf(name, sizeof name, "%s%s", root, path);
  read_count(name, key, &value);
  return value;
}

/* ---- control groups ---- */

/* The names of files of version 1 and of version 2. */
typedef struct group_files {
  const char *limit, *usage, *inactive, *active;
} group_files;

static const group_files files_of[] = {
    {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file ", "total_active_file "},
    {"memory.max", "memory.current", "inactive_file ", "active_file "},
};

static void take_least(wr_memory_room *room, int64_t bytes, const char *limit) {
  if (bytes < 0) bytes = 0;
  if (bytes < room->bytes) *room = (wr_memory_room){bytes, limit};
}

/* One group. Its file cache counts as free: the kernel drops it before it ends a process. */
static void limit_by_group(const char *folder, int version, void *room) {
  const group_files *f = &files_of[version - 1];
  char name[PATH_BYTES + 64];
  int64_t limit, usage, inactive = 0, active = 0;
  snprintf(name, sizeof name, "%s/%s", folder, f->limit);
  if (!read_count(name, "", &limit)) return;
  snprintf(name, sizeof name, "%s/%s", folder, f->usage);
  if (!read_count(name, "", &usage)) return;
  snprintf(name, sizeof name, "%s/memory.stat", folder);
  read_count(name, f->inactive, &inactive);
  read_count(name, f->active, &active);
  int64_t left = limit - usage; /* counters are not read at one time: the cache may seem larger than all that is used */
  if (__builtin_add_overflow(left, inactive, &left) || __builtin_add_overflow(left, active, &left)) left = INT64_MAX;
  take_least(room, left, "the memory limit of the control group");
}

/* ---- limits of the process ---- */

static int64_t limit_of(int resource) {
  struct rlimit limit;
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > INT64_MAX)
    return INT64_MAX;
  return (int64_t)limit.rlim_cur;
}

int64_t wr_address_space_left(void) {
  wr_memory_room room = {INT64_MAX, NULL};
  int64_t space = limit_of(RLIMIT_AS), data = limit_of(RLIMIT_DATA);
  if (space < INT64_MAX) take_least(&room, space - count_or_zero("", "/proc/self/status", "VmSize:"), NULL);
  if (data < INT64_MAX) take_least(&room, data - count_or_zero("", "/proc/self/status", "VmData:"), NULL);
  return room.bytes;
}

int64_t wr_thread_stack_bytes(void) {
  static const char units[] = "BKMG";
  size_t usual = 8 << 20;
  pthread_attr_t attributes;
  if (pthread_getattr_default_np(&attributes) == 0) {
    pthread_attr_getstacksize(&attributes, &usual);
    pthread_attr_destroy(&attributes);
  }
  const char *text = getenv("OMP_STACKSIZE"); /* "64 M"; KiB where no unit is given */
  int64_t asked = text ? leading_count(text, &text) : -1;
  if (asked <= 0) return (int64_t)usual;
  text += strspn(text, " \t");
  const char *unit = *text ? strchr(units, *text & ~0x20) : NULL;
  int shift = unit ? 10 * (int)(unit - units) : 10;
  return asked > INT64_MAX >> shift ? INT64_MAX : asked << shift;
}

/* ---- together ---- */

/* Bytes that were allocated and have not been touched, so that the system does not count them yet. The C library gives
 * the sum of its blocks; a sanitizer's allocator gives 0. */
static int64_t promised(const char *root) {
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
  struct mallinfo2 blocks = mallinfo2();
  int64_t touched =
      count_or_zero(root, "/proc/self/status", "RssAnon:") + count_or_zero(root, "/proc/self/status", "VmSwap:");
  int64_t allocated = (int64_t)(blocks.hblkhd + blocks.uordblks);
  return allocated > touched ? allocated - touched : 0;
#else
  (void)root;
  return 0;
#endif
}

wr_memory_room wr_memory_available(const char *root) {
  wr_memory_room room = {INT64_MAX, "nothing"};
  char meminfo[PATH_BYTES];
  int64_t available = INT64_MAX;
  snprintf(meminfo, sizeof meminfo, "%s/proc/meminfo", root);
  if (read_count(meminfo, "MemAvailable:", &available)) take_least(&room, available, "the machine");
  wr_control_groups_visit(root, "memory", limit_by_group, &room);
  if (room.bytes < INT64_MAX) {
    int64_t bytes = room.bytes - promised(root);
    if (__builtin_add_overflow(bytes, count_or_zero(root, "/proc/meminfo", "SwapFree:"), &bytes)) bytes = INT64_MAX;
    room.bytes = bytes > 0 ? bytes : 0;
  }
  int64_t space = wr_address_space_left();
  if (space < INT64_MAX) {
    int64_t stacks;
    if (__builtin_mul_overflow(wr_thread_stack_bytes(), omp_get_max_threads() - 1, &stacks)) stacks = space;
    take_least(&room, space - stacks, "ulimit");
  }
  return room;
}

static const char *size_text(int64_t bytes, char text[32]) {
  if (bytes < 1000000000)
    snprintf(text, 32, "%.1f MB", (double)bytes / 1e6);
  else
    snprintf(text, 32, "%.1f GB", (double)bytes / 1e9);
  return text;
}

wr_status wr_memory_check(int64_t bytes, const char *what) {
  char asked[32], there[32];
  wr_memory_room room = wr_memory_available("");
  if (bytes <= room.bytes) return WR_OK;
  return wr_fail(WR_ENOMEM, "out of memory: %s asked for %s; %s are available (%s)", size_text(bytes, asked), what,
                 size_text(room.bytes, there), room.limit);
}

wr_status wr_memory_check_block(int64_t bytes, const char *what) {
  if (bytes < LARGE_UNDER_LIMIT) return WR_OK;
  int limited = limit_of(RLIMIT_AS) < INT64_MAX || limit_of(RLIMIT_DATA) < INT64_MAX;
  return bytes >= LARGE || limited ? wr_memory_check(bytes, what) : WR_OK;
}
