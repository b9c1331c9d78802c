#define _GNU_SOURCE /* sched_getaffinity, CPU_COUNT */
#include "solvers/report/machine.h"

#include <glob.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "config/version.h"
#include "spmv/device/env.h"

/* "model name<tab>: NAME" of /proc/cpuinfo; name stays as it is if there is no such line. */
static void read_cpu_name(char *name, size_t size) {
  FILE *file = fopen("/proc/cpuinfo", "r");
  if (!file) return;
  char line[256];
  while (fgets(line, sizeof line, file)) {
    const char *colon = strchr(line, ':');
    if (strncmp(line, "model name", 10) != 0 || !colon) continue;
    const char *value = colon + 1 + strspn(colon + 1, " \t");
    snprintf(name, size, "%.*s", (int)strcspn(value, "\n"), value);
    break;
  }
  fclose(file);
}

/* If the affinity mask is larger than cpu_set_t, the call fails, and all online processors are counted. */
static int count_cores(void) {
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof mask, &mask) == 0) return CPU_COUNT(&mask);
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? (int)online : 1;
}

int wr_machine_has_gpu(const char *folder) {
  char pattern[4096];
  glob_t found = {0};
  snprintf(pattern, sizeof pattern, "%s/nvidia[0-9]*", folder);
  int has = glob(pattern, GLOB_NOSORT, NULL, &found) == 0;
  globfree(&found);
  return has;
}

wr_machine wr_machine_get(void) {
  struct utsname names = {0};
  wr_machine machine = {.cores = count_cores(), .cuda = "none"};
  if (uname(&names) != 0) snprintf(names.sysname, sizeof names.sysname, "unknown");
  snprintf(machine.system, sizeof machine.system, "%.40s %.60s %.20s", names.sysname, names.release, names.machine);
  snprintf(machine.cpu, sizeof machine.cpu, "%s", names.machine);
  read_cpu_name(machine.cpu, sizeof machine.cpu);
  long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  if (pages > 0 && page > 0) machine.memory_bytes = (double)pages * (double)page;
#if defined(__clang__)
  snprintf(machine.compiler, sizeof machine.compiler, "clang %d.%d.%d", __clang_major__, __clang_minor__,
           __clang_patchlevel__);
#else
  snprintf(machine.compiler, sizeof machine.compiler, "gcc %s", __VERSION__);
#endif
  int toolkit = wr_cuda_toolkit();
  if (toolkit > 0) snprintf(machine.cuda, sizeof machine.cuda, "%d.%d", toolkit / 1000, toolkit % 1000 / 10);
  return machine;
}

/* Facts that the system does not provide are empty or null. */
void wr_machine_write(wr_json *json) {
  wr_machine machine = wr_machine_get();
  wr_json_begin(json, "machine", '{');
  wr_json_text(json, "cpu", machine.cpu);
  wr_json_integer(json, "cores", machine.cores);
  wr_json_positive(json, "memory_bytes", machine.memory_bytes);
  wr_json_text(json, "system", machine.system);
  wr_json_end(json, '}');
  wr_json_begin(json, "versions", '{');
  wr_json_text(json, "windrow", WR_VERSION);
  wr_json_text(json, "compiler", machine.compiler);
  wr_json_text(json, "cuda", machine.cuda);
  wr_json_end(json, '}');
}
