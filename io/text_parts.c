#include "io/text_parts.h"

#include <omp.h>

#include "config/memory.h"
#include "io/reader.h"

/* Several parts for each thread, so that a slow thread delays the others little. */
enum { SHORTEST = 16 << 10, PARTS_PER_THREAD = 8 };

/* [*begin, *end) := the bytes in which the share's lines begin, which are held then. */
static wr_status find_share(wr_text *text, const wr_read_share *share, int64_t *begin, int64_t *end) {
  if (share == NULL) return WR_OK;
  if (text->file < 0)
    return wr_fail(WR_EUNAVAILABLE, "%s: is no file: of such a text one process cannot read a share", text->name);
  int64_t first = *begin, length = *end - *begin, piece = length / share->count, rest = length % share->count;
  *begin = first + piece * share->index + rest * share->index / share->count;
  *end = first + piece * (share->index + 1) + rest * (share->index + 1) / share->count;
  return wr_text_hold(text, *begin, *end);
}

wr_status wr_text_parts_cut(wr_text *text, int64_t body, int64_t longest, const wr_read_share *share,
                            wr_text_parts *parts, wr_triplets *triplets) {
  int64_t until = text->size;
  PASS(find_share(text, share, &body, &until));
  int64_t bytes = until - body, length = bytes / ((int64_t)parts->threads * PARTS_PER_THREAD);
  if (length > longest) length = longest;
  if (length < SHORTEST) length = SHORTEST;
  int64_t count = bytes / length + 1;
  if (parts->threads > count) parts->threads = (int)count;
  PASS(wr_alloc(&parts->part, count, sizeof *parts->part, "the parts of a file"));
  PASS(wr_alloc_zeroed(&triplets->chunks, count, sizeof *triplets->chunks, "the parts of a file"));
  parts->count = triplets->nchunks = count;
  for (int64_t k = 0; k < count; k++) {
    int64_t begin = body + k * length, end = k + 1 < count ? begin + length : until;
    parts->part[k] = (wr_text_part){.begin = begin, .end = end, .defect = -1};
  }
  return WR_OK;
}

static wr_status parse_part(const wr_text *text, const wr_text_format *f, void *reader, int64_t k, wr_text_part *p,
                            int whole, wr_lines *lines) {
  int thread = omp_get_thread_num();
  int64_t run = whole ? p->end - p->begin : WR_TEXT_RUN;
  wr_status status = f->begin(reader, k, thread);
  for (int64_t from = p->begin; from < p->end && status == WR_OK; from += run) {
    PASS(wr_text_lines(text, from, p->end - from < run ? p->end : from + run, lines));
    const char *at = lines->begin;
    status = f->parse(reader, k, thread, lines, &at);
    if (status == WR_EINPUT) p->defect = lines->offset + (at - lines->begin);
  }
  return status == WR_OK && f->end != NULL ? f->end(reader, k, thread) : status;
}

/* Parts behind one that failed are not begun: a defect on an earlier line is all that counts. */
void wr_text_parts_parse(const wr_text *text, const wr_text_format *format, void *reader, wr_text_parts *parts) {
  parts->failure = (wr_failure)WR_NO_FAILURE;
#pragma omp parallel num_threads(parts->threads)
  {
    wr_lines lines = {.capacity = 0};
#pragma omp for schedule(dynamic, 1)
    for (int64_t k = 0; k < parts->count; k++) {
      if (wr_failure_is_below(&parts->failure, k)) continue;
      wr_failure_note(&parts->failure, k, parse_part(text, format, reader, k, &parts->part[k], parts->whole, &lines));
    }
    wr_lines_free(&lines);
  }
}

wr_status wr_text_part_check(const wr_text *text, const wr_text_format *format, const void *reader,
                             const wr_text_parts *parts, int64_t k) {
  int64_t defect = parts->part[k].defect;
  if (defect >= 0) return wr_text_fail_at(text, defect, format->fail, reader);
  return k == parts->failure.piece ? wr_failure_report(&parts->failure) : WR_OK;
}

/* The parts' threads do not know line numbers, so the line is read again. */
wr_status wr_text_fail_at(const wr_text *text, int64_t offset,
                          wr_status (*fail)(const void *reader, const wr_input_line *line, const char *where),
                          const void *reader) {
  char where[WR_WHERE];
  wr_lines lines = {.capacity = 0};
  int64_t number;
  wr_status status;
  TRY(wr_text_line_number(text, offset, &number));
  TRY(wr_text_lines(text, offset, offset + 1, &lines));
  wr_input_line line = wr_line_at(lines.begin, lines.end);
  TRY(fail(reader, &line, wr_where(text->name, number, where)));
  status = wr_fail(WR_EINPUT, "%s: was changed while it was being read", text->name);
done:
  wr_lines_free(&lines);
  return status;
}
