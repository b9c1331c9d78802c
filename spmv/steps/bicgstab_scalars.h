/* BiCGSTAB's scalars and the programs that compute them where the vectors are, for solvers/bicgstab.c. Here and not there, as
 * a device has these programs compiled (scalars_cuda.cu), inside a namespace. */
#ifndef WR_BICGSTAB_SCALARS_H
#define WR_BICGSTAB_SCALARS_H

#include "spmv/device/vec.h"

/* The scalars of the bank. Flags are 0 or 1. */
enum {
  RHO, SIGMA, VV, ALPHA, SS, TS, TT, OMEGA, RR, RHO_NEXT, BETA, BETA_OMEGA, /* of the method */
  BOUND,     /* on ||r||^2 */
  LARGEST,   /* 1/u^2: beta beyond it is a breakdown, and ||alpha A p|| / ||r|| */
  HUGE_SUM,  /* anything finite is below it */
  QQ,        /* ||b - A x||^2 */
  SUM_X,     /* sum of an iterate's elements: finite if they all are */
  ZERO, ONE,
  STEPS,        /* iterations taken */
  ROUNDS, LAST, /* those that changed nothing, as something had ended before, counted too; the last one allowed */
  LAST_HALF,    /* the last one behind which a half of a loop may follow */
  ACTIVE,    /* this iteration counts: nothing had ended it before, and alpha is fine */
  DONE,      /* the host must look: converged or broken down. All later steps leave d and r as they are */
  BAD_SIGMA, BAD_OMEGA, BAD_RHO,
  SINCE, EVERY, LOOK, /* iterations since the last look, and between two; this one is a look */
  SNAPSHOT_RR, ENOUGH, /* ||r||^2 of the last snapshot; another is due below ENOUGH times that, ... */
  SNAPSHOT_ROUND, GAP, /* ... behind this round, GAP rounds after the last, ... */
  PHASE, PERIOD,       /* ... and where PERIOD divides the rounds since the last start: PHASE is the remainder */
  GAIN_RR, GAIN_STEP,  /* ||r||^2 at the last 10% progress, and when that was */
  GAIN, PATIENCE,      /* 0.81; iterations that may always pass without */
  LEAST_COS2,          /* square of the cosine of s and A s below which it is rounding */
  NOISE,               /* (u ||shadow||)^2: rho^2 below it times ||r||^2 is rounding */
  SNAP, KEEP,          /* a snapshot is due; and the iterate is finite */
  KEPT, KEPT_RR,       /* there has been one since the bank was made, and ||r||^2 of the last */
  STALLED,             /* at a look: nothing moves any more */
  LOGGED, LOG_ROOM,
  STOP, GO,
  T0, T1, T2, /* temporaries */
  SCALARS
};

/* alpha = rho / sigma, or 0 when that is a breakdown or all is over. It is a breakdown when alpha A p would be 1/u^2 times
 * the residual: alpha itself has the unit of 1/A and says nothing. */
WR_PROGRAM after_first_product[] = {
    {WR_S_DIV, ALPHA, RHO, SIGMA, 0},   {WR_S_MUL, T0, ALPHA, ALPHA, 0},
    {WR_S_MUL, T0, T0, VV, 0},          {WR_S_MUL, T1, LARGEST, LARGEST, 0},
    {WR_S_MUL, T1, T1, RR, 0},          {WR_S_LESS, T0, T0, T1, 0},
    {WR_S_NONZERO, T1, SIGMA, 0, 0},    {WR_S_AND, T0, T0, T1, 0},
    {WR_S_NONZERO, T1, VV, 0, 0},       {WR_S_AND, T0, T0, T1, 0},
    {WR_S_NOT, T1, DONE, 0, 0},         {WR_S_AND, ACTIVE, T0, T1, 0},
    {WR_S_NOT, T0, T0, 0, 0},           {WR_S_AND, T0, T0, T1, 0},
    {WR_S_OR, BAD_SIGMA, BAD_SIGMA, T0, 0}, {WR_S_SELECT, ALPHA, ACTIVE, ALPHA, ZERO},
};

/* omega = (t, s) / (t, t), or 0: when s is small enough that the half step ends it, on a breakdown, or when all is over. Where
 * (t, s) is only rounding, as with a skew-symmetric A, no omega makes the residual smaller, but any other than 0 lets the
 * method go on: alpha has the right unit. */
WR_PROGRAM after_second_product[] = {
    {WR_S_LESS, T0, BOUND, SS, 0},      {WR_S_NOT, T0, T0, 0, 0},
    {WR_S_LESS, T1, SS, HUGE_SUM, 0},   {WR_S_AND, T0, T0, T1, 0}, /* T0: the half step is enough */
    {WR_S_NOT, T0, T0, 0, 0},           {WR_S_AND, T0, T0, ACTIVE, 0},
    {WR_S_MUL, T1, SS, TT, 0},          {WR_S_MUL, T1, T1, LEAST_COS2, 0},
    {WR_S_MUL, T2, TS, TS, 0},          {WR_S_LESS, T1, T2, T1, 0},
    {WR_S_DIV, OMEGA, TS, TT, 0},       {WR_S_SELECT, OMEGA, T1, ALPHA, OMEGA},
    {WR_S_NONZERO, T1, OMEGA, 0, 0},
    {WR_S_AND, T2, T0, T1, 0},          {WR_S_SELECT, OMEGA, T2, OMEGA, ZERO},
    {WR_S_NOT, T1, T1, 0, 0},           {WR_S_AND, T1, T0, T1, 0},
    {WR_S_OR, BAD_OMEGA, BAD_OMEGA, T1, 0},
};

/* beta = (rho' / rho) (alpha / omega), and whether this was the last step. Then whether the host is to look. Stalled: no 10%
 * progress for as long as the last progress took, and at least PATIENCE iterations, while the shadow has become orthogonal to
 * the residual up to rounding. */
WR_PROGRAM after_update[] = {
    {WR_S_ADD, STEPS, STEPS, ACTIVE, 0},
    {WR_S_LESS, T0, BOUND, RR, 0},      {WR_S_NOT, T0, T0, 0, 0},
    {WR_S_LESS, T1, RR, HUGE_SUM, 0},   {WR_S_AND, T0, T0, T1, 0}, /* converged */
    {WR_S_NOT, T1, T1, 0, 0},           {WR_S_OR, DONE, DONE, T1, 0}, /* or not finite */
    {WR_S_OR, DONE, DONE, T0, 0},       {WR_S_OR, DONE, DONE, BAD_SIGMA, 0},
    {WR_S_OR, DONE, DONE, BAD_OMEGA, 0},
    {WR_S_DIV, BETA, RHO_NEXT, RHO, 0}, {WR_S_DIV, T0, ALPHA, OMEGA, 0},
    {WR_S_MUL, BETA, BETA, T0, 0},      {WR_S_ABS, T0, BETA, 0, 0},
    {WR_S_LESS, T0, T0, LARGEST, 0},    {WR_S_NONZERO, T1, RHO_NEXT, 0, 0},
    {WR_S_AND, T0, T0, T1, 0},          {WR_S_NOT, T0, T0, 0, 0},
    {WR_S_NOT, T1, DONE, 0, 0},         {WR_S_AND, T0, T0, T1, 0},
    {WR_S_OR, BAD_RHO, BAD_RHO, T0, 0}, {WR_S_OR, DONE, DONE, T0, 0},
    {WR_S_SELECT, BETA, DONE, ZERO, BETA},
    {WR_S_MUL, BETA_OMEGA, BETA, OMEGA, 0},
    {WR_S_SELECT, RHO, DONE, RHO, RHO_NEXT},
    {WR_S_ADD, ROUNDS, ROUNDS, ONE, 0},
    {WR_S_ADD, SINCE, SINCE, ONE, 0},        {WR_S_LESS, T0, SINCE, EVERY, 0},
    {WR_S_LESS, T1, ROUNDS, LAST, 0},        {WR_S_AND, LOOK, T0, T1, 0},
    {WR_S_NOT, LOOK, LOOK, 0, 0},            {WR_S_SELECT, SINCE, LOOK, ZERO, SINCE},
    {WR_S_MUL, T0, ENOUGH, SNAPSHOT_RR, 0},  {WR_S_LESS, SNAP, RR, T0, 0},
    {WR_S_LESS, T0, SNAPSHOT_ROUND, ROUNDS, 0}, {WR_S_AND, SNAP, SNAP, T0, 0},
    {WR_S_NOT, T0, DONE, 0, 0},              {WR_S_AND, SNAP, SNAP, T0, 0},
    {WR_S_ADD, PHASE, PHASE, ONE, 0},        {WR_S_LESS, T0, PHASE, PERIOD, 0},
    {WR_S_SELECT, PHASE, T0, PHASE, ZERO},   {WR_S_NOT, T0, T0, 0, 0},
    {WR_S_AND, SNAP, SNAP, T0, 0},
    {WR_S_MUL, T0, GAIN, GAIN_RR, 0},        {WR_S_LESS, T0, RR, T0, 0},
    {WR_S_AND, T0, T0, LOOK, 0},             {WR_S_SELECT, GAIN_RR, T0, RR, GAIN_RR},
    {WR_S_SELECT, GAIN_STEP, T0, STEPS, GAIN_STEP},
    {WR_S_SUB, T0, STEPS, GAIN_STEP, 0},     {WR_S_LESS, T2, T0, PATIENCE, 0},
    {WR_S_LESS, T0, T0, GAIN_STEP, 0},       {WR_S_OR, T0, T0, T2, 0},
    {WR_S_NOT, STALLED, T0, 0, 0},           {WR_S_MUL, T0, RHO, RHO, 0},
    {WR_S_MUL, T2, NOISE, RR, 0},            {WR_S_LESS, T0, T0, T2, 0},
    {WR_S_AND, STALLED, STALLED, T0, 0},     {WR_S_NOT, T1, T1, 0, 0},
    {WR_S_OR, T0, T1, DONE, 0},
    {WR_S_OR, T0, T0, STALLED, 0},           {WR_S_AND, STOP, T0, LOOK, 0},
    {WR_S_PUSH, LOGGED, LOGGED, STEPS, LOOK}, {WR_S_PUSH, LOGGED, LOGGED, RR, LOOK},
    {WR_S_LESS, T0, LOGGED, LOG_ROOM, 0},    {WR_S_LESS, T1, LAST_HALF, ROUNDS, 0},
    {WR_S_OR, T1, T1, STOP, 0},              {WR_S_NOT, T1, T1, 0, 0},
    {WR_S_AND, GO, T0, T1, 0},               {WR_S_GO, GO, GO, 0, 0},
};

/* SUM_X is that of the iterate if SNAP. One that is not finite throughout is no snapshot, and not asked for again at once. */
WR_PROGRAM after_collect[] = {
    {WR_S_ABS, T0, SUM_X, 0, 0},             {WR_S_LESS, T0, T0, HUGE_SUM, 0},
    {WR_S_AND, KEEP, SNAP, T0, 0},           {WR_S_OR, KEPT, KEPT, KEEP, 0},
    {WR_S_SELECT, KEPT_RR, KEEP, RR, KEPT_RR},
    {WR_S_SELECT, SNAPSHOT_RR, SNAP, RR, SNAPSHOT_RR},
    {WR_S_ADD, T0, ROUNDS, GAP, 0},          {WR_S_SELECT, SNAPSHOT_ROUND, SNAP, T0, SNAPSHOT_ROUND},
};

#endif
