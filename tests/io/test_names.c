/* Lists whose ids are names: against a plain model of the list, for every separator, any bytes and any number of threads. */
#define _DEFAULT_SOURCE
#include <stdlib.h>

#include "config/memory.h"
#include "io/edge_list.h"
#include "io/name_table.h"
#include "io/record.h"
#include "io/vector_file.h"
#include "tests/check.h"
#include "tests/io/input_fixture.h"

typedef struct list {
  wr_triplets t;
  wr_ids ids;
  wr_read_facts facts;
} list;

static wr_status read_with(const char *path, const wr_edge_choice *choice, int threads, list *l) {
  wr_read_options options = {.threads = threads, .nonnegative = 1, .columns = *choice};
  return wr_edge_list_read(path, &options, &l->t, &l->ids, &l->facts);
}

static void forget(list *l) {
  wr_triplets_free(&l->t);
  wr_ids_free(&l->ids);
}

/* ---- the hash ---- */

/* CPython hashes bytes by the same function: python3 -c 'print(hex(hash(b"a") & (2**64 - 1)))' with PYTHONHASHSEED=0, whose key
 * is 0. */
static void test_hash(void) {
  CASE("SipHash-1-3");
  static const struct {
    const char *bytes;
    uint64_t hash;
  } known[] = {{"a", UINT64_C(0x407448d2b89b1813)},
               {"abcdefgh", UINT64_C(0x3f7b849c0b8e35ea)},
               {"windrow reads names", UINT64_C(0xda73d0cf5a7efea0)}};
  const uint64_t key[2] = {0, 0};
  for (size_t k = 0; k < sizeof known / sizeof *known; k++)
    CHECKF(wr_name_hash(key, known[k].bytes, (int64_t)strlen(known[k].bytes)) == known[k].hash, "%s", known[k].bytes);
}

/* All names have the same hash: bytes alone tell them apart. */
static void test_collisions(void) {
  CASE("names of one hash");
  wr_name_table t = {.count = 0};
  char name[16];
  for (int round = 0; round < 2; round++)
    for (int k = 0; k < 3000; k++) {
      int64_t number = -1;
      int length = snprintf(name, sizeof name, "n%d", k);
      CHECK_OK(wr_name_table_add(&t, 7, name, length, &number));
      CHECK(number == k);
    }
  CHECK(t.count == 3000);
  wr_name_table_free(&t);
}

/* ---- separators ---- */

static void test_separators(void) {
  CASE("separators");
  static const struct {
    const char *line;
    int is_csv;
    char separator;
  } cases[] = {{"a\tb", 0, '\t'}, {"a,b;c d\te", 1, '\t'}, {"a,b", 0, ','},         {"a;b", 0, ';'},
               {"a b", 0, ' '},   {"a  ", 0, ' '},         {"a", 0, ' '},           {"a, b", 0, ','},
               {"a ,b", 0, ','},  {"x y,b", 0, 0},         {"x y,b", 1, ','},       {"x y;b", 1, ';'},
               {"a,b;c", 1, 0},   {"\"a,b\" c", 0, ' '},   {"\"a;b c\",d", 0, ','}, {"a b\r\nc,d", 0, ' '},
               {"", 0, ' '}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    char got = wr_record_separator(cases[k].line, cases[k].line + strlen(cases[k].line), cases[k].is_csv);
    CHECKF(got == cases[k].separator, "'%s': %d", cases[k].line, got);
  }
}

/* ---- a model ---- */

enum { NODES = 400, EDGES = 9000, LONGEST = 24 };

typedef struct model {
  int nodes;
  char name[NODES][LONGEST]; /* ascending by bytes */
  int length[NODES];
  int source[EDGES], target[EDGES];
} model;

static uint64_t state;

static int draw(int below) {
  state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (int)((state >> 33) % (uint64_t)below);
}

static int compare(const char *a, int m, const char *b, int n) {
  int order = memcmp(a, b, (size_t)(m < n ? m : n));
  return order != 0 ? order : m - n;
}

/* Adds a name in its place if it is new. */
static void add_name(model *m, const char *name, int length) {
  int at = 0;
  while (at < m->nodes && compare(m->name[at], m->length[at], name, length) < 0) at++;
  if (at < m->nodes && compare(m->name[at], m->length[at], name, length) == 0) return;
  memmove(m->name + at + 1, m->name + at, sizeof m->name[0] * (size_t)(m->nodes - at));
  memmove(m->length + at + 1, m->length + at, sizeof m->length[0] * (size_t)(m->nodes - at));
  memcpy(m->name[at], name, (size_t)length);
  m->length[at] = length, m->nodes++;
}

/* Names of characters from `letters`, which may have a 0, many with a beginning in common; each is in an edge. */
static void make_model(model *m, const char *letters, int count) {
  m->nodes = 0;
  while (m->nodes < NODES) {
    char name[LONGEST] = "https://w";
    int length = draw(2) ? 9 : 0;
    do name[length++] = letters[draw(count)];
    while (length < LONGEST && draw(6) > 0);
    add_name(m, name, length);
  }
  for (int k = 0; k < EDGES; k++) m->source[k] = k < NODES ? k : draw(NODES), m->target[k] = draw(NODES);
}

static char *put_quoted(char *at, const char *name, int length) {
  *at++ = '"';
  for (int k = 0; k < length; k++) {
    if (name[k] == '"') *at++ = '"';
    *at++ = name[k];
  }
  *at++ = '"';
  return at;
}

static char *put_name(char *at, const model *m, int node, int quoted) {
  if (quoted) return put_quoted(at, m->name[node], m->length[node]);
  memcpy(at, m->name[node], (size_t)m->length[node]);
  return at + m->length[node];
}

/* Of a text with these edges, in their order. */
static void check_list(const char *text, size_t size, const model *m, const wr_edge_choice *choice) {
  for (int threads = 1; threads <= 4; threads++) {
    list l;
    int64_t wrong = 0, k = 0;
    CHECK_OK(read_with(fixture_put("names.txt", text, size), choice, threads, &l));
    CHECKF(l.ids.count == m->nodes && l.t.nrows == m->nodes && l.ids.names != NULL, "%lld nodes",
           (long long)l.ids.count);
    for (int64_t i = 0; i < l.ids.count && l.ids.count == m->nodes; i++) {
      int64_t length;
      const char *name = wr_ids_name(&l.ids, i, &length);
      wrong += compare(name, (int)length, m->name[i], m->length[i]) != 0 || wr_ids_find(&l.ids, name, length) != i;
    }
    for (int64_t c = 0; c < l.t.nchunks; c++)
      for (int64_t n = 0; n < l.t.chunks[c].count && k < EDGES; n++, k++)
        wrong += l.t.chunks[c].row[n] != m->source[k] || l.t.chunks[c].col[n] != m->target[k];
    CHECKF(wrong == 0 && k == EDGES && l.facts.stored == EDGES, "%lld wrong, %lld edges", (long long)wrong,
           (long long)k);
    CHECK(wr_ids_find(&l.ids, "none", 4) == -1 && wr_ids_find(&l.ids, "", 0) == -1);
    forget(&l);
  }
}

/* quoted: all, or else none, of a list with names of these letters. */
static void check_model(const char *letters, int count, char separator, wr_edge_separator chosen, int quoted) {
  static model m;
  char *text = malloc(EDGES * (4 * LONGEST + 8)), *at = text;
  state = (uint64_t)(count + separator);
  make_model(&m, letters, count);
  for (int k = 0; k < EDGES; k++) {
    at = put_name(at, &m, m.source[k], quoted);
    *at++ = separator;
    if (separator == ' ' && draw(3) == 0) *at++ = '\t';
    at = put_name(at, &m, m.target[k], quoted);
    if (draw(9) == 0) *at++ = '\r';
    *at++ = '\n';
    if (draw(50) == 0) *at++ = '\n';
  }
  wr_edge_choice choice = {.ids = WR_IDS_NAMES, .separator = chosen, .header = WR_HEADER_NO};
  check_list(text, (size_t)(at - text), &m, &choice);
  free(text);
}

static void test_models(void) {
  CASE("lists of names");
  check_model("abc", 3, ' ', WR_SEPARATOR_AUTO, 0);
  check_model("abcd;,x y", 9, '\t', WR_SEPARATOR_TAB, 1);
  check_model("ab\"c", 4, ',', WR_SEPARATOR_COMMA, 1);
  CASE("any bytes, also ends of lines, in quotes");
  char all[256];
  for (int k = 0; k < 256; k++) all[k] = (char)k;
  check_model(all, 256, ',', WR_SEPARATOR_COMMA, 1);
  check_model(all, 256, ';', WR_SEPARATOR_SEMICOLON, 1);
  check_model(all, 256, '\t', WR_SEPARATOR_TAB, 1);
  check_model(all, 256, ' ', WR_SEPARATOR_BLANK, 1);
  check_model("\n\"\r,", 4, ',', WR_SEPARATOR_COMMA, 1);
  CASE("bytes that need no quotes");
  check_model("ab\0\xff\x80\xc3\x1b", 7, ',', WR_SEPARATOR_COMMA, 0);
}

/* A name of a megabyte, and one that only its end tells from it. */
static void test_long_names(void) {
  CASE("names of a megabyte");
  enum { LONG = 1 << 20 };
  char *text = malloc(3 * LONG + 64);
  memset(text, 'n', 3 * LONG + 64);
  text[LONG] = '\t', text[2 * LONG + 1] = 'm', text[2 * LONG + 2] = '\n';
  memcpy(text + 2 * LONG + 3, "a\tb\n", 4);
  for (int threads = 1; threads <= 3; threads++) {
    list l;
    const wr_edge_choice choice = {.header = WR_HEADER_NO};
    CHECK_OK(read_with(fixture_put("names.txt", text, 2 * LONG + 7), &choice, threads, &l));
    CHECK(l.ids.count == 4 && wr_ids_find(&l.ids, text, LONG) == 2 &&
          wr_ids_find(&l.ids, text + LONG + 1, LONG + 1) == 3);
    forget(&l);
  }
  free(text);
}

/* ---- refusals, and how a list is understood ---- */

static void refused(const wr_edge_choice *choice, const char *text, const char *why) {
  char expected[256];
  snprintf(expected, sizeof expected, "names.txt:%s", why);
  for (int threads = 1; threads <= 3; threads++) {
    list l;
    CHECK_FAILS(WR_EINPUT, read_with(fixture_put("names.txt", text, strlen(text)), choice, threads, &l));
    CHECK_MESSAGE(expected);
    CHECK(l.t.chunks == NULL && l.ids.count == 0 && l.ids.names == NULL);
  }
}

static void test_refusals(void) {
  CASE("refusals");
  const wr_edge_choice any = {.bare_values = 0}, csv = {.separator = WR_SEPARATOR_COMMA, .header = WR_HEADER_NO};
  refused(&csv, "a,b\n\"x\ny\",b\nb,\"c\nd,e\nf,g\n", "4: a quote that begins here is not closed (\"c\\x0ad,e");
  refused(&csv, "a,b\n\"x\ny\",\"z\n", "3: a quote that begins here is not closed (\"z");
  refused(&csv, "\"a,b\n", "1: a quote that begins here is not closed");
  refused(&csv, "a,b\n\"x\n\"y,b\n", "3: 'y,b' follows the closing quote of a column");
  refused(&csv, "a,b\n,b\n", "2: the source id is missing");
  refused(&csv, "a,b\n\"\",b\n", "2: the source id is missing");
  refused(&csv, "a,b\n\"x\ny\",\n", "2: the target id is missing");
  refused(&csv, "a,b\nb\n", "2: the target id is missing");
  refused(&csv, "a,b\nb,c,d\n", "2: more than the 2 columns of the first line (',d')");
  refused(&csv, "a,b\n#b,c\n", "2: a comment below an edge, or a name that begins with #");
  refused(&csv, "a,b\nb\rc,d\n", "2: a carriage return inside a line");
  refused(&any, "a b,c\n", "1: columns may stand between commas, semicolons or blanks here: --separator says which");
  refused(&any, "a,b\nb,c\n", "1: may name the columns or be an edge ('a,b'); --header yes or --header no says which");
  refused(&any, "a b 1\nb c x\n", "2: the weight is not a number ('x')");
  refused(&any, "a b 1\nb c -2\n", "2: a negative weight where none may be (-2)");
  refused(&any, "a likes b\n", "1: three columns without names, of which the third is no weight");
  refused(&any, "1 2\n3 x\n", "2: the target id is not an integer ('x'); --ids names takes ids of any kind");
  const wr_edge_choice named = {.column = {{.name = "fan", .length = 3}, {.name = "idol", .length = 4}}};
  refused(&named, "fan,why\n1,2\n", "1: no column is named 'idol'; the first line has fan, why");
}

/* Ids in file order, "source>target ..." or "source>target=weight". */
static void understood(const wr_edge_choice *choice, const char *name, const char *text, const char *expected) {
  list l;
  char got[256] = "", a[WR_ID_TEXT], b[WR_ID_TEXT];
  CHECK_OK(read_with(fixture_put(name, text, strlen(text)), choice, 1, &l));
  for (int64_t c = 0; c < l.t.nchunks; c++)
    for (int64_t n = 0; n < l.t.chunks[c].count; n++) {
      const wr_triplet_chunk *k = &l.t.chunks[c];
      size_t used = strlen(got);
      snprintf(got + used, sizeof got - used, k->val ? "%s>%s=%g " : "%s>%s ", wr_ids_text(&l.ids, k->row[n], a),
               wr_ids_text(&l.ids, k->col[n], b), k->val ? k->val[n] : 1);
    }
  CHECKF(strcmp(got, expected) == 0, "%s: '%s'", text, got);
  forget(&l);
}

static void test_understanding(void) {
  CASE("columns, headings, names or numbers");
  const wr_edge_choice any = {.bare_values = 0}, names = {.ids = WR_IDS_NAMES, .header = WR_HEADER_NO};
  understood(&any, "x.csv", "source,target,weight\nJ. Smith,\"a, b\",2\n", "J. Smith>a, b=2 ");
  understood(&any, "x.csv", "Source;Target;Type\n\"x\"\"y\"\"\";b;Directed\n", "x\"y\">b ");
  understood(&any, "x.csv", "name,src,dst\nNew York,1,2\nRio,2,1\n", "1>2 2>1 ");
  understood(&any, "x.csv",
             "\xef\xbb\xbf"
             "from,to\n7,8\n",
             "7>8 ");
  understood(&any, "x.csv", "from,to\n\"7\",\"8\"\n", "7>8 ");
  understood(&any, "x.tsv", "http://a/b,c d;e\thttp://f\n", "http://a/b,c d;e>http://f ");
  understood(&any, "x.txt", "# c\n\n01 1\n 1 01 \n", "1>1 1>1 ");
  understood(&names, "x.txt", "# c\n\n01 1\n 1 01 \n", "01>1 1>01 ");
  understood(&any, "x.csv", "http://a,http://b\n\"#c\", d \n", "http://a>http://b #c>d ");
  understood(&any, "x.txt", "alice bob 3\nbob 7 .5\n", "alice>bob=3 bob>7=0.5 ");
  const wr_edge_choice named = {.column = {{.name = "idol", .length = 4}, {.name = "Fan", .length = 3}}};
  understood(&named, "x.csv", "fan,how,idol\nann,\"well,\nwell\",bea\n", "bea>ann ");
  const wr_edge_choice headed = {.header = WR_HEADER_YES, .column = {{.number = 2}, {.number = 1}}};
  understood(&headed, "x.csv", "fan,idol\na,b\n", "b>a ");
}

/* Each beginning of a list is refused, or has the first edges of the whole, the last name perhaps cut. */
static void test_prefixes(void) {
  CASE("prefixes");
  static const char text[] = "source,target,w\n\"a\"\"\nb\",c,1\n\"d,\",\"a\"\"\nb\",2.5\ne,\"\n\n\",3\n";
  const wr_edge_choice any = {.bare_values = 0};
  int read = 0;
  for (size_t size = 0; size <= sizeof text - 1; size++) {
    list l;
    wr_status status = read_with(fixture_put("names.csv", text, size), &any, 2, &l);
    CHECKF(status == WR_OK || status == WR_EINPUT, "%zu bytes: %s", size, wr_status_message());
    if (status != WR_OK) continue;
    read++;
    CHECK(wr_ids_find(&l.ids, "a\"\nb", 4) >= 0 && wr_ids_find(&l.ids, "c", 1) >= 0 && l.facts.stored <= 3);
    forget(&l);
  }
  CHECKF(read >= 4 && read < 12, "%d are lists", read);
}

/* Every request for memory fails once. */
static void test_no_memory(void) {
  CASE("no memory");
  static const char *const texts[] = {"a b\nb c\n", "source,target\n\"x\n\",\"\"\"\"\n\"\"\"y\",z\n"};
  for (int t = 0; t < 2; t++) {
    const char *path = fixture_put("names.csv", texts[t], strlen(texts[t]));
    const wr_edge_choice any = {.bare_values = 0};
    int failures = 0, done = 0;
    for (int allowed = 0; allowed < 400 && !done; allowed++) {
      list l;
      fixture_fail_after(allowed);
      wr_status status = read_with(path, &any, 1, &l);
      fixture_fail_never();
      CHECKF(status == WR_OK || status == WR_ENOMEM, "%s", wr_status_message());
      failures += status != WR_OK, done = status == WR_OK;
      if (status == WR_OK) forget(&l);
    }
    CHECKF(done && failures > 15, "%d failures", failures);
  }
}

/* ---- shares ---- */

static int is_name(const wr_ids *ids, int64_t node, const model *m, int k) {
  int64_t length;
  const char *name = wr_ids_name(ids, node, &length);
  return compare(name, (int)length, m->name[k], m->length[k]) == 0;
}

/* Each share of a list has the names of its edges alone; those of all shares, united, are the list's, and so are its edges. */
static void check_shares(const model *m, const char *path, const wr_edge_choice *choice, int count) {
  list l[9];
  int32_t *place = malloc(sizeof *place * NODES);
  wr_ids all = {0}, more;
  int64_t k = 0, wrong = 0;
  for (int share = 0; share < count; share++) {
    const wr_read_share of = {.index = share, .count = count};
    wr_read_options options = {.threads = 2, .columns = *choice, .share = &of};
    CHECK_OK(wr_edge_list_read(path, &options, &l[share].t, &l[share].ids, &l[share].facts));
    more = (wr_ids){0};
    CHECK_OK(wr_ids_unite(share % 2 ? &l[share].ids : &all, share % 2 ? &all : &l[share].ids, &more));
    wr_ids_free(&all);
    all = more;
  }
  CHECKF(all.count == m->nodes && all.first == 1 && all.id == NULL, "%lld names", (long long)all.count);
  for (int node = 0; node < m->nodes && all.count == m->nodes; node++) wrong += !is_name(&all, node, m, node);
  for (int share = 0; share < count; share++) {
    wr_ids_find_all(&l[share].ids, &all, place);
    for (int64_t c = 0; c < l[share].t.nchunks; c++)
      for (int64_t n = 0; n < l[share].t.chunks[c].count && k < EDGES; n++, k++)
        wrong +=
            place[l[share].t.chunks[c].row[n]] != m->source[k] || place[l[share].t.chunks[c].col[n]] != m->target[k];
    forget(&l[share]);
  }
  CHECKF(wrong == 0 && k == EDGES, "%d shares: %lld wrong, %lld edges", count, (long long)wrong, (long long)k);
  wr_ids_free(&all);
  free(place);
}

static void test_shares(void) {
  CASE("shares of a list of names");
  static model m;
  char *text = malloc(EDGES * (4 * LONGEST + 8)), *at = text;
  state = 5;
  make_model(&m, "abcd,", 5);
  for (int k = 0; k < EDGES; k++) {
    at = put_name(at, &m, m.source[k], k % 3 == 0);
    *at++ = '\t';
    at = put_name(at, &m, m.target[k], k % 5 == 0);
    *at++ = '\n';
  }
  const wr_edge_choice choice = {.ids = WR_IDS_NAMES, .separator = WR_SEPARATOR_TAB, .header = WR_HEADER_NO};
  for (int count = 1; count <= 9; count += 2) {
    check_shares(&m, fixture_put("names.tsv", text, (size_t)(at - text)), &choice, count);
#ifdef WR_HAVE_ZLIB
    check_shares(&m, fixture_put_gzip("names.tsv.gz", text, (size_t)(at - text)), &choice, count);
#endif
  }
  free(text);
}

static void test_uniting(void) {
  CASE("uniting names");
  int64_t begin_a[] = {0, 1, 3, 4}, begin_b[] = {0, 2, 4}, length;
  char a[] = "aabb", b[] = "abba"; /* a, ab, b and ab, ba */
  const wr_ids none = {0}, left = {.count = 3, .first = 1, .names = a, .begin = begin_a},
               right = {.count = 2, .first = 1, .names = b, .begin = begin_b};
  static const char *const expected[] = {"a", "ab", "b", "ba"};
  int done = 0, failures = 0;
  for (int allowed = 0; allowed < 10 && !done; allowed++) {
    wr_ids all = {0};
    fixture_fail_after(allowed);
    wr_status status = wr_ids_unite(&left, &right, &all);
    fixture_fail_never();
    CHECK(status == WR_OK || (status == WR_ENOMEM && all.names == NULL && all.begin == NULL && all.count == 0));
    done = status == WR_OK, failures += !done;
    if (!done) continue;
    CHECK(all.count == 4);
    for (int k = 0; k < 4 && all.count == 4; k++) {
      const char *name = wr_ids_name(&all, k, &length);
      CHECKF(length == (int64_t)strlen(expected[k]) && memcmp(name, expected[k], (size_t)length) == 0, "name %d", k);
    }
    int32_t place[2];
    wr_ids_find_all(&right, &all, place);
    CHECK(place[0] == 1 && place[1] == 3);
    wr_ids_free(&all);
  }
  CHECKF(done && failures >= 2, "%d failures", failures);
  wr_ids all = {0};
  CHECK_OK(wr_ids_unite(&none, &right, &all));
  CHECK(all.count == 2 && all.begin[2] == 4 && memcmp(all.names, b, 4) == 0);
  wr_ids_free(&all);
  CHECK_OK(wr_ids_unite(&none, &none, &all));
  CHECK(all.count == 0 && all.begin[0] == 0);
  wr_ids_free(&all);
}

/* ---- vectors by name ---- */

static void test_vectors(void) {
  CASE("vectors by name");
  static const char *const names[] = {"\x01#", " blank ", "#hash", "a\tb", "a\nb", "a\"b", "a,b", "plain", "\xc3\xa4"};
  enum { COUNT = sizeof names / sizeof *names };
  int64_t begin[COUNT + 1] = {0};
  char bytes[64];
  double values[COUNT], *back = NULL;
  for (int k = 0; k < COUNT; k++) {
    begin[k + 1] = begin[k] + (int64_t)strlen(names[k]);
    memcpy(bytes + begin[k], names[k], strlen(names[k]));
    values[k] = 1.0 / (k + 3);
  }
  const wr_ids ids = {.count = COUNT, .first = 1, .names = bytes, .begin = begin};
  const wr_vector_need all = {.n = COUNT, .whose = "the graph's nodes", .ids = &ids};
  for (int form = 0; form < 2; form++) {
    const char *path = fixture_path(form ? "v.csv" : "v.tsv");
    CHECK_OK(wr_vector_write(path, form ? WR_VECTOR_CSV : WR_VECTOR_TSV, &ids, COUNT, 1, values, NULL));
    CHECK_OK(wr_vector_read(path, &all, &back));
    CHECK(back != NULL && memcmp(back, values, sizeof values) == 0);
    wr_free(back);
  }
  static const struct {
    const char *text, *why;
  } wrong[] = {{"plain,1\nplain,2\n", "2: id 'plain' has a value already"},
               {"plain,1\nother,2\n", "2: id 'other' is none of the graph's nodes"},
               {"\"a\nb\",1\nplain,x\n", "3: the value is not a number ('x')"},
               {"plain,1\n\"a\nb\n", "2: a quote that begins here is not closed"},
               {"plain,1,2\n", "1: more than a name and a value"},
               {"plain,1\n", "2: the file ends without a value for id '\\x01#'"}};
  for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
    CHECK_FAILS(WR_EINPUT, wr_vector_read(fixture_put("v.txt", wrong[k].text, strlen(wrong[k].text)), &all, &back));
    CHECK_MESSAGE(wrong[k].why);
    CHECK(back == NULL);
  }
  const wr_vector_need some = {.n = COUNT, .whose = "the graph's nodes", .ids = &ids, .subset = 1};
  CHECK_OK(wr_vector_read(fixture_put("v.txt", "page\tscore\nplain\t2\n", 19), &some, &back));
  CHECK(back != NULL && back[7] == 2 && back[0] == 0);
  wr_free(back);
  CHECK_OK(wr_vector_read(fixture_put("v.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", 18), &all, &back));
  CHECK(back != NULL && back[8] == 9);
  wr_free(back);
}

int main(void) {
  fixture_begin();
  test_hash();
  test_collisions();
  test_separators();
  test_models();
  test_long_names();
  test_refusals();
  test_understanding();
  test_prefixes();
  test_no_memory();
  test_shares();
  test_uniting();
  test_vectors();
  fixture_end();
  return wr_test_report("names");
}
