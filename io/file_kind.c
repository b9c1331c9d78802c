#define _DEFAULT_SOURCE /* pread, O_CLOEXEC */
#include "io/file_kind.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/gapbs.h"
#include "io/input_line.h"

/* Bytes at an offset, and what a file with them is. */
typedef struct kind {
  int offset, length;
  const char *bytes;
  const char *what, *help;
} kind;

#define BYTES(text) .length = sizeof(text) - 1, .bytes = (text)

#define PIPE(tool) \
  "unpack it, or pipe it in: " tool " FILE | PROGRAM -, for an edge list PROGRAM --input-format edges -"

#define MATRIX(matrix) "write the matrix as Matrix Market, in Python: scipy.io.mmwrite('matrix.mtx', " matrix ")"

#define TABLE(read) "write the table as CSV, in Python: pandas." read "('FILE').to_csv('FILE.csv', index=False)"

/* Where a zip archive has the name of its first member, and the length of that name. */
enum { ZIP_NAME = 30, ZIP_NAME_LENGTH = 26 };

static const kind zip_kinds[] = {
    {BYTES("[Content_Types].xml"), .what = "an Office document", .help = "save the table as CSV"},
    {BYTES(""), .what = "a zip archive", .help = "unpack it: unzip FILE"}};

static const kind kinds[] = {
    {BYTES("BZh91AY&SY"), .what = "compressed with bzip2", .help = PIPE("bzip2 -dc")},
    {BYTES("\x04\x22\x4d\x18"), .what = "compressed with lz4", .help = PIPE("lz4 -dc")},
    {BYTES("\x1f\x9d"), .what = "compressed with compress", .help = PIPE("gzip -dc")},
    {BYTES("7z\xbc\xaf\x27\x1c"), .what = "a 7z archive", .help = "unpack it: 7z x FILE"},
    {BYTES("Rar!\x1a\x07"), .what = "a rar archive", .help = "unpack it: unrar x FILE"},
    {.offset = 257, BYTES("ustar"), .what = "a tar archive", .help = "unpack it: tar xf FILE"},
    {BYTES(WR_NPY_MAGIC), .what = "a NumPy array (.npy), which is read as a vector only", .help = MATRIX("A")},
    {BYTES("\x89HDF\r\n\x1a\n"), .what = "an HDF5 file", .help = MATRIX("A")},
    {BYTES("MATLAB 7.3 MAT-file"), .what = "a MATLAB file in HDF5",
     .help = "in MATLAB save it with -v7, then " MATRIX("scipy.io.loadmat('FILE')['A']")},
    {BYTES("MATLAB 5.0 MAT-file"), .what = "a MATLAB file", .help = MATRIX("scipy.io.loadmat('FILE')['A']")},
    {BYTES("PAR1\x15"), .what = "a Parquet table", .help = TABLE("read_parquet")},
    {BYTES("ARROW1\0\0"), .what = "an Arrow table", .help = TABLE("read_feather")},
    {BYTES("FEA1\0\0\0\0"), .what = "a Feather table", .help = TABLE("read_feather")},
    {BYTES("SQLite format 3"), .what = "an SQLite database",
     .help = "write the table as text: sqlite3 -separator ' ' FILE 'select source, target from edges'"},
    {BYTES("\x80\x04\x95"), .what = "a Python pickle", .help = MATRIX("A")},
    {BYTES("\x80\x05\x95"), .what = "a Python pickle", .help = MATRIX("A")},
    {BYTES("\xff\xfe"), .what = "a text in UTF-16", .help = "pipe it in: iconv -f UTF-16 -t UTF-8 FILE | PROGRAM -"},
    {BYTES("\xfe\xff"), .what = "a text in UTF-16", .help = "pipe it in: iconv -f UTF-16 -t UTF-8 FILE | PROGRAM -"}};

static int lies_at(const kind *k, const char *begin, int64_t count, int64_t offset) {
  return count - offset >= k->length && memcmp(begin + offset, k->bytes, (size_t)k->length) == 0;
}

static int is_zip(const char *begin, int64_t count) { return count >= ZIP_NAME && memcmp(begin, "PK\x03\x04", 4) == 0; }

/* By how the name of the first member ends. */
static int is_npz(const char *begin, int64_t count) {
  if (!is_zip(begin, count)) return 0;
  int length = (unsigned char)begin[ZIP_NAME_LENGTH] | (unsigned char)begin[ZIP_NAME_LENGTH + 1] << 8;
  return ZIP_NAME + length <= count && length > 4 && memcmp(begin + ZIP_NAME + length - 4, ".npy", 4) == 0;
}

static const kind *find(const char *begin, int64_t count) {
  if (is_zip(begin, count)) return lies_at(&zip_kinds[0], begin, count, ZIP_NAME) ? &zip_kinds[0] : &zip_kinds[1];
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
    if (lies_at(&kinds[k], begin, count, kinds[k].offset)) return &kinds[k];
  return NULL;
}

static int begins_with(const char *begin, int64_t count, const char *magic, int64_t length) {
  return count >= length && memcmp(begin, magic, (size_t)length) == 0;
}

wr_file_kind wr_file_kind_of(const char *begin, int64_t count) {
  int64_t banner = (int64_t)strlen(MM_BANNER), nodes, edges;
  if (begins_with(begin, count, "\x1f\x8b", 2)) return WR_FILE_GZIP;
  if (begins_with(begin, count, "\x28\xb5\x2f\xfd", 4)) return WR_FILE_ZSTD;
  if (begins_with(begin, count, "\xfd\x37zXZ", 6)) return WR_FILE_XZ; /* with the 0 behind it */
  if (begins_with(begin, count, WR_BINARY_MAGIC, sizeof WR_BINARY_MAGIC - 1)) return WR_FILE_BINARY;
  if (begins_with(begin, count, WR_NPY_MAGIC, sizeof WR_NPY_MAGIC - 1)) return WR_FILE_NPY;
  if (is_npz(begin, count)) return WR_FILE_NPZ;
  if (wr_gapbs_head(begin, count, &nodes, &edges)) return WR_FILE_GAPBS;
  if (count >= banner && wr_word_is(begin, begin + banner, MM_BANNER)) return WR_FILE_MATRIX_MARKET;
  return find(begin, count) != NULL ? WR_FILE_FOREIGN : WR_FILE_TEXT;
}

wr_status wr_file_check_foreign(const char *name, const char *begin, int64_t count) {
  const kind *k = find(begin, count);
  if (k == NULL) return WR_OK;
  return wr_fail(WR_EINPUT, "%s: %s; %s", name, k->what, k->help);
}

/* A named pipe must not even be opened: a process that waits to write into it would take this one for its reader. */
int64_t wr_file_head(const char *path, char *head, int64_t room, int64_t *size) {
  struct stat facts;
  if (strcmp(path, "-") == 0 || stat(path, &facts) != 0 || !S_ISREG(facts.st_mode)) return -1;
  int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return -1;
  int regular = fstat(file, &facts) == 0 && S_ISREG(facts.st_mode);
  *size = facts.st_size;
  int64_t count = regular ? (int64_t)pread(file, head, (size_t)room, 0) : -1;
  close(file);
  return count;
}
