#define _GNU_SOURCE /* dl_iterate_phdr, sched_yield */
#include "solvers/program/comm_mpi.h"

#include <link.h>
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "config/clock.h"
#include "config/defaults.h"
#include "config/memory.h"
#include "config/version.h"
#include "solvers/program/metis_parts.h"
#include "solvers/report/run.h"

enum { PIECE = 1 << 30, TAG = 34 }; /* bytes of a message at most: MPI's counts have 31 bits */

/* Seconds that a part which has failed gives the others to arrive, too; parts that fail together do not all give up at once. */
static const double grace = 2, apart = 1;

typedef struct mpi_state {
  MPI_Comm world, ending; /* copies, so that the last call meets no other one */
  MPI_Request *requests;  /* of the exchange that goes on                      */
  int count;
} mpi_state;

static wr_status failed(wr_comm *comm, const char *what, int error) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length;
  MPI_Error_string(error, text, &length);
  return wr_error_keep(&comm->broken, wr_fail(WR_EDEVICE, "MPI: %s: %.200s", what, text));
}

/* Waits at most so many seconds; *done := 0: that was not enough. Another process may need this processor to answer. */
static int wait_for(MPI_Request *requests, int count, double seconds, int *done) {
  double begin = wr_clock();
  int error;
  do {
    error = MPI_Testall(count, requests, done, MPI_STATUSES_IGNORE);
    if (*done || error != MPI_SUCCESS) return error;
    sched_yield();
  } while (wr_clock() - begin < seconds);
  return MPI_SUCCESS;
}

static wr_status finish(wr_comm *comm, const char *what, MPI_Request *requests, int count) {
  int done;
  double begin = wr_clock();
  int error = wait_for(requests, count, comm->patience, &done);
  comm->waited += wr_clock() - begin;
  if (error != MPI_SUCCESS) return failed(comm, what, error);
  return done ? WR_OK : wr_comm_late(comm, what);
}

static wr_status gather(wr_comm *comm, const char *what, const void *mine, int64_t bytes, void *all) {
  mpi_state *s = comm->state;
  MPI_Request request;
  PASS(wr_error_raise(&comm->broken));
  int error = MPI_Iallgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, s->world, &request);
  return error == MPI_SUCCESS ? finish(comm, what, &request, 1) : failed(comm, what, error);
}

static int64_t pieces_of(int64_t bytes) { return (bytes + PIECE - 1) / PIECE; }

static wr_status begin(wr_comm *comm, const wr_parcel *send, const wr_parcel *receive) {
  mpi_state *s = comm->state;
  int64_t count = 0;
  PASS(wr_error_raise(&comm->broken));
  for (int r = 0; r < comm->size; r++) count += pieces_of(send[r].bytes) + pieces_of(receive[r].bytes);
  wr_free(s->requests);
  s->count = 0;
  PASS(wr_alloc(&s->requests, count, sizeof *s->requests, "messages"));
  for (int sends = 0; sends < 2; sends++)
    for (int r = 0; r < comm->size; r++) {
      const wr_parcel *p = sends ? &send[r] : &receive[r];
      for (int64_t at = 0; at < p->bytes; at += PIECE) {
        int bytes = p->bytes - at < PIECE ? (int)(p->bytes - at) : PIECE;
        char *data = (char *)p->data + at;
        MPI_Request *request = &s->requests[s->count++];
        int error = sends ? MPI_Isend(data, bytes, MPI_BYTE, r, TAG, s->world, request)
                          : MPI_Irecv(data, bytes, MPI_BYTE, r, TAG, s->world, request);
        if (error != MPI_SUCCESS) return failed(comm, "a message", error);
      }
    }
  return WR_OK;
}

static wr_status end(wr_comm *comm, const char *what) {
  mpi_state *s = comm->state;
  double waited = comm->waited;
  PASS(wr_error_raise(&comm->broken));
  wr_status status = finish(comm, what, s->requests, s->count);
  comm->waited_halo += comm->waited - waited;
  return status;
}

static const wr_comm_ops mpi = {
    .name = "MPI",
    .gather = gather,
    .begin = begin,
    .end = end,
#ifdef WR_HAVE_METIS
    .divide = wr_metis_parts,
#endif
};

/* What a part is made of. The linker computes the id from all that the program consists of; zeros: it has made none. */
typedef struct part_build {
  char version[32];
  unsigned char id[32];
} part_build;

static size_t padded(size_t bytes) { return (bytes + 3) & ~(size_t)3; }

/* Of the first object, which is the program itself: finds the note of type NT_GNU_BUILD_ID, of the name "GNU". */
static int find_id(struct dl_phdr_info *object, size_t size, void *of) {
  part_build *build = of;
  (void)size;
  for (int k = 0; k < object->dlpi_phnum; k++) {
    const ElfW(Phdr) *segment = &object->dlpi_phdr[k];
    const char *at = (const char *)(object->dlpi_addr + segment->p_vaddr), *end = at + segment->p_memsz;
    ElfW(Nhdr) note;
    if (segment->p_type != PT_NOTE) continue;
    while ((size_t)(end - at) > sizeof note) {
      memcpy(&note, at, sizeof note);
      const char *name = at + sizeof note, *id = name + padded(note.n_namesz);
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(name, "GNU", 4) == 0)
        memcpy(build->id, id, note.n_descsz < sizeof build->id ? note.n_descsz : sizeof build->id);
      at = id + padded(note.n_descsz);
    }
  }
  return 1;
}

/* Builds may differ in the calls that parts make, and in the bits by which they decide. */
static wr_status compare_builds(wr_comm *comm) {
  wr_status status;
  part_build mine = {{0}, {0}}, *all = NULL;
  snprintf(mine.version, sizeof mine.version, "%s", wr_version());
  (void)dl_iterate_phdr(find_id, &mine);
  TRY(wr_alloc(&all, comm->size, sizeof *all, "builds of parts"));
  TRY(gather(comm, "a comparison of builds", &mine, sizeof mine, all));
  for (int r = 1; r < comm->size; r++) {
    if (memcmp(&all[r], &all[0], sizeof *all) == 0) continue;
    TRY(wr_fail(WR_EUNAVAILABLE,
                "parts 1 and %d are different builds (versions %.31s and %.31s, ids %02x%02x%02x%02x and "
                "%02x%02x%02x%02x): start the same program everywhere",
                r + 1, all[0].version, all[r].version, all[0].id[0], all[0].id[1], all[0].id[2], all[0].id[3],
                all[r].id[0], all[r].id[1], all[r].id[2], all[r].id[3]));
  }
done:
  wr_free(all);
  return status;
}

wr_status wr_comm_mpi_begin(char **argv, wr_comm **out) {
  wr_status status;
  int level, size;
  wr_comm *comm = NULL;
  mpi_state *s;
  MPI_Comm machine;
  (void)argv;
  *out = NULL;
  if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS)
    return wr_fail(WR_EUNAVAILABLE, "MPI does not start in this process");
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size == 1) {
    MPI_Finalize();
    return WR_OK;
  }
  TRY(wr_alloc_zeroed(&comm, 1, sizeof *comm, "MPI"));
  TRY(wr_alloc_zeroed(&comm->state, 1, sizeof *s, "MPI"));
  s = comm->state;
  comm->ops = &mpi, comm->size = size, comm->patience = WR_PATIENCE;
  MPI_Comm_rank(MPI_COMM_WORLD, &comm->rank);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
  MPI_Comm_size(machine, &comm->neighbours);
  MPI_Comm_rank(machine, &comm->neighbour);
  MPI_Comm_free(&machine);
  MPI_Comm_dup(MPI_COMM_WORLD, &s->world);
  MPI_Comm_dup(MPI_COMM_WORLD, &s->ending);
  MPI_Comm_set_errhandler(s->world, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(s->ending, MPI_ERRORS_RETURN);
  *out = comm; /* also where the builds differ: all parts end together */
  TRY(compare_builds(comm));
done:
  return status;
}

/* 1 unless another part has told this one that it speaks; then this one tells the others. Launchers may take seconds to end
 * processes, so the time between two parts that give up is not enough. code: stays until the process ends. */
static int claim_word(wr_comm *comm, int *code) {
  mpi_state *s = comm->state;
  MPI_Request request;
  int is_taken = 0;
  for (int k = 0; k < 1000 && !is_taken; k++) MPI_Iprobe(MPI_ANY_SOURCE, TAG, s->ending, &is_taken, MPI_STATUS_IGNORE);
  for (int r = 0; r < comm->size && !is_taken; r++)
    if (r != comm->rank) MPI_Isend(code, 1, MPI_INT, r, TAG, s->ending, &request);
  return !is_taken;
}

/* Those that have not failed wait for what may be a long output of part 0. */
int wr_comm_mpi_end(wr_comm *comm, int code, void (*say)(void *context), void *context) {
  if (comm == NULL) {
    if (code != 0 && say) say(context);
    return code;
  }
  mpi_state *s = comm->state;
  MPI_Request request;
  int *codes = NULL, arrived = 0, first = comm->size, worst = 0;
  double seconds = code == 0 ? comm->patience : grace + apart * (comm->rank % 8);
  if (wr_alloc(&codes, comm->size, sizeof *codes, "exit codes") == WR_OK &&
      MPI_Iallgather(&code, 1, MPI_INT, codes, 1, MPI_INT, s->ending, &request) == MPI_SUCCESS)
    (void)wait_for(&request, 1, seconds, &arrived);
  if (!arrived) {
    if (code == 0) code = wr_status_exit_code(wr_fail(WR_EDEVICE, "the other parts do not end"));
    if (say && claim_word(comm, &code)) say(context);
    MPI_Abort(MPI_COMM_WORLD, code);
  }
  for (int r = comm->size - 1; r >= 0; r--) {
    if (codes[r] != 0) first = r;
    worst = wr_worse_exit_code(worst, codes[r]);
  }
  if (first == comm->rank && say) say(context);
  wr_free(codes);
  wr_free(s->requests);
  wr_free(s);
  wr_free(comm);
  MPI_Finalize();
  return worst;
}
