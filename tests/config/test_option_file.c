/* Option files: read, wrong, odd, damaged, written and read back; and memory that ends at each point. */
#define _GNU_SOURCE /* posix_memalign, memalign, open_memstream, mkdtemp */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config/option.h"
#include "tests/check.h"
#include "tests/config/option_table.h"

static int allocations_left = -1; /* those before one fails; -1: none does */

int posix_memalign(void **block, size_t alignment, size_t bytes) {
  if (allocations_left == 0) return ENOMEM;
  if (allocations_left > 0) allocations_left--;
  *block = memalign(alignment, bytes);
  return *block != NULL ? 0 : ENOMEM;
}

static char folder[] = "/tmp/wr_test_option_XXXXXX", path[64]; /* of the option file */

static void save(const char *content, size_t length) {
  FILE *out = fopen(path, "w");
  CHECK(out != NULL);
  if (out == NULL) return;
  CHECK(fwrite(content, 1, length, out) == length);
  CHECK(fclose(out) == 0);
}

static wr_status read_text(settings *s, const char *content) {
  save(content, strlen(content));
  return wr_options_read(table, s, path);
}

static void test_read(void) {
  CASE("option files");
  settings s = fresh();
  CHECK_OK(read_text(
      &s,
      "# a comment\n\n  \t\ntolerance=1e-3\n  damping =\t0.5 # half\ntop = 5# five\nverbose = yes\r\ngraph = no"
      "\noutput = my file.mtx  # a comment \"here\"\ntitle = \"a # \\\"b\\\" \\\\ \\n c \" # x\n\r\ndevice = \"cpu\""));
  CHECK(s.tolerance == 1e-3 && s.damping == 0.5 && s.top == 5 && s.verbose == 1 && s.graph == 0 && s.device == 0);
  CHECKF(strcmp(s.output, "my file.mtx") == 0, "'%s'", s.output);
  CHECKF(strcmp(s.title, "a # \"b\" \\ \n c ") == 0, "'%s'", s.title);
  CHECK_OK(read_text(&s, "\xEF\xBB\xBFtop = 6\ntop = 7\r\n"));
  CHECK(s.top == 7);
  CHECK_OK(read_text(&s, ""));
  CHECK_OK(read_text(&s, "output = \"\"\n"));
  CHECK(s.output[0] == '\0');
  wr_options_release(table, &s);
}

static void test_wrong_files(void) {
  CASE("wrong option files");
  static const struct {
    const char *content;
    wr_status code;
    const char *what; /* after "path:" */
  } cases[] = {
      {"top = 5\ntolerence = 1\n", WR_EUSAGE, "2: unknown name 'tolerence' (did you mean 'tolerance'?)"},
      {"--top = 5", WR_EUSAGE, "1: unknown name '--top' (did you mean 'top'?)"},
      {"\n\ndamping = 1.2", WR_EUSAGE, "3: damping: 1.2 is not in [0, 1)"},
      {"top = 1e7 # x", WR_EUSAGE, "1: top: 1e7 is not in [0, 1e6]"},
      {"top = 5\rrepeat = 6", WR_EUSAGE, "1: top: '5?repeat = 6' is not a number"},
      {"verbose = 1", WR_EUSAGE, "1: verbose: '1' is neither yes nor no"},
      {"config = other", WR_EUSAGE, "1: config: an option file cannot name another"},
      {"help = yes", WR_EUSAGE, "1: help: an action is for the command line"},
      {"binary = x", WR_EUSAGE, "1: binary: there is no binary yet"},
      {"verbose", WR_EINPUT, "1: the line is not name = value"},
      {"top # = 5", WR_EINPUT, "1: the line is not name = value"},
      {" = 5", WR_EINPUT, "1: the line is not name = value"},
      {"top =", WR_EINPUT, "1: top has no value"},
      {"title = # x", WR_EINPUT, "1: title has no value"},
      {"title = a#b", WR_EINPUT, "1: a # within text"},
      {"title = \"a", WR_EINPUT, "1: the closing quote is missing"},
      {"title = \"a\\", WR_EINPUT, "1: in quotes a backslash"},
      {"title = \"a\\tb\"", WR_EINPUT, "1: in quotes a backslash"},
      {"title = \"a\\x1\"", WR_EINPUT, "1: in quotes a backslash"},
      {"title = \"a\\x00b\"", WR_EINPUT, "1: in quotes a backslash"},
      {"title = \"a\" b", WR_EINPUT, "1: something follows the closing quote"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    settings s = fresh();
    char expected[200];
    wr_status status = read_text(&s, cases[i].content);
    CHECKF(status == cases[i].code, "%s: %s", cases[i].content, wr_status_name(status));
    snprintf(expected, sizeof expected, "%s:%s", path, cases[i].what);
    int same = strncmp(wr_status_message(), expected, strlen(expected)) == 0;
    CHECKF(same, "'%s', not '%s'", wr_status_message(), expected);
    wr_options_release(table, &s);
  }
}

static void test_odd_files(void) {
  CASE("odd option files");
  settings s = fresh();
  char at[100];
  save("top = 5\nti\0tle = x\n", 18);
  snprintf(at, sizeof at, "%s:2: a NUL byte", path);
  CHECK_FAILS(WR_EINPUT, wr_options_read(table, &s, path));
  CHECK_MESSAGE(at);
  CHECK_FAILS(WR_EINPUT, wr_options_read(table, &s, "/dev/zero"));
  CHECK_FAILS(WR_EINPUT, wr_options_read(table, &s, folder));
  CHECK_MESSAGE("cannot be read (Is a directory)");
  CHECK_FAILS(WR_EINPUT, wr_options_read(table, &s, "/nowhere/at/all"));
  CHECK_MESSAGE("/nowhere/at/all: cannot be opened (No such file or directory)");
  CHECK(chmod(path, 0) == 0);
  if (geteuid() == 0) {
    SKIP("root may read any file");
  } else {
    CHECK_FAILS(WR_EINPUT, wr_options_read(table, &s, path));
    CHECK_MESSAGE("Permission denied");
  }
  CHECK(unlink(path) == 0);
  size_t length = 1000000; /* a comment and a text of a million bytes */
  char *content = malloc(2 * length + 100);
  memset(content, 'x', 2 * length + 100);
  content[0] = '#';
  memcpy(content + length, "\ntitle = ", 9);
  save(content, 2 * length);
  CHECK_OK(wr_options_read(table, &s, path));
  CHECKF(strlen(s.title) == length - 9, "%zu bytes", strlen(s.title));
  free(content);
  length = ((size_t)1 << 24) + 1;
  content = malloc(length);
  memset(content, '#', length);
  save(content, length - 1);
  CHECK_OK(wr_options_read(table, &s, path));
  save(content, length);
  CHECK_FAILS(WR_EINPUT, wr_options_read(table, &s, path));
  CHECK_MESSAGE(":1: a line longer than 16777216 bytes");
  free(content);
  wr_options_release(table, &s);
}

static void test_config(void) {
  CASE("--config and the command line");
  settings s = fresh();
  CHECK_OK(read_text(&s, "top = 5\ndamping = 0.5\ntitle = from the file\nverbose = yes\n"));
  wr_options_release(table, &s);
  s = fresh(); /* the file remains */
  char words[][16] = {"p", "--top=6", "x", "--conf", "--verbose=no"};
  char *argv[] = {words[0], words[1], words[2], words[3], path, words[4], NULL};
  int first;
  for (int time = 0; time < 2; time++) { /* repeated, on the permuted words */
    CHECK_OK(wr_options_parse(table, &s, 6, argv, &first));
    CHECK(first == 5 && strcmp(argv[5], "x") == 0);
    CHECK(s.top == 6 && s.damping == 0.5 && s.verbose == 0 && strcmp(s.title, "from the file") == 0);
    CHECK(strcmp(s.config, path) == 0);
  }
  CHECK_FAILS(WR_EUSAGE, read_text(&s, "top = 5\ndampign = 0.5\n"));
  CHECK_FAILS(WR_EUSAGE, wr_options_parse(table, &s, 6, argv, &first));
  CHECK_MESSAGE(":2: unknown name 'dampign'");
  wr_options_release(table, &s);
}

/* What wr_options_write prints; the caller frees it. */
static char *printed(const settings *s) {
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  wr_options_write(table, s, out);
  fclose(out);
  return text;
}

/* What wr_options_command prints; the caller frees it. */
static char *as_command(const settings *s) {
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  wr_options_command(table, s, out);
  fclose(out);
  return text;
}

/* What the command of a shell prints. */
static FILE *output_of(const char *command) {
  FILE *out = tmpfile();
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    dup2(fileno(out), 1);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
  }
  int status = -1;
  CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
  rewind(out);
  return out;
}

/* A shell makes of the command what was set. */
static void test_command(void) {
  CASE("settings as a command");
  settings s = fresh();
  char *text = as_command(&s);
  CHECKF(text[0] == '\0', "%s", text);
  free(text);
  CHECK_OK(wr_option_set(table, &s, "device", "cpu", "a test"));
  CHECK_OK(wr_option_set(table, &s, "tolerance", "1e-3", "a test"));
  CHECK_OK(wr_option_set(table, &s, "top", "99", "a test"));
  CHECK_OK(wr_option_set(table, &s, "verbose", "yes", "a test"));
  CHECK_OK(wr_option_set(table, &s, "title", "it's $HOME\\ and \"more\"", "a test"));
  CHECK_OK(wr_option_set(table, &s, "output", "", "a test"));
  text = as_command(&s);
  char shell[512], word[256];
  snprintf(shell, sizeof shell, "printf '%%s\\n' %s", text);
  static const char *const words[] = {"--device", "cpu", "--tolerance", "0.001", "--top", "99",
                                      "--title", "it's $HOME\\ and \"more\"", "--verbose"};
  FILE *in = output_of(shell);
  for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
    int got = fgets(word, sizeof word, in) != NULL;
    word[got ? strcspn(word, "\n") : 0] = '\0';
    CHECKF(strcmp(word, words[k]) == 0, "'%s', not '%s', of %s", word, words[k], text);
  }
  CHECK(fgets(word, sizeof word, in) == NULL);
  fclose(in);
  free(text);
  wr_options_release(table, &s);
  s = fresh();
  CHECK_OK(wr_option_set(table, &s, "title", "it's\\ \033[31mred\n", "a test"));
  text = as_command(&s);
  CHECKF(strcmp(text, " --title $'it\\047s\\134 \\033[31mred\\012'") == 0, "%s", text);
  free(text);
  wr_options_release(table, &s);
}

static uint64_t next_random(uint64_t *state) { /* splitmix64 */
  uint64_t z = *state += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

static void check_round_trip(settings *s) {
  char *text = printed(s), *again, *title = s->title, *output = s->output;
  settings back = fresh();
  wr_status status = read_text(&back, text);
  CHECKF(status == WR_OK, "%s\n%s", wr_status_message(), text);
  again = printed(&back);
  CHECKF(strcmp(text, again) == 0, "%s\nis read and printed as\n%s", text, again);
  CHECK(back.title != NULL && strcmp(title, back.title) == 0);
  CHECK((output == NULL) == (back.output == NULL) && (output == NULL || strcmp(output, back.output) == 0));
  CHECKF(memcmp(&s->real, &back.real, sizeof s->real) == 0, "%a is read as %a", s->real, back.real);
  CHECK(s->tolerance == back.tolerance && s->damping == back.damping && s->any == back.any && s->top == back.top);
  CHECK(s->repeat == back.repeat && s->device == back.device && s->stop == back.stop && s->graph == back.graph);
  wr_options_release(table, &back);
  free(text);
  free(again);
}

static void test_write(void) {
  CASE("settings written and read back");
  settings s = fresh();
  char *text = printed(&s);
  CHECKF(
      strcmp(text,
             "device = auto\ngraph = yes\ntolerance = 1e-9\ndamping = 0.85\nreal = 0\nstop = error\ntop = 10\nany = 0\n"
             "title = \"no title\"\nverbose = no\nquiet = no\n") == 0,
      "%s", text); /* without what is not set */
  free(text);
  check_round_trip(&s);
  CHECK_OK(wr_option_set(table, &s, "output", " \"quoted\\\" # \n\r\t\033\177\xC3\xA9 = ", "--output"));
  text = printed(&s);
  CHECKF(strstr(text, "output = \" \\\"quoted\\\\\\\" # \\n\\r\\x09\\x1b\\x7f\xC3\xA9 = \"\n") != NULL, "%s", text);
  free(text);
  CHECK_OK(wr_option_set(table, &s, "config", "some.conf", "--config"));
  CHECK_OK(wr_option_set(table, &s, "device", "cpu", "--device"));
  CHECK_OK(wr_option_set(table, &s, "stop", "change", "--stop"));
  CHECK_OK(wr_option_set(table, &s, "repeat", "3", "--repeat"));
  static const int64_t wholes[] = {INT64_MIN, INT64_MAX, -1, 0, INT64_C(1) << 53, (INT64_C(1) << 53) + 1};
  static const double reals[] = {-0.0, 0.1,  1.0 / 3, 5e-324, 0x1p-1022, 1.7976931348623157e308,
                                 1e22, 1e23, 100,     123456, 1e6};
  for (size_t i = 0; i < 6 + 11 + 200; i++) {
    static uint64_t state = 1;
    uint64_t bits = next_random(&state);
    if (i < 6) s.any = wholes[i];
    if (i >= 6 && i < 17) s.real = reals[i - 6];
    if (i >= 17) memcpy(&s.real, &bits, sizeof s.real);
    if (isfinite(s.real)) check_round_trip(&s);
  }
  wr_options_release(table, &s);
}

/* A file cut at every byte and with every byte changed is read, or refused with its place. */
static void test_damaged_files(void) {
  CASE("damaged option files");
  static const char whole[] = "top = 5 # x\r\ntitle = \"a\\\\b\\n\" # y\noutput = a b\n\ndamping=0.5\nverbose = no\n";
  static const char changes[] = "\0\n\r\"\\#= 9\xFF";
  size_t length = sizeof whole - 1, refused = 0;
  for (size_t cut = 0; cut <= length; cut++) {
    for (size_t change = 0; change < sizeof changes; change++) {
      char content[sizeof whole];
      memcpy(content, whole, sizeof whole);
      if (change > 0 && cut < length) content[cut] = changes[change - 1];
      settings s = fresh();
      save(content, change > 0 ? length : cut);
      wr_status status = wr_options_read(table, &s, path);
      CHECKF(status == WR_OK || status == WR_EUSAGE || status == WR_EINPUT, "%s", wr_status_name(status));
      size_t place = strlen(path);
      int placed = strncmp(wr_status_message(), path, place) == 0 && wr_status_message()[place] == ':';
      CHECKF(status == WR_OK || placed, "%s", wr_status_message());
      refused += status != WR_OK;
      wr_options_release(table, &s);
    }
  }
  CHECK(refused > length); /* each byte's NUL alone */
}

static void test_no_memory(void) {
  CASE("memory that ends at each point");
  settings s = fresh();
  CHECK_OK(
      read_text(&s, "title = a text so long that the line has to grow, which takes place at 64 bytes\noutput = x\n"));
  wr_options_release(table, &s);
  char words[][16] = {"p", "--config", "-o", "y"}, *argv[] = {words[0], words[1], path, words[2], words[3], NULL};
  int failures = 0, done = 0;
  for (int left = 0; left < 100 && !done; left++) {
    int first;
    allocations_left = left;
    wr_status status = wr_options_default(table, &s);
    if (status == WR_OK) status = wr_options_parse(table, &s, 5, argv, &first);
    if (status == WR_OK) status = wr_knobs_parse(table, &s, "title=z", "merbit");
    allocations_left = -1;
    done = status == WR_OK;
    CHECKF(done || status == WR_ENOMEM, "%d left: %s (%s)", left, wr_status_name(status), wr_status_message());
    if (done) CHECK(strcmp(s.output, "y") == 0 && strcmp(s.title, "z") == 0 && first == 5);
    failures += !done;
    wr_options_release(table, &s);
  }
  CHECK(done);
  /* the default title, two of getopt, config, the line twice, title, output, config, -o, the knobs' list, title */
  CHECKF(failures == 12, "%d points failed", failures);
}

int main(void) {
  if (mkdtemp(folder) == NULL) return 1;
  snprintf(path, sizeof path, "%s/run.conf", folder);
  test_read();
  test_wrong_files();
  test_odd_files();
  test_config();
  test_write();
  test_command();
  test_damaged_files();
  test_no_memory();
  unlink(path);
  rmdir(folder);
  return wr_test_report("option_file");
}
