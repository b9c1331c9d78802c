/* Facts about the machine and the build, for reports. */
#ifndef WR_MACHINE_H
#define WR_MACHINE_H

#include "solvers/report/json.h"

/* 1 if the process sees an NVIDIA device, whether or not there is software to use it: folder ("/dev") has a file nvidia0,
 * nvidia1, ... */
int wr_machine_has_gpu(const char *folder);

typedef struct wr_machine {
  char cpu[128], system[128]; /* names                                      */
  int cores;                  /* that this process may use                  */
  double memory_bytes;        /* 0: the system does not say                 */
  char compiler[64], cuda[64]; /* of this build; the toolkit, or "none"      */
} wr_machine;

wr_machine wr_machine_get(void);

/* The members "machine" and "versions" of a report. */
void wr_machine_write(wr_json *json);

#endif
