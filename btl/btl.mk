# The component for Open MPI (docs/mpi.md). Included by the top Makefile.
#
#   make btl         builds it, where Open MPI's headers are
#   make mpi-test    unmodified MPI programs through it, on one host and two, and some of Debian's; a
#                    selection of about two minutes, WHOLE=1: all of them
#   make mpi-programs   on demand: all of Debian's MPI programs; ROWS='lammps.*udp'
#   make mpi-next-test   on demand: the same source for the Open MPI of a newer Debian; SUITE=trixie
#   make bench-mpi   beside Open MPI's own components, in turn; REPETITIONS=5, PARTS="node net start"

BTL      := $(BUILD)/lib/lapi/openmpi/mca_btl_lapi.so
OPENMPI_CC ?= $(firstword $(shell command -v mpicc.openmpi mpicc 2> /dev/null))
# Where make install puts it.
BTL_DIR = $(PREFIX)/$(LIBDIR)/lapi/openmpi
# It finds its library beside itself, unless the system finds it or the user sets another.
BTL_RPATH ?= $$ORIGIN/../..
# Empty if Open MPI or its headers for components are missing: with 5.0 these include PMIx's.
# btl/missing has what Debian 13's libopenmpi-dev lacks.
OMPI_INCLUDE := $(if $(M32),,$(if $(OPENMPI_CC),$(shell $(OPENMPI_CC) --showme:incdirs 2> /dev/null | tr ' ' '\n' | \
  while read -r d; do for e in $$d $$d/openmpi; do \
    if [ ! -f $$e/opal/mca/btl/btl.h ]; then continue; fi; \
    if [ ! -f $$e/opal/mca/pmix/pmix-internal.h ]; then echo "-I$$e -I$$d"; \
    elif pkg-config --exists pmix; then echo "-I$$e -I$$d -idirafter btl/missing $$(pkg-config --cflags pmix)"; fi; \
  done; done | head -n 1)))
MPI_DIR  := tests/mpi
MPI_PROGRAMS := chain component connect everything fork spawn threads unreceived

# Programs that the tests use, and their packages, for setup.sh.
MPI_WANTED := mpirun.openmpi=openmpi-bin mpicc.openmpi=libopenmpi-dev ip=iproute2 \
  NPopenmpi=netpipe-openmpi hpcc=hpcc lmp=lammps mpi4py=python3-mpi4py scalapack-tests=scalapack-mpi-test \
  srun=slurm-client slurmctld=slurmctld slurmd=slurmd

.PHONY: btl mpi-test mpi-next-test mpi-programs bench-mpi
btl: $(if $(OMPI_INCLUDE),$(BTL))
	@$(if $(OMPI_INCLUDE),:,echo "btl: skipped: no headers of Open MPI's components (libopenmpi-dev)")

$(BTL): $(wildcard btl/*.c) btl/btl_lapi.h include/lapi_link.h $(LIB)
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O2 -g -Wall -Wextra -Werror -Wno-unused-parameter -fvisibility=hidden -fPIC -shared \
	  $(OMPI_INCLUDE) -Iinclude $(filter %.c,$^) $(if $(BTL_RPATH),-Xlinker -rpath -Xlinker '$(BTL_RPATH)') \
	  -Wl,-z,nodelete -Wl,--build-id -ldl -o $@

$(BUILD)/mpi/%: $(MPI_DIR)/%.c
	@mkdir -p $(@D)
	$(OPENMPI_CC) -std=gnu11 -O2 -g -Wall -Wextra -Werror $(MPI_FLAGS) $< -o $@ $(MPI_LIBS)
# A sample that uses MPI and LAPI.
$(BUILD)/mpi/OneTransport: tests/c/samples/mpi/OneTransport.c tests/c/samples/common/sample.h $(LIB)
	@mkdir -p $(@D)
	$(MAKE) -s -C tests/c/samples/mpi MPICC=$(OPENMPI_CC) BUILD=$(BUILD) OUT=$(abspath $(@D)) $(abspath $@)
# A test that calls the component directly.
$(BUILD)/mpi/component: MPI_FLAGS := $(OMPI_INCLUDE) -Wno-unused-parameter
$(BUILD)/mpi/component: MPI_LIBS := -lopen-pal

mpi-test:
	@scripts/setup.sh $(MPI_WANTED)
	@$(MAKE) --no-print-directory mpi-run

# A make of its own, so that the files just installed are used.
.PHONY: mpi-run
mpi-run: btl rig $(if $(OMPI_INCLUDE),$(addprefix $(BUILD)/mpi/,$(MPI_PROGRAMS) OneTransport))
	@$(if $(OMPI_INCLUDE),status=0; $(MPI_DIR)/run $(BUILD) || status=1; $(MPI_DIR)/hosts $(BUILD) || status=1; \
	  $(MPI_DIR)/inputs $(BUILD) '$(OMPI_INCLUDE)' || status=1; \
	  SHORT=1 $(MPI_DIR)/programs $(BUILD) || status=1; exit $$status,\
	  echo "mpi-test: 0 passed, 0 failed, 1 skipped: no Open MPI")

mpi-next-test: btl $(if $(OMPI_INCLUDE),$(BUILD)/mpi/everything)
	@$(MPI_DIR)/next $(BUILD) $(or $(SUITE),trixie)

mpi-programs: btl
	@scripts/setup.sh $(MPI_WANTED)
	@$(MPI_DIR)/programs $(BUILD) '$(or $(ROWS),.)'

bench-mpi: btl $(if $(OMPI_INCLUDE),$(BUILD)/mpi/times)
	@$(if $(OMPI_INCLUDE),$(MPI_DIR)/bench $(BUILD) $(or $(REPETITIONS),5) $(PARTS),echo "bench-mpi: skipped: no Open MPI")
