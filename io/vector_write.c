#include <math.h>
#include <string.h>
#include <strings.h>

#include "io/matrix_market.h"
#include "io/npy.h"
#include "io/output_file.h"
#include "io/vector_file.h"

static const char *const endings[WR_VECTOR_FORMATS] = {".mtx", ".tsv", ".csv", ".txt", ".npy"};

/* WR_VECTOR_FORMATS: none of them. */
static wr_vector_format format_of(const char *ending) {
  int f = 0;
  while (f < WR_VECTOR_FORMATS && strcasecmp(ending, endings[f]) != 0) f++;
  return (wr_vector_format)f;
}

wr_status wr_vector_format_choose(const char *path, wr_vector_format asked, wr_vector_format *format) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *ending = strrchr(name, '.');
  int has_ending = ending != NULL && ending > name;
  wr_vector_format named = has_ending ? format_of(ending) : WR_VECTOR_FORMATS;
  *format = asked != WR_VECTOR_FORMATS ? asked : has_ending ? named : WR_VECTOR_MTX;
  if (*format == WR_VECTOR_FORMATS)
    return wr_fail(WR_EUSAGE,
                   "%s: results end in .mtx, .tsv, .csv, .txt or .npy, not in '%s'; --format FORM writes one "
                   "under any other name",
                   path, ending);
  int any_text = named == WR_VECTOR_TXT && *format != WR_VECTOR_NPY;
  if (named == WR_VECTOR_FORMATS || named == *format || any_text) return WR_OK;
  return wr_fail(WR_EUSAGE, "%s: the name ends in '%s', and --format asks for %s; leave one of them out", path, ending,
                 endings[*format] + 1);
}

static void write_comment(FILE *file, const char *comment) {
  while (comment != NULL && *comment != 0) {
    int length = (int)strcspn(comment, "\r\n");
    fprintf(file, "%% %.*s\n", length, comment);
    comment += length;
    comment += strspn(comment, "\r\n");
  }
}

static int put_id(int64_t id, char separator, char *text) {
  char digits[20];
  int count = 0, first = (int)sizeof digits;
  do digits[--first] = (char)('0' + id % 10);
  while ((id /= 10) > 0);
  for (; first < (int)sizeof digits; first++) text[count++] = digits[first];
  text[count++] = separator;
  return count;
}

/* Errors are the stream's to remember and the commit's to report, here and below. separator '\0': values alone. */
static void write_lines(FILE *file, const wr_ids *ids, char separator, int64_t n, const double *values) {
  char block[8192];
  size_t used = 0;
  for (int64_t i = 0; i < n; i++) {
    if (separator != '\0') used += (size_t)put_id(ids != NULL ? wr_ids_at(ids, i) : i + 1, separator, block + used);
    used += (size_t)wr_number_text(values[i], block + used);
    block[used++] = '\n';
    if (used < sizeof block - 64 && i + 1 < n) continue;
    if (fwrite(block, 1, used, file) != used) return;
    used = 0;
  }
}

static void write_matrix_market(FILE *file, int64_t n, const double *values, const char *comment) {
  MM_typecode kind;
  mm_initialize_typecode(&kind);
  mm_set_matrix(&kind);
  mm_set_array(&kind);
  mm_set_real(&kind);
  mm_write_banner(file, kind);
  write_comment(file, comment);
  mm_write_mtx_array_size(file, n, 1);
  write_lines(file, NULL, '\0', n, values);
}

static wr_status check_values(const char *path, int64_t n, const double *values) {
  if (n < 1) return wr_fail(WR_EUSAGE, "%s: a vector of %lld values cannot be written", path, (long long)n);
  for (int64_t i = 0; i < n; i++)
    if (!isfinite(values[i]))
      return wr_fail(WR_ENUMERIC, "%s: not written: value %lld is not finite (%g)", path, (long long)i + 1, values[i]);
  return WR_OK;
}

wr_status wr_vector_write(const char *path, wr_vector_format format, const wr_ids *ids, int64_t n, const double *values,
                          const char *comment) {
  wr_output_file out;
  wr_status status = check_values(path, n, values);
  if (status != WR_OK || (status = wr_output_open(path, &out)) != WR_OK) return status;
  switch (format) {
    case WR_VECTOR_TSV: write_lines(out.file, ids, '\t', n, values); break;
    case WR_VECTOR_CSV:
      fputs("id,value\n", out.file);
      write_lines(out.file, ids, ',', n, values);
      break;
    case WR_VECTOR_TXT: write_lines(out.file, NULL, '\0', n, values); break;
    case WR_VECTOR_NPY: wr_npy_write(out.file, n, values); break;
    default: write_matrix_market(out.file, n, values, comment);
  }
  return wr_output_commit(&out);
}
