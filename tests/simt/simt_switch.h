/* How one fiber gives way to another: registers that a call preserves go to its own stack. x86-64 and AArch64 (8 ns on
 * an EPYC of 2022); elsewhere ucontext. The floating-point mode is not switched, for no kernel changes it. Included by
 * simt_block.cpp alone. */
#ifndef WR_SIMT_SWITCH_H
#define WR_SIMT_SWITCH_H

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#if !defined(__x86_64__) && !defined(__aarch64__)
#define SIMT_UCONTEXT 1 /* or defined by hand, to try it */
#endif
#if defined(SIMT_UCONTEXT)
#include <ucontext.h>
#endif

void simt_stack_fail(void);

/* ---- Stacks: reused, the last one first, so that short threads share one that is in cache ---- */

#if defined(__SANITIZE_ADDRESS__)
enum { SIMT_STACK = 256 << 10 };
#else
enum { SIMT_STACK = 64 << 10 };
#endif
enum { SIMT_GUARD = 1 << 16, SIMT_STACKS = 1032 }; /* a protected room below each */

/* Stacks begin at other lines of the cache, so that the 32 of a warp, which take turns, do not push each other out. */
enum { SIMT_COLORS = 64, SIMT_COLOR = 5 * 64 };

struct simt_stack {
  char *low, *top; /* its lowest byte, and where it begins */
  simt_stack *next;
};

static simt_stack simt_stacks[SIMT_STACKS];
static simt_stack *simt_free_stack;
static char *simt_stack_range;
static int simt_stacks_made;

static inline simt_stack *simt_stack_take(void) {
  simt_stack *s = simt_free_stack;
  if (s) {
    simt_free_stack = s->next;
    return s;
  }
  size_t each = SIMT_STACK + SIMT_GUARD;
  if (simt_stack_range == nullptr) {
    void *range = mmap(nullptr, each * SIMT_STACKS, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) simt_stack_fail();
    simt_stack_range = (char *)range;
  }
  if (simt_stacks_made == SIMT_STACKS) simt_stack_fail();
  s = &simt_stacks[simt_stacks_made];
  s->low = simt_stack_range + each * (size_t)simt_stacks_made + SIMT_GUARD;
  s->top = s->low + SIMT_STACK - simt_stacks_made++ % SIMT_COLORS * SIMT_COLOR;
  if (mprotect(s->low, SIMT_STACK, PROT_READ | PROT_WRITE) != 0) simt_stack_fail();
  return s;
}

static inline void simt_stack_free(simt_stack *s) {
  if (s == nullptr) return;
  s->next = simt_free_stack;
  simt_free_stack = s;
}

/* ---- Contexts ---- */

struct simt_context {
#if defined(SIMT_UCONTEXT)
  ucontext_t at;
#else
  void *at; /* the stack pointer, above the saved registers */
#endif
#if defined(__SANITIZE_ADDRESS__)
  const void *low; /* the stack, for the address sanitizer; the host's is learnt at the first switch away */
  size_t size;
  void *fake;
  bool last;
#endif
};

#if defined(SIMT_UCONTEXT)
static inline void simt_context_start(simt_context *c, char *top, void (*entry)(void)) {
  if (getcontext(&c->at) != 0) simt_stack_fail();
  c->at.uc_stack.ss_sp = top - SIMT_STACK / 2; /* what all colors leave */
  c->at.uc_stack.ss_size = SIMT_STACK / 2 - 64;
  c->at.uc_link = nullptr;
  makecontext(&c->at, entry, 0);
}
#elif defined(__x86_64__)
#if defined(__AVX512F__)
#define SIMT_MORE_REGISTERS                                                                                            \
  , "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26", "xmm27",        \
      "xmm28", "xmm29", "xmm30", "xmm31", "k1", "k2", "k3", "k4", "k5", "k6", "k7"
#else
#define SIMT_MORE_REGISTERS
#endif

/* In line, and by a jump, since processors predict a jump to where the last fiber went on, but a return to where the call was.
 * The compiler keeps no register but rbp and rsp across it. 128 bytes below rsp are the caller's. */
__attribute__((always_inline)) static inline void simt_switch_stacks(void **save, void *load) {
  asm volatile("  sub $128, %%rsp\n  push %%rbp\n  lea 1f(%%rip), %%rax\n  push %%rax\n"
               "  mov %%rsp, (%0)\n  mov %1, %%rsp\n  pop %%rax\n  jmp *%%rax\n"
               "1: pop %%rbp\n  add $128, %%rsp\n"
               : "+D"(save), "+S"(load)
               :
               : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "cc", "memory",
                 "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
                 "xmm12", "xmm13", "xmm14", "xmm15" SIMT_MORE_REGISTERS);
}

static inline void simt_context_start(simt_context *c, char *top, void (*entry)(void)) {
  void **p = (void **)(top - 64); /* 16-byte aligned; the return address below makes it as after a call */
  *--p = nullptr;
  *--p = (void *)entry;
  c->at = p;
}
#else /* AArch64 */
extern "C" void simt_switch_stacks(void **save, void *load);
asm(".text\n.type simt_switch_stacks, %function\nsimt_switch_stacks:\n"
    "  sub sp, sp, #160\n"
    "  stp x19, x20, [sp]\n  stp x21, x22, [sp, #16]\n  stp x23, x24, [sp, #32]\n  stp x25, x26, [sp, #48]\n"
    "  stp x27, x28, [sp, #64]\n  stp x29, x30, [sp, #80]\n"
    "  stp d8, d9, [sp, #96]\n  stp d10, d11, [sp, #112]\n  stp d12, d13, [sp, #128]\n  stp d14, d15, [sp, #144]\n"
    "  mov x9, sp\n  str x9, [x0]\n  mov sp, x1\n"
    "  ldp x19, x20, [sp]\n  ldp x21, x22, [sp, #16]\n  ldp x23, x24, [sp, #32]\n  ldp x25, x26, [sp, #48]\n"
    "  ldp x27, x28, [sp, #64]\n  ldp x29, x30, [sp, #80]\n"
    "  ldp d8, d9, [sp, #96]\n  ldp d10, d11, [sp, #112]\n  ldp d12, d13, [sp, #128]\n  ldp d14, d15, [sp, #144]\n"
    "  add sp, sp, #160\n  ret\n"
    ".size simt_switch_stacks, .-simt_switch_stacks\n");

static inline void simt_context_start(simt_context *c, char *top, void (*entry)(void)) {
  void **p = (void **)(top - 64 - 160);
  for (int r = 0; r < 20; r++) p[r] = nullptr;
  p[11] = (void *)entry; /* x30 */
  c->at = p;
}
#endif

/* The context enters `entry`, which never returns, on this stack. */
static inline void simt_context_make(simt_context *c, const simt_stack *stack, void (*entry)(void)) {
  simt_context_start(c, stack->top, entry);
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(stack->low, SIMT_STACK);
  c->low = stack->low, c->size = SIMT_STACK, c->fake = nullptr, c->last = false;
#endif
}

/* The next switch away from this context is its last. */
static inline void simt_context_last(simt_context *c) {
  (void)c;
#if defined(__SANITIZE_ADDRESS__)
  c->last = true;
#endif
}

#if defined(__SANITIZE_ADDRESS__)
static simt_context *simt_from; /* of the last switch */
#endif

static inline void simt_switch(simt_context *from, simt_context *to) {
#if defined(__SANITIZE_ADDRESS__)
  simt_from = from;
  __sanitizer_start_switch_fiber(from->last ? nullptr : &from->fake, to->low, to->size);
#endif
#if defined(SIMT_UCONTEXT)
  (void)swapcontext(&from->at, &to->at);
#else
  simt_switch_stacks(&from->at, to->at);
#endif
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(from->fake, nullptr, nullptr);
#endif
}

/* The first thing in a context's entry. */
static inline void simt_context_entered(void) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &simt_from->low, &simt_from->size);
#endif
}

#endif
