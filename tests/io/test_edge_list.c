/* Edge lists: what is taken and how it is numbered, what is refused and on which line, against a plain model of both. */
#define _DEFAULT_SOURCE
#include "io/edge_list.h"

#include <stdlib.h>

#include "tests/check.h"
#include "tests/io/input_fixture.h"

#define BIGGEST "9223372036854775807"

typedef struct list {
  wr_triplets t;
  wr_ids ids;
  wr_read_facts facts;
} list;

static wr_edge_choice choice = {.bare_values = 1}; /* of all reads */

static wr_status read_with(const char *path, int threads, int nonnegative, list *l) {
  wr_read_options options = {.threads = threads, .nonnegative = nonnegative, .columns = choice};
  l->facts = (wr_read_facts){.bytes = 0};
  return wr_edge_list_read(path, &options, &l->t, &l->ids, &l->facts);
}

static wr_status read_text(const char *text, int threads, list *l) {
  return read_with(fixture_put("text.tsv", text, strlen(text)), threads, 0, l);
}

static void forget(list *l) {
  wr_triplets_free(&l->t);
  wr_ids_free(&l->ids);
}

static int64_t count_of(const wr_triplets *t) {
  int64_t count = 0;
  for (int64_t c = 0; c < t->nchunks; c++) count += t->chunks[c].count;
  return count;
}

typedef struct edge {
  int64_t source, target;
  double weight;
} edge;

/* Edge k in file order, with ids. */
static edge edge_at(const list *l, int64_t k) {
  int64_t c = 0;
  for (; k >= l->t.chunks[c].count; c++) k -= l->t.chunks[c].count;
  const wr_triplet_chunk *chunk = &l->t.chunks[c];
  if (chunk->row[k] < 0 || chunk->row[k] >= l->ids.count || chunk->col[k] < 0 || chunk->col[k] >= l->ids.count)
    return (edge){-1, -1, -1};
  return (edge){wr_ids_at(&l->ids, chunk->row[k]), wr_ids_at(&l->ids, chunk->col[k]), chunk->val ? chunk->val[k] : 1};
}

/* The text must hold these edges between so many nodes; the nodes' ids must ascend. */
static void check_edges(const char *text, int64_t nodes, int64_t count, const edge *expected, const char *kind) {
  for (int threads = 1; threads <= 3; threads++) {
    list l;
    CHECK_OK(read_text(text, threads, &l));
    CHECKF(l.t.nrows == nodes && l.t.ncols == nodes && l.ids.count == nodes, "%s: %lld nodes", text,
           (long long)l.t.nrows);
    CHECKF(count_of(&l.t) == count && l.facts.stored == count, "%s: %lld edges", text, (long long)count_of(&l.t));
    CHECKF(strcmp(l.facts.kind, kind) == 0, "'%s'", l.facts.kind);
    CHECK(l.facts.bytes == (int64_t)strlen(text) && l.t.symmetry == WR_GENERAL);
    for (int64_t i = 1; i < l.ids.count; i++) CHECK(wr_ids_at(&l.ids, i - 1) < wr_ids_at(&l.ids, i));
    for (int64_t k = 0; k < count && count == count_of(&l.t); k++) {
      edge e = edge_at(&l, k);
      CHECKF(e.source == expected[k].source && e.target == expected[k].target && e.weight == expected[k].weight,
             "%s: edge %lld is %lld %lld %g", text, (long long)k, (long long)e.source, (long long)e.target, e.weight);
    }
    forget(&l);
  }
}

#define EDGES(text, nodes, ...) \
  check_edges(text, nodes, (int64_t)(sizeof((edge[]){__VA_ARGS__}) / sizeof(edge)), (edge[]){__VA_ARGS__}, "edge list")
#define WEIGHTED(text, nodes, ...)                                                                         \
  check_edges(text, nodes, (int64_t)(sizeof((edge[]){__VA_ARGS__}) / sizeof(edge)), (edge[]){__VA_ARGS__}, \
              "edge list with weights")

static void test_forms(void) {
  CASE("forms");
  EDGES("1 2\n", 2, {1, 2, 1});
  EDGES("1 2", 2, {1, 2, 1});
  EDGES("0\t0\n", 1, {0, 0, 1});
  EDGES("# a\n% b\n\n  # c\n0\t1\n\t\n#\n1 , 0\n%\n", 2, {0, 1, 1}, {1, 0, 1});
  EDGES("3,4\r\n4,3\r\n3 4\r", 2, {3, 4, 1}, {4, 3, 1}, {3, 4, 1});
  EDGES(" +7 \t 007 \n-0 7\n", 2, {7, 7, 1}, {0, 7, 1});
  EDGES("source\ttarget\n5\t6\n", 2, {5, 6, 1});
  EDGES("# c\n\"source\",'target'\n5,6\n", 2, {5, 6, 1});
  EDGES("4 5\n2147483647 0\n", 4, {4, 5, 1}, {2147483647, 0, 1});
  EDGES("4 5\n2147483648 0\n", 4, {4, 5, 1}, {2147483648, 0, 1});
  EDGES(BIGGEST " 0\n0 " BIGGEST "\n", 2, {INT64_MAX, 0, 1}, {0, INT64_MAX, 1});
  EDGES(BIGGEST "\t9223372036854775806\n", 2, {INT64_MAX, INT64_MAX - 1, 1});
  EDGES("00000000000000000000000000000000000000012 1234567890123456\n", 2, {12, 1234567890123456, 1});
  WEIGHTED("1 2 3\n2 1 -0.5\n", 2, {1, 2, 3}, {2, 1, -0.5});
  WEIGHTED("1,2,1e3\n2\t1 ,+.25\n1 1 0", 2, {1, 2, 1000}, {2, 1, 0.25}, {1, 1, 0});
  WEIGHTED("from to w\n8 9 1d2\n", 2, {8, 9, 100});
}

/* The text must be refused, with this behind the file's name, whatever the number of threads. */
static void check_refused(const char *text, const char *why) {
  char expected[256];
  snprintf(expected, sizeof expected, "text.tsv:%s", why);
  for (int threads = 1; threads <= 3; threads++) {
    list l;
    CHECK_FAILS(WR_EINPUT, read_text(text, threads, &l));
    CHECK_MESSAGE(expected);
    CHECK(l.t.nchunks == 0 && l.t.chunks == NULL && l.t.nrows == 0 && l.ids.count == 0 && l.ids.id == NULL);
  }
}

static void test_refusals(void) {
  CASE("refusals");
  check_refused("", "1: the file ends without an edge");
  check_refused("# nothing\n\n", "3: the file ends without an edge");
  check_refused("source target\n% nothing", "3: the file ends without an edge");
  check_refused("1\n", "1: the target id is missing");
  check_refused("1,\n", "1: the target id is missing");
  check_refused("1 2\n,2\n", "2: the source id is missing");
  check_refused("1 2\n1,,2\n", "2: the target id is missing");
  check_refused("1 2\n\n2 x\n", "3: the target id is not an integer ('x')");
  check_refused("1 2\n1.0 2\n", "2: the source id is not an integer ('1.0')");
  check_refused("1 2\n1;2\n", "2: the source id is not an integer ('1;2')");
  check_refused("1 2\n\"1\" 2\n", "2: a quoted column (\"1\" 2); save the list without quotes");
  check_refused("1 2\n-3 2\n", "2: the source id is negative (-3)");
  check_refused("1 2\n3 9223372036854775808\n", "2: the target id is beyond 64 bits (9223372036854775808)");
  check_refused("1 99999999999999999999\n", "1: the target id is beyond 64 bits (99999999999999999999)");
  check_refused("1 2\n3 4 5\n", "2: more than the 2 columns of the first line ('5')");
  check_refused("1 2\n3 4,\n", "2: more than the 2 columns of the first line (',')");
  check_refused("1 2\n3 4 # no\n", "2: more than the 2 columns of the first line ('# no')");
  check_refused("1 2 3\n3 4\n", "2: the weight is missing");
  check_refused("1 2 3\n3 4,\n", "2: the weight is missing");
  check_refused("1 2 3 4\n", "1: 4 columns without names; --columns 1,2 takes");
  check_refused("1 2 3\n1 2 3 4\n", "2: more than the 3 columns of the first line ('4')");
  check_refused("1 2 3\n3 4 nan\n", "2: the weight is not a number ('nan')");
  check_refused("1 2 3\n3 4 inf\n", "2: the weight is not a number ('inf')");
  check_refused("1 2 3\n3 4 1e999\n", "2: the weight is too big for a double (1e999)");
  check_refused("1 2\nsource target\n", "2: the source id is not an integer ('source')");
  check_refused("heading\n1 2\n", "1: the target id is missing");
  check_refused("1 2\r3 4\n", "1: a carriage return inside a line");
  check_refused("1 2\n3 4\r\r\n", "2: a carriage return inside a line");
  check_refused("%%matrixmarket matrix coordinate pattern general\n2 2 1\n1 2\n",
                "1: a Matrix Market file, not an edge");
  check_refused("<!DOCTYPE html>\n", "1: an HTML page, not a list");
  check_refused("1 2\n3 4\n\x1a", "3: the source id is not an integer ('\\x1a')");
  check_refused("1 2\n1\v2\n", "2: the source id is not an integer ('1\\x0b2')");
}

#define CHOSEN(from, to, by, text, nodes, expected_kind, ...)                                                \
  do {                                                                                                       \
    choice = (wr_edge_choice){.column = {{.number = (from)}, {.number = (to)}, {.number = (by)}}};           \
    check_edges(text, nodes, (int64_t)(sizeof((edge[]){__VA_ARGS__}) / sizeof(edge)), (edge[]){__VA_ARGS__}, \
                expected_kind);                                                                              \
  } while (0)

static void test_names_of_columns(void) {
  CASE("columns by their names");
  const char *second = "edge list (column 2 to column 1)", *mixed = "edge list (column 3 to column 1, weight in 2)";
  CHOSEN(0, 0, 0, "to,from\n5,6\n", 2, second, {6, 5, 1});
  CHOSEN(0, 0, 0, "DST\tWeight\tSRC\n5\t.5\t6\n7\t2\t5", 3, mixed, {6, 5, 0.5}, {5, 7, 2});
  CHOSEN(0, 0, 0, "\"to\",\"w\",\"from\"\n5,1,6\n5, 1 ,+6\n", 2, mixed, {6, 5, 1}, {6, 5, 1});
  CHOSEN(0, 0, 0, "column value row\n5 -1 6\n", 2, mixed, {6, 5, -1});
  CHOSEN(0, 0, 0, "ToNodeId,from_id\n5,6\n", 2, second, {6, 5, 1});
  CHOSEN(0, 0, 0, ":END_ID,:START_ID\n5,6\n", 2, second, {6, 5, 1});
  EDGES("from,to\n5,6\n", 2, {5, 6, 1});
  WEIGHTED("from,to,weight\n5,6,7\n", 2, {5, 6, 7});
  CHOSEN(0, 0, 0, "id,from,to\n1,5,6\n", 2, "edge list (column 2 to column 3)", {5, 6, 1});
  CHOSEN(0, 0, 0, ",from,to,value\n0,1,5,6\n", 2, "edge list (column 2 to column 3, weight in 4)", {1, 5, 6});
  CHOSEN(0, 0, 0, "from,to,amount\n1,5,a b\n", 2, "edge list (column 1 to column 2)", {1, 5, 1});
  CHOSEN(0, 0, 0, "from;to\n1;5\n", 2, "edge list", {1, 5, 1});
  check_refused("follower,followee\n1,5\n", "1: no column is named as the source; --columns follower,followee");
  check_refused("# c\n\nfrom,source,to\n1,5,6\n", "3: columns 1 and 2 are both named as the source; --columns 1,2");
  check_refused("i,j,v\n1,5,6\n", "1: columns 2 and 3 are both named as the target");
  check_refused("from,weight\n1,5\n", "1: no column is named as the target");
  check_refused("to,weight\n1,5\n", "1: no column is named as the source");
  check_refused("from,to\n1,5,6\n", "2: more than the 2 columns of the first line (',6')");
  check_refused("from,to,w\n1,5\n", "2: the weight is missing");
  check_refused("weight,to,from\n1,5\n", "2: the source id is missing");
  check_refused("1|5\n", "1: columns are told apart by tabs, commas, semicolons or blanks, not by '|'");
}

static void test_bare_columns(void) {
  CASE("columns without names");
  choice = (wr_edge_choice){.bare_values = 0};
  WEIGHTED("1 2 3\n", 2, {1, 2, 3});
  WEIGHTED("1\t2\t3\n1,2,4\n", 2, {1, 2, 3}, {1, 2, 4});
  EDGES("1,2\n", 2, {1, 2, 1});
  check_refused("1,5,6\n",
                "1: three columns between commas, without names: --columns 1,2,3 takes the third as a weight");
  check_refused("# c\n1 5 ,6\n", "2: three columns between commas, without names");
  check_refused("1\t5\t6\t7\n", "1: 4 columns without names");
  check_refused("1,2,\n", "1: three columns between commas, without names");
}

static void test_chosen_columns(void) {
  CASE("columns that the user has chosen");
  CHOSEN(2, 3, 0, "1,5,6\n2,6,5\n", 2, "edge list (column 2 to column 3)", {5, 6, 1}, {6, 5, 1});
  CHOSEN(2, 3, 0, "id,from,to\n1,5,6\n", 2, "edge list (column 2 to column 3)", {5, 6, 1});
  CHOSEN(2, 3, 0, "x 5 6\n'O'Hara' 6 5\r\n-1.5,6,5", 2, "edge list (column 2 to column 3)", {5, 6, 1}, {6, 5, 1},
         {6, 5, 1});
  CHOSEN(1, 2, 0, "5,6,7\n", 2, "edge list (column 1 to column 2)", {5, 6, 1});
  CHOSEN(1, 2, 3, "5,6,7\n", 2, "edge list with weights", {5, 6, 7});
  CHOSEN(4, 1, 2, "5 7 x 6 y\n6 1e-1 x 5 y\n", 2, "edge list (column 4 to column 1, weight in 2)", {6, 5, 7},
         {5, 6, 0.1});
  CHOSEN(1, 3, 0, "5,,6\n6,,5\n", 2, "edge list (column 1 to column 3)", {5, 6, 1}, {6, 5, 1});
  check_refused("5,6\n", "1: column 3 is asked for, and the line has 2");
  check_refused("a,b,c\n", "1: may name the columns or be an edge ('a,b,c'); --header yes or --header no says which");
  check_refused("5,a,6\n5,6\n", "2: the target id is missing");
  check_refused("5,a,6\n5,a,6,7\n", "2: more than the 3 columns of the first line (',7')");
  check_refused("5,a,6\n5,\"a, 7,6\n", "2: a quote that begins here is not closed (\"a, 7,6\\x0a)");
  check_refused("5,a,6\n5,a\r,6\n", "2: a carriage return inside a line");
  choice = (wr_edge_choice){.column = {{.number = 1}, {.number = 2}}};
  check_refused("5 6 a\n5 6\n", "2: 2 columns, not the 3 of the first line");
  choice = (wr_edge_choice){.bare_values = 1};
}

static void test_choices(void) {
  CASE("texts of choices");
  static const char *const wrong[] = {"",      "1",       "1,1", "0,1",    "1,2,2",
                                      "1,2,1", "1,2,3,4", "a,a", "1,2,",   ",1,2",
                                      "1, 2",  "+1,2",    "1;2", "1,1001", "1,99999999999999999999",
                                      "-1,2"};
  wr_edge_choice c = {.bare_values = 1};
  for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
    CHECK_FAILS(WR_EUSAGE, wr_edge_choice_parse(wrong[k], "--columns", &c));
    CHECK_MESSAGE("--columns: '");
  }
  CHECK_OK(wr_edge_choice_parse("1000,2", "", &c));
  CHECK(c.column[0].number == 1000 && c.column[1].number == 2 && c.column[2].number == 0 && c.bare_values == 1);
  CHECK_OK(wr_edge_choice_parse("3,1,2", "", &c));
  CHECK(c.column[0].number == 3 && c.column[1].number == 1 && c.column[2].number == 2);
}

static void test_bytes(void) {
  CASE("bytes that are no text");
  list l;
  CHECK_FAILS(WR_EINPUT, read_with(fixture_put("zero.el", "1 2\n3\0 4\n", 9), 2, 0, &l));
  CHECK_MESSAGE("zero.el:2: the source id is not an integer ('3\\x00')");
  CHECK_FAILS(WR_EINPUT, read_with(fixture_path("absent.el"), 2, 0, &l));
  CHECK_MESSAGE("absent.el: cannot be opened");
  CHECK_FAILS(WR_EINPUT, read_with(fixture_folder(), 2, 0, &l));
}

static void test_nonnegative(void) {
  CASE("no negative weights");
  list l;
  CHECK_FAILS(WR_EINPUT, read_with(fixture_put("text.tsv", "1 2 0\n1 3 -1e-300\n", 18), 1, 1, &l));
  CHECK_MESSAGE("text.tsv:2: a negative weight where none may be (-1e-300)");
  CHECK_OK(read_with(fixture_put("text.tsv", "1 2 0\n1 3 -0\n", 13), 1, 1, &l));
  forget(&l);
}

static void test_names(void) {
  CASE("names");
  static const char *const lists[] = {"a.tsv", "a.txt", "a.el", "a.csv", "a.TXT.GZ", "b/c.d.csv.gz", ".el.tsv"};
  static const char *const others[] = {"a.mtx",   "a.gz", "tsv", ".tsv", "a.tsv.bz2",
                                       "a.txt/b", "-",    "",    ".gz",  "a.xel2"};
  for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) CHECKF(wr_edge_list_is_name(lists[k]), "%s", lists[k]);
  for (size_t k = 0; k < sizeof others / sizeof *others; k++) CHECKF(!wr_edge_list_is_name(others[k]), "%s", others[k]);
}

/* A prefix is refused, or holds the edges of the whole text as far as it goes; only the last number may be cut. */
static void test_prefixes(void) {
  CASE("cut at every byte");
  static const char text[] = "# c\nfrom,to,w\n1,22,0.5\n\n" BIGGEST " 1 \t2e1\n% d\n22 , 7 , 125";
  static const edge all[] = {{1, 22, 0.5}, {INT64_MAX, 1, 20}, {22, 7, 125}};
  int taken = 0;
  for (size_t length = 0; length < sizeof text; length++) {
    list l;
    wr_status status = read_with(fixture_put("text.tsv", text, length), 1, 0, &l);
    CHECKF(status == WR_OK || status == WR_EINPUT, "%zu bytes: %s", length, wr_status_message());
    if (status != WR_OK) continue;
    int64_t count = count_of(&l.t);
    CHECK(count >= 1 && count <= 3);
    for (int64_t k = 0; k + 1 < count; k++) {
      edge e = edge_at(&l, k);
      CHECK(e.source == all[k].source && e.target == all[k].target && e.weight == all[k].weight);
    }
    taken++;
    forget(&l);
  }
  CHECKF(taken > 10, "%d", taken);
}

static uint64_t scramble(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/* Node 0 <= n < nodes by way of a family of ids. */
static int64_t family_id(int family, int64_t n, int64_t nodes) {
  switch (family) {
    case 0: return n;
    case 1: return n + 1;
    case 2: return 10 + 7 * n;
    case 3: return 1000 * n;
    case 4: return (int64_t)(scramble((uint64_t)n + 99) >> 1);
    case 5: return INT64_MAX - n;
    case 6: return n == nodes - 1 ? INT64_C(1) << 40 : n;       /* one that is far from the others */
    default: return n % 2 ? n : (INT64_C(1) << 62) + (n << 30); /* two heaps                       */
  }
}

static int by_value(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* A text of `count` edges in several ways of writing, and the edges. */
static char *make_text(int family, int64_t nodes, int64_t count, int weights, edge *edges, size_t *length) {
  static const char *const between[] = {"\t", " ", ",", " , ", "  \t"};
  size_t room = 80 * (size_t)(count + 1);
  char *text = calloc(room, 1);
  *length = 0;
  for (int64_t k = 0; k < count; k++) {
    uint64_t chance = scramble((uint64_t)(k + 1000 * family));
    int64_t i = (int64_t)(chance % (uint64_t)nodes), j = (int64_t)(scramble(chance) % (uint64_t)nodes);
    edges[k] =
        (edge){family_id(family, i, nodes), family_id(family, j, nodes), weights ? (double)(chance % 1000) / 8 : 1};
    const char *gap = between[chance % 5];
    if (chance % 97 == 0)
      *length += (size_t)snprintf(text + *length, room - *length, "# %llu\n", (unsigned long long)chance);
    *length += (size_t)snprintf(text + *length, room - *length, "%lld%s%lld", (long long)edges[k].source, gap,
                                (long long)edges[k].target);
    if (weights) *length += (size_t)snprintf(text + *length, room - *length, "%s%.3f", gap, edges[k].weight);
    *length += (size_t)snprintf(text + *length, room - *length, chance % 3 ? "\n" : " \r\n");
  }
  return text;
}

static int64_t distinct_ids(const edge *edges, int64_t count, int64_t *id) {
  int64_t nodes = 0;
  for (int64_t k = 0; k < count; k++) id[2 * k] = edges[k].source, id[2 * k + 1] = edges[k].target;
  qsort(id, (size_t)(2 * count), sizeof *id, by_value);
  for (int64_t k = 0; k < 2 * count; k++)
    if (k == 0 || id[k] != id[nodes - 1]) id[nodes++] = id[k];
  return nodes;
}

static void check_family(int family, int64_t nodes, int64_t count, int weights) {
  edge *edges = malloc((size_t)count * sizeof *edges);
  int64_t *id = malloc((size_t)(2 * count) * sizeof *id);
  size_t length;
  char *text = make_text(family, nodes, count, weights, edges, &length);
  const char *path = fixture_put("family.tsv", text, length);
  int64_t expected = distinct_ids(edges, count, id);
  for (int threads = 1; threads <= 4; threads += threads) {
    list l;
    int64_t wrong = 0, k = 0;
    CHECK_OK(read_with(path, threads, 0, &l));
    CHECKF(l.ids.count == expected && count_of(&l.t) == count, "family %d: %lld nodes, not %lld", family,
           (long long)l.ids.count, (long long)expected);
    if (l.ids.count != expected || count_of(&l.t) != count) break;
    for (int64_t i = 0; i < expected; i++) wrong += wr_ids_at(&l.ids, i) != id[i];
    for (int64_t c = 0; c < l.t.nchunks; c++)
      for (int64_t n = 0; n < l.t.chunks[c].count; n++, k++) {
        const wr_triplet_chunk *chunk = &l.t.chunks[c];
        int inside = chunk->row[n] >= 0 && chunk->row[n] < expected && chunk->col[n] >= 0 && chunk->col[n] < expected;
        wrong += !inside || id[chunk->row[n]] != edges[k].source || id[chunk->col[n]] != edges[k].target;
        wrong += weights ? chunk->val[n] != edges[k].weight : chunk->val != NULL;
      }
    CHECKF(wrong == 0, "family %d, %d threads: %lld differences", family, threads, (long long)wrong);
    forget(&l);
  }
  free(text);
  free(edges);
  free(id);
}

static void test_families(void) {
  CASE("families of ids");
  for (int family = 0; family < 8; family++) {
    check_family(family, 50, 40, 0);
    check_family(family, 3000, 9000, 1);
    check_family(family, 40000, 60000, 0); /* several parts, and several ranges of ids */
  }
}

/* A defect deep in a text of several parts has its line; with two, the earlier one counts. */
static void test_deep_defects(void) {
  CASE("defects far inside");
  enum { LINES = 30000 };
  const size_t room = LINES * 16;
  char *text = malloc(room), why[64];
  for (int bad = 2; bad < LINES; bad += 7919) {
    size_t length = 0;
    for (int line = 1; line <= LINES; line++)
      length += (size_t)snprintf(text + length, room - length,
                                 line == bad          ? "7 x\n"
                                 : line == bad + 5000 ? "y\n"
                                                      : "%d\t%d\n",
                                 line, 1);
    text[length] = 0;
    snprintf(why, sizeof why, "%d: the target id is not an integer ('x')", bad);
    check_refused(text, why);
  }
  free(text);
}

static void test_long_lines(void) {
  CASE("very long lines");
  enum { LONG = 700000 };
  char *text = malloc(LONG + 64);
  text[0] = '#';
  memset(text + 1, 'x', LONG);
  memcpy(text + 1 + LONG, "\n3 4\n", 6);
  EDGES(text, 2, {3, 4, 1});
  text[0] = '3';
  memset(text + 1, ' ', LONG);
  memcpy(text + 1 + LONG, "4\n", 3);
  EDGES(text, 2, {3, 4, 1});
  memset(text + 2, '7', LONG - 1);
  check_refused(text, "1: the target id is beyond 64 bits (7777");
  free(text);
}

/* Every request for memory fails once. */
static void check_no_memory(const char *text, int64_t count, int least) {
  int failures = 0;
  const char *path = fixture_put("text.tsv", text, strlen(text));
  for (int allowed = 0; allowed < 200; allowed++) {
    list l;
    fixture_fail_after(allowed);
    wr_status status = read_with(path, 1, 0, &l);
    fixture_fail_never();
    if (status == WR_OK) CHECK(count_of(&l.t) == count);
    if (status != WR_OK) CHECK(l.t.chunks == NULL && l.ids.id == NULL);
    forget(&l);
    if (status == WR_OK) break;
    failures++;
    CHECKF(status == WR_ENOMEM, "%s", wr_status_message());
  }
  CHECKF(failures >= least && failures < 200, "%d failures", failures);
}

/* The shares of a list, in order, have the edges of all of it. */
static void check_shares(const char *path) {
  list whole, l;
  CHECK_OK(read_with(path, 2, 0, &whole));
  for (int count = 1; count <= 9; count++) {
    int64_t at = 0;
    for (int share = 0; share < count; share++) {
      const wr_read_share of = {.index = share, .count = count};
      wr_read_options options = {.threads = 2, .columns = choice, .share = &of};
      CHECK_OK(wr_edge_list_read(path, &options, &l.t, &l.ids, &l.facts));
      CHECK(count_of(&l.t) > 0 || l.ids.count == 0);
      for (int64_t k = 0; k < count_of(&l.t); k++, at++) {
        edge found = edge_at(&l, k), expected = edge_at(&whole, at);
        CHECKF(found.source == expected.source && found.target == expected.target && found.weight == expected.weight,
               "%d shares: edge %lld", count, (long long)at);
      }
      forget(&l);
    }
    CHECKF(at == count_of(&whole.t), "%d shares: %lld edges", count, (long long)at);
  }
  forget(&whole);
}

static void test_shares(void) {
  CASE("shares");
  static const char *const texts[] = {"# c\n5 7 1\n7 " BIGGEST " 2\n\n% c\n9 5 3\n5 7 4\n100 9 0.5\n7 7 6",
                                      "\xef\xbb\xbf"
                                      "3 4\n4 5\n"};
  for (int k = 0; k < 2; k++) {
    check_shares(fixture_put("text.tsv", texts[k], strlen(texts[k])));
#ifdef WR_HAVE_ZLIB
    check_shares(fixture_put_gzip("text.tsv.gz", texts[k], strlen(texts[k])));
#endif
  }
  CASE("a share of what is for one process");
  const char *text = "1,2,\"x\ny\"\n2,1,\"z\"\n";
  const wr_read_share half = {.index = 0, .count = 2};
  wr_read_options options = {.threads = 2, .columns = choice, .share = &half};
  list l;
  options.columns.column[WR_EDGE_SOURCE].number = 1, options.columns.column[WR_EDGE_TARGET].number = 2;
  const char *path = fixture_put("text.csv", text, strlen(text));
  CHECK_FAILS(WR_EUNAVAILABLE, wr_edge_list_read(path, &options, &l.t, &l.ids, &l.facts));
  CHECK_MESSAGE("has ends of lines inside quotes");
  forget(&l);
}

static void test_no_memory(void) {
  CASE("no memory");
  check_no_memory("1 2\n2 3\n", 2, 11); /* lines, parts, ids, chunks, lines, two arrays, two arrays, a table of two */
  check_no_memory("1 2 3\n2 " BIGGEST " 3\n", 2, 20);
  check_no_memory("1 2\n2 2000000000\n", 2, 20);
}

int main(void) {
  fixture_begin();
  test_forms();
  test_refusals();
  test_names_of_columns();
  test_bare_columns();
  test_chosen_columns();
  test_choices();
  test_bytes();
  test_nonnegative();
  test_names();
  test_prefixes();
  test_families();
  test_deep_defects();
  test_long_lines();
  test_shares();
  test_no_memory();
  fixture_end();
  return wr_test_report("edge_list");
}
