/* Facts about the machine and the build, for reports. */
#ifndef WR_MACHINE_H
#define WR_MACHINE_H

#include "solvers/report/json.h"

/* 1 if the process sees an NVIDIA device, whether or not there is software to use it: folder ("/dev") has a file nvidia0,
 * nvidia1, ... */
int wr_machine_has_gpu(const char *folder);

/* The members "machine" and "versions" of a report. */
void wr_machine_write(wr_json *json);

#endif
