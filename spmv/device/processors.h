/* How many threads a machine, a container and their settings leave to this process. */
#ifndef WR_PROCESSORS_H
#define WR_PROCESSORS_H

/* The number of threads where the user names none: what OpenMP would take (OMP_NUM_THREADS, or the processors that this process
 * may run on), but no more than the processor time that its control groups leave to it, rounded up. */
int wr_default_threads(void);

/* The processor time a second that the control groups of this process allow: 2.5 is that of two and a half processors; 0: no
 * limit. The least of its own group and of those above, from cpu.max (version 2) or cpu.cfs_quota_us (version 1) as found under
 * root/sys/fs/cgroup, by the names in root/proc/self/cgroup. root is "" but in tests. */
double wr_processor_quota(const char *root);

#endif
