#include "io/edge_list.h"

#include <omp.h>
#include <stdio.h>
#include <string.h>

#include "config/memory.h"
#include "io/edge_record.h"
#include "io/ids_number.h"
#include "io/name_number.h"
#include "io/text_parts.h"

enum {
  LONGEST_PART = 2 << 20, /* bytes: few enough that the ids of a part can be sorted in a core's cache */
  PENDING = 32,           /* edges whose names are looked up together                         */
  LINE_LEAST = 4          /* bytes of the shortest line with an edge: "1 2" and its end               */
};

/* A thread's own memory. */
typedef struct workroom {
  wr_edge_chunk edges; /* of the part that it parses; of names their numbers in the thread's table */
  wr_id_sorter sorter;
  char *plain; /* [room] a name without doubled quotation marks */
  int64_t room;
} workroom;

typedef struct edge_reader {
  wr_text text;
  int is_csv;
  wr_edge_choice choice;
  const wr_read_share *share; /* or NULL */
  wr_edge_format format;
  int64_t body; /* where the first edge begins in the text */
  wr_text_parts parts;
  workroom *rooms;       /* [parts.threads]                                                 */
  wr_id_part *ids;       /* [parts.count] their ids                                         */
  wr_name_table *tables; /* [parts.threads] names                                           */
  int *thread;           /* [parts.count] whose table numbers a part's names                */
  int spans;             /* 1: a record has ends of lines inside quotes, so parts must be aligned */
  wr_triplets *triplets; /* a chunk for each part                                           */
} edge_reader;

/* Removes the ending, in any letter case, from a name of *length characters if it has it. */
static int has_ending(const char *name, size_t *length, const char *ending) {
  size_t n = strlen(ending);
  if (*length <= n || !wr_word_is(name + *length - n, name + *length, ending)) return 0;
  *length -= n;
  return 1;
}

/* The name without .gz and the like. */
static size_t plain_length(const char *path) {
  size_t length = strlen(path);
  if (!has_ending(path, &length, ".gz") && !has_ending(path, &length, ".zst")) has_ending(path, &length, ".xz");
  return length;
}

int wr_edge_list_is_name(const char *path) {
  static const char *const endings[] = {".tsv", ".txt", ".el", ".csv"};
  size_t length = plain_length(path);
  for (size_t e = 0; e < sizeof endings / sizeof endings[0]; e++)
    if (has_ending(path, &length, endings[e])) return 1;
  return 0;
}

/* Leaves out a byte order mark. */
static void skip_mark(wr_text *text, const wr_lines *lines) {
  static const char mark[3] = "\xef\xbb\xbf";
  if (lines->end - lines->begin < 3 || memcmp(lines->begin, mark, 3) != 0) return;
  wr_text_skip(text, 3);
}

static wr_status check_beginning(edge_reader *r) {
  char where[WR_WHERE];
  wr_lines lines = {.capacity = 0};
  if (r->text.kind == WR_FILE_MATRIX_MARKET)
    return wr_fail(WR_EINPUT, "%s: a Matrix Market file, not an edge list; with --input-format mtx it is read as one",
                   wr_where(r->text.name, 1, where));
  if (wr_file_is_matrix(r->text.kind))
    return wr_fail(WR_EINPUT, "%s: a matrix in binary, not an edge list; --input-format auto reads it", r->text.name);
  wr_status status = wr_text_lines(&r->text, 0, 1, &lines);
  if (status == WR_OK) skip_mark(&r->text, &lines);
  wr_lines_free(&lines);
  return status;
}

/* *offset := where the first line begins that is neither blank nor a comment, or the text's end. Comments may be long, and more
 * than the text of interest: they are read run by run. */
static wr_status find_line(const edge_reader *r, int64_t *offset) {
  wr_lines lines = {.capacity = 0};
  wr_status status = WR_OK;
  *offset = r->text.size;
  for (int64_t from = 0; from < r->text.size && *offset == r->text.size; from += WR_TEXT_RUN) {
    TRY(wr_text_lines(&r->text, from, from + WR_TEXT_RUN, &lines));
    for (const char *at = lines.begin; at < lines.end && *offset == r->text.size;) {
      wr_input_line line = wr_line_at(at, lines.end);
      if (!wr_edge_is_none(&line)) *offset = lines.offset + (at - lines.begin);
      at = line.next;
    }
  }
done:
  wr_lines_free(&lines);
  return status;
}

/* Finds out how the list is read, and where its first edge is. */
static wr_status find_body(edge_reader *r) {
  wr_lines lines = {.capacity = 0};
  wr_status status = WR_OK;
  char where[WR_WHERE];
  const char *body = NULL;
  int more = 1;
  int64_t number, from;
  TRY(check_beginning(r));
  TRY(find_line(r, &from));
  TRY(wr_text_line_number(&r->text, from, &number));
  for (int64_t length = WR_TEXT_RUN; more && from < r->text.size; length *= 2) {
    TRY(wr_text_lines(&r->text, from, from + length, &lines));
    wr_edge_head head = {.name = r->text.name,
                         .at = lines.begin,
                         .end = lines.end,
                         .line = number,
                         .is_csv = r->is_csv,
                         .whole = lines.offset + (lines.end - lines.begin) == r->text.size};
    TRY(wr_edge_decide(&head, &r->choice, &r->format, &body, &more));
  }
  if (body != NULL) r->body = lines.offset + (body - lines.begin);
  if (body == NULL) {
    TRY(wr_text_line_number(&r->text, r->text.size, &number));
    TRY(wr_fail(WR_EINPUT, "%s: the file ends without an edge", wr_where(r->text.name, number, where)));
  }
done:
  wr_lines_free(&lines);
  return status;
}

static wr_status grow(int weighted, int64_t capacity, wr_edge_chunk *chunk) {
  PASS(wr_resize(&chunk->source, capacity * (int64_t)sizeof *chunk->source, "the edges of a file"));
  PASS(wr_resize(&chunk->target, capacity * (int64_t)sizeof *chunk->target, "the edges of a file"));
  if (weighted) PASS(wr_resize(&chunk->weight, capacity * (int64_t)sizeof *chunk->weight, "the edges of a file"));
  chunk->capacity = capacity;
  return WR_OK;
}

/* Room for as many edges as `rest` bytes hold if they are like the `done` ones before, and never for more than they can. */
static int64_t room_for(int64_t count, int64_t done, int64_t rest) {
  int64_t most = rest / LINE_LEAST + 1;
  double likely = (double)count * (double)rest / (double)(done + 1) * 1.05 + 64;
  return count + (count == 0 || likely > (double)most ? most : (int64_t)likely);
}

static wr_status begin_part(void *of, int64_t k, int thread) {
  (void)k;
  ((edge_reader *)of)->rooms[thread].edges.count = 0;
  return WR_OK;
}

/* Makes sure that there is room for `more` edges. `here`: how far part k of the text is parsed. */
static wr_status reserve(const edge_reader *r, int64_t k, int64_t here, int64_t more, wr_edge_chunk *chunk) {
  const wr_text_part *p = &r->parts.part[k];
  int64_t rest = p->end > here ? p->end - here : 0;
  if (chunk->capacity - chunk->count >= more) return WR_OK;
  if (chunk->count == 0 && rest > WR_TEXT_RUN) rest = WR_TEXT_RUN; /* the lengths of lines are not known yet */
  int64_t room = room_for(chunk->count, here - p->begin, rest);
  return grow(r->format.weight >= 0, room - chunk->count < more ? chunk->count + more : room, chunk);
}

static wr_status parse_lines(void *of, int64_t k, int thread, const wr_lines *lines, const char **at) {
  const edge_reader *r = of;
  wr_edge_chunk *chunk = &r->rooms[thread].edges;
  while (*at < lines->end) {
    PASS(reserve(r, k, lines->offset + (*at - lines->begin), 1, chunk));
    *at = wr_edges_scan(&r->format, *at, lines->end, chunk);
    if (*at >= lines->end || chunk->count == chunk->capacity) continue;
    wr_input_line line = wr_line_at(*at, lines->end);
    if (!wr_edge_is_none(&line)) {
      wr_edge edge;
      PASS(wr_edge_parse(&r->format, &line, "", &edge));
      wr_edge_append(&r->format, &edge, chunk);
    }
    *at = line.next;
  }
  return WR_OK;
}

static wr_status end_part(void *of, int64_t k, int thread) {
  const edge_reader *r = of;
  return wr_ids_take(&r->rooms[thread].edges, &r->rooms[thread].sorter, &r->triplets->chunks[k], &r->ids[k]);
}

static wr_status fail_defective(const void *of, const wr_input_line *line, const char *where) {
  const edge_reader *r = of;
  wr_edge edge;
  return wr_edge_parse(&r->format, line, where, &edge);
}

static const wr_text_format lines_format = {
    .begin = begin_part, .parse = parse_lines, .end = end_part, .fail = fail_defective};

/* ---- records ---- */

/* *word := itself, without doubled quotation marks at `plain`, which moves behind it. */
static void write_plainly(wr_edge_word *word, char **plain) {
  if (!word->doubled) return;
  const char *begin = *plain;
  for (const char *c = word->begin; c < word->end; c++) {
    *(*plain)++ = *c;
    c += *c == '"';
  }
  *word = (wr_edge_word){begin, *plain, 0};
}

/* Edges whose names have not been looked up: many at a time, since each look-up waits for memory. */
typedef struct pending {
  int count;
  wr_edge_names edges[PENDING];
} pending;

static wr_status undouble(workroom *room, pending *p) {
  int64_t needed = 0;
  for (int n = 0; n < p->count; n++) {
    const wr_edge_word *a = &p->edges[n].source, *b = &p->edges[n].target;
    needed += (a->doubled ? a->end - a->begin : 0) + (b->doubled ? b->end - b->begin : 0);
  }
  if (needed > room->room) PASS(wr_resize(&room->plain, needed, "names"));
  if (needed > room->room) room->room = needed;
  char *plain = room->plain;
  for (int n = 0; n < p->count; n++) {
    write_plainly(&p->edges[n].source, &plain);
    write_plainly(&p->edges[n].target, &plain);
  }
  return WR_OK;
}

/* Appends the pending edges, with the names' numbers in the thread's table. */
static wr_status append_named(const edge_reader *r, int thread, pending *p) {
  wr_name_table *table = &r->tables[thread];
  uint64_t hash[PENDING][2];
  PASS(undouble(&r->rooms[thread], p));
  for (int n = 0; n < p->count; n++) {
    const wr_edge_word *a = &p->edges[n].source, *b = &p->edges[n].target;
    hash[n][0] = wr_name_hash(table->key, a->begin, a->end - a->begin);
    hash[n][1] = wr_name_hash(table->key, b->begin, b->end - b->begin);
    for (int k = 0; k < 2; k++) wr_name_table_prefetch(table, hash[n][k], 0);
  }
  for (int step = 1; step <= 2; step++)
    for (int n = 0; n < p->count; n++)
      for (int k = 0; k < 2; k++) wr_name_table_prefetch(table, hash[n][k], step);
  for (int n = 0; n < p->count; n++) {
    const wr_edge_word *a = &p->edges[n].source, *b = &p->edges[n].target;
    wr_edge edge = {.weight = p->edges[n].weight};
    PASS(wr_name_table_add(table, hash[n][0], a->begin, a->end - a->begin, &edge.source));
    PASS(wr_name_table_add(table, hash[n][1], b->begin, b->end - b->begin, &edge.target));
    wr_edge_append(&r->format, &edge, &r->rooms[thread].edges);
  }
  p->count = 0;
  return WR_OK;
}

static wr_status take_numbers(const wr_edge_names *names, const char *where, wr_edge *edge) {
  edge->weight = names->weight;
  PASS(wr_edge_word_number(&names->source, where, "source", &edge->source));
  return wr_edge_word_number(&names->target, where, "target", &edge->target);
}

/* The record at *at. */
static wr_status parse_record(edge_reader *r, int64_t k, int thread, const wr_lines *lines, const char **at,
                              pending *p) {
  wr_edge_chunk *chunk = &r->rooms[thread].edges;
  wr_record record = wr_record_at(*at, lines->end, r->format.separator);
  const wr_input_line line = {*at, record.line_end, record.next};
  wr_edge edge;
  wr_field quote;
  if (wr_edge_is_none(&line) && (!r->format.names || wr_line_is_blank(&line))) {
    *at = line.next;
    return WR_OK;
  }
  wr_status status = wr_edge_record_parse(&r->format, &record, "", &p->edges[p->count], &quote);
  if (!r->parts.whole && (record.next != line.next || quote == WR_FIELD_OPEN)) {
#pragma omp atomic write
    r->spans = 1;
    *at = lines->end;
    return WR_OK;
  }
  if (quote != WR_FIELD_TAKEN) return wr_fail(WR_EINPUT, "a quote");
  PASS(status);
  if (!r->format.names) {
    PASS(take_numbers(&p->edges[0], "", &edge));
    wr_edge_append(&r->format, &edge, chunk);
  }
  p->count += r->format.names;
  *at = record.next;
  if (p->count == PENDING) PASS(append_named(r, thread, p));
  return reserve(r, k, lines->offset + (*at - lines->begin), p->count + 1, chunk);
}

/* Parts begin with records, unless ends of lines are found inside quotes: then this parse is given up. */
static wr_status parse_records(void *of, int64_t k, int thread, const wr_lines *lines, const char **at) {
  edge_reader *r = of;
  pending p;
  p.count = 0;
  PASS(reserve(r, k, lines->offset, PENDING, &r->rooms[thread].edges));
  while (*at < lines->end) PASS(parse_record(r, k, thread, lines, at, &p));
  return append_named(r, thread, &p);
}

static wr_status end_records(void *of, int64_t k, int thread) {
  const edge_reader *r = of;
  const wr_edge_chunk *edges = &r->rooms[thread].edges;
  wr_triplet_chunk *chunk = &r->triplets->chunks[k];
  if (!r->format.names) return end_part(of, k, thread);
  r->thread[k] = thread;
  PASS(wr_alloc(&chunk->row, edges->count, sizeof *chunk->row, "the edges of a graph"));
  PASS(wr_alloc(&chunk->col, edges->count, sizeof *chunk->col, "the edges of a graph"));
  if (edges->weight) PASS(wr_alloc(&chunk->val, edges->count, sizeof *chunk->val, "the edges of a graph"));
  chunk->count = chunk->capacity = edges->count;
  if (edges->weight && edges->count > 0) memcpy(chunk->val, edges->weight, (size_t)edges->count * sizeof *chunk->val);
  for (int64_t n = 0; n < edges->count; n++) {
    chunk->row[n] = (int32_t)edges->source[n];
    chunk->col[n] = (int32_t)edges->target[n];
  }
  return WR_OK;
}

static const wr_text_format records_format = {.begin = begin_part, .parse = parse_records, .end = end_records};

/* The records from an offset on are parsed again, for an error with the line's number. */
static wr_status fail_record(const edge_reader *r, int64_t offset, int64_t end) {
  char where[WR_WHERE];
  wr_lines lines = {.capacity = 0};
  wr_edge_names names;
  wr_edge edge;
  wr_field quote;
  int64_t number;
  wr_status status;
  TRY(wr_text_line_number(&r->text, offset, &number));
  TRY(wr_text_lines(&r->text, offset, end, &lines));
  wr_record record = wr_record_at(lines.begin, lines.end, r->format.separator);
  wr_where(r->text.name, number, where);
  TRY(wr_edge_record_parse(&r->format, &record, where, &names, &quote));
  if (quote != WR_FIELD_TAKEN) TRY(wr_edge_fail_quote(quote, &record, lines.begin, r->text.name, number));
  if (!r->format.names) TRY(take_numbers(&names, where, &edge));
  status = wr_fail(WR_EINPUT, "%s: was changed while it was being read", r->text.name);
done:
  wr_lines_free(&lines);
  return status;
}

/* ---- all parts ---- */

static wr_status begin_rooms(edge_reader *r) {
  uint64_t key[2];
  PASS(wr_text_parts_cut(&r->text, r->body, LONGEST_PART, r->share, &r->parts, r->triplets));
  PASS(wr_alloc_zeroed(&r->ids, r->parts.count, sizeof *r->ids, "the parts of a file"));
  PASS(wr_alloc_zeroed(&r->thread, r->parts.count, sizeof *r->thread, "the parts of a file"));
  PASS(wr_alloc_zeroed(&r->rooms, r->parts.threads, sizeof *r->rooms, "the parts of a file"));
  PASS(wr_alloc_zeroed(&r->tables, r->parts.threads, sizeof *r->tables, "the parts of a file"));
  wr_name_key(key);
  for (int t = 0; t < r->parts.threads; t++) memcpy(r->tables[t].key, key, sizeof key);
  return WR_OK;
}

static void end_rooms(edge_reader *r) {
  for (int t = 0; r->rooms != NULL && t < r->parts.threads; t++) {
    wr_edge_chunk_free(&r->rooms[t].edges);
    wr_id_sorter_free(&r->rooms[t].sorter);
    wr_free(r->rooms[t].plain);
  }
  wr_free(r->rooms);
  r->rooms = NULL;
}

/* Forgets everything but the text. */
static void forget_parts(edge_reader *r) {
  end_rooms(r);
  for (int64_t k = 0; r->ids != NULL && k < r->parts.count; k++) wr_id_part_free(&r->ids[k]);
  for (int t = 0; r->tables != NULL && t < r->parts.threads; t++) wr_name_table_free(&r->tables[t]);
  wr_free(r->ids);
  wr_free(r->tables);
  wr_free(r->thread);
  wr_free(r->parts.part);
  r->ids = NULL, r->tables = NULL, r->thread = NULL, r->parts.part = NULL;
}

static wr_status parse_text(edge_reader *r) {
  int threads = r->parts.threads;
  PASS(begin_rooms(r));
  wr_text_parts_parse(&r->text, r->format.separator == 0 ? &lines_format : &records_format, r, &r->parts);
  if (r->spans && r->share)
    return wr_fail(WR_EUNAVAILABLE, "%s: has ends of lines inside quotes: start one process", r->text.name);
  if (r->spans) {
    forget_parts(r);
    wr_triplets_free(r->triplets);
    r->parts = (wr_text_parts){.threads = threads, .whole = 1};
    PASS(begin_rooms(r));
    PASS(wr_edge_records_align(&r->text, r->format.separator, &r->parts));
    wr_text_parts_parse(&r->text, &records_format, r, &r->parts);
  }
  end_rooms(r);
  return WR_OK;
}

/* The first defect in file order is the file's. *stored := the number of edges. */
static wr_status settle(const edge_reader *r, int64_t *stored) {
  wr_status status = WR_OK;
  *stored = 0;
  for (int64_t k = 0; k < r->parts.count && status == WR_OK; k++) {
    const wr_text_part *p = &r->parts.part[k];
    if (r->format.separator != 0 && p->defect >= 0)
      status = fail_record(r, p->defect, p->end);
    else
      status = wr_text_part_check(&r->text, &lines_format, r, &r->parts, k);
    *stored += r->triplets->chunks[k].count;
  }
  return status;
}

/* Names of threads become nodes. */
static wr_status number_names(edge_reader *r, wr_ids *ids) {
  int32_t **nodes;
  int tables = r->parts.threads;
  wr_status status = wr_alloc_zeroed(&nodes, tables, sizeof *nodes, "the nodes of a graph");
  if (status != WR_OK) return status;
  TRY(wr_names_number(r->text.name, r->tables, tables, r->parts.threads, nodes, ids));
#pragma omp parallel for num_threads(r->parts.threads) schedule(dynamic, 1)
  for (int64_t k = 0; k < r->parts.count; k++) {
    wr_triplet_chunk *chunk = &r->triplets->chunks[k];
    const int32_t *node = nodes[r->thread[k]];
    for (int64_t n = 0; n < chunk->count; n++) chunk->row[n] = node[chunk->row[n]], chunk->col[n] = node[chunk->col[n]];
  }
  r->triplets->nrows = r->triplets->ncols = ids->count;
done:
  for (int t = 0; t < tables; t++) wr_free(nodes[t]);
  wr_free(nodes);
  return status;
}

/* The kind names the columns unless they are the usual ones. */
static void note_facts(const edge_reader *r, int64_t stored, wr_read_facts *facts) {
  const wr_edge_format *f = &r->format;
  *facts = (wr_read_facts){.bytes = r->text.size, .stored = stored, .compressed = r->text.compressed};
  size_t size = sizeof facts->kind;
  const char *names = f->names ? " of names" : "";
  if (f->source == 0 && f->target == 1 && f->columns == 2 + (f->weight == 2))
    snprintf(facts->kind, size, "edge list%s%s", names, f->weight == 2 ? " with weights" : "");
  else if (f->weight < 0)
    snprintf(facts->kind, size, "edge list%s (column %d to column %d)", names, f->source + 1, f->target + 1);
  else
    snprintf(facts->kind, size, "edge list%s (column %d to column %d, weight in %d)", names, f->source + 1,
             f->target + 1, f->weight + 1);
}

wr_status wr_edge_list_read(const char *path, const wr_read_options *options, wr_triplets *triplets, wr_ids *ids,
                            wr_read_facts *facts) {
  edge_reader r = {.triplets = triplets, .parts = {.threads = options != NULL ? options->threads : 0}};
  int64_t stored = 0;
  size_t length = plain_length(path);
  if (r.parts.threads <= 0) r.parts.threads = omp_get_max_threads();
  r.format.nonnegative = options != NULL && options->nonnegative;
  if (options != NULL) r.choice = options->columns, r.share = options->share;
  r.is_csv = has_ending(path, &length, ".csv");
  *triplets = (wr_triplets){.nrows = 0};
  *ids = (wr_ids){.count = 0};
  wr_status status = r.share ? wr_text_open_share(path, "", &r.text) : wr_text_open(path, "", &r.text);
  if (status != WR_OK) return status;
  TRY(find_body(&r));
  TRY(parse_text(&r));
  TRY(settle(&r, &stored));
  TRY(wr_text_unchanged(&r.text));
  if (stored > 0 || r.share == NULL)
    TRY(r.format.names ? number_names(&r, ids) : wr_ids_number(r.text.name, r.ids, r.parts.threads, triplets, ids));
  if (facts != NULL) note_facts(&r, stored, facts);
done:
  if (status != WR_OK) wr_triplets_free(triplets);
  forget_parts(&r);
  wr_text_close(&r.text);
  return status;
}
