# The kill storm (docs/dev/ends.md): jobs in which tasks end in random ways at random moments. Included
# by the top Makefile.
#
#   make storm SECONDS=n SEED=s   on demand: n seconds (600) of jobs from a seed (random).
#                                 MODES="shm udp nodes hand hydra hydra-nodes": some of the ways
#                                 to start them; all that are possible here
#   make storm-test               two minutes of it, of one seed; calls may take longer

STORM := $(BUILD)/storm/storm

.PHONY: storm storm-test
$(STORM): tests/storm/storm.c tests/storm/operations.c tests/storm/storm.h $(LIB)
	@mkdir -p $(@D)
	$(CC) $(CONFORM_CFLAGS) -Iinclude $(filter %.c,$^) -L$(BUILD)/lib -llapi_r -lpthread \
	  -Wl,-rpath,'$$ORIGIN/../lib' -o $@

storm: $(STORM) $(RUN)
	@BUILD=$(BUILD) bash tests/storm/run "$(or $(SECONDS),600)" "$(SEED)" $(MODES)

storm-test: $(STORM) $(RUN)
	@BUILD=$(BUILD) LIMIT=120 bash tests/storm/run 120 1
