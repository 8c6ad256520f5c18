# Programs started by launchers of the field (docs/launchers.md). Included by the top Makefile.
#
#   make launch-test      samples, conformance programs and ends of jobs under mpiexec.hydra and mpirun

LAUNCH_BUILD := $(BUILD)/launch
LAUNCH_LINK  := -L$(BUILD)/lib -llapi_r -Wl,-rpath,'$$ORIGIN/../lib'

.PHONY: launch-test

$(LAUNCH_BUILD)/ends: tests/launch/ends.c $(LIB)
	@mkdir -p $(LAUNCH_BUILD)
	$(CC) $(CONFORM_CFLAGS) -Iinclude $< $(LAUNCH_LINK) -o $@

launch-test: conform-build $(LAUNCH_BUILD)/ends
	@scripts/setup.sh mpiexec.hydra=mpich mpicc.mpich=libmpich-dev \
  mpirun.openmpi=openmpi-bin mpicc.openmpi=libopenmpi-dev
	@BUILD=$(BUILD) CC='$(CC)' bash tests/launch/run
