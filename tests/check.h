/* The tests' few macros. A test program counts its checks, goes on after a failure, prints each failure with its place, and
 * ends with wr_test_report, which prints "NAME: N passed, N failed, N skipped" and returns main's exit status. */
#ifndef WR_CHECK_H
#define WR_CHECK_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/status.h"

static long wr_test_passed, wr_test_failed, wr_test_skipped;
static const char *wr_test_case = "";

/* Names what the following checks are about; shown with a failure. */
#define CASE(name) (wr_test_case = (name))

#define CHECK(condition) CHECKF((condition), "%s", #condition)

/* As CHECK, with a printf-style sentence that shows the values. */
#define CHECKF(condition, ...)                                          \
  do {                                                                  \
    if (condition) {                                                    \
      wr_test_passed++;                                                 \
    } else {                                                            \
      wr_test_failed++;                                                 \
      fprintf(stderr, "%s:%d: [%s] ", __FILE__, __LINE__, wr_test_case); \
      fprintf(stderr, __VA_ARGS__);                                     \
      fputc('\n', stderr);                                              \
    }                                                                   \
  } while (0)

/* The call must succeed; shows the sentence if it does not. */
#define CHECK_OK(call)                                                                       \
  do {                                                                                       \
    wr_status wr_check_status = (call);                                                      \
    CHECKF(wr_check_status == WR_OK, "%s: %s", #call, wr_status_message());                  \
  } while (0)

/* The call must fail with this code. */
#define CHECK_FAILS(code, call)                                                              \
  do {                                                                                       \
    wr_status wr_check_status = (call);                                                      \
    CHECKF(wr_check_status == (code), "%s: %s, not %s (%s)", #call,                          \
           wr_status_name(wr_check_status), #code, wr_status_message());                     \
  } while (0)

/* The last failure's sentence must contain the text. */
#define CHECK_MESSAGE(text)                                                                  \
  CHECKF(strstr(wr_status_message(), (text)) != NULL, "'%s' lacks '%s'", wr_status_message(), (text))

#define SKIP(...)                                       \
  do {                                                  \
    wr_test_skipped++;                                  \
    fprintf(stderr, "[%s] skipped: ", wr_test_case);    \
    fprintf(stderr, __VA_ARGS__);                       \
    fputc('\n', stderr);                                \
  } while (0)

/* Where tests make files and folders: TMPDIR, or /tmp where that is empty or relative, since some tests go elsewhere. */
static inline const char *wr_test_folder(void) {
  const char *folder = getenv("TMPDIR");
  return folder && folder[0] == '/' ? folder : "/tmp";
}

static inline int wr_test_report(const char *name) {
  printf("%s: %ld passed, %ld failed, %ld skipped\n", name, wr_test_passed, wr_test_failed, wr_test_skipped);
  return wr_test_failed != 0 || wr_test_passed + wr_test_skipped == 0;
}

#endif
