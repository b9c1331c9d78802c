#include "solvers/program/need.h"

#include "solvers/bicgstab.h"
#include "solvers/rank/linear.h"
#include "solvers/rank/rank.h"

enum { F64 = sizeof(double) };

/* The answer, and the second vector with which it is checked or in which its elements are sorted. */
enum { ANSWER = 2 * F64 };

static int64_t if_given(const char *path) { return path != NULL ? F64 : 0; }

/* scale; three vectors that take turns, and the teleport vector (wr_pagerank_open); the vectors of IDR, and the ranks that it
 * is given. The automatic choice goes on without IDR where there is no memory. */
int64_t wr_pagerank_row_bytes(const wr_settings *s, int on_host) {
  int64_t type = wr_type_bytes(wr_settings_type(s)), sets = s->vectors > 0 ? s->vectors : 32 / type;
  if (s->seeds) return F64 + (on_host ? (2 * sets + 3) * type : 0); /* wr_rank_sets: scale, two batches, a column, lengths */
  int64_t vectors = s->personalize != NULL ? 4 : 3;
  if (s->ranking == WR_RANK_IDR) vectors += WR_RANK_LINEAR_VECTORS + 1;
  int64_t mixed = s->precision == WR_PRECISION_MIXED ? 5 * wr_type_bytes(WR_F32) : 0; /* wr_mixed_open */
  int64_t components = s->ranking == WR_RANK_GAUSS_SEIDEL ? 24 : 0; /* while they are found (wr_components_find) */
  if (components > 0) vectors++;
  return components + F64 + if_given(s->personalize) + if_given(s->guess) + ANSWER +
         (on_host ? vectors * wr_type_bytes(wr_settings_type(s)) + mixed : 0);
}

/* Triangular factors of an empty row (spmv/precond/lu_host.c): two row pointers, its pivot, its place in a vector; and the
 * vector M^-1 p. */
static int64_t factor_bytes(const wr_settings *s, int on_host) {
  int64_t value = wr_type_bytes((wr_type)s->precision);
  if (s->precond_auto || wr_preconditioner_at(s->precond)->prepare == NULL ||
      wr_preconditioner_at(s->precond)->diagonal)
    return 0;
  return 2 * (int64_t)sizeof(int64_t) + value + (on_host ? F64 + value : 0);
}

/* b; the solver's vectors, of the automatic choice those of BiCGSTAB, since a later method for which there is no memory is
 * passed over; Jacobi's diagonal and the row pointers of the scaled matrix */
int64_t wr_bicgstab_row_bytes(const wr_settings *s, int on_host) {
  int64_t vectors = wr_method_costs_of(wr_method_at(s->method - 1), (int)s->ell).stored;
  int64_t jacobi = wr_preconditioner_at(s->precond)->diagonal ? F64 + (int64_t)sizeof(int64_t) : 0;
  return F64 + if_given(s->guess) + jacobi + ANSWER + factor_bytes(s, on_host) +
         (on_host ? vectors * wr_type_bytes((wr_type)s->precision) : 0);
}

/* ILU(0): the column and the value in f64 that the factorisation has on the host, whatever the place of the solve. ILUT may
 * leave out every element; the most that its limit of fill permits is compared with the memory by wr_ilut itself. */
int64_t wr_bicgstab_entry_bytes(const wr_settings *s) {
  int is_ilu0 = !s->precond_auto && wr_preconditioner_at(s->precond) == &wr_precond_ilu0;
  return is_ilu0 ? (int64_t)sizeof(int32_t) + F64 : 0;
}

/* two buffers for y; y, its value and the sizes of its terms on the host, where all rows are checked */
int64_t wr_spmv_row_bytes(const wr_settings *s, wr_type type, int on_host) {
  return (s->verify == WR_VERIFY_FULL ? 3 * F64 : 0) + (on_host ? 2 * wr_type_bytes(type) : 0);
}

/* x as it is on the host, and as it is multiplied */
int64_t wr_spmv_column_bytes(wr_type type, int on_host) { return F64 + (on_host ? wr_type_bytes(type) : 0); }
