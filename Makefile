# windrow. Two commands to begin with: `make demo` and `make check`; `make help` lists the rest.
#
# Sources are found by name, so a new file needs no line here. Everything made goes to $(BUILD): found.mk (what tools/
# find_tools.sh found here), obj/ (objects and their dependencies), the library as libwindrow.a and .so, the programs, include/,
# manual/ (man pages, completion), examples/, tests/ and bench/.

.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules
ifeq ($(MAKELEVEL),0) # all cores; a -jN on the command line wins
MAKEFLAGS += -j$(or $(shell nproc 2>/dev/null),2)
endif
ifneq ($(filter clean deps check-%,$(MAKECMDGOALS)),) # one after the other
.NOTPARALLEL:
endif

#: BUILD=DIR        where everything made goes (build)
#: CC=COMMAND       the C compiler, gcc or clang (gcc)
#: CXX=COMMAND      the C++ compiler that reads kernels for the CPU (g++)
#: MARCH=NAME       processor to compile for; MARCH= makes a portable build (native)
#: OPT=FLAGS        optimisation (-O3)
#: CFLAGS, CPPFLAGS, LDFLAGS, LDLIBS, NVCCFLAGS   added to ours
#: WERROR=-Werror   makes the compilers' warnings errors, as continuous integration does (empty)
#: CUDA=0           builds without CUDA although it is there
#: CUDA_HOME=DIR    where the CUDA toolkit is, if nvcc is not in PATH
#: CUDA_ARCH=sm_NN  device code for this architecture (the card's own; sm_90 and PTX where there is none)
#: ZLIB=0           builds without zlib although it is there; .gz files are refused
#: ZSTD=0, XZ=0     build without libzstd, without liblzma although they are there; .zst, .xz files are refused
#: XXHASH=0         builds without xxhash.h although it is there; windrow's own XXH3 checks saved matrices
#: KLU=0            builds without KLU although it is there; --fallback direct is refused
#: METIS=0          builds without METIS although it is there; mpirun's --partition metis is refused
#: MPI=0            builds without MPI although it is there; a program started by mpirun is refused
#: SHIM=0           leaves out the tests that run kernels on the CPU
#: JOBS=N           tests run side by side (2)
#: TEST_TIMEOUT=S   seconds that one test program may take (900)
#: FUZZ_SECONDS=S   how long each fuzz target runs (60)
#: FUZZ='NAMES'     only these fuzz targets, such as FUZZ='mtx knobs'
#: TESTS='NAMES'    only these tests, such as TESTS='test_option lint' or TESTS='simt_%'; what they need is built
#: PREFIX=DIR       where install, uninstall put and look for things (/usr/local)
#: LIBDIR=DIR       where the library goes below PREFIX (lib)
#: DESTDIR=DIR      a folder that stands for / while a package is made
#: SEED=N           draws the unseen matrices of make bench-all (1)
#: FOLDER=DIR       real matrices (.mtx, .mtx.gz) for make bench-all, also in folders in it
#: GROUPS='LIST'    of its matrices, separated by commas: standard,seen,unseen,real (all)
#: LIMIT=S          make bench-all ends by itself before so many seconds; the next one goes on (none)
#: V=1              shows the commands
BUILD := $(or $(BUILD),build)
ifeq ($(origin CC),default)
CC := gcc
endif
ifeq ($(origin CXX),default)
CXX := g++
endif
MARCH ?= native
OPT ?= -O3
WERROR ?=
JOBS ?= 2
TEST_TIMEOUT ?= 900
FUZZ_SECONDS ?= 60
CLANG ?= clang
PREFIX ?= /usr/local
LIBDIR ?= lib
SEED ?= 1
LIMIT ?= 1e9
DESTDIR ?=
Q := $(if $(V),,@)
SAY := @$(if $(V),:,printf '  %-5s %s\n')

.PHONY: all demo check check-gpu check-asan check-tsan check-deps fuzz fuzzers bench bench-io bench-parts bench-all calibrate format lint longest deps new-backend clean help FORCE
all: programs mpi-programs libraries

# --- What this machine has ------------------------------------------------------------------------------------------------
# found.mk is made anew when it was made for other settings, or when it lacks something that may have been installed since.

ifneq ($(filter-out check-asan check-tsan check-deps fuzz deb wheel format lint longest deps new-backend uninstall clean help,$(or $(MAKECMDGOALS),all)),)
include $(BUILD)/found.mk
ifneq ($(ASKED)$(LOOK_AGAIN),$(CC)|$(MARCH)|$(CUDA)|$(CUDA_ARCH)|$(CUDA_HOME)|$(ZLIB)|$(KLU)|$(ZSTD)|$(XZ)|$(XXHASH)|$(METIS)|$(MPI))
$(BUILD)/found.mk: FORCE
endif
endif

$(BUILD)/found.mk: tools/find_tools.sh
	@CC='$(CC)' MARCH='$(MARCH)' CUDA='$(CUDA)' CUDA_ARCH='$(CUDA_ARCH)' CUDA_HOME='$(CUDA_HOME)' \
	  ZLIB='$(ZLIB)' KLU='$(KLU)' ZSTD='$(ZSTD)' XZ='$(XZ)' XXHASH='$(XXHASH)' METIS='$(METIS)' MPI='$(MPI)' sh tools/find_tools.sh $@

# --- Sources --------------------------------------------------------------------------------------------------------------

# CUDA_BACKENDS: those with kernels of windrow's, by their rows in the table.
CUDA_BACKENDS := $(shell sed -n 's/^WR_BACKEND.\([a-z_0-9]*\), CUDA,.*/\1/p' spmv/backends.def)
BUILT_BACKENDS := $(shell sed -n 's/^WR_BACKEND.\([a-z_0-9]*\),.*/\1/p' spmv/backends.def)
# OWN_CUDA: the files that define these.
OWN_CUDA := $(shell grep -lE '^const wr_backend wr_backend_($(shell echo $(CUDA_BACKENDS) | tr ' ' '|')) =' spmv/backends/*/*.c)
CUDA_ONLY := $(OWN_CUDA) $(wildcard spmv/backends/cusparse/*.c)
CPU_ONLY := spmv/device/no_cuda.c spmv/precond/lu_no_cuda.c spmv/choose/features_no_cuda.c

SOURCES := $(sort $(shell find config spmv io data solvers -name '*.c' 2>/dev/null))
SOURCES := $(filter-out $(if $(FOUND_CUDA),$(CPU_ONLY),$(CUDA_ONLY)),$(SOURCES))
SOURCES += $(if $(FOUND_CUDA),$(sort $(shell find spmv -name '*.cu')))
MAINS := $(filter solvers/program/%_main.c,$(SOURCES))
PROGRAMS := $(MAINS:solvers/program/%_main.c=$(BUILD)/%)
# A program alone, and NAME-mpi, which it becomes where mpirun starts it (solvers/program/comm_mpi.h).
COMM_ALONE := solvers/program/comm_launch.c
COMM_MPI := solvers/program/comm_mpi.c solvers/program/metis_parts.c
MPI_PROGRAMS := $(if $(FOUND_MPI_LIBRARIES),$(PROGRAMS:%=%-mpi))

TEST_ROOMS := config io data spmv solvers report api program conformance
TEST_SOURCES := $(foreach room,$(TEST_ROOMS),$(wildcard tests/$(room)/*.c))
KERNEL_TESTS := $(wildcard tests/kernels/test_*.cu)
TEST_MAINS := $(foreach source,$(TEST_SOURCES),$(if $(filter test_%,$(notdir $(source))),$(source)))
TEST_PROGRAMS := $(patsubst %.c,$(BUILD)/tests/%,$(notdir $(TEST_MAINS)))
TEST_PROGRAMS += $(if $(FOUND_CUDA),$(patsubst %.cu,$(BUILD)/tests/%,$(notdir $(KERNEL_TESTS))))
TEST_SCRIPTS := $(filter-out %/lib.sh %/common.sh,$(wildcard tests/spmv/*.sh tests/cli/*.sh))
FUZZ_SOURCES := $(wildcard tests/fuzz/*.c)
FUZZ_HELPERS := $(filter-out tests/fuzz/replay.c tests/fuzz/fuzz_%,$(FUZZ_SOURCES))
FUZZERS := $(patsubst tests/fuzz/%.c,$(BUILD)/%,$(filter tests/fuzz/fuzz_%,$(FUZZ_SOURCES)))
TEST_PROGRAMS += $(BUILD)/tests/fuzz_replay
BENCHES := $(patsubst tests/bench/%.c,$(BUILD)/bench/%,$(wildcard tests/bench/*.c))
# Those that want arguments, and cuBLAS.
CUDA_BENCHES := $(if $(FOUND_CUBLAS),$(patsubst tests/bench/%.cu,$(BUILD)/bench/%,$(wildcard tests/bench/*.cu)))

# The same programs and tests once more with kernels that run on the CPU (tests/simt): what knows of CUDA is compiled anew
# against the shadow headers there, the rest is shared. Not under the thread sanitizer, which knows nothing of fibers.
SIMT := $(BUILD)/simt
ifeq ($(findstring thread,$(SANITIZE))$(filter 0,$(SHIM)),)
SIMT_SOURCES := spmv/registry.c $(OWN_CUDA) $(sort $(filter-out spmv/device/sort.cu spmv/device/scan.cu,$(shell find spmv -name '*.cu'))) \
  $(filter-out tests/simt/test_%,$(wildcard tests/simt/*.cpp))
SIMT_TESTS := test_vec test_vec_fused test_sort test_resident test_resident_joined test_plain_loop test_solve_again \
  test_plain_methods test_methods test_device_thread test_compare test_arguments test_backward test_ilu_solve \
  test_auto_precond test_order test_candidates test_chebyshev test_rank test_mixed test_rank_sets test_windrow test_sides \
  test_fused_many test_choose test_device_arrays test_head_start test_plan_swap
SIMT_CONFORMANCE := test_conformance_small test_conformance_large
SIMT_PROGRAMS := $(PROGRAMS:$(BUILD)/%=$(SIMT)/%)
SIMT_MPI_PROGRAMS := $(if $(FOUND_MPI_LIBRARIES),$(SIMT)/bicgstab-mpi $(SIMT)/pagerank-mpi)
endif

objects_of = $(1:%=$(BUILD)/obj/%.o)
simt_objects_of = $(1:%=$(SIMT)/obj/%.o)
LIBRARY := $(BUILD)/libwindrow.a
LIBRARY_OBJECTS := $(call objects_of,$(filter-out $(MAINS) $(COMM_ALONE) $(COMM_MPI),$(SOURCES)))
TEST_OBJECTS := $(call objects_of,$(filter-out $(TEST_MAINS),$(TEST_SOURCES)))
SIMT_LIBRARY := $(SIMT)/libwindrow.a
SIMT_OBJECTS := $(call simt_objects_of,$(SIMT_SOURCES)) \
  $(call objects_of,$(filter-out $(MAINS) $(COMM_ALONE) $(COMM_MPI) $(SIMT_SOURCES) $(CUDA_ONLY) $(CPU_ONLY) %.cu,$(SOURCES)))

# --- Flags ----------------------------------------------------------------------------------------------------------------
# No contraction of a*b + c by the compiler: the same bits from gcc and clang at every -O; where an fma is meant it says so.

DEFINES = $(if $(FOUND_CUDA),-DWR_HAVE_CUDA -DWR_HAVE_CUSPARSE) $(if $(FOUND_ZLIB),-DWR_HAVE_ZLIB) \
  $(if $(FOUND_KLU),-DWR_HAVE_KLU) $(if $(FOUND_ZSTD),-DWR_HAVE_ZSTD) $(if $(FOUND_XZ),-DWR_HAVE_XZ) \
  $(if $(FOUND_XXHASH),-DWR_HAVE_XXHASH) $(if $(FOUND_METIS),-DWR_HAVE_METIS)
# Libraries that unpack files.
UNPACKING = $(if $(FOUND_ZLIB),-lz) $(if $(FOUND_ZSTD),-lzstd) $(if $(FOUND_XZ),-llzma)
INCLUDES := -I. $(if $(FOUND_CUDA),-isystem $(CUDA_HEADERS)) $(FOUND_MPI)
# Texts are cut to their room on purpose; which cuts gcc warns of changes with every version.
CUT_TEXTS := $(if $(findstring clang,$(FOUND_COMPILER)),,-Wno-format-truncation)
WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla $(CUT_TEXTS) $(WERROR)
SANITIZERS := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer)
# One set of objects for both libraries; ours are never replaced one by one, so that code may still be inlined.
SHAREABLE := -fPIC -fno-semantic-interposition
ALL_CFLAGS = -std=c11 $(OPT) -g $(MARCH_FLAG) -fno-math-errno -ffp-contract=off -fopenmp $(SHAREABLE) $(WARNINGS) $(SANITIZERS) \
  $(INCLUDES) $(DEFINES) $(CPPFLAGS) $(CFLAGS)
ALL_NVCCFLAGS = -std=c++17 -O3 $(GENCODE) -Xcompiler -fPIC,-Wall,-Wextra $(if $(WERROR),-Werror all-warnings) \
  -I. $(DEFINES) $(CPPFLAGS) $(NVCCFLAGS)
SIMT_FLAGS = -g $(MARCH_FLAG) -fno-math-errno -ffp-contract=off -fopenmp -Wall -Wextra $(WERROR) $(SANITIZERS) \
  -Itests/simt/include -I. -DWR_HAVE_CUDA $(if $(FOUND_ZLIB),-DWR_HAVE_ZLIB) $(CPPFLAGS)
SIMT_CFLAGS = -std=c11 $(OPT) $(SIMT_FLAGS) $(CUT_TEXTS) $(CFLAGS)
# What nvcc reads in kernels and clang does not: `#pragma unroll` may be impossible for it, and a constant for launch bounds unused.
FOR_NVCC = $(if $(findstring clang,$(CXX)),-Wno-pass-failed -Wno-unused-const-variable)
# Kernels are scalar code; gcc 12.2, vectorising it, loses the rounding of an output to f32 on the way into a sum.
SIMT_CXXFLAGS = -std=c++17 -O2 -fno-tree-vectorize $(SIMT_FLAGS) -Wno-unknown-pragmas $(FOR_NVCC) $(CXXFLAGS)
ALL_LDFLAGS = -fopenmp $(SANITIZERS) $(LDFLAGS)
CUDA_LIBS := -L$(CUDA_LIBRARIES) -Wl,-rpath,$(CUDA_LIBRARIES) -lcusparse -lcudart_static -lstdc++ -ldl -lrt
ALL_LIBS = $(if $(FOUND_CUDA),$(CUDA_LIBS)) $(UNPACKING) $(FOUND_KLU) $(LDLIBS) -lpthread -lm

# A file that changes when its text does: what depends on it is made again then, and only then.
define stamp
$(1): FORCE
	@mkdir -p $$(@D); printf '%s\n' '$(2)' | cmp -s - $$@ || printf '%s\n' '$(2)' >$$@
endef
$(eval $(call stamp,$(BUILD)/flags,$$(FOUND_COMPILER) $$(CC) $$(ALL_CFLAGS) $$(ALL_LDFLAGS) $$(ALL_LIBS)))
$(eval $(call stamp,$(BUILD)/flags.cu,$$(FOUND_CUDA) $$(NVCC) $$(ALL_NVCCFLAGS)))
$(eval $(call stamp,$(BUILD)/members,$$(LIBRARY_OBJECTS) $$(TEST_OBJECTS)))
$(eval $(call stamp,$(SIMT)/flags,$$(FOUND_COMPILER) $$(CC) $$(CXX) $$(SIMT_CFLAGS) $$(SIMT_CXXFLAGS)))
$(eval $(call stamp,$(SIMT)/members,$$(SIMT_OBJECTS)))

# --- Building -------------------------------------------------------------------------------------------------------------

.PHONY: programs mpi-programs tests
programs: $(PROGRAMS)
mpi-programs: $(MPI_PROGRAMS)
tests: $(TEST_PROGRAMS)

$(BUILD)/obj/%.c.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(SAY) CC $<
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/obj/%.cu.o: %.cu $(BUILD)/flags.cu
	@mkdir -p $(@D)
	$(SAY) NVCC $<
	$(Q)$(NVCC) $(ALL_NVCCFLAGS) -MMD -MP -MF $(@:.o=.d) -c $< -o $@

$(LIBRARY): $(LIBRARY_OBJECTS) $(BUILD)/members
	$(SAY) AR $@
	$(Q)rm -f $@ && ar rcs $@ $(filter %.o,$^)

# $(call program,what to make,its source,further objects)
define program
$(1): $(call objects_of,$(2)) $(3) $(LIBRARY) $(BUILD)/members
	@mkdir -p $$(@D)
	$$(SAY) LD $$@
	$$(Q)$$(CC) $$(ALL_LDFLAGS) -o $$@ $$(filter %.o %.a,$$^) $$(ALL_LIBS)
endef
$(foreach main,$(MAINS),$(eval \
  $(call program,$(main:solvers/program/%_main.c=$(BUILD)/%),$(main),$(call objects_of,$(COMM_ALONE)))))
$(foreach main,$(if $(FOUND_MPI_LIBRARIES),$(MAINS)),$(eval \
  $(call program,$(main:solvers/program/%_main.c=$(BUILD)/%-mpi),$(main),$(call objects_of,$(COMM_MPI)))))
$(foreach main,$(TEST_MAINS),$(eval $(call program,$(BUILD)/tests/$(basename $(notdir $(main))),$(main),$(TEST_OBJECTS))))
$(foreach test,$(KERNEL_TESTS),$(eval $(call program,$(BUILD)/tests/$(basename $(notdir $(test))),$(test))))
$(eval $(call program,$(BUILD)/tests/fuzz_replay,tests/fuzz/replay.c,$(call objects_of,$(filter-out %/replay.c,$(FUZZ_SOURCES)))))
$(foreach bench,$(BENCHES),$(eval $(call program,$(bench),$(bench:$(BUILD)/bench/%=tests/bench/%.c))))
$(foreach bench,$(CUDA_BENCHES),$(eval $(call program,$(bench),$(bench:$(BUILD)/bench/%=tests/bench/%.cu))))
$(CUDA_BENCHES): private LDLIBS += -lcublas

# The id tells parts of different builds apart.
$(MPI_PROGRAMS): private LDLIBS += $(FOUND_MPI_LIBRARIES) $(FOUND_METIS) -Wl,--build-id=sha1

# The parsers' fuzz targets against libFuzzer, for `make fuzz`. Kernels are no parsers, and clang takes minutes over one of them
# with all these sanitizers.
ifneq ($(findstring fuzzer,$(SANITIZE)),)
$(call objects_of,$(wildcard spmv/backends/cpu_bsr/*_kernel.c)): private SANITIZERS :=
$(FUZZERS): $(BUILD)/%: $(BUILD)/obj/tests/fuzz/%.c.o $(call objects_of,$(FUZZ_HELPERS)) $(LIBRARY)
	$(SAY) LD $@
	$(Q)$(CC) $(ALL_LDFLAGS) -fsanitize=fuzzer -o $@ $(filter %.o %.a,$^) $(ALL_LIBS)
fuzzers: $(FUZZERS)
endif

# $(call simt_program,what to make,its objects)
define simt_program
$(1): $(2) $(SIMT_LIBRARY) $(SIMT)/members
	@mkdir -p $$(@D)
	$$(SAY) LD $$@
	$$(Q)$$(CC) $$(ALL_LDFLAGS) -o $$@ $$(filter %.o %.a,$$^) -lstdc++ $$(UNPACKING) $$(FOUND_KLU) $$(LDLIBS) -ldl -lpthread -lm
endef

$(SIMT)/obj/%.c.o: %.c $(SIMT)/flags
	@mkdir -p $(@D)
	$(SAY) CC '$< (simt)'
	$(Q)$(CC) $(SIMT_CFLAGS) -MMD -MP -c $< -o $@

$(SIMT)/obj/%.cu.o: %.cu $(SIMT)/flags
	@mkdir -p $(@D)
	$(SAY) CXX '$< (simt)'
	$(Q)$(CXX) $(SIMT_CXXFLAGS) -MMD -MP -MF $(@:.o=.d) -x c++ -c $< -o $@

$(SIMT)/obj/%.cpp.o: %.cpp $(SIMT)/flags
	@mkdir -p $(@D)
	$(SAY) CXX '$< (simt)'
	$(Q)$(CXX) $(SIMT_CXXFLAGS) -MMD -MP -MF $(@:.o=.d) -c $< -o $@

$(SIMT_LIBRARY): $(SIMT_OBJECTS) $(SIMT)/members
	$(SAY) AR $@
	$(Q)rm -f $@ && ar rcs $@ $(filter %.o,$^)

# Tests of the rest of the tree are run as they are; those of the shim itself, and kernels with their own tests, are compiled
# for it.
simt_test = $(patsubst test_%,$(SIMT)/tests/simt_%,$(basename $(notdir $(1))))
SIMT_TEST_MAINS := $(foreach name,$(SIMT_TESTS) $(SIMT_CONFORMANCE),$(filter %/$(name).c,$(TEST_MAINS)))
SIMT_KERNEL_MAINS := $(if $(SIMT_TESTS),$(KERNEL_TESTS) $(wildcard tests/simt/test_*.cpp))
SIMT_TEST_PROGRAMS := $(call simt_test,$(SIMT_TEST_MAINS) $(SIMT_KERNEL_MAINS))
$(foreach main,$(MAINS),$(eval \
  $(call simt_program,$(main:solvers/program/%_main.c=$(SIMT)/%),$(call objects_of,$(main) $(COMM_ALONE)))))
$(foreach main,$(SIMT_TEST_MAINS),$(eval \
  $(call simt_program,$(call simt_test,$(main)),$(call objects_of,$(main)) $(TEST_OBJECTS))))
$(foreach main,$(SIMT_KERNEL_MAINS),$(eval $(call simt_program,$(call simt_test,$(main)),$(call simt_objects_of,$(main)))))

$(foreach program,$(SIMT_MPI_PROGRAMS),$(eval $(call simt_program,$(program),\
  $(call objects_of,$(program:$(SIMT)/%-mpi=solvers/program/%_main.c) $(COMM_MPI)))))
$(SIMT_MPI_PROGRAMS): private LDLIBS += $(FOUND_MPI_LIBRARIES) $(FOUND_METIS) -Wl,--build-id=sha1

.PHONY: simt simt-programs simt-mpi
simt-programs: $(SIMT_PROGRAMS)
simt-mpi: $(SIMT_MPI_PROGRAMS:%-mpi=%) $(SIMT_MPI_PROGRAMS)
simt: simt-programs simt-mpi $(SIMT_TEST_PROGRAMS) ## programs that run kernels on the CPU, in $(BUILD)/simt

-include $(patsubst %.o,%.d,$(LIBRARY_OBJECTS) $(TEST_OBJECTS) $(call objects_of,$(MAINS) $(COMM_ALONE) $(COMM_MPI) $(TEST_MAINS) $(KERNEL_TESTS)))
-include $(patsubst %.o,%.d,$(filter $(SIMT)/%,$(SIMT_OBJECTS)) $(call simt_objects_of,$(SIMT_KERNEL_MAINS)))
-include $(patsubst %,$(BUILD)/obj/%.d,$(FUZZ_SOURCES))
-include $(patsubst $(BUILD)/bench/%,$(BUILD)/obj/tests/bench/%.c.d,$(BENCHES))
-include $(patsubst $(BUILD)/bench/%,$(BUILD)/obj/tests/bench/%.cu.d,$(CUDA_BENCHES))

# --- Library --------------------------------------------------------------------------------------------------------------
# Public are solvers/api/windrow.h, which stays as it is, solvers/deep.h, which may change, and what they name: these headers are
# copied to $(BUILD)/include/windrow as installation has them, side by side, and the shared library exports the functions that
# they declare. Before 1.0 every minor version may break programs
# that are linked to it, so it is part of the name that they ask for.

.PHONY: libraries manuals examples install uninstall deb wheel
VERSION := $(shell sed -n 's/^.define WR_VERSION "\(.*\)"/\1/p' config/version.h)
NUMBERS := $(subst ., ,$(VERSION))
ABI := $(word 1,$(NUMBERS))$(if $(filter 0,$(word 1,$(NUMBERS))),.$(word 2,$(NUMBERS)))
SHARED := $(BUILD)/libwindrow.so
UMBRELLAS := solvers/api/windrow.h solvers/deep.h
PUBLIC := $(UMBRELLAS) $(sort $(shell sed -n 's/^.include "\(.*\)"/\1/p' $(UMBRELLAS)))
HEADERS := $(foreach header,$(PUBLIC),$(BUILD)/include/windrow/$(notdir $(header)))

define public_header
$(BUILD)/include/windrow/$(notdir $(1)): $(1)
	@mkdir -p $$(@D)
	@sed 's|^#include ".*/\([^/"]*\)"|#include "\1"|' $$< >$$@
endef
$(foreach header,$(PUBLIC),$(eval $(call public_header,$(header))))

$(BUILD)/windrow.map: $(HEADERS) tools/exports.awk $(UMBRELLAS)
	@printf '#include "%s"\n' $(notdir $(UMBRELLAS)) | $(CC) -E -P -x c -I$(BUILD)/include/windrow - | awk -v node=WINDROW_$(ABI) -f tools/exports.awk >$@

$(SHARED): $(LIBRARY_OBJECTS) $(BUILD)/windrow.map $(BUILD)/members
	$(SAY) LD $@
	$(Q)$(CC) -shared $(ALL_LDFLAGS) -Wl,-soname,libwindrow.so.$(ABI) -Wl,--version-script,$(BUILD)/windrow.map \
	  $(if $(SANITIZE),,-Wl,-z,defs) -o $@ $(filter %.o,$^) $(ALL_LIBS)

libraries: $(LIBRARY) $(SHARED) $(HEADERS)

# It reads there what is exported.
$(BUILD)/tests/test_arguments $(SIMT)/tests/simt_arguments: $(BUILD)/windrow.map

# Man pages and completion for bash and zsh are made from the option tables and the programs' texts.
MANUALS := $(foreach kind,man bash zsh,$(PROGRAMS:$(BUILD)/%=$(BUILD)/manual/%.$(kind)))
$(eval $(call program,$(BUILD)/manual/manual,tools/manual.c))
-include $(BUILD)/obj/tools/manual.c.d
$(MANUALS): $(BUILD)/manual/%: $(BUILD)/manual/manual
	@$< $(subst .,,$(suffix $*)) $(basename $*) >$@
manuals: $(MANUALS)

# Compiled as in another project: with the public headers alone.
EXAMPLES := $(patsubst examples/%.c,$(BUILD)/examples/%,$(wildcard examples/*.c))
$(EXAMPLES): $(BUILD)/examples/%: examples/%.c $(LIBRARY) $(HEADERS) $(BUILD)/flags
	@mkdir -p $(@D)
	$(SAY) CC $<
	$(Q)$(CC) -std=c11 -O2 -g $(WARNINGS) $(SANITIZERS) $(CFLAGS) -I$(BUILD)/include $< -o $@ $(LIBRARY) $(ALL_LDFLAGS) $(ALL_LIBS)
examples: $(EXAMPLES) ## the programs of examples/, in $(BUILD)/examples

INSTALLATION = BUILD='$(BUILD)' CC='$(CC)' PREFIX='$(PREFIX)' LIBDIR='$(LIBDIR)' DESTDIR='$(DESTDIR)' VERSION=$(VERSION) ABI=$(ABI) \
  PROGRAMS='$(notdir $(PROGRAMS))' MPI_PROGRAMS='$(notdir $(MPI_PROGRAMS))' HEADERS='$(notdir $(HEADERS))' PRIVATE_LIBS='-fopenmp $(strip $(ALL_LIBS))'

install: programs mpi-programs libraries manuals ## programs, libraries, headers, man pages, completion: PREFIX=/usr/local DESTDIR=
	@$(INSTALLATION) sh tools/install_files.sh install

uninstall: ## removes what install has put there
	@$(INSTALLATION) sh tools/install_files.sh uninstall

deb: ## Debian packages for any machine of this kind, in $(BUILD)/portable: programs, library, its headers, Python
	@sh tools/make_deb.sh able
	@$(MAKE) --no-print-directory package BUILD=$(BUILD)/portable MARCH= XXHASH=0 MPI=0

# In a folder of its own: for any machine of this kind, without KLU, libzstd and liblzma, which are not where Python alone is.
# WINDROW_LIBRARY names the library, so that a build of another kind is not taken.
wheel: ## the Python package with the library inside, for any machine of this kind, in $(BUILD)/wheel
	@$(MAKE) --no-print-directory libraries BUILD=$(BUILD)/wheel MARCH= KLU=0 ZSTD=0 XZ=0 XXHASH=0 MPI=0
	@WINDROW_LIBRARY=$(BUILD)/wheel/libwindrow.so python3 python/make_wheel.py $(BUILD)/wheel

.PHONY: package
ifeq ($(FOUND_ZLIB)$(filter 0,$(ZLIB)),)
package:
	@echo "deb: no zlib is found, so programs of this package would refuse .gz files: $$(sh tools/deps.sh --hint zlib), or" \
	  "make deb ZLIB=0 for a package without it" >&2; exit 1
else ifeq ($(FOUND_KLU)$(filter 0,$(KLU)),)
package:
	@echo "deb: no KLU is found, so bicgstab of this package would refuse --fallback direct: $$(sh tools/deps.sh --hint klu), or" \
	  "make deb KLU=0 for a package without it" >&2; exit 1
else
package: programs libraries manuals
	@$(INSTALLATION) sh tools/make_deb.sh
endif

# --- Running --------------------------------------------------------------------------------------------------------------

demo: programs ## both programs on generated problems with every backend that runs here
	@BUILD=$(BUILD) sh tools/demo.sh

# What looks at texts alone has nothing to say under a sanitizer.
TEXT_CHECKS := $(if $(SANITIZE),,tools/lint.sh tools/check_deps.sh tests/tools/test_tools.sh)
SIMT_ITEMS := $(foreach test,$(call simt_test,$(SIMT_CONFORMANCE)),$(CUDA_BACKENDS:%=$(test):%)) \
  $(call simt_test,$(SIMT_TESTS) $(SIMT_KERNEL_MAINS))
# On a card the backends' conformance is what takes longest: a process each.
CONFORMANCE := $(filter %/test_conformance_small %/test_conformance_large,$(TEST_PROGRAMS))
BY_BACKEND := $(if $(WR_NEED_GPU),$(CONFORMANCE))
CONFORMANCE_ITEMS := $(foreach test,$(BY_BACKEND),$(BUILT_BACKENDS:%=$(test):%))
ALL_TESTS := $(if $(SIMT_TESTS),$(SIMT_ITEMS)) $(CONFORMANCE_ITEMS) $(filter-out $(BY_BACKEND),$(TEST_PROGRAMS)) \
  $(TEST_SCRIPTS) $(TEXT_CHECKS)
# A test is called by the name of its file, CASE:BACKEND also by CASE alone. What a name needs is built and nothing else: a
# program itself, for a script what its line "# Needs:" lists (none: programs), for a check of texts nothing.
name_of = $(basename $(notdir $(1)))
names_of = $(call name_of,$(1)) $(firstword $(subst :, ,$(call name_of,$(1))))
tests_called = $(strip $(foreach test,$(ALL_TESTS),$(if $(filter $(1),$(call names_of,$(test))),$(test))))
needs_of_script = $(or $(shell sed -n 's/^. Needs: //p' $(1)),programs)
needs_of = $(if $(filter %.sh,$(1)),$(call needs_of_script,$(1)),$(firstword $(subst :, ,$(1))))
WANTED_TESTS = $(if $(TESTS),$(call tests_called,$(TESTS)),$(ALL_TESTS))
UNKNOWN_TESTS = $(strip $(foreach name,$(TESTS),$(if $(call tests_called,$(name)),,$(name))))

ifeq ($(strip $(TESTS)),)
check: programs mpi-programs libraries manuals examples tests simt ## builds and runs every test, or those of TESTS; the last line sums up
else ifeq ($(UNKNOWN_TESTS),)
check: $(filter-out nothing,$(sort $(foreach test,$(WANTED_TESTS),$(call needs_of,$(test)))))
endif
check:
	$(if $(UNKNOWN_TESTS),@sh tools/no_such_test.sh '$(UNKNOWN_TESTS)' $(sort $(foreach test,$(ALL_TESTS),$(call name_of,$(test)))))
	@BUILD=$(BUILD) CC='$(CC)' JOBS=$(JOBS) TEST_TIMEOUT=$(TEST_TIMEOUT) sh tools/run_tests.sh $(WANTED_TESTS)

check-gpu: ## the same, and a test that finds no device fails
	@FOUND_CUDA='$(FOUND_CUDA)' WHY='$(WHY_NO_CUDA)' sh tools/find_card.sh
	@WR_NEED_GPU=1 $(MAKE) --no-print-directory check SHIM=0

check-asan: ## the tests under the address and undefined-behaviour sanitizers, CPU build
	@ASAN_OPTIONS=allocator_may_return_null=1:detect_leaks=1:strict_string_checks=1 UBSAN_OPTIONS=print_stacktrace=1 \
	  WR_SIMT=replay=off $(MAKE) --no-print-directory check BUILD=$(BUILD)/asan SANITIZE=address,undefined,float-cast-overflow OPT=-O1 CUDA=0 \
	  TEST_TIMEOUT=$$((4 * $(TEST_TIMEOUT)))

# libomp tells the sanitizer about its barriers through libarcher; gcc's libgomp does not and gives false races.
check-tsan: ## the tests under clang's thread sanitizer, CPU build
	@OMP_TOOL_LIBRARIES=$$(CLANG='$(CLANG)' sh tools/find_archer.sh) && export OMP_TOOL_LIBRARIES && \
	  TSAN_OPTIONS=ignore_noninstrumented_modules=1:allocator_may_return_null=1:second_deadlock_stack=1 \
	  $(MAKE) --no-print-directory check BUILD=$(BUILD)/tsan CC='$(CLANG)' SANITIZE=thread OPT=-O1 CUDA=0 \
	  TEST_TIMEOUT=$$((4 * $(TEST_TIMEOUT)))

.PHONY: list-tests
list-tests: ## the names that TESTS= takes
	@printf '%s\n' $(sort $(foreach test,$(ALL_TESTS),$(call names_of,$(test))))

# In its own folder, with everything but kernels instrumented: coverage, addresses, undefined behaviour.
fuzz: ## feeds the parsers what is near to tests/data, under sanitizers: FUZZ_SECONDS=60 FUZZ=
	@CLANG='$(CLANG)' sh tests/fuzz/run_fuzz.sh able
	@$(MAKE) --no-print-directory fuzzers BUILD=$(BUILD)/fuzz CC='$(CLANG)' OPT=-O1 CUDA=0 SHIM=0 \
	  SANITIZE=fuzzer-no-link,address,undefined,float-cast-overflow CPPFLAGS='$(CPPFLAGS) -DWR_LIBFUZZER' \
	  CFLAGS='$(CFLAGS) -Wno-pass-failed'
	@BUILD=$(BUILD)/fuzz FUZZ_SECONDS=$(FUZZ_SECONDS) sh tests/fuzz/run_fuzz.sh $(FUZZ)

check-deps: ## which folder includes which
	@sh tools/check_deps.sh

bench: $(BUILD)/spmv ## times one multiply of every backend that runs here on the matrices of the design
	@mkdir -p $(BUILD)/bench
	$(BUILD)/spmv --standard --cold --json $(BUILD)/bench/spmv.json

calibrate: $(BUILD)/spmv ## measures this GPU, or the CPU, for -k auto, and keeps that in your cache folder (docs/auto.md)
	$(BUILD)/spmv --calibrate

bench-io: $(BUILD)/bench/io_bench ## how fast texts become rows, beside fscanf and, where they are, SciPy and fast_matrix_market
	@mkdir -p $(BUILD)/bench/texts
	WR_KEEP=$(BUILD)/bench/texts $(BUILD)/bench/io_bench
	@! command -v python3 >/dev/null || python3 tests/bench/io_bench.py $(BUILD)/bench/texts/*.mtx

bench-parts: $(BENCHES) ## the programs of tests/bench: parts of the library, timed one by one
	@for bench in $(BENCHES); do echo "== $$bench"; $$bench || exit 1; done

# What is left when the limit ends it (exit code 2), or Ctrl-C (130), is done by the next call. All is one command of the shell,
# which outlives Ctrl-C, so that the page is made of what is there then.
bench-all: $(BUILD)/spmv ## times all backends of the GPU (the CPU's without one) on many matrices; tables: $(BUILD)/bench/all.md
	@mkdir -p $(BUILD)/bench
	@trap : INT; \
	python3 tests/bench/bench_all.py --program $(BUILD)/spmv --seed '$(SEED)' --limit '$(LIMIT)' $(if $(FOLDER),--folder '$(FOLDER)') \
	  $(if $(GROUPS),--groups '$(GROUPS)') $(BUILD)/bench/all.jsonl || case $$? in 2 | 130) ;; *) exit 1 ;; esac; \
	python3 tools/plot.py $(BUILD)/bench/all.jsonl -o $(BUILD)/bench/all || echo 'bench-all: the page has no pictures'; \
	python3 tests/bench/all_tables.py $(BUILD)/bench/all.md $(BUILD)/bench/all.jsonl

format: ## brings C and CUDA sources into the layout of .clang-format
	@sh tools/format.sh fix

lint: ## forbidden calls, names and layout
	@sh tools/lint.sh

longest: ## the longest functions and files
	@sh tools/longest.sh

deps: ## installs what is missing from the system's packages
	@sh tools/deps.sh

new-backend: ## begins a backend as a copy of another: FROM=csr_warp NAME=mine
	@sh tools/new_backend.sh '$(FROM)' '$(NAME)'

clean: ## removes what was made
	@for folder in $(BUILD)/asan $(BUILD)/tsan $(BUILD)/fuzz $(BUILD)/portable $(BUILD)/wheel $(BUILD); do test ! -e $$folder/found.mk || rm -rf $$folder; done

help: ## this list
	@echo 'make [TARGET...] [NAME=VALUE...]'; echo; echo '  all          the programs: $(notdir $(PROGRAMS)), and libwindrow'
	@sed -n 's/^\([a-z-]*\):.* ## \(.*\)/\1|\2/p' Makefile | awk -F'|' '{ printf "  %-12s %s\n", $$1, $$2 }'
	@echo; sed -n 's/^#: /  /p' Makefile
