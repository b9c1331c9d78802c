/* NCCL between processes whose cards are the CPU: each pair of processes has a box in a file that all map, through which bytes
 * travel in pieces. Calls have done their work when they return, and fail where another process does not answer. */
#include <dlfcn.h>

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "tests/simt/simt.h"

enum { MOST_PARTS = 8, PIECE = 4096 - 64, SUCCESS = 0, FAILED = 2, WRONG = 4 };

/* Bytes that one process has sent and another has not received yet. */
struct box {
  std::atomic<int64_t> bytes; /* 0: empty */
  char data[PIECE];
};

struct id {
  int process, file;
  char rest[120];
};

struct connection {
  int size, rank;
  box *boxes; /* [size][size] from, to */
};

/* What a process sends to another, or receives from it. */
struct message {
  connection *between;
  char *data;
  size_t left;
  int other;
  bool is_sent;
};

static struct {
  int depth;
  std::vector<message> messages;
} group;

static bool move_piece(message *m) {
  const connection *c = m->between;
  box *b = &c->boxes[m->is_sent ? c->rank * c->size + m->other : m->other * c->size + c->rank];
  int64_t bytes = b->bytes.load(std::memory_order_acquire);
  if (m->left == 0 || (bytes == 0) != m->is_sent) return false;
  if (m->is_sent) bytes = std::min((int64_t)m->left, (int64_t)PIECE);
  if ((size_t)bytes > m->left) simt_fail("NCCL: part %d sends more than part %d receives", m->other, c->rank);
  simt_open_memory(m->data);
  if (m->is_sent)
    memcpy(b->data, m->data, (size_t)bytes);
  else
    memcpy(m->data, b->data, (size_t)bytes);
  simt_close_memory(m->data);
  m->data += bytes, m->left -= (size_t)bytes;
  b->bytes.store(m->is_sent ? bytes : 0, std::memory_order_release);
  return true;
}

static int move_all(std::vector<message> &messages) {
  time_t begin = time(nullptr);
  for (bool waits = true; waits;) {
    bool moved = waits = false;
    for (message &m : messages) {
      moved |= move_piece(&m);
      waits |= m.left > 0;
    }
    if (moved) begin = time(nullptr);
    if (time(nullptr) - begin > simt_get_settings()->patience) return FAILED;
    if (!moved) sched_yield();
  }
  return SUCCESS;
}

static int get_id(id *unique) {
  int file = memfd_create("boxes", MFD_CLOEXEC);
  *unique = {};
  unique->process = (int)getpid(), unique->file = file;
  return file >= 0 && ftruncate(file, sizeof(box) * MOST_PARTS * MOST_PARTS) == 0 ? SUCCESS : FAILED;
}

static int open_comm(void **comm, int size, id unique, int rank) {
  char name[64];
  if (size > MOST_PARTS || rank < 0 || rank >= size) return WRONG;
  snprintf(name, sizeof name, "/proc/%d/fd/%d", unique.process, unique.file);
  int file = open(name, O_RDWR | O_CLOEXEC);
  void *room = file < 0
                   ? MAP_FAILED
                   : mmap(nullptr, sizeof(box) * MOST_PARTS * MOST_PARTS, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (file >= 0) close(file);
  if (room == MAP_FAILED) return FAILED;
  *comm = new connection{size, rank, static_cast<box *>(room)};
  return SUCCESS;
}

static int close_comm(void *comm) {
  connection *c = static_cast<connection *>(comm);
  (void)munmap(c->boxes, sizeof(box) * MOST_PARTS * MOST_PARTS);
  delete c;
  return SUCCESS;
}

static int get_failure(void *, int *error) { return *error = SUCCESS, SUCCESS; }

static int group_begin(void) { return group.depth++, SUCCESS; }

static int group_end(void) {
  if (--group.depth > 0) return SUCCESS;
  int error = move_all(group.messages);
  group.messages.clear();
  return error;
}

static int add(const void *data, size_t bytes, int other, void *comm, bool is_sent) {
  connection *c = static_cast<connection *>(comm);
  if (other < 0 || other >= c->size || other == c->rank || !simt_memory_holds(data, bytes)) return WRONG;
  group_begin();
  group.messages.push_back({c, static_cast<char *>(const_cast<void *>(data)), bytes, other, is_sent});
  return group_end();
}

static int send(const void *from, size_t count, int, int to, void *comm, cudaStream_t) {
  return add(from, count, to, comm, true);
}

static int receive(void *to, size_t count, int, int from, void *comm, cudaStream_t) {
  return add(to, count, from, comm, false);
}

static int all_gather(const void *from, void *to, size_t count, int, void *comm, cudaStream_t) {
  connection *c = static_cast<connection *>(comm);
  char *all = static_cast<char *>(to);
  if (cudaMemcpy(all + (size_t)c->rank * count, from, count, cudaMemcpyDeviceToDevice) != cudaSuccess) return WRONG;
  int error = group_begin();
  for (int r = 0; r < c->size && error == SUCCESS; r++) {
    if (r == c->rank) continue;
    error = add(from, count, r, comm, true);
    if (error == SUCCESS) error = add(all + (size_t)r * count, count, r, comm, false);
  }
  int ended = group_end();
  return error == SUCCESS ? ended : error;
}

static const char *error_text(int error) {
  return error == FAILED ? "another process does not answer" : "a wrong argument";
}

void *dlopen_simt(const char *name, int) {
  static int library;
  return strcmp(name, "libnccl.so.2") == 0 && simt_get_settings()->nccl ? &library : nullptr;
}

const char *dlerror_simt(void) { return "there is none on the CPU"; }

void *dlsym_simt(void *, const char *name) {
  static const struct {
    const char *name;
    void *call;
  } calls[] = {{"ncclGetUniqueId", (void *)get_id},
               {"ncclCommInitRank", (void *)open_comm},
               {"ncclCommDestroy", (void *)close_comm},
               {"ncclCommAbort", (void *)close_comm},
               {"ncclCommGetAsyncError", (void *)get_failure},
               {"ncclAllGather", (void *)all_gather},
               {"ncclSend", (void *)send},
               {"ncclRecv", (void *)receive},
               {"ncclGroupStart", (void *)group_begin},
               {"ncclGroupEnd", (void *)group_end},
               {"ncclGetErrorString", (void *)error_text}};
  for (const auto &c : calls)
    if (strcmp(c.name, name) == 0) return c.call;
  return nullptr;
}
