/* Every default number once, with its reason. Text, because option tables parse their defaults like anything else. */
#ifndef WR_DEFAULTS_H
#define WR_DEFAULTS_H

#define WR_TEXT_OF(number) WR_TEXT_OF_IT(number)
#define WR_TEXT_OF_IT(number) #number

/* Brin and Page 1998; what every other tool uses, so that scores can be compared. */
#define WR_DAMPING 0.85
#define WR_DEFAULT_DAMPING WR_TEXT_OF(WR_DAMPING)

/* 0 stands for "by precision": PageRank bounds the L1 error by 1e-9 in f64 (scores agree to nine digits of their sum), 1e-5
 * in f32, which the rounding of 4u/(1 - d) = 1.6e-6 leaves room for; BiCGSTAB reduces ||r|| by 1e-8 and 1e-5. */
#define WR_DEFAULT_TOLERANCE "0"
#define WR_PAGERANK_TOLERANCE_F64 1e-9
#define WR_PAGERANK_TOLERANCE_F32 1e-5
#define WR_BICGSTAB_TOLERANCE_F64 1e-8
#define WR_BICGSTAB_TOLERANCE_F32 1e-5

/* 0 stands for "by method": PageRank max(1000, 2 ln(t (1 - d)) / ln d), twice what the geometric rate d needs. */
#define WR_DEFAULT_ITERATIONS "0"
#define WR_PAGERANK_LEAST_ITERATIONS 1000
#define WR_BICGSTAB_ITERATIONS 10000

/* Methods of pagerank for directed graphs (docs/ranking.md). On a device the power method takes less time than IDR below this
 * damping: at 0.85 it takes 105 steps on cnr-2000 and NotreDame, IDR(4) 68 and 82 multiplies, each of which moves several
 * times as much. Otherwise the rate of convergence is measured after so many steps, and again whenever their number has
 * doubled. */
#define WR_RANK_LARGE_DAMPING 0.95
#define WR_RANK_LOOK 8

/* At this damping Chebyshev's method takes 34 000 steps until it notices that rounding holds it up, and 316 times as many at
 * 1 - 1e-11, as -12 / log(rate) grows (solvers/pagerank.c). From here on it is left out where no method can meet the
 * tolerance. */
#define WR_RANK_NEAR_1 (1 - 1e-6)

/* Where N steps of the power method are predicted, IDR(4) takes about 8.3 sqrt(N) multiplies (334 for 1594 on cnr-2000, 315
 * for 1514 on NotreDame), and a solve by components at most the time of 20 + 4 sqrt(N) steps (cnr-2000, NotreDame, wiki-Vote
 * at 0.85, 0.99 and 0.999; 2026-11). Either is to take this share of the time at most, since the predictions are rough, and is
 * not worth a change for so few bytes, a millisecond or two of a core. */
#define WR_RANK_IDR_FACTOR 8.3
#define WR_RANK_GS_SETUP 20
#define WR_RANK_GS_FACTOR 4
#define WR_RANK_GAIN 0.8
#define WR_RANK_LEAST_BYTES 1e7

/* 0 stands for "by size": 1, but 8 where a multiply moves so little that launches matter on a GPU, where each check costs as
 * much as five of them. */
#define WR_DEFAULT_CHECK_EVERY "0"

/* Incomplete factorisations: the least |pivot| relative to the largest element of its row of A; ILUT's drop tolerance and fill
 * in elements of a row on each side of the diagonal (docs/decisions.md). */
#define WR_DEFAULT_PIVOT "1e-8"
#define WR_SHIFTED_PIVOT 0.125 /* what a smaller one becomes, relative likewise */
#define WR_DEFAULT_DROP "1e-3"
#define WR_DEFAULT_FILL "10"

/* Multiplies for which -k auto chooses a backend of a linear system: not known before, and most systems of docs/systems.md that
 * are solved take 50 to 1000, where the choice is often the same. */
#define WR_EXPECTED_MULTIPLIES 200

/* Multiplies from which on -k auto fetches rows that were made on a device, for backends that read them on the host: an entry
 * takes 0.4 ns to fetch, and a multiply by another backend gains at most half of 1 to 3 ps (H200, 2026-11). */
#define WR_ROWS_WORTH_MULTIPLIES 1000

/* Where spmv --calibrate keeps what it measures, in the user's cache folder (user_cache.h). */
#define WR_CALIBRATION_FILE "calibration"

/* Rows of a block in the order by colours: more rows take fewer iterations and more levels (docs/decisions.md). */
#define WR_DEFAULT_BLOCK "32"

/* BiCGSTAB restarts: more than ten never made a solve converge (20 matrices that break down or stagnate). */
#define WR_BICGSTAB_L 2 /* of BiCGSTAB(l) */
#define WR_DEFAULT_ELL "2"
#define WR_BICGSTAB_RESTARTS 10
#define WR_BICGSTAB_REFINEMENTS 5

/* --stop backward: each correction but the last asks for a residual at least ten times smaller, and up to a thousand times. */
#define WR_BICGSTAB_BACKWARD_REFINEMENTS 20

/* A direct solver refines while a step halves the residual: from 1e-1 to 1e-16 in 50, but a matrix for which two or three do
 * not suffice is hardly better solved by more. */
#define WR_DIRECT_REFINEMENTS 10

/* KLU keeps a pivot on the diagonal unless it is below this share of the largest in its column. With KLU's own 0.001 the
 * smallest pivot of e20r0000 is 7e-13 of the largest, and three steps of refinement lead to 1e-13; with 0.1 it is 5e-4 and one
 * step, for factors larger by a sixth. 1, which is partial pivoting, doubles the factors of bayer10 (2026-11). */
#define WR_DIRECT_PIVOT 0.1

/* An answer that meets the residual's tolerance with a backward error above this, and above the tolerance, is said to be
 * doubtful. Of 35 real systems, 30 were solved to 1e-8; three had a backward error above 1e-3 (fuego1 0.003, fs_183_3 0.98,
 * watt_2 1), with errors of 0.007, 307 and 1 in x. The other 27 stayed below 5e-5 (2026-11). */
#define WR_DOUBTFUL_BACKWARD 1e-3

/* Up to so many unknowns a dense direct solver is named: 32 MB and 5e9 operations, a second of a core at most. */
#define WR_DENSE_ROWS 2000

/* Scaling a system. A diagonal element below this share of the largest of its row counts as tiny. Rows and columns are
 * equilibrated if their largest elements differ by more binary digits than these, by about 1000 (docs/decisions.md). Each
 * sweep of Ruiz's halves the digits that are left to scale: ten bring 2^1000 to 2. More than 2^1000 either way could overflow.
 * The scaling of a matching is used unless it goes beyond that of Ruiz by so many digits more: elements of the solver's unknown
 * would then differ by as much. Rows of a saddle point are moved only if the other elements of a moved row then add up to less
 * than this times its diagonal element, in the mean (2026-11). */
#define WR_MATCHING_TINY 1e-3
#define WR_EQUILIBRATE_DIGITS 10
#define WR_EQUILIBRATE_SWEEPS 12
#define WR_SCALING_EXPONENT 1000
#define WR_MATCHING_DIGITS 64
#define WR_MATCHING_EXCESS 2

/* The searches of matching do no more work (wr_matching.work) than so much, about 1 s of a core's time (2026-11), and that of
 * looking at all entries once more; but in a small matrix, of which caches hold all and searches take half of the time, 16 000
 * times its entries at most, a fifth to a half of what a solve of 10 000 iterations does. */
#define WR_MATCHING_WORK 100000000
#define WR_MATCHING_MULTIPLES 16000

/* Without -d and -k a problem goes to the CPU if it is solved there before a GPU could be opened and closed. An H200 takes
 * 0.2 s to open, and 1 s where four programs do so at a time; a process that has opened it takes 0.1 s longer to end (2026-11).
 * A core multiplies 5 GB/s of a matrix while it gathers x at random, half of what it streams; more than eight cores are limited
 * by the memory that they share. BiCGSTAB is assumed to need sqrt(n) iterations, as a plane grid of n points does: less regular
 * systems need fewer, or do not converge anyway. */
#define WR_DEVICE_OPEN_SECONDS 0.2
#define WR_DEVICE_CLOSE_SECONDS 0.1
#define WR_CORE_BYTES_PER_SECOND 5e9
#define WR_MEMORY_CORES 8

/* -d auto begins on the CPU while a GPU is being opened, with at most so many entries: more of them take longer to transpose
 * than is left of opening by then. An entry takes a core so many seconds to be transposed. From so many threads on, the solve
 * leaves one core to opening. A solve that goes over to a GPU is expected to need the upload of the matrix, a part for
 * memory and preparing, and in each iteration two multiplies besides launches. Which GPU that will be is not known by then: an
 * H200 prepares in 10 to 20 ms, and takes half of the time that is expected of an iteration (2026-11). A GPU is opened while
 * the matrix is read if a core's reading of an entry promises that this takes more than a tenth of the time of opening; else
 * once the solve has taken this share of that time and the rest is expected to take longer. So a solve with few iterations
 * opens none (gen:fem:n=30: 61 ms on the CPU, and 268 with a GPU being opened). A decision takes so many iterations while none
 * is being opened, which slows them down (gen:web:n=1000000: 7 ms for 3). */
#define WR_HEAD_START_ENTRIES 20000000
#define WR_READY_SECONDS 2e-8
#define WR_SPARED_FROM 4
#define WR_MOVE_SECONDS 0.03
#define WR_UPLOAD_BYTES_PER_SECOND 5e9
#define WR_DEVICE_ITERATION_SECONDS 2e-5
#define WR_DEVICE_BYTES_PER_SECOND 2.5e12
#define WR_OPEN_LATE_SHARE 0.05
#define WR_JUDGED_ITERATIONS 4
#define WR_READING_SECONDS 5e-8
#define WR_OPEN_LATE_READING 0.1

/* -k auto changes its backend in mid-run where that should save this share of what is left, and so many seconds: less is within
 * the errors of the model, and of the order of what planning the candidates takes. */
#define WR_CHANGE_SHARE 0.1
#define WR_CHANGE_SECONDS 0.02

/* PageRank is expected to take this share of the steps that the rate d would need, until links are known to go both ways. */
#define WR_POWER_SHARE 0.3

/* Where the time of opening a GPU is kept, in the user's cache folder (user_cache.h). */
#define WR_OPENING_FILE "opening"

/* Work that is done once uses a thread for each so many entries, 10 ms of a core's time. Another process may keep a thread off
 * its core for some milliseconds, and a thread with less work than this is not worth such a wait. */
#define WR_ENTRIES_PER_THREAD (1 << 17)

/* Seconds that a part waits for the others: longer than one of them may take to read its rows. */
#define WR_PATIENCE 600
#define WR_DEFAULT_PATIENCE WR_TEXT_OF(WR_PATIENCE)

/* Full verification is the default while it costs less than this, or this share of the run. */
#define WR_VERIFY_SECONDS 0.1
#define WR_VERIFY_SHARE 0.2
#define WR_VERIFY_SAMPLE_ROWS 10000

/* Sweeps of teleport sets between two checks on a device, which cost a download of 128 bytes. Stagnation is looked for over so
 * many sweeps. */
#define WR_SETS_CHECK_EVERY 4
#define WR_SETS_WINDOW 10

/* The choice between CPU and GPU assumes so many sets, as it is made before they are read. */
#define WR_SETS_EXPECTED 100.0

/* The host's own bound of a set's scores takes so many seconds for a node or link (one thread of an EPYC, 2026-11). By default
 * as many sets are checked so as take WR_VERIFY_SECONDS, and one more. */
#define WR_SETS_CHECK_SECONDS 8e-9

#endif
