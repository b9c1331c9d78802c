#include "solvers/report/report_text.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "config/memory.h"
#include "config/text.h"

typedef struct unit {
  double size;
  const char *name;
} unit;

enum { TEXT_ROOM = 16 };

/* "1.2e-09" -> "1.2e-9", "1e+10" -> "1e10". */
static char *shorten_exponent(char *text) {
  char *e = strchr(text, 'e');
  if (!e) return text;
  char *digits = e + 1 + (e[1] == '+' || e[1] == '-');
  char *out = e + 1 + (e[1] == '-');
  while (*digits == '0') digits++;
  memmove(out, digits, strlen(digits) + 1);
  return text;
}

char *wr_text_real(double value, char *text) {
  snprintf(text, TEXT_ROOM, "%.3g", value);
  return isfinite(value) ? shorten_exponent(text) : text;
}

char *wr_text_bound(double value, char *text) {
  double size = fabs(value);
  if (size < 1e-290 || size > 1e290 || isnan(value)) return wr_text_real(value, text);
  double step = pow(10, floor(log10(size)) - 2);
  return wr_text_real(step * ceil(value / step * (1 - 1e-12)), text); /* 1e-9 / 1e-11 is a little above 100 */
}

static char *word(const char *value, char *text) {
  snprintf(text, TEXT_ROOM, "%s", value);
  return text;
}

/* value in the unit that leaves one to three digits before the point; beyond the last unit an exponent. */
static char *with_unit(double value, const unit *units, int count, char *text) {
  if (!isfinite(value)) return wr_text_real(value, text);
  int at = 0;
  while (at + 1 < count && fabs(value) / units[at].size >= 999.5) at++;
  double scaled = value / units[at].size, size = fabs(scaled);
  int decimals = size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
  if (size < 99999.5)
    snprintf(text, TEXT_ROOM, "%.*f %s", decimals, scaled, units[at].name);
  else
    snprintf(text, TEXT_ROOM, "%s %s", wr_text_real(scaled, (char[TEXT_ROOM]){0}), units[at].name);
  return text;
}

char *wr_text_count(int64_t value, char *text) {
  static const unit units[] = {{1e6, "M"}, {1e9, "G"}, {1e12, "T"}, {1e15, "P"}, {1e18, "E"}};
  if (value > -1000000 && value < 1000000)
    snprintf(text, TEXT_ROOM, "%" PRId64, value);
  else
    with_unit((double)value, units, 5, text);
  return text;
}

char *wr_text_seconds(double value, char *text) {
  static const unit units[] = {{1e-9, "ns"}, {1e-6, "us"}, {1e-3, "ms"}, {1, "s"}};
  if (fabs(value) < 1e-11) return word("0 s", text);
  return with_unit(value, units, 4, text);
}

char *wr_text_bytes(double value, char *text) {
  static const unit units[] = {{1, "B"},     {1e3, "kB"},  {1e6, "MB"}, {1e9, "GB"},
                               {1e12, "TB"}, {1e15, "PB"}, {1e18, "EB"}};
  if (fabs(value) < 999.5) {
    snprintf(text, TEXT_ROOM, "%.0f B", value);
    return text;
  }
  return with_unit(value, units, 7, text);
}

void wr_line_add(wr_line *line, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(line->text + line->length, sizeof line->text - line->length, format, arguments);
  va_end(arguments);
  if (length > 0) line->length += (size_t)length;
  if (line->length >= sizeof line->text) line->length = sizeof line->text - 1;
}

void wr_line_print(FILE *out, const wr_line *line, int at, int indent) { wr_text_wrap(out, line->text, at, indent); }

static int continues_character(char byte) { return ((unsigned char)byte & 0xC0) == 0x80; }

char *wr_text_fit(const char *name, int width, int keep_end, char *text) {
  size_t length = strlen(name), room = (size_t)width;
  int cut = length > room;
  size_t kept = cut ? room - 2 : length;
  const char *from = cut && keep_end ? name + length - kept : name;
  for (int skipped = 0; cut && keep_end && skipped < 3 && continues_character(*from); skipped++) from++, kept--;
  if (cut && !keep_end) kept = wr_text_cut(name, kept);
  snprintf(text, room + 1, "%s%.*s%s", cut && keep_end ? ".." : "", (int)kept, from, cut && !keep_end ? ".." : "");
  for (char *byte = text; *byte; byte++)
    if ((unsigned char)*byte < ' ' || *byte == 127) *byte = '?';
  return text;
}

/* 1 if the list "a=1:b=2" has exactly this item of so many bytes. */
static int list_has(const char *list, const char *item, size_t bytes) {
  for (const char *at = list; *at;) {
    size_t length = strcspn(at, ":");
    if (length == bytes && memcmp(at, item, bytes) == 0) return 1;
    at += length + (at[length] == ':');
  }
  return 0;
}

/* The backend's knobs at their defaults, as text; "" without memory for them, so that every knob is shown. */
static void default_knobs(const wr_backend *backend, char *text, size_t size) {
  void *knobs = NULL;
  text[0] = '\0';
  if (!backend->knobs || wr_alloc_zeroed(&knobs, 1, backend->knobs_size, "the knobs' defaults") != WR_OK) return;
  if (wr_options_default(backend->knobs, knobs) == WR_OK) wr_knobs_text(backend->knobs, knobs, text, size);
  wr_options_release(backend->knobs, knobs);
  wr_free(knobs);
}

char *wr_run_label(const wr_run *run, char *text, size_t size) {
  char defaults[512];
  wr_line line = {0};
  default_knobs(run->backend, defaults, sizeof defaults);
  wr_line_add(&line, "%s", run->backend->name);
  for (const char *at = run->knobs; *at;) {
    size_t length = strcspn(at, ":");
    if (!list_has(defaults, at, length)) wr_line_add(&line, ":%.*s", (int)length, at);
    at += length + (at[length] == ':');
  }
  snprintf(text, size, "%s", line.text);
  return text;
}

char *wr_run_share(const wr_run *run, char *text) {
  double share = 100 * run->info.apply_bytes / run->apply_median / run->read_bandwidth;
  if (!(run->apply_median > 0) || !(run->read_bandwidth > 0) || !(share >= 0)) return word("-", text);
  if (share >= 100.5) return word("from cache", text);
  if (share > 0 && share < 0.5) return word("<1%", text);
  snprintf(text, TEXT_ROOM, "%.0f%%", share);
  return text;
}

/* Of a solve that was to end when the order of the first nodes is proven. */
static void add_order(wr_line *line, const wr_result *result, const char *bound, const char *asked) {
  const wr_order_facts *order = &result->order;
  char text[TEXT_ROOM];
  if (order->proven == order->asked)
    wr_line_add(line, "the order of the first %" PRId64 " is proven, ", order->asked);
  else
    wr_line_add(line, "the order of the first %" PRId64 " is not proven (of %" PRId64 " it is), ", order->asked,
                order->proven);
  if (order->crowded > 0 && order->proven < order->asked)
    wr_line_add(line, "in %" PRId64 " of %" PRId64 " tests too many nodes had about the same score, ", order->crowded,
                order->reviews);
  wr_line_add(line, "L1 error <= %s", bound);
  if (order->spared > 0)
    wr_line_add(line, "; for %s it would take about %s more", asked, wr_text_count(order->spared, text));
  else
    wr_line_add(line, " (asked for %s)", asked);
  wr_line_add(line, ", last change %s", wr_text_real(result->change, text));
}

void wr_line_add_measure(wr_line *line, const wr_problem_facts *problem, const wr_run *run) {
  const wr_result *result = &run->result;
  char measure[TEXT_ROOM], change[TEXT_ROOM], bound[TEXT_ROOM], asked[TEXT_ROOM];
  wr_text_real(run->verdict.on_host ? run->verdict.measure : result->measure, measure);
  wr_text_bound(result->bound, bound);
  wr_text_real(problem->tolerance, asked);
  int stopped_by_change = result->by_change;
  if (result->by_backward)
    wr_line_add(line, "backward error %s (asked for %s), ||b - A x|| = %s ||b||",
                wr_text_real(result->backward, change), asked, measure);
  else if (problem->measure == WR_MEASURE_RESIDUAL)
    wr_line_add(line, "||b - A x|| = %s ||b|| (asked for %s)", measure, asked);
  else if (stopped_by_change)
    wr_line_add(line, "last change %s (asked for %s), L1 error <= %s", measure, asked, bound);
  else if (result->order.asked > 0)
    add_order(line, result, bound, asked);
  else
    wr_line_add(line, "L1 error <= %s (asked for %s), last change %s", bound, asked,
                wr_text_real(result->change, change));
}

void wr_line_add_direct(wr_line *line, const wr_problem_facts *problem, const wr_direct_facts *facts) {
  char entries[TEXT_ROOM], bytes[TEXT_ROOM], seconds[TEXT_ROOM];
  if (facts->outcome == WR_CONVERGED)
    wr_line_add(line, "LU factors by KLU");
  else
    wr_line_add(line, "LU factors by KLU did not %s: %s", facts->used ? "suffice" : "help", facts->why);
  if (facts->entries > 0)
    wr_line_add(line, "%s %s %s, %.1f times those of the matrix", facts->why[0] ? ";" : ":",
                wr_text_count(facts->entries, entries), wr_plural(facts->entries, "entry", "entries"),
                (double)facts->entries / (double)(problem->nnz > 0 ? problem->nnz : 1));
  if (facts->entries > 0 && facts->blocks > 1)
    wr_line_add(line, ", %" PRId64 " blocks, the largest of %" PRId64 " %s", facts->blocks, facts->largest_block,
                wr_plural(facts->largest_block, "row", "rows"));
  if (facts->entries > 0)
    wr_line_add(line, ", %s, %s", wr_text_bytes((double)facts->bytes, bytes), wr_text_seconds(facts->seconds, seconds));
  if (facts->used && facts->refinements > 0)
    wr_line_add(line, "; %d %s", facts->refinements,
                wr_plural(facts->refinements, "step of refinement", "steps of refinement"));
  wr_line_add(line, "; the iterations had ended with %s", wr_outcome_title(facts->after));
}

void wr_line_add_doubt(wr_line *line, double backward_error, double tolerance) {
  char error[TEXT_ROOM];
  if (wr_backward_is_large(backward_error, tolerance))
    wr_line_add(line, "the backward error is %s: x may be useless", wr_text_real(backward_error, error));
  else
    wr_line_add(line, "x = 0 has a smaller residual: x may be useless");
}

int wr_line_add_tuning(wr_line *line, const wr_tuning *tuning) {
  char file[61], seconds[TEXT_ROOM], multiplies[TEXT_ROOM], each[TEXT_ROOM];
  if (tuning->knobs[0] == '\0') return 0;
  wr_line_add(line, "%s; ", tuning->knobs);
  if (tuning->from)
    wr_line_add(line, "from %s", wr_text_fit(tuning->from, 60, 1, file));
  else
    wr_line_add(line, "%d %s timed in %s", tuning->tried, wr_plural(tuning->tried, "configuration", "configurations"),
                wr_text_seconds(tuning->seconds, seconds));
  if (tuning->multiply_seconds > 0)
    wr_line_add(line, ", as long as %s multiplies of %s",
                wr_text_count((int64_t)(tuning->seconds / tuning->multiply_seconds + 0.5), multiplies),
                wr_text_seconds(tuning->multiply_seconds, each));
  return 1;
}

/* The length of a word: up to a blank that is not within single quotes. A backslash outside of them quotes what follows it. */
static int word_length(const char *word) {
  int length = 0;
  for (int quoted = 0; word[length] != '\0' && (quoted || word[length] != ' '); length++)
    if (word[length] == '\'')
      quoted = !quoted;
    else if (!quoted && word[length] == '\\' && word[length + 1] != '\0')
      length++;
  return length;
}

/* The length of a word, or of an option and the word behind it where both fit into so many columns. */
static int piece_length(const char *piece, int room) {
  int length = word_length(piece), next = piece[length] == ' ' ? word_length(piece + length + 1) : 0;
  int is_pair = strncmp(piece, "--", 2) == 0 && next > 0 && piece[length + 1] != '-';
  return is_pair && length + 1 + next <= room ? length + 1 + next : length;
}

/* Prints a word of so many bytes from column `at` on; one that is wider than the stream and has no quotes goes on in the first
 * column of the next line, where a shell joins the parts. Returns the column behind it. */
static int print_word(FILE *out, const char *word, int length, int at, int width) {
  int left = length, can_break = memchr(word, '\'', (size_t)length) == NULL && width > 2;
  for (; can_break && at + left > width - 2; at = 0) { /* space for a blank and a backslash */
    int part = width - 1 - at;
    fprintf(out, "%.*s\\\n", part, word);
    word += part, left -= part;
  }
  return at + fprintf(out, "%.*s", left, word);
}

void wr_command_print(FILE *out, const char *command, int indent) {
  int width = wr_text_width(out), at = indent;
  fprintf(out, "%*s", indent, "");
  for (const char *word = command; *word != '\0';) {
    int length = piece_length(word, width - indent - 4), is_last = word[length] == '\0';
    if (word != command && at + 1 + length + (is_last ? 0 : 2) > width)
      at = fprintf(out, " \\\n%*s", indent + 2, "") - 3;
    else if (word != command)
      at += fprintf(out, " ");
    at = print_word(out, word, length, at, width);
    word += length + !is_last;
  }
  fputc('\n', out);
}

void wr_line_add_problem(wr_line *line, const wr_problem_facts *problem) {
  char source[61], count[TEXT_ROOM];
  wr_line_add(line, "%s in %s: ", wr_text_fit(problem->source, 60, 1, source), problem->precision);
  if (problem->kind[0]) wr_line_add(line, "%s, ", problem->kind);
  wr_line_add(line, "%" PRId64 " x %" PRId64 ", %s %s", problem->nrows, problem->ncols,
              wr_text_count(problem->nnz, count), wr_plural(problem->nnz, "nonzero", "nonzeros"));
  if (!problem->has_values && !problem->kind[0]) wr_line_add(line, " without values");
  if (problem->remark[0]) wr_line_add(line, "; %s", problem->remark);
}
