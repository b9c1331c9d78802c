#include "config/closest.h"

#include <string.h>

enum { WORD = 64 }; /* bytes of the words that are compared */

static int lesser(int a, int b) { return a < b ? a : b; }

/* Edits that make one word the other: a letter put in, left out or replaced, two neighbours exchanged. */
static int edit_distance(const char *a, int na, const char *b, int nb) {
  int rows[3][WORD]; /* of i mod 3: from the first i letters of a to the first j of b */
  for (int j = 0; j <= nb; j++) rows[0][j] = j;
  for (int i = 1; i <= na; i++) {
    int *now = rows[i % 3], *before = rows[(i + 2) % 3], *two_before = rows[(i + 1) % 3];
    now[0] = i;
    for (int j = 1; j <= nb; j++) {
      now[j] = lesser(lesser(now[j - 1], before[j]) + 1, before[j - 1] + (a[i - 1] != b[j - 1]));
      int exchanged = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (exchanged) now[j] = lesser(now[j], two_before[j - 2] + 1);
    }
  }
  return rows[na % 3][nb];
}

/* Words of WORD letters or more are close to no other word. */
const char *wr_closest(const char *word, const char *const *candidates, int count) {
  const char *best = NULL;
  int least = WORD;
  if (word == NULL || candidates == NULL) return NULL;
  size_t length = strlen(word);
  for (int i = 0; i < count; i++) {
    if (candidates[i] == NULL) continue;
    size_t other = strlen(candidates[i]);
    if (length >= WORD || other >= WORD) continue;
    int distance = edit_distance(word, (int)length, candidates[i], (int)other);
    if (distance >= least || 3 * distance > (int)(length > other ? length : other)) continue;
    best = candidates[i];
    least = distance;
  }
  return best;
}
