/* BiCGSTAB's scalars and the programs that compute them where the vectors are; for bicgstab.c alone. */
#ifndef WR_BICGSTAB_SCALARS_H
#define WR_BICGSTAB_SCALARS_H

#include "spmv/device/vec.h"

/* The scalars of the bank. Flags are 0 or 1. */
enum {
  RHO, SIGMA, VV, ALPHA, SS, TS, TT, OMEGA, RR, RHO_NEXT, BETA, BETA_OMEGA, /* of the method; XX = ||x||^2 */
  BOUND,     /* on ||r||^2 */
  LARGEST,   /* 1/u^2: beta beyond it is a breakdown, and ||alpha A p|| / ||r|| */
  HUGE_SUM,  /* anything finite is below it */
  QQ,        /* ||b - A x||^2 */
  SUM_X,     /* sum of an iterate's elements: finite if they all are */
  ZERO, ONE,
  STEPS,     /* iterations taken */
  ACTIVE,    /* this iteration counts: nothing had ended it before, and alpha is fine */
  DONE,      /* the host must look: converged or broken down. All later steps leave d and r as they are */
  BAD_SIGMA, BAD_OMEGA, BAD_RHO,
  T0, T1, T2, /* temporaries */
  SCALARS
};

/* alpha = rho / sigma, or 0 when that is a breakdown or all is over. It is a breakdown when alpha A p would be 1/u^2 times
 * the residual: alpha itself has the unit of 1/A and says nothing. */
static const wr_scalar_op after_first_product[] = {
    {WR_S_DIV, ALPHA, RHO, SIGMA, 0},   {WR_S_MUL, T0, ALPHA, ALPHA, 0},
    {WR_S_MUL, T0, T0, VV, 0},          {WR_S_MUL, T1, LARGEST, LARGEST, 0},
    {WR_S_MUL, T1, T1, RR, 0},          {WR_S_LESS, T0, T0, T1, 0},
    {WR_S_NONZERO, T1, SIGMA, 0, 0},    {WR_S_AND, T0, T0, T1, 0},
    {WR_S_NONZERO, T1, VV, 0, 0},       {WR_S_AND, T0, T0, T1, 0},
    {WR_S_NOT, T1, DONE, 0, 0},         {WR_S_AND, ACTIVE, T0, T1, 0},
    {WR_S_NOT, T0, T0, 0, 0},           {WR_S_AND, T0, T0, T1, 0},
    {WR_S_OR, BAD_SIGMA, BAD_SIGMA, T0, 0}, {WR_S_SELECT, ALPHA, ACTIVE, ALPHA, ZERO},
};

/* omega = (t, s) / (t, t), or 0: when s is small enough that the half step ends it, on a breakdown, or when all is over. */
static const wr_scalar_op after_second_product[] = {
    {WR_S_LESS, T0, BOUND, SS, 0},      {WR_S_NOT, T0, T0, 0, 0},
    {WR_S_LESS, T1, SS, HUGE_SUM, 0},   {WR_S_AND, T0, T0, T1, 0}, /* T0: the half step is enough */
    {WR_S_NOT, T0, T0, 0, 0},           {WR_S_AND, T0, T0, ACTIVE, 0},
    {WR_S_DIV, OMEGA, TS, TT, 0},       {WR_S_NONZERO, T1, OMEGA, 0, 0},
    {WR_S_AND, T2, T0, T1, 0},          {WR_S_SELECT, OMEGA, T2, OMEGA, ZERO},
    {WR_S_NOT, T1, T1, 0, 0},           {WR_S_AND, T1, T0, T1, 0},
    {WR_S_OR, BAD_OMEGA, BAD_OMEGA, T1, 0},
};

/* beta = (rho' / rho) (alpha / omega), and whether this was the last step. */
static const wr_scalar_op after_update[] = {
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
};

#endif
