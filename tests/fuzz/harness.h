/* What the fuzz targets share. A target gets bytes, hands them to a parser as a user would, and requires of the outcome what
 * holds for every input. Built two ways: by clang against libFuzzer (`make fuzz`), where a broken requirement ends the
 * process, and by any compiler into one program that replays files (replay.c), where it is counted. */
#ifndef WR_HARNESS_H
#define WR_HARNESS_H

#include <stddef.h>
#include <stdint.h>

#include "config/status.h"

int wr_fuzz_mtx(const uint8_t *bytes, size_t count);
int wr_fuzz_edges(const uint8_t *bytes, size_t count);
int wr_fuzz_vector(const uint8_t *bytes, size_t count);
int wr_fuzz_binary(const uint8_t *bytes, size_t count);
int wr_fuzz_options(const uint8_t *bytes, size_t count);
int wr_fuzz_knobs(const uint8_t *bytes, size_t count);
int wr_fuzz_tuned(const uint8_t *bytes, size_t count);
int wr_fuzz_sets(const uint8_t *bytes, size_t count);

/* The head of a target's function. It returns 0: every input may go into the corpus. */
#ifdef WR_LIBFUZZER
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);
#define FUZZ_TARGET(name) int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
#define HARNESS_ONE_IN(n, count) ((count) % (n) == 0) /* what is costly is done for one input in n */
#else
#define FUZZ_TARGET(name) int wr_fuzz_##name(const uint8_t *bytes, size_t count)
#define HARNESS_ONE_IN(n, count) 1
#endif

#define REQUIRE(condition) harness_require((condition) != 0, __FILE__, __LINE__, "%s", #condition)
#define REQUIREF(condition, ...) harness_require((condition) != 0, __FILE__, __LINE__, __VA_ARGS__)

void harness_require(int holds, const char *file, int line, const char *format, ...) WR_PRINTF(4, 5);

/* How many requirements held and did not; for the replay. */
void harness_counts(long *held, long *broken);

/* The path of a file in memory with these bytes; one at a time. */
const char *harness_file(const void *bytes, size_t count);

/* The path of a pipe with these bytes, up to HARNESS_PIPE of them, to be read once; NULL if there is none. Closed by the
 * next call, and by one with NULL. */
enum { HARNESS_PIPE = 60000 };
const char *harness_pipe(const void *bytes, size_t count);

/* A file's path in a folder of the harness's own, which is made at the first call and removed at the end. */
const char *harness_path(const char *name);

/* Forgets the last sentence, and what memory was asked for. */
void harness_begin(void);

/* A failure must have a sentence of one printable line, and be one of `allowed` (bits 1 << status). name: what WR_EINPUT's
 * sentence must begin with, or NULL. */
void harness_judge(wr_status status, unsigned allowed, const char *name);

/* Bytes that wr_alloc was asked for since harness_begin; 0 under libFuzzer, which limits them itself. */
int64_t harness_asked(void);

#endif
