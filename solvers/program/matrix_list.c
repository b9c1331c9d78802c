#include "solvers/program/matrix_list.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "config/memory.h"
#include "config/text.h"
#include "solvers/report/run.h"

enum { LINE = 4096 }; /* bytes of the longest line of a list, its end included */

static wr_status add_name(wr_matrix_list *list, const char *name) {
  size_t size = strlen(name) + 1;
  if (list->count == list->capacity) {
    char **wider;
    int64_t capacity = 2 * list->capacity + 16;
    PASS(wr_alloc(&wider, capacity, sizeof *wider, "the names of matrices"));
    if (list->count > 0) memcpy(wider, list->name, (size_t)list->count * sizeof *wider);
    wr_free(list->name);
    list->name = wider, list->capacity = capacity;
  }
  PASS(wr_alloc(&list->name[list->count], (int64_t)size, 1, "the names of matrices"));
  memcpy(list->name[list->count++], name, size);
  return WR_OK;
}

/* Cuts the comment, the line's end and the blanks around. */
static char *trim(char *line) {
  line[strcspn(line, "#\r\n")] = '\0';
  char *name = line + strspn(line, " \t"), *end = name + strlen(name);
  while (end > name && (end[-1] == ' ' || end[-1] == '\t')) *--end = '\0';
  return name;
}

static wr_status add_file(wr_matrix_list *list, const char *path) {
  wr_status status = WR_OK;
  char line[LINE];
  long long number = 0;
  int64_t before = list->count;
  FILE *file = fopen(path, "r");
  if (file == NULL) TRY(wr_fail(WR_EINPUT, "%s: the list of matrices cannot be read: %s", path, strerror(errno)));
  while (fgets(line, sizeof line, file)) {
    number++;
    size_t length = strlen(line);
    int is_whole = length > 0 && (line[length - 1] == '\n' || feof(file));
    if (!is_whole && length + 1 < sizeof line)
      TRY(wr_fail(WR_EINPUT, "%s:%lld: a NUL byte: a list of matrices is a text", path, number));
    if (!is_whole) TRY(wr_fail(WR_EINPUT, "%s:%lld: no name is longer than %d bytes", path, number, LINE - 2));
    char *name = trim(line);
    if (*name == '@') TRY(wr_fail(WR_EINPUT, "%s:%lld: '%.200s': a list names no lists", path, number, name));
    if (*name) TRY(add_name(list, name));
  }
  if (ferror(file)) TRY(wr_fail(WR_EINPUT, "%s: the list of matrices cannot be read: %s", path, strerror(errno)));
  if (list->count == before) TRY(wr_fail(WR_EINPUT, "%s: the list names no matrix", path));
done:
  if (file) fclose(file);
  return status;
}

wr_status wr_matrix_list_add(wr_matrix_list *list, const char *operand) {
  return operand[0] == '@' ? add_file(list, operand + 1) : add_name(list, operand);
}

void wr_matrix_list_free(wr_matrix_list *list) {
  for (int64_t k = 0; k < list->count; k++) wr_free(list->name[k]);
  wr_free(list->name);
  *list = (wr_matrix_list){.count = 0};
}

void wr_matrix_tally_add(wr_matrix_tally *tally, const char *name, int code) {
  int worst = wr_worse_exit_code(tally->code, code);
  tally->begun++;
  tally->good += code == 0;
  if (worst != tally->code) tally->worst = name;
  tally->code = worst;
}

void wr_matrix_tally_print(FILE *out, const wr_matrix_list *list, const wr_matrix_tally *tally, const char *good) {
  char rest[64] = "";
  if (list->count < 2) return;
  if (tally->begun < list->count) snprintf(rest, sizeof rest, "; %" PRId64 " not begun", list->count - tally->begun);
  if (tally->code == 0)
    wr_text_message(out, "%" PRId64 " of %" PRId64 " %s%s", tally->good, list->count, good, rest);
  else
    wr_text_message(out, "%" PRId64 " of %" PRId64 " %s%s; worst exit code %d: %s", tally->good, list->count, good,
                    rest, tally->code, tally->worst);
}
