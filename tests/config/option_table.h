/* The table that test_option.c and test_option_text.c try: every type, every kind of range and default. */
#ifndef WR_OPTION_TABLE_H
#define WR_OPTION_TABLE_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "config/option.h"
#include "tests/check.h"

typedef struct settings {
  int help, shim, verbose, quiet, graph, device, stop;
  int64_t top, repeat, any;
  double tolerance, damping, real;
  char *config, *output, *title, *binary;
} settings;

#define AT(member) .offset = offsetof(settings, member)

static const wr_option table[] = {
    {.name = "device",
     .letter = 'd',
     .type = WR_OPTION_CHOICE,
     AT(device),
     .choices = "cpu|cuda|auto",
     .value = "auto",
     .help = "where to compute",
     .group = "Computing"},
    {.name = "graph", .type = WR_OPTION_FLAG, AT(graph), .value = "yes", .help = "capture the loop"},
    {.name = "tolerance",
     .letter = 't',
     .type = WR_OPTION_REAL,
     AT(tolerance),
     .min = 0,
     .above_min = 1,
     .max = 1,
     .value = "1e-9",
     .help = "bound on the error of the scores",
     .group = "Stopping"},
    {.name = "damping",
     .type = WR_OPTION_REAL,
     AT(damping),
     .min = 0,
     .max = 1,
     .below_max = 1,
     .value = "0.85",
     .help = "damping factor"},
    {.name = "real", .type = WR_OPTION_REAL, AT(real), .min = -INFINITY, .max = INFINITY, .help = "any number"},
    {.name = "stop",
     .type = WR_OPTION_CHOICE,
     AT(stop),
     .choices = "error|change",
     .argument = "THE-STOPPING-RULE",
     .help = "what stops the iteration"},
    {.name = "top",
     .letter = 'n',
     .type = WR_OPTION_INT,
     AT(top),
     .min = 0,
     .max = 1e6,
     .value = "10",
     .help = "pages listed, a phrase that goes on for so long that it does not fit into one line of the help, with "
             "lines of at most eighty columns, and so has to be folded more than once",
     .group = "Output"},
    {.name = "repeat", .type = WR_OPTION_INT, AT(repeat), .min = 1, .max = 0x1p63, .help = "solves"},
    {.name = "any", .type = WR_OPTION_INT, AT(any), .min = -0x1p63, .max = 0x1p63, .help = "any whole number"},
    {.name = "output", .letter = 'o', .type = WR_OPTION_TEXT, AT(output), .argument = "FILE", .help = "the result"},
    {.name = "title", .type = WR_OPTION_TEXT, AT(title), .value = "no title", .help = "heading"},
    {.name = "binary",
     .type = WR_OPTION_TEXT,
     AT(binary),
     .help = "prepared matrix",
     .missing = "there is no binary yet"},
    {.name = "shim", .type = WR_OPTION_FLAG, AT(shim), .help = "without a device", .missing = "there is no shim yet"},
    {.name = "config",
     .letter = 'c',
     .type = WR_OPTION_TEXT,
     AT(config),
     .argument = "FILE",
     .help = "options",
     .group = "Other"},
    {.name = "verbose", .letter = 'v', .type = WR_OPTION_FLAG, AT(verbose), .help = "say more"},
    {.name = "quiet", .letter = 'q', .type = WR_OPTION_FLAG, AT(quiet), .help = "say less"},
    {.name = "help", .letter = 'h', .type = WR_OPTION_FLAG, AT(help), .help = "this text", .command = 1},
    {0}};

static inline settings fresh(void) {
  settings s;
  memset(&s, 0xA5, sizeof s); /* defaults are set in memory that may hold anything */
  CHECK_OK(wr_options_default(table, &s));
  return s;
}

#endif
