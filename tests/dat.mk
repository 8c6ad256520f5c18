# DAT. Included by the top Makefile.
#
# dat-headers-test the headers of include/dat2 and include/dat: sizes, offsets, values and types, also
# against Debian's, which it fetches; the macros; every dialect. Needs no library.
# dat-test         programs of tests/c/dat/programs over the library: each ends with a line "passed".
# coll-nodes-test  programs of collectives with their members on two and three nodes.
# coll-test-full   on demand: the programs of collectives with all sizes and groups of up to 16, on
#                  one, two and three nodes, in parts: PARTS="'2:*' '0:coll_moves:on:*'" runs some.
# test-dat         Debian's uDAPL programs over the library: every row of docs/dat-matrix.md, short.
# test-dat-full    on demand: all of it; writes the table there. ROWS="T5 T6" runs some.

DAT_DIR      := tests/c/dat/programs
DAT_BUILD    := $(BUILD)/dat
DAT_PROGRAMS := decided standard pointers sweep rules interrupted garbage proposal counters memory leaks threads lane direct forbidden provided
DAT_COLL     := coll_sweep coll_moves coll_reductions coll_groups coll_life coll_random
DAT_CFLAGS   ?= -O2 -g -std=gnu11 -Wall -Wextra -Werror
DAT_LINK     := -L$(BUILD)/lib -ldat2 -lpthread -Wl,-rpath,'$$ORIGIN/../lib'

# dat-ofed-test    Debian's OFED provider, loaded by this library, over soft-RoCE in a virtual machine.
# bench-dat-ofed   on demand: the same performance runs by that, by this library over the adapter and
#                  over UDP, in turn: ROUNDS=3 WHO="theirs adapter udp", LIMIT=900 seconds at most.
# dat-hosts-test   two nodes, which are namespaces: IPv4, IPv6, loss, a link that is cut, a killed peer.

.PHONY: dat-ofed-test bench-dat-ofed dat-hosts-test
.PHONY: dat-headers-test dat-test test-dat test-dat-full coll-test-full coll-nodes-test

dat-headers-test:
	@tests/c/dat/headers.sh $(BUILD)

test-dat: $(LIB) $(DAPL)
	@tests/c/dat/matrix/run.sh $(BUILD) short $(ROWS)

test-dat-full: $(LIB) $(DAPL)
	@tests/c/dat/matrix/run.sh $(BUILD) full $(ROWS)

$(DAT_BUILD)/%: $(DAT_DIR)/%.c $(DAT_DIR)/pair.h $(DAT_DIR)/two.h $(DAT_DIR)/direct.h $(DAT_HEADERS) $(LIB)
	@mkdir -p $(DAT_BUILD)
	$(CC) $(DAT_CFLAGS) -Iinclude $< $(DAT_LINK) -o $@

# Calls of all functions, from the headers.
$(DAT_BUILD)/pointers_gen.h: tests/c/dat/pointers.sh tests/c/dat/prototypes.sh \
  cshim/dat/exports.txt $(DAT_HEADERS)
	@mkdir -p $(DAT_BUILD)
	tests/c/dat/pointers.sh '$(CC)' cshim/dat/exports.txt > $@.new && mv $@.new $@
$(DAT_BUILD)/pointers: $(DAT_BUILD)/pointers_gen.h
$(DAT_BUILD)/pointers: DAT_CFLAGS += -I$(DAT_BUILD)

# All calls with all wrong arguments, over each engine: tests/c/dat/sweep.
SWEEP_DIR  := tests/c/dat/sweep
$(DAT_BUILD)/sweep_calls.h: tests/c/dat/sweep.sh tests/c/dat/prototypes.sh $(SWEEP_DIR)/calls.txt \
  cshim/dat/exports.txt $(DAT_HEADERS)
	@mkdir -p $(DAT_BUILD)
	tests/c/dat/sweep.sh calls '$(CC)' cshim/dat/exports.txt > $@.new && mv $@.new $@
$(DAT_BUILD)/sweep_documents.h: tests/c/dat/sweep.sh $(SWEEP_DIR)/codes.txt \
  $(SWEEP_DIR)/differences.txt $(wildcard man/man3/dat*.3)
	@mkdir -p $(DAT_BUILD)
	tests/c/dat/sweep.sh documents > $@.new && mv $@.new $@
$(DAT_BUILD)/sweep: $(wildcard $(SWEEP_DIR)/*.[ch]) $(DAT_DIR)/pair.h $(DAT_BUILD)/sweep_calls.h \
  $(DAT_BUILD)/sweep_documents.h $(DAT_HEADERS) $(LIB)
	$(CC) $(DAT_CFLAGS) -Iinclude -I$(DAT_BUILD) $(SWEEP_DIR)/*.c $(DAT_LINK) -o $@

# A provider in a library of its own, which the program of that name loads.
$(DAT_BUILD)/libprovided.so: $(DAT_DIR)/provided_lib.c $(DAT_DIR)/provided.h $(DAT_HEADERS) $(LIB)
	@mkdir -p $(DAT_BUILD)
	$(CC) $(DAT_CFLAGS) -fPIC -shared -Iinclude $< -o $@
$(DAT_BUILD)/provided: $(DAT_BUILD)/libprovided.so $(DAT_DIR)/provided_calls.h

# Objects that the programs of collectives share.
COLL_SHARED := $(addprefix $(DAT_DIR)/coll_,frame.c call.c values.c)
$(DAT_BUILD)/coll_%: $(DAT_DIR)/coll_%.c $(COLL_SHARED) $(DAT_DIR)/coll.h $(DAT_DIR)/pair.h \
  $(DAT_HEADERS) $(LIB)
	@mkdir -p $(DAT_BUILD)
	$(CC) $(DAT_CFLAGS) -Iinclude $< $(COLL_SHARED) $(DAT_LINK) -lm -o $@

dat-test: $(addprefix $(DAT_BUILD)/,$(DAT_PROGRAMS) $(DAT_COLL))
	@scripts/dat-test.sh $^

coll-nodes-test: $(addprefix $(DAT_BUILD)/,$(DAT_COLL))
	@scripts/setup.sh ip=iproute2
	@scripts/coll-nodes.sh 2:$(DAT_BUILD)/coll_moves 3:$(DAT_BUILD)/coll_reductions \
	  2:$(DAT_BUILD)/coll_groups 3:$(DAT_BUILD)/coll_random

coll-test-full: $(addprefix $(DAT_BUILD)/,$(DAT_COLL))
	@scripts/setup.sh ip=iproute2
	@scripts/coll-full.sh $(DAT_BUILD) $(PARTS)

dat-ofed-test: $(LIB)
	@scripts/setup.sh qemu-system-x86_64=qemu-system-x86 cpio=cpio rdma=iproute2 \
	  rxe-provider=ibverbs-providers librdmacm=librdmacm1
	@tests/c/dat/ofed.sh $(BUILD) test

bench-dat-ofed: $(LIB)
	@tests/c/dat/ofed.sh $(BUILD) bench

dat-hosts-test: $(DAT_BUILD)/hosts $(LIB)
	@scripts/setup.sh ip=iproute2
	@tests/c/dat/hosts.sh $(BUILD)
