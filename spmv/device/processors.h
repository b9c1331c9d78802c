/* How many threads this process may use: by the machine, its control groups (containers) and OMP_NUM_THREADS. */
#ifndef WR_PROCESSORS_H
#define WR_PROCESSORS_H

/* The number of threads if the user gives none: OpenMP's (OMP_NUM_THREADS, or the processors that this process may run on), but
 * no more than wr_processor_quota, rounded up, nor than wr_default_threads_try has found to start soon. */
int wr_default_threads(void);

/* Tries, once a process, how long a parallel loop of wr_default_threads() takes to start: each loop waits for its last thread,
 * and with as many threads as processors that may be long, 8 ms with 64 on a virtual machine of 64 processors, 0.1 ms with 32
 * (2026-11-27). More than 8 threads become fewer by a quarter until a loop starts within 0.2 ms, the
 * median of nine. Nothing is done if OMP_NUM_THREADS is set. Returns 1 if the number is lower now. */
int wr_default_threads_try(void);

/* Such a number, of `threads` at most. seconds(t): how long a loop of t threads takes to start. */
int wr_prompt_threads(int threads, double (*seconds)(int threads));

/* Processor seconds a second that the control groups of this process allow: 2.5 are two and a half processors; 0: no limit. The
 * least limit of its own group and of those above, from cpu.max (version 2) or cpu.cfs_quota_us (version 1) as found under
 * root/sys/fs/cgroup, by the names in root/proc/self/cgroup. root is "" except in tests. */
double wr_processor_quota(const char *root);

#endif
