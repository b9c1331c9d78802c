/* Several processes that compute one result together, each one part of it. A wr_comm is how they exchange numbers: a table of
 * functions, of which there is one for a single process (wr_comm_alone) and one for MPI (solvers/program/comm_mpi.c).
 *
 * Every function here is a collective call: all parts make the same calls in the same order. What all parts get is the same in
 * all bits, so all of them take the same decisions by it. A call that the others do not answer within comm->patience seconds
 * fails with WR_EDEVICE and a sentence that names the call. */
#ifndef WR_COMM_H
#define WR_COMM_H

#include <stdint.h>

#include "config/status.h"

WR_C_BEGIN

struct wr_csr;

/* Bytes for another part, or from it. */
typedef struct wr_parcel {
  void *data;    /* [bytes]; read where it is sent */
  int64_t bytes; /* 0: nothing travels             */
} wr_parcel;

struct wr_comm_ops;

typedef struct wr_comm {
  const struct wr_comm_ops *ops;
  int rank, size;  /* the number of this part, from 0, and how many there are */
  int neighbours;  /* parts on this machine, this one included ...            */
  int neighbour;   /* ... and the number of this one among them               */
  double patience; /* seconds that a call waits for the other parts           */
  double waited;   /* seconds spent in calls so far ...                       */
  double waited_halo; /* ... and of them for elements that others have sent    */
  wr_error broken; /* of a call that failed: every later one fails so at once */
  void *state;     /* private to ops                                          */
} wr_comm;

typedef struct wr_comm_ops {
  const char *name; /* "MPI" */
  /* all[size * bytes] := the bytes of each part, by rank. bytes is the same everywhere, and below 2^31. what: for the sentence
   * of an error. */
  wr_status (*gather)(wr_comm *comm, const char *what, const void *from, int64_t bytes, void *all);
  /* Begins to send send[size] to the other parts and to receive receive[size] from them; receive[r].bytes here is
   * send[rank].bytes there. Both arrays and what they point to stay as they are until end, which waits. One exchange at a time.
   * A part does not send to itself: its own parcels are of 0 bytes. */
  wr_status (*begin)(wr_comm *comm, const wr_parcel *send, const wr_parcel *receive);
  wr_status (*end)(wr_comm *comm, const char *what);
  /* NULL: there is no library for it. A is rows [starts[rank], starts[rank + 1]) of a square matrix, with columns of the whole.
   * part[rows of the whole] := a part for each row, the same in all parts, so that the parts have about equal work and few
   * entries lie between them. A part may get no row. WR_EUNAVAILABLE: the matrix is too large for the library; WR_ENOMEM. */
  wr_status (*divide)(wr_comm *comm, const int64_t *starts, const struct wr_csr *A, int32_t *part);
} wr_comm_ops;

/* One part. The struct has no state and may be copied. */
extern const wr_comm wr_comm_alone;

/* WR_EDEVICE, also of every later call: this part has waited for comm->patience seconds in vain. what: as of gather. Not
 * collective. */
wr_status wr_comm_late(wr_comm *comm, const char *what);

/* v[count] := the sum of that of all parts, by rank, so the same for each run with as many parts. count: at most
 * WR_COMM_NUMBERS. comm NULL, here and below: one part, and nothing is to be done. */
enum { WR_COMM_NUMBERS = 64 };
wr_status wr_comm_sum(wr_comm *comm, double *v, int count);
wr_status wr_comm_sum_counts(wr_comm *comm, int64_t *v, int count);

/* v[count] := the largest, a NaN being larger than any number; for the smallest give -v. */
wr_status wr_comm_max(wr_comm *comm, double *v, int count);
wr_status wr_comm_max_counts(wr_comm *comm, int64_t *v, int count);

/* Ends a stretch of work that each part has done by itself, with this status: WR_OK if all have succeeded; else all parts
 * return the status and the sentence of the first part that has failed. */
wr_status wr_comm_agree(wr_comm *comm, wr_status status);

/* to[count of all parts] := the elements of all parts, by rank, in part 0; elsewhere to is not used. */
wr_status wr_comm_collect(wr_comm *comm, const double *from, int64_t count, double *to);

/* data[bytes] of part `from` becomes that of all parts. WR_ENOMEM */
wr_status wr_comm_spread(wr_comm *comm, const char *what, int from, void *data, int64_t bytes);

/* An exchange of lists with different lengths: counts of elements of `size` bytes in send, one list behind the other by rank.
 * *received (for wr_free): the lists for this part, likewise, with got[comm->size] elements each. */
wr_status wr_comm_swap(wr_comm *comm, const char *what, const void *send, const int64_t *counts, int64_t size,
                       void *received, int64_t *got);

WR_C_END
#endif
