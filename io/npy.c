#include "io/npy.h"

#include <math.h>
#include <string.h>

#include "config/memory.h"
#include "io/number.h"

/* Magic, version (two bytes), the length of the description (two bytes, from version 2 on four), little endian; the
 * description, a Python dictionary; the elements. */
enum {
  VERSION_AT = 6, LENGTH_AT = 8, LONGEST = 64 << 10, /* bytes of a description: those of vectors have less than 128 */
  ALIGNMENT = 64,                                    /* of the first element that is written                        */
  PIECE = 8 << 10                                    /* elements that are converted at a time                       */
};

static uint64_t little_endian(const char *at, int bytes) {
  uint64_t word = 0;
  for (int b = 0; b < bytes; b++) word |= (uint64_t)(unsigned char)at[b] << (8 * b);
  return word;
}

/* ---- The description. Functions return 0 for what they do not understand. ---- */

typedef struct cursor {
  const char *at, *end;
} cursor;

static void skip_blanks(cursor *c) {
  while (c->at < c->end && (*c->at == ' ' || *c->at == '\n')) c->at++;
}

static int take(cursor *c, char what) {
  skip_blanks(c);
  if (c->at == c->end || *c->at != what) return 0;
  c->at++;
  return 1;
}

/* A quoted text without its quotes, cut to size - 1 characters. */
static int take_text(cursor *c, char *text, size_t size) {
  skip_blanks(c);
  if (c->at == c->end || (*c->at != '\'' && *c->at != '"')) return 0;
  const char *first = c->at + 1, *last = memchr(first, *c->at, (size_t)(c->end - first));
  if (last == NULL) return 0;
  size_t length = (size_t)(last - first) < size - 1 ? (size_t)(last - first) : size - 1;
  memcpy(text, first, length);
  text[length] = '\0';
  c->at = last + 1;
  return 1;
}

static int take_word(cursor *c, const char *word) {
  size_t length = strlen(word);
  skip_blanks(c);
  if ((size_t)(c->end - c->at) < length || memcmp(c->at, word, length) != 0) return 0;
  c->at += length;
  return 1;
}

static int take_shape(cursor *c, wr_npy_array *d) {
  if (!take(c, '(')) return 0;
  for (d->dimensions = 0; !take(c, ')'); d->dimensions++) {
    int64_t size;
    skip_blanks(c);
    const char *first = c->at;
    while (c->at < c->end && *c->at >= '0' && *c->at <= '9') c->at++;
    if (wr_number_integer(first, c->at, &size) != WR_NUMBER_OK) return 0;
    if (d->dimensions < 2) d->shape[d->dimensions] = size;
    if (!take(c, ',') && (c->at == c->end || *c->at != ')')) return 0;
  }
  return 1;
}

static int take_entry(cursor *c, wr_npy_array *d) {
  char key[16];
  if (!take_text(c, key, sizeof key) || !take(c, ':')) return 0;
  if (strcmp(key, "descr") == 0) return d->has_type = take_text(c, d->type, sizeof d->type);
  if (strcmp(key, "fortran_order") == 0)
    return d->has_order = take_word(c, "False") || (d->by_columns = take_word(c, "True"));
  return strcmp(key, "shape") == 0 && take_shape(c, d);
}

static int take_description(cursor *c, wr_npy_array *d) {
  d->dimensions = -1;
  if (!take(c, '{')) return 0;
  while (!take(c, '}')) {
    if (!take_entry(c, d)) return 0;
    skip_blanks(c);
    if (!take(c, ',') && (c->at == c->end || *c->at != '}')) return 0;
  }
  skip_blanks(c);
  return c->at == c->end && d->has_type && d->has_order && d->dimensions >= 0;
}

wr_status wr_npy_describe(const wr_text *text, wr_npy_array *d) {
  char head[LENGTH_AT + 4], *block = NULL;
  wr_status status;
  int64_t length;
  *d = (wr_npy_array){.has_type = 0};
  if (text->size < (int64_t)sizeof head) TRY(wr_fail(WR_EINPUT, "%s: a NumPy array that ends early", text->name));
  TRY(wr_text_read(text, 0, sizeof head, head));
  if (head[VERSION_AT] < 1 || head[VERSION_AT] > 3)
    TRY(wr_fail(WR_EINPUT, "%s: a NumPy array of version %d of the format; 1 to 3 are read", text->name,
                (int)(unsigned char)head[VERSION_AT]));
  int bytes = head[VERSION_AT] == 1 ? 2 : 4;
  length = (int64_t)little_endian(head + LENGTH_AT, bytes);
  d->data = LENGTH_AT + bytes + length;
  if (length > LONGEST) TRY(wr_fail(WR_EINPUT, "%s: a NumPy array with a description that is too long", text->name));
  if (d->data > text->size) TRY(wr_fail(WR_EINPUT, "%s: a NumPy array that ends early", text->name));
  TRY(wr_alloc(&block, length + 1, 1, "a NumPy array's description"));
  TRY(wr_text_read(text, LENGTH_AT + bytes, length, block));
  cursor c = {.at = block, .end = block + length};
  char quote[WR_QUOTE];
  if (!take_description(&c, d))
    TRY(wr_fail(WR_EINPUT,
                "%s: a NumPy array with a description that is not understood ('%s'); save a vector of plain numbers",
                text->name, wr_quote(block, block + length, quote)));
done:
  wr_free(block);
  return status;
}

/* ---- Elements ---- */

static double element_f8(const char *at) {
  uint64_t bits = little_endian(at, 8);
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static double element_f4(const char *at) {
  uint32_t bits = (uint32_t)little_endian(at, 4);
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static double element_i8(const char *at) { return (double)(int64_t)little_endian(at, 8); }

static double element_i4(const char *at) { return (int32_t)(uint32_t)little_endian(at, 4); }

static const struct element_type {
  const char *name;
  int bytes;
  double (*get)(const char *at);
} element_types[] = {{"<f8", 8, element_f8}, {"<f4", 4, element_f4}, {"<i8", 8, element_i8}, {"<i4", 4, element_i4}};

static const struct element_type *find_type(const char *name) {
  for (size_t k = 0; k < sizeof element_types / sizeof *element_types; k++)
    if (strcmp(element_types[k].name, name) == 0) return &element_types[k];
  return NULL;
}

static wr_status check_shape(const wr_text *text, const wr_npy_array *d, const wr_vector_need *need, int64_t *columns) {
  int64_t length = d->dimensions > 1 && d->shape[0] == 1 ? d->shape[1] : d->shape[0];
  *columns = 1;
  if (need->columns && d->dimensions == 2 && d->shape[0] == need->n && d->shape[1] > 0 &&
      d->shape[1] <= text->size / need->n) { /* no more than the file can hold */
    *columns = d->shape[1];
    return WR_OK;
  }
  if (d->dimensions < 1 || d->dimensions > 2)
    return wr_fail(WR_EINPUT, "%s: a NumPy array of %d dimensions, where a vector has one", text->name, d->dimensions);
  if (d->dimensions == 2 && d->shape[0] != 1 && d->shape[1] != 1)
    return wr_fail(WR_EINPUT, "%s: a vector has one column, not a matrix of %lld x %lld", text->name,
                   (long long)d->shape[0], (long long)d->shape[1]);
  if (length != need->n)
    return wr_fail(WR_EINPUT, "%s: a vector of %lld values, where %lld are needed for %s", text->name,
                   (long long)length, (long long)need->n, need->whose);
  return WR_OK;
}

static wr_status read_elements(const wr_text *text, const struct element_type *type, int64_t data, int64_t n,
                               double *values) {
  char *block;
  wr_status status = wr_alloc(&block, PIECE, type->bytes, "a NumPy array");
  for (int64_t i = 0; i < n && status == WR_OK; i += PIECE) {
    int64_t count = n - i < PIECE ? n - i : PIECE;
    status = wr_text_read(text, data + i * type->bytes, count * type->bytes, block);
    for (int64_t k = 0; k < count && status == WR_OK; k++) {
      values[i + k] = type->get(block + k * type->bytes);
      if (!isfinite(values[i + k]))
        status =
            wr_fail(WR_EINPUT, "%s: value %lld is not finite (%g)", text->name, (long long)(i + k) + 1, values[i + k]);
    }
  }
  wr_free(block);
  return status;
}

/* values[columns][n] := itself, as [n][columns] before. */
static wr_status transpose(int64_t n, int64_t columns, double **values) {
  double *by_column = NULL;
  PASS(wr_alloc(&by_column, n * columns, sizeof *by_column, "a NumPy array"));
  for (int64_t i = 0; i < n; i++)
    for (int64_t c = 0; c < columns; c++) by_column[c * n + i] = (*values)[i * columns + c];
  wr_free(*values);
  *values = by_column;
  return WR_OK;
}

wr_status wr_npy_read(const wr_text *text, const wr_vector_need *need, double **values) {
  wr_npy_array d;
  int64_t n, columns;
  char quote[WR_QUOTE];
  PASS(wr_npy_describe(text, &d));
  const struct element_type *type = find_type(d.type);
  if (type == NULL)
    return wr_fail(WR_EINPUT, "%s: a NumPy array of '%s'; <f8, <f4, <i8 and <i4 are read: save x.astype('<f8')",
                   text->name, wr_quote(d.type, d.type + strlen(d.type), quote));
  PASS(check_shape(text, &d, need, &columns));
  n = need->n * columns;
  if ((text->size - d.data) / type->bytes != n || (text->size - d.data) % type->bytes != 0)
    return wr_fail(WR_EINPUT, "%s: %lld bytes behind the description, where %lld values of %d bytes are declared",
                   text->name, (long long)(text->size - d.data), (long long)n, type->bytes);
  PASS(wr_alloc(values, n, sizeof **values, "a vector"));
  PASS(read_elements(text, type, d.data, n, *values));
  if (columns > 1 && !d.by_columns) PASS(transpose(need->n, columns, values));
  if (need->columns) *need->columns = columns;
  return wr_text_unchanged(text);
}

void wr_npy_write(FILE *file, int64_t n, int64_t columns, const double *values) {
  char head[2 * ALIGNMENT] = WR_NPY_MAGIC "\1", second[32] = "";
  enum { BEGIN = LENGTH_AT + 2 };
  if (columns > 1) snprintf(second, sizeof second, " %lld", (long long)columns);
  int used = snprintf(head + BEGIN, sizeof head - BEGIN,
                      "{'descr': '<f8', 'fortran_order': False, 'shape': (%lld,%s), }", (long long)n, second);
  int total = (BEGIN + used + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  memset(head + BEGIN + used, ' ', (size_t)(total - BEGIN - used));
  head[total - 1] = '\n';
  head[LENGTH_AT] = (char)(total - BEGIN);
  head[LENGTH_AT + 1] = 0;
  if (fwrite(head, 1, (size_t)total, file) != (size_t)total) return;
  char block[8192];
  size_t filled = 0;
  for (int64_t k = 0; k < n * columns; k++) {
    uint64_t bits;
    memcpy(&bits, &values[k % columns * n + k / columns], sizeof bits);
    for (int b = 0; b < 8; b++) block[filled++] = (char)(bits >> (8 * b));
    if (filled < sizeof block && k + 1 < n * columns) continue;
    if (fwrite(block, 1, filled, file) != filled) return;
    filled = 0;
  }
}
