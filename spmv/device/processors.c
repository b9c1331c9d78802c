#include "spmv/device/processors.h"

#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "config/option.h"

enum { PATH_ROOM = 4096, MOST_THREADS = 4096 }; /* the most that --threads takes */

static double least_limit(double a, double b) { return a <= 0 ? b : b <= 0 || a < b ? a : b; }

/* Microseconds as a control group's file has them; 0: it is "max" or -1, which stand for no limit. */
static double microseconds(const char *word) {
  static const wr_option row[] = {{.name = "microseconds", .type = WR_OPTION_INT, .min = 1, .max = 1e15},
                                  {.name = NULL}};
  int64_t value = 0;
  return wr_option_set(row, &value, row->name, word, "a control group's file") == WR_OK ? (double)value : 0;
}

/* The first words of a file, as many as it has and `words` takes; what is not there is "". */
static void read_words(const char *folder, const char *file, int count, char words[][32]) {
  char path[PATH_ROOM + 32], line[128] = "", *at = line;
  snprintf(path, sizeof path, "%s/%s", folder, file);
  FILE *in = fopen(path, "r");
  if (in != NULL) {
    if (fgets(line, sizeof line, in) == NULL) line[0] = '\0';
    fclose(in);
  }
  for (int k = 0; k < count; k++) {
    at += strspn(at, " \n");
    size_t length = strcspn(at, " \n");
    snprintf(words[k], sizeof words[k], "%.*s", (int)length, at);
    at += length;
  }
}

/* Of one folder: version 2 has quota and period in a file, version 1 in two. */
static double limit_of_folder(const char *folder) {
  char words[2][32];
  read_words(folder, "cpu.max", 2, words);
  if (words[0][0] == '\0') {
    read_words(folder, "cpu.cfs_quota_us", 1, words);
    read_words(folder, "cpu.cfs_period_us", 1, words + 1);
  }
  double quota = microseconds(words[0]), period = microseconds(words[1]);
  return quota > 0 && period > 0 ? quota / period : 0;
}

/* The least limit of root/sys/fs/cgroup/mount/group and of the groups above. A container may see its own group as the mount's
 * root, under a name that is another one outside. */
static double limit_of(const char *root, const char *mount, const char *group) {
  char folder[PATH_ROOM];
  double limit = 0;
  int used = snprintf(folder, sizeof folder, "%s/sys/fs/cgroup%s%s", root, mount, group);
  if (used < 0 || used >= (int)sizeof folder) return 0;
  size_t top = strlen(folder) - strlen(group);
  for (;;) {
    limit = least_limit(limit, limit_of_folder(folder));
    char *slash = strrchr(folder + top, '/');
    if (slash == NULL) return limit;
    *slash = '\0';
  }
}

/* A line of /proc/self/cgroup is number:controllers:group; version 2 has number 0 and no controllers. */
static double limit_of_line(const char *root, char *line) {
  char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
  if (group == NULL) return 0;
  *controllers++ = '\0', *group++ = '\0';
  group[strcspn(group, "\n")] = '\0';
  if (controllers[0] == '\0') return limit_of(root, "", group);
  char list[128], mount[132];
  snprintf(list, sizeof list, ",%s,", controllers);
  if (strstr(list, ",cpu,") == NULL) return 0;
  snprintf(mount, sizeof mount, "/%.126s", controllers); /* "cpu,cpuacct"; "cpu" is a link to it */
  return least_limit(limit_of(root, mount, group), limit_of(root, "/cpu", group));
}

double wr_processor_quota(const char *root) {
  char line[PATH_ROOM];
  double limit = 0;
  snprintf(line, sizeof line, "%s/proc/self/cgroup", root);
  FILE *in = fopen(line, "r");
  if (in == NULL) return 0;
  while (fgets(line, sizeof line, in)) limit = least_limit(limit, limit_of_line(root, line));
  fclose(in);
  return limit;
}

int wr_default_threads(void) {
  double quota = wr_processor_quota("");
  int threads = omp_get_max_threads() < MOST_THREADS ? omp_get_max_threads() : MOST_THREADS;
  return quota > 0 && ceil(quota) < threads ? (int)ceil(quota) : threads;
}
