# peers.mk - make bench-peers: the library beside others on the same machine, in the same run.
# Included by bench.mk.
#
#   make bench-peers                   at most 30 minutes, with pictures
#   make bench-peers QUICK=1           at most 5 minutes
#   make bench-peers ROWS=put8,get*    these rows of the table only
#   make bench-peers BEFORE=dir        beside the build folder of another tree instead (make
#                                      bench-programs there first)
#   make bench-udp                     over UDP/IP beside TCP; QUICK=1, ROWS= as above
#
# Peers come from Debian; packages that cannot be installed are named and left out.

PEERS := $(BENCH)/peers
PEER_PACKAGES := ucx_perftest=ucx-utils mpicc.openmpi=libopenmpi-dev mpirun.openmpi=openmpi-bin \
  mpicc.mpich=libmpich-dev mpirun.mpich=mpich fi_pingpong=libfabric-bin gnuplot=gnuplot-nox

# The same over UDP/IP on the loopback interface, ours beside bare sockets and beside the others
# over TCP.
bench-udp: build $(BENCH)/rawbench $(BENCH)/lapibench $(BENCH)/harness
	@scripts/setup.sh $(PEER_PACKAGES)
	@$(MAKE) --no-print-directory bench-peers-programs
	$(BENCH)/harness -udp $(BENCH_RUN) -out $(BENCH)/udp
	@tests/bench/plot.sh $(BENCH)/udp

.PHONY: bench-udp bench-peers bench-peers-programs

bench-peers: build $(BENCH)/rawbench $(BENCH)/lapibench $(BENCH)/harness
	@scripts/setup.sh $(PEER_PACKAGES)
	@$(MAKE) --no-print-directory bench-peers-programs
	$(BENCH)/harness -peers $(BENCH_RUN) -out $(PEERS)
	@tests/bench/plot.sh $(PEERS)

# One program for each MPI whose compiler and launcher are there.
bench-peers-programs: $(foreach m,openmpi mpich,$(if \
  $(and $(shell command -v mpicc.$(m)),$(shell command -v mpirun.$(m))),$(BENCH)/mpibench.$(m)))

$(BENCH)/mpibench.%: $(BENCH_SRC)/mpi_compare.c $(BENCH_SHARED) $(BENCH_HEADERS)
	@mkdir -p $(@D)
	mpicc.$* $(BENCH_CFLAGS) -o $@ $(BENCH_SRC)/mpi_compare.c $(BENCH_SHARED)
