/* Which columns of an edge list are source, target and weight: by the user's choice, a heading, or their number. */
#include <stdio.h>
#include <string.h>

#include "io/edge.h"
#include "io/number.h"

typedef enum role { SOURCE, TARGET, WEIGHT, ROLES } role;

static const char *const role_names[ROLES] = {"source", "target", "weight"};

/* In lower case, without punctuation and without "id" or "node" at the end: FromNodeId and from_id are "from". */
static const struct known_name {
  const char *name;
  role role;
} known_names[] = {
    {"source", SOURCE}, {"src", SOURCE},    {"from", SOURCE}, {"start", SOURCE},       {"row", SOURCE},
    {"u", SOURCE},      {"i", SOURCE},      {"id1", SOURCE},  {"node1", SOURCE},       {"target", TARGET},
    {"dst", TARGET},    {"dest", TARGET},   {"to", TARGET},   {"destination", TARGET}, {"end", TARGET},
    {"col", TARGET},    {"column", TARGET}, {"v", TARGET},    {"j", TARGET},           {"id2", TARGET},
    {"node2", TARGET},  {"weight", WEIGHT}, {"w", WEIGHT},    {"value", WEIGHT},       {"val", WEIGHT}};

enum { NAME = 32 }; /* characters; known names are shorter */

static int is_letter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }

static int is_digit(char c) { return c >= '0' && c <= '9'; }

static int is_quote(char c) { return c == '"' || c == '\''; }

wr_status wr_edge_choice_parse(const char *text, const char *where, wr_edge_choice *choice) {
  int64_t column[ROLES] = {0, 0, 0};
  int count = 0, right = 1;
  for (const char *at = text, *end; right; at = end + 1) {
    end = at + strcspn(at, ",");
    right = count < ROLES && at < end && is_digit(*at) && wr_number_integer(at, end, &column[count]) == WR_NUMBER_OK &&
            column[count] >= 1 && column[count] <= WR_EDGE_COLUMNS_MAX;
    count++;
    if (*end == '\0') break;
  }
  right = right && count >= 2 && column[0] != column[1] && column[0] != column[2] && column[1] != column[2];
  if (!right)
    return wr_fail(WR_EUSAGE, "%s: '%s' is neither SOURCE,TARGET nor SOURCE,TARGET,WEIGHT: different columns, 1 to %d",
                   where, text, WR_EDGE_COLUMNS_MAX);
  choice->source = (int)column[SOURCE], choice->target = (int)column[TARGET], choice->weight = (int)column[WEIGHT];
  return WR_OK;
}

int wr_edge_is_heading(const wr_input_line *line) {
  wr_edge_cursor c = {.at = line->begin, .end = line->end};
  int words = 0;
  while (wr_edge_take(&c)) {
    const char *first = c.word;
    while (first < c.word_end && is_quote(*first)) first++;
    if (first == c.word_end) continue; /* the names of a table with row numbers begin with an empty one */
    if (!is_letter(*first) && *first != '_' && *first != ':') return 0;
    words++;
  }
  return words >= 2;
}

static size_t without_ending(const char *name, size_t length, const char *ending) {
  size_t n = strlen(ending);
  return length > n && memcmp(name + length - n, ending, n) == 0 ? length - n : length;
}

/* ROLES: the name is not known. */
static role role_of(const char *word, const char *end) {
  char name[NAME];
  size_t length = 0;
  for (; word < end; word++) {
    if (!is_letter(*word) && !is_digit(*word)) continue;
    if (length == NAME) return ROLES;
    name[length++] = *word >= 'A' && *word <= 'Z' ? (char)(*word - 'A' + 'a') : *word;
  }
  length = without_ending(name, length, "id");
  length = without_ending(name, length, "node");
  for (size_t k = 0; k < sizeof known_names / sizeof *known_names; k++)
    if (strlen(known_names[k].name) == length && memcmp(known_names[k].name, name, length) == 0)
      return known_names[k].role;
  return ROLES;
}

/* What a heading says. */
typedef struct heading {
  int columns;
  int column[ROLES]; /* from 1; 0: none has that name                        */
  int unknown;       /* the first column with a name that is not known, or 0 */
  int again;         /* the first column with a role that another has, or 0  */
  role again_role;
  char quote[WR_QUOTE]; /* the unknown name                                     */
} heading;

static void read_names(const wr_input_line *line, heading *h) {
  wr_edge_cursor c = {.at = line->begin, .end = line->end};
  *h = (heading){.columns = 0};
  while (wr_edge_take(&c)) {
    role r = role_of(c.word, c.word_end);
    h->columns++;
    if (r == ROLES && h->unknown == 0) {
      h->unknown = h->columns;
      wr_quote(c.word, c.word_end, h->quote);
    } else if (r != ROLES && h->column[r] == 0) {
      h->column[r] = h->columns;
    } else if (r != ROLES && h->again == 0) {
      h->again = h->columns, h->again_role = r;
    }
  }
}

/* "--columns 2,3" if the names say which columns are source and target, else an example. */
static const char *suggestion(const heading *h, char text[64]) {
  int told = h->column[SOURCE] > 0 && h->column[TARGET] > 0 && h->again == 0;
  int weight = told ? h->column[WEIGHT] : 0;
  int used = snprintf(text, 64, "--columns %d,%d", told ? h->column[SOURCE] : 1, told ? h->column[TARGET] : 2);
  if (weight > 0) snprintf(text + used, (size_t)(64 - used), ",%d", weight);
  return text;
}

static void use_columns(int source, int target, int weight, wr_edge_format *f) {
  f->source = source - 1, f->target = target - 1, f->weight = weight - 1;
}

wr_status wr_edge_use_heading(const wr_edge_choice *choice, const wr_input_line *line, const char *where,
                              wr_edge_format *f) {
  heading h;
  char text[64];
  if (choice->source > 0) return WR_OK;
  read_names(line, &h);
  suggestion(&h, text);
  if (h.unknown > 0)
    return wr_fail(
        WR_EINPUT,
        "%s: column %d is named '%s', which names neither a source, a target nor a weight; %s, for instance, "
        "says which columns are read (ids are integers)",
        where, h.unknown, h.quote, text);
  if (h.again > 0)
    return wr_fail(WR_EINPUT, "%s: columns %d and %d are both named as the %s; %s, for instance, says which are read",
                   where, h.column[h.again_role], h.again, role_names[h.again_role], text);
  for (role r = SOURCE; r <= TARGET; r++)
    if (h.column[r] == 0)
      return wr_fail(WR_EINPUT, "%s: no column is named as the %s; %s, for instance, says which columns are read",
                     where, role_names[r], text);
  f->columns = h.columns;
  use_columns(h.column[SOURCE], h.column[TARGET], h.column[WEIGHT], f);
  return WR_OK;
}

static int has(const wr_input_line *line, char c) {
  return memchr(line->begin, c, (size_t)(line->end - line->begin)) != NULL;
}

/* Without names and without a choice */
static wr_status use_count(const wr_edge_choice *choice, const wr_input_line *line, const char *where,
                           wr_edge_format *f) {
  static const char separators[] = ";|";
  for (const char *s = separators; *s != '\0'; s++)
    if (has(line, *s))
      return wr_fail(WR_EINPUT, "%s: columns are told apart by blanks, tabs or commas, not by '%c'", where, *s);
  if (f->columns > 3)
    return wr_fail(WR_EINPUT,
                   "%s: %d columns without names; --columns 1,2 takes the first two as source and target, --columns "
                   "1,2,3 the third as weight",
                   where, f->columns);
  if (f->columns == 3 && has(line, ',') && !choice->bare_values)
    return wr_fail(WR_EINPUT,
                   "%s: three columns between commas, without names: --columns 1,2,3 takes the third as a weight, "
                   "--columns 1,2 leaves it out, --columns 2,3 leaves out the first",
                   where);
  use_columns(1, 2, f->columns == 3 ? 3 : 0, f);
  if (f->columns < 2) f->columns = 2; /* the edge's parser says what is missing */
  return WR_OK;
}

wr_status wr_edge_use_first(const wr_edge_choice *choice, const wr_input_line *line, const char *where,
                            wr_edge_format *f) {
  if (f->columns > 0) return WR_OK;
  PASS(wr_edge_check(line, where));
  wr_edge_cursor c = {.at = line->begin, .end = line->end};
  while (wr_edge_take(&c)) continue;
  f->columns = c.taken;
  if (choice->source == 0) return use_count(choice, line, where, f);
  int most = choice->source > choice->target ? choice->source : choice->target;
  if (choice->weight > most) most = choice->weight;
  if (most > c.taken)
    return wr_fail(WR_EINPUT, "%s: column %d is asked for, and the line has %d", where, most, c.taken);
  use_columns(choice->source, choice->target, choice->weight, f);
  return WR_OK;
}
