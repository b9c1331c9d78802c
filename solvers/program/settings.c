#include "solvers/program/settings.h"

#include <float.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "config/defaults.h"
#include "io/number.h"
#include "solvers/api/solving.h"
#include "solvers/direct.h"
#include "solvers/precond.h"
#include "solvers/program/apply_time.h"
#include "solvers/rank/rank.h"

/* ---- options of all programs; OFFSET: AT, or SPMV_COMMON, which give the place of a member of wr_settings ---- */

#define TUNE_CACHE_HELP                                                                                                 \
  "where backends with the knob tune=quick or tune=full look for the fastest configuration before they time any, and "  \
  "to which they add it; ignored with --deterministic, which tunes nothing"

#define EDGE_LIST_OPTIONS(OFFSET)                                                                                       \
  {.name = "columns", .type = WR_OPTION_TEXT, .offset = OFFSET(columns_text), .argument = "SOURCE,TARGET[,WEIGHT]",     \
   .help = "which columns of an edge list are read, by number from 1 or by name: source, target and weight (row, "      \
           "column and value); default: by the names in its first line, else the first two, and the third as weight"},  \
  {.name = "header", .type = WR_OPTION_CHOICE, .offset = OFFSET(header), .choices = "auto|yes|no", .value = "auto",     \
   .help = "an edge list's first line has the names of columns; auto: if it names a source and a target, or stands "    \
           "above numbers"},                                                                                            \
  {.name = "separator", .type = WR_OPTION_CHOICE, .offset = OFFSET(separator),                                          \
   .choices = "auto|tab|comma|semicolon|blank", .value = "auto",                                                        \
   .help = "what stands between the columns of an edge list; auto: by its first line"},                                 \
  {.name = "ids", .type = WR_OPTION_CHOICE, .offset = OFFSET(ids), .choices = "auto|numbers|names", .value = "auto",    \
   .help = "what an edge list calls its nodes; auto: names unless both ids of the first edge are numbers"}

/* The rows with which each table ends. */
#define LAST_OPTIONS(OFFSET)                                                                                            \
  {.name = "quiet", .letter = 'q', .type = WR_OPTION_FLAG, .offset = OFFSET(quiet), .help = "nothing but errors"},      \
  {.name = "list-backends", .type = WR_OPTION_FLAG, .offset = OFFSET(list_backends), .command = 1,                      \
   .help = "all backends, what they need, and why one is not available"},                                               \
  {.name = "list-generators", .type = WR_OPTION_FLAG, .offset = OFFSET(list_generators), .command = 1,                  \
   .help = "the matrices that gen:FAMILY:key=value,... makes, with their keys"},                                        \
  {.name = "version", .type = WR_OPTION_FLAG, .offset = OFFSET(version), .command = 1, .help = "print the version"},    \
  {.name = "help", .letter = 'h', .type = WR_OPTION_FLAG, .offset = OFFSET(help), .command = 1, .help = "print this"},  \
  {0}

/* ---- options of pagerank and bicgstab ---- */

#define AT(field) offsetof(wr_settings, field)

#define WR_FORMATS "auto|mtx|tsv|csv|txt|npy|json"

#define RUN_OPTIONS(precisions, precision_help)                                                                         \
  {.name = "backend", .letter = 'k', .type = WR_OPTION_TEXT, .offset = AT(backends), .argument = "LIST",                \
   .group = "What to run",                                                                                              \
   .help = "backends, separated by commas, each with its knobs behind colons: cusparse:alg=2,cpu_csr; "                 \
           "default: auto, that of which a model expects the least time for this matrix, and later another one where "  \
           "a long solve pays for it; auto:measure=1: the faster one of the two best when timed"},                      \
  {.name = "device", .letter = 'd', .type = WR_OPTION_TEXT, .offset = AT(device_text), .value = "auto",                 \
   .argument = "cpu|cuda[:N]|auto",                                                                                     \
   .help = "where to compute; auto: on the CPU while a GPU is opened, and on the GPU from then on where that pays"},    \
  {.name = "precision", .letter = 'p', .type = WR_OPTION_CHOICE, .offset = AT(precision), .choices = precisions,        \
   .value = "f64", .help = precision_help},                                                                             \
  {.name = "threads", .type = WR_OPTION_INT, .offset = AT(threads), .min = 0, .max = 4096, .value = "0",                \
   .help = "CPU threads; 0: all, or fewer where that many take long to start"},                                         \
  {.name = "deterministic", .type = WR_OPTION_FLAG, .offset = AT(deterministic),                                        \
   .help = "the same bits from run to run and for any number of threads"},                                              \
  {.name = "tune-cache", .type = WR_OPTION_TEXT, .offset = AT(tune_cache), .argument = "FILE",                          \
   .help = TUNE_CACHE_HELP},                                                                                            \
  {.name = "no-graph", .type = WR_OPTION_FLAG, .offset = AT(no_graph),                                                  \
   .help = "the host launches each iteration; a GPU does not repeat them by itself"},                                   \
  {.name = "no-resident", .type = WR_OPTION_FLAG, .offset = AT(no_resident),                                            \
   .help = "small systems, too, are iterated by a CUDA graph of the backend's kernels, not by one kernel"}

#define STOP_OPTIONS(tolerance_help, iterations_of_0)                                                                   \
  {.name = "tolerance", .letter = 't', .type = WR_OPTION_REAL, .offset = AT(tolerance), .min = 0, .max = 1,             \
   .below_max = 1, .value = WR_DEFAULT_TOLERANCE, .group = "When to stop", .help = tolerance_help},                     \
  {.name = "max-iterations", .letter = 'n', .type = WR_OPTION_INT, .offset = AT(iterations), .min = 0,                  \
   .max = 1e15, .value = WR_DEFAULT_ITERATIONS,                                                                         \
   .help = "most iterations; 0, as without this option: " iterations_of_0},                                             \
  {.name = "check-every", .type = WR_OPTION_INT, .offset = AT(check_every), .min = 0, .max = 1e6,                       \
   .value = WR_DEFAULT_CHECK_EVERY,                                                                                     \
   .help = "iterations between two checks of the residual; 0, as without this option: 1, or 8 for short ones on a "     \
           "GPU"},                                                                                                      \
  {.name = "time-limit", .type = WR_OPTION_REAL, .offset = AT(time_limit), .min = 0, .max = 1e9, .value = "0",          \
   .argument = "SECONDS",                                                                                               \
   .help = "end the iterations so long after the program began and give the best iterate, exit code 2; 0, as without "  \
           "this option: no limit"}

#define FILE_OPTIONS(guess_help)                                                                                        \
  {.name = "guess", .letter = 'x', .type = WR_OPTION_TEXT, .offset = AT(guess), .argument = "FILE",                     \
   .group = "Files", .help = guess_help},                                                                               \
  {.name = "output", .letter = 'o', .type = WR_OPTION_TEXT, .offset = AT(output), .argument = "FILE",                   \
   .help = "write the result; - is standard output"},                                                                   \
  {.name = "format", .type = WR_OPTION_CHOICE, .offset = AT(format), .choices = WR_FORMATS, .value = "auto",            \
   .help = "of the result: a Matrix Market array; lines of id, tab, value; lines of id,value below their names; "       \
           "values alone; a NumPy array; auto: by the ending of its name, mtx if it has none. pagerank without "        \
           "--output writes the --top best nodes as tsv, csv or json to standard output, and its report to standard "   \
           "error"},                                                                                                    \
  {.name = "input-format", .type = WR_OPTION_CHOICE, .offset = AT(input_format), .choices = "auto|mtx|edges",           \
   .value = "auto", .help = "of the matrix: Matrix Market or an edge list; auto: by the ending of its name"},           \
  EDGE_LIST_OPTIONS(AT),                                                                                                \
  {.name = "json", .type = WR_OPTION_TEXT, .offset = AT(json), .argument = "FILE", .help = "write the report as JSON"}, \
  {.name = "jsonl", .type = WR_OPTION_TEXT, .offset = AT(jsonl), .argument = "FILE",                                    \
   .help = "append the report of each matrix as one line of JSON"},                                                     \
  {.name = "report", .type = WR_OPTION_TEXT, .offset = AT(report), .argument = "FILE",                                  \
   .help = "write the report as one page of HTML with pictures, for a browser and for print"},                          \
  {.name = "history", .type = WR_OPTION_TEXT, .offset = AT(history), .argument = "FILE",                                \
   .help = "write the residuals by iteration as CSV"},                                                                  \
  {.name = "save-binary", .type = WR_OPTION_TEXT, .offset = AT(save_binary), .argument = "FILE",                        \
   .help = "keep the matrix in a form that is read much faster than text"},                                             \
  {.name = "config", .type = WR_OPTION_TEXT, .offset = AT(config), .argument = "FILE",                                  \
   .help = "read options from a file; the command line wins"}

#define REPORT_OPTIONS                                                                                                  \
  {.name = "verify", .type = WR_OPTION_TEXT, .offset = AT(verify_text), .value = "auto",                                \
   .argument = "full|sample:N|device|off|auto", .group = "Reports",                                                     \
   .help = "rows of the last multiply that the host computes again: all, N, none (device), or no check at all (off); "  \
           "auto: all where that is cheap, else a sample"},                                                             \
  {.name = "repeat", .type = WR_OPTION_INT, .offset = AT(repeat), .min = 1, .max = 1e6, .value = "1",                   \
   .help = "number of solves; those after the first, with the matrix prepared, give the warm time"},                    \
  {.name = "verbose", .letter = 'v', .type = WR_OPTION_FLAG, .offset = AT(verbose),                                     \
   .help = "also the effective options, what the format chose, and the bytes that are moved"},                          \
  LAST_OPTIONS(AT)

#define PARTS_OPTIONS                                                                                                \
  {.name = "gpus", .letter = 'g', .type = WR_OPTION_INT, .offset = AT(gpus), .min = 0, .max = 4096, .value = "0",     \
   .argument = "N",                                                                                                  \
   .help = "solve on N GPUs of this machine, in a process each, which mpirun starts; 0: one process"},               \
  {.name = "exchange", .type = WR_OPTION_CHOICE, .offset = AT(exchange), .choices = "auto|peers|nccl|hosts",          \
   .value = "auto",                                                                                                   \
   .help = "of several processes with a GPU each: how GPUs exchange numbers; peers: each writes into the memory of "  \
           "the others of its machine; nccl: by NCCL, also between machines; hosts: by MPI; auto: peers, else nccl "  \
           "if it is installed, else hosts"},                                                                         \
  {.name = "partition", .type = WR_OPTION_TEXT, .offset = AT(partition), .argument = "metis|FILE",                   \
   .help = "of several processes: which rows each has; metis: parts of equal work with few entries between them; a "  \
           "file: the number of a process, from 0 on, for each row; default: stretches of consecutive rows of equal " \
           "work"},                                                                                                   \
  {.name = "patience", .type = WR_OPTION_REAL, .offset = AT(patience), .min = 0.1, .max = 1e9,                      \
   .value = WR_DEFAULT_PATIENCE, .argument = "SECONDS",                                                             \
   .help = "of several processes (mpirun): how long one waits for the others before it ends all, exit code 9"}

const wr_option wr_pagerank_table[] = {
    RUN_OPTIONS("f32|f64|mixed", "type of vectors and stored values; sums are f64 always; mixed: an answer in f64, as "
                                 "certain as any, by sweeps in f32 on its error"),
    PARTS_OPTIONS,
    {.name = "damping", .type = WR_OPTION_REAL, .offset = AT(damping), .min = 0, .max = 1, .below_max = 1,
     .value = WR_DEFAULT_DAMPING, .group = "The method", .help = "probability of following a link"},
    {.name = "method", .type = WR_OPTION_CHOICE, .offset = AT(ranking),
     .choices = "auto|power|chebyshev|idr|gauss-seidel", .value = "auto",
     .help = "auto: chebyshev for a graph whose links go both ways; else power, and where its first steps promise that "
             "it pays gauss-seidel, by components on the CPU, or on a GPU from a damping of 0.95 on idr"},
    {.name = "personalize", .type = WR_OPTION_TEXT, .offset = AT(personalize), .argument = "FILE",
     .help = "where the surfer jumps to: a number >= 0 for each node, or lines of id and number for some; default: "
             "anywhere"},
    {.name = "seeds", .type = WR_OPTION_TEXT, .offset = AT(seeds), .argument = "FILE",
     .help = "rank once for each line, a set of ids, or id:weight, to which the surfer jumps; gives the --top nodes of "
             "each set with a bound on the error of its scores: printed, or as --output, which ends in .tsv, .csv or "
             ".jsonl"},
    {.name = "vectors", .type = WR_OPTION_INT, .offset = AT(vectors), .min = 0, .max = WR_MAX_COLUMNS, .value = "0",
     .help = "sets of --seeds that are ranked at once: 1, 2, 4 or 8; 0: 8, on the CPU 4 in f64"},
    {.name = "edges", .type = WR_OPTION_CHOICE, .offset = AT(edges), .choices = "out|in", .value = "out",
     .help = "entry (i, j) is the edge i -> j (out) or j -> i (in)"},
    {.name = "duplicates", .type = WR_OPTION_CHOICE, .offset = AT(duplicates), .choices = "auto|sum|once",
     .value = "auto",
     .help = "an edge that stands in the file several times; sum: its weights, without weights ones, add up; once: it "
             "counts once, for files without weights; auto: once without weights, else sum"},
    {.name = "top", .type = WR_OPTION_INT, .offset = AT(top), .min = 0, .max = 1e9, .value = "10",
     .help = "print so many of the best nodes"},
    STOP_OPTIONS("bound on the L1 error of the scores; 0: 1e-9 in f64, 1e-5 in f32",
                 "twice as many as the damping needs, at least " WR_TEXT_OF(WR_PAGERANK_LEAST_ITERATIONS)),
    {.name = "stop", .type = WR_OPTION_CHOICE, .offset = AT(stop), .choices = "bound|change|order",
     .value = "bound",
     .help = "compare the tolerance with the error bound, or with the L1 change of a step as other tools do; order: as "
             "bound, but end as soon as the order of the --top best nodes is proven"},
    FILE_OPTIONS("first guess: scores >= 0, normalised here"),
    {.name = "check", .type = WR_OPTION_TEXT, .offset = AT(check), .argument = "FILE",
     .help = "rank nothing; bound the error of these scores, from whatever tool, and compare it with the tolerance"},
    REPORT_OPTIONS};

const wr_option wr_bicgstab_table[] = {
    RUN_OPTIONS("f32|f64", "type of vectors and stored values; sums are f64 always"),
    PARTS_OPTIONS,
    {.name = "rhs-file", .letter = 'b', .type = WR_OPTION_TEXT, .offset = AT(rhs), .argument = "FILE",
     .group = "The method",
     .repeats = 1,
     .help = "right-hand side; several, by -b again or as the columns of a Matrix Market or NumPy array n x k, share "
             "what is prepared and, by conjugate gradients and BiCGSTAB, each reading of the matrix"},
    {.name = "rhs", .type = WR_OPTION_TEXT, .offset = AT(rhs_text), .value = "ones", .argument = "ones|random:SEED",
     .help = "without a file: b = A times this x"},
    {.name = "method", .type = WR_OPTION_CHOICE, .offset = AT(method), .choices = "auto|bicgstab|bicgstabl|idr|cg",
     .value = "auto",
     .help = "auto: cg for a symmetric matrix with a positive diagonal, else bicgstab; where one gets no further, "
             "bicgstab after cg, then idr, then bicgstabl"},
    {.name = "ell", .type = WR_OPTION_INT, .offset = AT(ell), .min = 1, .max = 4, .value = WR_DEFAULT_ELL,
     .help = "l of the method bicgstabl, BiCGSTAB(l)"},
    {.name = "precond", .type = WR_OPTION_TEXT, .offset = AT(precond_text),
     .choices = "auto|none|jacobi|ilu0|ilut",
     .argument = "NAME[:KNOB=VALUE]...",
     .help = "right preconditioner, with its knobs behind colons: ilut:drop=1e-3:fill=10; auto: none or jacobi, then "
             "ilu0 if the residuals promise that it pays, or if the solve fails, and then ilut; default: auto, but "
             "none if --method names a method"},
    {.name = "scale", .type = WR_OPTION_CHOICE, .offset = AT(scale), .choices = "auto|none|equilibrate|match",
     .value = "auto",
     .help = "before solving, undone in x: equilibrate brings the largest element of each row and column to about 1; "
             "match reorders rows for a large diagonal and scales it to 1; auto: match if diagonal elements are 0 or "
             "tiny, but equilibrate a saddle point where the moved rows would be far from dominant; else equilibrate "
             "if rows or columns differ by more than 1000, else none"},
    {.name = "fallback", .type = WR_OPTION_CHOICE, .offset = AT(fallback), .choices = "none|direct", .value = "none",
     .help = "after iterations that do not meet the tolerance; direct: LU factors by KLU, on the CPU in f64, then "
             "refinement (if built with KLU of SuiteSparse)"},
    STOP_OPTIONS("stop at ||b - A x|| <= tolerance * ||b||; 0: 1e-8 in f64, 1e-5 in f32",
                 WR_TEXT_OF(WR_BICGSTAB_ITERATIONS)),
    {.name = "atol", .type = WR_OPTION_REAL, .offset = AT(atol), .min = 0, .max = DBL_MAX, .value = "0",
     .help = "or at ||b - A x|| <= atol"},
    {.name = "stop", .type = WR_OPTION_CHOICE, .offset = AT(stop), .choices = "residual|backward", .value = "residual",
     .help = "compare the tolerance with ||b - A x|| / ||b||, or with the largest |b - A x| / (|A||x| + |b|) of a row"},
    FILE_OPTIONS("first guess; default: 0"),
    {.name = "check", .type = WR_OPTION_TEXT, .offset = AT(check), .argument = "FILE",
     .help = "solve nothing; check this x, from whatever solver, against the tolerance"},
    REPORT_OPTIONS};

#define SPMV(field) offsetof(wr_spmv_settings, field)
#define SPMV_COMMON(field) offsetof(wr_spmv_settings, common.field)

const wr_option wr_spmv_options[] = {
    {.name = "backend", .letter = 'k', .type = WR_OPTION_TEXT, .offset = SPMV(common.backends), .argument = "LIST",
     .group = "What to run",
     .help = "backends with their knobs, as for pagerank and bicgstab; default: all that run here but reference"},
    {.name = "device", .letter = 'd', .type = WR_OPTION_TEXT, .offset = SPMV(common.device_text), .value = "auto",
     .argument = "cpu|cuda[:N]|auto", .help = "leaves out backends that run elsewhere"},
    {.name = "precision", .letter = 'p', .type = WR_OPTION_CHOICE, .offset = SPMV(precision), .choices = "f32|f64|both",
     .value = "both", .help = "type of vectors and stored values"},
    {.name = "values", .type = WR_OPTION_FLAG, .offset = SPMV(values),
     .help = "multiply with values: those of the matrix, or made-up ones for a pattern"},
    {.name = "pattern", .type = WR_OPTION_FLAG, .offset = SPMV(pattern),
     .help = "multiply without values (if both are given, after the run with values)"},
    {.name = "vectors", .type = WR_OPTION_INT, .offset = SPMV(vectors), .min = 1, .max = WR_MAX_COLUMNS, .value = "1",
     .help = "multiply so many vectors at once, row-major; by backends that cannot, one after the other"},
    {.name = "standard", .type = WR_OPTION_FLAG, .offset = SPMV(standard),
     .help = "a standard set of generated matrices, at full size where there is a GPU; patterns with made-up "
             "values and without"},
    {.name = "solves", .type = WR_OPTION_INT, .offset = SPMV(solves), .min = 0, .max = 1e12, .value = "0",
     .help = "advise for so many solves of 200 multiplies: what a backend saves, and whether it is worth its "
             "preparation"},
    {.name = "advise", .type = WR_OPTION_FLAG, .offset = SPMV(advise),
     .help = "time nothing: advise by the model of -k auto, for one solve unless --solves says more"},
    {.name = "calibrate", .type = WR_OPTION_FLAG, .offset = SPMV(calibrate),
     .help = "measure this GPU, or the CPU, on five generated matrices for the model of -k auto, and keep that in the "
             "user's cache folder"},
    {.name = "threads", .type = WR_OPTION_INT, .offset = SPMV(common.threads), .min = 0, .max = 4096, .value = "0",
     .help = "CPU threads; 0: all, or fewer where that many take long to start"},
    {.name = "deterministic", .type = WR_OPTION_FLAG, .offset = SPMV(common.deterministic),
     .help = "the same bits from run to run"},
    {.name = "tune-cache", .type = WR_OPTION_TEXT, .offset = SPMV(common.tune_cache), .argument = "FILE",
     .help = TUNE_CACHE_HELP},
    {.name = "batches", .type = WR_OPTION_INT, .offset = SPMV(batches), .min = 1, .max = 1e5, .value = "31",
     .group = "How to measure", .help = "hot batches of a millisecond or more, and cold multiplies, for each backend"},
    {.name = "seconds", .type = WR_OPTION_REAL, .offset = SPMV(seconds), .min = 0, .max = 1e6,
     .value = WR_APPLY_SECONDS,
     .help = "most seconds for each kind of time of a backend, but at least seven batches, or one of those that take "
             "longer each"},
    {.name = "cold", .type = WR_OPTION_FLAG, .offset = SPMV(cold),
     .help = "also single multiplies, each after twice the size of the last-level cache was overwritten"},
    {.name = "verify", .type = WR_OPTION_TEXT, .offset = SPMV(common.verify_text), .value = "full",
     .argument = "full|sample:N|off", .help = "rows of every product that are checked"},
    {.name = "sectors", .type = WR_OPTION_FLAG, .offset = SPMV(sectors),
     .help = "count the 32-byte sectors that kernels on plain rows read from a GPU's L2, to be compared with a "
             "profiler's"},
    {.name = "json", .type = WR_OPTION_TEXT, .offset = SPMV(common.json), .argument = "FILE", .group = "Files",
     .help = "write everything as JSON; - is standard output, the tables then go to standard error"},
    {.name = "jsonl", .type = WR_OPTION_TEXT, .offset = SPMV(common.jsonl), .argument = "FILE",
     .help = "append each matrix, when it is done in a precision, as one line of JSON"},
    {.name = "report", .type = WR_OPTION_TEXT, .offset = SPMV(common.report), .argument = "FILE",
     .help = "write the report as one page of HTML with pictures, for a browser and for print"},
    {.name = "csv", .type = WR_OPTION_TEXT, .offset = SPMV(csv), .argument = "FILE",
     .help = "write a line for each backend and matrix"},
    {.name = "input-format", .type = WR_OPTION_CHOICE, .offset = SPMV(common.input_format), .choices = "auto|mtx|edges",
     .value = "auto", .help = "of the matrices: Matrix Market or edge lists; auto: by the endings of their names"},
    EDGE_LIST_OPTIONS(SPMV_COMMON),
    {.name = "config", .type = WR_OPTION_TEXT, .offset = SPMV(common.config), .argument = "FILE",
     .help = "read options from a file; the command line wins"},
    {.name = "verbose", .letter = 'v', .type = WR_OPTION_FLAG, .offset = SPMV(common.verbose), .group = "Reports",
     .help = "also the effective options, and what each format chose and why"},
    LAST_OPTIONS(SPMV_COMMON)};

#define SOLVER_EXITS                                                                                                    \
  {"0", "verified"}, {"1", "usage"}, {"2", "not converged"}, {"3", "bad input"}, {"4", "not available"},                \
  {"5", "breakdown"}, {"6", "out of memory"}, {"7", "verification failed"}, {"8", "output not written"},                \
  {"9", "device error"}, {"130", "interrupted"}, {NULL, NULL}

#define SOLVER_LIST                                                                                                     \
  {"@LIST", "a file with one of these a line, paths from the current folder; # begins a comment; a list cannot "        \
            "name a list. Each is taken in turn as by a call of its own; the exit code is the worst, the first of "     \
            "130, 7, 9, 5, 6, 8, 3, 1, 2, 4, 0."}

const wr_program_text wr_pagerank_text = {
    .operands = "GRAPH|@LIST",
    .summary = "Ranks the nodes of a graph (PageRank), with a bound on the error of the scores.",
    .words =
        (const wr_phrase[]){
            {"GRAPH", "a Matrix Market file or an edge list (.tsv .txt .el .csv), gzip too; - for standard input; or "
                      "gen:FAMILY:key=value,..."},
            SOLVER_LIST,
            {"Vectors", "Matrix Market, .npy, lines of a number, or lines of id and number, told by their content."},
            {NULL, NULL}},
    .examples =
        (const wr_phrase[]){
            {"pagerank web.mtx", "the ten best pages"},
            {"pagerank -k cpu_csr,cusparse web.mtx", "two backends compared"},
            {"pagerank -o s.tsv e.tsv", "an edge list; lines of id and score"},
            {"pagerank --columns 2,3 visits.csv", "columns 2 and 3 of a table are the edges"},
            {"pagerank --check s.tsv e.tsv", "are these scores right?"},
            {"pagerank gen:web:n=100000", "a generated graph"},
            {NULL, NULL}},
    .exits = (const wr_phrase[]){SOLVER_EXITS},
};

const wr_program_text wr_bicgstab_text = {
    .operands = "MATRIX|@LIST",
    .summary = "Solves A x = b by CG, BiCGSTAB or IDR and checks the residual independently.",
    .words =
        (const wr_phrase[]){
            {"MATRIX", "a Matrix Market file or lines of row, column, value (.tsv .txt .el .csv), gzip too; - for "
                       "standard input; or gen:FAMILY:key=value,..."},
            SOLVER_LIST,
            {"Vectors", "Matrix Market, .npy, lines of a number, or lines of id and number, told by their content."},
            {NULL, NULL}},
    .examples =
        (const wr_phrase[]){
            {"bicgstab A.mtx", "b = A times ones"},
            {"bicgstab -b b.mtx -o x.mtx A.mtx", "right-hand side and solution as files"},
            {"bicgstab --precond jacobi A.mtx", "the columns scaled by the diagonal"},
            {"bicgstab --precond ilu0 A.mtx", "fewer iterations, by incomplete factors"},
            {"bicgstab --check x.mtx -b b.mtx A.mtx", "does this x solve it?"},
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
            {"@LIST", "a file with one of these a line, paths from the current folder; # begins a comment; a list "
                      "cannot name a list."},
            {NULL, NULL}},
    .report =
        (const wr_phrase[]){
            {"", "The table has a line for each backend:"},
            {"prepare, first us", "medians over a few preparations, and over the first multiplies after them"},
            {"hot us, +-", "median of many multiplies, and its 95% interval"},
            {"a vector", "hot us, by the number of vectors that a multiply takes at once (--vectors)"},
            {"cold us", "median of multiplies with an overwritten last-level cache (--cold)"},
            {"bytes, GB/s", "the least that a multiply moves, and that divided by the hot time"},
            {"read", "GB/s as a share of the bandwidth measured for reading memory; from cache: more than that"},
            {"memory", "of the backend's format and of the matrix's arrays that it uses"},
            {"speed-up",
             "against the first backend of the list; = if the intervals are not 2% apart, ? if there are none"},
            {"pays at", "multiplies after which the longer preparation has paid; \"to N\": the backend is slower, but "
                        "takes less time to prepare, and so less in all for up to N multiplies"},
            {"saves us", "with --solves or --advise: of a multiply, against the first backend"},
            {"worth it", "with them: yes if it takes less time in all than the first backend, preparation included"},
            {"", "The last line names the backend that takes the least time, by the number of multiplies."},
            {NULL, NULL}},
    .examples =
        (const wr_phrase[]){
            {"spmv A.mtx", "every backend that runs here"},
            {"spmv -k merbit,cusparse --cold @list", "two backends, also with cold caches"},
            {"spmv --advise --solves 10 A.mtx", "is another backend worth its preparation?"},
            {"spmv --json out.json gen:web gen:fem", "generated matrices, a report as JSON"},
            {NULL, NULL}},
    .exits =
        (const wr_phrase[]){
            {"0", "all is right"}, {"1", "usage"}, {"3", "bad input"}, {"4", "not available"},
            {"5", "non-finite numbers"}, {"6", "out of memory"}, {"7", "a product is wrong"},
            {"8", "output not written"}, {"9", "device error"}, {"130", "interrupted"}, {NULL, NULL}},
};

static int has_prefix(const char *text, const char *prefix) { return strncmp(text, prefix, strlen(prefix)) == 0; }

/* The whole of text as a count in 0..max. */
static int parse_count(const char *text, int64_t max, int64_t *value) {
  return *text >= '0' && *text <= '9' && wr_number_integer(text, text + strlen(text), value) == WR_NUMBER_OK &&
         *value <= max;
}

static wr_status finish_verify(wr_settings *s) {
  static const char *const names[] = {
      [WR_VERIFY_OFF] = "off", [WR_VERIFY_DEVICE] = "device", [WR_VERIFY_SAMPLE] = "sample", [WR_VERIFY_FULL] = "full"};
  s->verify_rows = WR_VERIFY_SAMPLE_ROWS;
  s->verify_auto = strcmp(s->verify_text, "auto") == 0;
  s->verify = WR_VERIFY_FULL;
  if (s->verify_auto) return WR_OK;
  if (has_prefix(s->verify_text, "sample:") && parse_count(s->verify_text + 7, INT64_MAX, &s->verify_rows) &&
      s->verify_rows > 0) {
    s->verify = WR_VERIFY_SAMPLE;
    return WR_OK;
  }
  for (int level = WR_VERIFY_OFF; level <= WR_VERIFY_FULL; level++)
    if (strcmp(s->verify_text, names[level]) == 0) {
      s->verify = (wr_verified)level;
      return WR_OK;
    }
  return wr_fail(WR_EUSAGE, "--verify: '%s' is none of full, sample:N, device, off, auto", s->verify_text);
}

const char *wr_first_given(const wr_given *options) {
  while (options->name && !options->is_given) options++;
  return options->name;
}

/* --check computes on the host alone, and writes nothing but a report. */
static wr_status finish_check(const wr_settings *s) {
  const wr_given others[] = {
      {"backend", s->backends != NULL}, {"output", s->output != NULL}, {"guess", s->guess != NULL},
      {"history", s->history != NULL}, {"report", s->report != NULL},
      {"repeat", s->repeat > 1}, {"time-limit", s->time_limit > 0},
      {"fallback", s->fallback != WR_FALLBACK_NONE}, {"jsonl", s->jsonl != NULL}, {"format", s->format > 0},
      {NULL, 0}};
  const char *other = wr_first_given(others);
  if (other) return wr_fail(WR_EUSAGE, "--check solves nothing: leave out --%s", other);
  return s->device == WR_DEVICE_CUDA ? wr_fail(WR_EUSAGE, "--check computes on the CPU: leave out --device") : WR_OK;
}

static wr_status finish_order(const wr_settings *s) {
  if (s->check) return wr_fail(WR_EUSAGE, "--check solves nothing: leave out --stop order");
  return s->top > 0 ? WR_OK : wr_fail(WR_EUSAGE, "--stop order needs a --top of 1 or more");
}

/* Refused before anything is read: the fallback may come after hours. */
static wr_status check_fallback(void) {
  wr_status status = wr_direct_check();
  return status == WR_OK ? WR_OK : wr_fail(status, "--fallback direct: %s", wr_status_message());
}

static wr_status finish_precond(wr_settings *s) {
  wr_solving_options found = {.iterate.method = wr_method_at(s->method - 1)};
  PASS(wr_solving_choose_precond(s->precond_text, &found));
  s->precond = 0, s->precond_knobs = found.precond_knobs, s->precond_auto = found.precond_auto;
  while (wr_preconditioner_at(s->precond) != found.precond) s->precond++;
  return WR_OK;
}

/* The form of lists of nodes that a choice of --format asks for; WR_TOP_TABLE: none. */
static const wr_top_format forms[] = {[1 + WR_VECTOR_TSV] = WR_TOP_TSV, [1 + WR_VECTOR_CSV] = WR_TOP_CSV,
                                      [1 + WR_VECTOR_FORMATS] = WR_TOP_JSON};

/* By the ending of the output's name, or by --format; standard output gets tab-separated values. */
static wr_status finish_sets_form(wr_settings *s) {
  s->sets_form = s->top_format;
  if (s->output == NULL) return WR_OK;
  const char *ending = strrchr(s->output, '.');
  wr_vector_format vector = wr_vector_format_named(s->output);
  wr_top_format asked = forms[s->format], named = vector < WR_VECTOR_FORMATS ? forms[1 + vector] : WR_TOP_TABLE;
  if (ending && strcasecmp(ending, ".jsonl") == 0) named = WR_TOP_JSON;
  int is_known = named || asked || strcmp(s->output, "-") == 0;
  int is_vector = vector < WR_VECTOR_FORMATS && !named; /* Matrix Market, values alone, NumPy */
  if (!is_known || is_vector || (s->format > 0 && !asked) || (named && asked && named != asked))
    return wr_fail(WR_EUSAGE, "%s: with --seeds results end in .tsv, .csv or .jsonl, and --format is tsv, csv or json",
                   s->output);
  s->sets_form = named ? named : asked ? asked : WR_TOP_TSV;
  return WR_OK;
}

/* --seeds ranks by the power method from the sets themselves, and what is written are the best nodes of each. */
static wr_status finish_seeds(const wr_settings *s) {
  const wr_given others[] = {
      {"personalize", s->personalize != NULL}, {"guess", s->guess != NULL}, {"check", s->check != NULL},
      {"history", s->history != NULL}, {"repeat", s->repeat > 1}, {"stop order", s->stop == WR_STOP_ORDER},
      {"precision mixed", s->precision == WR_PRECISION_MIXED}, {NULL, 0}};
  const char *other = wr_first_given(others);
  if (other) return wr_fail(WR_EUSAGE, "--seeds ranks many sets: leave out --%s", other);
  if (s->ranking != WR_RANK_AUTO && s->ranking != WR_RANK_POWER)
    return wr_fail(WR_EUSAGE, "--seeds ranks by the power method: leave out --method %s",
                   wr_rank_method_name((wr_rank_method)s->ranking));
  if (s->backends && strchr(s->backends, ','))
    return wr_fail(WR_EUSAGE, "--seeds ranks with one backend: --backend names several");
  if (s->vectors > 2 && s->vectors != 4 && s->vectors != 8)
    return wr_fail(WR_EUSAGE, "--vectors is 1, 2, 4 or 8, not %lld", (long long)s->vectors);
  return WR_OK;
}

/* It is read as well as replaced, so it has to be a file. */
static wr_status check_tune_cache(const wr_settings *s) {
  if (s->tune_cache == NULL || (s->tune_cache[0] && strcmp(s->tune_cache, "-") != 0)) return WR_OK;
  return wr_fail(WR_EUSAGE, "--tune-cache: '%s' is no file; name one", s->tune_cache);
}

const char *wr_settings_precision(const wr_settings *s) {
  return s->precision == WR_F32 ? "f32" : s->precision == WR_F64 ? "f64" : "mixed";
}

/* Methods that compute in f64 alone would leave a plan in f32 without use. */
static wr_status finish_mixed(const wr_settings *s) {
  if (s->check) return wr_fail(WR_EUSAGE, "--check solves nothing: leave out --precision mixed");
  if (s->ranking != WR_RANK_IDR && s->ranking != WR_RANK_GAUSS_SEIDEL) return WR_OK;
  return wr_fail(WR_EUSAGE, "--precision mixed is for the methods power and chebyshev: %s computes in f64",
                 wr_rank_method_name((wr_rank_method)s->ranking));
}

/* Without --output, --format is that of the best nodes, which pagerank alone has. */
static wr_status finish_format(wr_settings *s) {
  int is_json = s->format == 1 + WR_VECTOR_FORMATS;
  if (is_json && s->rhs_text)
    return wr_fail(WR_EUSAGE, "--format json is for the best nodes of pagerank; --json writes a report");
  if (is_json && s->output)
    return wr_fail(WR_EUSAGE, "--format json is for the --top best nodes, on standard output: leave out --output");
  if (s->format == 0 || s->output || s->check) return WR_OK; /* finish_check refuses it */
  if (s->rhs_text) return wr_fail(WR_EUSAGE, "--format is that of x: name its file with --output");
  s->top_format = forms[s->format];
  if (s->top_format != WR_TOP_TABLE) return WR_OK;
  return wr_fail(WR_EUSAGE, "--format is tsv, csv or json without --output: name a file for all scores with --output");
}

wr_status wr_settings_finish(wr_settings *s) {
  PASS(wr_device_parse("--device", s->device_text, &s->device, &s->device_number));
  PASS(check_tune_cache(s));
  PASS(finish_verify(s));
  PASS(finish_format(s));
  wr_vector_format asked = s->format > 0 ? (wr_vector_format)(s->format - 1) : WR_VECTOR_FORMATS;
  if (s->seeds) PASS(finish_seeds(s));
  if (s->seeds == NULL && s->vectors > 0)
    return wr_fail(WR_EUSAGE, "--vectors is a number of sets, for --seeds; it is not given");
  if (s->seeds)
    PASS(finish_sets_form(s));
  else if (s->output)
    PASS(wr_vector_format_choose(s->output, asked, &s->output_format));
  if (s->columns_text) PASS(wr_edge_choice_parse(s->columns_text, "--columns", &s->columns));
  s->columns.header = (wr_edge_header)s->header, s->columns.separator = (wr_edge_separator)s->separator;
  s->columns.ids = (wr_edge_ids)s->ids;
  if (s->check) PASS(finish_check(s));
  if (s->fallback == WR_FALLBACK_DIRECT) PASS(check_fallback());
  PASS(finish_precond(s));
  PASS(wr_option_split(s->rhs, &s->rhs_files, &s->rhs_count));
  /* rhs_text is NULL for pagerank alone: bicgstab sets it. Values of `stop` of both programs overlap. */
  if (s->rhs_text == NULL && s->stop == WR_STOP_ORDER) PASS(finish_order(s));
  if (s->rhs_text == NULL && s->precision == WR_PRECISION_MIXED) PASS(finish_mixed(s));
  if (s->verbose && s->quiet) return wr_fail(WR_EUSAGE, "--verbose and --quiet contradict each other");
  if (s->rhs_text && has_prefix(s->rhs_text, "random:")) {
    s->rhs_random = 1;
    if (!parse_count(s->rhs_text + 7, INT64_MAX, &s->rhs_seed))
      return wr_fail(WR_EUSAGE, "--rhs: the seed in '%s' is not a number", s->rhs_text);
    if (s->rhs) return wr_fail(WR_EUSAGE, "--rhs %s and --rhs-file (-b) both give b: leave one out", s->rhs_text);
  } else if (s->rhs_text && strcmp(s->rhs_text, "ones") != 0) {
    return wr_fail(WR_EUSAGE, "--rhs: '%s' is neither ones nor random:SEED; a file goes with -b", s->rhs_text);
  }
  return WR_OK;
}
