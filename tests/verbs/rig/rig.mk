# The rig: adapters for tests that need no hardware, no kernel's driver and no virtual machine
# (docs/dev/verbs.md). Included by tests/verbs/verbs.mk.
#
#   make rig           its libraries, in build/rig
#   make rig-test      what the rig promises; CHECKS="killed died" are some of them
#   make rig-lapi      LAPI's programs over five adapters; WHICH="full ports" has more (25 s, 60 s)
#   make rig-dat       uDAPL: this library, its provider object and the original, in all ways;
#                      ROWS="1 5" of dat.rows; a selection without WHOLE=1
#   make rig-faults    LAPI and uDAPL over adapters that fail meanwhile; CASES="seed-7 event-CQ_ERR",
#                      all
#   make rig-sanitize  on demand: some of these with a sanitizer; SANITIZER=thread, else address
#   make rig-sweep     all uDAPL calls with all wrong arguments: codes as over shared memory
#   make rig-statuses  uDAPL's events for requests that fail with each status, as the original's
#   make rig-matrix    the rows of docs/dat-matrix.md over an adapter, short; ROWS="T5 T6"
#   make rig-coll      collectives with members on one adapter, and on adapters of several nodes
#   make rig-scale     the memory of one task with many peers; SCALE=1024
#   make rig-perftest  Debian's perftest
#   make rig-count     instructions of uDAPL's calls, this library's beside the original's
#   make bench-rig     the rig's own cost; LAPI beside perftest, uDAPL beside the original;
#                      REPETITIONS=3
#   make bench-rig-coll  barriers and allreduces beside bare writes; MEMBERS="2 3 4 8"

RIG_DIR   := tests/verbs/rig
RIG_BUILD := $(BUILD)/rig
RIG_CFLAGS ?= -O2 -g -std=gnu11 -Wall -Wextra -Werror
RIG_VERBS := world fifo agent device open memory copy cq async queue states post run fail \
  deliver extended names faults raise cm_end
RIG_CM    := cm_id cm_connect cm_event cm_qp
# Programs close a provider that has opened them: their thread stays.
RIG_SHARED := -D_GNU_SOURCE -fPIC -shared -Wl,-z,nodelete
RIG_LIBS  := $(addprefix $(RIG_BUILD)/,libibverbs.so.1 librdmacm.so.1 libmlx5.so.1 libefa.so.1)

.PHONY: rig
rig: $(RIG_LIBS) $(RIG_BUILD)/rigctl

$(RIG_BUILD)/libibverbs.so.1: $(RIG_VERBS:%=$(RIG_DIR)/%.c) $(RIG_DIR)/ibverbs.map \
  $(wildcard $(RIG_DIR)/*.h)
	@mkdir -p $(@D)
	$(CC) $(RIG_CFLAGS) $(RIG_SHARED) -Wl,-soname,$(@F) \
	  -Wl,--version-script=$(RIG_DIR)/ibverbs.map $(filter %.c,$^) -o $@ -lpthread

$(RIG_BUILD)/librdmacm.so.1: $(RIG_CM:%=$(RIG_DIR)/%.c) $(RIG_DIR)/rdmacm.map \
  $(wildcard $(RIG_DIR)/*.h) $(RIG_BUILD)/libibverbs.so.1
	$(CC) $(RIG_CFLAGS) $(RIG_SHARED) -Wl,-soname,$(@F) \
	  -Wl,--version-script=$(RIG_DIR)/rdmacm.map $(filter %.c,$^) -o $@ \
	  -L$(@D) -l:libibverbs.so.1 -lpthread

# perftest is linked to these besides.
$(RIG_BUILD)/lib%.so.1: $(RIG_DIR)/vendor.c $(RIG_DIR)/%.map
	@mkdir -p $(@D)
	$(CC) $(RIG_CFLAGS) $(RIG_SHARED) $(if $(filter efa,$*),-DEFA) -Wl,-soname,$(@F) \
	  -Wl,--version-script=$(RIG_DIR)/$*.map $< -o $@

$(RIG_BUILD)/rigctl: $(RIG_DIR)/rigctl.c $(RIG_BUILD)/libibverbs.so.1
	$(CC) $(RIG_CFLAGS) $< -o $@ -L$(@D) -l:libibverbs.so.1 -Wl,-rpath,'$$ORIGIN'

.PHONY: rig-lapi rig-dat rig-coll rig-perftest rig-faults rig-faults-short
rig-faults-short: # in make test
	@$(MAKE) --no-print-directory rig-faults \
	  CASES="send-10 overrun overrun-on both-device spare device event-QP_FATAL killed fork-call memlock seed-1 seed-2"

rig-faults: rig $(VERBS_LAPI) $(addprefix $(BUILD)/verbs/,resume locked)
	@$(RIG_DIR)/faults $(BUILD) $(CASES)
	@$(RIG_DIR)/faults-dat $(BUILD) $(CASES)

.PHONY: rig-sanitize
rig-sanitize: rig $(VERBS_LAPI)
	@$(RIG_DIR)/sanitize $(BUILD) $(or $(SANITIZER),address)

rig-lapi: rig $(VERBS_LAPI) $(VERBS_CONFORM)
	@for which in $(or $(WHICH),short); do $(RIG_DIR)/lapi $(BUILD) $$which || exit; done

# Each program with each library on each side, the long ones once.
RIG_DAT_ROWS ?= 1 4 8 12 16 17 18 20 21 22 23 24 25 26 27 28 29 30 34 35
rig-dat: rig $(LIB) $(DAPL) $(BUILD)/verbs/windows
	@$(RIG_DIR)/dat $(BUILD) tests/verbs/dat.rows $(or $(ROWS),$(if $(WHOLE),,$(RIG_DAT_ROWS)))
	@$(if $(WHOLE),$(RIG_DIR)/dat $(BUILD) $(RIG_DIR)/dat.rows,:)

.PHONY: rig-matrix
rig-matrix: rig $(LIB) $(DAPL)
	@tests/c/dat/matrix/run.sh $(BUILD) rig $(ROWS)

# On 8 nodes each member is alone. coll_life waits for adapters to find dead members. docs/dev/verbs.md has
# what each row is for.
rig-coll: rig $(LIB) $(addprefix $(BUILD)/dat/coll_,moves reductions groups random life sweep faults)
	@$(RIG_DIR)/coll $(BUILD) 1:$(BUILD)/dat/coll_moves 2:$(BUILD)/dat/coll_moves \
	  2:$(BUILD)/dat/coll_groups 4h:$(BUILD)/dat/coll_groups:"short on" \
	  3:$(BUILD)/dat/coll_reductions 8:$(BUILD)/dat/coll_moves:"short on 8" \
	  8:$(BUILD)/dat/coll_groups:"short on 8" 2hs:$(BUILD)/dat/coll_sweep \
	  4:$(BUILD)/dat/coll_faults 4i:$(BUILD)/dat/coll_faults:"4 request device" \
	  8i:$(BUILD)/dat/coll_moves:"short on 4" \
	  $(if $(WHOLE),3:$(BUILD)/dat/coll_random 8:$(BUILD)/dat/coll_random:"short on 8" \
	  8:$(BUILD)/dat/coll_moves 8:$(BUILD)/dat/coll_reductions \
	  8:$(BUILD)/dat/coll_reductions:"short on 8" 3i:$(BUILD)/dat/coll_reductions \
	  1:$(BUILD)/dat/coll_life 3:$(BUILD)/dat/coll_life:"full on" \
	  3:$(BUILD)/dat/coll_life:"full off" 3:$(BUILD)/dat/coll_life:"short on 3" \
	  8:$(BUILD)/dat/coll_life:"short on 8" 8:$(BUILD)/dat/coll_faults:8)

.PHONY: rig-sweep
rig-sweep: rig $(LIB) $(BUILD)/dat/sweep
	@$(RIG_DIR)/sweep $(BUILD)

.PHONY: rig-statuses
rig-statuses: rig $(LIB) $(DAPL) $(BUILD)/verbs/windows
	@$(RIG_DIR)/statuses $(BUILD)

SCALE ?= 1024
.PHONY: rig-scale
rig-scale: rig
	@$(GO) build -o $(RIG_BUILD)/scale ./$(RIG_DIR)/scale
	@$(RIG_DIR)/with $(RIG_BUILD) $(RIG_BUILD)/scale $(SCALE) || \
	  { [ $$? = 3 ] && echo "rig-scale: 0 passed, 0 failed, 1 skipped"; }

rig-perftest: rig
	@$(RIG_DIR)/perftest $(BUILD)

RIG_CHECKS := $(wildcard $(RIG_DIR)/check/*.c)
$(RIG_BUILD)/check: $(RIG_CHECKS) $(RIG_DIR)/check/check.h $(RIG_LIBS)
	$(CC) $(RIG_CFLAGS) -D_GNU_SOURCE $(RIG_CHECKS) -o $@ -L$(RIG_BUILD) -l:librdmacm.so.1 \
	  -l:libibverbs.so.1 -lpthread -Wl,-rpath,'$$ORIGIN'

.PHONY: rig-test
rig-test: rig $(RIG_BUILD)/check
	@$(RIG_DIR)/with $(RIG_BUILD) $(RIG_BUILD)/check $(CHECKS) || \
	  { [ $$? = 3 ] && echo "rig: 0 passed, 0 failed, 1 skipped"; }

$(RIG_BUILD)/cost: $(RIG_DIR)/cost.c $(RIG_DIR)/check/ends.c $(RIG_DIR)/check/check.h $(RIG_LIBS)
	$(CC) $(RIG_CFLAGS) -D_GNU_SOURCE $(filter %.c,$^) -o $@ -L$(RIG_BUILD) \
	  -l:libibverbs.so.1 -lpthread -Wl,-rpath,'$$ORIGIN'

# It needs either libdat2.so.2, so it is linked to a library that has only the names.
$(RIG_BUILD)/calls: $(RIG_DIR)/calls.c tests/c/dat/programs/pair.h
	@mkdir -p $(@D)/empty
	$(CC) -O2 -g -std=gnu11 -Wall -Wextra -Werror -Iinclude -c $< -o $@.o
	nm -u $@.o | awk '/ dat_/ {print "void " $$2 "(void) {}"}' | \
	  $(CC) -shared -fPIC -Wl,-soname,libdat2.so.2 -x c - -o $(@D)/empty/libdat2.so.2
	$(CC) $@.o -L$(@D)/empty -l:libdat2.so.2 -o $@

.PHONY: rig-count
rig-count: rig $(RIG_BUILD)/calls
	@$(RIG_DIR)/count $(BUILD)

RIG_MEMBERS := $(RIG_DIR)/members.c \
  $(addprefix tests/c/dat/programs/coll_,frame.c call.c values.c)
$(RIG_BUILD)/members: $(RIG_MEMBERS) tests/c/dat/programs/coll.h $(RIG_LIBS) $(LIB)
	$(CC) $(RIG_CFLAGS) -Iinclude -Itests/c/dat/programs $(RIG_MEMBERS) -o $@ -L$(BUILD)/lib \
	  -ldat2 -L$(RIG_BUILD) -l:libibverbs.so.1 -lpthread -lm -Wl,-rpath,'$$ORIGIN/../lib'

.PHONY: bench-rig bench-rig-coll
bench-rig: rig $(RIG_BUILD)/cost $(VERBS_LAPI) bench-rig-coll
	@$(RIG_DIR)/bench $(BUILD) $(REPETITIONS)

bench-rig-coll: rig $(RIG_BUILD)/members
	@COLL_SHOW=yes $(RIG_DIR)/coll $(BUILD) $(foreach n,$(or $(MEMBERS),2 4 8),$(n):$(RIG_BUILD)/members:$(n))
