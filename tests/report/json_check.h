/* A strict reader of JSON (RFC 8259) for tests: is the text valid, and what is at "runs/0/apply/median_s"? */
#ifndef WR_JSON_CHECK_H
#define WR_JSON_CHECK_H

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static inline const char *json_blanks(const char *at) { return at + strspn(at, " \t\r\n"); }

/* Each of these gets the first byte of an item and returns the first byte behind it, or NULL if the item is no JSON. */
static inline const char *json_string(const char *at) {
  if (*at++ != '"') return NULL;
  for (; *at != '"'; at++) {
    if ((unsigned char)*at < ' ') return NULL;
    if (*at != '\\') continue;
    at++;
    if (*at == 'u' && strspn(at + 1, "0123456789abcdefABCDEF") < 4) return NULL;
    if (!*at || !strchr("\"\\/bfnrtu", *at)) return NULL;
  }
  return at + 1;
}

static inline const char *json_digits(const char *at) {
  size_t count = strspn(at, "0123456789");
  return count > 0 ? at + count : NULL;
}

static inline const char *json_number(const char *at) {
  at += *at == '-';
  const char *digits = json_digits(at);
  if (!digits || (*at == '0' && digits > at + 1)) return NULL;
  at = digits;
  if (*at == '.' && !(at = json_digits(at + 1))) return NULL;
  if (*at == 'e' || *at == 'E') at = json_digits(at + 1 + (at[1] == '+' || at[1] == '-'));
  return at;
}

static inline const char *json_value(const char *at);

/* An object or array. If found is not NULL, *found := the value of the member (of this index, for an array) called
 * name. */
static inline const char *json_members(const char *at, const char *name, size_t length, const char **found) {
  char bracket = *at, end = bracket == '{' ? '}' : ']';
  at = json_blanks(at + 1);
  if (*at == end) return at + 1;
  for (long index = 0;; index++) {
    int matches = bracket == '[' && found && strtol(name, NULL, 10) == index && isdigit((unsigned char)*name);
    if (bracket == '{') {
      const char *after = json_string(at);
      if (!after) return NULL;
      matches = found && (size_t)(after - at) == length + 2 && strncmp(at + 1, name, length) == 0;
      at = json_blanks(after);
      if (*at++ != ':') return NULL;
      at = json_blanks(at);
    }
    if (matches) *found = at;
    if (!(at = json_value(at))) return NULL;
    at = json_blanks(at);
    if (*at == end) return at + 1;
    if (*at++ != ',') return NULL;
    at = json_blanks(at);
  }
}

static inline const char *json_value(const char *at) {
  if (*at == '{' || *at == '[') return json_members(at, NULL, 0, NULL);
  if (*at == '"') return json_string(at);
  if (strncmp(at, "true", 4) == 0 || strncmp(at, "null", 4) == 0) return at + 4;
  if (strncmp(at, "false", 5) == 0) return at + 5;
  return json_number(at);
}

/* 1 if the whole text is one value. */
static inline int json_valid(const char *text) {
  const char *end = json_value(json_blanks(text));
  return end && *json_blanks(end) == '\0';
}

/* The value at a path of names and indices in a valid text, or "(absent)". */
static inline const char *json_at(const char *text, const char *path) {
  const char *at = json_blanks(text);
  while (*path) {
    size_t length = strcspn(path, "/");
    const char *found = NULL;
    if (*at != '{' && *at != '[') return "(absent)";
    json_members(at, path, length, &found);
    if (!found) return "(absent)";
    at = found;
    path += length + (path[length] == '/');
  }
  return at;
}

/* 1 if the text of the value at path is this ("null", "true", "12", "\"text\""). */
static inline int json_is(const char *text, const char *path, const char *spelling) {
  const char *at = json_at(text, path), *end = json_value(at);
  return end && (size_t)(end - at) == strlen(spelling) && strncmp(at, spelling, (size_t)(end - at)) == 0;
}

/* 1 if the value at path is this number, bit for bit. */
static inline int json_is_real(const char *text, const char *path, double value) {
  const char *at = json_at(text, path), *end = json_number(at);
  char *read_to;
  double read = strtod(at, &read_to);
  return end && read_to == end && memcmp(&read, &value, sizeof value) == 0;
}

#endif
