/* What a program says of itself, in fields: --help prints them, and tools/manual.c makes the manual page from them. */
#ifndef WR_PROGRAM_TEXT_H
#define WR_PROGRAM_TEXT_H

#include <stdio.h>

#include "config/option.h"

/* A word and what it means. Lists of them end with a NULL word. */
typedef struct wr_phrase {
  const char *word, *text;
} wr_phrase;

typedef struct wr_program_text {
  const char *operands;         /* of the usage line, behind [options]                                           */
  const char *summary;          /* one sentence, with its full stop                                              */
  const wr_phrase *words;       /* what the operands are                                                         */
  const wr_phrase *report;      /* how to read what is printed; "" stands for a plain sentence; NULL: no list    */
  const wr_phrase *examples;    /* a command, and what it does                                                   */
  const wr_phrase *exits;       /* exit codes, ascending                                                         */
} wr_program_text;

extern const wr_program_text wr_pagerank_text;
extern const wr_program_text wr_bicgstab_text;
extern const wr_program_text wr_spmv_text;

/* Prints --help: what the program `name` says of itself in at most 80 columns, and its options. */
void wr_program_help(const char *name, const wr_program_text *text, const wr_option *options, FILE *out);

#endif
