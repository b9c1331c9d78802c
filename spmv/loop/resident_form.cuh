/* Forms of steps that a resident loop's kernel is compiled for. Of a step with a form the compiler knows how many vectors the
 * operation reads and writes, which terms and sums there are, that a product has no other epilogue, and which step on scalars
 * follows; only addresses and coefficients are read. Where all of this is looked up in the step, each look is a load from
 * shared memory and a branch, and a small system has too few rows to hide them (docs/decisions.md). */
#ifndef WR_RESIDENT_FORM_CUH
#define WR_RESIDENT_FORM_CUH

#include "spmv/loop/resident.cuh"

/* Bit k of ones[o] and of scaled[o]: output o has the term 1 * in[k], or factor * *scalar * in[k]. Outputs are the slots SLOTS
 * and SLOTS + 1. Sums of a JOINED form are the product's and then the operation's; u and z of a product's sum are not used. */
struct wr_step_form {
  wr_resident_kind kind;
  int nin, nout;
  unsigned ones[wr_narrow::OUTPUTS], scaled[wr_narrow::OUTPUTS];
  int product_sums, count; /* sums of the product, 0 unless JOINED; all */
  wr_reduction_kind sum[wr_narrow::SUMS];
  int u[wr_narrow::SUMS], z[wr_narrow::SUMS];
  unsigned bit;
  /* Of ROWS, of which only this and bit are used: the parts of the epilogue, with their sums. */
  wr_finish_mask mask = WR_HOLDS_NOTHING;
};

constexpr int WR_FIRST_OUTPUT = wr_narrow::SLOTS, WR_SECOND_OUTPUT = wr_narrow::SLOTS + 1;

/* By number, of wr_resident_step.form. 0 stands for all others. */
constexpr wr_step_form WR_STEP_FORMS[] = {
    {},
    /* BiCGSTAB: p = r + beta p - beta_omega v, v' = A p with (v', shadow), (v', v') */
    {WR_RESIDENT_JOINED, 3, 1, {1}, {6}, 2, 2, {WR_DOT, WR_NRM2SQ}, {}, {},
     WR_STEP_BIT(bicgstab_after_first_product)},
    /* s = r - alpha v with (s, s), t = A s with (t, s), (t, t) */
    {WR_RESIDENT_JOINED, 2, 1, {1}, {2}, 2, 3, {WR_DOT, WR_NRM2SQ, WR_NRM2SQ}, {0, 0, WR_FIRST_OUTPUT}, {0, 0, -1},
     WR_STEP_BIT(bicgstab_after_second_product)},
    /* d += alpha p + omega s, r = s - omega t with (r, r), (r, shadow); in: d, p, s, t, shadow */
    {WR_RESIDENT_VECTORS, 5, 2, {1, 4}, {6, 8}, 0, 2, {WR_NRM2SQ, WR_DOT}, {WR_SECOND_OUTPUT, WR_SECOND_OUTPUT},
     {-1, 4}, WR_STEP_BIT(bicgstab_after_update)},
    /* CG: p = r + beta p, q = A p with (q, p) */
    {WR_RESIDENT_JOINED, 2, 1, {1}, {2}, 1, 1, {WR_DOT}, {}, {}, WR_STEP_BIT(cg_after_product)},
    /* d += alpha p, r -= alpha q with (r, r); in: d, p, r, q */
    {WR_RESIDENT_VECTORS, 4, 2, {1, 4}, {2, 8}, 0, 1, {WR_NRM2SQ}, {WR_SECOND_OUTPUT}, {-1},
     WR_STEP_BIT(cg_after_update)},
    /* PageRank by the power method, and with relaxation, as for Chebyshev's method */
    {WR_RESIDENT_ROWS, 0, 0, {}, {}, 0, 0, {}, {}, {}, WR_STEP_BIT(pagerank_after_iteration), WR_HOLDS_SCALED_STEP},
    {WR_RESIDENT_ROWS, 0, 0, {}, {}, 0, 0, {}, {}, {}, WR_STEP_BIT(pagerank_after_iteration), WR_HOLDS_RELAXED_STEP},
};
constexpr int WR_STEP_FORM_COUNT = sizeof WR_STEP_FORMS / sizeof *WR_STEP_FORMS;

/* ---- On the host ---- */

template <typename T>
bool wr_operation_has_form(const wr_fused_args<T, wr_narrow> &f, const wr_step_form &form) {
  bool fits = f.nin == form.nin && f.nout == form.nout && !f.has_times && !f.when && f.sums.count == form.count &&
              f.sums.step.bit == form.bit;
  for (int o = 0; o < wr_narrow::OUTPUTS; o++)
    for (int k = 0; k < wr_narrow::TERMS; k++) {
      const wr_device_coefficient &c = f.c[o][k];
      bool is_one = form.ones[o] >> k & 1, is_scaled = form.scaled[o] >> k & 1;
      fits &= is_one ? c.factor == 1 && !c.scalar : is_scaled ? c.factor != 0 && c.scalar : c.factor == 0;
    }
  for (int r = 0; r < form.count && fits; r++) {
    fits &= f.sums.kind[r] == form.sum[r];
    if (r >= form.product_sums) fits &= f.u[r] == form.u[r] && (form.z[r] < 0 || f.z[r] == form.z[r]);
  }
  return fits;
}

/* Whether a joined product has no epilogue but the sums of the form. */
template <typename T>
bool wr_product_has_form(const wr_resident_rows<T> &a, const wr_step_form &form) {
  const wr_finish<T> &f = a.finish;
  bool fits = a.alpha == 1 && a.beta == 0 && f.sums.count == form.product_sums && !f.shift && !f.shift_dir &&
              !f.scale && !f.divisors && !f.scales_y && !f.relax_from && !f.scaled;
  for (int r = 0; r < form.product_sums; r++) fits &= (f.z[r] != NULL) == (form.sum[r] == WR_DOT);
  return fits;
}

template <typename T>
bool wr_rows_have_form(const wr_resident_rows<T> &a, const wr_step_form &form) {
  return a.beta == 0 && a.finish.sums.step.bit == form.bit && wr_finish_mask_of(a.finish) == form.mask;
}

/* The form of a step; `next` is the product of a JOINED one. */
template <typename T>
int wr_step_form_of(const wr_resident_step<T, wr_narrow> &step, const wr_resident_step<T, wr_narrow> *next) {
  for (int k = 1; k < WR_STEP_FORM_COUNT; k++) {
    const wr_step_form &form = WR_STEP_FORMS[k];
    if (step.kind != form.kind) continue;
    bool is_rows = step.kind == WR_RESIDENT_ROWS, is_joined = step.kind == WR_RESIDENT_JOINED;
    if (is_rows ? wr_rows_have_form(step.rows, form)
                : wr_operation_has_form(step.vectors, form) && (!is_joined || wr_product_has_form(next->rows, form)))
      return k;
  }
  return 0;
}

/* ---- On the device ---- */

/* An operation that has a form. */
template <typename T, int FORM>
struct wr_known_operation : wr_fused_args<T, wr_narrow> {};

template <int FORM, typename T>
__device__ inline wr_known_operation<T, FORM> wr_operation_known(const wr_fused_args<T, wr_narrow> &f) {
  constexpr wr_step_form form = WR_STEP_FORMS[FORM];
  wr_known_operation<T, FORM> a = {};
  a.n = f.n, a.nin = form.nin, a.nout = form.nout;
#pragma unroll
  for (int k = 0; k < form.nin; k++) a.in[k] = f.in[k];
#pragma unroll
  for (int o = 0; o < form.nout; o++) {
    a.out[o] = f.out[o];
#pragma unroll
    for (int k = 0; k < wr_narrow::TERMS; k++)
      if (form.scaled[o] >> k & 1) a.c[o][k] = f.c[o][k];
  }
  a.sums.count = form.count;
#pragma unroll
  for (int r = 0; r < form.count; r++) a.sums.kind[r] = form.sum[r], a.u[r] = form.u[r], a.z[r] = form.z[r];
  return a;
}

/* The product of a JOINED form. */
template <int FORM, typename T>
__device__ inline wr_resident_rows<T> wr_product_known(const wr_resident_rows<T> &from) {
  constexpr wr_step_form form = WR_STEP_FORMS[FORM];
  wr_resident_rows<T> a = {};
  a.nrows = from.nrows, a.x = from.x, a.y = from.y, a.alpha = 1;
  a.finish.sums.count = form.product_sums;
#pragma unroll
  for (int r = 0; r < form.product_sums; r++) {
    a.finish.sums.kind[r] = form.sum[r];
    if (form.sum[r] == WR_DOT) a.finish.z[r] = from.finish.z[r];
  }
  return a;
}

/* A step of a form of kind ROWS: the compiler knows the parts of its epilogue. */
template <int FORM, typename T>
__device__ inline wr_resident_rows<T, wr_finish_known_of<T, WR_STEP_FORMS[FORM].mask>>
wr_rows_known(const wr_resident_rows<T> &from) {
  constexpr wr_finish_mask mask = WR_STEP_FORMS[FORM].mask;
  return {from.nrows, from.x, from.y, from.alpha, 0, wr_finish_known<mask>(from.finish)};
}

#endif
