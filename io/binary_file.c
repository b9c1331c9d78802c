#include "io/binary_file.h"

#include <math.h>
#include <omp.h>
#include <stddef.h>
#include <string.h>

#include "config/memory.h"
#include "config/text.h"
#include "io/binary_scan.h"
#include "io/output_file.h"

enum { PAGE = WR_BINARY_PAGE, SECTIONS = WR_BINARY_SECTIONS };

/* Flags. */
enum {
  SYMMETRIC = 1,
  HAS_VALUES = 2,
  REPEATS_COUNTED = 4,
  REPEATS_ONCE = 8,
  HAS_IDS = 16,
  LISTS_IDS = 32,
  ALL_FLAGS = 63
};

#define BYTE_ORDER_MARK UINT64_C(0x0102030405060708)
#define MOST_ENTRIES (INT64_C(1) << 56) /* keeps every offset within 64 bits */

typedef struct section {
  int64_t offset, bytes; /* all zeros: there is none */
  uint64_t checksum;
} section;

typedef struct header {
  char magic[8];
  uint64_t byte_order;
  uint32_t version, flags;
  int64_t nrows, ncols, nnz;
  int64_t repeated;
  int64_t file_bytes;
  section sections[SECTIONS];
  int64_t first_id;
  char zeros[PAGE - 64 - SECTIONS * sizeof(section) - 16];
  uint64_t checksum; /* of all before */
} header;

_Static_assert(sizeof(header) == PAGE && offsetof(header, checksum) == PAGE - 8, "the header is a page without gaps");

static const char *const section_names[SECTIONS] = {"row pointers", "column indices", "values", "ids"};

/* By the version of the file. */
static wr_checksum *const checksums[WR_BINARY_VERSION + 1] = {[1] = wr_checksum_1, [2] = wr_checksum_2};

static uint64_t sum_of_header(const header *h) { return checksums[h->version](h, offsetof(header, checksum)); }

static int64_t filled_up(int64_t bytes) { return (bytes + PAGE - 1) / PAGE * PAGE; }

/* Sections and length, as the sizes and flags demand. */
static void lay_out(header *h) {
  const int64_t bytes[SECTIONS] = {(h->nrows + 1) * 8, h->nnz * 4, h->nnz * 8, h->nrows * 8};
  const uint32_t needs[SECTIONS] = {[WR_BINARY_VALUES] = HAS_VALUES, [WR_BINARY_IDS] = LISTS_IDS};
  h->file_bytes = PAGE;
  for (int s = 0; s < SECTIONS; s++) {
    int there = (h->flags & needs[s]) == needs[s];
    h->sections[s].offset = there ? h->file_bytes : 0;
    h->sections[s].bytes = there ? bytes[s] : 0;
    h->file_bytes += filled_up(h->sections[s].bytes);
  }
}

/* ---- what is wrong ---- */

static int ids_pass_the_largest(const header *h) {
  return !(h->flags & LISTS_IDS) && h->first_id > INT64_MAX - (h->nrows - 1);
}

/* Refuses sizes that no matrix has. A file with a right checksum can have them if another program wrote it. */
static wr_status check_sizes(const char *name, const header *h) {
  if (h->nrows < 1 || h->ncols < 1 || h->nrows > WR_MAX_INDEX || h->ncols > WR_MAX_INDEX)
    return wr_fail(WR_EINPUT, "%s: a matrix of %lld x %lld is outside 1..%lld rows and columns", name,
                   (long long)h->nrows, (long long)h->ncols, (long long)WR_MAX_INDEX);
  if (h->nnz < 0 || h->nnz > h->nrows * h->ncols || h->nnz > MOST_ENTRIES || h->repeated < 0)
    return wr_fail(WR_EINPUT, "%s: %lld entries (and %lld repeated) cannot be in a matrix of %lld x %lld", name,
                   (long long)h->nnz, (long long)h->repeated, (long long)h->nrows, (long long)h->ncols);
  if ((h->flags & SYMMETRIC) && h->nrows != h->ncols)
    return wr_fail(WR_EINPUT, "%s: is marked as symmetric and is not square (%lld x %lld)", name, (long long)h->nrows,
                   (long long)h->ncols);
  if ((h->flags & HAS_IDS) && (h->nrows != h->ncols || h->first_id < 0 || ids_pass_the_largest(h)))
    return wr_fail(WR_EINPUT, "%s: ids from %lld on cannot be those of %lld x %lld nodes", name, (long long)h->first_id,
                   (long long)h->nrows, (long long)h->ncols);
  int clash =
      (h->flags & REPEATS_COUNTED && h->flags & REPEATS_ONCE) || (h->flags & LISTS_IDS && !(h->flags & HAS_IDS));
  if ((h->flags & ~(uint32_t)ALL_FLAGS) || clash)
    return wr_fail(WR_EINPUT, "%s: flags that this version does not know (%#lx)", name, (unsigned long)h->flags);
  return WR_OK;
}

static wr_status fail_ids(const char *name) {
  return wr_fail(WR_EINPUT, "%s: its nodes' ids do not ascend from the first one on", name);
}

static wr_status fail_at_value(const char *name, const wr_csr *A, int nonnegative) {
  int64_t k = 0, i = 0;
  while (k < A->nnz - 1 && isfinite(A->val[k]) && !(nonnegative && A->val[k] < 0)) k++;
  while (A->row_ptr[i + 1] <= k) i++;
  const char *what = isfinite(A->val[k]) ? "a negative value where none may be" : "a value that is not finite";
  return wr_fail(WR_EINPUT, "%s: row %lld, column %lld: %s (%g)", name, (long long)i + 1, (long long)A->col[k] + 1,
                 what, A->val[k]);
}

/* Fails with the sentence for the first promise that a scan found broken. */
static wr_status judge(const char *name, const wr_binary_scan *scan) {
  if (scan->rows_wrong || scan->columns_wrong) {
    wr_status status = wr_csr_check(scan->A);
    return wr_fail(status == WR_OK ? WR_EINTERNAL : status, "%s: %s", name,
                   status == WR_OK ? "two checks of a matrix disagree" : wr_status_message());
  }
  if (scan->ids_wrong) return fail_ids(name);
  if (scan->values_wrong) return fail_at_value(name, scan->A, scan->nonnegative);
  if (scan->mirror_wrong) return wr_fail(WR_EINPUT, "%s: is marked as symmetric and is not", name);
  return WR_OK;
}

/* ---- writing ---- */

static header describe(const wr_csr *A, const wr_binary_origin *origin) {
  header h = {
      .byte_order = BYTE_ORDER_MARK, .version = WR_BINARY_VERSION, .nrows = A->nrows, .ncols = A->ncols, .nnz = A->nnz};
  memcpy(h.magic, WR_BINARY_MAGIC, sizeof h.magic);
  if (A->symmetric) h.flags |= SYMMETRIC;
  if (A->val != NULL) h.flags |= HAS_VALUES;
  if (origin->repeats == WR_REPEATS_COUNTED) h.flags |= REPEATS_COUNTED;
  if (origin->repeats == WR_REPEATS_ONCE) h.flags |= REPEATS_ONCE;
  if (origin->ids.count > 0) h.flags |= HAS_IDS;
  if (origin->ids.count > 0 && origin->ids.id) h.flags |= LISTS_IDS;
  h.repeated = origin->repeated;
  if (origin->ids.count > 0) h.first_id = wr_ids_at(&origin->ids, 0);
  lay_out(&h);
  return h;
}

static int put(FILE *file, const void *bytes, int64_t count) {
  return count == 0 || fwrite(bytes, 1, (size_t)count, file) == (size_t)count;
}

static void put_all(FILE *file, const header *h, const wr_csr *A, const int64_t *id) {
  static const char zeros[PAGE];
  const void *const arrays[SECTIONS] = {A->row_ptr, A->col, A->val, id};
  int going = put(file, h, sizeof *h);
  for (int s = 0; s < SECTIONS && going; s++) {
    int64_t bytes = h->sections[s].bytes;
    going = put(file, arrays[s], bytes) && put(file, zeros, filled_up(bytes) - bytes);
  }
}

wr_status wr_binary_write(const char *path, const wr_csr *A, const wr_binary_origin *origin, int threads) {
  static const char name[] = "the matrix to be saved";
  wr_csr borrowed = *A; /* a scan without a text changes nothing */
  wr_binary_scan scan = {.A = &borrowed,
                         .checksum = checksums[WR_BINARY_VERSION],
                         .threads = threads > 0 ? threads : omp_get_max_threads()};
  if (origin->ids.count > 0) scan.id = origin->ids.id;
  header h = describe(A, origin);
  wr_output_file out;
  PASS(check_sizes(name, &h));
  PASS(wr_binary_scan_rows(&scan));
  PASS(judge(name, &scan));
  PASS(wr_binary_scan_entries(&scan));
  PASS(judge(name, &scan));
  for (int s = 0; s < SECTIONS; s++) h.sections[s].checksum = scan.sum[s];
  h.checksum = sum_of_header(&h);
  PASS(wr_output_open(path, &out));
  put_all(out.file, &h, A, scan.id);
  return wr_output_commit(&out);
}

/* ---- reading ---- */

int wr_binary_is_file(const char *path) {
  char head[WR_FILE_HEAD];
  int64_t size, count = wr_file_head(path, head, sizeof head, &size);
  return count > 0 && wr_file_is_matrix(wr_file_kind_of(head, count));
}

static wr_binary_repeats repeats_of(const header *h) {
  if (h->flags & REPEATS_COUNTED) return WR_REPEATS_COUNTED;
  return h->flags & REPEATS_ONCE ? WR_REPEATS_ONCE : WR_REPEATS_ADDED;
}

/* A file that another process writes to is reported as changed, not as damaged. */
static wr_status damaged(const wr_text *text, const char *what) {
  wr_status status = wr_text_unchanged(text);
  return status != WR_OK ? status : wr_fail(WR_EINPUT, "%s: damaged: %s; save the matrix again", text->name, what);
}

/* The fields on which the meaning of the rest of the header depends. */
static wr_status check_identity(const wr_text *text, const header *h) {
  if (h->byte_order == __builtin_bswap64(BYTE_ORDER_MARK))
    return wr_fail(WR_EINPUT, "%s: was saved on a machine with the other byte order; save it again on this one",
                   text->name);
  if (h->byte_order != BYTE_ORDER_MARK) return damaged(text, "the mark of its byte order is none");
  if (h->version < 1 || h->version > WR_BINARY_VERSION)
    return wr_fail(WR_EINPUT,
                   "%s: is of version %lu, and this program reads versions 1 to %d; save the matrix again with it",
                   text->name, (unsigned long)h->version, WR_BINARY_VERSION);
  if (h->checksum != sum_of_header(h)) return damaged(text, "the checksum of its header differs");
  return WR_OK;
}

/* The places that the header gives its sections must be those that its sizes demand, in a file of just that length. */
static wr_status check_layout(const wr_text *text, const header *h) {
  header right = *h;
  lay_out(&right);
  if (!(h->flags & HAS_IDS)) right.first_id = 0;
  memset(right.zeros, 0, sizeof right.zeros);
  if (memcmp(&right, h, sizeof right) != 0)
    return wr_fail(WR_EINPUT, "%s: its sections are not where version %lu has them", text->name,
                   (unsigned long)h->version);
  if (h->file_bytes != text->size)
    return wr_fail(WR_EINPUT, "%s: %lld %s, where its header says %lld: %s", text->name, (long long)text->size,
                   wr_plural(text->size, "byte", "bytes"), (long long)h->file_bytes,
                   text->size < h->file_bytes ? "it was cut short" : "something was added at its end");
  return WR_OK;
}

static wr_status read_header(const wr_text *text, header *h) {
  if (text->size < PAGE)
    return wr_fail(WR_EINPUT, "%s: a saved matrix, cut short inside its header (%lld %s)", text->name,
                   (long long)text->size, wr_plural(text->size, "byte", "bytes"));
  PASS(wr_text_read(text, 0, sizeof *h, h));
  PASS(check_identity(text, h));
  PASS(check_sizes(text->name, h));
  return check_layout(text, h);
}

/* The arrays are not touched here, so that the pages lie on the memory nodes of the threads that read into them. */
static wr_status make_room(const header *h, wr_csr **out, int64_t **id) {
  PASS(wr_alloc_zeroed(out, 1, sizeof **out, "a matrix"));
  wr_csr *A = *out;
  A->nrows = h->nrows, A->ncols = h->ncols, A->nnz = h->nnz;
  A->symmetric = (h->flags & SYMMETRIC) != 0;
  PASS(wr_alloc(&A->row_ptr, h->nrows + 1, sizeof *A->row_ptr, "the row pointers"));
  PASS(wr_alloc(&A->col, h->nnz, sizeof *A->col, "the column indices"));
  if (h->flags & HAS_VALUES) PASS(wr_alloc(&A->val, h->nnz, sizeof *A->val, "the values"));
  if (h->flags & LISTS_IDS) PASS(wr_alloc(id, h->nrows, sizeof **id, "the ids"));
  return WR_OK;
}

/* The checksums of sections [first, last], and the zeros behind each. */
static wr_status check_sections(const wr_text *text, const header *h, const wr_binary_scan *scan, int first, int last) {
  char what[64], filling[PAGE] = {0};
  for (int s = first; s <= last; s++) {
    const section *t = &h->sections[s];
    snprintf(what, sizeof what, "the checksum of its %s differs", section_names[s]);
    if (t->checksum != scan->sum[s]) return damaged(text, what);
    int64_t count = filled_up(t->bytes) - t->bytes, others = 0;
    PASS(wr_text_read(text, t->offset + t->bytes, count, filling));
    for (int64_t k = 0; k < count; k++) others += filling[k] != 0;
    snprintf(what, sizeof what, "the filling behind its %s is not zero", section_names[s]);
    if (others > 0) return damaged(text, what);
  }
  return WR_OK;
}

static wr_status read_arrays(const wr_text *text, const header *h, wr_binary_scan *scan) {
  for (int s = 0; s < SECTIONS; s++) scan->offset[s] = h->sections[s].offset;
  PASS(wr_binary_scan_rows(scan));
  PASS(check_sections(text, h, scan, WR_BINARY_ROWS, WR_BINARY_ROWS));
  PASS(check_sections(text, h, scan, WR_BINARY_IDS, WR_BINARY_IDS));
  scan->ids_wrong |= scan->id && scan->id[0] != h->first_id;
  PASS(judge(text->name, scan));
  PASS(wr_binary_scan_entries(scan));
  PASS(check_sections(text, h, scan, WR_BINARY_COLUMNS, WR_BINARY_VALUES));
  PASS(judge(text->name, scan));
  return wr_text_unchanged(text);
}

wr_status wr_binary_read(const wr_text *text, int threads, int nonnegative, const wr_csr_feed *feed, wr_csr **A,
                         wr_binary_origin *origin) {
  wr_status status;
  header h;
  *A = NULL;
  *origin = (wr_binary_origin){0};
  TRY(read_header(text, &h));
  TRY(make_room(&h, A, &origin->ids.id));
  wr_binary_scan scan = {.text = text,
                         .A = *A,
                         .id = origin->ids.id,
                         .checksum = checksums[h.version],
                         .nonnegative = nonnegative,
                         .feed = feed,
                         .threads = threads > 0 ? threads : omp_get_max_threads()};
  TRY(read_arrays(text, &h, &scan));
  origin->repeated = h.repeated;
  origin->ids.count = h.flags & HAS_IDS ? h.nrows : 0;
  origin->ids.first = h.first_id;
  origin->repeats = repeats_of(&h);
done:
  if (status != WR_OK) {
    wr_csr_feed_begin(feed, NULL);
    wr_csr_free(*A), *A = NULL;
    wr_ids_free(&origin->ids);
  }
  return status;
}

/* ---- reading by ranges ---- */

wr_status wr_binary_ranges_open(const char *path, wr_binary_ranges *file) {
  wr_status status;
  header h;
  *file = (wr_binary_ranges){0};
  status = wr_text_open(path, NULL, &file->text);
  if (status != WR_OK) return status;
  if (file->text.memory)
    TRY(wr_fail(WR_EINPUT, "%s: is compressed or no file, and cannot be read in parts", file->text.name));
  TRY(read_header(&file->text, &h));
  file->nrows = h.nrows, file->ncols = h.ncols, file->nnz = h.nnz, file->version = (int)h.version;
  file->repeated = h.repeated, file->repeats = repeats_of(&h);
  file->has_values = (h.flags & HAS_VALUES) != 0;
  file->has_ids = (h.flags & HAS_IDS) != 0, file->lists_ids = (h.flags & LISTS_IDS) != 0, file->first_id = h.first_id;
  for (int s = 0; s < SECTIONS; s++) file->offset[s] = h.sections[s].offset, file->sum[s] = h.sections[s].checksum;
done:
  if (status != WR_OK) wr_binary_ranges_close(file);
  return status;
}

void wr_binary_ranges_close(wr_binary_ranges *file) {
  if (file->text.name) wr_text_close(&file->text);
  *file = (wr_binary_ranges){0};
}

static int64_t pieces_before(int64_t element) { return (element + WR_BINARY_PIECE - 1) / WR_BINARY_PIECE; }

int64_t wr_binary_ranges_pieces(int64_t first, int64_t end) { return pieces_before(end) - pieces_before(first); }

wr_status wr_binary_ranges_read(const wr_binary_ranges *file, int of, int64_t first, int64_t end, void *to,
                                int64_t summed, uint64_t *sums) {
  wr_status status;
  const int64_t widths[] = {8, 4, 8, 8}, totals[] = {file->nrows + 1, file->nnz, file->nnz, file->nrows};
  int64_t width = widths[of], total = totals[of];
  char *buffer = NULL;
  TRY(wr_alloc(&buffer, WR_BINARY_PIECE, (size_t)width, "a piece of a file"));
  for (int64_t p = first / WR_BINARY_PIECE; p * WR_BINARY_PIECE < end; p++) {
    int64_t begin = p * WR_BINARY_PIECE, stop = begin + WR_BINARY_PIECE < total ? begin + WR_BINARY_PIECE : total;
    int64_t from = begin > first ? begin : first, until = stop < end ? stop : end;
    TRY(wr_text_read(&file->text, file->offset[of] + begin * width, (stop - begin) * width, buffer));
    memcpy((char *)to + (from - first) * width, buffer + (from - begin) * width, (size_t)((until - from) * width));
    if (begin >= first && begin < summed) *sums++ = checksums[file->version](buffer, (stop - begin) * width);
  }
  TRY(wr_text_unchanged(&file->text));
done:
  wr_free(buffer);
  return status;
}

wr_status wr_binary_ranges_check(const wr_binary_ranges *file, int of, const uint64_t *sums, int64_t count) {
  char what[64];
  if (checksums[file->version](sums, count * (int64_t)sizeof *sums) == file->sum[of]) return WR_OK;
  snprintf(what, sizeof what, "the checksum of its %s differs", section_names[of]);
  return damaged(&file->text, what);
}

wr_status wr_binary_ranges_ids(const wr_binary_ranges *file, wr_ids *ids) {
  wr_status status;
  uint64_t *sums = NULL;
  int64_t pieces = wr_binary_ranges_pieces(0, file->nrows), wrong;
  *ids = (wr_ids){.count = file->has_ids ? file->nrows : 0, .first = file->first_id};
  if (!file->lists_ids) return WR_OK;
  TRY(wr_alloc(&ids->id, file->nrows, sizeof *ids->id, "the ids"));
  TRY(wr_alloc(&sums, pieces, sizeof *sums, "checksums"));
  TRY(wr_binary_ranges_read(file, WR_BINARY_IDS, 0, file->nrows, ids->id, file->nrows, sums));
  TRY(wr_binary_ranges_check(file, WR_BINARY_IDS, sums, pieces));
  wrong = ids->id[0] != ids->first;
  for (int64_t i = 1; i < file->nrows; i++) wrong |= ids->id[i] <= ids->id[i - 1];
  if (wrong) TRY(fail_ids(file->text.name));
done:
  wr_free(sums);
  if (status != WR_OK) wr_ids_free(ids);
  return status;
}
