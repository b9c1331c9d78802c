/* Errors are values. A function that can fail returns a wr_status; the sentence that goes with it (what went wrong, with
 * the values, and what would help) is kept for the calling thread until the next wr_fail and read with wr_status_message.
 * Only the programs' main files print it and exit. PASS and TRY, by which our own code hands it on, are in config/status.h. */
#ifndef WR_ERRORS_H
#define WR_ERRORS_H

/* name, exit code of a program that ends with it, what it means */
#define WR_STATUS_LIST(X)                                                       \
  X(WR_OK, 0, "success")                                                        \
  X(WR_EUSAGE, 1, "wrong usage, unknown backend or knob")                       \
  X(WR_EINPUT, 3, "bad, missing or unreadable input")                           \
  X(WR_EUNAVAILABLE, 4, "device or backend not available")                      \
  X(WR_ENUMERIC, 5, "non-finite numbers where finite ones are needed")          \
  X(WR_ENOMEM, 6, "out of memory")                                              \
  X(WR_EINTERNAL, 7, "a defect of windrow")                                     \
  X(WR_EOUTPUT, 8, "an output could not be written")                            \
  X(WR_EDEVICE, 9, "device error")

typedef enum wr_status {
#define WR_STATUS_ENUM(name, exit_code, sentence) name,
  WR_STATUS_LIST(WR_STATUS_ENUM)
#undef WR_STATUS_ENUM
} wr_status;

#if defined(__GNUC__)
#define WR_PRINTF(format_at, first_at) __attribute__((format(printf, format_at, first_at)))
#else
#define WR_PRINTF(format_at, first_at)
#endif

/* Around what a header declares: C functions, also where a C++ or CUDA source includes it. */
#ifdef __cplusplus
#define WR_C_BEGIN extern "C" {
#define WR_C_END }
#else
#define WR_C_BEGIN
#define WR_C_END
#endif

WR_C_BEGIN

/* Every function here and in the headers that build on this one checks its arguments. A pointer that is NULL without being
 * allowed to, a size, count or tolerance out of range or NaN, a value that is not one of its enum: WR_EUSAGE with the names of
 * the function and of the argument, and the function has no effect. Functions that return no status do nothing then, and return
 * NULL, 0 or "", or what their comment says. */

/* Stores the sentence for this thread and returns code, so that an error is one line: return wr_fail(WR_EINPUT, ...).
 * format NULL: no sentence. */
wr_status wr_fail(wr_status code, const char *format, ...) WR_PRINTF(2, 3);

/* The sentence of this thread's last failure; "" before the first. Valid until the next wr_fail of the thread. */
const char *wr_status_message(void);

/* Of a code that is not in the list: "unknown status", and the exit code of WR_EINTERNAL. */
const char *wr_status_name(wr_status code);      /* "WR_EINPUT"                         */
const char *wr_status_sentence(wr_status code);  /* "bad, missing or unreadable input"  */
int wr_status_exit_code(wr_status code);         /* 3                                   */

WR_C_END
#endif
