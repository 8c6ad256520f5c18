# bench.mk - make bench, make bench-plot. Included by the top Makefile, which defines build (library and launcher).
#
#   make bench            about five minutes; BENCH_FLAGS="-only shm -rounds 3" narrows it
#   make bench QUICK=1    about a minute
#   make bench-plot       draws the last run

BENCH := build/bench
BENCH_SRC := tests/c/bench
BENCH_CFLAGS := -std=gnu11 -O2 -g -Wall -Wextra -Werror
BENCH_HEADERS := $(wildcard $(BENCH_SRC)/*.h)
BENCH_LAPI := $(wildcard $(BENCH_SRC)/lapi_*.c)
BENCH_RAW := $(wildcard $(BENCH_SRC)/raw_*.c)
BENCH_SHARED := $(BENCH_SRC)/board.c $(BENCH_SRC)/measure.c
BENCH_PROGRAMS := $(BENCH)/rawbench $(BENCH)/lapibench $(BENCH)/crossing $(BENCH)/benchplot

.PHONY: bench bench-plot bench-programs

bench: build bench-programs
	$(BENCH)/benchplot run $(if $(QUICK),-quick) $(BENCH_FLAGS) -bin $(BENCH) -lapirun build/bin/lapirun -out $(BENCH)

bench-programs: $(BENCH_PROGRAMS)

# gnuplot is the one tool that a build machine may lack; only drawing needs it.
bench-plot: $(BENCH)/benchplot
	@command -v gnuplot >/dev/null || apt-get install -y --no-install-recommends gnuplot-nox || \
		{ echo 'gnuplot is missing: install it (Debian: gnuplot-nox)' >&2; exit 1; }
	$(BENCH)/benchplot plot -out $(BENCH)

$(BENCH)/rawbench: $(BENCH_RAW) $(BENCH_SHARED) $(BENCH_HEADERS)
	@mkdir -p $(@D)
	$(CC) $(BENCH_CFLAGS) -o $@ $(BENCH_RAW) $(BENCH_SHARED)

# Linked as users link; the path to the library is relative, so that the tree may move.
$(BENCH)/lapibench: $(BENCH_LAPI) $(BENCH_SHARED) $(BENCH_HEADERS) include/lapi.h | build
	@mkdir -p $(@D)
	$(CC) $(BENCH_CFLAGS) -Iinclude -o $@ $(BENCH_LAPI) $(BENCH_SHARED) -Lbuild/lib -llapi_r -lpthread -Wl,-rpath,'$$ORIGIN/../lib'

$(BENCH)/libcrossing.so: $(BENCH_SRC)/crossing/crossing.go
	@mkdir -p $(@D)
	go build -buildmode=c-shared -o $@ $<

$(BENCH)/crossing: $(BENCH_SRC)/crossing/crossing.c $(BENCH_SHARED) $(BENCH_HEADERS) $(BENCH)/libcrossing.so
	$(CC) $(BENCH_CFLAGS) -o $@ $(BENCH_SRC)/crossing/crossing.c $(BENCH_SHARED) -L$(BENCH) -lcrossing -Wl,-rpath,'$$ORIGIN'

$(BENCH)/benchplot: $(wildcard cmd/benchplot/*.go) go.mod
	@mkdir -p $(@D)
	go build -o $@ ./cmd/benchplot

include tests/c/bench/peers.mk
