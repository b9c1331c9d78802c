#define _DEFAULT_SOURCE /* STDIN_FILENO */
#include "solvers/program/paths.h"

#include <string.h>
#include <unistd.h>

#include "data/generate.h"
#include "io/file_place.h"

static wr_file_place place_of(const wr_path *p) {
  if (strcmp(p->path, "-") == 0) return wr_file_place_open(p->is_output ? STDOUT_FILENO : STDIN_FILENO);
  if (!p->is_output && wr_generate_is_name(p->path)) return (wr_file_place){.kind = WR_PLACE_OTHER};
  return wr_file_place_at(p->path);
}

static wr_status refuse(const wr_path *output, const wr_path *other) {
  if (other->is_output)
    return wr_fail(WR_EUSAGE, "%s %.200s and %s %.200s are the same file; give each output a file of its own",
                   output->name, output->path, other->name, other->path);
  return wr_fail(WR_EUSAGE, "%s %.200s would overwrite %s %.200s, which is the same file; choose another name",
                 output->name, output->path, other->name, other->path);
}

wr_status wr_paths_check(const wr_path *paths, int64_t count) {
  for (int64_t k = 0; k < count; k++) {
    if (paths[k].path == NULL || !paths[k].is_output) continue;
    wr_file_place output = place_of(&paths[k]);
    for (int64_t m = 0; m < count; m++) {
      if (paths[m].path == NULL || (paths[m].is_output && m <= k)) continue;
      wr_file_place other = place_of(&paths[m]);
      int harmless = output.kind == WR_PLACE_PIPE && !paths[m].is_output;
      if (wr_file_place_is(&output, &other) && !harmless) return refuse(&paths[k], &paths[m]);
    }
  }
  return WR_OK;
}

int wr_path_is_standard_output(const char *path) {
  if (path == NULL) return 0;
  if (strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0) return 1;
  wr_file_place named = wr_file_place_at(path), standard = wr_file_place_open(STDOUT_FILENO);
  return wr_file_place_is(&named, &standard);
}
