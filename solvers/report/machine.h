/* Facts about the machine and the build, for reports. */
#ifndef WR_MACHINE_H
#define WR_MACHINE_H

#include "solvers/report/json.h"

typedef struct wr_machine {
  char cpu[128];      /* model name                         */
  int cores;          /* that this process may use          */
  double memory;      /* bytes                              */
  char system[128];   /* kernel name and release            */
  char compiler[64];  /* that built this                    */
  char cuda[64];      /* toolkit of this build, or "none"   */
} wr_machine;

/* Facts that the system does not provide stay empty or 0. */
void wr_machine_get(wr_machine *machine);

/* 1 if the process sees an NVIDIA device, whether or not there is software to use it: folder ("/dev") has a file nvidia0,
 * nvidia1, ... */
int wr_machine_has_gpu(const char *folder);

/* The members "machine" and "versions" of a report. */
void wr_machine_write(wr_json *json);

#endif
