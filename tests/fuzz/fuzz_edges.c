/* Edge lists: file, pipe, threads and the careful parser, line by line, must agree on edges and ids, or on the defect; what
 * was read can be assembled, saved, written as text and read again. */
#define _DEFAULT_SOURCE /* open_memstream */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/edge.h"
#include "io/edge_list.h"
#include "io/edge_record.h"
#include "io/file_kind.h"
#include "io/id_text.h"
#include "io/vector_file.h"
#include "tests/fuzz/harness.h"
#include "tests/fuzz/matrices.h"

enum { PARTS = 20000 }; /* bytes: longer texts are read in several parts */

/* Every input is read by each of these. */
static const wr_edge_choice choices[3] = {
    {.bare_values = 1}, {.column = {{.number = 3}, {.number = 1}}}, {.bare_values = 1, .ids = WR_IDS_NAMES}};

/* What a read came to. */
typedef struct outcome {
  wr_edge_choice choice;
  wr_status status;
  char message[1024]; /* without the name of the file */
  wr_read_facts facts;
  wr_triplets triplets;
  wr_ids ids;
  wr_entries entries;
} outcome;

/* Ascending, and every one of them is some edge's. */
static void check_ids(const outcome *o) {
  const wr_entries *e = &o->entries;
  int64_t wrong = 0, unused = 0;
  REQUIRE(o->ids.count == e->nrows && e->nrows == e->ncols && e->symmetry == WR_GENERAL);
  char *used = calloc((size_t)e->nrows, 1);
  for (int64_t k = 0; k < e->count; k++) used[e->row[k]] = used[e->col[k]] = 1;
  for (int64_t i = 0; i < e->nrows; i++) {
    int64_t length;
    const char *name = o->ids.names != NULL ? wr_ids_name(&o->ids, i, &length) : NULL;
    if (name != NULL) wrong += wr_ids_find(&o->ids, name, length) != i || length < 1;
    wrong += wr_ids_at(&o->ids, i) < 0 || (i > 0 && wr_ids_at(&o->ids, i) <= wr_ids_at(&o->ids, i - 1));
    unused += !used[i];
  }
  REQUIREF(wrong == 0 && unused == 0, "%lld ids do not ascend, %lld have no edge", (long long)wrong, (long long)unused);
  REQUIRE(o->ids.first == wr_ids_at(&o->ids, 0));
  free(used);
}

static void read_as(const char *path, const wr_edge_choice *choice, int threads, int nonnegative, outcome *o) {
  *o = (outcome){.choice = *choice};
  wr_read_options how = {.threads = threads, .nonnegative = nonnegative, .columns = *choice};
  harness_begin();
  o->status = wr_edge_list_read(path, &how, &o->triplets, &o->ids, &o->facts);
  harness_judge(o->status, 1u << WR_EINPUT, path);
  if (o->status != WR_OK) {
    snprintf(o->message, sizeof o->message, "%s", wr_status_message() + strlen(path));
    REQUIRE(o->triplets.nchunks == 0 && o->triplets.chunks == NULL && o->ids.count == 0 && o->ids.id == NULL);
    return;
  }
  matrices_take(&o->triplets, &o->entries);
  REQUIRE(o->facts.stored == o->entries.count && o->entries.count > 0);
  check_ids(o);
}

static void forget(outcome *o) {
  wr_triplets_free(&o->triplets);
  wr_ids_free(&o->ids);
  matrices_free(&o->entries);
}

static int same_id(const wr_ids *a, const wr_ids *b, int64_t node) {
  int64_t m, n;
  if (a->names == NULL || b->names == NULL) return a->names == b->names && wr_ids_at(a, node) == wr_ids_at(b, node);
  const char *one = wr_ids_name(a, node, &m), *other = wr_ids_name(b, node, &n);
  return m == n && memcmp(one, other, (size_t)m) == 0;
}

static void must_agree(const outcome *a, const outcome *b, const char *how) {
  REQUIREF(a->status == b->status, "%s: '%s' and '%s'", how, a->message, b->message);
  REQUIREF(strcmp(a->message, b->message) == 0, "%s: '%s' and '%s'", how, a->message, b->message);
  if (a->status != WR_OK || b->status != WR_OK) return;
  REQUIREF(matrices_equal(&a->entries, &b->entries), "%s: other edges", how);
  int64_t other = 0;
  for (int64_t i = 0; i < a->ids.count && i < b->ids.count; i++) other += !same_id(&a->ids, &b->ids, i);
  REQUIREF(other == 0, "%s: %lld other ids", how, (long long)other);
}

/* The bytes of a word are those of the node's name. */
static int is_name(const wr_ids *ids, int64_t node, const wr_edge_word *word) {
  int64_t length, at = 0;
  const char *name = wr_ids_name(ids, node, &length);
  for (const char *c = word->begin; c < word->end; c++, at++) {
    if (at >= length || name[at] != *c) return 0;
    c += word->doubled && *c == '"';
  }
  return at == length;
}

static void compare_edge(const wr_edge_format *f, const wr_edge *edge, const wr_edge_names *names, const outcome *o,
                         int64_t k) {
  const wr_entries *e = &o->entries;
  REQUIRE(k < e->count);
  if (k >= e->count) return;
  if (f->names)
    REQUIRE(is_name(&o->ids, e->row[k], &names->source) && is_name(&o->ids, e->col[k], &names->target));
  else
    REQUIRE(wr_ids_at(&o->ids, e->row[k]) == edge->source && wr_ids_at(&o->ids, e->col[k]) == edge->target);
  REQUIRE(f->weight >= 0 ? memcmp(&e->val[k], &edge->weight, sizeof edge->weight) == 0 : e->val == NULL);
}

/* A record at a time. *at moves behind it. */
static wr_status parse_record(const wr_edge_format *f, const char **at, const char *end, int64_t number, wr_edge *edge,
                              wr_edge_names *names) {
  char where[64];
  wr_field quote;
  wr_record record = wr_record_at(*at, end, f->separator);
  snprintf(where, sizeof where, ":%lld", (long long)number);
  wr_status status = wr_edge_record_parse(f, &record, where, names, &quote);
  if (status == WR_OK && quote != WR_FIELD_TAKEN) status = wr_edge_fail_quote(quote, &record, *at, "", number);
  if (status == WR_OK && !f->names) status = wr_edge_word_number(&names->source, where, "source", &edge->source);
  if (status == WR_OK && !f->names) status = wr_edge_word_number(&names->target, where, "target", &edge->target);
  edge->weight = names->weight;
  *at = record.next;
  return status;
}

static wr_status parse_line(const wr_edge_format *f, const wr_input_line *line, int64_t number, wr_edge *edge) {
  char where[64];
  snprintf(where, sizeof where, ":%lld", (long long)number);
  return wr_edge_parse(f, line, where, edge);
}

/* An edge at a time: the first defect must be what the reader said, or every edge what it gave. */
static void compare_carefully(const char *at, const char *end, const outcome *o) {
  wr_edge_format f = {.columns = 0};
  wr_edge_head head = {.name = "", .at = at, .end = end, .line = 1, .whole = 1};
  const char *body = NULL;
  int more;
  int64_t count = 0, number = 1;
  wr_status status = wr_edge_decide(&head, &o->choice, &f, &body, &more);
  REQUIRE(status != WR_OK || !more);
  for (; status == WR_OK && body != NULL && at < body; number++) at = wr_line_at(at, end).next;
  while (status == WR_OK && body != NULL && at < end) {
    wr_input_line line = wr_line_at(at, end);
    wr_edge edge;
    wr_edge_names names;
    int none = f.separator != 0 && f.names ? wr_line_is_blank(&line) : wr_edge_is_none(&line);
    const char *next = none || f.separator == 0 ? line.next : at;
    if (!none && f.separator == 0) status = parse_line(&f, &line, number, &edge);
    if (!none && f.separator != 0) status = parse_record(&f, &next, end, number, &edge, &names);
    if (!none && status == WR_OK && o->status == WR_OK) compare_edge(&f, &edge, &names, o, count);
    count += !none && status == WR_OK;
    for (; at < next; number++) at = wr_line_at(at, end).next;
  }
  if (status != WR_OK) {
    REQUIREF(strcmp(wr_status_message(), o->message) == 0, "'%s' and '%s'", wr_status_message(), o->message);
    return;
  }
  if (count == 0) REQUIREF(strstr(o->message, "the file ends without an edge") != NULL, "'%s'", o->message);
  if (count > 0) REQUIREF(o->status == WR_OK && o->entries.count == count, "'%s'", o->message);
}

/* Weights: the same edges, or a sentence about the first that is negative. */
static void read_as_weights(const char *path, const outcome *first) {
  outcome o;
  int64_t negative = 0;
  for (int64_t k = 0; first->entries.val != NULL && k < first->entries.count; k++)
    negative += first->entries.val[k] < 0;
  read_as(path, &first->choice, 1, 1, &o);
  if (o.status == WR_OK) must_agree(first, &o, "weights");
  REQUIREF((o.status == WR_OK) == (negative == 0), "%lld negative weights, '%s'", (long long)negative, o.message);
  if (negative > 0) REQUIREF(strstr(o.message, "negative weight") != NULL, "'%s'", o.message);
  forget(&o);
}

/* The edges as a text, which must give them again. */
static void write_and_read(const outcome *o) {
  const wr_entries *e = &o->entries;
  char *text = NULL, number[32];
  size_t size;
  outcome again;
  FILE *out = open_memstream(&text, &size);
  int names = o->ids.names != NULL;
  for (int64_t k = 0; k < e->count; k++) {
    char separator = names ? ',' : "\t, "[k % 3];
    if (e->val) wr_number_text(e->val[k], number);
    wr_id_put_field(out, &o->ids, e->row[k], separator);
    fputc(separator, out);
    wr_id_put_field(out, &o->ids, e->col[k], separator);
    fprintf(out, "%c%s\n", names && e->val ? ',' : ' ', e->val ? number : "");
  }
  fclose(out);
  wr_edge_choice choice = {.bare_values = 1,
                           .ids = names ? WR_IDS_NAMES : WR_IDS_NUMBERS,
                           .header = WR_HEADER_NO,
                           .separator = names ? WR_SEPARATOR_COMMA : WR_SEPARATOR_AUTO};
  if (e->val && e->count > 0) choice.column[0].number = 1, choice.column[1].number = 2, choice.column[2].number = 3;
  read_as(harness_file(text, size), &choice, 1, 0, &again);
  must_agree(o, &again, "written and read");
  forget(&again);
  free(text);
}

static void read_other_ways(const uint8_t *bytes, size_t count, const outcome *first) {
  outcome o;
  const char *path = HARNESS_ONE_IN(8, count) ? harness_pipe(bytes, count) : NULL;
  if (path != NULL) {
    read_as(path, &first->choice, 1, 0, &o);
    must_agree(first, &o, "file and pipe");
    forget(&o);
    harness_pipe(NULL, 0);
  }
  if (count > PARTS) {
    read_as(harness_file(bytes, count), &first->choice, 3, 0, &o);
    must_agree(first, &o, "one thread and three");
    forget(&o);
  }
}

/* Refused for the beginning of the text, not for one of its lines. */
static int is_refused_at_once(const uint8_t *bytes, size_t count) {
  wr_file_kind kind = wr_file_kind_of((const char *)bytes, (int64_t)count);
  return (kind != WR_FILE_TEXT && kind != WR_FILE_BINARY) || (count >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) ||
         (count >= 2 && bytes[0] == '%' && bytes[1] == '%');
}

static void read_by(const wr_edge_choice *choice, const uint8_t *bytes, size_t count) {
  outcome o;
  const char *path = harness_file(bytes, count);
  read_as(path, choice, 1, 0, &o);
  int text = !is_refused_at_once(bytes, count);
  if (text) REQUIREF(harness_asked() <= (INT64_C(1) << 20) + 256 * (int64_t)count, "%lld", (long long)harness_asked());
  if (text) compare_carefully((const char *)bytes, (const char *)bytes + count, &o);
  if (o.status == WR_OK) read_as_weights(path, &o);
  read_other_ways(bytes, count, &o);
  if (o.status == WR_OK && o.entries.count <= MATRICES_ENTRIES) {
    write_and_read(&o);
    matrices_assemble(&o.triplets, &o.entries, &o.ids);
  }
  forget(&o);
}

FUZZ_TARGET(edges) {
  for (int k = 0; k < 3; k++) read_by(&choices[k], bytes, count);
  return 0;
}
