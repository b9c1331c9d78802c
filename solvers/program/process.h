/* What each program does around its work: signals, standard output, the last line about an error, actions such as --help. */
#ifndef WR_PROCESS_H
#define WR_PROCESS_H

#include <signal.h>
#include <stdio.h>

#include "solvers/program/settings.h"

/* At the beginning of a program: a write beyond the limit on file sizes (ulimit -f) fails with a reason from now on, where the
 * signal SIGXFSZ would end the process. */
void wr_process_begin(void);

/* From now on SIGINT, SIGTERM, SIGHUP (the terminal is lost) and SIGXCPU (the limit on CPU time is reached) set
 * *wr_process_interrupted(), by which the work ends early; a second SIGINT or SIGTERM ends the process. A signal stays ignored
 * if the process was started so, as a shell does in the background and nohup with SIGHUP. */
void wr_process_catch_signals(void);

/* Points to 0, and from the first signal on to another number. */
const volatile sig_atomic_t *wr_process_interrupted(void);

/* WR_EOUTPUT unless all that was printed to out has been taken. */
wr_status wr_process_flush(FILE *out);

/* Prints this thread's last error to standard error. Returns the exit code of status. */
int wr_process_complain(const char *program, wr_status status);

/* The same of one of several matrices: the message names it unless the sentence begins with its name. name NULL: as above. */
int wr_process_complain_of(const char *program, const char *name, wr_status status);

/* Ends the process at once, with all output written, while another thread may be at work: opening a device cannot be called
 * off, and would be waited for otherwise. */
_Noreturn void wr_process_leave(int code);

/* 1 if the settings ask for an action: --help, --version, --list-backends or --list-generators; 0 for work. */
int wr_process_is_action(const wr_settings *settings);

/* Does it, on standard output. */
wr_status wr_process_act(const char *program, const wr_program_text *text, const wr_option *options,
                         const wr_settings *settings);

#endif
