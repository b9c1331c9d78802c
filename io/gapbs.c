#include "io/gapbs.h"

#include <omp.h>
#include <stdio.h>
#include <string.h>

#include "config/failure.h"
#include "config/memory.h"

enum { HEAD = 17, CHUNK = 1 << 20 /* edges */ };

typedef struct gapbs {
  const wr_text *text;
  int directed, nonnegative, threads;
  int64_t nodes, edges;
  int64_t edge_bytes; /* 4, or 8 with weights */
  int64_t *offset;    /* [nodes + 1]          */
  wr_triplets *triplets;
} gapbs;

static uint64_t little_endian(const char *at, int bytes) {
  uint64_t word = 0;
  for (int b = 0; b < bytes; b++) word |= (uint64_t)(unsigned char)at[b] << (8 * b);
  return word;
}

/* Sizes below 2^40, the first offset 0: there are 14 zero bytes at places where no text has any. */
int wr_gapbs_head(const char *begin, int64_t count, int64_t *nodes, int64_t *edges) {
  if (count < HEAD + 8 || (begin[0] != 0 && begin[0] != 1)) return 0;
  *edges = (int64_t)little_endian(begin + 1, 8), *nodes = (int64_t)little_endian(begin + 9, 8);
  return *edges >= 0 && *edges >> 40 == 0 && *nodes > 0 && *nodes >> 40 == 0 && little_endian(begin + HEAD, 8) == 0;
}

static wr_status check_length(gapbs *g) {
  const wr_text *text = g->text;
  int64_t directions = 1 + g->directed, without = HEAD + directions * (g->nodes + 1) * 8;
  for (g->edge_bytes = 4; g->edge_bytes <= 8; g->edge_bytes += 4)
    if (text->size == without + directions * g->edges * g->edge_bytes) return WR_OK;
  return wr_fail(WR_EINPUT,
                 "%s: a serialised graph (.sg) of %lld nodes and %lld edges has %lld bytes, or %lld with weights, not "
                 "%lld: it was cut short, or is another file",
                 text->name, (long long)g->nodes, (long long)g->edges, (long long)(without + directions * g->edges * 4),
                 (long long)(without + directions * g->edges * 8), (long long)text->size);
}

static wr_status read_offsets(gapbs *g) {
  const char *name = g->text->name;
  int64_t wrong = 0;
  PASS(wr_alloc(&g->offset, g->nodes + 1, sizeof *g->offset, "the nodes of a graph"));
  PASS(wr_text_read(g->text, HEAD, (g->nodes + 1) * 8, g->offset));
  for (int64_t i = 0; i <= g->nodes; i++) g->offset[i] = (int64_t)little_endian((const char *)&g->offset[i], 8);
  for (int64_t i = 0; i < g->nodes; i++) wrong += g->offset[i] > g->offset[i + 1];
  if (wrong > 0 || g->offset[0] != 0 || g->offset[g->nodes] != g->edges)
    return wr_fail(WR_EINPUT, "%s: a serialised graph whose offsets do not ascend from 0 to its %lld edges", name,
                   (long long)g->edges);
  return WR_OK;
}

/* The node that has an edge. */
static int64_t node_of(const gapbs *g, int64_t edge) {
  int64_t low = 0, high = g->nodes - 1; /* the last node whose offset is at most the edge */
  while (low < high) {
    int64_t middle = low + (high - low + 1) / 2;
    if (g->offset[middle] <= edge)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

static wr_status fill_chunk(const gapbs *g, int64_t c) {
  wr_triplet_chunk *chunk = &g->triplets->chunks[c];
  int64_t first = c * CHUNK, count = g->edges - first < CHUNK ? g->edges - first : CHUNK;
  char *bytes = NULL;
  wr_status status;
  TRY(wr_alloc(&chunk->row, count, sizeof *chunk->row, "the edges of a graph"));
  TRY(wr_alloc(&chunk->col, count, sizeof *chunk->col, "the edges of a graph"));
  if (g->edge_bytes == 8) TRY(wr_alloc(&chunk->val, count, sizeof *chunk->val, "the edges of a graph"));
  TRY(wr_alloc(&bytes, count, (size_t)g->edge_bytes, "the edges of a graph"));
  TRY(wr_text_read(g->text, HEAD + (g->nodes + 1) * 8 + first * g->edge_bytes, count * g->edge_bytes, bytes));
  chunk->count = chunk->capacity = count;
  int64_t node = node_of(g, first);
  for (int64_t k = 0; k < count; k++) {
    while (g->offset[node + 1] <= first + k) node++;
    uint32_t target = (uint32_t)little_endian(bytes + k * g->edge_bytes, 4);
    int32_t weight = g->edge_bytes == 8 ? (int32_t)(uint32_t)little_endian(bytes + k * 8 + 4, 4) : 1;
    if (target >= g->nodes)
      TRY(wr_fail(WR_EINPUT, "%s: an edge of node %lld leads to node %lu, beyond the last one (%lld)", g->text->name,
                  (long long)node, (unsigned long)target, (long long)g->nodes - 1));
    if (weight < 0 && g->nonnegative)
      TRY(wr_fail(WR_EINPUT, "%s: node %lld, node %lu: a negative weight where none may be (%ld)", g->text->name,
                  (long long)node, (unsigned long)target, (long)weight));
    chunk->row[k] = (int32_t)node, chunk->col[k] = (int32_t)target;
    if (chunk->val != NULL) chunk->val[k] = weight;
  }
done:
  wr_free(bytes);
  return status;
}

static wr_status fill_chunks(const gapbs *g) {
  wr_failure failure = WR_NO_FAILURE;
  int64_t count = (g->edges + CHUNK - 1) / CHUNK;
  PASS(wr_alloc_zeroed(&g->triplets->chunks, count, sizeof *g->triplets->chunks, "the edges of a graph"));
  g->triplets->nchunks = count;
#pragma omp parallel for num_threads(g->threads) schedule(dynamic, 1)
  for (int64_t c = 0; c < g->triplets->nchunks; c++) {
    if (wr_failure_is_below(&failure, c)) continue;
    wr_failure_note(&failure, c, fill_chunk(g, c));
  }
  return wr_failure_report(&failure);
}

wr_status wr_gapbs_read(const wr_text *text, const wr_read_options *options, wr_triplets *triplets,
                        wr_read_facts *facts) {
  gapbs g = {.text = text, .triplets = triplets, .threads = options != NULL ? options->threads : 0};
  char head[HEAD + 8];
  wr_status status;
  *triplets = (wr_triplets){.nrows = 0};
  if (g.threads <= 0) g.threads = omp_get_max_threads();
  g.nonnegative = options != NULL && options->nonnegative;
  TRY(wr_text_read(text, 0, sizeof head, head));
  if (!wr_gapbs_head(head, sizeof head, &g.nodes, &g.edges))
    TRY(wr_fail(WR_EINPUT, "%s: was changed while it was being read", text->name));
  g.directed = head[0];
  if (g.nodes > WR_MAX_INDEX)
    TRY(wr_fail(WR_EINPUT, "%s: more nodes than the %lld that a 32-bit index reaches (%lld)", text->name,
                (long long)WR_MAX_INDEX, (long long)g.nodes));
  TRY(check_length(&g));
  TRY(read_offsets(&g));
  TRY(fill_chunks(&g));
  TRY(wr_text_unchanged(text));
  triplets->nrows = triplets->ncols = g.nodes;
  if (facts != NULL) {
    *facts = (wr_read_facts){.bytes = text->size, .stored = g.edges, .compressed = text->compressed};
    snprintf(facts->kind, sizeof facts->kind, "GAP %s graph%s", g.directed ? "directed" : "undirected",
             g.edge_bytes == 8 && g.edges > 0 ? " with weights" : "");
  }
done:
  if (status != WR_OK) wr_triplets_free(triplets);
  wr_free(g.offset);
  return status;
}
