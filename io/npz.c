#include "io/npz.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

#include "config/failure.h"
#include "config/memory.h"
#include "io/npy.h"

#ifdef WR_HAVE_ZLIB
#include <zlib.h>
#endif

/* Of the zip format (APPNOTE.TXT of PKWARE, sections 4.3.7, 4.3.12, 4.3.14 to 4.3.16 and 4.5.3). */
enum {
  END = 22, /* bytes of the record at the end, behind which a comment may follow */
  LONGEST_END = END + (64 << 10),
  LOCATOR = 20, /* of the one that says where the record of 64-bit sizes is          */
  END64 = 56,
  ENTRY = 46, /* of a member in the directory, before its name                     */
  LOCAL = 30, /* of a member before its bytes                                      */
  MOST_MEMBERS = 64,
  LONGEST_DIRECTORY = 1 << 20,
  STORED = 0,
  DEFLATED = 8,
  MOST_RATIO = 1032, /* of deflate                                                        */
  CHUNK = 1 << 20    /* entries                                                           */
};

typedef enum array_name { FORMAT, SHAPE, DATA, INDICES, INDPTR, ROW, COL, ARRAYS } array_name;

static const char *const array_names[ARRAYS] = {"format.npy", "shape.npy", "data.npy", "indices.npy",
                                                "indptr.npy", "row.npy",   "col.npy"};

/* A member of the archive; method -1: it has none. */
typedef struct member {
  int method, encrypted;
  int64_t packed, size, local; /* bytes, and where its local header is */
  uint32_t crc;
} member;

typedef struct npz {
  const wr_text *text;
  int nonnegative, threads;
  member members[ARRAYS];
  wr_text array[ARRAYS]; /* their bytes, in memory */
  wr_npy_array told[ARRAYS];
  int is_coo, is_csc;
  int64_t rows, cols, major, nnz; /* major: rows, or of csc columns */
  wr_triplets *triplets;
} npz;

static uint64_t little_endian(const char *at, int bytes) {
  uint64_t word = 0;
  for (int b = 0; b < bytes; b++) word |= (uint64_t)(unsigned char)at[b] << (8 * b);
  return word;
}

static wr_status damaged(const npz *z, const char *what) {
  return wr_fail(WR_EINPUT, "%s: a damaged NumPy archive (.npz): %s; save the matrix again", z->text->name, what);
}

/* ---- the directory ---- */

/* *at, *bytes := where the directory is. */
static wr_status find_directory(const npz *z, int64_t *at, int64_t *bytes) {
  const wr_text *text = z->text;
  int64_t length = text->size < LONGEST_END ? text->size : LONGEST_END, from = text->size - length, end = length - END;
  char *tail = NULL, wide[END64];
  wr_status status;
  TRY(wr_alloc(&tail, length, 1, "the directory of an archive"));
  TRY(wr_text_read(text, from, length, tail));
  while (end >= 0 && memcmp(tail + end, "PK\5\6", 4) != 0) end--;
  if (end < 0) TRY(damaged(z, "it has no directory, so it was cut short"));
  *bytes = (int64_t)little_endian(tail + end + 12, 4), *at = (int64_t)little_endian(tail + end + 16, 4);
  if (end >= LOCATOR && memcmp(tail + end - LOCATOR, "PK\6\7", 4) == 0) {
    uint64_t place = little_endian(tail + end - LOCATOR + 8, 8);
    if (text->size < END64 || place > (uint64_t)(text->size - END64)) TRY(damaged(z, "its directory is not there"));
    TRY(wr_text_read(text, (int64_t)place, END64, wide));
    if (memcmp(wide, "PK\6\6", 4) != 0) TRY(damaged(z, "its directory is not there"));
    *bytes = (int64_t)little_endian(wide + 40, 8), *at = (int64_t)little_endian(wide + 48, 8);
  }
  if (*bytes < 0 || *at < 0 || *at > text->size || *bytes > text->size - *at || *bytes > LONGEST_DIRECTORY)
    TRY(damaged(z, "its directory is not there"));
done:
  wr_free(tail);
  return status;
}

/* Sizes that do not fit 32 bits stand in an extra field, in this order. */
static void take_wide(const char *at, const char *end, member *m) {
  int64_t *const sizes[] = {&m->size, &m->packed, &m->local};
  while (end - at >= 4) {
    int64_t length = (int64_t)little_endian(at + 2, 2);
    const char *field = at + 4;
    if (length > end - field) return;
    for (int k = 0; little_endian(at, 2) == 1 && k < 3; k++) {
      if (*sizes[k] != UINT32_MAX) continue;
      if (field + 8 > at + 4 + length) return;
      *sizes[k] = (int64_t)little_endian(field, 8), field += 8;
    }
    at += 4 + length;
  }
}

static wr_status read_directory(npz *z) {
  char *directory = NULL;
  int64_t place, bytes;
  wr_status status;
  for (int a = 0; a < ARRAYS; a++) z->members[a].method = -1;
  TRY(find_directory(z, &place, &bytes));
  TRY(wr_alloc(&directory, bytes, 1, "the directory of an archive"));
  TRY(wr_text_read(z->text, place, bytes, directory));
  const char *at = directory, *end = directory + bytes;
  for (int count = 0; end - at >= ENTRY && count < MOST_MEMBERS; count++) {
    int64_t name = (int64_t)little_endian(at + 28, 2), extra = (int64_t)little_endian(at + 30, 2);
    int64_t comment = (int64_t)little_endian(at + 32, 2);
    if (memcmp(at, "PK\1\2", 4) != 0 || name + extra + comment > end - at - ENTRY)
      TRY(damaged(z, "its directory is not one"));
    member m = {.method = (int)little_endian(at + 10, 2),
                .encrypted = (int)little_endian(at + 8, 2) & 1,
                .crc = (uint32_t)little_endian(at + 16, 4),
                .packed = (int64_t)little_endian(at + 20, 4),
                .size = (int64_t)little_endian(at + 24, 4),
                .local = (int64_t)little_endian(at + 42, 4)};
    take_wide(at + ENTRY + name, at + ENTRY + name + extra, &m);
    for (int a = 0; a < ARRAYS; a++)
      if ((size_t)name == strlen(array_names[a]) && memcmp(at + ENTRY, array_names[a], (size_t)name) == 0)
        z->members[a] = m;
    at += ENTRY + name + extra + comment;
  }
done:
  wr_free(directory);
  return status;
}

/* ---- members ---- */

#ifdef WR_HAVE_ZLIB

static wr_status inflate_member(const npz *z, const member *m, const char *packed, char *bytes) {
  z_stream s = {.next_in = (unsigned char *)(uintptr_t)packed, .next_out = (unsigned char *)bytes};
  if (inflateInit2(&s, -15) != Z_OK) return wr_fail(WR_ENOMEM, "out of memory: inflating %s", z->text->name);
  int64_t in = m->packed, out = m->size;
  int code = Z_OK;
  while (code == Z_OK) { /* zlib counts in 32 bits */
    uInt feed = (uInt)(in < (1 << 30) ? in : 1 << 30), room = (uInt)(out < (1 << 30) ? out : 1 << 30);
    s.avail_in = feed, s.avail_out = room;
    code = inflate(&s, Z_NO_FLUSH);
    in -= feed - s.avail_in, out -= room - s.avail_out;
  }
  inflateEnd(&s);
  return code == Z_STREAM_END && in == 0 && out == 0 ? WR_OK : damaged(z, "an array cannot be inflated");
}

static wr_status check_sum(const npz *z, const member *m, const char *bytes) {
  uLong sum = crc32(0, NULL, 0);
  for (int64_t from = 0; from < m->size; from += 1 << 30)
    sum =
        crc32(sum, (const unsigned char *)bytes + from, (uInt)(m->size - from < (1 << 30) ? m->size - from : 1 << 30));
  return sum == m->crc ? WR_OK : damaged(z, "the checksum of an array differs");
}

#else

static wr_status inflate_member(const npz *z, const member *m, const char *packed, char *bytes) {
  (void)m, (void)packed, (void)bytes;
  return wr_fail(WR_EINPUT,
                 "%s: deflated arrays need zlib, which this build lacks: install zlib1g-dev, then make again; or save "
                 "the matrix with compressed=False",
                 z->text->name);
}

static wr_status check_sum(const npz *z, const member *m, const char *bytes) {
  (void)z, (void)m, (void)bytes;
  return WR_OK;
}

#endif

static wr_status load_member(const npz *z, const member *m, char *packed, char *bytes, int64_t data) {
  PASS(wr_text_read(z->text, data, m->packed, m->method == STORED ? bytes : packed));
  if (m->method == DEFLATED) PASS(inflate_member(z, m, packed, bytes));
  return check_sum(z, m, bytes);
}

/* *data := where the bytes of an array begin in the archive. */
static wr_status find_member(const npz *z, array_name a, int64_t *data) {
  const member *m = &z->members[a];
  char local[LOCAL];
  if (m->method < 0)
    return wr_fail(WR_EINPUT, "%s: NumPy arrays (.npz) without %s, so no matrix of scipy.sparse.save_npz",
                   z->text->name, array_names[a]);
  if (m->encrypted || (m->method != STORED && m->method != DEFLATED))
    return wr_fail(WR_EINPUT, "%s: %s in a NumPy archive, which is not read", z->text->name,
                   m->encrypted ? "encrypted arrays" : "arrays packed by another method than deflate");
  int fits = m->local >= 0 && m->local <= z->text->size - LOCAL && m->packed >= 0 && m->size >= 0;
  if (!fits || m->packed > z->text->size || m->size > MOST_RATIO * (m->packed + 1) ||
      (m->method == STORED && m->size != m->packed))
    return damaged(z, "an array has sizes that cannot be");
  PASS(wr_text_read(z->text, m->local, LOCAL, local));
  *data = m->local + LOCAL + (int64_t)little_endian(local + 26, 2) + (int64_t)little_endian(local + 28, 2);
  if (memcmp(local, "PK\3\4", 4) != 0 || *data > z->text->size || m->packed > z->text->size - *data)
    return damaged(z, "an array is not where the directory says");
  return WR_OK;
}

static wr_status load(npz *z, array_name a) {
  const member *m = &z->members[a];
  char *packed = NULL;
  int64_t data = 0;
  wr_status status = find_member(z, a, &data);
  if (status != WR_OK) return status;
  z->array[a] = (wr_text){.name = z->text->name, .size = m->size, .file = -1};
  TRY(wr_alloc(&z->array[a].memory, m->size, 1, "an array of an archive"));
  if (m->method == DEFLATED) TRY(wr_alloc(&packed, m->packed, 1, "an array of an archive"));
  TRY(load_member(z, m, packed, z->array[a].memory, data));
  TRY(wr_npy_describe(&z->array[a], &z->told[a]));
done:
  wr_free(packed);
  return status;
}

/* ---- elements ---- */

/* Types by their names without the byte order. */
static const struct element_type {
  const char *name;
  int bytes, is_index, is_signed, is_float;
} element_types[] = {{"i4", 4, 1, 1, 0}, {"i8", 8, 1, 1, 0}, {"f8", 8, 0, 1, 1}, {"f4", 4, 0, 1, 1},
                     {"b1", 1, 0, 0, 0}, {"i1", 1, 0, 1, 0}, {"u1", 1, 0, 0, 0}, {"i2", 2, 0, 1, 0},
                     {"u2", 2, 0, 0, 0}, {"u4", 4, 1, 0, 0}, {"u8", 8, 1, 0, 0}};

typedef struct elements {
  const struct element_type *type;
  const char *at;
  int64_t count;
} elements;

static wr_status open_elements(const npz *z, array_name a, int index, int64_t count, elements *e) {
  const char *name = z->text->name, *type = z->told[a].type;
  char quote[WR_QUOTE];
  wr_quote(type, type + strlen(type), quote);
  *e = (elements){.at = z->array[a].memory + z->told[a].data};
  if (strchr(type, 'O') != NULL)
    return wr_fail(WR_EINPUT, "%s: pickled objects in %s, which are not read: save numbers", name, array_names[a]);
  if (*type == '>')
    return wr_fail(WR_EINPUT, "%s: %s is of the other byte order ('%s'): save x.astype('<%s')", name, array_names[a],
                   quote, quote + 1);
  for (size_t k = 0; k < sizeof element_types / sizeof *element_types; k++)
    if (*type != '\0' && strcmp(type + 1, element_types[k].name) == 0) e->type = &element_types[k];
  if (e->type == NULL || (index && !e->type->is_index))
    return wr_fail(WR_EINPUT, "%s: %s is of the type '%s', where %s are read", name, array_names[a], quote,
                   index ? "integers of 32 and 64 bits" : "real numbers and bools");
  if (z->told[a].dimensions != 1)
    return wr_fail(WR_EINPUT, "%s: %s has %d dimensions, not 1", name, array_names[a], z->told[a].dimensions);
  e->count = z->told[a].shape[0];
  int64_t room = (z->array[a].size - z->told[a].data) / e->type->bytes;
  if (e->count != room || (count >= 0 && e->count != count))
    return wr_fail(WR_EINPUT, "%s: %s has %lld elements, not %lld", name, array_names[a], (long long)room,
                   (long long)(count >= 0 ? count : e->count));
  return WR_OK;
}

static inline int64_t integer_at(const elements *e, int64_t k) {
  uint64_t bits = little_endian(e->at + k * e->type->bytes, e->type->bytes);
  int shift = 64 - 8 * e->type->bytes;
  return e->type->is_signed ? (int64_t)(bits << shift) >> shift : (int64_t)(bits & (UINT64_MAX >> shift));
}

static inline double value_at(const elements *e, int64_t k) {
  uint64_t bits = little_endian(e->at + k * e->type->bytes, e->type->bytes);
  if (!e->type->is_float) return e->type->is_signed ? (double)integer_at(e, k) : (double)bits;
  double wide;
  float narrow;
  uint32_t low = (uint32_t)bits;
  memcpy(&wide, &bits, sizeof wide), memcpy(&narrow, &low, sizeof narrow);
  return e->type->bytes == 8 ? wide : (double)narrow;
}

/* ---- the matrix ---- */

static wr_status read_format(npz *z) {
  PASS(load(z, FORMAT));
  const wr_npy_array *told = &z->told[FORMAT];
  const char *at = z->array[FORMAT].memory + told->data;
  int64_t left = z->array[FORMAT].size - told->data;
  int step = told->type[0] != '\0' && told->type[1] == 'U' ? 4 : 1;
  char name[4] = "";
  if (strchr(told->type, 'O') != NULL)
    return wr_fail(WR_EINPUT, "%s: pickled objects in format.npy, which are not read: save numbers", z->text->name);
  for (int k = 0; k < 3 && k * step < left; k++) name[k] = at[k * step];
  z->is_coo = strcmp(name, "coo") == 0, z->is_csc = strcmp(name, "csc") == 0;
  if (z->is_coo || z->is_csc || strcmp(name, "csr") == 0) return WR_OK;
  char quote[WR_QUOTE];
  return wr_fail(WR_EINPUT,
                 "%s: a sparse matrix of SciPy in the format '%s', where csr, csc and coo are read: save A.tocsr()",
                 z->text->name, wr_quote(name, name + strlen(name), quote));
}

static wr_status read_shape(npz *z) {
  elements shape;
  PASS(load(z, SHAPE));
  PASS(open_elements(z, SHAPE, 1, 2, &shape));
  z->rows = integer_at(&shape, 0), z->cols = integer_at(&shape, 1);
  z->major = z->is_csc ? z->cols : z->rows;
  if (z->rows >= 1 && z->cols >= 1 && z->rows <= WR_MAX_INDEX && z->cols <= WR_MAX_INDEX) return WR_OK;
  return wr_fail(WR_EINPUT, "%s: a matrix of %lld x %lld is outside 1..%lld rows and columns", z->text->name,
                 (long long)z->rows, (long long)z->cols, (long long)WR_MAX_INDEX);
}

/* What the chunks are made of: places of rows and columns, or of csr and csc pointers and the other index. */
typedef struct entries {
  elements data, pointer, index, row;
  int has_values;
} entries;

static wr_status check_pointers(const npz *z, const elements *p) {
  int64_t before = 0, wrong = integer_at(p, 0) != 0 || integer_at(p, z->major) != z->nnz;
  for (int64_t i = 0; i <= z->major; i++) {
    int64_t at = integer_at(p, i);
    wrong += at < before;
    before = at;
  }
  if (wrong == 0) return WR_OK;
  return wr_fail(WR_EINPUT, "%s: indptr.npy does not ascend from 0 to the %lld values", z->text->name,
                 (long long)z->nnz);
}

static int64_t major_of(const npz *z, const elements *pointer, int64_t entry) {
  int64_t low = 0, high = z->major - 1;
  while (low < high) {
    int64_t middle = low + (high - low + 1) / 2;
    if (integer_at(pointer, middle) <= entry)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

static wr_status fill_chunk(const npz *z, const entries *e, int64_t c) {
  wr_triplet_chunk *chunk = &z->triplets->chunks[c];
  int64_t first = c * CHUNK, count = z->nnz - first < CHUNK ? z->nnz - first : CHUNK;
  int64_t major = z->is_coo ? 0 : major_of(z, &e->pointer, first);
  PASS(wr_alloc(&chunk->row, count, sizeof *chunk->row, "the entries of a file"));
  PASS(wr_alloc(&chunk->col, count, sizeof *chunk->col, "the entries of a file"));
  if (e->has_values) PASS(wr_alloc(&chunk->val, count, sizeof *chunk->val, "the entries of a file"));
  chunk->count = chunk->capacity = count;
  for (int64_t k = 0; k < count; k++) {
    int64_t other = integer_at(&e->index, first + k);
    if (z->is_coo) major = integer_at(&e->row, first + k);
    while (!z->is_coo && integer_at(&e->pointer, major + 1) <= first + k) major++;
    int64_t row = z->is_csc ? other : major, col = z->is_csc ? major : other;
    if (row < 0 || row >= z->rows || col < 0 || col >= z->cols)
      return wr_fail(WR_EINPUT, "%s: entry %lld is at row %lld, column %lld (from 0) of a matrix of %lld x %lld",
                     z->text->name, (long long)(first + k), (long long)row, (long long)col, (long long)z->rows,
                     (long long)z->cols);
    double value = e->has_values ? value_at(&e->data, first + k) : 1;
    if (!isfinite(value) || (z->nonnegative && value < 0))
      return wr_fail(WR_EINPUT, "%s: row %lld, column %lld (from 0): a value that is %s (%g)", z->text->name,
                     (long long)row, (long long)col, isfinite(value) ? "negative, where none may be" : "not finite",
                     value);
    chunk->row[k] = (int32_t)row, chunk->col[k] = (int32_t)col;
    if (e->has_values) chunk->val[k] = value;
  }
  return WR_OK;
}

static wr_status fill_chunks(const npz *z, const entries *e) {
  wr_failure failure = WR_NO_FAILURE;
  int64_t count = (z->nnz + CHUNK - 1) / CHUNK;
  PASS(wr_alloc_zeroed(&z->triplets->chunks, count, sizeof *z->triplets->chunks, "the entries of a file"));
  z->triplets->nchunks = count;
#pragma omp parallel for num_threads(z->threads) schedule(dynamic, 1)
  for (int64_t c = 0; c < z->triplets->nchunks; c++) {
    if (wr_failure_is_below(&failure, c)) continue;
    wr_failure_note(&failure, c, fill_chunk(z, e, c));
  }
  return wr_failure_report(&failure);
}

static wr_status read_entries(npz *z) {
  entries e;
  int64_t zeros = 0;
  PASS(load(z, DATA));
  PASS(open_elements(z, DATA, 0, -1, &e.data));
  z->nnz = e.data.count;
  array_name index = z->is_coo ? COL : INDICES, pointer = z->is_coo ? ROW : INDPTR;
  PASS(load(z, index));
  PASS(open_elements(z, index, 1, z->nnz, &e.index));
  PASS(load(z, pointer));
  PASS(open_elements(z, pointer, 1, z->is_coo ? z->nnz : z->major + 1, z->is_coo ? &e.row : &e.pointer));
  if (!z->is_coo) PASS(check_pointers(z, &e.pointer));
  int is_bool = strcmp(e.data.type->name, "b1") == 0;
  for (int64_t k = 0; is_bool && k < z->nnz; k++) zeros += e.data.at[k] == 0;
  e.has_values = !is_bool || zeros > 0;
  PASS(fill_chunks(z, &e));
  PASS(wr_text_unchanged(z->text));
  z->triplets->nrows = z->rows, z->triplets->ncols = z->cols;
  return WR_OK;
}

wr_status wr_npz_read(const wr_text *text, const wr_read_options *options, wr_triplets *triplets,
                      wr_read_facts *facts) {
  npz z = {.text = text, .triplets = triplets, .threads = options != NULL ? options->threads : 0};
  wr_status status;
  *triplets = (wr_triplets){.nrows = 0};
  if (z.threads <= 0) z.threads = omp_get_max_threads();
  z.nonnegative = options != NULL && options->nonnegative;
  TRY(read_directory(&z));
  TRY(read_format(&z));
  TRY(read_shape(&z));
  TRY(read_entries(&z));
  if (facts != NULL) {
    *facts = (wr_read_facts){.bytes = text->size, .stored = z.nnz, .compressed = text->compressed};
    snprintf(facts->kind, sizeof facts->kind, "SciPy %s %s",
             z.is_coo   ? "coo"
             : z.is_csc ? "csc"
                        : "csr",
             z.nnz > 0 && triplets->chunks[0].val != NULL ? "real" : "pattern");
  }
done:
  if (status != WR_OK) wr_triplets_free(triplets);
  for (int a = 0; a < ARRAYS; a++) wr_free(z.array[a].memory);
  return status;
}
