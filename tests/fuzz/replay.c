/* Replays what the fuzz targets began with and found: every file of tests/data through every target, and what an archive
 * NAME.tar.gz there holds through the target of that name, in one ordinary program. With arguments: just these files. */
#define _DEFAULT_SOURCE /* scandir */
#include <dirent.h>
#include <stdlib.h>

#include "io/input_text.h"
#include "tests/check.h"
#include "tests/fuzz/harness.h"

static const struct target {
  const char *name;
  int (*run)(const uint8_t *bytes, size_t count);
} targets[] = {{"mtx", wr_fuzz_mtx},       {"edges", wr_fuzz_edges},     {"vector", wr_fuzz_vector},
               {"binary", wr_fuzz_binary}, {"options", wr_fuzz_options}, {"knobs", wr_fuzz_knobs},
               {"tuned", wr_fuzz_tuned},   {"sets", wr_fuzz_sets}};

static uint8_t *load(const char *path, size_t *count) {
  FILE *file = fopen(path, "r");
  uint8_t *bytes = NULL;
  *count = 0;
  for (size_t room = 1 << 16, got = 1; file != NULL && got > 0; room *= 2) {
    bytes = realloc(bytes, room);
    got = fread(bytes + *count, 1, room - *count, file);
    *count += got;
  }
  if (file != NULL) fclose(file);
  return bytes;
}

/* A target gets a block of just the input's size, so that a sanitizer sees what lies behind it. only NULL: every target. */
static void replay_bytes(const void *bytes, size_t count, const char *only) {
  uint8_t *exact = malloc(count + (count == 0));
  if (count > 0) memcpy(exact, bytes, count);
  for (size_t t = 0; t < sizeof targets / sizeof *targets; t++) {
    long held, broken, held_before, broken_before;
    if (only != NULL && strcmp(only, targets[t].name) != 0) continue;
    harness_counts(&held_before, &broken_before);
    targets[t].run(exact, count);
    harness_counts(&held, &broken);
    CHECKF(broken == broken_before, "%s: %ld requirements do not hold", targets[t].name, broken - broken_before);
    wr_test_passed += held - held_before;
  }
  free(exact);
}

/* Members of a ustar archive: a header of 512 bytes with the name at its beginning and the length, octal, at 124, then the
 * bytes, filled up to a multiple of 512. */
static void replay_members(const char *at, const char *end, const char *target) {
  enum { BLOCK = 512 };
  int members = 0;
  for (int64_t length; end - at > BLOCK && *at != '\0'; at += BLOCK + (length + BLOCK - 1) / BLOCK * BLOCK) {
    static char name[101]; /* a failed check names it */
    char octal[13] = "";
    memcpy(name, at, 100), memcpy(octal, at + 124, 12);
    length = strtol(octal, NULL, 8);
    if (length > end - at - BLOCK) break;
    CASE(name);
    if (at[156] != '5') replay_bytes(at + BLOCK, (size_t)length, target), members++;
  }
  CHECKF(members > 10, "%d inputs for %s", members, target);
}

static void replay_archive(const char *path) {
  wr_text text;
  char target[64];
  const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
  snprintf(target, sizeof target, "%.*s", (int)strcspn(name, "."), name);
  CASE(path);
  wr_status status = wr_text_open(path, NULL, &text);
  if (status != WR_OK && strstr(wr_status_message(), "zlib") != NULL) {
    SKIP("%s", wr_status_message());
    return;
  }
  CHECKF(status == WR_OK && text.memory != NULL, "%s", wr_status_message());
  if (status == WR_OK && text.memory != NULL) replay_members(text.memory, text.memory + text.size, target);
  if (status == WR_OK) wr_text_close(&text);
}

static void replay(const char *path) {
  size_t count, length = strlen(path);
  if (length > 7 && strcmp(path + length - 7, ".tar.gz") == 0) {
    replay_archive(path);
    return;
  }
  uint8_t *bytes = load(path, &count);
  CASE(path);
  CHECKF(bytes != NULL, "%s: cannot be read", path);
  if (bytes != NULL) replay_bytes(bytes, count, NULL);
  free(bytes);
}

static int is_seen(const struct dirent *entry) { return entry->d_name[0] != '.'; }

static void replay_folder(const char *folder) {
  struct dirent **entries;
  char path[512];
  int count = scandir(folder, &entries, is_seen, alphasort);
  CASE(folder);
  CHECKF(count > 0, "%s has no files", folder);
  for (int k = 0; k < count; k++) {
    snprintf(path, sizeof path, "%s/%.255s", folder, entries[k]->d_name);
    replay(path);
    free(entries[k]);
  }
  if (count >= 0) free(entries);
}

int main(int argc, char **argv) {
  static const char *const folders[] = {"tests/data/bad", "tests/data/edges", "tests/data/real", "tests/data/fuzz",
                                        "tests/data/sets"};
  for (int k = 1; k < argc; k++) replay(argv[k]);
  for (size_t k = 0; argc == 1 && k < sizeof folders / sizeof *folders; k++) replay_folder(folders[k]);
  return wr_test_report("fuzz_replay");
}
