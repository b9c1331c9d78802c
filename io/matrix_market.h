/* Matrix Market files (Boisvert, Pozo, Remington: The Matrix Market Exchange Formats, NISTIR 5935), with the interface
 * of NIST's mmio: a four-letter typecode, its queries, and banner and size lines. Bodies of files are read by
 * io/reader.h. Everything here is 64-bit where mmio's counts are int. */
#ifndef WR_MATRIX_MARKET_H
#define WR_MATRIX_MARKET_H

#include <stdint.h>
#include <stdio.h>

#include "config/status.h"
#include "io/file_kind.h"

/* matcode[0] M; [1] C coordinate, A array; [2] R real, I integer, P pattern, C complex; [3] G, S, K (skew), H (Hermitian). */
typedef char MM_typecode[4];

#define MM_MAX_LINE_LENGTH 1025

#define mm_is_matrix(matcode) ((matcode)[0] == 'M')
#define mm_is_coordinate(matcode) ((matcode)[1] == 'C')
#define mm_is_sparse(matcode) ((matcode)[1] == 'C')
#define mm_is_array(matcode) ((matcode)[1] == 'A')
#define mm_is_dense(matcode) ((matcode)[1] == 'A')
#define mm_is_real(matcode) ((matcode)[2] == 'R')
#define mm_is_integer(matcode) ((matcode)[2] == 'I')
#define mm_is_pattern(matcode) ((matcode)[2] == 'P')
#define mm_is_complex(matcode) ((matcode)[2] == 'C')
#define mm_is_general(matcode) ((matcode)[3] == 'G')
#define mm_is_symmetric(matcode) ((matcode)[3] == 'S')
#define mm_is_skew(matcode) ((matcode)[3] == 'K')
#define mm_is_hermitian(matcode) ((matcode)[3] == 'H')

#define mm_set_matrix(matcode) ((*(matcode))[0] = 'M')
#define mm_set_coordinate(matcode) ((*(matcode))[1] = 'C')
#define mm_set_sparse(matcode) mm_set_coordinate(matcode)
#define mm_set_array(matcode) ((*(matcode))[1] = 'A')
#define mm_set_dense(matcode) mm_set_array(matcode)
#define mm_set_real(matcode) ((*(matcode))[2] = 'R')
#define mm_set_integer(matcode) ((*(matcode))[2] = 'I')
#define mm_set_pattern(matcode) ((*(matcode))[2] = 'P')
#define mm_set_complex(matcode) ((*(matcode))[2] = 'C')
#define mm_set_general(matcode) ((*(matcode))[3] = 'G')
#define mm_set_symmetric(matcode) ((*(matcode))[3] = 'S')
#define mm_set_skew(matcode) ((*(matcode))[3] = 'K')
#define mm_set_hermitian(matcode) ((*(matcode))[3] = 'H')
#define mm_clear_typecode(matcode) \
  ((*(matcode))[0] = (*(matcode))[1] = (*(matcode))[2] = ' ', (*(matcode))[3] = 'G')
#define mm_initialize_typecode(matcode) mm_clear_typecode(matcode)

/* 1 if the four letters name a kind that the format defines (a dense pattern, a real Hermitian and the like do not exist). */
int mm_is_valid(const MM_typecode matcode);

/* "matrix coordinate real general" in text[size]; returns text. */
char *mm_typecode_to_str(const MM_typecode matcode, char *text, size_t size);

/* Reads the banner line: exactly five words, letter case aside. WR_EINPUT with the word that is not understood. */
wr_status mm_read_banner(FILE *file, MM_typecode *matcode);

/* Skips comments (of any length) and blank lines and reads the size line: positive sizes, nnz may be 0. WR_EINPUT. */
wr_status mm_read_mtx_crd_size(FILE *file, int64_t *nrows, int64_t *ncols, int64_t *nnz);
wr_status mm_read_mtx_array_size(FILE *file, int64_t *nrows, int64_t *ncols);

/* WR_EOUTPUT when the file does not take it. */
wr_status mm_write_banner(FILE *file, const MM_typecode matcode);
wr_status mm_write_mtx_crd_size(FILE *file, int64_t nrows, int64_t ncols, int64_t nnz);
wr_status mm_write_mtx_array_size(FILE *file, int64_t nrows, int64_t ncols);

/* The same two lines out of memory, used by the reader: [text, end) must begin at the file's first byte. *body := the first
 * byte after the size line, *body_line its 1-based line number. Errors begin with `name:line: `. nnz of an array file is
 * the number of values that it stores. Beyond what the functions above refuse: symmetric kinds that are not square, and
 * complex ones, which windrow does not read. */
typedef struct mm_header {
  MM_typecode matcode;
  int64_t nrows, ncols, nnz;
} mm_header;
wr_status mm_parse_header(const char *name, const char *text, const char *end, mm_header *header, const char **body,
                          int64_t *body_line);

/* 1 if [text, end), whole lines from the file's first byte on, reaches as far as the size line. */
int mm_has_header(const char *text, const char *end);

#endif
