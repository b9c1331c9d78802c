/* The greatest element of each piece of a long vector, and copies of a few pieces: of a vector on a device only these are
 * downloaded where its greatest elements are looked for. Piece c has the elements c * length to (c + 1) * length - 1, the last
 * piece fewer. And copies of columns of row-major vectors. Members of wr_vecops (vec.h): here are their checks, and the
 * functions of the host. */
#ifndef WR_PIECES_H
#define WR_PIECES_H

#include "spmv/device/env.h"

WR_C_BEGIN

/* Pieces of n elements. */
static inline int64_t wr_pieces_of(int64_t n, int64_t length) { return n / length + (n % length != 0); }

wr_status wr_maxima_check(const wr_env *env, const wr_vec *v, const wr_vec *scale, int64_t length, const wr_vec *to);
wr_status wr_pick_check(const wr_env *env, const wr_vec *v, int64_t length, const wr_vec *pieces, const wr_vec *to);

wr_status wr_host_maxima(wr_env *env, const wr_vec *v, const wr_vec *scale, int64_t length, wr_vec *to);
wr_status wr_host_pick(wr_env *env, const wr_vec *v, int64_t length, const wr_vec *pieces, wr_vec *to);

wr_status wr_copy_column_check(const wr_env *env, const wr_vec *from, int64_t from_ld, int64_t from_column,
                               const wr_vec *to, int64_t to_ld, int64_t to_column);
wr_status wr_host_move_column(wr_env *env, wr_vec *from, int64_t ld, int64_t column, wr_vec *to);
wr_status wr_host_copy_column(wr_env *env, const wr_vec *from, int64_t from_ld, int64_t from_column, wr_vec *to,
                              int64_t to_ld, int64_t to_column);

WR_C_END
#endif
