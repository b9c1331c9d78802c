/* How an edge list is read: by the user's choice, a heading, or the columns of the first edge. */
#include <stdio.h>
#include <string.h>

#include "io/edge.h"
#include "io/edge_record.h"
#include "io/number.h"
#include "io/record.h"

static const char *const role_names[WR_EDGE_ROLES] = {"source", "target", "weight"};

/* In lower case, without punctuation and without "id", "url" or "node" at the end: FromNodeId and from_url are "from". */
static const struct known_name {
  const char *name;
  wr_edge_role role;
} known_names[] = {
    {"source", WR_EDGE_SOURCE}, {"src", WR_EDGE_SOURCE},         {"from", WR_EDGE_SOURCE}, {"start", WR_EDGE_SOURCE},
    {"row", WR_EDGE_SOURCE},    {"u", WR_EDGE_SOURCE},           {"i", WR_EDGE_SOURCE},    {"id1", WR_EDGE_SOURCE},
    {"node1", WR_EDGE_SOURCE},  {"target", WR_EDGE_TARGET},      {"dst", WR_EDGE_TARGET},  {"dest", WR_EDGE_TARGET},
    {"to", WR_EDGE_TARGET},     {"destination", WR_EDGE_TARGET}, {"end", WR_EDGE_TARGET},  {"col", WR_EDGE_TARGET},
    {"column", WR_EDGE_TARGET}, {"v", WR_EDGE_TARGET},           {"j", WR_EDGE_TARGET},    {"id2", WR_EDGE_TARGET},
    {"node2", WR_EDGE_TARGET},  {"weight", WR_EDGE_WEIGHT},      {"w", WR_EDGE_WEIGHT},    {"value", WR_EDGE_WEIGHT},
    {"val", WR_EDGE_WEIGHT}};

enum { NAME = 32 }; /* characters; known names are shorter */

static int is_letter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }

static int is_digit(char c) { return c >= '0' && c <= '9'; }

static int is_quote(char c) { return c == '"' || c == '\''; }

/* ---- the choice ---- */

/* A number, or else a name. */
static int parse_column(const char *at, const char *end, wr_edge_column *column) {
  int digits = at < end;
  int64_t number;
  for (const char *c = at; c < end; c++) digits = digits && is_digit(*c);
  if (!digits) *column = (wr_edge_column){.name = at, .length = (int)(end - at)};
  if (!digits) return at < end && memchr(" +-;", *at, 4) == NULL && memchr(at, ';', (size_t)(end - at)) == NULL;
  if (wr_number_integer(at, end, &number) != WR_NUMBER_OK || number < 1 || number > WR_EDGE_COLUMNS_MAX) return 0;
  *column = (wr_edge_column){.number = (int)number};
  return 1;
}

static int is_same_column(const wr_edge_column *a, const wr_edge_column *b) {
  if (a->name == NULL || b->name == NULL) return a->number > 0 && a->number == b->number;
  return a->length == b->length && memcmp(a->name, b->name, (size_t)a->length) == 0;
}

wr_status wr_edge_choice_parse(const char *text, const char *where, wr_edge_choice *choice) {
  wr_edge_column *column = choice->column;
  int count = 0, right = 1;
  for (int k = 0; k < WR_EDGE_ROLES; k++) column[k] = (wr_edge_column){.number = 0};
  for (const char *at = text, *end; right; at = end + 1) {
    end = at + strcspn(at, ",");
    right = count < WR_EDGE_ROLES && parse_column(at, end, &column[count]);
    count++;
    if (*end == '\0') break;
  }
  right = right && count >= 2 && !is_same_column(&column[0], &column[1]) && !is_same_column(&column[0], &column[2]) &&
          !is_same_column(&column[1], &column[2]);
  if (!right)
    return wr_fail(WR_EUSAGE,
                   "%s: '%s' is neither SOURCE,TARGET nor SOURCE,TARGET,WEIGHT: different columns, by name or 1 to %d",
                   where, text, WR_EDGE_COLUMNS_MAX);
  return WR_OK;
}

/* ---- the fields of a record, or of a line whose columns stand between blanks, tabs and commas ---- */

typedef struct fields {
  int count;    /* of all; the first WR_EDGE_COLUMNS_MAX are kept   */
  wr_field got; /* WR_FIELD_NONE, or what is wrong with the next one */
  wr_record stop;
  const char *next;
  struct {
    const char *begin, *end;
    int quoted;
  } field[WR_EDGE_COLUMNS_MAX];
} fields;

static void keep_field(const char *begin, const char *end, int quoted, fields *f) {
  if (f->count < WR_EDGE_COLUMNS_MAX) {
    f->field[f->count].begin = begin, f->field[f->count].end = end, f->field[f->count].quoted = quoted;
  }
  f->count++;
}

/* separator 0: blanks, tabs and commas. */
static void take_fields(const char *at, const char *end, char separator, fields *f) {
  f->count = 0, f->got = WR_FIELD_NONE;
  if (separator == 0) {
    wr_input_line line = wr_line_at(at, end);
    wr_edge_cursor c = {.at = line.begin, .end = line.end};
    while (wr_edge_take(&c)) keep_field(c.word, c.word_end, 0, f);
    f->next = line.next;
    return;
  }
  wr_record *r = &f->stop;
  *r = wr_record_at(at, end, separator);
  while ((f->got = wr_record_take(r)) == WR_FIELD_TAKEN) keep_field(r->word, r->word_end, r->quoted, f);
  f->next = r->next;
}

static int is_number(const fields *f, int k) {
  double value;
  return k < f->count && k < WR_EDGE_COLUMNS_MAX && !f->field[k].quoted &&
         wr_number_real(f->field[k].begin, f->field[k].end, &value) != WR_NUMBER_BAD;
}

static int looks_like_heading(const fields *f) {
  int words = 0;
  for (int k = 0; k < f->count && k < WR_EDGE_COLUMNS_MAX; k++) {
    const char *first = f->field[k].begin, *end = f->field[k].end;
    while (first < end && is_quote(*first)) first++;
    if (first == end) continue; /* the names of a table with row numbers begin with an empty one */
    if (!is_letter(*first) && *first != '_' && *first != ':') return 0;
    words++;
  }
  return words >= 2;
}

int wr_edge_is_heading(const wr_input_line *line) {
  fields f;
  take_fields(line->begin, line->end, 0, &f);
  return looks_like_heading(&f);
}

/* 1: words of letters, digits, blanks, _ and -, which columns may be called, and nodes too. */
static int may_be_names(const fields *f) {
  for (int k = 0; k < f->count && k < WR_EDGE_COLUMNS_MAX; k++)
    for (const char *c = f->field[k].begin; c < f->field[k].end; c++)
      if (!is_letter(*c) && !is_digit(*c) && *c != '_' && *c != '-' && *c != ' ') return 0;
  return 1;
}

/* ---- headings ---- */

static size_t without_ending(const char *name, size_t length, const char *ending) {
  size_t n = strlen(ending);
  return length > n && memcmp(name + length - n, ending, n) == 0 ? length - n : length;
}

/* WR_EDGE_ROLES: the name is not known. */
static wr_edge_role role_of(const char *word, const char *end) {
  char name[NAME];
  size_t length = 0;
  for (; word < end; word++) {
    if (!is_letter(*word) && !is_digit(*word)) continue;
    if (length == NAME) return WR_EDGE_ROLES;
    name[length++] = *word >= 'A' && *word <= 'Z' ? (char)(*word - 'A' + 'a') : *word;
  }
  length = without_ending(name, length, "id");
  length = without_ending(name, length, "url");
  length = without_ending(name, length, "node");
  for (size_t k = 0; k < sizeof known_names / sizeof *known_names; k++)
    if (strlen(known_names[k].name) == length && memcmp(known_names[k].name, name, length) == 0)
      return known_names[k].role;
  return WR_EDGE_ROLES;
}

/* What a heading says. */
typedef struct heading {
  int column[WR_EDGE_ROLES]; /* from 1; 0: none has that name                       */
  int again;                 /* the first column with a role that another has, or 0 */
  wr_edge_role again_role;
} heading;

static void read_names(const fields *f, heading *h) {
  *h = (heading){.again = 0};
  for (int k = 0; k < f->count && k < WR_EDGE_COLUMNS_MAX; k++) {
    wr_edge_role r = role_of(f->field[k].begin, f->field[k].end);
    if (r == WR_EDGE_ROLES) continue;
    if (h->column[r] == 0)
      h->column[r] = k + 1;
    else if (h->again == 0)
      h->again = k + 1, h->again_role = r;
  }
}

static int names_columns(const fields *f) {
  heading h;
  read_names(f, &h);
  return h.column[WR_EDGE_SOURCE] > 0 && h.column[WR_EDGE_TARGET] > 0;
}

/* An example of --columns with the first two columns' names, or numbers where names would need explaining. */
static const char *suggestion(const fields *f, char text[2 * WR_QUOTE + 32]) {
  char a[WR_QUOTE], b[WR_QUOTE];
  int plain = f->count >= 2 && may_be_names(f);
  for (int k = 0; plain && k < 2; k++)
    plain = f->field[k].end > f->field[k].begin && f->field[k].end - f->field[k].begin < 24 &&
            memchr(f->field[k].begin, ' ', (size_t)(f->field[k].end - f->field[k].begin)) == NULL;
  if (plain)
    snprintf(text, 2 * WR_QUOTE + 32, "--columns %s,%s", wr_quote(f->field[0].begin, f->field[0].end, a),
             wr_quote(f->field[1].begin, f->field[1].end, b));
  return plain ? text : "--columns 1,2";
}

static void use_columns(int source, int target, int weight, wr_edge_format *f) {
  f->source = source - 1, f->target = target - 1, f->weight = weight - 1;
}

static wr_status use_known_names(const fields *f, const char *where, wr_edge_format *format) {
  heading h;
  char text[2 * WR_QUOTE + 32];
  read_names(f, &h);
  if (h.again > 0)
    return wr_fail(WR_EINPUT,
                   "%s: columns %d and %d are both named as the %s; --columns 1,2, for instance, says which "
                   "are read",
                   where, h.column[h.again_role], h.again, role_names[h.again_role]);
  for (int r = WR_EDGE_SOURCE; r <= WR_EDGE_TARGET; r++)
    if (h.column[r] == 0)
      return wr_fail(WR_EINPUT, "%s: no column is named as the %s; %s, for instance, says which columns are read",
                     where, role_names[r], suggestion(f, text));
  use_columns(h.column[WR_EDGE_SOURCE], h.column[WR_EDGE_TARGET], h.column[WR_EDGE_WEIGHT], format);
  return WR_OK;
}

/* The column with a name, in the same letter case or else in any; 0: none. */
static int find_column(const fields *f, const wr_edge_column *column) {
  char name[256];
  for (int k = 0; k < f->count && k < WR_EDGE_COLUMNS_MAX; k++)
    if (f->field[k].end - f->field[k].begin == column->length &&
        memcmp(f->field[k].begin, column->name, (size_t)column->length) == 0)
      return k + 1;
  snprintf(name, sizeof name, "%.*s", column->length, column->name);
  for (int k = 0; k < f->count && k < WR_EDGE_COLUMNS_MAX; k++)
    if (wr_word_is(f->field[k].begin, f->field[k].end, name)) return k + 1;
  return 0;
}

/* names NULL: there is no heading. */
static wr_status use_choice(const wr_edge_choice *choice, const fields *names, const char *where,
                            wr_edge_format *format) {
  int column[WR_EDGE_ROLES], used = 0;
  char text[256];
  for (int r = 0; r < WR_EDGE_ROLES; r++) {
    const wr_edge_column *c = &choice->column[r];
    column[r] = c->name == NULL ? c->number : names != NULL ? find_column(names, c) : 0;
    if (c->name == NULL || column[r] > 0) continue;
    if (names == NULL)
      return wr_fail(WR_EINPUT, "%s: columns cannot be chosen by name ('%.*s') with --header no", where, c->length,
                     c->name);
    for (int k = 0; k < names->count && k < 8 && used < 160; k++) {
      char quote[WR_QUOTE];
      wr_quote(names->field[k].begin, names->field[k].end, quote);
      used += snprintf(text + used, sizeof text - (size_t)used, "%s%s", k > 0 ? ", " : "", quote);
    }
    return wr_fail(WR_EINPUT, "%s: no column is named '%.*s'; the first line has %s%s", where, c->length, c->name, text,
                   names->count > 8 ? ", ..." : "");
  }
  if (column[0] == column[1] || (column[2] > 0 && (column[2] == column[0] || column[2] == column[1])))
    return wr_fail(WR_EINPUT, "%s: --columns chooses one column twice", where);
  use_columns(column[WR_EDGE_SOURCE], column[WR_EDGE_TARGET], column[WR_EDGE_WEIGHT], format);
  return WR_OK;
}

/* ---- the first edge ---- */

static int has(const fields *f, const char *begin, char c) {
  return f->next > begin && memchr(begin, c, (size_t)(f->next - begin)) != NULL;
}

/* Without names and without a choice. */
static wr_status use_count(const wr_edge_choice *choice, const fields *f, const char *begin, const char *where,
                           wr_edge_format *format) {
  if (f->count < 2 && has(f, begin, '|'))
    return wr_fail(WR_EINPUT, "%s: columns are told apart by tabs, commas, semicolons or blanks, not by '|'", where);
  if (f->count > 3)
    return wr_fail(WR_EINPUT,
                   "%s: %d columns without names; --columns 1,2 takes the first two as source and target, --columns "
                   "1,2,3 the third as weight",
                   where, f->count);
  if (f->count == 3 && has(f, begin, ',') && !choice->bare_values && is_number(f, 0))
    return wr_fail(WR_EINPUT,
                   "%s: three columns between commas, without names: --columns 1,2,3 takes the third as a weight, "
                   "--columns 1,2 leaves it out, --columns 2,3 leaves out the first",
                   where);
  if (f->count == 3 && !is_number(f, 2) && !is_number(f, 0))
    return wr_fail(WR_EINPUT,
                   "%s: three columns without names, of which the third is no weight: --columns 1,2, 2,3 or 1,3 says "
                   "which are source and target",
                   where);
  use_columns(1, 2, f->count == 3 ? 3 : 0, format);
  return WR_OK;
}

static wr_status use_first(const wr_edge_choice *choice, const fields *f, const char *begin, const char *where,
                           int headed, wr_edge_format *format) {
  int chosen = wr_edge_is_chosen(choice);
  if (!headed && !chosen) PASS(use_count(choice, f, begin, where, format));
  if (!headed && chosen) PASS(use_choice(choice, NULL, where, format));
  int most = format->source > format->target ? format->source : format->target;
  if (format->weight > most) most = format->weight;
  if (chosen && most >= f->count)
    return wr_fail(WR_EINPUT, "%s: column %d is asked for, and the line has %d", where, most + 1, f->count);
  if (format->columns == 0) format->columns = f->count < 2 ? 2 : f->count; /* the edge's parser says what is missing */
  return WR_OK;
}

/* Where a first edge has its ids, as far as that is known before it is understood. */
static void find_ids(const wr_edge_choice *choice, int headed, wr_edge_format *format) {
  const wr_edge_column *c = choice->column;
  if (headed) return;
  format->source = c[0].number > 0 ? c[0].number - 1 : 0;
  format->target = c[1].number > 0 ? c[1].number - 1 : 1;
  format->weight = c[2].number - 1;
}

static int has_other_columns(const fields *f, const wr_edge_format *format, int headed, int chosen) {
  return f->count > (headed || chosen ? 2 + (format->weight >= 0) : 3);
}

/* ---- all of it ---- */

static char chosen_separator(const wr_edge_choice *choice) {
  static const char separators[] = {[WR_SEPARATOR_AUTO] = 0,
                                    [WR_SEPARATOR_TAB] = '\t',
                                    [WR_SEPARATOR_COMMA] = ',',
                                    [WR_SEPARATOR_SEMICOLON] = ';',
                                    [WR_SEPARATOR_BLANK] = ' '};
  return separators[choice->separator];
}

/* Moves to the next line that is neither blank nor a comment. */
static void skip_none(const char **at, const char *end, int64_t *line) {
  while (*at < end) {
    wr_input_line l = wr_line_at(*at, end);
    if (!wr_edge_is_none(&l)) return;
    *at = l.next, ++*line;
  }
}

static int64_t lines_between(const char *at, const char *end) {
  int64_t count = 0;
  for (; at < end && (at = memchr(at, '\n', (size_t)(end - at))) != NULL; at++) count++;
  return count;
}

static wr_status check_quotes(const wr_edge_head *head, const fields *f, const char *at, int64_t line) {
  return f->got == WR_FIELD_NONE ? WR_OK : wr_edge_fail_quote(f->got, &f->stop, at, head->name, line);
}

/* The first two records, by the separator of the first one. */
typedef struct opening {
  const char *first, *second; /* second NULL: there is none */
  int64_t first_line, second_line;
  char separator; /* 0: blanks, tabs and commas */
  int headed;
  fields names, edge;
} opening;

/* A line of words is a heading if it names a source and a target, or if the ids of the next line are numbers. Words that nodes
 * may have, too, above words are an edge between blanks, where lists have no headings as a rule; else the user must say it. */
static wr_status find_heading(const wr_edge_head *head, const wr_edge_choice *choice, opening *o, const char *where) {
  const wr_edge_column *c = choice->column;
  wr_edge_format ids = {.columns = 0};
  char quote[WR_QUOTE];
  o->headed = choice->header == WR_HEADER_YES || c[0].name != NULL || c[1].name != NULL || c[2].name != NULL;
  if (choice->header == WR_HEADER_NO) o->headed = 0;
  if (choice->header != WR_HEADER_AUTO || o->headed || !looks_like_heading(&o->names)) return WR_OK;
  o->headed = names_columns(&o->names);
  if (o->headed) return WR_OK;
  if (o->second != NULL) take_fields(o->second, head->end, o->separator, &o->edge);
  find_ids(choice, 0, &ids);
  o->headed = o->second != NULL && choice->ids != WR_IDS_NAMES && is_number(&o->edge, ids.source) &&
              is_number(&o->edge, ids.target);
  if (o->headed || o->separator == 0 || o->separator == ' ' || !may_be_names(&o->names)) return WR_OK;
  if (choice->ids == WR_IDS_NUMBERS) return WR_OK;
  const wr_input_line line = wr_line_at(o->first, head->end);
  return wr_fail(WR_EINPUT, "%s: may name the columns or be an edge ('%s'); --header yes or --header no says which",
                 where, wr_quote(line.begin, line.end, quote));
}

static int is_page(const wr_input_line *line) {
  return wr_word_is(line->begin, line->begin + (line->end - line->begin < 9 ? line->end - line->begin : 9),
                    "<!DOCTYPE") ||
         wr_word_is(line->begin, line->begin + (line->end - line->begin < 5 ? line->end - line->begin : 5), "<html");
}

/* 1: lines of numbers without quotes, of which all columns are read or which have no separator of their own. */
static int are_lines(const wr_edge_head *head, const wr_edge_choice *choice, const opening *o, const char *at,
                     char told, fields *f, const wr_edge_format *format) {
  if (choice->separator != WR_SEPARATOR_AUTO || choice->ids == WR_IDS_NAMES) return 0;
  take_fields(at, head->end, 0, f);
  if (told != 0 && told != ' ' && has_other_columns(f, format, o->headed, wr_edge_is_chosen(choice))) return 0;
  if (has(f, at, '"') || has(f, at, ';')) return 0;
  return (is_number(f, format->source) && is_number(f, format->target)) || (told == 0 && choice->ids == WR_IDS_NUMBERS);
}

/* The first edge is at `at`. */
static wr_status decide_records(const wr_edge_head *head, const wr_edge_choice *choice, opening *o, const char *at,
                                const char *where, wr_edge_format *format, int *more) {
  fields *f = &o->edge;
  int below_names = o->headed && o->separator != 0 && o->separator != ' ';
  char told = chosen_separator(choice);
  find_ids(choice, o->headed, format);
  if (told == 0) told = below_names ? o->separator : wr_record_separator(at, head->end, head->is_csv);
  if (are_lines(head, choice, o, at, told, f, format)) return use_first(choice, f, at, where, o->headed, format);
  if (told == 0)
    return wr_fail(WR_EINPUT, "%s: columns may stand between commas, semicolons or blanks here: --separator says which",
                   where);
  take_fields(at, head->end, told, f);
  *more = f->got == WR_FIELD_OPEN && !head->whole;
  if (*more) return WR_OK;
  PASS(check_quotes(head, f, at, o->headed ? o->second_line : o->first_line));
  format->separator = told;
  format->names = choice->ids == WR_IDS_NAMES ||
                  (choice->ids == WR_IDS_AUTO && !(is_number(f, format->source) && is_number(f, format->target)));
  return use_first(choice, f, at, where, o->headed, format);
}

wr_status wr_edge_decide(const wr_edge_head *head, const wr_edge_choice *choice, wr_edge_format *format,
                         const char **body, int *more) {
  opening o = {.first = head->at, .first_line = head->line, .separator = chosen_separator(choice)};
  char where[WR_WHERE];
  *body = NULL, *more = !head->whole;
  *format = (wr_edge_format){.weight = -1, .nonnegative = format->nonnegative};
  skip_none(&o.first, head->end, &o.first_line);
  if (o.first == head->end) return WR_OK;
  if (o.separator == 0) o.separator = wr_record_separator(o.first, head->end, head->is_csv);
  take_fields(o.first, head->end, o.separator, &o.names);
  if (o.names.got == WR_FIELD_OPEN && !head->whole) return WR_OK;
  PASS(check_quotes(head, &o.names, o.first, o.first_line));
  o.second = o.names.next, o.second_line = o.first_line + lines_between(o.first, o.second);
  skip_none(&o.second, head->end, &o.second_line);
  if (o.second == head->end && !head->whole) return WR_OK;
  if (o.second == head->end) o.second = NULL;
  wr_where(head->name, o.first_line, where);
  wr_input_line line = wr_line_at(o.first, head->end);
  if (is_page(&line)) return wr_fail(WR_EINPUT, "%s: an HTML page, not a list; fetch the file that it links to", where);
  PASS(find_heading(head, choice, &o, where));
  if (o.headed && wr_edge_is_chosen(choice)) PASS(use_choice(choice, &o.names, where, format));
  if (o.headed && !wr_edge_is_chosen(choice)) PASS(use_known_names(&o.names, where, format));
  if (o.headed && !wr_edge_is_chosen(choice)) format->columns = o.names.count;
  *more = 0;
  const char *at = o.headed ? o.second : o.first;
  if (at == NULL) return WR_OK;
  if (o.headed) wr_where(head->name, o.second_line, where);
  PASS(decide_records(head, choice, &o, at, where, format, more));
  if (!*more) *body = at;
  return WR_OK;
}
