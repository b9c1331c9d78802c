/* Matrices of other programs in binary: SciPy's .npz and the GAP suite's .sg and .wsg, made here byte by byte. Bits that are
 * turned and ends that are cut off must give a sentence, or a matrix. */
#define _DEFAULT_SOURCE
#include <stdlib.h>

#include "io/reader.h"
#include "tests/check.h"
#include "tests/io/input_fixture.h"

#ifdef WR_HAVE_ZLIB
#include <zlib.h>
#endif

/* Bytes that grow. */
typedef struct image {
  size_t count;
  unsigned char bytes[1 << 16];
} image;

static void put(image *m, const void *bytes, size_t count) {
  if (m->count + count <= sizeof m->bytes) memcpy(m->bytes + m->count, bytes, count), m->count += count;
}

static void put_integer(image *m, uint64_t value, int bytes) {
  for (int b = 0; b < bytes; b++) put(m, &(unsigned char){(unsigned char)(value >> (8 * b))}, 1);
}

static uint32_t sum_of(const unsigned char *bytes, size_t count) {
  uint32_t sum = 0xffffffff;
  for (size_t k = 0; k < count; k++) {
    sum ^= bytes[k];
    for (int b = 0; b < 8; b++) sum = sum >> 1 ^ (sum & 1 ? 0xedb88320u : 0);
  }
  return ~sum;
}

/* The entry (row, column) with the value must be there; returns how many entries there are. */
static int64_t count_of(const wr_triplets *t, int row, int col, double value) {
  int64_t count = 0, found = 0;
  for (int64_t c = 0; c < t->nchunks; c++)
    for (int64_t k = 0; k < t->chunks[c].count; k++, count++) {
      const wr_triplet_chunk *chunk = &t->chunks[c];
      found += chunk->row[k] == row && chunk->col[k] == col && (chunk->val ? chunk->val[k] : 1) == value;
    }
  CHECKF(found == 1, "entry %d %d %g: %lld times", row, col, value, (long long)found);
  return count;
}

static wr_status read_image(const char *name, const image *m, wr_triplets *t, wr_read_facts *facts) {
  return wr_read_triplets(fixture_put(name, (const char *)m->bytes, m->count), &(wr_read_options){.threads = 2}, t,
                          facts);
}

/* No damage may crash, or leave a matrix that breaks its promises. */
static void check_damage(const char *name, const image *good, int has_checksums) {
  static image bad;
  int refused = 0, turned = 0;
  wr_triplets t;
  for (size_t cut = 0; cut < good->count; cut += 3) {
    bad = *good, bad.count = cut;
    CHECK_FAILS(WR_EINPUT, read_image(name, &bad, &t, NULL));
  }
  for (size_t at = 0; at < good->count; at++)
    for (int bit = 0; bit < 8; bit += 5) {
      bad = *good, bad.bytes[at] ^= (unsigned char)(1 << bit);
      wr_status status = read_image(name, &bad, &t, NULL);
      CHECKF(status == WR_OK || status == WR_EINPUT || status == WR_ENOMEM, "byte %zu: %s", at, wr_status_message());
      turned++, refused += status != WR_OK;
      if (status != WR_OK) continue;
      for (int64_t c = 0; c < t.nchunks; c++)
        for (int64_t k = 0; k < t.chunks[c].count; k++)
          if (t.chunks[c].row[k] < 0 || t.chunks[c].row[k] >= t.nrows || t.chunks[c].col[k] < 0 ||
              t.chunks[c].col[k] >= t.ncols)
            CHECKF(0, "byte %zu: an entry outside the matrix", at);
      wr_triplets_free(&t);
    }
  CHECKF(refused > turned / (has_checksums ? 3 : 4), "%d of %d are refused", refused, turned);
}

/* ---- .sg and .wsg: 0 -> 1, 0 -> 2, 2 -> 0 ---- */

static void make_graph(image *m, int directed, int weighted, const int *offsets, const int *targets) {
  m->count = 0;
  put_integer(m, (uint64_t)directed, 1), put_integer(m, 3, 8), put_integer(m, 3, 8);
  for (int half = 0; half <= directed; half++) {
    for (int k = 0; k < 4; k++) put_integer(m, (uint64_t)offsets[k], 8);
    for (int k = 0; k < 3; k++) {
      put_integer(m, (uint64_t)targets[k], 4);
      if (weighted) put_integer(m, (uint64_t)(k + 5), 4);
    }
  }
}

static void test_graphs(void) {
  static image m;
  wr_triplets t;
  wr_read_facts facts;
  const int offsets[] = {0, 2, 2, 3}, targets[] = {1, 2, 0};
  for (int directed = 0; directed < 2; directed++)
    for (int weighted = 0; weighted < 2; weighted++) {
      CASE("serialised graphs");
      make_graph(&m, directed, weighted, offsets, targets);
      CHECK_OK(read_image("g.sg", &m, &t, &facts));
      CHECK(t.nrows == 3 && t.ncols == 3 && t.symmetry == WR_GENERAL && facts.stored == 3);
      CHECK(count_of(&t, 0, 1, weighted ? 5 : 1) == 3);
      CHECK(count_of(&t, 0, 2, weighted ? 6 : 1) == 3);
      CHECK(count_of(&t, 2, 0, weighted ? 7 : 1) == 3);
      CHECK(strstr(facts.kind, directed ? "GAP directed" : "GAP undirected") != NULL);
      CHECK((strstr(facts.kind, "with weights") != NULL) == weighted);
      wr_triplets_free(&t);
      if (directed == weighted) check_damage("g.sg", &m, 0);
    }
  CASE("refused graphs");
  make_graph(&m, 0, 0, offsets, (int[]){1, 3, 0});
  CHECK_FAILS(WR_EINPUT, read_image("g.sg", &m, &t, NULL));
  CHECK_MESSAGE("g.sg: an edge of node 0 leads to node 3, beyond the last one (2)");
  make_graph(&m, 0, 0, (int[]){0, 2, 1, 3}, targets);
  CHECK_FAILS(WR_EINPUT, read_image("g.sg", &m, &t, NULL));
  CHECK_MESSAGE("g.sg: a serialised graph whose offsets do not ascend from 0 to its 3 edges");
  make_graph(&m, 1, 1, offsets, targets);
  put_integer(&m, 0, 1);
  CHECK_FAILS(WR_EINPUT, read_image("g.sg", &m, &t, NULL));
  CHECK_MESSAGE("g.sg: a serialised graph (.sg) of 3 nodes and 3 edges has 105 bytes, or 129 with weights, not 130");
}

/* ---- .npz ---- */

static image archive, directory;
static int members;

/* An array of NumPy's format, version 1. */
static void add_array(const char *name, const char *type, const char *shape, const void *elements, size_t bytes,
                      int pack) {
  static image array, packed;
  char text[128];
  int length = snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", type, shape);
  array.count = 0;
  put(&array, "\223NUMPY\1\0", 8), put_integer(&array, (uint64_t)length, 2);
  put(&array, text, (size_t)length), put(&array, elements, bytes);
  packed = array;
#ifdef WR_HAVE_ZLIB
  z_stream z = {.next_in = array.bytes,
                .avail_in = (uInt)array.count,
                .next_out = packed.bytes,
                .avail_out = sizeof packed.bytes};
  if (pack) {
    deflateInit2(&z, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY);
    CHECK(deflate(&z, Z_FINISH) == Z_STREAM_END);
    packed.count = z.total_out;
    deflateEnd(&z);
  }
#endif
  size_t local = archive.count;
  for (int central = 0; central < 2; central++) {
    image *m = central ? &directory : &archive;
    put(m, central ? "PK\1\2\24\0\24\0" : "PK\3\4\24\0", central ? 8 : 6);
    put_integer(m, 0, 2), put_integer(m, pack ? 8 : 0, 2), put_integer(m, 0, 4);
    put_integer(m, sum_of(array.bytes, array.count), 4);
    put_integer(m, packed.count, 4), put_integer(m, array.count, 4);
    put_integer(m, strlen(name), 2), put_integer(m, 0, 2);
    if (central) put(m, (char[10]){0}, 10), put_integer(m, local, 4);
    put(m, name, strlen(name));
    if (!central) put(m, packed.bytes, packed.count);
  }
  members++;
}

static void begin_archive(void) { archive.count = directory.count = 0, members = 0; }

static void end_archive(void) {
  size_t place = archive.count;
  put(&archive, directory.bytes, directory.count);
  put(&archive, "PK\5\6\0\0\0\0", 8), put_integer(&archive, (uint64_t)members, 2);
  put_integer(&archive, (uint64_t)members, 2), put_integer(&archive, directory.count, 4);
  put_integer(&archive, place, 4), put_integer(&archive, 0, 2);
}

/* 2 x 3: (0, 0) = 1.5, (0, 2) = -2, (1, 1) = 4. */
static void make_matrix(const char *format, const char *index_type, int pack) {
  const int wide = strcmp(index_type, "<i8") == 0;
  const double data[] = {1.5, -2, 4}, by_column[] = {1.5, 4, -2};
  const int csr_index[] = {0, 2, 1}, csr_pointer[] = {0, 2, 3}, csc_index[] = {0, 1, 0}, csc_pointer[] = {0, 1, 2, 3};
  const int coo_row[] = {0, 0, 1};
  int csc = strcmp(format, "csc") == 0, coo = strcmp(format, "coo") == 0;
  char text[64];
  begin_archive();
  for (int which = 0; which < 2; which++) {
    const int *from = which == 0 ? (csc ? csc_index : csr_index) : coo ? coo_row : csc ? csc_pointer : csr_pointer;
    int count = which == 1 && csc ? 4 : 3;
    int64_t numbers[4];
    for (int k = 0; k < count; k++) numbers[k] = from[k];
    snprintf(text, sizeof text, "(%d,)", count);
    const char *name = which == 0 ? (coo ? "col.npy" : "indices.npy") : coo ? "row.npy" : "indptr.npy";
    add_array(name, index_type, text, wide ? (const void *)numbers : (const void *)from, (size_t)count * (wide ? 8 : 4),
              pack);
  }
  add_array("format.npy", "|S3", "()", format, 3, pack);
  add_array("shape.npy", "<i8", "(2,)", (int64_t[]){2, 3}, 16, pack);
  add_array("data.npy", "<f8", "(3,)", csc ? by_column : data, 24, pack);
  end_archive();
}

static void test_archives(void) {
  static const char *const formats[] = {"csr", "csc", "coo"}, *const types[] = {"<i4", "<i8"};
#ifdef WR_HAVE_ZLIB
  const int packs = 2;
#else
  const int packs = 1;
#endif
  for (int f = 0; f < 3; f++)
    for (int k = 0; k < 2; k++)
      for (int pack = 0; pack < packs; pack++) {
        wr_triplets t;
        wr_read_facts facts;
        CASE(formats[f]);
        make_matrix(formats[f], types[k], pack);
        CHECK_OK(read_image("A.npz", &archive, &t, &facts));
        CHECK(t.nrows == 2 && t.ncols == 3 && facts.stored == 3 && strstr(facts.kind, formats[f]) != NULL);
        CHECK(count_of(&t, 0, 0, 1.5) == 3);
        CHECK(count_of(&t, 0, 2, -2) == 3);
        CHECK(count_of(&t, 1, 1, 4) == 3);
        wr_triplets_free(&t);
        if (k == 0 && f != 1) check_damage("A.npz", &archive, packs == 2);
      }
}

typedef struct array {
  const char *name, *type, *shape;
  const void *elements;
  size_t bytes;
} array;

/* A csr matrix of which one array is another one. */
static wr_status read_with(const array *other, wr_triplets *t) {
  const array all[] = {{"format.npy", "|S3", "()", "csr", 3},
                       {"shape.npy", "<i8", "(2,)", (int64_t[]){2, 3}, 16},
                       {"indptr.npy", "<i4", "(3,)", (int32_t[]){0, 1, 2}, 12},
                       {"indices.npy", "<i4", "(2,)", (int32_t[]){2, 0}, 8},
                       {"data.npy", "|b1", "(2,)", "\1\1", 2}};
  begin_archive();
  for (int k = 0; k < 5; k++) {
    const array *a = strcmp(all[k].name, other->name) == 0 ? other : &all[k];
    if (a->type) add_array(a->name, a->type, a->shape, a->elements, a->bytes, 0);
  }
  end_archive();
  return wr_read_triplets(fixture_put("A.npz", (const char *)archive.bytes, archive.count),
                          &(wr_read_options){.threads = 1, .nonnegative = 1}, t, NULL);
}

static void test_values(void) {
  CASE("types of values");
  const array right[] = {{"data.npy", "|b1", "(2,)", "\1\0", 2},
                         {"data.npy", "|i1", "(2,)", "\1\0", 2},
                         {"data.npy", "<u2", "(2,)", (uint16_t[]){1, 0}, 4},
                         {"data.npy", "<i4", "(2,)", (int32_t[]){1, 0}, 8},
                         {"data.npy", "<u8", "(2,)", (uint64_t[]){1, 0}, 16},
                         {"data.npy", "<f4", "(2,)", (float[]){1, 0}, 8}};
  wr_triplets t;
  for (size_t k = 0; k < sizeof right / sizeof *right; k++) {
    CHECK_OK(read_with(&right[k], &t));
    CHECK(count_of(&t, 0, 2, 1) == 2 && count_of(&t, 1, 0, 0) == 2);
    wr_triplets_free(&t);
  }
  CHECK_OK(read_with(&(array){"none", NULL, NULL, NULL, 0}, &t));
  CHECK(t.chunks[0].val == NULL && count_of(&t, 0, 2, 1) == 2); /* bools that are all true have no values */
  wr_triplets_free(&t);
}

static void test_refusals(void) {
  CASE("refused archives");
  static const struct {
    array other;
    const char *why;
  } cases[] = {
      {{"format.npy", "|S3", "()", "bsr", 3}, "in the format 'bsr', where csr, csc and coo are read: save A.tocsr()"},
      {{"format.npy", "|S3", "()", "dia", 3}, "in the format 'dia'"},
      {{"format.npy", "|O", "()", "\x80\3c", 3}, "pickled objects in format.npy"},
      {{"data.npy", "|O", "(2,)", "\x80\3", 2}, "pickled objects in data.npy"},
      {{"data.npy", ">f8", "(2,)", "0123456789abcdef", 16}, "data.npy is of the other byte order ('>f8')"},
      {{"data.npy", "<c8", "(2,)", "0123456789abcdef", 16},
       "data.npy is of the type '<c8', where real numbers and bools"},
      {{"data.npy", "<f8", "(3,)", "0123456789abcdef", 16}, "data.npy has 2 elements, not 3"},
      {{"data.npy", "|i1", "(2,)", "\1\377", 2},
       "row 1, column 0 (from 0): a value that is negative, where none may be (-1)"},
      {{"data.npy", "<f4", "(2,)", "\0\0\200\177\0\0\200\177", 8},
       "row 0, column 2 (from 0): a value that is not finite"},
      {{"indices.npy", "<f4", "(2,)", "01234567", 8},
       "indices.npy is of the type '<f4', where integers of 32 and 64 bits"},
      {{"indices.npy", "<i4", "(2,)", "\3\0\0\0\0\0\0\0", 8},
       "entry 0 is at row 0, column 3 (from 0) of a matrix of 2 x 3"},
      {{"indices.npy", "<i4", "(2,)", "\377\377\377\377\0\0\0\0", 8}, "entry 0 is at row 0, column -1"},
      {{"indices.npy", "<i4", "(1, 2)", "\0\0\0\0\0\0\0\0", 8}, "indices.npy has 2 dimensions, not 1"},
      {{"indptr.npy", "<i4", "(3,)", "\0\0\0\0\3\0\0\0\2\0\0\0", 12},
       "indptr.npy does not ascend from 0 to the 2 values"},
      {{"indptr.npy", "<i4", "(3,)", "\0\0\0\0\1\0\0\0\3\0\0\0", 12},
       "indptr.npy does not ascend from 0 to the 2 values"},
      {{"shape.npy", "<i8", "(2,)", "\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0", 16}, "a matrix of 0 x 1 is outside 1.."},
      {{"indptr.npy", NULL, NULL, NULL, 0},
       "NumPy arrays (.npz) without indptr.npy, so no matrix of scipy.sparse.save_npz"}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    wr_triplets t;
    CHECK_FAILS(WR_EINPUT, read_with(&cases[k].other, &t));
    CHECK_MESSAGE(cases[k].why);
    CHECK(t.chunks == NULL);
  }
}

/* Every request for memory fails once. */
static void test_no_memory(void) {
  CASE("no memory");
  make_matrix("csr", "<i4", 0);
  const char *path = fixture_put("A.npz", (const char *)archive.bytes, archive.count);
  int failures = 0, done = 0;
  for (int allowed = 0; allowed < 200 && !done; allowed++) {
    wr_triplets t;
    fixture_fail_after(allowed);
    wr_status status = wr_read_triplets(path, &(wr_read_options){.threads = 1}, &t, NULL);
    fixture_fail_never();
    CHECKF(status == WR_OK || status == WR_ENOMEM, "%s", wr_status_message());
    failures += status != WR_OK, done = status == WR_OK;
    if (done) wr_triplets_free(&t);
  }
  CHECKF(done && failures > 10, "%d failures", failures);
}

int main(void) {
  fixture_begin();
  test_graphs();
  test_archives();
  test_values();
  test_refusals();
  test_no_memory();
  fixture_end();
  return wr_test_report("scipy");
}
