/* Every function and object that the shared library exports, called with each argument that it has to refuse. It must return
 * WR_EUSAGE and name the function and the argument; a function without a status behaves as config/status.h says. The table is
 * compared with the version script of the library, so that a new function has to be in it. */
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>

#include "solvers/api/windrow.h"
#include "solvers/deep.h"
#include "tests/check.h"

static const char *called; /* the function of this row */

/* The call is refused, and the sentence names the function and has the text. */
#define REFUSED(text, call)                                                                            \
  do {                                                                                                 \
    CHECK_FAILS(WR_EUSAGE, call);                                                                      \
    CHECK_MESSAGE(text);                                                                               \
    CHECKF(strncmp(wr_status_message(), called, strlen(called)) == 0, "'%s' begins with another name", \
           wr_status_message());                                                                       \
  } while (0)

#include "tests/solvers/arguments_config.h"
#include "tests/solvers/arguments_spmv.h"
#include "tests/solvers/arguments_solvers.h"
#include "tests/solvers/arguments_precond.h"
#include "tests/solvers/arguments_api.h"

static const struct row {
  const char *name;
  void (*try)(void);
} rows[] = {ARGUMENTS_CONFIG ARGUMENTS_SPMV ARGUMENTS_SOLVERS ARGUMENTS_PRECOND ARGUMENTS_API};
enum { ROWS = sizeof rows / sizeof *rows };

/* The names between "global:" and "local:" of the version script. */
static void test_table_is_complete(void) {
  char path[4096], word[200];
  const char *build = getenv("BUILD");
  int found[ROWS] = {0}, names = 0, global = 0;
  CASE("the table has every exported name");
  snprintf(path, sizeof path, "%s/windrow.map", build ? build : "build");
  FILE *map = fopen(path, "r");
  CHECKF(map != NULL, "%s: cannot be read; make libraries writes it", path);
  while (map && fscanf(map, "%199s", word) == 1) {
    if (strcmp(word, "global:") == 0) global = 1;
    if (strcmp(word, "local:") == 0) global = 0;
    size_t length = strlen(word);
    if (!global || length < 2 || word[length - 1] != ';') continue;
    word[length - 1] = '\0';
    int r = 0;
    while (r < ROWS && strcmp(rows[r].name, word) != 0) r++;
    CHECKF(r < ROWS, "%s is exported, and its arguments are not tested", word);
    if (r < ROWS) found[r]++;
    names++;
  }
  if (map) fclose(map);
  CHECKF(names > 50, "%d names", names);
  for (int r = 0; r < ROWS; r++) CHECKF(found[r] == 1, "%s is exported %d times", rows[r].name, found[r]);
}

int main(void) {
  test_table_is_complete();
  open_ground();
  for (int r = 0; r < ROWS; r++) {
    called = rows[r].name;
    CASE(called);
    wr_fail(WR_OK, "nothing was said");
    rows[r].try();
  }
  close_ground();
  return wr_test_report("arguments");
}
