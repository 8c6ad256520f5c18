# bench.mk - make bench, make bench-plot. Included by the top Makefile, which defines build (library
# and launcher).
#
#   make bench            about five minutes; ROWS='shm-*' and BENCH_FLAGS="-rounds 3" narrow it
#   make bench QUICK=1    about a minute
#   make bench-plot       draws the last run
#   make bench-dat        uDAPL beside LAPI, bare calls, UCX and libfabric; QUICK=1
#   make bench-coll       collective operations beside Open MPI and MPICH; MEMBERS='2 4 8', RUNS=3
#   make bench-reduce     reductions of collectives beside memcpy; QUICK=1: not of every type

BENCH := build/bench
BENCH_SRC := tests/bench
BENCH_CFLAGS := -std=gnu11 -O2 -g -Wall -Wextra -Werror
BENCH_HEADERS := $(wildcard $(BENCH_SRC)/*.h)
BENCH_LAPI := $(wildcard $(BENCH_SRC)/lapi_*.c)
BENCH_DAT := $(wildcard $(BENCH_SRC)/dat_*.c)
BENCH_RAW := $(wildcard $(BENCH_SRC)/raw_*.c)
BENCH_SHARED := $(BENCH_SRC)/board.c $(BENCH_SRC)/measure.c
BENCH_PROGRAMS := $(BENCH)/rawbench $(BENCH)/lapibench $(BENCH)/datbench \
  $(BENCH)/crossing $(BENCH)/harness

BENCH_RUN = $(if $(QUICK),-quick) $(if $(ROWS),-rows '$(ROWS)') $(if $(BEFORE),-before '$(BEFORE)') \
  $(BENCH_FLAGS) -bin $(BENCH) -lapirun $(RUN)

.PHONY: bench bench-dat bench-plot bench-programs bench-reduce bench-coll

bench: build bench-programs
	$(BENCH)/harness $(BENCH_RUN) -out $(BENCH)

# Of peers what is there; they are the same as those of bench-peers.
bench-dat: build bench-programs
	$(BENCH)/harness $(BENCH_RUN) -rows 'dat*' -out $(BENCH)/dat

bench-programs: $(BENCH_PROGRAMS)

bench-reduce: $(BENCH)/reduce
	@$< $(if $(QUICK),,all)

# gnuplot is the one tool that a build machine may lack; only drawing needs it.
bench-plot:
	@scripts/setup.sh gnuplot=gnuplot-nox
	tests/bench/plot.sh $(BENCH)

$(BENCH)/rawbench: $(BENCH_RAW) $(BENCH_SHARED) $(BENCH_HEADERS)
	@mkdir -p $(@D)
	$(CC) $(BENCH_CFLAGS) -o $@ $(BENCH_RAW) $(BENCH_SHARED)

# Linked as users link; the path to the library is relative, so that the tree may move.
$(BENCH)/lapibench: $(BENCH_LAPI) $(BENCH_SHARED) $(BENCH_HEADERS) include/lapi.h | build
	@mkdir -p $(@D)
	$(CC) $(BENCH_CFLAGS) -Iinclude -o $@ $(BENCH_LAPI) $(BENCH_SHARED) \
	  -Lbuild/lib -llapi_r -lpthread -Wl,-rpath,'$$ORIGIN/../lib'

$(BENCH)/datbench: $(BENCH_DAT) $(BENCH_SHARED) $(BENCH_HEADERS) $(DAT_HEADERS) | build
	@mkdir -p $(@D)
	$(CC) $(BENCH_CFLAGS) -Iinclude -o $@ $(BENCH_DAT) $(BENCH_SHARED) \
	  -Lbuild/lib -llapi_r -lpthread -Wl,-rpath,'$$ORIGIN/../lib'

$(BENCH)/reduce: $(BENCH_SRC)/reduce.c $(wildcard cshim/coll/*.[ch])
	@mkdir -p $(@D)
	$(CC) $(BENCH_CFLAGS) -Icshim -o $@ $(BENCH_SRC)/reduce.c $(wildcard cshim/coll/*.c)

# Open MPI and MPICH where their compilers and launchers are.
bench-coll: build $(BENCH)/coll_dat $(foreach m,openmpi mpich,$(if \
  $(and $(shell command -v mpicc.$(m)),$(shell command -v mpirun.$(m))),$(BENCH)/coll_mpi.$(m)))
	@tests/bench/coll.sh $(BENCH) $(MEMBERS)

$(BENCH)/coll_dat: $(BENCH_SRC)/coll_dat.c $(BENCH_HEADERS) $(DAT_HEADERS) | build
	@mkdir -p $(@D)
	$(CC) $(BENCH_CFLAGS) -Iinclude -o $@ $< -Lbuild/lib -ldat2 -Wl,-rpath,'$$ORIGIN/../lib'

$(BENCH)/coll_mpi.%: $(BENCH_SRC)/coll_mpi.c $(BENCH_SRC)/coll_ops.h
	@mkdir -p $(@D)
	mpicc.$* $(BENCH_CFLAGS) -o $@ $<

$(BENCH)/libcrossing.so: $(BENCH_SRC)/crossing/crossing.go
	@mkdir -p $(@D)
	go build -buildmode=c-shared -o $@ $<

$(BENCH)/crossing: $(BENCH_SRC)/crossing/crossing.c $(BENCH_SHARED) $(BENCH_HEADERS) \
    $(BENCH)/libcrossing.so
	$(CC) $(BENCH_CFLAGS) -o $@ $(BENCH_SRC)/crossing/crossing.c $(BENCH_SHARED) \
	  -L$(BENCH) -lcrossing -Wl,-rpath,'$$ORIGIN'

$(BENCH)/harness: $(wildcard tests/bench/harness/*.go) go.mod
	@mkdir -p $(@D)
	go build -o $@ ./tests/bench/harness

include tests/bench/peers.mk
