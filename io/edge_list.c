#include "io/edge_list.h"

#include <omp.h>
#include <stdio.h>
#include <string.h>

#include "config/memory.h"
#include "io/edge.h"
#include "io/ids_number.h"
#include "io/text_parts.h"

enum {
  LONGEST_PART = 2 << 20, /* bytes: few enough that the ids of a part can be sorted in a core's cache */
  LINE_LEAST = 4          /* bytes of the shortest line with an edge: "1 2" and its end               */
};

/* A thread's own memory. */
typedef struct workroom {
  wr_edge_chunk edges; /* of the part that it parses */
  wr_id_sorter sorter;
} workroom;

typedef struct edge_reader {
  wr_text text;
  wr_edge_choice choice;
  wr_edge_format format;
  int headed;   /* 1: a line of names was seen              */
  int64_t body; /* where the first edge begins in the text */
  wr_text_parts parts;
  workroom *rooms;       /* [parts.threads]             */
  wr_id_part *ids;       /* [parts.count] their ids     */
  wr_triplets *triplets; /* a chunk for each part       */
} edge_reader;

/* Removes the ending, in any letter case, from a name of *length characters if it has it. */
static int has_ending(const char *name, size_t *length, const char *ending) {
  size_t n = strlen(ending);
  if (*length <= n || !wr_word_is(name + *length - n, name + *length, ending)) return 0;
  *length -= n;
  return 1;
}

int wr_edge_list_is_name(const char *path) {
  static const char *const endings[] = {".tsv", ".txt", ".el", ".csv"};
  size_t length = strlen(path);
  has_ending(path, &length, ".gz");
  for (size_t e = 0; e < sizeof endings / sizeof endings[0]; e++)
    if (has_ending(path, &length, endings[e])) return 1;
  return 0;
}

/* Refuses beginnings that no edge list has, although the first line may look like a comment or an edge. */
static wr_status check_beginning(const edge_reader *r, const wr_lines *lines) {
  char where[WR_WHERE];
  const char *text = lines->begin;
  if (r->text.kind == WR_FILE_MATRIX_MARKET)
    return wr_fail(WR_EINPUT, "%s: a Matrix Market file, not an edge list; with --input-format mtx it is read as one",
                   wr_where(r->text.name, 1, where));
  if (lines->end - text >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
    return wr_fail(WR_EINPUT, "%s: a UTF-8 byte order mark; save the file without one",
                   wr_where(r->text.name, 1, where));
  return WR_OK;
}

/* Looks for the first edge among the lines, and for the heading before it. */
static wr_status find_edge(edge_reader *r, const wr_lines *lines, int *found) {
  char where[WR_WHERE];
  for (const char *at = lines->begin; at < lines->end;) {
    wr_input_line line = wr_line_at(at, lines->end);
    int64_t offset = lines->offset + (at - lines->begin), number;
    at = line.next;
    if (wr_edge_is_none(&line)) continue;
    PASS(wr_text_line_number(&r->text, offset, &number));
    wr_where(r->text.name, number, where);
    *found = r->headed || !wr_edge_is_heading(&line);
    wr_status status = *found ? wr_edge_use_first(&r->choice, &line, where, &r->format)
                              : wr_edge_use_heading(&r->choice, &line, where, &r->format);
    if (status != WR_OK || *found) {
      r->body = offset;
      return status;
    }
    r->headed = 1;
  }
  return WR_OK;
}

/* Comments may be long, and more than the text of interest: they are read run by run. */
static wr_status find_body(edge_reader *r) {
  wr_lines lines = {.capacity = 0};
  wr_status status = WR_OK;
  char where[WR_WHERE];
  int found = 0;
  int64_t number;
  for (int64_t from = 0; from < r->text.size && !found; from += WR_TEXT_RUN) {
    TRY(wr_text_lines(&r->text, from, from + WR_TEXT_RUN, &lines));
    if (from == 0) TRY(check_beginning(r, &lines));
    TRY(find_edge(r, &lines, &found));
  }
  if (!found) {
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

static wr_status parse_lines(void *of, int64_t k, int thread, const wr_lines *lines, const char **at) {
  const edge_reader *r = of;
  const wr_text_part *p = &r->parts.part[k];
  wr_edge_chunk *chunk = &r->rooms[thread].edges;
  while (*at < lines->end) {
    if (chunk->count == chunk->capacity) {
      int64_t here = lines->offset + (*at - lines->begin), rest = (p->end > here ? p->end - here : 0);
      if (chunk->count == 0 && rest > WR_TEXT_RUN) rest = WR_TEXT_RUN; /* the lengths of lines are not known yet */
      PASS(grow(r->format.weight >= 0, room_for(chunk->count, here - p->begin, rest), chunk));
    }
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

static const wr_text_format edges_format = {
    .begin = begin_part, .parse = parse_lines, .end = end_part, .fail = fail_defective};

static wr_status parse_text(edge_reader *r) {
  wr_status status;
  TRY(wr_text_parts_cut(&r->text, r->body, LONGEST_PART, &r->parts, r->triplets));
  TRY(wr_alloc_zeroed(&r->ids, r->parts.count, sizeof *r->ids, "the parts of a file"));
  TRY(wr_alloc_zeroed(&r->rooms, r->parts.threads, sizeof *r->rooms, "the parts of a file"));
  wr_text_parts_parse(&r->text, &edges_format, r, &r->parts);
  for (int t = 0; t < r->parts.threads; t++) {
    wr_edge_chunk_free(&r->rooms[t].edges);
    wr_id_sorter_free(&r->rooms[t].sorter);
  }
done:
  wr_free(r->rooms);
  return status;
}

/* The first defect in file order is the file's. *stored := the number of edges. */
static wr_status settle(const edge_reader *r, int64_t *stored) {
  wr_status status = WR_OK;
  *stored = 0;
  for (int64_t k = 0; k < r->parts.count && status == WR_OK; k++) {
    status = wr_text_part_check(&r->text, &edges_format, r, &r->parts, k);
    *stored += r->triplets->chunks[k].count;
  }
  return status;
}

/* The kind names the columns unless they are the usual ones. */
static void note_facts(const edge_reader *r, int64_t stored, wr_read_facts *facts) {
  const wr_edge_format *f = &r->format;
  *facts = (wr_read_facts){.bytes = r->text.size, .stored = stored, .compressed = r->text.compressed};
  size_t size = sizeof facts->kind;
  if (f->source == 0 && f->target == 1 && f->columns == 2 + (f->weight == 2))
    snprintf(facts->kind, size, "edge list%s", f->weight == 2 ? " with weights" : "");
  else if (f->weight < 0)
    snprintf(facts->kind, size, "edge list (column %d to column %d)", f->source + 1, f->target + 1);
  else
    snprintf(facts->kind, size, "edge list (column %d to column %d, weight in %d)", f->source + 1, f->target + 1,
             f->weight + 1);
}

wr_status wr_edge_list_read(const char *path, const wr_read_options *options, wr_triplets *triplets, wr_ids *ids,
                            wr_read_facts *facts) {
  edge_reader r = {.triplets = triplets, .parts = {.threads = options != NULL ? options->threads : 0}};
  int64_t stored = 0;
  if (r.parts.threads <= 0) r.parts.threads = omp_get_max_threads();
  r.format.nonnegative = options != NULL && options->nonnegative;
  if (options != NULL) r.choice = options->columns;
  *triplets = (wr_triplets){.nrows = 0};
  *ids = (wr_ids){.count = 0};
  wr_status status = wr_text_open(path, "", &r.text);
  if (status != WR_OK) return status;
  TRY(find_body(&r));
  TRY(parse_text(&r));
  TRY(settle(&r, &stored));
  TRY(wr_text_unchanged(&r.text));
  TRY(wr_ids_number(r.text.name, r.ids, r.parts.threads, triplets, ids));
  if (facts != NULL) note_facts(&r, stored, facts);
done:
  if (status != WR_OK) wr_triplets_free(triplets);
  for (int64_t k = 0; r.ids != NULL && k < r.parts.count; k++) wr_id_part_free(&r.ids[k]);
  wr_free(r.ids);
  wr_free(r.parts.part);
  wr_text_close(&r.text);
  return status;
}
