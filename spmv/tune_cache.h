/* The file in which tuned configurations are kept between runs (wr_env.tune_cache): small, text, one line an entry.
 *
 *   windrow tuning cache 1
 *   KEY<tab>KNOBS
 *   ...                         the oldest entry first
 *
 * A backend that tunes composes the key of what equal requests have in common: versions, its name and knobs, matrix, type and
 * device. Knobs are a configuration as -k takes it; the backend checks them, since an entry may be anything. The file is
 * replaced as a whole, by a rename, so it is never seen half written, and writers lock it, so that entries of two processes
 * are both kept. (On a file system without locks one of the two may be lost.) A file of which the first line is another one
 * is never changed. */
#ifndef WR_TUNE_CACHE_H
#define WR_TUNE_CACHE_H

#include "config/status.h"

WR_C_BEGIN

/* Room for a key and for knobs, their ends included; the most bytes of a file, beyond which the oldest entries are dropped. */
enum { WR_TUNE_KEY_ROOM = 512, WR_TUNE_KNOBS_ROOM = 128, WR_TUNE_CACHE_BYTES = 4 << 20 };

/* knobs := those of the last entry with this key; "" if there is none, no file, or an empty one.
 * WR_EINPUT, with what helps: the file is no cache, is one of another version, cannot be read, or has lines that are no
 * entries; in the last case knobs is what the other lines say. WR_ENOMEM. */
wr_status wr_tune_cache_find(const char *path, const char *key, char knobs[WR_TUNE_KNOBS_ROOM]);

/* Adds an entry at the end, in place of those with the same key, and drops lines that are no entries. The file is made if
 * there is none. WR_EINPUT as above, WR_EOUTPUT: it cannot be written, or another process keeps it locked; it is then as it
 * was, or empty if there was none. WR_EUSAGE: key or knobs are empty, too long, or have control characters. WR_ENOMEM. */
wr_status wr_tune_cache_store(const char *path, const char *key, const char *knobs);

WR_C_END
#endif
