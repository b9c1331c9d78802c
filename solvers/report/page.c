#define _DEFAULT_SOURCE /* gmtime_r */
#include "solvers/report/page.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "config/version.h"
#include "solvers/report/figures.h"
#include "solvers/report/html.h"
#include "solvers/report/machine.h"
#include "solvers/report/report.h"
#include "solvers/report/report_text.h"

wr_page_verdict wr_page_verdict_of(int exit_code, int is_checked) {
  switch (exit_code) {
    case 0:
      return is_checked ? (wr_page_verdict){"Converged and verified", "good"}
                        : (wr_page_verdict){"Converged, not verified", "doubt"};
    case 2: return (wr_page_verdict){"Not converged", "bad"};
    case 4: return (wr_page_verdict){"Not available", "bad"};
    case 5: return (wr_page_verdict){"Breakdown", "bad"};
    case 7: return (wr_page_verdict){"Verification failed", "bad"};
    case 130: return (wr_page_verdict){"Interrupted", "bad"};
    default: return (wr_page_verdict){"Failed", "bad"};
  }
}

static void write_date(FILE *file) {
  time_t now = time(NULL);
  struct tm date;
  char text[32] = "";
  if (gmtime_r(&now, &date)) strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &date);
  fputs(text, file);
}

void wr_page_begin(FILE *file, const char *program, const char *title, wr_page_verdict verdict) {
  fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n<title>", file);
  wr_html_print(file, "%s: %s", program, title);
  fputs("</title>\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
        "<meta name=\"generator\" content=\"windrow " WR_VERSION "\"/>\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\"/>\n"
        "<style>\n",
        file);
  wr_page_style(file);
  fputs("</style>\n</head>\n<body>\n<header>\n<h1>", file);
  wr_html_print(file, "%s: %s", program, title);
  fputs("</h1>\n<p>windrow " WR_VERSION ", ", file);
  write_date(file);
  fprintf(file, "</p>\n</header>\n<main>\n<section class=\"outcome %s\">\n<p class=\"verdict\">%s</p>\n", verdict.class,
          verdict.words);
}

void wr_page_outcome_end(FILE *file) { fputs("</section>\n", file); }

static void write_warnings(wr_writer *page, const wr_run *runs, int count) {
  char label[256];
  for (int k = 0; k < count; k++) {
    const char *warning = runs[k].info.tuning.warning;
    wr_line line = {0};
    int said = warning[0] == '\0';
    for (int m = 0; m < k; m++) said |= strcmp(runs[m].info.tuning.warning, warning) == 0;
    wr_line_add(&line, "%s: %s", wr_run_label(&runs[k], label, sizeof label), warning);
    if (!said) wr_writer_paragraph(page, &line);
  }
}

void wr_page_solve(FILE *file, const wr_problem_facts *problem, const wr_run *runs, int count) {
  wr_writer page = {.file = file, .is_html = 1};
  if (count == 1)
    wr_report_run(&page, problem, &runs[0], 1);
  else
    wr_report_table(&page, problem, runs, count);
  wr_writer_end(&page);
  write_warnings(&page, runs, count);
  wr_page_outcome_end(file);
  wr_figure_convergence(file, problem, runs, count);
  wr_figure_times(file, runs, count);
  wr_figure_break_even(file, runs, count, 2);
}

void wr_page_matrix(FILE *file, const char *source) {
  fputs("<h2>", file);
  wr_html_text(file, source);
  fputs("</h2>\n", file);
}

void wr_page_table(FILE *file, FILE *outcome, const wr_spmv_table *table) {
  wr_writer page = {.file = file, .is_html = 1}, above = {.file = outcome, .is_html = 1};
  wr_line sentence = {0};
  wr_line_add(&sentence, "%s in %s: ", table->facts->source, table->facts->precision);
  if (wr_spmv_add_suggestion(&sentence, table)) wr_writer_paragraph(&above, &sentence);
  fprintf(file, "<h3>%s, with%s values</h3>\n", table->facts->precision, table->facts->has_values ? "" : "out");
  wr_spmv_table_print(&page, table);
  wr_writer_end(&page);
  write_warnings(&page, table->runs, table->count);
  wr_figure_break_even(file, table->runs, table->count, 4);
}

void wr_page_failure(FILE *file, const wr_problem_facts *problem, const wr_error *error) {
  wr_writer page = {.file = file, .is_html = 1};
  wr_line line = {0};
  wr_line_add(&line, "%s", error->text);
  wr_writer_paragraph(&page, &line);
  line = (wr_line){0};
  wr_line_add_problem(&line, problem);
  wr_writer_item(&page, "problem", &line);
  wr_writer_end(&page);
}

void wr_page_end(FILE *file, const char *settings) {
  wr_machine machine = wr_machine_get();
  char text[16];
  fputs("<h2>Settings</h2>\n<pre>", file);
  for (const char *line = settings; *line;) { /* a line's end is no part of an option's text: options escape it */
    size_t length = strcspn(line, "\n");
    wr_html_print(file, "%.*s", (int)length, line);
    fputs("\n", file);
    line += length + (line[length] == '\n');
  }
  fputs("</pre>\n<h2>Machine</h2>\n<dl>\n<dt>processor</dt><dd>", file);
  wr_html_print(file, "%s, %d %s", machine.cpu, machine.cores, machine.cores == 1 ? "core" : "cores");
  if (machine.memory_bytes > 0) wr_html_print(file, ", %s of memory", wr_text_bytes(machine.memory_bytes, text));
  fputs("</dd>\n<dt>system</dt><dd>", file);
  wr_html_text(file, machine.system);
  fputs("</dd>\n<dt>version</dt><dd>", file);
  wr_html_print(file, "windrow %s, compiled by %s, CUDA toolkit %s", WR_VERSION, machine.compiler, machine.cuda);
  fputs("</dd>\n</dl>\n</main>\n</body>\n</html>\n", file);
}
