#include "spmv/choose/cost_model.h"

#include <math.h>
#include <string.h>

#include "config/hash.h"
#include "spmv/choose/cost_table.h"

static const cost_class *class_of(const char *device_name, int *is_known) {
  for (size_t k = 0; k < sizeof classes / sizeof *classes; k++) {
    *is_known = strstr(device_name, classes[k].device) != NULL;
    if (*is_known) return &classes[k];
  }
  return classes;
}

const char *wr_cost_device(const char *device_name, int *is_known) { return class_of(device_name, is_known)->device; }

/* Whether lane_csr has 16-bit columns, which depends on the size of its entries (windows_from in lane_csr_build.cu). */
static int has_windows(const wr_matrix_features *f, wr_type type) {
  double size = f->valued ? (double)wr_type_bytes(type) : 0, caches = size > 0 ? 0.5 : 1;
  if (type == WR_F32) caches = size > 0 ? 2 : INFINITY;
  return f->narrow >= LEAST_NARROW && (double)f->nnz * (4 + size) > caches * NARROW_BYTES;
}

char wr_cost_layout(const wr_backend *backend, const wr_plan_info *info, const wr_matrix_features *f, wr_type type) {
  if (strcmp(backend->name, "bsr_unrolled") == 0) return info->chosen[0] * info->chosen[1] == 1 ? '1' : 'b';
  if (strcmp(backend->name, "sell_coded") == 0 || strcmp(backend->name, "sliced_dia") == 0)
    return f->valued && info->format_bytes >= f->nnz * wr_type_bytes(type) ? 'v' : 'c';
  if (strcmp(backend->name, "lane_csr") == 0)
    return f->hubs >= LEAST_HUBS && f->nnz >= LEAST_HUB_ENTRIES ? 'h' : has_windows(f, type) ? 'w' : 'n';
  return '-';
}

/* The terms, in the order and units of auto_fit.py. A linear sum of bytes, sectors and entries stands in for the maximum of
 * what each of them takes alone, which is 1 to 2 times less; the fit has settled that for what is usual. */
static void cost_terms(const wr_plan_info *info, const wr_matrix_features *f, wr_type type, double *hot,
                       double *prepare) {
  double rows = fmax(1, (double)f->nrows), entries = fmax(1, (double)f->nnz), mean = entries / rows;
  double x_bytes = fmax(1, (double)(f->ncols * wr_type_bytes(type))), most = (double)f->most;
  double beyond = fmax(0, info->apply_bytes - CACHE_BYTES) / 1e6; /* MB that the second-level cache does not hold */
  double far_x = fmax(0, x_bytes - X_CACHE_BYTES) / x_bytes;      /* the share of x that it does not hold */
  const double by_hot[WR_HOT_TERMS] = {
      1,                                            /* a launch                                              */
      fmin(info->apply_bytes, CACHE_BYTES) / 1e6,   /* MB from the cache                                     */
      beyond,                                       /* MB from memory                                        */
      f->gather * entries / 1e6,                    /* M sectors of x, by consecutive entries                */
      f->row_gather * entries / 1e6,                /* and by neighbouring rows                              */
      f->gather * entries * far_x / 1e6,            /* those of them that come from memory                   */
      f->row_gather * entries * far_x / 1e6,
      rows / 1e6,
      most / 1e3,                                   /* one thread's or one warp's chain of entries           */
      f->lockstep * mean / 1e3,                     /* the same of an average group of rows                  */
      entries * fmin(1, mean / 32) / 1e6,           /* entries of long rows, which a thread a row reads apart */
      f->spread * rows / 1e6,                       /* entries by which rows differ                          */
      f->gather * entries * (1 - f->hubs) / 1e6,    /* sectors of x that hubs in shared memory leave         */
      f->tile_gather * entries / 1e6 * fmin(1, x_bytes / X_NEAR_BYTES), /* that first-level caches leave      */
  };
  const double by_prepare[WR_PREPARE_TERMS] = {1, entries / 1e6, rows / 1e6, most / 1e3, beyond, log2(1 + mean)};
  memcpy(hot, by_hot, sizeof by_hot);
  memcpy(prepare, by_prepare, sizeof by_prepare);
}

static const double host_bandwidth = 2e10, block_cost = 0.85, block_prepare = 15, single_cost = 1.1;

wr_cost wr_cost_least_host(const wr_matrix_features *f, wr_type type) {
  double values = (double)f->nnz * (f->valued ? (double)wr_type_bytes(type) : 0), rows = 4 * (double)f->nnz + values;
  return (wr_cost){.prepare = block_prepare * rows / host_bandwidth, .multiply = block_cost * values / host_bandwidth};
}

wr_cost wr_cost_expect_host(const wr_plan_info *info, const wr_matrix_features *f, wr_type type) {
  wr_cost cost = {.multiply = info->apply_bytes / host_bandwidth};
  if (info->chosen[0] == 0) return cost; /* no blocks */
  cost.prepare = wr_cost_least_host(f, type).prepare;
  cost.multiply *= info->chosen[0] * info->chosen[1] == 1 ? single_cost : block_cost;
  return cost;
}

static uint64_t with_double(uint64_t id, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return wr_hash(id, bits);
}

uint64_t wr_cost_id(const char *device_name) {
  int is_known;
  uint64_t id = with_double(with_double(with_double(0, host_bandwidth), block_cost), block_prepare);
  id = with_double(id, single_cost);
  if (device_name == NULL) return id;
  const cost_class *class = class_of(device_name, &is_known);
  id = with_double(with_double(with_double(0, CACHE_BYTES), X_CACHE_BYTES), LEAST_HUBS);
  id = with_double(with_double(with_double(id, X_NEAR_BYTES), LEAST_HUB_ENTRIES), LEAST_NARROW);
  id = with_double(with_double(with_double(id, NARROW_BYTES), MIDDLING_ROWS), LONG_ROWS);
  for (int k = 0; k < class->count; k++) {
    const wr_cost_row *row = &class->rows[k];
    for (const char *c = row->backend; *c; c++) id = wr_hash(id, (uint64_t)*c);
    id = wr_hash(id, (uint64_t)row->layout << 8 | (uint64_t)row->type << 4 | (uint64_t)row->valued);
    for (int group = 0; group < WR_COST_GROUPS; group++)
      for (int term = 0; term < WR_HOT_TERMS; term++) id = with_double(id, (double)row->hot[group][term]);
    for (int term = 0; term < WR_PREPARE_TERMS; term++) id = with_double(id, (double)row->prepare[term]);
  }
  return id;
}

/* What the table does not have, as it is fitted to plain multiplies of prepared plans (docs/auto.md). Seconds. */
typedef struct beside {
  const char *backend;
  double first; /* of the first preparation and multiply of a process beyond those of csr_warp, as a backend's kernels are */
                /* loaded, all of a source file at once                                                                    */
  double plan;  /* of a plan that reads a sample of the entries                                                            */
  double epilogue, epilogue_row; /* of a multiply in a solve: of any, and of a row                                         */
} beside;

static beside beside_of(const wr_backend *backend) {
  static const beside table[] = {
      {"csr_thread_unrolled", 1.0e-3, 0, 6.9e-6, 5.2e-12}, {"csr_warp", 0, 0, 8.3e-6, 59.9e-12},
      {"merge_csr", 0.45e-3, 0, 6.3e-6, 7.8e-12},          {"merbit", 2.0e-3, 0, 8.5e-6, 3.8e-12},
      {"lane_csr", 1.9e-3, 0, 8.1e-6, 4.6e-12},            {"sell", 2.0e-3, 0, 8.4e-6, 3.7e-12},
      {"sell_coded", 2.4e-3, 0.4e-3, 8.2e-6, 3.1e-12},     {"sliced_dia", 1.1e-3, 0.3e-3, 8.5e-6, 3.0e-12},
      {"bsr_unrolled", 4.2e-3, 1e-3, 9.9e-6, 12.2e-12}};
  for (size_t k = 0; k < sizeof table / sizeof *table; k++)
    if (strcmp(table[k].backend, backend->name) == 0) return table[k];
  return (beside){0};
}

static double epilogue_of(const beside *b, const wr_matrix_features *f) {
  return b->epilogue + b->epilogue_row * (double)f->nrows;
}

static double sum(const float *coefficient, const double *term, int count) {
  double total = 0;
  for (int k = 0; k < count; k++) total += (double)coefficient[k] * term[k];
  return total * 1e-6;
}

static int group_of(const wr_matrix_features *f) {
  double mean = (double)f->nnz / fmax(1, (double)f->nrows);
  return 3 * (f->nnz >= FEW_ENTRIES) + (mean >= MIDDLING_ROWS) + (mean >= LONG_ROWS);
}

static int is_of(const wr_cost_row *row, const wr_backend *backend, const wr_matrix_features *f, wr_type type) {
  return strcmp(row->backend, backend->name) == 0 && row->type == type && row->valued == f->valued;
}

int wr_cost_expect(const char *device_name, const wr_backend *backend, const wr_plan_info *info,
                   const wr_matrix_features *f, wr_type type, wr_cost *cost) {
  int is_known;
  double hot[WR_HOT_TERMS], prepare[WR_PREPARE_TERMS];
  const cost_class *class = class_of(device_name, &is_known);
  const beside other = beside_of(backend);
  char layout = wr_cost_layout(backend, info, f, type);
  cost_terms(info, f, type, hot, prepare);
  for (int k = 0; k < class->count; k++) {
    const wr_cost_row *row = &class->rows[k];
    if (!is_of(row, backend, f, type) || row->layout != layout) continue;
    *cost = (wr_cost){sum(row->prepare, prepare, WR_PREPARE_TERMS), sum(row->hot[group_of(f)], hot, WR_HOT_TERMS),
                      epilogue_of(&other, f), other.first};
    return 1;
  }
  return 0;
}

wr_cost wr_cost_least(const char *device_name, const wr_backend *backend, const wr_matrix_features *f, wr_type type) {
  int is_known;
  wr_cost least = {.prepare = INFINITY, .multiply = INFINITY};
  const cost_class *class = class_of(device_name, &is_known);
  const beside other = beside_of(backend);
  for (int k = 0; k < class->count; k++) {
    const wr_cost_row *row = &class->rows[k];
    if (!is_of(row, backend, f, type)) continue;
    /* Values that f32 holds have 4 bytes in some formats. */
    double bytes = (double)((f->nrows + f->ncols) * wr_type_bytes(type)) +
                   (f->valued && row->layout != 'c' ? 4 * (double)f->nnz : 0);
    const float *hot = row->hot[group_of(f)];
    double multiply = hot[0] + hot[1] * fmin(bytes, CACHE_BYTES) / 1e6 + hot[2] * fmax(0, bytes - CACHE_BYTES) / 1e6;
    least.prepare = fmin(least.prepare, row->prepare[0] * 1e-6), least.multiply = fmin(least.multiply, multiply * 1e-6);
    least.first = other.first + other.plan, least.epilogue = epilogue_of(&other, f);
  }
  return isfinite(least.multiply) ? least : (wr_cost){0};
}
