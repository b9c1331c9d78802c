/* PageRank's scalars and the programs that compute them where the vectors are, for solvers/pagerank.c. Here and not there, as
 * a device has these programs compiled (scalars_cuda.cu), inside a namespace. */
#ifndef WR_PAGERANK_SCALARS_H
#define WR_PAGERANK_SCALARS_H

#include "spmv/device/vec.h"

/* The scalars of the bank. Flags are 0 or 1. */
enum {
  CHANGE, DANGLING, SHIFT, /* of the method */
  DAMPING, REST, WEIGHT,   /* d, 1 - d, and what a page gets of what is teleported */
  STEPS, LIMIT, LAST_HALF, /* iterations taken, allowed, and the last one behind which a half of a loop may follow */
  SINCE, EVERY,            /* iterations since the last look, and between two */
  TARGET,                  /* on the change */
  LEAST, WINDOW_LEAST,     /* the least change before this window of ten iterations, and in it */
  WINDOW, TEN,             /* iterations in this window */
  HARDLY, TINY,            /* a window that ends above HARDLY times LEAST, and below TINY, is held up by rounding */
  STALLED,                 /* a window did */
  HUGE_CHANGE,             /* anything finite is below it */
  LOGGED, LOG_ROOM,
  ZERO, ONE,
  LOOK,                    /* this iteration is one */
  CONVERGED, FINITE,
  STOP, GO,
  T0, T1, T2,              /* temporaries */
  SCALARS
};

/* shift = (d * dangling + (1 - d)) * weight: what teleporting gives to each page, or to each unit of the teleport vector. */
#define WR_MAKE_SHIFT             \
  {WR_S_MUL, SHIFT, DAMPING, DANGLING, 0}, \
  {WR_S_ADD, SHIFT, SHIFT, REST, 0},       \
  {WR_S_MUL, SHIFT, SHIFT, WEIGHT, 0}

WR_PROGRAM make_shift[] = {WR_MAKE_SHIFT};

/* After an iteration. Exact steps shrink the change by d at least; when ten of them did not even come half way of that, and
 * the change is as small as rounding, then rounding is what is left. */
WR_PROGRAM after_step[] = {
    WR_MAKE_SHIFT,
    {WR_S_ADD, STEPS, STEPS, ONE, 0},
    {WR_S_LESS, T0, CHANGE, WINDOW_LEAST, 0},  {WR_S_SELECT, WINDOW_LEAST, T0, CHANGE, WINDOW_LEAST},
    {WR_S_ADD, WINDOW, WINDOW, ONE, 0},        {WR_S_LESS, T0, WINDOW, TEN, 0},
    {WR_S_NOT, T0, T0, 0, 0}, /* the window is over */
    {WR_S_MUL, T1, HARDLY, LEAST, 0},          {WR_S_LESS, T1, T1, WINDOW_LEAST, 0},
    {WR_S_LESS, T2, WINDOW_LEAST, TINY, 0},    {WR_S_AND, T1, T1, T2, 0},
    {WR_S_AND, T1, T1, T0, 0},                 {WR_S_OR, STALLED, STALLED, T1, 0},
    {WR_S_LESS, T1, WINDOW_LEAST, LEAST, 0},   {WR_S_AND, T1, T1, T0, 0},
    {WR_S_SELECT, LEAST, T1, WINDOW_LEAST, LEAST},
    {WR_S_SELECT, WINDOW_LEAST, T0, HUGE_CHANGE, WINDOW_LEAST},
    {WR_S_SELECT, WINDOW, T0, ZERO, WINDOW},
    {WR_S_ADD, SINCE, SINCE, ONE, 0},          {WR_S_LESS, T0, SINCE, EVERY, 0},
    {WR_S_LESS, T1, STEPS, LIMIT, 0},          {WR_S_AND, LOOK, T0, T1, 0},
    {WR_S_NOT, LOOK, LOOK, 0, 0},              {WR_S_SELECT, SINCE, LOOK, ZERO, SINCE},
    {WR_S_LESS, FINITE, CHANGE, HUGE_CHANGE, 0},
    {WR_S_LESS, CONVERGED, TARGET, CHANGE, 0}, {WR_S_NOT, CONVERGED, CONVERGED, 0, 0},
    {WR_S_AND, CONVERGED, CONVERGED, FINITE, 0},
    {WR_S_NOT, T0, T1, 0, 0},                  {WR_S_OR, T0, T0, CONVERGED, 0},
    {WR_S_OR, T0, T0, STALLED, 0},             {WR_S_NOT, T1, FINITE, 0, 0},
    {WR_S_OR, T0, T0, T1, 0},                  {WR_S_AND, STOP, T0, LOOK, 0},
    {WR_S_PUSH, LOGGED, LOGGED, STEPS, LOOK},  {WR_S_PUSH, LOGGED, LOGGED, CHANGE, LOOK},
    {WR_S_LESS, T0, LOGGED, LOG_ROOM, 0},      {WR_S_LESS, T1, LAST_HALF, STEPS, 0},
    {WR_S_OR, T1, T1, STOP, 0},                {WR_S_NOT, T1, T1, 0, 0},
    {WR_S_AND, GO, T0, T1, 0},                 {WR_S_GO, GO, GO, 0, 0},
};

#endif
