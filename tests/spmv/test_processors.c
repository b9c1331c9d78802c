/* The processors that control groups allow a process, read from trees of files like those under /proc and /sys/fs/cgroup. */
#define _XOPEN_SOURCE 700 /* mkdtemp, nftw */
#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "spmv/device/processors.h"
#include "tests/check.h"

/* Writes root/path and makes its folders. */
static void put(const char *root, const char *path, const char *text) {
  char full[512];
  snprintf(full, sizeof full, "%s/%s", root, path);
  for (char *at = full + strlen(root) + 1; (at = strchr(at, '/')) != NULL; *at++ = '/') {
    *at = '\0';
    mkdir(full, 0700);
  }
  FILE *out = fopen(full, "w");
  CHECKF(out != NULL, "%s cannot be written", full);
  if (out == NULL) return;
  fputs(text, out);
  fclose(out);
}

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *place) {
  (void)facts, (void)kind, (void)place;
  return remove(path);
}

typedef struct tree {
  const char *name;
  double quota;
  const char *file[5][2]; /* paths and texts */
} tree;

static const tree trees[] = {
    {"no control groups", 0, {{NULL}}},
    {"version 2, seen from inside a container", 1.5,
     {{"proc/self/cgroup", "0::/\n"}, {"sys/fs/cgroup/cpu.max", "150000 100000\n"}}},
    {"version 2, a group that has no limit", 0,
     {{"proc/self/cgroup", "0::/a\n"}, {"sys/fs/cgroup/a/cpu.max", "max 100000\n"}}},
    {"version 2, a limit further up is the lower one", 2,
     {{"proc/self/cgroup", "0::/a/b/c\n"}, {"sys/fs/cgroup/a/cpu.max", "200000 100000\n"},
      {"sys/fs/cgroup/a/b/cpu.max", "max 100000\n"}, {"sys/fs/cgroup/a/b/c/cpu.max", "800000 100000\n"}}},
    {"version 1", 0.25,
     {{"proc/self/cgroup", "5:memory:/x\n4:cpu,cpuacct:/x\n0::/\n"},
      {"sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us", "25000\n"},
      {"sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us", "100000\n"}}},
    {"version 1, no limit", 0,
     {{"proc/self/cgroup", "4:cpu,cpuacct:/x\n"}, {"sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us", "-1\n"},
      {"sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us", "100000\n"}}},
    {"version 1 under a name that is another one outside", 3,
     {{"proc/self/cgroup", "2:cpuset:/docker/0a1b\n1:cpu:/docker/0a1b\n"},
      {"sys/fs/cgroup/cpu/cpu.cfs_quota_us", "300000\n"}, {"sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"}}},
    {"a group of another controller", 0,
     {{"proc/self/cgroup", "2:cpuset:/x\n"}, {"sys/fs/cgroup/cpuset/x/cpu.cfs_quota_us", "100000\n"},
      {"sys/fs/cgroup/cpuset/x/cpu.cfs_period_us", "100000\n"}}},
    {"files without sense", 0,
     {{"proc/self/cgroup", "rubbish\n::::\n0:\n\n0::/\n"}, {"sys/fs/cgroup/cpu.max", "many 0\n"}}},
    {"a period of nothing", 0, {{"proc/self/cgroup", "0::/\n"}, {"sys/fs/cgroup/cpu.max", "100000 0\n"}}},
    {"an empty file", 0, {{"proc/self/cgroup", "0::/\n"}, {"sys/fs/cgroup/cpu.max", ""}}},
};

static int slow_from; /* threads */

static double seconds_of(int threads) { return threads < slow_from ? 10e-6 : 8e-3; }

int main(void) {
  for (size_t t = 0; t < sizeof trees / sizeof *trees; t++) {
    char root[] = "/tmp/windrow.XXXXXX";
    CASE(trees[t].name);
    if (mkdtemp(root) == NULL) {
      CHECKF(0, "no folder can be made in /tmp");
      continue;
    }
    for (int f = 0; f < 5 && trees[t].file[f][0]; f++) put(root, trees[t].file[f][0], trees[t].file[f][1]);
    double quota = wr_processor_quota(root);
    CHECKF(quota == trees[t].quota, "%g processors, not %g", quota, trees[t].quota);
    nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
  }
  CASE("threads that start soon");
  slow_from = 33;
  int found = wr_prompt_threads(64, seconds_of);
  CHECKF(found == 27, "%d threads", found); /* 64, 48, 36, 27 */
  CHECK(wr_prompt_threads(32, seconds_of) == 32);
  slow_from = 2;
  CHECK(wr_prompt_threads(64, seconds_of) == 8); /* no fewer, ... */
  CHECK(wr_prompt_threads(9, seconds_of) == 8);
  CHECK(wr_prompt_threads(4, seconds_of) == 4); /* ... and few stay as they are */
  CASE("here");
  int before = wr_default_threads(), is_lower = wr_default_threads_try();
  CHECK(is_lower == (wr_default_threads() < before) && (before <= 8 || wr_default_threads() >= 8));
  int threads = wr_default_threads();
  CHECKF(threads >= 1 && threads <= 4096, "%d threads", threads);
  return wr_test_report("processors");
}
