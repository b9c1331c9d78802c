/* wr_status: the codes' names, sentences and exit codes, and the sentence that each thread keeps for itself. */
#include "config/status.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "config/failure.h"
#include "tests/check.h"

static void test_codes(void) {
  CASE("codes");
  static const struct {
    wr_status code;
    const char *name;
    int exit_code;
  } expected[] = {{WR_OK, "WR_OK", 0},
                  {WR_EUSAGE, "WR_EUSAGE", 1},
                  {WR_EINPUT, "WR_EINPUT", 3},
                  {WR_EUNAVAILABLE, "WR_EUNAVAILABLE", 4},
                  {WR_ENUMERIC, "WR_ENUMERIC", 5},
                  {WR_ENOMEM, "WR_ENOMEM", 6},
                  {WR_EINTERNAL, "WR_EINTERNAL", 7},
                  {WR_EOUTPUT, "WR_EOUTPUT", 8},
                  {WR_EDEVICE, "WR_EDEVICE", 9}};
  int count = (int)(sizeof expected / sizeof expected[0]);
  CHECK(WR_OK == 0);
  CHECK(count == WR_EDEVICE + 1); /* every code is in the table above */
  for (int i = 0; i < count; i++) {
    wr_status code = expected[i].code;
    CHECKF((int)code == i, "code %d is at %d of the list", (int)code, i);
    CHECKF(strcmp(wr_status_name(code), expected[i].name) == 0, "%s", wr_status_name(code));
    CHECKF(wr_status_exit_code(code) == expected[i].exit_code, "%s: %d", expected[i].name, wr_status_exit_code(code));
    CHECKF(strlen(wr_status_sentence(code)) > 0, "%s has no sentence", expected[i].name);
    for (int j = 0; j < i; j++)
      CHECKF(strcmp(wr_status_sentence(code), wr_status_sentence(expected[j].code)) != 0, "%s has the sentence of %s",
             expected[i].name, expected[j].name);
  }
}

static void test_printable(void) {
  CASE("what a user wrote is repeated on one line");
  wr_fail(WR_EINPUT, "%s: '%s'", "a\nb", "\033[31m\t\177\r \303\244");
  CHECKF(strcmp(wr_status_message(), "a?b: '?[31m??? \303\244'") == 0, "%s", wr_status_message());
}

static void test_message(void) {
  CASE("message");
  CHECKF(wr_status_message()[0] == '\0', "'%s' before the first failure", wr_status_message());
  CHECK(wr_fail(WR_EINPUT, "%s:%d: column %d > %d", "a.mtx", 3, 5, 4) == WR_EINPUT);
  CHECK(strcmp(wr_status_message(), "a.mtx:3: column 5 > 4") == 0);
  CHECK(wr_fail(WR_EDEVICE, "short") == WR_EDEVICE);
  CHECK(strcmp(wr_status_message(), "short") == 0);
  CHECK(wr_fail(WR_EINTERNAL, "outer: %s", wr_status_message()) == WR_EINTERNAL);
  CHECKF(strcmp(wr_status_message(), "outer: short") == 0, "'%s'", wr_status_message());
}

static void test_long_message(void) {
  CASE("a long sentence is cut");
  char text[5000];
  memset(text, 'x', sizeof text - 1);
  text[sizeof text - 1] = '\0';
  CHECK(wr_fail(WR_EUSAGE, "begin %s", text) == WR_EUSAGE);
  size_t length = strlen(wr_status_message());
  CHECKF(length >= 500 && length < sizeof text, "%zu bytes kept", length);
  CHECK(strncmp(wr_status_message(), "begin xxx", 9) == 0);
  CHECK(strspn(wr_status_message() + 6, "x") == length - 6);
}

static void test_kept(void) {
  CASE("a failure that is kept and raised again");
  wr_error error = {WR_EDEVICE, "old"};
  CHECK(wr_error_keep(&error, WR_OK) == WR_OK && error.status == WR_OK && error.text[0] == '\0');
  wr_fail(WR_EUSAGE, "another");
  CHECK(wr_error_raise(&error) == WR_OK && strcmp(wr_status_message(), "another") == 0);
  CHECK(wr_error_keep(&error, wr_fail(WR_EINPUT, "kept")) == WR_EINPUT);
  CHECK(error.status == WR_EINPUT && strcmp(error.text, "kept") == 0);
  wr_fail(WR_EUSAGE, "another");
  CHECK(wr_error_raise(&error) == WR_EINPUT && strcmp(wr_status_message(), "kept") == 0);
}

static wr_status fails_when(int fail, int *reached, int *freed) {
  wr_status status = WR_OK;
  TRY(fail ? wr_fail(WR_ENUMERIC, "asked to") : WR_OK);
  *reached = 1;
done:
  *freed = 1;
  return status;
}

static void test_try(void) {
  CASE("TRY");
  int reached = 0, freed = 0;
  CHECK_OK(fails_when(0, &reached, &freed));
  CHECK(reached && freed);
  reached = freed = 0;
  CHECK_FAILS(WR_ENUMERIC, fails_when(1, &reached, &freed));
  CHECK(!reached && freed);
  CHECK_MESSAGE("asked to");
}

typedef struct worker {
  int number;
  int begins_empty; /* 1: no sentence before the thread's first failure */
  int own;          /* times that the thread read back its own sentence */
} worker;

enum { WORKERS = 4, FAILURES = 1000 };

static void *fail_often(void *argument) {
  worker *self = argument;
  char expected[64];
  self->begins_empty = wr_status_message()[0] == '\0';
  for (int i = 0; i < FAILURES; i++) {
    snprintf(expected, sizeof expected, "thread %d, failure %d", self->number, i);
    wr_fail(WR_EINPUT, "thread %d, failure %d", self->number, i);
    self->own += strcmp(wr_status_message(), expected) == 0;
  }
  return NULL;
}

static void test_threads(void) {
  CASE("a sentence per thread");
  pthread_t threads[WORKERS];
  worker workers[WORKERS];
  wr_fail(WR_EUSAGE, "of the main thread");
  for (int i = 0; i < WORKERS; i++) {
    workers[i] = (worker){.number = i};
    CHECK(pthread_create(&threads[i], NULL, fail_often, &workers[i]) == 0);
  }
  for (int i = 0; i < WORKERS; i++) {
    CHECK(pthread_join(threads[i], NULL) == 0);
    CHECKF(workers[i].begins_empty, "thread %d began with another's sentence", i);
    CHECKF(workers[i].own == FAILURES, "thread %d read its own sentence %d times", i, workers[i].own);
  }
  CHECK(strcmp(wr_status_message(), "of the main thread") == 0);
}

static void test_lowest_failure(void) {
  CASE("the failure of the lowest piece is reported");
  wr_failure failure = WR_NO_FAILURE;
  CHECK(wr_failure_report(&failure) == WR_OK && !wr_failure_is_below(&failure, 7));
#pragma omp parallel for num_threads(WORKERS) schedule(dynamic, 1)
  for (int64_t k = FAILURES; k >= 0; k--)
    wr_failure_note(&failure, k, k < 5 ? WR_OK : wr_fail(k == 5 ? WR_EOUTPUT : WR_EINPUT, "piece %d", (int)k));
  CHECK(wr_failure_is_below(&failure, 6) && !wr_failure_is_below(&failure, 5));
  wr_fail(WR_EUSAGE, "another one");
  CHECK_FAILS(WR_EOUTPUT, wr_failure_report(&failure));
  CHECK_MESSAGE("piece 5");
}

int main(void) {
  test_codes();
  test_message();
  test_printable();
  test_long_message();
  test_kept();
  test_try();
  test_threads();
  test_lowest_failure();
  return wr_test_report("status");
}
