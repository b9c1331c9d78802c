/* Generated test matrices: gen:FAMILY:key=value,...  Deterministic by seed, bit for bit the same on any number of
 * threads and on any machine. A graph is given as a file would be: entry (i, j) is the edge i -> j.
 *
 *   gen:road     side=4096 keep=0.57          side^2 grid points in Morton order, each undirected edge kept with
 *                                             probability keep
 *   gen:web      n=3000000 dmin=7 alpha=1.6 dangling=0.1 dmax=5000 local=3000
 *                                             copying model: power-law out-degrees, links to near pages (most within
 *                                             local/5), skewed global targets
 *   gen:rmat     scale=20 degree=48           2^scale nodes, Kronecker probabilities (0.57, 0.19, 0.19, 0.05)
 *   gen:hubs     n=10000000 hubs=1000         n nodes, hubs of them skewed hubs, every other one tied to one of these
 *   gen:stencil  n=200 points=7 convection=0.4   5 points: n^2; 7 and 27: n^3; nonsymmetric when convection is not 0
 *   gen:fem      n=49                         n^3 nodes, 27 neighbours, 3x3 blocks
 *   gen:band     n=32000 block=5 density=0.05    dense blocks about the diagonal, row sums 1
 *   gen:chain    scale=24                     a path over 2^scale nodes in random order, cut every 1000
 *   gen:uniform  n=4000000 degree=12          uniformly random columns
 *   gen:density  n=4096 block=16 density=0.1 fill=1   random blocks, `density` of all; fill up to 1: the share of a
 *                                             block's entries, above 1: their number
 *   gen:aniso    n=1000 dims=2 ratio=1000        n^dims points, diffusion along x `ratio` times as strong as along y and z
 *   gen:jump     n=1000 dims=2 domains=8 contrast=1e6   n^dims points, diffusion by powers of two that are chosen at random
 *                                             for each of domains^dims subdomains
 *   gen:convect  n=1000 dims=2 peclet=20 scheme=upwind flow=through stretch=1   n^dims points, convection and diffusion on a
 *                                             graded grid, by finite volumes
 *   gen:saddle   n=500 dims=2 viscosity=1 convection=0   [A B^T; B 0] of Stokes' equations on n^dims staggered cells:
 *                                             (dims + 1) n^dims rows, of which n^dims have no diagonal element
 *   gen:circuit  n=1000000 rails=8 sources=0.05 active=0.2 spread=1e6   modified nodal analysis: n nodes, supply rails with
 *                                             dense rows, voltage sources, a row without a diagonal element for each
 *   and seed=1 for each. */

#ifndef WR_GENERATE_H
#define WR_GENERATE_H

#include <stdio.h>

#include "config/status.h"
#include "spmv/matrix/csr.h"

WR_C_BEGIN

/* 1 if name begins with "gen:". */
int wr_generate_is_name(const char *name);

/* *out := the named matrix (graphs: patterns; the rest: with values). WR_EUSAGE: unknown family or key (the closest is
 * named), value out of range; WR_ENOMEM. threads 0: all. */
wr_status wr_generate(const char *name, int threads, wr_csr **out);

/* The same, refused with WR_ENOMEM unless row_bytes more for each row fit beside the matrix into the memory that is
 * available. */
wr_status wr_generate_beside(const char *name, int threads, int64_t row_bytes, wr_csr **out);

/* *out := rows [first, end) of the named matrix, with the columns of the whole. WR_EUSAGE also when it has no such rows. */
wr_status wr_generate_rows(const char *name, int threads, int64_t first, int64_t end, wr_csr **out);

/* row_ptr[end - first + 1] := where these rows begin in those of wr_generate_rows. */
wr_status wr_generate_lengths(const char *name, int threads, int64_t first, int64_t end, int64_t *row_ptr);

/* About how many rows and entries wr_generate would make, without making them; the same errors. */
wr_status wr_generate_extent(const char *name, int64_t *nrows, int64_t *nnz);

/* The list above, from the families' own option tables. */
void wr_generate_help(FILE *out);

WR_C_END
#endif
