/* PageRank's flow made on a device: the graph and its ranks are those of the host bit for bit, the flow stays on the device
 * until its rows are requested, and if device memory runs out the host makes it. */
#include <cuda_runtime.h>
#include <errno.h>
#include <malloc.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <vector>

#include "spmv/device/device_memory.h"
#include "tests/kernels/on_device.h"
extern "C" {
#include "solvers/graph.h"
#include "solvers/pagerank.h"
#include "solvers/verify.h"
}
#ifdef WR_SIMT
#include "tests/simt/simt.h"
#endif

static std::atomic<int> calls, refused{-1}; /* this call of posix_memalign fails */

extern "C" int posix_memalign(void **block, size_t alignment, size_t bytes) noexcept {
  if (calls++ == refused) return ENOMEM;
  *block = memalign(alignment, bytes);
  return *block ? 0 : ENOMEM;
}

enum { N = 300 };

/* The weight of the link from page i to page j, 0: none. Every third page dangles. */
typedef double (*link_rule)(int64_t i, int64_t j);

static uint64_t hash(int64_t i, int64_t j) {
  uint64_t z = ((uint64_t)i * 1000003 + (uint64_t)j + 1) * UINT64_C(0x9e3779b97f4a7c15);
  return z ^ z >> 29;
}

static double by_chance(int64_t i, int64_t j) { return i % 3 != 2 && hash(i, j) % 41 == 0 ? 1 : 0; }
static double hub(int64_t i, int64_t j) { return j == 7 || i == 11 ? 1 : by_chance(i, j); }
static double both_ways(int64_t i, int64_t j) { return i < j ? by_chance(i, j) : by_chance(j, i); }
static double no_links(int64_t, int64_t) { return 0; }
static double weighted(int64_t i, int64_t j) { return by_chance(i, j) * (0.1 + (double)(hash(j, i) % 1000) / 37); }
static double weighted_both(int64_t i, int64_t j) { return i < j ? weighted(i, j) : weighted(j, i); }

static const struct kind {
  const char *name;
  link_rule rule;
  bool values, symmetric;
  int64_t n;
} kinds[] = {
    {"by chance", by_chance, false, false, N},
    {"a hub", hub, false, false, N},
    {"undirected", both_ways, false, true, N},
    {"no links", no_links, false, false, 40},
    {"weighted without links", no_links, true, false, 40},
    {"weighted", weighted, true, false, N},
    {"weighted and undirected", weighted_both, true, true, N},
    {"one page", by_chance, false, false, 1},
};

static wr_csr *make(const kind &k) {
  wr_csr *A = nullptr;
  int64_t nnz = 0, e = 0;
  for (int64_t i = 0; i < k.n; i++)
    for (int64_t j = 0; j < k.n; j++) nnz += k.rule(i, j) != 0;
  CHECK_OK(wr_csr_create(k.n, k.n, nnz, k.values, &A));
  for (int64_t i = 0; i < k.n; i++) {
    for (int64_t j = 0; j < k.n; j++) {
      if (k.rule(i, j) == 0) continue;
      if (k.values) A->val[e] = e % 50 == 0 && !k.symmetric ? 0 : k.rule(i, j); /* some weights are 0 */
      A->col[e++] = (int32_t)j;
    }
    A->row_ptr[i + 1] = e;
  }
  A->symmetric = k.symmetric;
  return A;
}

static bool same_numbers(const double *a, const double *b, int64_t n) {
  return n == 0 || memcmp(a, b, (size_t)n * sizeof *a) == 0;
}

static bool same_rows(const wr_csr *A, const wr_csr *B) {
  return A->nrows == B->nrows && A->nnz == B->nnz && (A->val == nullptr) == (B->val == nullptr) &&
         memcmp(A->row_ptr, B->row_ptr, (size_t)(A->nrows + 1) * sizeof *A->row_ptr) == 0 &&
         memcmp(A->col, B->col, (size_t)A->nnz * sizeof *A->col) == 0 &&
         (A->val == nullptr || same_numbers(A->val, B->val, A->nnz));
}

static bool same_graph(const wr_graph *a, const wr_graph *b) {
  return a->n == b->n && a->dangling == b->dangling && a->owns_flow == b->owns_flow &&
         same_numbers(a->scale, b->scale, a->n) && (a->out_weight == nullptr) == (b->out_weight == nullptr) &&
         (a->out_weight == nullptr || same_numbers(a->out_weight, b->out_weight, a->n));
}

static wr_status build_there(wr_csr *links, int edges_in, wr_env *env, wr_graph *g) {
  wr_status status;
  TRY(wr_graph_begin(links, edges_in, NULL, NULL, g));
  TRY(wr_graph_upload(g, env));
  TRY(wr_graph_finish(g, env));
done:
  return status;
}

/* The ranks after a few steps with this backend, and a verdict over a sample. */
static std::vector<double> ranks_by(wr_env *env, const wr_graph *g, const wr_backend *backend, const char *knobs) {
  wr_plan *plan = nullptr;
  wr_pagerank p = {};
  wr_pagerank_options o = {};
  wr_monitor monitor = {};
  wr_result result;
  wr_verdict verdict;
  double change, dangling;
  std::vector<double> ranks((size_t)g->n), step((size_t)g->n);
  o.damping = 0.85, o.tolerance = 1e-3, o.iterations = 9, o.check_every = 1;
  CHECK_OK(wr_plan_create(backend, knobs, g->flow, env, &plan));
  CHECK_OK(wr_plan_prepare(plan));
  CHECK_OK(wr_pagerank_open(&p, g, plan, env));
  CHECK_OK(wr_pagerank_solve(&p, &o, &monitor, &result));
  CHECK_OK(wr_pagerank_download(&p, ranks.data()));
  CHECK_OK(wr_pagerank_step(&p, &o, step.data(), &change, &dangling));
  CHECK_OK(wr_verify_pagerank(g, o.damping, 1, 1, wr_rounding_of(env, plan), ranks.data(), step.data(), change,
                              dangling, WR_VERIFY_SAMPLE, 50, &verdict));
  CHECKF(verdict.multiplied_right && verdict.rows == (g->n < 50 ? g->n : 50), "%g", verdict.worst_row);
  wr_pagerank_close(&p);
  wr_plan_destroy(plan);
  return ranks;
}

static std::vector<double> ranks_of(wr_env *env, const wr_graph *g, const char *name, const char *knobs) {
  const wr_backend *backend = nullptr;
  CHECK_OK(wr_backend_find(name, &backend));
  return ranks_by(env, g, backend, knobs);
}

static void check_ranks(wr_env *env, const wr_graph *here, const wr_graph *there) {
  static const char *const ways[][2] = {{"csr_warp", NULL}, {"merbit", "commit=ordered"}};
  int alone = there->flow->row_ptr == nullptr;
  for (const auto &way : ways) {
    auto expected = ranks_of(env, here, way[0], way[1]), got = ranks_of(env, there, way[0], way[1]);
    CHECKF(same_numbers(got.data(), expected.data(), here->n), "%s", way[0]);
  }
  CHECK((there->flow->row_ptr == nullptr) == alone); /* neither these backends nor the verification of a sample read rows */
}

static bool is_made_there(const kind &k, int edges_in, const wr_env *env) {
  return !edges_in && !k.symmetric && (!k.values || env->type == WR_F64);
}

static void test_graphs(wr_env *env) {
  for (const kind &k : kinds)
    for (int edges_in = 0; edges_in < 2; edges_in++) {
      CASE(k.name);
      int64_t live = wr_device_blocks();
      wr_csr *links = make(k), *links_there = make(k);
      wr_graph here, there;
      CHECK_OK(wr_graph_build(links, edges_in, NULL, NULL, &here));
      CHECK((here.flow == links) == wr_graph_sends_links(links, edges_in, env->type, 0));
      CHECK_OK(wr_graph_begin(links_there, edges_in, NULL, NULL, &there));
      CHECK_OK(wr_graph_upload(&there, env));
      CHECK((links_there->device != nullptr) == wr_graph_sends_links(links, edges_in, env->type, 1));
      CHECK_OK(wr_graph_finish(&there, env));
      CHECK(same_graph(&here, &there));
      CHECK((there.flow->row_ptr == nullptr) == is_made_there(k, edges_in, env));
      CHECK((there.flow == links_there) == (here.flow == links));
      CHECK((links_there->device != nullptr) == (there.flow == links_there)); /* freed, unless it is the flow's */
      check_ranks(env, &here, &there);
      CHECK_OK(wr_csr_host(there.flow, env));
      CHECK(same_rows(here.flow, there.flow));
      wr_graph_free(&here);
      wr_graph_free(&there);
      wr_csr_free(links);
      wr_csr_free(links_there);
      CHECKF(wr_device_blocks() == live, "%lld blocks are left", (long long)(wr_device_blocks() - live));
    }
}

/* A host backend, a device backend that reads host rows, decoding, and new values: each makes the rows. */
static void test_rows_wanted(wr_env *env) {
  CASE("uses that need host rows");
  wr_csr *links = make(kinds[0]), *decoded = nullptr;
  wr_graph here, there;
  wr_env host = {};
  host.place = WR_HOST, host.type = env->type;
  CHECK_OK(wr_env_open(&host));
  CHECK_OK(wr_graph_build(links, 0, NULL, NULL, &here));
  auto expected = ranks_of(&host, &here, "cpu_csr", NULL);
  for (int way = 0; way < 4; way++) {
    const wr_backend *backend = nullptr;
    wr_plan *plan = nullptr;
    CHECK_OK(build_there(links, 0, env, &there));
    CHECK(there.flow->row_ptr == nullptr);
    if (way == 0) {
      auto got = ranks_of(&host, &there, "cpu_csr", NULL);
      CHECK(same_numbers(got.data(), expected.data(), here.n));
    } else if (way == 1) {
      (void)ranks_of(env, &there, "cb_spmv", NULL);
    } else {
      CHECK_OK(wr_backend_find("merbit", &backend));
      CHECK_OK(wr_plan_create(backend, NULL, there.flow, env, &plan));
      CHECK_OK(wr_plan_prepare(plan));
      CHECK(there.flow->row_ptr == nullptr);
      CHECK_OK(way == 2 ? wr_plan_decode(plan, &decoded) : wr_plan_update_values(plan, there.flow));
      if (way == 2) CHECK(decoded && same_rows(here.flow, decoded));
      wr_csr_free(decoded);
      decoded = nullptr;
      wr_plan_destroy(plan);
    }
    CHECKF(there.flow->row_ptr && same_rows(here.flow, there.flow), "way %d", way);
    wr_graph_free(&there);
  }
  wr_graph_free(&here);
  wr_csr_free(links);
  wr_env_close(&host);
}

/* Backends that declare not to read host rows do not; the others make them. */
static void test_promise(wr_env *env) {
  int promise = 0;
  for (const kind *k : {&kinds[0], &kinds[5]})
    for (int b = 0; b < wr_backend_count(); b++) {
      const wr_backend *backend = wr_backend_at(b);
      wr_graph there;
      if (backend->plan == nullptr || backend->place != WR_CUDA || !(backend->caps & WR_CAP_PATTERN)) continue;
      if (backend->caps & WR_CAP_FEW_MATRICES) continue;
      CASE(backend->name);
      wr_csr *links = make(*k);
      CHECK_OK(build_there(links, 0, env, &there));
      int alone = is_made_there(*k, 0, env) && (backend->caps & WR_CAP_DEVICE_ROWS);
      (void)ranks_by(env, &there, backend, NULL);
      CHECK((there.flow->row_ptr == nullptr) == alone);
      promise += alone;
      wr_graph_free(&there);
      wr_csr_free(links);
    }
  CHECKF(promise >= 5, "%d", promise);
}

/* Without the fused step, and without a device. */
static void test_steps(wr_env *env) {
  CASE("steps");
  wr_csr *links = make(kinds[0]);
  wr_graph g;
  CHECK_OK(wr_graph_begin(links, 0, NULL, NULL, &g));
  CHECK(g.flow == nullptr && g.scale != nullptr);
  CHECK_OK(wr_graph_finish(&g, env));
  CHECK(g.flow && g.flow->row_ptr == nullptr && links->device == nullptr);
  wr_graph_free(&g);
  CHECK_OK(wr_graph_begin(links, 0, NULL, NULL, &g));
  CHECK_OK(wr_graph_upload(&g, NULL));
  CHECK(links->device == nullptr);
  CHECK_OK(wr_graph_finish(&g, NULL));
  CHECK(g.flow && g.flow->row_ptr != nullptr);
  wr_graph_free(&g);
  wr_csr_free(links);
}

/* One failing host allocation at a time: the host then makes what the device was to make, or the status is WR_ENOMEM, and
 * nothing leaks. */
static void test_no_host_memory(wr_env *env) {
  for (const kind *k : {&kinds[0], &kinds[2], &kinds[5]})
    for (int edges_in = 0; edges_in < 2; edges_in++) {
      CASE(k->name);
      int64_t live = wr_device_blocks();
      wr_csr *links = make(*k);
      wr_graph here, there;
      int failing = 0, built = 0;
      CHECK_OK(wr_graph_build(links, edges_in, NULL, NULL, &here));
      for (bool over = false; !over && failing < 200; failing++) {
        calls = 0, refused = failing;
        wr_status status = build_there(links, edges_in, env, &there);
        wr_status rows = status == WR_OK ? wr_csr_host(there.flow, NULL) : WR_OK;
        over = calls <= failing;
        refused = -1;
        CHECKF(status == WR_OK || (status == WR_ENOMEM && !over), "block %d: %s", failing, wr_status_message());
        CHECKF(rows == WR_OK || (rows == WR_ENOMEM && !over), "block %d: %s", failing, wr_status_message());
        if (status != WR_OK) CHECK(there.flow == nullptr && there.scale == nullptr);
        if (rows != WR_OK) CHECK(there.flow->row_ptr == nullptr && there.flow->col == nullptr);
        if (rows != WR_OK) CHECK_OK(wr_csr_host(there.flow, NULL));
        if (status == WR_OK) CHECK(same_graph(&here, &there) && same_rows(here.flow, there.flow));
        built += status == WR_OK;
        if (status == WR_OK) wr_graph_free(&there);
        wr_csr_forget_device(links);
        CHECKF(wr_device_blocks() == live, "block %d: %lld are left", failing, (long long)(wr_device_blocks() - live));
      }
      int least = is_made_there(*k, edges_in, env) || !k->values ? 2 : 1; /* where the host takes over; the last allocation */
      CHECKF(failing >= 3 && failing < 200 && built >= least, "%d blocks, %d built", failing, built);
      wr_graph_free(&here);
      wr_csr_free(links);
    }
}

#ifdef WR_SIMT
/* Device memory that runs out at any allocation: the host makes the same, and nothing leaks. */
static void test_no_memory(wr_env *env) {
  for (const kind &k : kinds)
    for (int edges_in = 0; edges_in < 2; edges_in++) {
      CASE(k.name);
      int64_t live = wr_device_blocks();
      wr_csr *links = make(k);
      wr_graph here, there;
      int failures = 0;
      CHECK_OK(wr_graph_build(links, edges_in, NULL, NULL, &here));
      for (bool refused = true; refused && failures < 100; failures += refused) {
        (void)simt_memory_end(failures);
        CHECK_OK(build_there(links, edges_in, env, &there));
        refused = simt_memory_end(-1);
        CHECK(same_graph(&here, &there));
        CHECK((there.flow->row_ptr == nullptr) == (!refused && is_made_there(k, edges_in, env)));
        CHECK_OK(wr_csr_host(there.flow, env));
        CHECK(same_rows(here.flow, there.flow));
        wr_graph_free(&there);
        wr_csr_forget_device(links);
        CHECKF(wr_device_blocks() == live, "%lld blocks are left", (long long)(wr_device_blocks() - live));
      }
      int least = is_made_there(k, edges_in, env) ? 8 : k.values ? 0 : 2; /* at least those of the view, if there is one */
      CHECKF(failures >= least && failures < 100, "%d blocks", failures);
      wr_graph_free(&here);
      wr_csr_free(links);
    }
}
#endif

static void test_device(wr_env *env) {
  env->testing->poison = 1;
  test_graphs(env);
  test_rows_wanted(env);
  test_promise(env);
  test_steps(env);
  test_no_host_memory(env);
#ifdef WR_SIMT
  test_no_memory(env);
#endif
}

int main() {
  on_device(test_device);
  return wr_test_report("graph_device");
}
