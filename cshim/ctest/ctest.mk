# Tests of the C side against a core made of a queue: plain, under the thread sanitizer, under the
# address sanitizer. `make cshim-test`; needs nothing but a C compiler.

CSHIM_TEST_DIR := $(or $(BUILD),build)/cshim-test
CSHIM_PARTS := coll context cpu fortran handlers ibv lane lapi node packets progress registry start
CSHIM_SOURCES := $(wildcard cshim/*.c $(CSHIM_PARTS:%=cshim/%/*.c))
CSHIM_INCLUDES := -Icshim -Iinclude
# Of uDAPL what transfers, waits and posts. Its lane is there twice: the other of two processes.
CSHIM_TEST_LANE := $(wildcard cshim/dat/*.c cshim/dat/evd/*.c cshim/dat/rc/*.c)
CSHIM_TEST_SECOND := $(CSHIM_TEST_LANE:cshim/dat/%.c=$(CSHIM_TEST_DIR)/second/%.c)
CSHIM_TEST_DAT := $(wildcard cshim/dat/coll/*.c cshim/dat/dev/*.c) \
  $(addprefix cshim/dat/api/,block.c collective_post.c posts.c wait.c) \
  $(CSHIM_TEST_LANE) $(CSHIM_TEST_SECOND) $(wildcard cshim/ctest/dat/fake_*.c)
# What asks launchers' libraries: the test program is these libraries, and exports their functions.
CSHIM_TEST_LAUNCHERS := cshim/munge/munge.c cshim/pmix/pmix.c
CSHIM_TEST_SOURCES := $(CSHIM_SOURCES) $(CSHIM_TEST_DAT) $(CSHIM_TEST_LAUNCHERS) \
  $(wildcard cshim/ctest/*.c cshim/ctest/*/test_*.c)
CSHIM_TEST_HEADERS := $(wildcard cshim/*.h cshim/*/*.h cshim/dat/*/*.h cshim/ctest/*/*.h include/*.h) tests/c/host/refuse.h
# Without the sleepers' safety net, so that a lost wake-up shows.
CSHIM_TEST_FLAGS := -std=gnu11 -O2 -g -Wall -Wextra -Werror $(CSHIM_INCLUDES) -fvisibility=hidden -Wno-unused-parameter -DCSHIM_SAFETY_NS=-1 -pthread
# Stores, turns and threads that the tests count; what the launchers' libraries are asked.
CSHIM_TEST_LINK := -rdynamic -Wl,--wrap=node_guarded_stream,--wrap=node_guarded_string,--wrap=dat_groups_turn,--wrap=pthread_create

.PHONY: cshim-test cshim-test-plain cshim-test-thread cshim-test-address cshim-lint
# There is no thread sanitizer for i386. WHOLE=1: also without sanitizers, and with the benchmarks
# built, which else only a compiler looks at (docs/dev/testing.md).
CSHIM_TEST_WHOLE := cshim-test-plain $(addprefix $(CSHIM_TEST_DIR)/,lock-bench lane-bench $(if $(M32),,dat-lane-bench))
cshim-test: cshim-lint $(if $(WHOLE)$(M32),$(CSHIM_TEST_WHOLE)) $(if $(M32),,cshim-test-thread) cshim-test-address

$(CSHIM_TEST_DIR)/plain: CSHIM_TEST_EXTRA :=
$(CSHIM_TEST_DIR)/thread: CSHIM_TEST_EXTRA := -fsanitize=thread
$(CSHIM_TEST_DIR)/address: CSHIM_TEST_EXTRA := -fsanitize=address,undefined -fno-sanitize-recover=undefined
$(CSHIM_TEST_DIR)/plain $(CSHIM_TEST_DIR)/thread $(CSHIM_TEST_DIR)/address: $(CSHIM_TEST_SOURCES) $(CSHIM_TEST_HEADERS)
	@mkdir -p $(@D)
	$(CC) $(CSHIM_TEST_FLAGS) $(CSHIM_TEST_EXTRA) $(CSHIM_TEST_LINK) -o $@ $(CSHIM_TEST_SOURCES)

$(CSHIM_TEST_SECOND): $(CSHIM_TEST_DIR)/second/%.c: cshim/dat/%.c cshim/ctest/dat/second.h
	@mkdir -p $(@D)
	@printf '#include "ctest/dat/second.h"\n#include "dat/%s.c"\n' $* >$@

cshim-test-plain cshim-test-thread cshim-test-address: cshim-test-%: $(CSHIM_TEST_DIR)/%
	$<

# Every compiler there is must be quiet: gcc is, where it builds the program above, so that only
# WHOLE=1 asks it once more, file by file. The part that waits knows no other.
cshim-lint: $(CSHIM_TEST_SECOND)
	@for cc in gcc clang; do \
	  command -v $$cc >/dev/null || { echo "skipped: $$cc is not installed"; continue; }; \
	  [ $$cc$(WHOLE) = gcc ] || for f in $(CSHIM_TEST_SOURCES); do $$cc -std=gnu11 -O2 -Wall -Wextra -Werror -Wno-unused-parameter $(CSHIM_INCLUDES) -fsyntax-only $$f || exit 1; done; \
	  for f in $(wildcard cshim/ctest/bench/*.c); do $$cc -std=gnu11 -O2 -Wall -Wextra -Werror -Wno-unused-parameter $(CSHIM_INCLUDES) -fsyntax-only $$f || exit 1; done; \
	  for f in cshim/progress/*.c cshim/ctest/progress/test_progress.c; do $$cc -std=gnu11 -Wall -Wextra -Werror -Icshim -fsyntax-only $$f || exit 1; done; \
	done

# The cost of the context lock: once each, see cshim/ctest/bench/lock_bench.c.
LOCK_BENCH_SOURCES := $(filter-out cshim/registry/%,$(CSHIM_SOURCES)) $(wildcard cshim/ctest/fake*.c) cshim/ctest/help.c cshim/ctest/bench/lock_bench.c
.PHONY: lock-bench
$(CSHIM_TEST_DIR)/lock-bench: $(LOCK_BENCH_SOURCES) $(CSHIM_TEST_HEADERS)
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O2 -Wall -Wextra -Werror -Wno-unused-parameter $(CSHIM_INCLUDES) -pthread -o $@ $(LOCK_BENCH_SOURCES)

lock-bench: $(CSHIM_TEST_DIR)/lock-bench
	@$< pair && $< alternate && $< contend && for us in 10000 1000 100; do $< occasional $$us || exit 1; done

# The instructions of the lane's small operations: see cshim/ctest/bench/lane_bench.c.
# Position-independent, as the library is.
LANE_BENCH_SOURCES := $(filter-out cshim/registry/%,$(CSHIM_SOURCES)) $(wildcard cshim/ctest/fake*.c) cshim/ctest/help.c \
  cshim/ctest/bench/lane_bench.c
.PHONY: lane-bench
$(CSHIM_TEST_DIR)/lane-bench: $(LANE_BENCH_SOURCES) $(CSHIM_TEST_HEADERS)
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O2 -g -fPIC -fvisibility=hidden -Wall -Wextra -Werror -Wno-unused-parameter $(CSHIM_INCLUDES) -pthread -o $@ $(LANE_BENCH_SOURCES)

lane-bench: $(CSHIM_TEST_DIR)/lane-bench
	@$<

.PHONY: lane-count
lane-count: $(CSHIM_TEST_DIR)/lane-bench
	@scripts/setup.sh valgrind=valgrind
	@sh cshim/ctest/bench/count.sh $< put am "am probe" "put answered" "get answered" "rmw answered"

# The same of uDAPL's: see cshim/ctest/bench/dat_lane_bench.c.
DAT_LANE_BENCH_SOURCES := $(CSHIM_SOURCES) $(CSHIM_TEST_DAT) $(wildcard cshim/ctest/fake*.c) \
  cshim/ctest/help.c cshim/ctest/bench/dat_lane_bench.c
.PHONY: dat-lane-bench
$(CSHIM_TEST_DIR)/dat-lane-bench: $(DAT_LANE_BENCH_SOURCES) $(CSHIM_TEST_HEADERS)
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O2 -g -fPIC -fvisibility=hidden -Wall -Wextra -Werror -Wno-unused-parameter $(CSHIM_INCLUDES) -pthread -o $@ $(DAT_LANE_BENCH_SOURCES)

dat-lane-bench: $(CSHIM_TEST_DIR)/dat-lane-bench
	@$<

# The same of collectives on one node: see cshim/ctest/bench/dat_group_bench.c.
DAT_GROUP_BENCH_SOURCES := $(patsubst %/dat_lane_bench.c,%/dat_group_bench.c,$(DAT_LANE_BENCH_SOURCES))
$(CSHIM_TEST_DIR)/dat-group-bench: $(DAT_GROUP_BENCH_SOURCES) $(CSHIM_TEST_HEADERS)
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O2 -g -fPIC -fvisibility=hidden -Wall -Wextra -Werror -Wno-unused-parameter $(CSHIM_INCLUDES) -pthread -o $@ $(DAT_GROUP_BENCH_SOURCES)

.PHONY: dat-count
dat-count: $(CSHIM_TEST_DIR)/dat-lane-bench $(CSHIM_TEST_DIR)/dat-group-bench
	@scripts/setup.sh valgrind=valgrind
	@sh cshim/ctest/bench/count.sh $< answered answered:first_sends answered:first_receives answered:take \
	  write:write_completed write:first_writes write:take \
	  read:read_completed read:first_reads read:take nothing \
	  asked:read_completed asked:first_reads asked:second_answers asked:take
	@sh cshim/ctest/bench/count.sh $(CSHIM_TEST_DIR)/dat-group-bench barrier:first_barrier barrier:take waits:look sum:first_sums sum:take
