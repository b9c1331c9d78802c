#include "solvers/hub_order.h"

#include <omp.h>
#include <stdlib.h>

#include "config/argument.h"
#include "config/hash.h"
#include "config/memory.h"
#include "spmv/matrix/csr_argument.h"

enum {
  SAMPLE = 1 << 14, /* links                                            */
  HUB_HITS = 8,     /* of the sample lead to a node that counts as a hub */
  LEAF_LINKS = 2,   /* at most, of a leaf                                */
  PARALLEL_FROM = 1 << 14
};

/* What a sample of the links says. */
typedef struct sample {
  int64_t hubs;
  int32_t hub[SAMPLE / HUB_HITS]; /* [hubs], ascending                                              */
  int64_t to_hubs;                /* links of the sample from a leaf to a hub, ...                  */
  int64_t consecutive;            /* ... and those of them whose next node is a leaf of the same hub */
} sample;

static inline int64_t links_of(const wr_csr *links, int64_t node) {
  return links->row_ptr[node + 1] - links->row_ptr[node];
}

static inline int is_leaf(const wr_csr *links, int64_t node) {
  int64_t count = links_of(links, node);
  return count > 0 && count <= LEAF_LINKS;
}

/* The node that link k leaves. */
static int64_t source_of(const wr_csr *links, int64_t k) {
  int64_t low = 0, high = links->nrows; /* row_ptr[low] <= k < row_ptr[high] */
  while (high - low > 1) {
    int64_t middle = low + (high - low) / 2;
    if (links->row_ptr[middle] <= k)
      low = middle;
    else
      high = middle;
  }
  return low;
}

static int by_number(const void *a, const void *b) {
  int32_t first = *(const int32_t *)a, second = *(const int32_t *)b;
  return (first > second) - (first < second);
}

static int has_link_to(const wr_csr *links, int64_t node, int32_t target) {
  for (int64_t k = links->row_ptr[node]; k < links->row_ptr[node + 1]; k++)
    if (links->col[k] == target) return 1;
  return 0;
}

/* One link of each of SAMPLE equal parts of the links, at a place that a hash chooses. */
static int64_t sampled_link(const wr_csr *links, int64_t part) {
  int64_t first = (int64_t)((double)links->nnz / SAMPLE * (double)part);
  int64_t last = (int64_t)((double)links->nnz / SAMPLE * (double)(part + 1));
  return first + (int64_t)(wr_hash((uint64_t)part, 0) % (uint64_t)(last > first ? last - first : 1));
}

static wr_status take_sample(const wr_csr *links, sample *s) {
  wr_status status;
  int32_t *target = NULL, *leaf = NULL, *sorted = NULL;
  int64_t count = 0;
  TRY(wr_alloc(&target, SAMPLE, sizeof *target, "a sample of links"));
  TRY(wr_alloc(&leaf, SAMPLE, sizeof *leaf, "a sample of links"));
  TRY(wr_alloc(&sorted, SAMPLE, sizeof *sorted, "a sample of links"));
  for (int64_t part = 0; part < SAMPLE; part++) {
    int64_t k = sampled_link(links, part), node = source_of(links, k);
    if (is_leaf(links, node)) leaf[count] = (int32_t)node, sorted[count] = target[count] = links->col[k], count++;
  }
  qsort(sorted, (size_t)count, sizeof *sorted, by_number);
  s->hubs = s->to_hubs = s->consecutive = 0;
  for (int64_t k = 0, end; k < count; k = end) {
    for (end = k; end < count && sorted[end] == sorted[k];) end++;
    if (end - k >= HUB_HITS) s->hub[s->hubs++] = sorted[k];
  }
  for (int64_t k = 0; k < count; k++) {
    if (!bsearch(&target[k], s->hub, (size_t)s->hubs, sizeof *s->hub, by_number)) continue;
    s->to_hubs++;
    int64_t next = (int64_t)leaf[k] + 1;
    s->consecutive += next < links->nrows && is_leaf(links, next) && has_link_to(links, next, target[k]);
  }
done:
  wr_free(target), wr_free(leaf), wr_free(sorted);
  return status;
}

/* 0, or the group of a leaf: 1 + the index of the first hub that it links to. */
static inline uint16_t group_of(const wr_csr *links, const uint16_t *group_of_hub, int64_t node) {
  if (!is_leaf(links, node) || group_of_hub[node]) return 0;
  for (int64_t k = links->row_ptr[node]; k < links->row_ptr[node + 1]; k++)
    if (group_of_hub[links->col[k]]) return group_of_hub[links->col[k]];
  return 0;
}

/* order := a counting sort of the nodes by group. at[chunks][groups]: first counts, then the next place of a chunk's group. */
static void sort_by_group(const wr_csr *links, const uint16_t *group_of_hub, int64_t chunks, int64_t groups,
                          int64_t *at, int32_t *order) {
  int64_t n = links->nrows, begin = 0;
#pragma omp parallel for schedule(static)
  for (int64_t c = 0; c < chunks; c++)
    for (int64_t v = n * c / chunks; v < n * (c + 1) / chunks; v++) at[c * groups + group_of(links, group_of_hub, v)]++;
  for (int64_t g = 0; g < groups; g++)
    for (int64_t c = 0; c < chunks; c++) {
      int64_t count = at[c * groups + g];
      at[c * groups + g] = begin, begin += count;
    }
#pragma omp parallel for schedule(static)
  for (int64_t c = 0; c < chunks; c++)
    for (int64_t v = n * c / chunks; v < n * (c + 1) / chunks; v++)
      order[at[c * groups + group_of(links, group_of_hub, v)]++] = (int32_t)v;
}

wr_status wr_hub_order_find(const wr_csr *links, int64_t from_nodes, int32_t **order) {
  wr_status status = WR_OK;
  sample s;
  uint16_t *group_of_hub = NULL;
  int64_t *at = NULL, n, chunks;
  WR_NEED(order);
  *order = NULL;
  WR_NEED_HOST(links);
  WR_REFUSE_IF(links->nrows != links->ncols, "links are %lld x %lld; a graph's are square", (long long)links->nrows,
               (long long)links->ncols);
  n = links->nrows;
  if (n < from_nodes || links->nnz == 0) goto done;
  TRY(take_sample(links, &s));
  if (s.to_hubs < SAMPLE / 4 || 2 * s.consecutive >= s.to_hubs) goto done;
  chunks = n < PARALLEL_FROM ? 1 : omp_get_max_threads();
  TRY(wr_alloc(order, n, sizeof **order, "an order of nodes"));
  TRY(wr_alloc_zeroed(&group_of_hub, n, sizeof *group_of_hub, "an order of nodes"));
  TRY(wr_alloc_zeroed(&at, chunks * (s.hubs + 1), sizeof *at, "an order of nodes"));
  for (int64_t h = 0; h < s.hubs; h++) group_of_hub[s.hub[h]] = (uint16_t)(h + 1);
  sort_by_group(links, group_of_hub, chunks, s.hubs + 1, at, *order);
done:
  wr_free(group_of_hub), wr_free(at);
  if (status != WR_OK && order) wr_free(*order), *order = NULL;
  return status;
}
