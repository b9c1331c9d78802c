#include "io/name_number.h"

#include <string.h>

#include "config/failure.h"
#include "config/memory.h"
#include "spmv/matrix/csr.h"

/* A shard has the names whose hashes have the same upper bits: the same name is in the same shard of all tables. */
enum {
  SHARD_BITS_MOST = 10,
  SHARD_NAMES = 1 << 14, /* names that are worth a shard of their own                     */
  PREFIX = 7,            /* bytes of a name in a sorting key                              */
  SMALL = 16,            /* names that are sorted by insertion                            */
  TASK = 1 << 13         /* names that are worth a task                                   */
};

/* A name of any table. */
typedef struct name_ref {
  const char *bytes;
  int64_t length;
} name_ref;

typedef struct numbering {
  wr_name_table *tables;
  int ntables, threads, shard_bits;
  int64_t total;   /* names of all tables                                                   */
  int64_t *order;  /* [total] names of table 0 by shard, then of table 1, ...               */
  int64_t *first;  /* [ntables][shards + 1] where shards begin in them                      */
  int64_t *count;  /* [shards + 1] different names, then where they begin among all         */
  int32_t **nodes; /* [ntables][] numbers within the shard, then among all, then nodes      */
  int64_t unique;
  name_ref *refs; /* [unique] by shard                                                     */
  int32_t *node;  /* [unique] where each is in the order of bytes                          */
} numbering;

static inline int64_t shards_of(const numbering *g) { return INT64_C(1) << g->shard_bits; }

static inline int64_t shard_of(const numbering *g, uint64_t hash) {
  return g->shard_bits == 0 ? 0 : (int64_t)(hash >> (64 - g->shard_bits));
}

/* ---- the same names of several tables ---- */

static void order_table(const numbering *g, int t, int64_t before) {
  const wr_name_table *table = &g->tables[t];
  int64_t *first = g->first + (int64_t)t * (shards_of(g) + 1), sum = before;
  for (int64_t k = 0; k < table->count; k++) first[shard_of(g, table->hash[k])]++;
  for (int64_t s = 0; s <= shards_of(g); s++) {
    int64_t n = first[s];
    first[s] = sum, sum += n;
  }
  for (int64_t k = 0; k < table->count; k++) g->order[first[shard_of(g, table->hash[k])]++] = k;
  for (int64_t s = shards_of(g); s > 0; s--) first[s] = first[s - 1];
  first[0] = before;
}

static wr_status order_all(numbering *g) {
  PASS(wr_alloc(&g->order, g->total, sizeof *g->order, "the names of a graph"));
  PASS(wr_alloc_zeroed(&g->first, g->ntables * (shards_of(g) + 1), sizeof *g->first, "the names of a graph"));
  PASS(wr_alloc_zeroed(&g->count, shards_of(g) + 1, sizeof *g->count, "the names of a graph"));
  for (int t = 0; t < g->ntables; t++)
    PASS(wr_alloc(&g->nodes[t], g->tables[t].count, sizeof **g->nodes, "the nodes of a graph"));
#pragma omp parallel for num_threads(g->threads) schedule(dynamic, 1)
  for (int t = 0; t < g->ntables; t++) {
    int64_t before = 0;
    for (int u = 0; u < t; u++) before += g->tables[u].count;
    order_table(g, t, before);
  }
  return WR_OK;
}

/* A number with its name's table and number there. */
typedef struct found {
  int32_t table, name;
} found;

static inline int is_same(const numbering *g, found f, const wr_name_table *t, int64_t k) {
  const wr_name_table *u = &g->tables[f.table];
  int64_t length = t->begin[k + 1] - t->begin[k];
  return u->hash[f.name] == t->hash[k] && u->begin[f.name + 1] - u->begin[f.name] == length &&
         memcmp(u->bytes + u->begin[f.name], t->bytes + t->begin[k], (size_t)length) == 0;
}

static wr_status number_shard(const numbering *g, int64_t s) {
  int64_t all = 0, slots = 16, stride = shards_of(g) + 1;
  found *list = NULL;
  int32_t *slot = NULL; /* a number + 1; 0: none */
  wr_status status;
  for (int t = 0; t < g->ntables; t++) all += g->first[t * stride + s + 1] - g->first[t * stride + s];
  while (slots < 2 * all) slots *= 2;
  TRY(wr_alloc(&list, all, sizeof *list, "the names of a graph"));
  TRY(wr_alloc_zeroed(&slot, slots, sizeof *slot, "the names of a graph"));
  for (int t = 0; t < g->ntables; t++) {
    const wr_name_table *table = &g->tables[t];
    for (int64_t n = g->first[t * stride + s]; n < g->first[t * stride + s + 1]; n++) {
      int64_t k = g->order[n];
      uint64_t at = table->hash[k] & (uint64_t)(slots - 1);
      while (slot[at] != 0 && !is_same(g, list[slot[at] - 1], table, k)) at = (at + 1) & (uint64_t)(slots - 1);
      if (slot[at] == 0) {
        list[g->count[s]] = (found){t, (int32_t)k};
        slot[at] = (int32_t)++g->count[s];
      }
      g->nodes[t][k] = slot[at] - 1;
    }
  }
done:
  wr_free(list);
  wr_free(slot);
  return status;
}

static wr_status number_shards(const numbering *g) {
  wr_failure failure = WR_NO_FAILURE;
#pragma omp parallel for num_threads(g->threads) schedule(dynamic, 1)
  for (int64_t s = 0; s < shards_of(g); s++) wr_failure_note(&failure, s, number_shard(g, s));
  return wr_failure_report(&failure);
}

/* Numbers within shards become numbers among all, and refs are filled. */
static wr_status join_shards(const char *name, numbering *g) {
  int64_t stride = shards_of(g) + 1;
  for (int64_t s = 0; s < stride; s++) {
    int64_t n = g->count[s];
    g->count[s] = g->unique, g->unique += n;
  }
  if (g->unique > WR_MAX_INDEX)
    return wr_fail(WR_EINPUT, "%s: more nodes than the %lld that a 32-bit index reaches (%lld)", name,
                   (long long)WR_MAX_INDEX, (long long)g->unique);
  PASS(wr_alloc(&g->refs, g->unique, sizeof *g->refs, "the names of a graph"));
  PASS(wr_alloc(&g->node, g->unique, sizeof *g->node, "the nodes of a graph"));
#pragma omp parallel for num_threads(g->threads) schedule(dynamic, 1)
  for (int64_t s = 0; s < shards_of(g); s++) {
    for (int t = 0; t < g->ntables; t++)
      for (int64_t n = g->first[t * stride + s]; n < g->first[t * stride + s + 1]; n++) {
        int64_t k = g->order[n];
        const wr_name_table *table = &g->tables[t];
        g->nodes[t][k] += (int32_t)g->count[s];
        g->refs[g->nodes[t][k]] = (name_ref){table->bytes + table->begin[k], table->begin[k + 1] - table->begin[k]};
      }
  }
  return WR_OK;
}

/* ---- the order of bytes ----
 *
 * By keys of 7 bytes and of how many follow (0 to 7, or 8 for more): those of the same key are sorted by the next 7 bytes. Keys
 * lie in the array that is sorted, so that names themselves are read once for each key. A name that begins another has the
 * smaller key. The time is O(n log n) for each 7 bytes that names have in common, whatever the names. */

typedef struct sort_key {
  uint64_t key;
  int64_t name;
} sort_key;

static uint64_t key_of(const name_ref *ref, int64_t depth) {
  int64_t left = ref->length - depth;
  int count = left > PREFIX ? PREFIX + 1 : (int)left;
  uint64_t key = 0;
  for (int b = 0; b < PREFIX; b++) key = key << 8 | (b < count ? (unsigned char)ref->bytes[depth + b] : 0);
  return key << 8 | (uint64_t)count;
}

static void sort_by_insertion(sort_key *a, int64_t n) {
  for (int64_t i = 1; i < n; i++) {
    sort_key moved = a[i];
    int64_t at = i;
    for (; at > 0 && a[at - 1].key > moved.key; at--) a[at] = a[at - 1];
    a[at] = moved;
  }
}

/* Sorts a[n] by key, with room for as many. */
static void merge_sort(sort_key *a, sort_key *room, int64_t n) {
  if (n <= SMALL) {
    sort_by_insertion(a, n);
    return;
  }
  int64_t half = n / 2;
#pragma omp task if (n > TASK)
  merge_sort(a, room, half);
  merge_sort(a + half, room + half, n - half);
#pragma omp taskwait
  memcpy(room, a, (size_t)half * sizeof *a);
  for (int64_t i = 0, j = half, at = 0; i < half; at++) a[at] = j < n && a[j].key < room[i].key ? a[j++] : room[i++];
}

/* Sorts the names of a[n], which agree in their first `depth` bytes. The largest group of the same key is left to the loop, so
 * that calls are nested log2(n) deep at most. */
static void sort_names(const name_ref *refs, sort_key *a, sort_key *room, int64_t n, int64_t depth) {
  while (n > 1) {
    int64_t largest = 0, count = 0;
    for (int64_t k = 0; k < n; k++) a[k].key = key_of(&refs[a[k].name], depth);
    merge_sort(a, room, n);
    depth += PREFIX;
    for (int64_t from = 0, to; from < n; from = to) {
      for (to = from + 1; to < n && a[to].key == a[from].key;) to++;
      int64_t other = from, size = to - from;
      if (size > count) other = largest, largest = from, size = count, count = to - from;
      if (size < 2) continue;
#pragma omp task if (size > TASK)
      sort_names(refs, a + other, room + other, size, depth);
    }
    a += largest, room += largest, n = count;
  }
#pragma omp taskwait
}

static wr_status sort_all(const numbering *g) {
  sort_key *a = NULL, *room = NULL;
  wr_status status;
  TRY(wr_alloc(&a, g->unique, sizeof *a, "sorting names"));
  TRY(wr_alloc(&room, g->unique, sizeof *room, "sorting names"));
  for (int64_t k = 0; k < g->unique; k++) a[k].name = k;
#pragma omp parallel num_threads(g->threads)
#pragma omp single
  sort_names(g->refs, a, room, g->unique, 0);
  for (int64_t k = 0; k < g->unique; k++) g->node[a[k].name] = (int32_t)k;
done:
  wr_free(a);
  wr_free(room);
  return status;
}

/* ---- nodes ---- */

static wr_status copy_names(const numbering *g, wr_ids *ids) {
  int64_t sum = 0;
  ids->count = g->unique, ids->first = 1;
  PASS(wr_alloc(&ids->begin, g->unique + 1, sizeof *ids->begin, "the names of a graph"));
  for (int64_t k = 0; k < g->unique; k++) ids->begin[g->node[k]] = g->refs[k].length;
  for (int64_t k = 0; k <= g->unique; k++) {
    int64_t length = k < g->unique ? ids->begin[k] : 0;
    ids->begin[k] = sum, sum += length;
  }
  PASS(wr_alloc(&ids->names, sum, 1, "the names of a graph"));
#pragma omp parallel for num_threads(g->threads) schedule(static)
  for (int64_t k = 0; k < g->unique; k++)
    memcpy(ids->names + ids->begin[g->node[k]], g->refs[k].bytes, (size_t)g->refs[k].length);
  return WR_OK;
}

static void place_all(const numbering *g) {
  for (int t = 0; t < g->ntables; t++)
#pragma omp parallel for num_threads(g->threads) schedule(static)
    for (int64_t k = 0; k < g->tables[t].count; k++) g->nodes[t][k] = g->node[g->nodes[t][k]];
}

wr_status wr_names_number(const char *name, wr_name_table *tables, int ntables, int threads, int32_t **nodes,
                          wr_ids *ids) {
  numbering g = {.tables = tables, .ntables = ntables, .threads = threads, .nodes = nodes};
  wr_status status;
  *ids = (wr_ids){.count = 0};
  for (int t = 0; t < ntables; t++) {
    g.total += tables[t].count;
    wr_free(tables[t].slot);
    tables[t].slot = NULL, tables[t].slots = 0;
  }
  while (g.shard_bits < SHARD_BITS_MOST && g.total >> g.shard_bits > SHARD_NAMES) g.shard_bits++;
  TRY(order_all(&g));
  TRY(number_shards(&g));
  TRY(join_shards(name, &g));
  TRY(sort_all(&g));
  TRY(copy_names(&g, ids));
  place_all(&g);
done:
  if (status != WR_OK) wr_ids_free(ids);
  for (int t = 0; t < ntables; t++) wr_name_table_free(&tables[t]);
  wr_free(g.order);
  wr_free(g.first);
  wr_free(g.count);
  wr_free(g.refs);
  wr_free(g.node);
  return status;
}
