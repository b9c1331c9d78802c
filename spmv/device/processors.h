/* How many threads this process may use: by the machine, its control groups (containers) and OMP_NUM_THREADS. */
#ifndef WR_PROCESSORS_H
#define WR_PROCESSORS_H

/* The number of threads if the user gives none: OpenMP's (OMP_NUM_THREADS, or the processors that this process may run on), but
 * no more than wr_processor_quota, rounded up. */
int wr_default_threads(void);

/* Processor seconds a second that the control groups of this process allow: 2.5 are two and a half processors; 0: no limit. The
 * least limit of its own group and of those above, from cpu.max (version 2) or cpu.cfs_quota_us (version 1) as found under
 * root/sys/fs/cgroup, by the names in root/proc/self/cgroup. root is "" except in tests. */
double wr_processor_quota(const char *root);

#endif
