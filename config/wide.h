/* Code for wider instructions in a portable build. */
#ifndef WR_WIDE_H
#define WR_WIDE_H

#include <stdint.h> /* which says whether this is glibc */

/* Before a function with hot loops: compiled with all that it calls for every processor that the build is for, and once more
 * for those with AVX2 (x86, since 2013); the loader takes the one that suits. It runs the choice before a sanitizer is
 * ready. clang 14 does not take both attributes together. A build for a processor with AVX2 has nothing to choose. */
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__AVX2__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define WR_WIDE __attribute__((target_clones("default", "avx2"), flatten))
#else
#define WR_WIDE
#endif

#endif
