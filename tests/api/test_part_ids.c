/* Nodes of a list of edges that parts have read, which are threads here, each a share: against a sorted list of all ids. */
#define _DEFAULT_SOURCE /* pthread_barrier_t */
#include "solvers/api/part_ids.h"

#include <stdio.h>
#include <stdlib.h>

#include "config/hash.h"
#include "config/memory.h"
#include "tests/check.h"
#include "tests/spmv/thread_comm.h"

enum { NODES = 300, EDGES = 800, NAME = 24 };

/* EDGES edges between places in the list of ids, of which part r of `size` has those from EDGES * cut[r] / 8 on. */
typedef struct scene {
  char name[NODES][NAME]; /* ascending                    */
  int64_t number[NODES];  /* ascending                    */
  int are_names, source[EDGES], target[EDGES], occurs[NODES], count;
  const int *cut; /* [size + 1] */
  int64_t wrong[MOST_PARTS];
  wr_status status[MOST_PARTS];
} scene;

static int compare_names(const void *a, const void *b) { return strcmp(a, b); }

/* *ids := those of edges [from, end), rows and columns of the chunk their places in them, as wr_edge_list_read leaves them. */
static void read_share(const scene *s, int from, int end, wr_triplets *t, wr_ids *ids) {
  int32_t place[NODES];
  int64_t count = 0, bytes = 0;
  char here[NODES] = {0};
  for (int k = from; k < end; k++) here[s->source[k]] = here[s->target[k]] = 1;
  *t = (wr_triplets){.nchunks = 1};
  CHECK_OK(wr_alloc_zeroed(&t->chunks, 1, sizeof *t->chunks, "chunks"));
  for (int i = 0; i < NODES; i++)
    if (here[i]) place[i] = (int32_t)count++, bytes += (int64_t)strlen(s->name[i]);
  *ids = (wr_ids){.count = count, .first = 1};
  if (count == 0) return;
  if (s->are_names) CHECK_OK(wr_alloc(&ids->names, bytes, 1, "names"));
  if (s->are_names) CHECK_OK(wr_alloc_zeroed(&ids->begin, count + 1, sizeof *ids->begin, "names"));
  if (!s->are_names) CHECK_OK(wr_alloc(&ids->id, count, sizeof *ids->id, "ids"));
  for (int i = 0; i < NODES; i++) {
    if (!here[i]) continue;
    if (!s->are_names) {
      ids->id[place[i]] = s->number[i];
      continue;
    }
    size_t length = strlen(s->name[i]);
    memcpy(ids->names + ids->begin[place[i]], s->name[i], length);
    ids->begin[place[i] + 1] = ids->begin[place[i]] + (int64_t)length;
  }
  if (!s->are_names) ids->first = ids->id[0];
  wr_triplet_chunk *c = t->chunks;
  CHECK_OK(wr_alloc(&c->row, end - from, sizeof *c->row, "rows"));
  CHECK_OK(wr_alloc(&c->col, end - from, sizeof *c->col, "columns"));
  c->count = c->capacity = end - from;
  for (int k = from; k < end; k++) c->row[k - from] = place[s->source[k]], c->col[k - from] = place[s->target[k]];
}

/* The node that an id, given by its place in the list, must have. */
static int node_of(const scene *s, int id) {
  int node = 0;
  for (int i = 0; i < id; i++) node += s->occurs[i];
  return node;
}

static void number_share(wr_comm *comm, void *of) {
  scene *s = of;
  wr_triplets t;
  wr_ids ids;
  int from = EDGES * s->cut[comm->rank] / 8, end = EDGES * s->cut[comm->rank + 1] / 8;
  int64_t wrong = 0;
  read_share(s, from, end, &t, &ids);
  s->status[comm->rank] = wr_part_ids_number(comm, "list", &t, &ids);
  wrong += ids.count != s->count || t.nrows != s->count || t.ncols != s->count || (ids.names != NULL) != s->are_names;
  for (int i = 0; i < NODES && wrong == 0; i++)
    if (s->occurs[i])
      wrong += s->are_names ? wr_ids_find(&ids, s->name[i], (int64_t)strlen(s->name[i])) != node_of(s, i)
                            : wr_ids_place(&ids, s->number[i]) != node_of(s, i);
  for (int k = from; k < end; k++)
    wrong +=
        t.chunks[0].row[k - from] != node_of(s, s->source[k]) || t.chunks[0].col[k - from] != node_of(s, s->target[k]);
  s->wrong[comm->rank] = wrong;
  wr_triplets_free(&t);
  wr_ids_free(&ids);
}

static void make_scene(scene *s) {
  for (int i = 0; i < NODES; i++) {
    uint64_t hash = wr_hash(3, (uint64_t)i);
    snprintf(s->name[i], NAME, "%s%llu", hash % 2 ? "http://" : "", (unsigned long long)(hash >> (hash % 50)));
    s->number[i] = (int64_t)i * i * INT64_C(10000000000) + i;
    s->occurs[i] = 0;
  }
  qsort(s->name, NODES, NAME, compare_names);
  for (int i = 1; i < NODES; i++) CHECK(strcmp(s->name[i - 1], s->name[i]) < 0);
  for (int k = 0; k < EDGES; k++) {
    s->source[k] = (int)(wr_hash(1, (uint64_t)k) % NODES), s->target[k] = (int)(wr_hash(2, (uint64_t)k) % NODES);
    s->occurs[s->source[k]] = s->occurs[s->target[k]] = 1;
  }
  s->count = node_of(s, NODES);
}

int main(void) {
  static scene s;
  static const int cuts[][MOST_PARTS + 1] = {
      {0, 8},          {0, 3, 8},                   {0, 0, 8},                  {0, 8, 8},
      {0, 1, 1, 4, 8}, {0, 1, 2, 3, 4, 5, 6, 7, 8}, {0, 0, 0, 5, 5, 5, 5, 8, 8}};
  static const int sizes[] = {1, 2, 2, 2, 4, 8, 8};
  make_scene(&s);
  CHECK(s.count > NODES / 2);
  for (s.are_names = 0; s.are_names < 2; s.are_names++)
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
      CASE(s.are_names ? "names" : "numbers");
      s.cut = cuts[k];
      in_parts(sizes[k], number_share, &s);
      for (int r = 0; r < sizes[k]; r++)
        CHECKF(s.status[r] == WR_OK && s.wrong[r] == 0, "cut %zu, part %d of %d: %d, %lld are wrong", k, r + 1,
               sizes[k], (int)s.status[r], (long long)s.wrong[r]);
    }
  return wr_test_report("part_ids");
}
