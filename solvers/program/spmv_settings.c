#include "solvers/program/spmv_settings.h"

#include <stddef.h>

#include "solvers/program/apply_time.h"

#define AT(field) offsetof(wr_spmv_settings, field)
const wr_option wr_spmv_options[] = {
    {.name = "backend", .letter = 'k', .type = WR_OPTION_TEXT, .offset = AT(common.backends), .argument = "LIST",
     .group = "What to run",
     .help = "backends with their knobs, as for the programs; default: all that run here but reference"},
    {.name = "device", .letter = 'd', .type = WR_OPTION_TEXT, .offset = AT(common.device_text), .value = "auto",
     .argument = "cpu|cuda[:N]|auto", .help = "leaves out what runs elsewhere"},
    {.name = "precision", .letter = 'p', .type = WR_OPTION_CHOICE, .offset = AT(precision), .choices = "f32|f64|both",
     .value = "both", .help = "type of vectors and stored values"},
    {.name = "values", .type = WR_OPTION_FLAG, .offset = AT(values),
     .help = "with values: those of the matrix, or made-up ones for a pattern"},
    {.name = "pattern", .type = WR_OPTION_FLAG, .offset = AT(pattern),
     .help = "without values (after the run with values if both are asked for)"},
    {.name = "standard", .type = WR_OPTION_FLAG, .offset = AT(standard),
     .help = "a standard set of generated matrices, at full size where there is a GPU; patterns with made-up "
             "values and without"},
    {.name = "threads", .type = WR_OPTION_INT, .offset = AT(common.threads), .min = 0, .max = 4096, .value = "0",
     .help = "CPU threads; 0: all"},
    {.name = "deterministic", .type = WR_OPTION_FLAG, .offset = AT(common.deterministic),
     .help = "the same bits from run to run"},
    {.name = "batches", .type = WR_OPTION_INT, .offset = AT(batches), .min = 1, .max = 1e5, .value = "31",
     .group = "How to measure", .help = "hot batches of a millisecond or more, and cold multiplies, for each backend"},
    {.name = "seconds", .type = WR_OPTION_REAL, .offset = AT(seconds), .min = 0, .max = 1e6, .value = WR_APPLY_SECONDS,
     .help = "a slow backend is timed no longer for each of these, but seven batches"},
    {.name = "cold", .type = WR_OPTION_FLAG, .offset = AT(cold),
     .help = "also single multiplies, each after twice the last cache was overwritten"},
    {.name = "verify", .type = WR_OPTION_TEXT, .offset = AT(common.verify_text), .value = "full",
     .argument = "full|sample:N|off", .help = "rows of every product that are checked"},
    {.name = "sectors", .type = WR_OPTION_FLAG, .offset = AT(sectors),
     .help = "count the 32-byte sectors that kernels on plain rows read from a GPU's L2, to be held beside a "
             "profiler's"},
    {.name = "json", .type = WR_OPTION_TEXT, .offset = AT(common.json), .argument = "FILE", .group = "Files",
     .help = "write everything as JSON; - is standard output, the tables then go to standard error"},
    {.name = "input-format", .type = WR_OPTION_CHOICE, .offset = AT(common.input_format), .choices = "auto|mtx|edges",
     .value = "auto", .help = "of the matrices: Matrix Market or edge lists; auto: by the endings of their names"},
    {.name = "columns", .type = WR_OPTION_TEXT, .offset = AT(common.columns_text),
     .argument = "SOURCE,TARGET[,WEIGHT]", .help = WR_COLUMNS_HELP},
    {.name = "config", .type = WR_OPTION_TEXT, .offset = AT(common.config), .argument = "FILE",
     .help = "read options from a file; the command line wins"},
    {.name = "verbose", .letter = 'v', .type = WR_OPTION_FLAG, .offset = AT(common.verbose), .group = "Reports",
     .help = "more: effective options, and what each format chose and why"},
    {.name = "quiet", .letter = 'q', .type = WR_OPTION_FLAG, .offset = AT(common.quiet), .help = "nothing but errors"},
    {.name = "list-backends", .type = WR_OPTION_FLAG, .offset = AT(common.list_backends), .command = 1,
     .help = "all backends, what they need, and why one is not available"},
    {.name = "list-generators", .type = WR_OPTION_FLAG, .offset = AT(common.list_generators), .command = 1,
     .help = "the matrices that gen:FAMILY:key=value,... makes, with their keys"},
    {.name = "version", .type = WR_OPTION_FLAG, .offset = AT(common.version), .command = 1,
     .help = "print the version"},
    {.name = "help", .letter = 'h', .type = WR_OPTION_FLAG, .offset = AT(common.help), .command = 1,
     .help = "print this"},
    {0}};
