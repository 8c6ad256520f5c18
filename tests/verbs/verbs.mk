# RDMA verbs, on the kernel's soft-RoCE in machines of its own (docs/dev/verbs.md). Included by the top
# Makefile.
#
#   make verbs-test        the link, registration, then LAPI (verbs-lapi-test) and uDAPL;
#                          VERBS_FLAGS="-test.run TestNodesOutage" narrows the first
#   make verbs-short-test  a selection of these in one boot of two machines, part of `make test`
#   make verbs-dat-test    uDAPL alone; ROWS="1 5" are lines of tests/verbs/dat.rows
#   make verbs-sweep-test  on demand: all uDAPL calls with all wrong arguments over the adapter
#   make verbs-lapi-test   LAPI's programs on 1, 2 and 4 nodes, short; ports that fail
#   make verbs-coll-test   collectives with each member on an adapter of its own; CASES="3:moves"
#   make verbs-removal-test  adapters that are taken away from a running job, and are there again; a
#                          completion queue that the kernel overruns
#   make verbs-lapi-full   on demand: most conformance programs whole
#   make bench-verbs       LAPI beside the programs of perftest; REPETITIONS=3

VERBS_TOOLS := qemu-system-x86_64=qemu-system-x86 cpio=cpio rdma=iproute2 \
  rxe-provider=ibverbs-providers
VERBS_LAPI := $(LIB) $(RUN) $(BUILD)/verbs/perf $(BUILD)/net/steady
VERBS_CONFORM := $(addprefix $(CONFORM_BUILD)/,\
  $(shell sed -n 's/^\# programs: //p' tests/verbs/lapi))

.PHONY: verbs-short-test verbs-test verbs-dat-test verbs-link-test verbs-lapi-test
.PHONY: verbs-lapi-full verbs-sweep-test verbs-coll-test verbs-removal-test bench-verbs
verbs-test: verbs-link-test verbs-lapi-test verbs-dat-test verbs-coll-test \
  verbs-removal-test

verbs-dat-test: $(LIB) $(DAPL) $(BUILD)/verbs/windows
	@scripts/setup.sh $(VERBS_TOOLS)
	@tests/verbs/dat $(BUILD) $(ROWS)

verbs-sweep-test: $(LIB) $(BUILD)/dat/sweep
	@scripts/setup.sh $(VERBS_TOOLS)
	@tests/verbs/sweep $(BUILD)

verbs-short-test: $(VERBS_LAPI) $(DAPL) $(BUILD)/verbs/windows \
  $(addprefix $(CONFORM_BUILD)/,put rmw victim)
	@scripts/setup.sh $(VERBS_TOOLS)
	@mkdir -p $(BUILD)/verbs
	$(GO) test -c -o $(BUILD)/verbs/verbs.test ./cshim/ibv
	@tests/verbs/run-short $(BUILD)

verbs-link-test:
	@scripts/setup.sh $(VERBS_TOOLS)
	@mkdir -p $(BUILD)/verbs
	$(GO) test -c -o $(BUILD)/verbs/verbs.test ./cshim/ibv
	$(GO) test -c -o $(BUILD)/verbs/registration.test ./transport/verbs/internal/registration
	@tests/verbs/run $(BUILD)/verbs $(VERBS_FLAGS)

$(BUILD)/verbs/perf: tests/verbs/perf.c include/lapi.h $(LIB)
	@mkdir -p $(@D)
	$(CC) $(CONFORM_CFLAGS) -Iinclude $< $(CONFORM_LINK) -o $@

$(BUILD)/verbs/resume $(BUILD)/verbs/locked: $(BUILD)/verbs/%: tests/verbs/%.c $(LIB)
	@mkdir -p $(@D)
	$(CC) $(CONFORM_CFLAGS) -Iinclude $< -L$(BUILD)/lib -ldat2 -o $@

$(BUILD)/verbs/windows: tests/verbs/windows.c tests/c/dat/programs/pair.h $(LIB)
	@mkdir -p $(@D)
	$(CC) $(CONFORM_CFLAGS) -Iinclude $< -L$(BUILD)/lib -ldat2 -o $@

verbs-lapi-test: $(VERBS_LAPI) $(VERBS_CONFORM)
	@scripts/setup.sh $(VERBS_TOOLS)
	@tests/verbs/run-lapi $(BUILD) short
	@tests/verbs/run-lapi $(BUILD) ports

# Members on one adapter each; where an s is, two of them share a node's memory (tests/verbs/coll).
VERBS_COLL := 2:moves:short_on_2 3:moves:short_on_3 3s:moves:short_on_3 3:moves:short_random_3 \
  3:reductions:short_on_3 4:groups:short_on 4:life:short_on
verbs-coll-test: $(LIB) $(addprefix $(BUILD)/dat/coll_,moves reductions groups life)
	@scripts/setup.sh $(VERBS_TOOLS)
	@tests/verbs/run-coll $(BUILD) $(or $(CASES),$(VERBS_COLL))

verbs-removal-test: $(VERBS_LAPI) $(VERBS_CONFORM) $(addprefix $(BUILD)/verbs/,removed overrun.so)
	@scripts/setup.sh $(VERBS_TOOLS)
	@tests/verbs/run-lapi $(BUILD) removal

$(BUILD)/verbs/removed: tests/verbs/removed.c
	@mkdir -p $(@D)
	$(CC) $(CONFORM_CFLAGS) $< -libverbs -lrdmacm -o $@

$(BUILD)/verbs/overrun.so: tests/verbs/overrun.c
	@mkdir -p $(@D)
	$(CC) $(CONFORM_CFLAGS) -fPIC -shared $< -o $@ -ldl

verbs-lapi-full: $(VERBS_LAPI) $(VERBS_CONFORM)
	@scripts/setup.sh $(VERBS_TOOLS)
	@LIMIT=1500 tests/verbs/run-lapi $(BUILD) full

bench-verbs: $(VERBS_LAPI)
	@scripts/setup.sh $(VERBS_TOOLS) ib_write_lat=perftest
	@tests/verbs/run-lapi $(BUILD) bench $(REPETITIONS)
include tests/verbs/rig/rig.mk
