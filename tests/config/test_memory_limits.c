/* What memory is available, told from files of /proc and /sys that the test writes into a folder of its own, and from limits
 * that it sets. */
#define _GNU_SOURCE
#include "config/memory_limits.h"

#include <errno.h>
#include <omp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config/memory.h"
#include "tests/check.h"

#ifndef __has_feature
#define __has_feature(feature) 0
#endif

static char root[512];

/* Writes the file root/path, with the folders above it. */
static void put(const char *path, const char *format, ...) WR_PRINTF(2, 3);

static void put(const char *path, const char *format, ...) {
  char name[1024];
  snprintf(name, sizeof name, "%s%s", root, path);
  for (char *slash = strchr(name + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    CHECK(mkdir(name, 0700) == 0 || errno == EEXIST);
    *slash = '/';
  }
  FILE *file = fopen(name, "w");
  va_list values;
  va_start(values, format);
  CHECK(file && vfprintf(file, format, values) >= 0);
  va_end(values);
  if (file) fclose(file);
}

/* A new folder; all of this process counts as touched. */
static void begin(void) {
  snprintf(root, sizeof root, "%s/windrow-limits-XXXXXX", wr_test_folder());
  CHECK(mkdtemp(root) != NULL);
  put("/proc/self/status", "VmSize:\t 9 kB\nRssAnon:\t 100000000 kB\nVmSwap:\t 0 kB\n");
}

static void end(void) {
  pid_t child = fork();
  if (child == 0) {
    execlp("rm", "rm", "-r", root, (char *)NULL);
    _exit(1);
  }
  int status = 1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
}

static void check_available(int64_t bytes, const char *limit) {
  wr_memory_room room = wr_memory_available(root);
  CHECKF(room.bytes == bytes && strstr(room.limit, limit), "%lld bytes by %s, not %lld by %s", (long long)room.bytes,
         room.limit, (long long)bytes, limit);
}

enum { KIB = 1024, MIB = 1024 * KIB };

static void test_machine(void) {
  CASE("nothing is known");
  begin();
  check_available(INT64_MAX, "nothing");
  CASE("the machine's memory and free swap space");
  put("/proc/meminfo", "MemTotal: 900 kB\nMemFree: 100 kB\nMemAvailable:    500 kB\nSwapFree: 40 kB\n");
  check_available(540 * KIB, "the machine");
  put("/proc/meminfo", "MemAvailable: 500 kB\n");
  check_available(500 * KIB, "the machine");
  CASE("a word in place of a figure, and a figure beyond 64 bits");
  put("/proc/meminfo", "MemAvailable: much\n");
  check_available(INT64_MAX, "nothing");
  put("/proc/meminfo", "MemAvailable: 99999999999999999999999999 kB\nSwapFree: 1 kB\n");
  check_available(INT64_MAX, "nothing");
  end();
}

static void test_promised(void) {
  CASE("blocks that were allocated and not touched count");
  begin();
  put("/proc/self/status", "RssAnon: 0 kB\nVmSwap: 0 kB\n");
  put("/proc/meminfo", "MemAvailable: 1000000 kB\n");
  char *block = NULL;
  int64_t before = wr_memory_available(root).bytes;
  CHECK_OK(wr_alloc(&block, 50 * MIB, 1, "a test"));
  int64_t after = wr_memory_available(root).bytes;
  wr_free(block);
  int64_t freed = wr_memory_available(root).bytes;
  if (before == after) {
    SKIP("this C library or sanitizer does not say what it has allocated");
  } else {
    CHECKF(before - after >= 50 * MIB && before - after <= 56 * MIB, "%lld bytes", (long long)(before - after));
    CHECKF(llabs(freed - before) < MIB, "%lld bytes", (long long)(freed - before));
  }
  end();
}

static void test_groups(void) {
  CASE("control groups, version 2: the least of a group and those above it, file cache counted as free");
  begin();
  put("/proc/meminfo", "MemAvailable: 1000 kB\nSwapFree: 3 kB\n");
  put("/proc/self/cgroup", "0::/user/job\n");
  put("/sys/fs/cgroup/user/job/memory.max", "max\n");
  put("/sys/fs/cgroup/user/job/memory.current", "%d\n", 700 * KIB);
  check_available(1003 * KIB, "the machine");
  put("/sys/fs/cgroup/user/memory.max", "%d\n", 800 * KIB);
  put("/sys/fs/cgroup/user/memory.current", "%d\n", 700 * KIB);
  check_available(103 * KIB, "control group");
  put("/sys/fs/cgroup/user/memory.stat", "anon 1\nactive_file %d\nfile 7\ninactive_file %d\n", 20 * KIB, 30 * KIB);
  check_available(153 * KIB, "control group");
  put("/sys/fs/cgroup/user/job/memory.max", "%d\n", 600 * KIB);
  check_available(3 * KIB, "control group"); /* more is used than may be */
  end();
  CASE("a container, which shows its own group as the root");
  begin();
  put("/proc/self/cgroup", "0::/\n");
  put("/sys/fs/cgroup/memory.max", "%d\n", 300 * KIB);
  put("/sys/fs/cgroup/memory.current", "%d\n", 100 * KIB);
  check_available(200 * KIB, "control group");
  end();
  CASE("control groups, version 1, of a container that is shown the machine's name of its group");
  begin();
  put("/proc/self/cgroup", "5:cpu:/x\n4:memory:/docker/abc\n0::/\n");
  put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "%d\n", 300 * KIB);
  put("/sys/fs/cgroup/memory/memory.usage_in_bytes", "%d\n", 100 * KIB);
  put("/sys/fs/cgroup/memory/memory.stat", "inactive_file 1\ntotal_inactive_file %d\ntotal_active_file 0\n", 8 * KIB);
  check_available(208 * KIB, "control group");
  end();
  CASE("a control group without a limit, and with a file cache that seems larger than all that it uses");
  begin();
  put("/proc/meminfo", "MemAvailable: 500 kB\n");
  put("/proc/self/cgroup", "4:memory:/x\n");
  put("/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "9223372036854771712\n");
  put("/sys/fs/cgroup/memory/x/memory.usage_in_bytes", "1000\n");
  put("/sys/fs/cgroup/memory/x/memory.stat", "total_inactive_file 5000\ntotal_active_file 4000\n");
  check_available(500 * KIB, "machine");
  end();
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || __has_feature(address_sanitizer) || \
    __has_feature(thread_sanitizer)

static void test_limits(void) { SKIP("a sanitizer needs an address space without limits"); }

#else

/* Limits are the process's for good where they are lowered by a child. */
static int within_limit(int resource, int64_t bytes) {
  struct rlimit limit = {.rlim_cur = (rlim_t)bytes, .rlim_max = (rlim_t)bytes};
  omp_set_num_threads(2); /* on a machine with many processors the stacks of all would take the memory */
  if (setrlimit(resource, &limit) != 0) return 1;
  int64_t left = wr_address_space_left();
  if (left <= 0 || left >= bytes) return 2;
  char *block;
  if (wr_alloc(&block, left / 2, 1, "half of it") != WR_OK) return 3;
  if (wr_alloc(&block, left, 1, "all of it") != WR_ENOMEM) return 4;
  if (!strstr(wr_status_message(), "all of it; ") || !strstr(wr_status_message(), "are available (ulimit)")) return 5;
  omp_set_num_threads(1000000); /* their stacks have to fit, too */
  return wr_memory_available("").bytes == 0 ? 0 : 6;
}

static void test_limits(void) {
  static const struct {
    const char *name;
    int resource;
  } limits[] = {{"the address space is limited", RLIMIT_AS}, {"data are limited", RLIMIT_DATA}};
  for (int k = 0; k < 2; k++) {
    CASE(limits[k].name);
    pid_t child = fork();
    if (child == 0) _exit(within_limit(limits[k].resource, INT64_C(1) << 30));
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    CHECKF(WEXITSTATUS(status) == 0, "check %d failed", WEXITSTATUS(status));
  }
}

#endif

static void test_check(void) {
  CASE("a need is compared with what there is");
  CHECK_OK(wr_memory_check(0, "nothing"));
  CHECK_OK(wr_memory_check(MIB, "a little"));
  if (wr_memory_available("").bytes == INT64_MAX) {
    SKIP("this system does not say what is available");
    return;
  }
  CHECK_FAILS(WR_ENOMEM, wr_memory_check(INT64_C(1) << 60, "a test"));
  CHECK_MESSAGE("out of memory: 1152921504.6 GB asked for a test; ");
  CHECK_MESSAGE(" are available (");
  char *block;
  CHECK_FAILS(WR_ENOMEM, wr_alloc(&block, INT64_C(1) << 50, 1, "a block"));
  CHECK(block == NULL);
  CHECK_MESSAGE(" are available (");
}

static void test_stack(void) {
  CASE("stacks of threads");
  static const struct {
    const char *text;
    int64_t bytes;
  } sizes[] = {
      {"64", 64 * KIB}, {"100b", 100}, {" 3 M ", 3 * MIB}, {"2g", INT64_C(2) << 30}, {"9999999999999999 G", INT64_MAX}};
  unsetenv("OMP_STACKSIZE");
  int64_t usual = wr_thread_stack_bytes();
  CHECKF(usual >= 16 * KIB, "%lld", (long long)usual);
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    setenv("OMP_STACKSIZE", sizes[k].text, 1);
    CHECKF(wr_thread_stack_bytes() == sizes[k].bytes, "'%s': %lld", sizes[k].text, (long long)wr_thread_stack_bytes());
  }
  setenv("OMP_STACKSIZE", "large", 1);
  CHECK(wr_thread_stack_bytes() == usual);
  unsetenv("OMP_STACKSIZE");
}

int main(void) {
  test_machine();
  test_promised();
  test_groups();
  test_limits();
  test_check();
  test_stack();
  return wr_test_report("memory_limits");
}
