#include "config/control_group.h"

#include <stdio.h>
#include <string.h>

enum { PATH_ROOM = 4096, NAME_ROOM = 128 };

typedef struct visitor {
  const char *root;
  void (*visit)(const char *folder, int version, void *context);
  void *context;
} visitor;

/* The folder root/sys/fs/cgroup/mount/group, and those above it up to the mount. */
static void visit_upwards(const visitor *v, const char *mount, const char *group, int version) {
  char folder[PATH_ROOM];
  int base = snprintf(folder, sizeof folder, "%s/sys/fs/cgroup%s", v->root, mount);
  int length = snprintf(folder, sizeof folder, "%s/sys/fs/cgroup%s%s", v->root, mount, group);
  if (length >= (int)sizeof folder) return;
  for (char *end = folder + length; end; end = strrchr(folder + base, '/')) {
    *end = '\0';
    v->visit(folder, version, v->context);
  }
}

/* A line is number:controllers:group; version 2 has number 0 and no controllers. "cpu,cpuacct" may be mounted as "cpu" too. */
static void visit_line(const visitor *v, const char *controller, char *line) {
  char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
  if (group == NULL) return;
  *controllers++ = '\0', *group++ = '\0';
  group[strcspn(group, "\n")] = '\0';
  if (controllers[0] == '\0') {
    visit_upwards(v, "", group, 2);
    return;
  }
  char list[NAME_ROOM], name[NAME_ROOM], mount[NAME_ROOM + 1];
  snprintf(list, sizeof list, ",%.*s,", NAME_ROOM - 3, controllers);
  snprintf(name, sizeof name, ",%s,", controller);
  if (strstr(list, name) == NULL) return;
  snprintf(mount, sizeof mount, "/%s", controller);
  visit_upwards(v, mount, group, 1);
  if (strcmp(controllers, controller) == 0) return;
  snprintf(mount, sizeof mount, "/%.*s", NAME_ROOM - 1, controllers);
  visit_upwards(v, mount, group, 1);
}

void wr_control_groups_visit(const char *root, const char *controller,
                             void (*visit)(const char *folder, int version, void *context), void *context) {
  const visitor v = {root, visit, context};
  char line[PATH_ROOM];
  snprintf(line, sizeof line, "%s/proc/self/cgroup", root);
  FILE *file = fopen(line, "r");
  while (file && fgets(line, sizeof line, file)) visit_line(&v, controller, line);
  if (file) fclose(file);
}
