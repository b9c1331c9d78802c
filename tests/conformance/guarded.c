#include "tests/conformance/guarded.h"

#include <string.h>

#include "config/memory.h"

static int64_t padded(const guarded *g) {
  int64_t line = WR_ALIGNMENT / wr_type_bytes(g->room.type);
  return (g->vec.n + line - 1) / line * line;
}

wr_status guarded_open(wr_env *env, int64_t n, wr_type type, double guard, guarded *g) {
  wr_status status;
  *g = (guarded){.guard = guard, .vec = {.n = n}, .room = {.type = type}};
  TRY(env->ops->alloc(env, padded(g) + 2 * GUARDS, type, "a guarded vector", &g->room));
  TRY(wr_alloc(&g->now, g->room.n, sizeof *g->now, "a guarded vector on the host"));
  TRY(wr_alloc(&g->before, g->room.n, sizeof *g->before, "a guarded vector on the host"));
  g->vec = g->room;
  g->vec.n = n, g->vec.id = wr_vec_new_id();
  g->vec.data = (char *)g->room.data + GUARDS * wr_type_bytes(type);
  TRY(guarded_set(env, g, NULL, 0));
done:
  return status;
}

void guarded_close(wr_env *env, guarded *g) {
  if (g->room.id) env->ops->release(env, &g->room);
  wr_free(g->now);
  wr_free(g->before);
  memset(g, 0, sizeof *g);
}

wr_status guarded_set(wr_env *env, guarded *g, const double *values, double value) {
  double *element = g->now + GUARDS;
  for (int64_t k = 0; k < g->room.n; k++) g->now[k] = g->guard;
  for (int64_t i = 0; i < padded(g); i++) element[i] = i >= g->vec.n ? 0 : values ? values[i] : value;
  g->vec.writes++;
  return env->ops->upload(env, &g->room, g->now);
}

wr_status guarded_read(wr_env *env, guarded *g) {
  double *next = g->before;
  g->before = g->now, g->now = next;
  return env->ops->download(env, &g->room, g->now);
}

int64_t guarded_changed(const guarded *g, int inside) {
  for (int64_t k = 0; k < g->room.n; k++) {
    int element = k >= GUARDS && k < GUARDS + g->vec.n;
    if ((inside || !element) && memcmp(g->now + k, g->before + k, sizeof *g->now) != 0) return k - GUARDS;
  }
  return GUARDED_SAME;
}
