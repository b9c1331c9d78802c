#include "spmv/precond/block_colour.h"

#include "config/memory.h"
#include "spmv/matrix/csr_argument.h"
#include "spmv/precond/adjacency.h"

enum { STRIDE = 1 << 14 }; /* rows between two questions to the watch: some milliseconds */

static const char what[] = "the order by colours";

/* A row that a growing block may take next. */
typedef struct candidate {
  float strength; /* of its couplings to the block, when it was added */
  int32_t row;
  int64_t number; /* of equal ones the first is taken                 */
} candidate;

/* The strongest candidate at the top. A row is there once for each of its couplings. */
typedef struct heap {
  candidate *item;
  int64_t count, capacity;
} heap;

/* Rows by blocks. */
typedef struct blocks {
  int64_t count;
  int32_t *of;     /* [n] the block of a row; -1: none yet               */
  int32_t *row;    /* [n]                                                */
  int64_t *ptr;    /* [count + 1] row[ptr[k]..ptr[k + 1]) are of block k */
} blocks;

static void free_blocks(blocks *b) {
  wr_free(b->of), wr_free(b->row), wr_free(b->ptr);
  *b = (blocks){0};
}

static int is_before(const candidate *a, const candidate *b) {
  return a->strength > b->strength || (a->strength == b->strength && a->number < b->number);
}

static wr_status push(heap *h, candidate c) {
  if (h->count == h->capacity) {
    int64_t capacity = 2 * h->capacity + 64;
    PASS(wr_resize(&h->item, capacity * (int64_t)sizeof *h->item, what));
    h->capacity = capacity;
  }
  int64_t at = h->count++;
  for (; at > 0 && is_before(&c, &h->item[(at - 1) / 2]); at = (at - 1) / 2) h->item[at] = h->item[(at - 1) / 2];
  h->item[at] = c;
  return WR_OK;
}

static candidate pop(heap *h) {
  candidate top = h->item[0], last = h->item[--h->count];
  int64_t at = 0;
  for (int64_t child = 1; child < h->count; child = 2 * at + 1) {
    if (child + 1 < h->count && is_before(&h->item[child + 1], &h->item[child])) child++;
    if (!is_before(&h->item[child], &last)) break;
    h->item[at] = h->item[child], at = child;
  }
  h->item[at] = last;
  return top;
}

/* ---- blocks ---- */

/* A block from the root on. near[n]: 0; is so again at the end for rows that are in no block. filled: rows in blocks so far. */
static wr_status grow(const wr_adjacency *g, int32_t root, int64_t most, heap *h, float *near, int64_t *filled,
                      blocks *b) {
  int64_t number = 0, end = *filled + most;
  h->count = 0;
  PASS(push(h, (candidate){.row = root}));
  while (h->count > 0 && *filled < end) {
    int32_t i = pop(h).row;
    if (b->of[i] >= 0) continue;
    b->of[i] = (int32_t)b->count, b->row[(*filled)++] = i;
    for (int64_t k = g->ptr[i]; k < g->ptr[i + 1]; k++) {
      int32_t j = g->to[k];
      if (b->of[j] >= 0) continue;
      near[j] += g->strength[k];
      PASS(push(h, (candidate){near[j], j, ++number}));
    }
  }
  for (int64_t k = 0; k < h->count; k++) near[h->item[k].row] = 0;
  b->ptr[++b->count] = *filled;
  return WR_OK;
}

static wr_status make_blocks(const wr_adjacency *g, const int32_t *first, int64_t most, const wr_watch *watch,
                             blocks *b) {
  wr_status status;
  heap h = {0};
  float *near = NULL;
  int64_t filled = 0, asked = 0;
  TRY(wr_alloc(&b->of, g->n, sizeof *b->of, what));
  TRY(wr_alloc(&b->row, g->n, sizeof *b->row, what));
  TRY(wr_alloc_zeroed(&b->ptr, g->n + 1, sizeof *b->ptr, what));
  TRY(wr_alloc_zeroed(&near, g->n, sizeof *near, what));
  for (int64_t i = 0; i < g->n; i++) b->of[i] = -1;
  for (int64_t i = 0; i < g->n; i++) {
    int32_t root = first ? first[i] : (int32_t)i;
    if (b->of[root] >= 0) continue;
    if (filled - asked >= STRIDE) {
      TRY(wr_watch_check_at(watch, what, (double)filled / (double)g->n));
      asked = filled;
    }
    TRY(grow(g, root, most, &h, near, &filled, b));
  }
done:
  wr_free(near);
  wr_free(h.item);
  return status;
}

/* ---- the order in a block ---- */

/* A breadth-first search of one block. */
typedef struct search {
  int32_t *queue;  /* [most rows of a block]             */
  int32_t *depth;  /* [n] from the root; -1: not reached */
  int32_t *before; /* [n] the row that led there         */
} search;

static void run_search(const wr_adjacency *g, const blocks *b, int64_t block, int32_t root, search *s) {
  int64_t count = 1;
  for (int64_t k = b->ptr[block]; k < b->ptr[block + 1]; k++) s->depth[b->row[k]] = -1;
  s->queue[0] = root, s->depth[root] = 0, s->before[root] = root;
  for (int64_t head = 0; head < count; head++) {
    int32_t i = s->queue[head];
    for (int64_t k = g->ptr[i]; k < g->ptr[i + 1]; k++) {
      int32_t j = g->to[k];
      if (b->of[j] != block || s->depth[j] >= 0) continue;
      s->depth[j] = s->depth[i] + 1, s->before[j] = i, s->queue[count++] = j;
    }
  }
}

/* The rows of a block, which is connected, by their distance from its middle: the middle of a longest path that two searches
 * find. */
static void order_block(const wr_adjacency *g, int64_t block, search *s, blocks *b) {
  int64_t begin = b->ptr[block], count = b->ptr[block + 1] - begin;
  run_search(g, b, block, b->row[begin], s);
  run_search(g, b, block, s->queue[count - 1], s);
  int32_t middle = s->queue[count - 1];
  for (int32_t half = s->depth[middle] / 2; half > 0; half--) middle = s->before[middle];
  run_search(g, b, block, middle, s);
  for (int64_t k = 0; k < count; k++) b->row[begin + k] = s->queue[count - 1 - k];
}

static wr_status order_in_blocks(const wr_adjacency *g, int64_t most, const wr_watch *watch, blocks *b) {
  wr_status status;
  search s = {0};
  TRY(wr_alloc(&s.queue, most, sizeof *s.queue, what));
  TRY(wr_alloc(&s.depth, g->n, sizeof *s.depth, what));
  TRY(wr_alloc(&s.before, g->n, sizeof *s.before, what));
  for (int64_t k = 0, asked = 0; k < b->count; k++) {
    if (b->ptr[k] - asked >= STRIDE) {
      TRY(wr_watch_check_at(watch, "the order in blocks", (double)b->ptr[k] / (double)g->n));
      asked = b->ptr[k];
    }
    order_block(g, k, &s, b);
  }
done:
  wr_free(s.queue), wr_free(s.depth), wr_free(s.before);
  return status;
}

/* ---- colours ---- */

/* colour[count] := the smallest one that no neighbour before has. Returns how many there are. used[count + 1]: -1 */
static int64_t find_colours(const wr_adjacency *g, const blocks *b, int32_t *used, int32_t *colour) {
  int64_t colours = 0;
  for (int64_t block = 0; block < b->count; block++) {
    for (int64_t k = b->ptr[block]; k < b->ptr[block + 1]; k++)
      for (int64_t e = g->ptr[b->row[k]]; e < g->ptr[b->row[k] + 1]; e++) {
        int32_t other = b->of[g->to[e]];
        if (other < block) used[colour[other]] = (int32_t)block;
      }
    int32_t free_one = 0;
    while (used[free_one] == block) free_one++;
    colour[block] = free_one;
    if (free_one >= colours) colours = (int64_t)free_one + 1;
  }
  return colours;
}

/* order := the rows of all blocks, by colours. */
static wr_status gather(const wr_adjacency *g, const blocks *b, int32_t *order, int64_t *colours) {
  wr_status status;
  int32_t *used = NULL, *colour = NULL;
  int64_t *next = NULL; /* where the next row of a colour goes */
  TRY(wr_alloc(&used, b->count + 1, sizeof *used, what));
  TRY(wr_alloc(&colour, b->count, sizeof *colour, what));
  for (int64_t k = 0; k <= b->count; k++) used[k] = -1;
  *colours = find_colours(g, b, used, colour);
  TRY(wr_alloc_zeroed(&next, *colours + 1, sizeof *next, what));
  for (int64_t k = 0; k < b->count; k++) next[colour[k] + 1] += b->ptr[k + 1] - b->ptr[k];
  for (int64_t c = 0; c < *colours; c++) next[c + 1] += next[c];
  for (int64_t k = 0; k < b->count; k++)
    for (int64_t at = b->ptr[k]; at < b->ptr[k + 1]; at++) order[next[colour[k]]++] = b->row[at];
done:
  wr_free(used), wr_free(colour), wr_free(next);
  return status;
}

wr_status wr_block_colour(const wr_csr *A, const int32_t *first, int64_t block, const wr_watch *watch, int32_t *order,
                          wr_block_colours *found) {
  wr_status status;
  wr_adjacency g = {0};
  blocks b = {0};
  WR_NEED_HOST(A);
  WR_NEED(order);
  WR_NEED(found);
  WR_REFUSE_IF(A->nrows != A->ncols, "A is %lld x %lld", (long long)A->nrows, (long long)A->ncols);
  WR_REFUSE_IF(block < 1 || block > WR_MOST_BLOCK, "block is %lld", (long long)block);
  *found = (wr_block_colours){0};
  TRY(wr_adjacency_make(A, 1, what, &g));
  TRY(wr_watch_check(watch, what));
  TRY(make_blocks(&g, first, block, watch, &b));
  TRY(order_in_blocks(&g, block, watch, &b));
  TRY(gather(&g, &b, order, &found->colours));
  found->blocks = b.count;
done:
  wr_adjacency_free(&g);
  free_blocks(&b);
  return status;
}
