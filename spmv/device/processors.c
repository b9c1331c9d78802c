#include "spmv/device/processors.h"

#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/clock.h"
#include "config/control_group.h"
#include "config/option.h"

enum { PATH_ROOM = 4096, MOST_THREADS = 4096 }; /* the most that --threads takes */

static double least_limit(double a, double b) { return a <= 0 ? b : b <= 0 || a < b ? a : b; }

/* Microseconds from a word of a control group's file; 0 for "max" or -1, which mean no limit. */
static double microseconds(const char *word) {
  static const wr_option row[] = {{.name = "microseconds", .type = WR_OPTION_INT, .min = 1, .max = 1e15},
                                  {.name = NULL}};
  int64_t value = 0;
  return wr_option_set(row, &value, row->name, word, "a control group's file") == WR_OK ? (double)value : 0;
}

/* words[count] := the first words of a file; "" for those beyond its end or if there is no file. */
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

/* The limit of one control group: version 2 has quota and period in one file, version 1 in two. */
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

static void take_limit(const char *folder, int version, void *limit) {
  double *least = limit;
  (void)version; /* limit_of_folder looks for the files of both */
  *least = least_limit(*least, limit_of_folder(folder));
}

double wr_processor_quota(const char *root) {
  double limit = 0;
  wr_control_groups_visit(root, "cpu", take_limit, &limit);
  return limit;
}

static _Atomic int most_prompt; /* 0: not tried */

int wr_default_threads(void) {
  double quota = wr_processor_quota("");
  int threads = omp_get_max_threads() < MOST_THREADS ? omp_get_max_threads() : MOST_THREADS;
  if (quota > 0 && ceil(quota) < threads) threads = (int)ceil(quota);
  return most_prompt > 0 && most_prompt < threads ? most_prompt : threads;
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double start_seconds(int threads) {
  enum { LOOPS = 9 };
  double took[LOOPS];
  int begun = 0;
  for (int k = -1; k < LOOPS; k++) { /* the first one creates the threads */
    double begin = wr_clock();
#pragma omp parallel num_threads(threads) reduction(+ : begun)
    begun++;
    if (k >= 0) took[k] = wr_clock() - begin;
  }
  qsort(took, LOOPS, sizeof *took, compare);
  return took[LOOPS / 2];
}

int wr_prompt_threads(int threads, double (*seconds)(int threads)) {
  const double prompt = 0.2e-3;
  const int least = 8;
  while (threads > least && seconds(threads) > prompt) threads = threads * 3 / 4 > least ? threads * 3 / 4 : least;
  return threads;
}

int wr_default_threads_try(void) {
  int threads = wr_default_threads();
  if (most_prompt > 0 || getenv("OMP_NUM_THREADS") != NULL) return 0;
  most_prompt = wr_prompt_threads(threads, start_seconds);
  return most_prompt < threads;
}
