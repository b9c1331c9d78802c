/* The control groups that this process is in, as a container's limits of memory and processor time are set by them. */
#ifndef WR_CONTROL_GROUP_H
#define WR_CONTROL_GROUP_H

/* Calls visit(folder, version, context) for the folder of each group that controls `controller` ("memory", "cpu") for this
 * process, and for the groups above it: those of version 2, and of version 1 where the controller is named. The groups are
 * the lines of root/proc/self/cgroup and their folders lie under root/sys/fs/cgroup; root is "" but in tests. A folder may be
 * absent, since a container sees its own group as the mount's root. */
void wr_control_groups_visit(const char *root, const char *controller,
                             void (*visit)(const char *folder, int version, void *context), void *context);

#endif
