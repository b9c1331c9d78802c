/* NumPy arrays in files (.npy, versions 1 to 3 of the format that NumPy's numpy.lib.format documents): vectors of f8, f4, i8
 * or i4, little endian. Internal to io/. */
#ifndef WR_NPY_H
#define WR_NPY_H

#include <stdint.h>
#include <stdio.h>

#include "config/status.h"
#include "io/input_text.h"

#define WR_NPY_MAGIC "\223NUMPY"

#endif
