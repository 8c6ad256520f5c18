# Programs started by the usual launchers (docs/launchers.md). Included by the top Makefile.
#
#   make launch-test       samples, conformance programs and ends of jobs under mpiexec.hydra, mpirun and
#                          srun, on this host and on several nodes that are namespaces
#   make launch-test-full  on demand: more programs, under each of them
#   make launch-newer-test on demand: launch-test in a newer Debian with its launchers, prun among
#                          them; SUITES="trixie forky", FULL=yes

LAUNCH_BUILD   := $(BUILD)/launch
LAUNCH_LINK    := -L$(BUILD)/lib -llapi_r -Wl,-rpath,'$$ORIGIN/../lib'
LAUNCH_SAMPLES := basic demo dgsp lapi_api vector xfer

.PHONY: launch-test launch-test-full launch-newer-test launch-programs

$(addprefix $(LAUNCH_BUILD)/,ends pairs trivial): $(LAUNCH_BUILD)/%: tests/launch/%.c $(LIB)
	@mkdir -p $(LAUNCH_BUILD)
	$(CC) $(CONFORM_CFLAGS) -Iinclude $< $(LAUNCH_LINK) -o $@

launch-test: launch-programs
	@scripts/setup.sh mpiexec.hydra=mpich mpicc.mpich=libmpich-dev \
  mpirun.openmpi=openmpi-bin mpicc.openmpi=libopenmpi-dev ip=iproute2 \
  srun=slurm-client slurmctld=slurmctld slurmd=slurmd munged=munge
	@BUILD=$(BUILD) CC='$(CC)' FULL=$(FULL) bash tests/launch/run

launch-programs: conform-build net-build $(BUILD)/bin/poe $(LAUNCH_BUILD)/ends $(LAUNCH_BUILD)/pairs
	@$(GO) test -c -o $(LAUNCH_BUILD)/munge.test ./cshim/munge
	@for group in $(LAUNCH_SAMPLES); do \
	  $(MAKE) -s -C tests/c/samples/$$group OUT=$(CURDIR)/$(BUILD)/samples/$$group > /dev/null || exit 1; \
	done

launch-newer-test: SUITES ?= trixie
launch-newer-test: launch-programs
	@for suite in $(SUITES); do \
	  BUILD=$(BUILD) FULL=$(FULL) PARTS="$(PARTS)" bash tests/launch/newer $$suite || exit 1; \
	done

launch-test-full: FULL := yes
launch-test-full: launch-test

# The time to begin and end a job; BEFORE=DIR: also compared with another tree's build folder.
.PHONY: bench-launch
bench-launch: build $(LAUNCH_BUILD)/trivial
	@scripts/setup.sh mpiexec.hydra=mpich mpicc.mpich=libmpich-dev ip=iproute2 \
  srun=slurm-client slurmctld=slurmctld slurmd=slurmd
	@mpicc.mpich -O2 -DWITH_MPI tests/launch/trivial.c -o $(LAUNCH_BUILD)/trivial-mpich
	@if [ -n "$(BEFORE)" ]; then $(CC) $(CONFORM_CFLAGS) -Iinclude tests/launch/trivial.c \
  -L$(BEFORE)/lib -llapi_r -Wl,-rpath,$(abspath $(BEFORE))/lib -o $(LAUNCH_BUILD)/trivial-before; fi
	@BUILD=$(BUILD) BEFORE=$(and $(BEFORE),$(abspath $(BEFORE))) bash tests/launch/bench
