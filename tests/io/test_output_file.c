/* Output files: complete or absent. Works in a folder of its own under TMPDIR, which it removes. */
#define _GNU_SOURCE
#include "io/output_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/check.h"

enum { ROOM = 8192 };
static char folder[512];

static const char *in_folder(const char *name) {
  static char path[4][ROOM];
  static int next;
  next = (next + 1) % 4;
  snprintf(path[next], ROOM, "%s/%s", folder, name);
  return path[next];
}

/* The file's text, or "(absent)". */
static const char *contents(const char *path) {
  static char text[ROOM];
  FILE *file = fopen(path, "r");
  if (!file) return "(absent)";
  text[fread(text, 1, ROOM - 1, file)] = '\0';
  fclose(file);
  return text;
}

static int files_in_folder(void) {
  int count = 0;
  DIR *dir = opendir(folder);
  for (struct dirent *entry; dir && (entry = readdir(dir));)
    count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
  if (dir) closedir(dir);
  return count;
}

static void put(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static wr_status write_text(const char *path, const char *text) {
  wr_output_file out;
  wr_status status = wr_output_open(path, &out);
  if (status != WR_OK) return status;
  fputs(text, out.file);
  return wr_output_commit(&out);
}

static int mode_of(const char *path) {
  struct stat facts;
  return stat(path, &facts) == 0 ? (int)(facts.st_mode & 07777) : -1;
}

static void test_new(void) {
  CASE("a new file appears when it is complete");
  const char *path = in_folder("new");
  wr_output_file out;
  mode_t mask = umask(027);
  CHECK_OK(wr_output_open(path, &out));
  fputs("half", out.file);
  fflush(out.file);
  CHECK(strcmp(contents(path), "(absent)") == 0 && files_in_folder() == !out.unnamed);
  if (!out.unnamed) SKIP("this file system has no files without a name");
  fputs(" and half", out.file);
  CHECK_OK(wr_output_commit(&out));
  umask(mask);
  CHECKF(strcmp(contents(path), "half and half") == 0, "%s", contents(path));
  CHECKF(mode_of(path) == 0640, "%o", (unsigned)mode_of(path));
  CHECK(files_in_folder() == 1);
  wr_output_abandon(&out);
  CHECK(files_in_folder() == 1);
  CHECK_FAILS(WR_EINTERNAL, wr_output_commit(&out));
  unlink(path);
}

static void test_replaced(void) {
  CASE("an older file stays until the new one is complete");
  const char *path = in_folder("old");
  wr_output_file out, second;
  put(path, "old");
  CHECK(chmod(path, 0604) == 0);
  CHECK_OK(wr_output_open(path, &out));
  fputs("lost", out.file);
  fflush(out.file);
  CHECK(strcmp(contents(path), "old") == 0);
  wr_output_abandon(&out);
  CHECK(strcmp(contents(path), "old") == 0 && files_in_folder() == 1);
  CHECK_OK(write_text(path, "new"));
  CHECK(strcmp(contents(path), "new") == 0 && mode_of(path) == 0604);
  CASE("two writers of one name do not disturb each other");
  CHECK_OK(wr_output_open(path, &out));
  CHECK_OK(wr_output_open(path, &second));
  fputs("first", out.file);
  fputs("second", second.file);
  CHECK_OK(wr_output_commit(&second));
  CHECK(strcmp(contents(path), "second") == 0);
  CHECK_OK(wr_output_commit(&out));
  CHECK(strcmp(contents(path), "first") == 0 && files_in_folder() == 1);
  unlink(path);
}

static void test_link(void) {
  CASE("a symbolic link stays, what it names is replaced");
  const char *path = in_folder("link"), *target = in_folder("target");
  put(target, "old");
  CHECK(symlink("target", path) == 0);
  CHECK_OK(write_text(path, "new"));
  struct stat facts;
  CHECK(lstat(path, &facts) == 0 && S_ISLNK(facts.st_mode));
  CHECK(strcmp(contents(target), "new") == 0 && files_in_folder() == 2);
  CASE("what a symbolic link names is created");
  unlink(target);
  CHECK_OK(wr_output_check(path));
  CHECK(files_in_folder() == 1);
  CHECK_OK(write_text(path, "made"));
  CHECK(lstat(path, &facts) == 0 && S_ISLNK(facts.st_mode));
  CHECK(strcmp(contents(target), "made") == 0 && files_in_folder() == 2);
  unlink(path);
  unlink(target);
  CASE("symbolic links that lead nowhere");
  static const struct {
    const char *to;
    int error;
  } bad[] = {{"link", ELOOP}, {"none/", EISDIR}, {"none/file", ENOENT}};
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    CHECK(symlink(bad[k].to, path) == 0);
    CHECK_FAILS(WR_EOUTPUT, write_text(path, "lost"));
    CHECK_MESSAGE(strerror(bad[k].error));
    CHECK(files_in_folder() == 1 && unlink(path) == 0);
  }
}

/* A chain of links, each naming the next, and the last an absent file. */
static void test_link_chain(void) {
  CASE("as many symbolic links as the system follows");
  enum { MOST = 40 };
  char link[40], next[40];
  for (int length = MOST; length <= MOST + 1; length++) {
    for (int k = 0; k < length; k++) {
      snprintf(link, sizeof link, "link%d", k);
      snprintf(next, sizeof next, "link%d", k + 1);
      CHECK(symlink(next, in_folder(link)) == 0);
    }
    wr_status status = write_text(in_folder("link0"), "far");
    CHECKF((status == WR_OK) == (length <= MOST), "%d links: %s", length, wr_status_message());
    CHECK(files_in_folder() == length + (length <= MOST));
    for (int k = 0; k <= length; k++) {
      snprintf(link, sizeof link, "link%d", k);
      unlink(in_folder(link));
    }
  }
}

static void test_names(void) {
  char name[300], path[ROOM];
  CASE("names");
  memset(name, 'n', sizeof name);
  name[255] = '\0';
  CHECK_OK(write_text(in_folder(name), "longest"));
  CHECK(strcmp(contents(in_folder(name)), "longest") == 0);
  unlink(in_folder(name));
  name[255] = 'n';
  name[256] = '\0';
  CHECK_FAILS(WR_EOUTPUT, write_text(in_folder(name), ""));
  memset(path, 'p', sizeof path);
  path[ROOM - 1] = '\0';
  CHECK_FAILS(WR_EOUTPUT, write_text(path, ""));
  CHECK_FAILS(WR_EOUTPUT, write_text("", ""));
  CHECK_MESSAGE("empty");
  CHECK_FAILS(WR_EOUTPUT, write_text(folder, ""));
  CHECK_MESSAGE(folder);
  CHECK_FAILS(WR_EOUTPUT, write_text(in_folder("not/there"), ""));
  CHECK_MESSAGE("not/there");
  CHECK_FAILS(WR_EOUTPUT, write_text(in_folder("name/"), ""));
  put(in_folder("file"), "");
  CHECK_FAILS(WR_EOUTPUT, write_text(in_folder("file/inside"), ""));
  CHECK_FAILS(WR_EOUTPUT, write_text(in_folder("file/"), ""));
  unlink(in_folder("file"));
  CHECK(files_in_folder() == 0);
  CASE("a name without a folder");
  CHECK(chdir(folder) == 0);
  CHECK_OK(write_text("plain", "text"));
  CHECK(strcmp(contents(in_folder("plain")), "text") == 0);
  unlink(in_folder("plain"));
}

/* Permissions do not bind root, so the test takes the id of another user for a moment. */
static void test_not_allowed(void) {
  CASE("no permission");
  const char *path = in_folder("kept");
  put(path, "kept");
  CHECK(chmod(path, 0444) == 0 && chmod(folder, 0777) == 0);
  uid_t user = geteuid();
  if (user == 0 && seteuid(65534) != 0) {
    SKIP("cannot give up being root");
  } else {
    CHECK_FAILS(WR_EOUTPUT, write_text(path, "new"));
    CHECK_MESSAGE("kept");
    CHECK_MESSAGE(strerror(EACCES));
    CHECK(user != 0 || seteuid(user) == 0);
    CHECK(chmod(folder, 0555) == 0);
    CHECK(user != 0 || seteuid(65534) == 0);
    CHECK_FAILS(WR_EOUTPUT, write_text(in_folder("absent"), "new"));
    CHECK_MESSAGE(strerror(EACCES));
    CHECK(user != 0 || seteuid(user) == 0);
    CHECK(chmod(folder, 0755) == 0);
  }
  CHECK(strcmp(contents(path), "kept") == 0 && files_in_folder() == 1);
  unlink(path);
}

static void test_full(void) {
  CASE("a full device");
  CHECK_FAILS(WR_EOUTPUT, write_text("/dev/full", "short"));
  CHECK_MESSAGE("/dev/full");
  CHECK_MESSAGE(strerror(ENOSPC));
  char text[ROOM];
  memset(text, 't', sizeof text);
  text[ROOM - 1] = '\0';
  wr_output_file out;
  CHECK_OK(wr_output_open("/dev/full", &out));
  for (int k = 0; k < 100; k++) fputs(text, out.file);
  CHECK_FAILS(WR_EOUTPUT, wr_output_commit(&out));
  CHECK_OK(wr_output_open("/dev/full", &out));
  wr_output_abandon(&out);
  CHECK_OK(write_text("/dev/null", text));
  CASE("a file that may not grow: the older one stays");
  const char *path = in_folder("limited");
  put(path, "old");
  struct rlimit before, limit;
  CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
  limit = before;
  limit.rlim_cur = 10000;
  signal(SIGXFSZ, SIG_IGN);
  CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
  CHECK_OK(wr_output_open(path, &out));
  for (int k = 0; k < 100; k++) fputs(text, out.file);
  wr_status status = wr_output_commit(&out);
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, SIG_DFL);
  CHECK(status == WR_EOUTPUT);
  CHECK_MESSAGE("limited");
  CHECK(strcmp(contents(path), "old") == 0 && files_in_folder() == 1);
  unlink(path);
}

static void test_pipe(void) {
  CASE("a named pipe is written directly");
  const char *path = in_folder("pipe");
  char text[16] = "";
  CHECK(mkfifo(path, 0600) == 0);
  int reader = open(path, O_RDONLY | O_NONBLOCK);
  CHECK_OK(write_text(path, "through"));
  CHECK(read(reader, text, sizeof text - 1) == 7 && strcmp(text, "through") == 0);
  close(reader);
  struct stat facts;
  CHECK(stat(path, &facts) == 0 && S_ISFIFO(facts.st_mode) && files_in_folder() == 1);
  unlink(path);
}

/* Standard output is this file or device for the writes between; returns what to hand to give_back_output. */
static int divert_output(const char *path) {
  fflush(stdout);
  int saved = dup(STDOUT_FILENO), fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  CHECK(saved >= 0 && fd >= 0 && dup2(fd, STDOUT_FILENO) >= 0);
  close(fd);
  return saved;
}

static void give_back_output(int saved) {
  __fpurge(stdout); /* what did not go where it was meant must not go elsewhere */
  clearerr(stdout);
  dup2(saved, STDOUT_FILENO);
  close(saved);
}

static void test_standard_output(void) {
  CASE("standard output, by every name it has");
  const char *path = in_folder("out");
  wr_output_file out;
  int saved = divert_output(path);
  printf("before ");
  wr_status dash = write_text("-", "dash ");
  wr_status device = write_text("/dev/stdout", "device ");
  wr_status name = write_text(path, "name ");
  wr_status opened = wr_output_open("-", &out);
  if (opened == WR_OK) wr_output_abandon(&out);
  printf("after");
  fflush(stdout);
  give_back_output(saved);
  CHECK(dash == WR_OK && device == WR_OK && name == WR_OK && opened == WR_OK);
  CHECKF(strcmp(contents(path), "before dash device name after") == 0, "%s", contents(path));
  CHECK(files_in_folder() == 1);
  unlink(path);
  CASE("standard output that is full");
  saved = divert_output("/dev/full");
  wr_status status = write_text("-", "text");
  give_back_output(saved);
  CHECK(status == WR_EOUTPUT);
  CHECK_MESSAGE("standard output");
}

/* The check leaves no new file behind, and an older one as it was. */
static void test_check(void) {
  char path[600], below[640];
  CASE("an output is checked before it is written");
  snprintf(path, sizeof path, "%s/kept", folder);
  CHECK_OK(write_text(path, "old"));
  CHECK_OK(wr_output_check(path));
  CHECKF(strcmp(contents(path), "old") == 0, "%s", contents(path));
  CHECK(files_in_folder() == 1);
  unlink(path);
  CHECK_OK(wr_output_check(path));
  CHECK(files_in_folder() == 0);
  CHECK_OK(wr_output_check("-"));
  CHECK_OK(wr_output_check("/dev/full")); /* full, but open to writing */
  snprintf(below, sizeof below, "%s/below", path);
  CHECK_FAILS(WR_EOUTPUT, wr_output_check(below));
  CHECK_FAILS(WR_EOUTPUT, wr_output_check(folder));
  CHECK_MESSAGE(folder);
}

static wr_status append_text(const char *path, const char *text) {
  wr_output_file out;
  PASS(wr_output_append(path, &out));
  fputs(text, out.file);
  wr_status status = wr_output_flush(&out);
  wr_output_abandon(&out);
  return status;
}

static void test_append(void) {
  CASE("lines that are appended");
  wr_output_file out;
  const char *path = in_folder("lines"), *link = in_folder("link");
  CHECK_OK(append_text(path, "one\n"));
  CHECK(strcmp(contents(path), "one\n") == 0);
  CHECK_OK(wr_output_append(path, &out));
  fputs("two", out.file);
  CHECK_OK(wr_output_flush(&out));
  CHECK(strcmp(contents(path), "one\ntwo") == 0); /* before it is committed */
  CHECK_OK(wr_output_commit(&out));
  CHECK_OK(append_text(path, "three\n"));
  CHECK(strcmp(contents(path), "one\ntwo\nthree\n") == 0); /* a line that was cut off is ended */
  CHECK(symlink("lines", link) == 0);
  CHECK_OK(append_text(link, "four\n"));
  CHECK(strcmp(contents(path), "one\ntwo\nthree\nfour\n") == 0);
  CHECK_FAILS(WR_EOUTPUT, append_text(folder, ""));
  CHECK_FAILS(WR_EOUTPUT, append_text("", ""));
  CHECK_FAILS(WR_EOUTPUT, append_text(in_folder("no/lines"), ""));
  CHECK_FAILS(WR_EOUTPUT, append_text("/dev/full", "lost"));
  CHECK_MESSAGE("/dev/full: cannot write it");
  struct rlimit whole, small;
  CHECK(getrlimit(RLIMIT_FSIZE, &whole) == 0);
  small = whole, small.rlim_cur = 20;
  signal(SIGXFSZ, SIG_IGN);
  CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
  CHECK_FAILS(WR_EOUTPUT, append_text(path, "five is too long\n"));
  CHECK_MESSAGE("File too large");
  CHECK(strcmp(contents(path), "one\ntwo\nthree\nfour\n") == 0); /* nothing of the line is there */
  CHECK_OK(wr_output_append(path, &out));
  fputs("x", out.file);
  CHECK_OK(wr_output_flush(&out));
  fputs("y", out.file);
  CHECK_FAILS(WR_EOUTPUT, wr_output_flush(&out));
  CHECK(setrlimit(RLIMIT_FSIZE, &whole) == 0);
  CHECK_OK(wr_output_commit(&out)); /* with the room there is now */
  CHECK(strcmp(contents(path), "one\ntwo\nthree\nfour\nxy") == 0);
  signal(SIGXFSZ, SIG_DFL);
  CHECK_OK(wr_output_append("-", &out));
  CHECK(out.file == stdout);
  CHECK_OK(wr_output_commit(&out));
  CHECK(unlink(link) == 0 && unlink(path) == 0 && files_in_folder() == 0);
}

int main(void) {
  snprintf(folder, sizeof folder, "%s/windrow-output-XXXXXX", wr_test_folder());
  if (!mkdtemp(folder)) {
    perror(folder);
    return 1;
  }
  test_check();
  test_new();
  test_replaced();
  test_link();
  test_link_chain();
  test_names();
  test_not_allowed();
  test_full();
  test_pipe();
  test_standard_output();
  test_append();
  CHECK(rmdir(folder) == 0);
  return wr_test_report("output_file");
}
