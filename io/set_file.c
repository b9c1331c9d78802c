#include "io/set_file.h"

#include <math.h>
#include <string.h>

#include "config/memory.h"
#include "io/edge.h"
#include "io/input_text.h"
#include "io/number.h"

typedef struct set_reader {
  const wr_text *text;
  const wr_vector_need *need;
  wr_set_list *sets;
  int64_t set_room, node_room; /* of the list's arrays                                */
  int64_t line;                /* number of the line that is being read               */
  int64_t *seen;               /* [n] the line of the last set that has the node, or 0 */
  char *plain;                 /* [plain_room] a name without doubled quotation marks  */
  int64_t plain_room;
  char where[WR_WHERE];
} set_reader;

void wr_set_list_free(wr_set_list *sets) {
  if (sets == NULL) return;
  wr_free(sets->first), wr_free(sets->line), wr_free(sets->node), wr_free(sets->weight);
  *sets = (wr_set_list){0};
}

/* The node with an id, or -1. */
static int64_t find_node(const set_reader *r, const char *begin, const char *end) {
  int64_t id;
  if (begin == end) return -1;
  if (r->need->ids->names) return wr_ids_find(r->need->ids, begin, end - begin);
  if (wr_number_integer(begin, end, &id) != WR_NUMBER_OK) return -1;
  int64_t node = wr_ids_place(r->need->ids, id);
  return node < r->need->n ? node : -1;
}

/* A member as the line has it. */
typedef struct member {
  const char *id, *id_end;         /* without quotes                  */
  const char *weight, *weight_end; /* behind the colon; NULL: no colon */
} member;

/* Splits a word without quotes: at its last colon, if it is not an id as a whole. */
static member split_word(const set_reader *r, const char *begin, const char *end) {
  member m = {.id = begin, .id_end = end};
  const char *colon = end;
  if (find_node(r, begin, end) >= 0) return m;
  while (colon > begin && colon[-1] != ':') colon--;
  if (colon > begin) m.id_end = colon - 1, m.weight = colon, m.weight_end = end;
  return m;
}

static int is_blank(char c) { return c == ' ' || c == '\t'; }

/* A name in quotes, which `begin` is behind: r->plain has it without doubled ones. *at := behind the member. */
static wr_status take_quoted(set_reader *r, const char *begin, const char *end, const char **at, member *m) {
  int64_t length = 0;
  const char *c = begin;
  if (end - begin > r->plain_room) {
    PASS(wr_resize(&r->plain, end - begin, "a name"));
    r->plain_room = end - begin;
  }
  for (; c < end && (*c != '"' || (c + 1 < end && c[1] == '"')); c++) {
    r->plain[length++] = *c;
    c += *c == '"';
  }
  if (c == end) return wr_fail(WR_EINPUT, "%s: a quotation mark is not closed", r->where);
  *m = (member){.id = r->plain, .id_end = r->plain + length};
  if (++c < end && *c == ':') {
    m->weight = ++c;
    while (c < end && !is_blank(*c)) c++;
    m->weight_end = c;
  }
  *at = c;
  if (c == end || is_blank(*c)) return WR_OK;
  return wr_fail(WR_EINPUT, "%s: behind a name in quotes stands neither a blank nor a weight (:0.5)", r->where);
}

/* The next member of a line, or *is_none: there is no further one. */
static wr_status take_member(set_reader *r, wr_edge_cursor *c, member *m, int *is_none) {
  const char *begin;
  *is_none = 0;
  if (r->need->ids->names == NULL) {
    *is_none = !wr_edge_take(c);
    *m = *is_none ? (member){0} : split_word(r, c->word, c->word_end);
    return WR_OK;
  }
  while (c->at < c->end && is_blank(*c->at)) c->at++;
  if ((*is_none = c->at == c->end)) return WR_OK;
  begin = c->at;
  if (*begin == '"') return take_quoted(r, begin + 1, c->end, &c->at, m);
  while (c->at < c->end && !is_blank(*c->at)) c->at++;
  *m = split_word(r, begin, c->at);
  return WR_OK;
}

static wr_status parse_weight(const set_reader *r, const char *begin, const char *end, double *weight) {
  char quote[WR_QUOTE];
  wr_number_status got = begin == end ? WR_NUMBER_BAD : wr_number_real(begin, end, weight);
  if (begin == end) return wr_fail(WR_EINPUT, "%s: the weight behind a colon is missing", r->where);
  wr_quote(begin, end, quote);
  if (got == WR_NUMBER_OVERFLOW)
    return wr_fail(WR_EINPUT, "%s: the weight is too big for a double (%s)", r->where, quote);
  if (got != WR_NUMBER_OK) return wr_fail(WR_EINPUT, "%s: the weight is not a number ('%s')", r->where, quote);
  if (*weight >= 0 && isfinite(*weight)) return WR_OK;
  return wr_fail(WR_EINPUT, "%s: the weight is %s; weights are not negative", r->where, quote);
}

static wr_status parse_member(const set_reader *r, const member *m, int64_t *node, double *weight) {
  char quote[WR_QUOTE];
  *weight = 1;
  *node = find_node(r, m->id, m->id_end);
  wr_quote(m->id, m->id_end, quote);
  if (m->id == m->id_end) return wr_fail(WR_EINPUT, "%s: an id is missing", r->where);
  if (*node < 0) return wr_fail(WR_EINPUT, "%s: id %s is none of %s", r->where, quote, r->need->whose);
  if (r->seen[*node] == r->line) return wr_fail(WR_EINPUT, "%s: id %s is in the set already", r->where, quote);
  return m->weight ? parse_weight(r, m->weight, m->weight_end, weight) : WR_OK;
}

/* Room for one more element of arrays that have `used`. */
static wr_status grow(int64_t used, int64_t *room, void *first, size_t first_size, void *second, size_t second_size) {
  if (used < *room) return WR_OK;
  int64_t more = *room < 1024 ? 1024 : 2 * *room;
  PASS(wr_resize(first, more * (int64_t)first_size, "teleport sets"));
  PASS(wr_resize(second, more * (int64_t)second_size, "teleport sets"));
  *room = more;
  return WR_OK;
}

/* A line that fails leaves the list as it was, so that it can be parsed again. */
static wr_status parse_line(set_reader *r, const wr_input_line *line) {
  wr_set_list *s = r->sets;
  wr_edge_cursor c = {.at = line->begin, .end = line->end};
  int64_t used = s->first[s->count];
  double largest = 0;
  if (r->need->ids->names == NULL) PASS(wr_edge_check(line, r->where));
  for (;;) {
    member m = {0};
    int is_none;
    PASS(take_member(r, &c, &m, &is_none));
    if (is_none) break;
    PASS(grow(used, &r->node_room, &s->node, sizeof *s->node, &s->weight, sizeof *s->weight));
    PASS(parse_member(r, &m, &s->node[used], &s->weight[used]));
    r->seen[s->node[used]] = r->line;
    largest = fmax(largest, s->weight[used++]);
  }
  if (largest == 0) return wr_fail(WR_EINPUT, "%s: all weights are 0; their sum must be positive", r->where);
  PASS(grow(s->count + 1, &r->set_room, &s->first, sizeof *s->first, &s->line, sizeof *s->line));
  s->line[s->count] = r->line;
  s->first[++s->count] = used;
  return WR_OK;
}

/* A line that fails is parsed again for an error with its number, as in io/vector_file.c. */
static wr_status parse_lines(set_reader *r, const wr_lines *lines) {
  for (const char *at = lines->begin; at < lines->end; r->line++) {
    wr_input_line line = wr_line_at(at, lines->end);
    at = line.next;
    if (wr_edge_is_none(&line)) continue;
    wr_status status = parse_line(r, &line);
    if (status == WR_OK) continue;
    if (status != WR_EINPUT) return status;
    wr_where(r->text->name, r->line, r->where);
    for (int64_t i = 0; i < r->need->n; i++) r->seen[i] = 0;
    return parse_line(r, &line);
  }
  return WR_OK;
}

static wr_status read_sets(set_reader *r) {
  wr_status status;
  wr_lines lines = {.capacity = 0};
  wr_set_list *s = r->sets;
  TRY(grow(0, &r->set_room, &s->first, sizeof *s->first, &s->line, sizeof *s->line));
  s->first[0] = 0;
  TRY(wr_alloc_zeroed(&r->seen, r->need->n, sizeof *r->seen, "teleport sets"));
  for (int64_t from = 0; from < r->text->size; from += WR_TEXT_RUN) {
    TRY(wr_text_lines(r->text, from, from + WR_TEXT_RUN, &lines));
    TRY(parse_lines(r, &lines));
  }
  if (s->count == 0)
    TRY(wr_fail(WR_EINPUT, "%s: no sets; each line is one, of ids, or id:weight, between blanks", r->text->name));
  TRY(wr_text_unchanged(r->text));
done:
  wr_lines_free(&lines);
  wr_free(r->seen);
  wr_free(r->plain);
  return status;
}

wr_status wr_set_file_read(const char *path, const wr_vector_need *need, wr_set_list *sets) {
  wr_vector_need complete = *need;
  wr_ids counted = {.count = need->n, .first = 1};
  wr_text text;
  *sets = (wr_set_list){0};
  if (complete.ids == NULL) complete.ids = &counted;
  PASS(wr_text_open(path, "", &text));
  wr_status status = text.kind == WR_FILE_TEXT
                         ? read_sets(&(set_reader){.text = &text, .need = &complete, .sets = sets, .line = 1})
                         : wr_fail(WR_EINPUT, "%s: a matrix or an array, where lines of ids are needed", text.name);
  wr_text_close(&text);
  if (status != WR_OK) wr_set_list_free(sets);
  return status;
}
