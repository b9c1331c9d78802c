/* Sparse matrices of SciPy (scipy.sparse.save_npz): a zip archive of NumPy arrays, stored or deflated. The formats csr, csc and
 * coo are read, with indices of 32 or 64 bits and values that are real or bool. Entries at the same place are added, as SciPy
 * does. Internal to io/. */
#ifndef WR_NPZ_H
#define WR_NPZ_H

#include "io/reader.h"

/* *triplets as of wr_read_triplets. Bools that are all true have no values. WR_EINPUT with `file: what`: damaged or cut short,
 * encrypted, another format (bsr, dia), pickled, another byte order, complex, indices out of range, a value that is not finite
 * or negative where none may be, more than WR_MAX_INDEX rows or columns; without zlib also a deflated one. WR_ENOMEM. What the
 * archive claims to hold costs no more memory than 1032 times its length. */
wr_status wr_npz_read(const wr_text *text, const wr_read_options *options, wr_triplets *triplets, wr_read_facts *facts);

#endif
