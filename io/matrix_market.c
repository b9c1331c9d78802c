#include "io/matrix_market.h"

#include <string.h>

#include "io/input_line.h"
#include "io/number.h"

__extension__ typedef __int128 int128;

/* A word of the banner and its letter in the typecode. */
typedef struct mm_word {
  char letter;
  const char *text;
} mm_word;

static const mm_word objects[] = {{'M', "matrix"}, {0, NULL}};
static const mm_word formats[] = {{'C', "coordinate"}, {'A', "array"}, {0, NULL}};
static const mm_word fields[] = {{'R', "real"}, {'I', "integer"}, {'P', "pattern"}, {'C', "complex"}, {0, NULL}};
static const mm_word symmetries[] = {
    {'G', "general"}, {'S', "symmetric"}, {'K', "skew-symmetric"}, {'H', "hermitian"}, {0, NULL}};

static const struct mm_part {
  const char *name;
  const mm_word *words;
  const char *choices;
} parts[4] = {{"object", objects, "matrix"},
              {"format", formats, "coordinate, array"},
              {"field", fields, "real, integer, pattern"},
              {"symmetry", symmetries, "general, symmetric, skew-symmetric"}};

static const char *word_of(const mm_word *words, char letter) {
  for (; words->text != NULL; words++)
    if (words->letter == letter) return words->text;
  return NULL;
}

/* Undefined kinds: a pattern cannot be dense, skew-symmetric or Hermitian, as it has no values; real and integer values are
 * their own conjugates, so that Hermitian would be symmetric. */
int mm_is_valid(const MM_typecode matcode) {
  for (int i = 0; i < 4; i++)
    if (word_of(parts[i].words, matcode[i]) == NULL) return 0;
  if (mm_is_pattern(matcode)) return mm_is_coordinate(matcode) && !mm_is_skew(matcode) && !mm_is_hermitian(matcode);
  return mm_is_complex(matcode) || !mm_is_hermitian(matcode);
}

char *mm_typecode_to_str(const MM_typecode matcode, char *text, size_t size) {
  size_t used = 0;
  for (int i = 0; i < 4 && used < size; i++) {
    const char *word = word_of(parts[i].words, matcode[i]);
    used += (size_t)snprintf(text + used, size - used, "%s%s", i > 0 ? " " : "", word ? word : "unknown");
  }
  return text;
}

/* `where` begins the errors of the functions that parse a line. */
static wr_status parse_word(const char *where, const struct mm_part *part, const char **at, const char *end,
                            char *letter) {
  const char *word, *word_end;
  char quote[WR_QUOTE];
  if (!wr_line_word(at, end, &word, &word_end))
    return wr_fail(WR_EINPUT, "%s: the banner ends before the %s (one of: %s)", where, part->name, part->choices);
  for (const mm_word *w = part->words; w->text != NULL; w++) {
    if (!wr_word_is(word, word_end, w->text)) continue;
    *letter = w->letter;
    return WR_OK;
  }
  return wr_fail(WR_EINPUT, "%s: unknown %s '%s' (one of: %s)", where, part->name, wr_quote(word, word_end, quote),
                 part->choices);
}

static wr_status no_banner(const char *where, const char *line, const char *end) {
  char quote[WR_QUOTE];
  if (end - line >= 3 && memcmp(line, "\xef\xbb\xbf", 3) == 0)
    return wr_fail(WR_EINPUT, "%s: a UTF-8 byte order mark before the banner; save the file without one", where);
  if (memchr(line, '\r', (size_t)(end - line)) != NULL)
    return wr_fail(WR_EINPUT, "%s: a carriage return inside a line; lines must end with LF or CR LF", where);
  if (end - line >= 4 && memcmp(line, WR_BINARY_MAGIC, 4) == 0)
    return wr_fail(WR_EINPUT, "%s: a matrix saved in binary, or what is left of one, where a text is needed", where);
  return wr_fail(
      WR_EINPUT,
      "%s: no Matrix Market banner (%s MATRIX FORMAT FIELD SYMMETRY expected, not '%s'); an edge list is read "
      "with --input-format edges, or under a name that ends in .tsv, .txt, .el or .csv",
      where, MM_BANNER, wr_quote(line, end, quote));
}

static wr_status parse_banner(const char *where, const char *line, const char *end, MM_typecode *matcode) {
  const char *at = line, *word, *word_end;
  char quote[WR_QUOTE];
  mm_initialize_typecode(matcode);
  if (!wr_line_word(&at, end, &word, &word_end) || word != line || !wr_word_is(word, word_end, MM_BANNER) ||
      memchr(line, '\r', (size_t)(end - line)) != NULL)
    return no_banner(where, line, end);
  for (int i = 0; i < 4; i++) PASS(parse_word(where, &parts[i], &at, end, &(*matcode)[i]));
  if (wr_line_word(&at, end, &word, &word_end))
    return wr_fail(WR_EINPUT, "%s: the banner has a sixth word ('%s')", where, wr_quote(word, word_end, quote));
  char kind[64];
  if (!mm_is_valid(*matcode))
    return wr_fail(WR_EINPUT, "%s: there is no such kind of file ('%s')", where,
                   mm_typecode_to_str(*matcode, kind, sizeof kind));
  return WR_OK;
}

static wr_status parse_size(const char *where, const char *word, const char *word_end, int64_t least, int64_t *size) {
  char quote[WR_QUOTE];
  wr_quote(word, word_end, quote);
  switch (wr_number_integer(word, word_end, size)) {
    case WR_NUMBER_BAD: return wr_fail(WR_EINPUT, "%s: a size is not an integer ('%s')", where, quote);
    case WR_NUMBER_OVERFLOW: return wr_fail(WR_EINPUT, "%s: a size is beyond 64 bits (%s)", where, quote);
    case WR_NUMBER_OK: break;
  }
  if (*size < least) return wr_fail(WR_EINPUT, "%s: a size is %s (%s)", where, *size < 0 ? "negative" : "zero", quote);
  return WR_OK;
}

/* rows, columns and, with three numbers, entries */
static wr_status parse_sizes(const char *where, const char *line, const char *end, int numbers, int64_t sizes[3]) {
  const char *at = line, *word, *word_end;
  char quote[WR_QUOTE];
  for (int i = 0; i < numbers; i++) {
    if (!wr_line_word(&at, end, &word, &word_end))
      return wr_fail(WR_EINPUT, "%s: the size line needs %d numbers, not %d ('%s')", where, numbers, i,
                     wr_quote(line, end, quote));
    PASS(parse_size(where, word, word_end, i < 2 ? 1 : 0, &sizes[i]));
  }
  if (wr_line_word(&at, end, &word, &word_end))
    return wr_fail(WR_EINPUT, "%s: the size line has more than its %d numbers ('%s')", where, numbers,
                   wr_quote(word, word_end, quote));
  return WR_OK;
}

/* Reads the next line of up to MM_MAX_LINE_LENGTH characters; of a longer comment the rest is skipped. 0 at the end. */
static int read_line(FILE *file, char *line, wr_input_line *out, int *too_long) {
  int64_t count = 0;
  int c;
  *too_long = 0;
  while ((c = getc(file)) != EOF && c != '\n') {
    if (count < MM_MAX_LINE_LENGTH)
      line[count++] = (char)c;
    else
      *too_long = 1;
  }
  *out = wr_line_at(line, line + count);
  return c != EOF || count > 0;
}

wr_status mm_read_banner(FILE *file, MM_typecode *matcode) {
  char text[MM_MAX_LINE_LENGTH];
  wr_input_line line;
  int too_long;
  mm_initialize_typecode(matcode);
  if (!read_line(file, text, &line, &too_long)) return wr_fail(WR_EINPUT, "banner: the file is empty");
  if (too_long) return wr_fail(WR_EINPUT, "banner: longer than %d characters", MM_MAX_LINE_LENGTH);
  return parse_banner("banner", line.begin, line.end, matcode);
}

static int is_blank_or_comment(const wr_input_line *line) {
  return (line->begin < line->end && *line->begin == '%') || wr_line_is_blank(line);
}

static wr_status read_sizes(FILE *file, int numbers, int64_t sizes[3]) {
  char text[MM_MAX_LINE_LENGTH];
  wr_input_line line;
  int too_long;
  do {
    if (!read_line(file, text, &line, &too_long)) return wr_fail(WR_EINPUT, "size line: the file ends before it");
  } while (is_blank_or_comment(&line));
  if (too_long) return wr_fail(WR_EINPUT, "size line: longer than %d characters", MM_MAX_LINE_LENGTH);
  return parse_sizes("size line", line.begin, line.end, numbers, sizes);
}

wr_status mm_read_mtx_crd_size(FILE *file, int64_t *nrows, int64_t *ncols, int64_t *nnz) {
  int64_t sizes[3] = {0, 0, 0};
  wr_status status = read_sizes(file, 3, sizes);
  *nrows = sizes[0], *ncols = sizes[1], *nnz = sizes[2];
  return status;
}

wr_status mm_read_mtx_array_size(FILE *file, int64_t *nrows, int64_t *ncols) {
  int64_t sizes[3] = {0, 0, 0};
  wr_status status = read_sizes(file, 2, sizes);
  *nrows = sizes[0], *ncols = sizes[1];
  return status;
}

static wr_status written(int result) {
  return result < 0 ? wr_fail(WR_EOUTPUT, "a Matrix Market header could not be written") : WR_OK;
}

wr_status mm_write_banner(FILE *file, const MM_typecode matcode) {
  char kind[64];
  return written(fprintf(file, "%s %s\n", MM_BANNER, mm_typecode_to_str(matcode, kind, sizeof kind)));
}

wr_status mm_write_mtx_crd_size(FILE *file, int64_t nrows, int64_t ncols, int64_t nnz) {
  return written(fprintf(file, "%lld %lld %lld\n", (long long)nrows, (long long)ncols, (long long)nnz));
}

wr_status mm_write_mtx_array_size(FILE *file, int64_t nrows, int64_t ncols) {
  return written(fprintf(file, "%lld %lld\n", (long long)nrows, (long long)ncols));
}

/* How many values an array file stores: all, the lower triangle, or what is strictly below the diagonal. */
static wr_status count_array(const char *where, mm_header *h) {
  int128 columns = h->ncols;
  if (mm_is_symmetric(h->matcode)) columns++;
  if (mm_is_skew(h->matcode)) columns--;
  int128 count = h->nrows * columns / (mm_is_general(h->matcode) ? 1 : 2);
  if (count > INT64_MAX)
    return wr_fail(WR_EINPUT, "%s: more values than 64 bits count (%lld x %lld)", where, (long long)h->nrows,
                   (long long)h->ncols);
  h->nnz = (int64_t)count;
  return WR_OK;
}

static wr_status check_kind(const char *where, const mm_header *h) {
  char kind[64];
  if (!mm_is_complex(h->matcode)) return WR_OK;
  return wr_fail(WR_EINPUT, "%s: complex matrices are not supported ('%s')", where,
                 mm_typecode_to_str(h->matcode, kind, sizeof kind));
}

static wr_status parse_size_line(const char *where, const wr_input_line *line, mm_header *h) {
  int64_t sizes[3] = {0, 0, 0};
  int coordinate = mm_is_coordinate(h->matcode);
  PASS(parse_sizes(where, line->begin, line->end, coordinate ? 3 : 2, sizes));
  h->nrows = sizes[0], h->ncols = sizes[1], h->nnz = sizes[2];
  if (!mm_is_general(h->matcode) && h->nrows != h->ncols)
    return wr_fail(WR_EINPUT, "%s: a symmetric kind of matrix must be square (%lld x %lld)", where, (long long)h->nrows,
                   (long long)h->ncols);
  return coordinate ? WR_OK : count_array(where, h);
}

int mm_has_header(const char *text, const char *end) {
  for (wr_input_line line = wr_line_at(text, end); line.next < end;) {
    line = wr_line_at(line.next, end);
    if (!is_blank_or_comment(&line)) return 1;
  }
  return 0;
}

wr_status mm_parse_header(const char *name, const char *text, const char *end, mm_header *header, const char **body,
                          int64_t *body_line) {
  char where[WR_WHERE];
  wr_where(name, 1, where);
  *header = (mm_header){.nrows = 0};
  if (text == end) return wr_fail(WR_EINPUT, "%s: the file is empty", where);
  wr_input_line line = wr_line_at(text, end);
  PASS(parse_banner(where, line.begin, line.end, &header->matcode));
  PASS(check_kind(where, header));
  int64_t number = 1;
  do {
    number++;
    if (line.next == end)
      return wr_fail(WR_EINPUT, "%s: the file ends before the size line", wr_where(name, number, where));
    line = wr_line_at(line.next, end);
  } while (is_blank_or_comment(&line));
  wr_where(name, number, where);
  *body = line.next;
  *body_line = number + 1;
  return parse_size_line(where, &line, header);
}
