/* Checks of matrix arguments of public functions, beside config/argument.h. */
#ifndef WR_CSR_ARGUMENT_H
#define WR_CSR_ARGUMENT_H

#include "config/argument.h"
#include "spmv/matrix/csr.h"

/* WR_OK, or WR_EUSAGE that names `function` and its argument `name` if A is NULL or has no host arrays. */
wr_status wr_csr_check_host(const wr_csr *A, const char *name, const char *function);
#define WR_NEED_HOST(A) WR_NEED_OK(wr_csr_check_host((A), #A, __func__))

#endif
