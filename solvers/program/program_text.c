#include "solvers/program/program_text.h"

#include <string.h>

#include "config/text.h"

#define SOLVER_EXITS                                                                                       \
  {"0", "verified"}, {"1", "usage"}, {"2", "not converged"}, {"3", "bad input"}, {"4", "not available"},   \
  {"5", "breakdown"}, {"6", "out of memory"}, {"7", "verification failed"}, {"8", "output not written"},   \
  {"9", "device error"}, {"130", "interrupted"}, {NULL, NULL}

const wr_program_text wr_pagerank_text = {
    .operands = "GRAPH",
    .summary = "Ranks the nodes of a graph by the power method, with a bound on the error.",
    .words =
        (const wr_phrase[]){
            {"GRAPH", "a Matrix Market file or an edge list (.tsv .txt .el .csv), gzip too; - for standard input; or "
                      "gen:FAMILY:key=value,..."},
            {"Vectors", "Matrix Market, .npy, lines of a number, or lines of id and number, told by their content."},
            {NULL, NULL}},
    .examples =
        (const wr_phrase[]){
            {"pagerank web.mtx", "the ten best pages"},
            {"pagerank -k cpu_csr,cusparse web.mtx", "two backends compared"},
            {"pagerank -o s.tsv e.tsv", "an edge list; lines of id and score"},
            {"pagerank --columns 2,3 visits.csv", "columns 2 and 3 of a table are the edges"},
            {"pagerank gen:web:n=100000", "a generated graph"},
            {NULL, NULL}},
    .exits = (const wr_phrase[]){SOLVER_EXITS},
};

const wr_program_text wr_bicgstab_text = {
    .operands = "MATRIX",
    .summary = "Solves A x = b by BiCGSTAB and checks the residual independently.",
    .words =
        (const wr_phrase[]){
            {"MATRIX", "a Matrix Market file or lines of row, column, value (.tsv .txt .el .csv), gzip too; - for "
                       "standard input; or gen:FAMILY:key=value,..."},
            {"Vectors", "Matrix Market, .npy, lines of a number, or lines of id and number, told by their content."},
            {NULL, NULL}},
    .examples =
        (const wr_phrase[]){
            {"bicgstab A.mtx", "b = A times ones"},
            {"bicgstab -b b.mtx -o x.mtx A.mtx", "right-hand side and solution as files"},
            {"bicgstab --precond jacobi A.mtx", "the columns scaled by the diagonal"},
            {"bicgstab -k cpu_csr,cusparse gen:fem", "two backends on a generated system"},
            {NULL, NULL}},
    .exits = (const wr_phrase[]){SOLVER_EXITS},
};

const wr_program_text wr_spmv_text = {
    .operands = "MATRIX|@LIST...",
    .summary = "Times one multiply y = A x by several backends in turn and checks every product.",
    .words =
        (const wr_phrase[]){
            {"MATRIX", "a file as for pagerank and bicgstab, - for standard input, or gen:FAMILY:key=value,..."},
            {"@LIST", "a file with one of these a line; # begins a comment."},
            {NULL, NULL}},
    .report =
        (const wr_phrase[]){
            {"", "The table has a line for each backend:"},
            {"prepare, first us", "medians over a few preparations, and over the first multiplies after them"},
            {"hot us, +-", "median of many multiplies, and its 95% interval"},
            {"cold us", "median of multiplies with an overwritten last-level cache (--cold)"},
            {"bytes, GB/s", "what a multiply moves at least, and that over the hot time"},
            {"read", "GB/s as a share of the bandwidth measured for reading memory; from cache: more than that"},
            {"memory", "of the backend's format and of the matrix's arrays that it uses"},
            {"speed-up", "against the first backend of the list; = if the intervals are not 2% apart"},
            {"pays at", "multiplies after which the longer preparation has paid; \"to N\": the backend is slower, but "
                        "sooner prepared and so ahead up to N multiplies"},
            {"", "The last line names the backend that takes the least time, by the number of multiplies."},
            {NULL, NULL}},
    .examples =
        (const wr_phrase[]){
            {"spmv A.mtx", "every backend that runs here"},
            {"spmv -k merbit,cusparse --cold @list", "two backends, caches cleared too"},
            {"spmv --json out.json gen:web gen:fem", "generated matrices, a report as JSON"},
            {NULL, NULL}},
    .exits =
        (const wr_phrase[]){
            {"0", "all is right"}, {"1", "usage"}, {"3", "bad input"}, {"4", "not available"},
            {"5", "non-finite numbers"}, {"6", "out of memory"}, {"7", "a product is wrong"},
            {"8", "output not written"}, {"9", "device error"}, {"130", "interrupted"}, {NULL, NULL}},
};

/* Words, and behind the longest of them a column of what they mean; text with the word "" goes from edge to edge. */
static void put_list(FILE *out, int left, const wr_phrase *list) {
  int widest = 0;
  for (const wr_phrase *p = list; p->word; p++) widest = (int)strlen(p->word) > widest ? (int)strlen(p->word) : widest;
  for (const wr_phrase *p = list; p->word; p++) {
    if (p->word[0] == '\0')
      wr_text_wrap(out, p->text, 0, 0);
    else
      wr_text_wrap(out, p->text, fprintf(out, "%*s%-*s  ", left, "", widest, p->word), left + widest + 2);
  }
}

void wr_program_help(const char *name, const wr_program_text *text, const wr_option *options, FILE *out) {
  fprintf(out, "usage: %s [options] %s\n%s\n", name, text->operands, text->summary);
  for (const wr_phrase *p = text->words; p->word; p++)
    wr_text_wrap(out, p->text, fprintf(out, "%s: ", p->word), (int)strlen(p->word) + 2);
  if (text->report) put_list(out, 0, text->report);
  put_list(out, 2, text->examples);
  char exits[1024] = "";
  for (const wr_phrase *p = text->exits; p->word; p++) {
    size_t used = strlen(exits);
    snprintf(exits + used, sizeof exits - used, "%s %s%s", p->word, p->text, p[1].word ? ", " : ".");
  }
  int column = fprintf(out, "Exit: ");
  wr_text_wrap(out, exits, column, column);
  fprintf(out, "\n");
  wr_options_help(options, out);
}
