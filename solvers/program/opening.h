/* How long opening a device takes on this machine, as earlier runs have found. A file of the user's cache folder keeps it, in
 * the form of tune_cache.h, an entry for each machine and device number. */
#ifndef WR_OPENING_H
#define WR_OPENING_H

#include "config/status.h"

/* The seconds that are expected: those that are kept, or WR_DEVICE_OPEN_SECONDS where there are none, or no cache folder.
 * *warning := why the file was not used, or not in full; WR_OK: it was, or there is none. */
double wr_opening_expected(int device, wr_error *warning);

/* Opening has taken so many seconds: the mean of these and of those that are kept takes their place, where it differs from them
 * by more than a tenth. *warning := why it cannot be kept; WR_OK: it is, or there is no cache folder. */
void wr_opening_learn(int device, double seconds, wr_error *warning);

#endif
