#include "io/ids.h"

#include <stdio.h>
#include <string.h>

#include "config/memory.h"
#include "io/ids_number.h"

enum {
  BITS_PER_EDGE = 32,      /* of a table of bits at most: then it takes at most 6 bytes an edge, with its counts */
  DIGIT_BITS = 11,         /* sorted at a time: counts of values stay in the L1 cache                            */
  DIGITS = 6,              /* of 63 bits                                                                         */
  DIGIT = 1 << DIGIT_BITS, /* its values                                                                         */
  RANGES_PER_THREAD = 4,   /* so that one that is larger than others delays the threads little                   */
  RANGE_LEAST = 8192,      /* ids that are worth a range of their own                                            */
  SAMPLES_PER_RANGE = 64   /* from which ranges are chosen                                                       */
};

int64_t wr_ids_at(const wr_ids *ids, int64_t node) { return ids->id != NULL ? ids->id[node] : ids->first + node; }

const char *wr_ids_name(const wr_ids *ids, int64_t node, int64_t *length) {
  *length = ids->begin[node + 1] - ids->begin[node];
  return ids->names + ids->begin[node];
}

/* < 0, 0, > 0: the node's name comes before these bytes, is they, comes behind them. */
static int compare_name(const wr_ids *ids, int64_t node, const char *name, int64_t length) {
  int64_t own;
  const char *bytes = wr_ids_name(ids, node, &own);
  int order = memcmp(bytes, name, (size_t)(own < length ? own : length));
  return order != 0 ? order : (own > length) - (own < length);
}

int64_t wr_ids_find(const wr_ids *ids, const char *name, int64_t length) {
  int64_t low = 0, high = ids->names != NULL ? ids->count : 0; /* the name is at one of [low, high), if at all */
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    int order = compare_name(ids, middle, name, length);
    if (order == 0) return middle;
    if (order < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return -1;
}

wr_status wr_ids_unite(const wr_ids *a, const wr_ids *b, wr_ids *all) {
  wr_status status;
  int64_t bytes = (a->count > 0 ? a->begin[a->count] : 0) + (b->count > 0 ? b->begin[b->count] : 0), length;
  TRY(wr_alloc(&all->begin, a->count + b->count + 1, sizeof *all->begin, "the names of a graph"));
  TRY(wr_alloc(&all->names, bytes, 1, "the names of a graph"));
  all->first = 1, all->begin[0] = 0;
  for (int64_t i = 0, j = 0; i < a->count || j < b->count; all->count++) {
    const char *name = j < b->count ? wr_ids_name(b, j, &length) : NULL;
    int order = i == a->count ? 1 : name == NULL ? -1 : compare_name(a, i, name, length);
    if (order <= 0) name = wr_ids_name(a, i, &length);
    i += order <= 0, j += order >= 0;
    memcpy(all->names + all->begin[all->count], name, (size_t)length);
    all->begin[all->count + 1] = all->begin[all->count] + length;
  }
  TRY(wr_resize(&all->begin, (all->count + 1) * (int64_t)sizeof *all->begin, "the names of a graph"));
  TRY(wr_resize(&all->names, all->begin[all->count], "the names of a graph"));
done:
  if (status != WR_OK) wr_ids_free(all);
  return status;
}

void wr_ids_find_all(const wr_ids *some, const wr_ids *all, int32_t *place) {
  int64_t node = 0, length;
  for (int64_t k = 0; k < some->count; k++) {
    const char *name = wr_ids_name(some, k, &length);
    while (compare_name(all, node, name, length) < 0) node++;
    place[k] = (int32_t)node;
  }
}

const char *wr_ids_text(const wr_ids *ids, int64_t node, char text[WR_ID_TEXT]) {
  size_t used = 0;
  int64_t length, k = 0;
  if (ids->names == NULL) {
    snprintf(text, WR_ID_TEXT, "%lld", (long long)wr_ids_at(ids, node));
    return text;
  }
  const char *name = wr_ids_name(ids, node, &length);
  for (; k < length && used < 200; k++) {
    int control = name[k] == 0x7f || (unsigned char)name[k] < 0x20; /* or U+0080 to U+009F */
    if ((unsigned char)name[k] == 0xc2 && k + 1 < length && (unsigned char)name[k + 1] < 0xa0) control = 1;
    if (!control)
      text[used++] = name[k];
    else
      used += (size_t)snprintf(text + used, WR_ID_TEXT - used, "\\x%02x", (unsigned)(unsigned char)name[k]);
  }
  while (k < length && used > 0 && ((unsigned char)name[k] & 0xc0) == 0x80) k--, used--; /* whole characters of UTF-8 */
  snprintf(text + used, WR_ID_TEXT - used, "%s", k < length ? "..." : "");
  return text;
}

int64_t wr_ids_place(const wr_ids *ids, int64_t id) {
  int64_t low = 0, high = ids->count; /* the id is at one of [low, high), if at all */
  if (ids->id == NULL) return id >= ids->first && id - ids->first < ids->count ? id - ids->first : -1;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (ids->id[middle] == id) return middle;
    if (ids->id[middle] < id)
      low = middle + 1;
    else
      high = middle;
  }
  return -1;
}

void wr_ids_free(wr_ids *ids) {
  wr_free(ids->id);
  wr_free(ids->names);
  wr_free(ids->begin);
  *ids = (wr_ids){.count = 0};
}

static wr_status fail_too_many(const char *name, int64_t count) {
  return wr_fail(WR_EINPUT, "%s: more nodes than the %lld that a 32-bit index reaches (%lld)", name,
                 (long long)WR_MAX_INDEX, (long long)count);
}

void wr_id_part_free(wr_id_part *part) {
  wr_free(part->id);
  *part = (wr_id_part){.count = 0};
}

/* ---- the distinct ids of a part, sorted ---- */

void wr_id_sorter_free(wr_id_sorter *s) {
  for (int side = 0; side < 2; side++) {
    wr_free(s->key[side]);
    wr_free(s->place[side]);
  }
  *s = (wr_id_sorter){.capacity = 0};
}

static wr_status reserve(wr_id_sorter *s, int64_t count) {
  if (count <= s->capacity) return WR_OK;
  wr_id_sorter_free(s);
  for (int side = 0; side < 2; side++) {
    PASS(wr_alloc(&s->key[side], count, sizeof *s->key[side], "sorting ids"));
    PASS(wr_alloc(&s->place[side], count, sizeof *s->place[side], "sorting ids"));
  }
  s->capacity = count;
  return WR_OK;
}

static inline int digit_of(int64_t key, int d) { return (int)(key >> (DIGIT_BITS * d) & (DIGIT - 1)); }

/* One stable pass by digit d; count[value] keys have that value of it. */
static void sort_by_digit(const wr_id_sorter *s, int from, int64_t n, int d, int places, const int64_t *count) {
  const int64_t *key = s->key[from];
  int64_t next[DIGIT], sum = 0;
  for (int value = 0; value < DIGIT; value++) {
    next[value] = sum;
    sum += count[value];
  }
  for (int64_t k = 0; k < n; k++) {
    int64_t at = next[digit_of(key[k], d)]++;
    s->key[!from][at] = key[k];
    if (places) s->place[!from][at] = s->place[from][k];
  }
}

/* Sorts key[0] (and place[0] along with it); returns the side where the result is. Digits that all ids share cost nothing. */
static int sort_ids(const wr_id_sorter *s, int64_t n, int places) {
  int64_t count[DIGITS][DIGIT] = {{0}};
  int side = 0;
  for (int64_t k = 0; k < n; k++)
    for (int d = 0; d < DIGITS; d++) count[d][digit_of(s->key[0][k], d)]++;
  for (int d = 0; d < DIGITS && n > 0; d++) {
    if (count[d][digit_of(s->key[0][0], d)] == n) continue;
    sort_by_digit(s, side, n, d, places, count[d]);
    side = !side;
  }
  return side;
}

/* The distinct ones among ascending ids, to the front; returns how many. */
static int64_t drop_repeated(int64_t *id, int64_t n) {
  int64_t count = 0;
  for (int64_t k = 0; k < n; k++)
    if (k == 0 || id[k] != id[count - 1]) id[count++] = id[k];
  return count;
}

static wr_status keep_list(const int64_t *id, int64_t count, wr_id_part *part) {
  PASS(wr_alloc(&part->id, count, sizeof *part->id, "the ids of a graph"));
  if (count > 0) memcpy(part->id, id, (size_t)count * sizeof *id);
  part->count = count;
  part->listed = 1;
  return WR_OK;
}

/* Sources first, then targets: those of edges, or without these what rows and columns say. */
static void gather_ids(int64_t *key, const wr_edge_chunk *edges, const wr_triplet_chunk *triplets) {
  int64_t count = triplets->count;
  for (int64_t n = 0; n < count; n++) {
    key[n] = edges != NULL ? edges->source[n] : triplets->row[n];
    key[n + count] = edges != NULL ? edges->target[n] : triplets->col[n];
  }
}

/* *part := the distinct ids of the edges (or without edges, of what rows and columns say), ascending; rows and columns become
 * places in that list. */
static wr_status list_ids(wr_id_sorter *s, const wr_edge_chunk *edges, wr_triplet_chunk *triplets, wr_id_part *part) {
  int64_t count = triplets->count, n = 2 * count;
  wr_status status = reserve(s, n);
  if (status != WR_OK || count == 0) return status;
  gather_ids(s->key[0], edges, triplets);
  for (int64_t k = 0; k < n; k++) s->place[0][k] = (uint32_t)k;
  int side = sort_ids(s, n, 1);
  const int64_t *key = s->key[side];
  uint32_t *node = s->place[!side], last = 0;
  for (int64_t k = 0; k < n; k++) {
    last += k > 0 && key[k] != key[k - 1];
    node[s->place[side][k]] = last;
  }
  memcpy(triplets->row, node, (size_t)count * sizeof *triplets->row);
  memcpy(triplets->col, node + count, (size_t)count * sizeof *triplets->col);
  return keep_list(key, drop_repeated(s->key[side], n), part);
}

/* ---- a part as soon as it is parsed ---- */

static void note_extremes(const wr_edge_chunk *edges, wr_id_part *part) {
  int64_t least = INT64_MAX, most = 0;
  for (int64_t n = 0; n < edges->count; n++) {
    int64_t a = edges->source[n], b = edges->target[n];
    if (a < least) least = a;
    if (b < least) least = b;
    if (a > most) most = a;
    if (b > most) most = b;
  }
  part->least = least, part->most = most;
}

wr_status wr_ids_take(const wr_edge_chunk *edges, wr_id_sorter *sorter, wr_triplet_chunk *triplets, wr_id_part *part) {
  int64_t count = edges->count;
  PASS(wr_alloc(&triplets->row, count, sizeof *triplets->row, "the edges of a graph"));
  PASS(wr_alloc(&triplets->col, count, sizeof *triplets->col, "the edges of a graph"));
  if (edges->weight) PASS(wr_alloc(&triplets->val, count, sizeof *triplets->val, "the edges of a graph"));
  if (count == 0) return WR_OK;
  triplets->count = triplets->capacity = count;
  if (edges->weight != NULL) memcpy(triplets->val, edges->weight, (size_t)count * sizeof *triplets->val);
  note_extremes(edges, part);
  if (part->most > INT32_MAX) return list_ids(sorter, edges, triplets, part);
  for (int64_t n = 0; n < count; n++) {
    triplets->row[n] = (int32_t)edges->source[n];
    triplets->col[n] = (int32_t)edges->target[n];
  }
  return WR_OK;
}

/* ---- numbering by a table of bits, for ids that lie close together ---- */

/* Which ids occur, a bit each. */
typedef struct table {
  int64_t least, range; /* ids are in [least, least + range)            */
  int64_t nwords;
  uint64_t *word;  /* [nwords] bit b of word w: least + 64 w + b    */
  int32_t *before; /* [nwords] how many occur below the word's bits */
} table;

/* Most ids are marked already, and cost one read. */
static inline void mark(const table *t, int64_t id) {
  uint64_t bit = UINT64_C(1) << ((id - t->least) & 63), seen, *word = &t->word[(id - t->least) >> 6];
#pragma omp atomic read
  seen = *word;
  if (seen & bit) return;
#pragma omp atomic update
  *word |= bit;
}

static void mark_all(const table *t, const wr_triplets *triplets, int threads) {
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
  for (int64_t c = 0; c < triplets->nchunks; c++) {
    const wr_triplet_chunk *chunk = &triplets->chunks[c];
    for (int64_t n = 0; n < chunk->count; n++) {
      mark(t, chunk->row[n]);
      mark(t, chunk->col[n]);
    }
  }
}

/* Returns how many ids occur; `before` holds the true numbers if they are at most WR_MAX_INDEX. */
static int64_t count_marks(const table *t) {
  int64_t count = 0;
  for (int64_t w = 0; w < t->nwords; w++) {
    t->before[w] = (int32_t)(count <= WR_MAX_INDEX ? count : 0);
    count += __builtin_popcountll(t->word[w]);
  }
  return count;
}

static void list_marks(const table *t, int64_t *id, int threads) {
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t w = 0; w < t->nwords; w++) {
    int64_t node = t->before[w];
    for (uint64_t bits = t->word[w]; bits != 0; bits &= bits - 1)
      id[node++] = t->least + 64 * w + __builtin_ctzll(bits);
  }
}

static inline int32_t node_of(const table *t, int32_t id) {
  int64_t place = id - t->least;
  uint64_t below = t->word[place >> 6] & ((UINT64_C(1) << (place & 63)) - 1);
  return t->before[place >> 6] + (int32_t)__builtin_popcountll(below);
}

/* dense: ids follow one another, so that a node is an id less the first. */
static void number_all(const table *t, int dense, int threads, const wr_triplets *triplets) {
  if (dense && t->least == 0) return;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
  for (int64_t c = 0; c < triplets->nchunks; c++) {
    const wr_triplet_chunk *chunk = &triplets->chunks[c];
    for (int64_t n = 0; n < chunk->count; n++) {
      chunk->row[n] = dense ? chunk->row[n] - (int32_t)t->least : node_of(t, chunk->row[n]);
      chunk->col[n] = dense ? chunk->col[n] - (int32_t)t->least : node_of(t, chunk->col[n]);
    }
  }
}

static wr_status number_by_table(const char *name, table *t, int threads, wr_triplets *triplets, wr_ids *ids) {
  wr_status status;
  t->nwords = ((t->range - 1) >> 6) + 1;
  TRY(wr_alloc_zeroed(&t->word, t->nwords, sizeof *t->word, "the ids of a graph"));
  TRY(wr_alloc(&t->before, t->nwords, sizeof *t->before, "the ids of a graph"));
  mark_all(t, triplets, threads);
  ids->first = t->least;
  ids->count = count_marks(t);
  if (ids->count > WR_MAX_INDEX) TRY(fail_too_many(name, ids->count));
  int dense = ids->count == t->range;
  if (!dense) {
    TRY(wr_alloc(&ids->id, ids->count, sizeof *ids->id, "the ids of a graph"));
    list_marks(t, ids->id, threads);
  }
  number_all(t, dense, threads, triplets);
done:
  wr_free(t->word);
  wr_free(t->before);
  return status;
}

/* ---- numbering by sorting, for ids that lie too far apart for a table ----
 *
 * Three steps, each a part or a range of ids at a time: the ids of a part are sorted along with their places, which gives
 * the part's own list of distinct ids and its edges as places in it; the lists are merged, a range of ids by each thread;
 * the places become those in the merged list. Nothing is looked up at random in what is larger than a cache, so no choice of
 * ids can raise the cost. */

typedef struct numbering {
  const char *name;
  int threads;
  int64_t nparts, nranges, total;
  wr_id_part *parts;  /* [nparts] with their lists                */
  wr_id_part *ranges; /* [nranges] what all lists have in a range */
  int64_t *splits;    /* [nranges] where ranges begin             */
  wr_triplet_chunk *chunks;
  wr_ids *ids;
} numbering;

/* Calls sort for the numbers below count, each thread with a sorter of its own. */
static wr_status sort_all(const numbering *g, int64_t count,
                          wr_status (*sort)(const numbering *g, int64_t which, wr_id_sorter *s)) {
  int failed = 0;
#pragma omp parallel num_threads(g->threads) reduction(+ : failed)
  {
    wr_id_sorter s = {.capacity = 0};
#pragma omp for schedule(dynamic, 1)
    for (int64_t which = 0; which < count; which++) failed += sort(g, which, &s) != WR_OK;
    wr_id_sorter_free(&s);
  }
  return failed > 0 ? wr_fail(WR_ENOMEM, "out of memory: sorting the ids of a graph") : WR_OK;
}

static wr_status list_part(const numbering *g, int64_t c, wr_id_sorter *s) {
  return g->parts[c].listed ? WR_OK : list_ids(s, NULL, &g->chunks[c], &g->parts[c]);
}

/* The first place at or behind `from` in the list that is not below id; close ones are found fast. */
static int64_t search(const wr_id_part *list, int64_t from, int64_t id) {
  int64_t low = from, step = 1;
  while (low + step <= list->count && list->id[low + step - 1] < id) {
    low += step;
    step *= 2;
  }
  int64_t high = low + step - 1 < list->count ? low + step - 1 : list->count;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (list->id[middle] < id)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Ranges that hold about as many ids of all lists, by a sample; what comes out does not depend on them. */
static wr_status choose_ranges(numbering *g) {
  wr_id_sorter s = {.capacity = 0};
  wr_status status;
  g->nranges = (int64_t)g->threads * RANGES_PER_THREAD;
  if (g->nranges > g->total / RANGE_LEAST + 1) g->nranges = g->total / RANGE_LEAST + 1;
  int64_t step = g->total / (g->nranges * SAMPLES_PER_RANGE) + 1, before = 0, count = 0;
  TRY(reserve(&s, g->total / step + 1));
  for (int64_t c = 0; c < g->nparts; c++) {
    for (int64_t k = (step - before % step) % step; k < g->parts[c].count; k += step)
      s.key[0][count++] = g->parts[c].id[k];
    before += g->parts[c].count;
  }
  TRY(wr_alloc(&g->splits, g->nranges, sizeof *g->splits, "sorting ids"));
  TRY(wr_alloc_zeroed(&g->ranges, g->nranges, sizeof *g->ranges, "sorting ids"));
  const int64_t *sample = s.key[sort_ids(&s, count, 0)];
  for (int64_t r = 0; r < g->nranges; r++) g->splits[r] = r == 0 ? 0 : sample[r * count / g->nranges];
done:
  wr_id_sorter_free(&s);
  return status;
}

/* Where range r begins and ends in a list. */
static void find_range(const numbering *g, int64_t r, const wr_id_part *list, int64_t *begin, int64_t *end) {
  *begin = search(list, 0, g->splits[r]);
  *end = r + 1 < g->nranges ? search(list, *begin, g->splits[r + 1]) : list->count;
}

static wr_status merge_range(const numbering *g, int64_t r, wr_id_sorter *s) {
  int64_t count = 0, begin, end;
  for (int64_t c = 0; c < g->nparts; c++) {
    find_range(g, r, &g->parts[c], &begin, &end);
    count += end - begin;
  }
  PASS(reserve(s, count));
  count = 0;
  for (int64_t c = 0; c < g->nparts; c++) {
    find_range(g, r, &g->parts[c], &begin, &end);
    if (end > begin) memcpy(s->key[0] + count, g->parts[c].id + begin, (size_t)(end - begin) * sizeof *s->key[0]);
    count += end - begin;
  }
  int64_t *key = s->key[sort_ids(s, count, 0)];
  return keep_list(key, drop_repeated(key, count), &g->ranges[r]);
}

/* All ranges one behind another are the ids. */
static wr_status join_ranges(numbering *g) {
  wr_ids *ids = g->ids;
  for (int64_t r = 0; r < g->nranges; r++) ids->count += g->ranges[r].count;
  if (ids->count > WR_MAX_INDEX) return fail_too_many(g->name, ids->count);
  PASS(wr_alloc(&ids->id, ids->count, sizeof *ids->id, "the ids of a graph"));
  int64_t before = 0;
  for (int64_t r = 0; r < g->nranges; r++) {
    if (g->ranges[r].count > 0) memcpy(ids->id + before, g->ranges[r].id, (size_t)g->ranges[r].count * sizeof *ids->id);
    before += g->ranges[r].count;
    wr_free(g->ranges[r].id);
    g->ranges[r].id = NULL;
  }
  ids->first = ids->id[0];
  return WR_OK;
}

/* Places in the part's list become places among all ids. */
static wr_status number_part(const wr_id_part *all, wr_id_part *part, wr_triplet_chunk *chunk) {
  int32_t *node;
  PASS(wr_alloc(&node, part->count, sizeof *node, "the nodes of a graph"));
  int64_t at = 0;
  for (int64_t k = 0; k < part->count; k++) node[k] = (int32_t)(at = search(all, at, part->id[k]));
  for (int64_t n = 0; n < chunk->count; n++) {
    chunk->row[n] = node[chunk->row[n]];
    chunk->col[n] = node[chunk->col[n]];
  }
  wr_free(node);
  wr_id_part_free(part);
  return WR_OK;
}

static wr_status number_parts(const numbering *g) {
  int failed = 0;
  const wr_id_part all = {.count = g->ids->count, .id = g->ids->id};
#pragma omp parallel for num_threads(g->threads) schedule(dynamic, 1) reduction(+ : failed)
  for (int64_t c = 0; c < g->nparts; c++) failed += number_part(&all, &g->parts[c], &g->chunks[c]) != WR_OK;
  return failed > 0 ? wr_fail(WR_ENOMEM, "out of memory: the nodes of a graph") : WR_OK;
}

static wr_status number_by_sorting(const char *name, wr_id_part *parts, int threads, wr_triplets *triplets,
                                   wr_ids *ids) {
  numbering g = {.name = name,
                 .threads = threads,
                 .nparts = triplets->nchunks,
                 .parts = parts,
                 .chunks = triplets->chunks,
                 .ids = ids};
  wr_status status;
  TRY(sort_all(&g, g.nparts, list_part));
  for (int64_t c = 0; c < g.nparts; c++) g.total += g.parts[c].count;
  TRY(choose_ranges(&g));
  TRY(sort_all(&g, g.nranges, merge_range));
  TRY(join_ranges(&g));
  TRY(number_parts(&g));
done:
  for (int64_t r = 0; g.ranges != NULL && r < g.nranges; r++) wr_id_part_free(&g.ranges[r]);
  wr_free(g.ranges);
  wr_free(g.splits);
  return status;
}

wr_status wr_ids_number(const char *name, wr_id_part *parts, int threads, wr_triplets *triplets, wr_ids *ids) {
  int64_t least = INT64_MAX, most = 0, count = 0;
  *ids = (wr_ids){.count = 0};
  for (int64_t c = 0; c < triplets->nchunks; c++) {
    if (triplets->chunks[c].count == 0) continue;
    if (parts[c].least < least) least = parts[c].least;
    if (parts[c].most > most) most = parts[c].most;
    count += triplets->chunks[c].count;
  }
  if (count == 0) return wr_fail(WR_EINTERNAL, "%s: a graph without edges has no ids", name);
  table t = {.least = least, .range = most <= INT32_MAX ? most - least + 1 : 0};
  wr_status status = most <= INT32_MAX && t.range / BITS_PER_EDGE <= count
                         ? number_by_table(name, &t, threads, triplets, ids)
                         : number_by_sorting(name, parts, threads, triplets, ids);
  if (status != WR_OK) wr_ids_free(ids);
  if (status == WR_OK) triplets->nrows = triplets->ncols = ids->count;
  return status;
}
