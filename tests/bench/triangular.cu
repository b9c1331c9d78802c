/* Times solves with the factors of ILU(0) on a card: by windrow in each way in which its blocks can wait, and by
 * cusparseSpSV with its analysis done before; beside one multiply of the default backend.
 *
 *   triangular [--given|--colour] [--f32|--f64] [--blocks N] MATRIX...      MATRIX: a file, or gen:FAMILY:key=value
 *
 * --given: rows in the order of the file; --colour: by colours of blocks; else by reverse Cuthill-McKee if that has fewer
 * levels. Prints a line of JSON
 * for each matrix and type; times are medians, in microseconds, of L and U together. `difference` is the largest between
 * windrow's and cuSPARSE's results, relative to the largest element. */
#include <cuda_runtime.h>
#include <cusparse.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "config/defaults.h"
#include "spmv/device/device_memory.h"
#include "spmv/precond/factor_cuda.h"
#include "spmv/precond/block_colour.h"
#include "spmv/precond/lu_cuda.h"
#include "spmv/precond/rcm.h"
#include "spmv/spmv.h"

extern "C" {
#include "solvers/api/source.h"
}

enum { BATCHES = 15 };

static void must(wr_status status, const char *what) {
  if (status == WR_OK) return;
  fprintf(stderr, "triangular: %s: %s\n", what, wr_status_message());
  exit(1);
}

static void must_sparse(int code, const char *what) {
  if (code == 0) return;
  fprintf(stderr, "triangular: %s: cuSPARSE error %d\n", what, code);
  exit(1);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- Factors ---- */

struct factors {
  std::vector<int64_t> l_ptr, u_ptr;
  std::vector<int32_t> l_col, u_col, order;
  std::vector<double> l_val, u_val, inverse;
  wr_lu lu = {};
  int64_t shifted = 0;
};

/* The pattern of A(order, order), sorted, with its values. */
static void split(const wr_csr *A, factors &f) {
  std::vector<int32_t> place((size_t)A->nrows);
  for (int64_t i = 0; i < A->nrows; i++) place[(size_t)f.order[(size_t)i]] = (int32_t)i;
  f.l_ptr = f.u_ptr = {0};
  f.inverse.assign((size_t)A->nrows, 0);
  std::vector<std::pair<int32_t, double>> row;
  for (int64_t i = 0; i < A->nrows; i++) {
    int64_t from = f.order[(size_t)i];
    row.clear();
    for (int64_t k = A->row_ptr[from]; k < A->row_ptr[from + 1]; k++)
      row.push_back({place[(size_t)A->col[k]], A->val ? A->val[k] : 1});
    std::sort(row.begin(), row.end());
    for (const auto &e : row)
      if (e.first < i)
        f.l_col.push_back(e.first), f.l_val.push_back(e.second);
      else if (e.first > i)
        f.u_col.push_back(e.first), f.u_val.push_back(e.second);
      else
        f.inverse[(size_t)i] = e.second;
    f.l_ptr.push_back((int64_t)f.l_col.size()), f.u_ptr.push_back((int64_t)f.u_col.size());
  }
}

static void refer(factors &f) {
  f.lu.n = (int64_t)f.inverse.size(), f.lu.l_ptr = f.l_ptr.data(), f.lu.u_ptr = f.u_ptr.data();
  f.lu.l_col = f.l_col.data(), f.lu.u_col = f.u_col.data(), f.lu.l_val = f.l_val.data(), f.lu.u_val = f.u_val.data();
  f.lu.inverse = f.inverse.data(), f.lu.order = f.order.data();
}

/* ILU(0), Saad 2003, algorithm 10.4; a pivot below 1e-6 of its row's largest element becomes WR_SHIFTED_PIVOT of
 * it. */
static void factorise(factors &f) {
  refer(f);
  size_t n = f.inverse.size();
  std::vector<double *> at(n);
  for (size_t i = 0; i < n; i++) {
    double size = fabs(f.inverse[i]);
    for (int64_t k = f.l_ptr[i]; k < f.l_ptr[i + 1]; k++)
      at[(size_t)f.l_col[(size_t)k]] = &f.l_val[(size_t)k], size = fmax(size, fabs(f.l_val[(size_t)k]));
    for (int64_t k = f.u_ptr[i]; k < f.u_ptr[i + 1]; k++)
      at[(size_t)f.u_col[(size_t)k]] = &f.u_val[(size_t)k], size = fmax(size, fabs(f.u_val[(size_t)k]));
    at[i] = &f.inverse[i];
    for (int64_t k = f.l_ptr[i]; k < f.l_ptr[i + 1]; k++) {
      size_t above = (size_t)f.l_col[(size_t)k];
      double factor = f.l_val[(size_t)k] *= f.inverse[above];
      for (int64_t e = f.u_ptr[above]; e < f.u_ptr[above + 1]; e++)
        if (at[(size_t)f.u_col[(size_t)e]]) *at[(size_t)f.u_col[(size_t)e]] -= factor * f.u_val[(size_t)e];
    }
    for (int64_t k = f.l_ptr[i]; k < f.l_ptr[i + 1]; k++) at[(size_t)f.l_col[(size_t)k]] = nullptr;
    for (int64_t k = f.u_ptr[i]; k < f.u_ptr[i + 1]; k++) at[(size_t)f.u_col[(size_t)k]] = nullptr;
    at[i] = nullptr;
    double least = size > 0 ? 1e-6 * size : 1;
    double shifted = size > 0 ? WR_SHIFTED_PIVOT * size : 1;
    if (!(fabs(f.inverse[i]) >= least)) f.inverse[i] = copysign(shifted, f.inverse[i]), f.shifted++;
    f.inverse[i] = 1 / f.inverse[i];
  }
}

static int64_t levels_of(factors &f) {
  wr_levels lower, upper;
  refer(f);
  must(wr_lu_levels(&f.lu, &lower, &upper), "levels");
  int64_t count = lower.count + upper.count;
  wr_levels_free(&lower), wr_levels_free(&upper);
  return count;
}

/* The matrix in parts, and f := its factors. order: given, rcm, colour, or auto: rcm if it has fewer levels than given; becomes
 * the one that was taken. */
static factors factors_of(const wr_csr *A, const char **order, factors &f) {
  factors g;
  bool is_auto = strcmp(*order, "auto") == 0;
  for (int64_t i = 0; i < A->nrows; i++) f.order.push_back((int32_t)i);
  split(A, f);
  if (strcmp(*order, "given") != 0) {
    g.order = f.order;
    must(wr_rcm(A, nullptr, g.order.data()), "an order");
    wr_block_colours colours;
    std::vector<int32_t> first = g.order;
    if (strcmp(*order, "colour") == 0)
      must(wr_block_colour(A, first.data(), atoi(WR_DEFAULT_BLOCK), nullptr, g.order.data(), &colours), "an order");
    split(A, g);
    bool takes = !is_auto || levels_of(g) < levels_of(f);
    if (takes) std::swap(f, g);
    if (is_auto) *order = takes ? "rcm" : "given";
  }
  g = f;
  factorise(f);
  return g;
}

/* ---- Times ---- */

/* Microseconds of one call, median over batches. */
static double median_us(wr_env *env, const std::function<void()> &call) {
  double elapsed, once = 0;
  std::vector<double> times;
  for (int turn = 0; turn < 2; turn++) {
    must(env->ops->stamp(env, 0), "a stamp");
    for (int k = 0; k < 3; k++) call();
    must(env->ops->stamp(env, 1), "a stamp");
    must(env->ops->elapsed(env, 0, 1, &once), "a time");
  }
  int calls = (int)fmin(200, fmax(1, 3e-3 / (once / 3)));
  for (int batch = 0; batch < BATCHES; batch++) {
    must(env->ops->stamp(env, 0), "a stamp");
    for (int k = 0; k < calls; k++) call();
    must(env->ops->stamp(env, 1), "a stamp");
    must(env->ops->elapsed(env, 0, 1, &elapsed), "a time");
    times.push_back(1e6 * elapsed / calls);
  }
  std::sort(times.begin(), times.end());
  return times[BATCHES / 2];
}

static double multiply_us(wr_env *env, wr_csr *A, const wr_vec *x, wr_vec *y, const char **name) {
  const wr_backend *backend = wr_backend_default(WR_CUDA);
  wr_plan *plan = nullptr;
  wr_apply request = {};
  request.alpha = 1, request.x = x, request.y = y;
  *name = backend->name;
  must(wr_plan_create(backend, nullptr, A, env, &plan), "a plan");
  must(wr_plan_prepare(plan), "a plan");
  double us = median_us(env, [&] { must(wr_plan_apply(plan, &request), "a multiply"); });
  wr_plan_destroy(plan);
  return us;
}

static const struct {
  const char *name;
  wr_lu_way way;
  wr_lu_gates gates;
  int in_f32; /* 1: factors in f32 */
} ways[] = {{"values", WR_LU_VALUES, WR_LU_GATE_LEVEL, 0},
            {"values_input", WR_LU_VALUES, WR_LU_GATE_INPUT, 0},
            {"values_none", WR_LU_VALUES, WR_LU_GATE_NONE, 0},
            {"barriers", WR_LU_BARRIERS, WR_LU_GATE_LEVEL, 0},
            {"launches", WR_LU_LAUNCHES, WR_LU_GATE_LEVEL, 0},
            {"in_f32", WR_LU_VALUES, WR_LU_GATE_LEVEL, 1}};

/* z of each way must have the same bits, but for factors in f32 where vectors are f64. */
static void time_ways(wr_env *env, const factors &f, int blocks, const wr_vec *r, wr_vec *z, std::vector<double> &found,
                      double multiply) {
  for (const auto &way : ways) {
    wr_lu_cuda *solver = nullptr;
    wr_lu_cuda_options options = {way.way, blocks, way.gates, way.in_f32};
    double begin = now();
    must(wr_lu_cuda_create_as(&f.lu, env, &options, &solver), "a solver");
    double create = now() - begin;
    const wr_lu_cuda_info *info = wr_lu_cuda_get_info(solver);
    if (&way == ways)
      printf(
          "\"lower_levels\": %lld, \"upper_levels\": %lld, \"padding\": %.3f, \"create_ms\": %.1f, \"phases\": %lld, "
          "\"runs\": %lld, ",
          (long long)info->lower_levels, (long long)info->upper_levels,
          (double)info->padding / fmax(1, (double)info->entries), create * 1e3, (long long)info->phases,
          (long long)info->runs);
    double us = median_us(env, [&] { must(wr_lu_cuda_apply(solver, env, r, z), "a solve"); });
    std::vector<double> values((size_t)r->n);
    must(env->ops->download(env, z, values.data()), "a result");
    bool same = found.empty() || memcmp(found.data(), values.data(), values.size() * sizeof(double)) == 0;
    if (found.empty()) found = values;
    printf("\"%s_us\": %.2f, \"%s_us_level\": %.3f, \"%s_ratio\": %.2f, \"%s_same\": %s, ", way.name, us, way.name,
           us / (double)(info->lower_levels + info->upper_levels), way.name, us / multiply, way.name,
           same ? "true" : "false");
    fflush(stdout);
    wr_lu_cuda_destroy(solver, env);
  }
}

/* With the copies to and from the device, the second time. */
static void time_factorisation(wr_env *env, const factors &parts, const factors &f) {
  double seconds = 0;
  factors g;
  int64_t shifted = 0, first;
  for (int turn = 0; turn < 2; turn++) {
    g = parts, refer(g);
    double begin = now();
    must(wr_ilu0_cuda(&g.lu, 1e-6, env, &shifted, &first), "a factorisation");
    seconds = now() - begin;
  }
  bool same = g.l_val == f.l_val && g.u_val == f.u_val && g.inverse == f.inverse && shifted == f.shifted;
  printf("\"device_factor_ms\": %.1f, \"factors_same\": %s, ", seconds * 1e3, same ? "true" : "false");
}

/* ---- cuSPARSE, on r in the order of the factors ---- */

static void *put(wr_env *env, const void *from, size_t count, wr_conversion how) {
  void *block = nullptr;
  must(wr_device_alloc(env, &block, (int64_t)count, (size_t)wr_conversion_device_size(how), "cuSPARSE"), "memory");
  must(wr_device_upload(env, block, from, (int64_t)count, how), "an upload");
  return block;
}

struct triangle {
  cusparseSpMatDescr_t matrix;
  cusparseSpSVDescr_t solver;
  void *ptr, *col, *val, *room;
};

static triangle make_triangle(wr_env *env, cusparseHandle_t handle, int64_t n, const std::vector<int64_t> &ptr,
                              const std::vector<int32_t> &col, const std::vector<double> &val, bool is_upper,
                              cusparseDnVecDescr_t from, cusparseDnVecDescr_t to) {
  triangle t = {};
  size_t bytes = 0;
  double one64 = 1;
  float one32 = 1;
  bool f32 = env->type == WR_F32;
  cudaDataType type = f32 ? CUDA_R_32F : CUDA_R_64F;
  const void *one = f32 ? (const void *)&one32 : &one64;
  cusparseFillMode_t fill = is_upper ? CUSPARSE_FILL_MODE_UPPER : CUSPARSE_FILL_MODE_LOWER;
  cusparseDiagType_t diagonal = is_upper ? CUSPARSE_DIAG_TYPE_NON_UNIT : CUSPARSE_DIAG_TYPE_UNIT;
  t.ptr = put(env, ptr.data(), ptr.size(), WR_I64_AS_I32), t.col = put(env, col.data(), col.size(), WR_AS_4_BYTES);
  t.val = put(env, val.data(), val.size(), f32 ? WR_F64_AS_F32 : WR_AS_8_BYTES);
  must_sparse(cusparseCreateCsr(&t.matrix, n, n, (int64_t)col.size(), t.ptr, t.col, t.val, CUSPARSE_INDEX_32I,
                                CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type),
              "a matrix");
  must_sparse(cusparseSpMatSetAttribute(t.matrix, CUSPARSE_SPMAT_FILL_MODE, &fill, sizeof fill), "fill");
  must_sparse(cusparseSpMatSetAttribute(t.matrix, CUSPARSE_SPMAT_DIAG_TYPE, &diagonal, sizeof diagonal), "diagonal");
  must_sparse(cusparseSpSV_createDescr(&t.solver), "a solver");
  must_sparse(cusparseSpSV_bufferSize(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, one, t.matrix, from, to, type,
                                      CUSPARSE_SPSV_ALG_DEFAULT, t.solver, &bytes),
              "size");
  must(wr_device_alloc(env, &t.room, (int64_t)bytes, 1, "cuSPARSE"), "memory");
  must_sparse(cusparseSpSV_analysis(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, one, t.matrix, from, to, type,
                                    CUSPARSE_SPSV_ALG_DEFAULT, t.solver, t.room),
              "analysis");
  return t;
}

static void free_triangle(wr_env *env, const triangle &t) {
  must_sparse(cusparseSpSV_destroyDescr(t.solver), "a solver");
  must_sparse(cusparseDestroySpMat(t.matrix), "a matrix");
  for (void *block : {t.ptr, t.col, t.val, t.room}) wr_device_free(env, block);
}

/* Columns ascending; the diagonal first in each row of U. */
static void with_diagonal(const factors &f, std::vector<int64_t> &ptr, std::vector<int32_t> &col,
                          std::vector<double> &val) {
  ptr = {0};
  for (size_t i = 0; i < f.order.size(); i++) {
    col.push_back((int32_t)i), val.push_back(1 / f.inverse[i]);
    for (int64_t k = f.u_ptr[i]; k < f.u_ptr[i + 1]; k++)
      col.push_back(f.u_col[(size_t)k]), val.push_back(f.u_val[(size_t)k]);
    ptr.push_back((int64_t)col.size());
  }
}

static void time_cusparse(wr_env *env, const factors &f, const std::vector<double> &r,
                          const std::vector<double> &found) {
  int64_t n = f.lu.n;
  cudaDataType type = env->type == WR_F32 ? CUDA_R_32F : CUDA_R_64F;
  cusparseHandle_t handle;
  cusparseDnVecDescr_t from, between, to;
  wr_vec v[3] = {};
  std::vector<double> ordered((size_t)n), values((size_t)n);
  std::vector<int64_t> ptr;
  std::vector<int32_t> col;
  std::vector<double> val;
  double one64 = 1, begin = now(), difference = 0, size = 0;
  float one32 = 1;
  const void *one = env->type == WR_F32 ? (const void *)&one32 : &one64;
  for (size_t i = 0; i < ordered.size(); i++) ordered[i] = r[(size_t)f.order[i]];
  for (wr_vec &one_of : v) must(env->ops->alloc(env, n, env->type, "a vector", &one_of), "a vector");
  must(env->ops->upload(env, &v[0], ordered.data()), "r");
  must_sparse(cusparseCreate(&handle), "cuSPARSE");
  must_sparse(cusparseSetStream(handle, (cudaStream_t)env->stream), "a stream");
  must_sparse(cusparseCreateDnVec(&from, n, v[0].data, type), "a vector");
  must_sparse(cusparseCreateDnVec(&between, n, v[1].data, type), "a vector");
  must_sparse(cusparseCreateDnVec(&to, n, v[2].data, type), "a vector");
  with_diagonal(f, ptr, col, val);
  triangle lower = make_triangle(env, handle, n, f.l_ptr, f.l_col, f.l_val, false, from, between);
  triangle upper = make_triangle(env, handle, n, ptr, col, val, true, between, to);
  must(env->ops->wait(env), "analysis");
  double analysis = now() - begin;
  double us = median_us(env, [&] {
    must_sparse(cusparseSpSV_solve(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, one, lower.matrix, from, between, type,
                                   CUSPARSE_SPSV_ALG_DEFAULT, lower.solver),
                "L");
    must_sparse(cusparseSpSV_solve(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, one, upper.matrix, between, to, type,
                                   CUSPARSE_SPSV_ALG_DEFAULT, upper.solver),
                "U");
  });
  must(env->ops->download(env, &v[2], values.data()), "a result");
  for (size_t i = 0; i < values.size(); i++) {
    difference = fmax(difference, fabs(values[i] - found[(size_t)f.order[i]]));
    size = fmax(size, fabs(values[i]));
  }
  printf("\"cusparse_us\": %.2f, \"cusparse_analysis_ms\": %.1f, \"difference\": %.2e", us, analysis * 1e3,
         difference / size);
  free_triangle(env, lower), free_triangle(env, upper);
  for (cusparseDnVecDescr_t d : {from, between, to}) must_sparse(cusparseDestroyDnVec(d), "a vector");
  must_sparse(cusparseDestroy(handle), "cuSPARSE");
  for (wr_vec &one_of : v) env->ops->release(env, &one_of);
}

/* ---- */

static void bench(const char *name, const char *order, int type, int blocks) {
  wr_csr *A = nullptr;
  wr_ledger ledger;
  wr_problem_facts facts = {};
  wr_source_options how = {};
  how.duplicates = WR_DUPLICATES_SUM;
  const char *backend;
  wr_ledger_begin_process(&ledger);
  must(wr_source_load(name, &how, &ledger, &A, &facts), name);
  double begin = now();
  factors f, parts = factors_of(A, &order, f);
  double factorisation = now() - begin;
  for (int t = WR_F32; t <= WR_F64; t++) {
    if (type >= 0 && t != type) continue;
    wr_env env = {};
    wr_vec r = {}, z = {};
    std::vector<double> from((size_t)A->nrows), found;
    for (size_t i = 0; i < from.size(); i++) from[i] = (double)(i % 97) / 97 + 0.25;
    env.place = WR_CUDA, env.type = (wr_type)t;
    must(wr_env_open(&env), "the device");
    must(env.ops->alloc(&env, A->nrows, env.type, "r", &r), "r");
    must(env.ops->alloc(&env, A->nrows, env.type, "z", &z), "z");
    must(env.ops->upload(&env, &r, from.data()), "r");
    double multiply = multiply_us(&env, A, &r, &z, &backend);
    printf("{\"matrix\": \"%s\", \"type\": \"%s\", \"n\": %lld, \"nnz\": %lld, \"order\": \"%s\", \"shifted\": %lld, "
           "\"host_factor_ms\": %.0f, \"multiply\": \"%s\", \"multiply_us\": %.2f, ",
           name, t == WR_F32 ? "f32" : "f64", (long long)A->nrows, (long long)A->nnz, order, (long long)f.shifted,
           factorisation * 1e3, backend, multiply);
    time_factorisation(&env, parts, f);
    time_ways(&env, f, blocks, &r, &z, found, multiply);
    time_cusparse(&env, f, from, found);
    printf("}\n");
    fflush(stdout);
    env.ops->release(&env, &r), env.ops->release(&env, &z);
    wr_env_close(&env);
  }
  wr_csr_free(A);
}

int main(int count, char **argument) {
  const char *order = "auto";
  int type = -1, blocks = 0;
  for (int k = 1; k < count; k++)
    if (strcmp(argument[k], "--given") == 0)
      order = "given";
    else if (strcmp(argument[k], "--colour") == 0)
      order = "colour";
    else if (strcmp(argument[k], "--f32") == 0)
      type = WR_F32;
    else if (strcmp(argument[k], "--f64") == 0)
      type = WR_F64;
    else if (strcmp(argument[k], "--blocks") == 0 && k + 1 < count)
      blocks = atoi(argument[++k]);
    else
      bench(argument[k], order, type, blocks);
  return 0;
}
