# Conformance, host and kill tests from C. Included by the top Makefile; everything made goes to
# build/conform. Programs see only include/ and the built library, as a user's would.

CONFORM_BUILD    := $(BUILD)/conform
CONFORM_DIR      := tests/c/conform
HOST_DIR         := tests/c/host
CONFORM_CFLAGS   ?= -O2 -g -std=gnu11 -Wall -Wextra -Wpedantic -Werror
CONFORM_LINK     := -L$(BUILD)/lib -llapi_r -lpthread -Wl,-rpath,'$$ORIGIN/../lib'
CONFORM_PROGRAMS := env counters put get amsend vector vector_errors xfer bulk dgsp dgsp_program dgsp_large multicast handlers completion rmw fence fence_mixed address progress threads errors init huge util conditions locking recovery interop interop_words beyond
# Two GiB and more in one message is nothing for 32-bit tasks.
ifdef M32
CONFORM_PROGRAMS := $(filter-out huge,$(CONFORM_PROGRAMS))
endif
CONFORM_FRAME    := $(CONFORM_BUILD)/conform.o $(CONFORM_BUILD)/helpers.o
HOST_PROGRAMS    := init_env first_call starts full robbed no_threads no_advice crossing own_segv sigwait registered cancel signal_calls owed_signal init_codes catalogue fork_child signals leaks standalone error_ends hangs exits stopped restart rejoin exit_rejoin deserted flood left refused_later many routes unread

CONFORM_BINARIES := $(addprefix $(CONFORM_BUILD)/,$(CONFORM_PROGRAMS) atexit nopie cxx)
GUESTS := guest guest_pg $(if $(M32),,guest_address guest_thread)
HOST_BINARIES    := $(addprefix $(CONFORM_BUILD)/,$(HOST_PROGRAMS) broken $(if $(M32),,broken_dat) $(GUESTS) dlopened no_membarrier victim stepped halted libprofile.so profiled_linked profiled_plain header_only)

.PHONY: conform conform-lane conform-lane-off conform-lane-random conform-full conform-huge conform-build host-test kill-test kernel-test

$(CONFORM_BUILD)/%.o: $(CONFORM_DIR)/%.c $(CONFORM_DIR)/conform.h include/lapi.h include/css_shared.h
	@mkdir -p $(CONFORM_BUILD)
	$(CC) $(CONFORM_CFLAGS) -Iinclude -c $< -o $@

$(CONFORM_BUILD)/dgsp.o $(CONFORM_BUILD)/dgsp_program.o: $(CONFORM_DIR)/dgsp_common.h

$(CONFORM_BUILD)/util.o $(CONFORM_BUILD)/conditions.o: $(CONFORM_DIR)/thread_func.h

$(addprefix $(CONFORM_BUILD)/,$(CONFORM_PROGRAMS) atexit): $(CONFORM_BUILD)/%: $(CONFORM_BUILD)/%.o $(CONFORM_FRAME) $(LIB)
	$(CC) $< $(CONFORM_FRAME) $(CONFORM_LINK) -o $@

# Function addresses by value need a program that is not position-independent.
$(CONFORM_BUILD)/nopie: $(CONFORM_DIR)/nopie.c $(CONFORM_DIR)/conform.c $(CONFORM_DIR)/helpers.c $(CONFORM_DIR)/conform.h $(LIB)
	$(CC) $(CONFORM_CFLAGS) -fno-pie -no-pie -Iinclude $(filter %.c,$^) $(CONFORM_LINK) -o $@

# The same program as C++.
$(CONFORM_BUILD)/cxx: $(CONFORM_DIR)/nopie.c $(CONFORM_FRAME) $(LIB)
	$(CXX) -O2 -g -std=c++11 -Wall -Wextra -Werror -fno-pie -no-pie -Iinclude -x c++ $< -x none $(CONFORM_FRAME) $(CONFORM_LINK) -o $@

$(addprefix $(CONFORM_BUILD)/,$(HOST_PROGRAMS)): $(CONFORM_BUILD)/%: $(HOST_DIR)/%.c $(HOST_DIR)/host.h $(LIB)
	@mkdir -p $(CONFORM_BUILD)
	$(CC) $(CONFORM_CFLAGS) -DHOST_FOLDER='"$(CONFORM_BUILD)"' -Iinclude $< $(CONFORM_LINK) -o $@

BY_HAND := exit_rejoin exits rejoin restart standalone unread
$(addprefix $(CONFORM_BUILD)/,$(BY_HAND)): $(HOST_DIR)/by_hand.h
$(CONFORM_BUILD)/rejoin: $(HOST_DIR)/rejoin.h

$(CONFORM_BUILD)/sigwait $(CONFORM_BUILD)/dlopened: $(HOST_DIR)/masks.h

$(CONFORM_BUILD)/refused_later $(CONFORM_BUILD)/no_threads $(CONFORM_BUILD)/no_advice: $(HOST_DIR)/refuse.h

$(CONFORM_BUILD)/no_membarrier: $(HOST_DIR)/no_membarrier.c $(HOST_DIR)/refuse.h
	@mkdir -p $(CONFORM_BUILD)
	$(CC) $(CONFORM_CFLAGS) $< -o $@

$(CONFORM_BUILD)/without: $(HOST_DIR)/kernel/without.c
	@mkdir -p $(CONFORM_BUILD)
	$(CC) $(CONFORM_CFLAGS) $< -o $@

# Kernels that lack or refuse system calls, one by one.
kernel-test: $(CONFORM_BUILD)/without $(CONFORM_BUILD)/interop $(BUILD)/dat/proposal $(RUN)
	@$(HOST_DIR)/kernel/run-kernel $(BUILD)

$(CONFORM_BUILD)/victim: $(HOST_DIR)/kill/victim.c $(HOST_DIR)/host.h $(LIB)
	@mkdir -p $(CONFORM_BUILD)
	$(CC) $(CONFORM_CFLAGS) -Iinclude $< $(CONFORM_LINK) -o $@

# Their instructions are counted: no symbol may be resolved at the first call.
$(CONFORM_BUILD)/stepped $(CONFORM_BUILD)/halted: $(CONFORM_BUILD)/%: $(HOST_DIR)/kill/%.c $(HOST_DIR)/kill/tracer.h $(HOST_DIR)/host.h $(LIB)
	@mkdir -p $(CONFORM_BUILD)
	$(CC) $(CONFORM_CFLAGS) -Iinclude $< $(CONFORM_LINK) -Wl,-z,now -o $@

$(CONFORM_BUILD)/dlopened: $(HOST_DIR)/dlopened.c $(LIB)
	@mkdir -p $(CONFORM_BUILD)
	$(CC) $(CONFORM_CFLAGS) -Iinclude $< -lpthread -ldl -o $@

$(CONFORM_BUILD)/libprofile.so: $(HOST_DIR)/profile/libprofile.c $(LIB)
	@mkdir -p $(CONFORM_BUILD)
	$(CC) $(CONFORM_CFLAGS) -fPIC -shared -Iinclude $< $(CONFORM_LINK) -o $@

$(CONFORM_BUILD)/profiled_linked: $(HOST_DIR)/profile/profiled.c $(HOST_DIR)/host.h $(CONFORM_BUILD)/libprofile.so
	$(CC) $(CONFORM_CFLAGS) -Iinclude $< -L$(CONFORM_BUILD) -lprofile -Wl,-rpath,'$$ORIGIN' $(CONFORM_LINK) -ldl -o $@

$(CONFORM_BUILD)/profiled_plain: $(HOST_DIR)/profile/profiled.c $(HOST_DIR)/host.h $(LIB)
	@mkdir -p $(CONFORM_BUILD)
	$(CC) $(CONFORM_CFLAGS) -Iinclude $< $(CONFORM_LINK) -ldl -o $@

# The same program as it is, for gprof, and under sanitizers.
$(CONFORM_BUILD)/guest: GUEST_EXTRA :=
$(CONFORM_BUILD)/guest_pg: GUEST_EXTRA := -pg
$(CONFORM_BUILD)/guest_address: GUEST_EXTRA := -fsanitize=address,undefined
$(CONFORM_BUILD)/guest_thread: GUEST_EXTRA := -fsanitize=thread
$(addprefix $(CONFORM_BUILD)/,$(GUESTS)): $(HOST_DIR)/guest.c $(HOST_DIR)/guest.h $(HOST_DIR)/host.h $(LIB)
	@mkdir -p $(CONFORM_BUILD)
	$(CC) $(CONFORM_CFLAGS) $(GUEST_EXTRA) -Iinclude $< $(CONFORM_LINK) -lm -o $@

# A library in which invariants can be broken (capi/inject_tag.go).
INJECT := $(BUILD)/inject/liblapi_r.so.1
$(INJECT): $(LIB)
	@mkdir -p $(@D)
	@rm -f $@
	LINK_CC='$(CC)' CC='$(CC)' CGO_CFLAGS='$(LIB_CFLAGS)' $(GO) build -tags lapi_inject \
	  -buildmode=c-shared -trimpath -ldflags '$(LIB_LDFLAGS)' -o $@ ./capi
	@rm -f $(@D)/*.h

$(CONFORM_BUILD)/broken $(CONFORM_BUILD)/broken_dat: $(CONFORM_BUILD)/%: $(HOST_DIR)/%.c $(HOST_DIR)/host.h $(INJECT)
	@mkdir -p $(CONFORM_BUILD)
	$(CC) $(CONFORM_CFLAGS) -Iinclude $< -L$(BUILD)/lib -llapi_r -lpthread \
	  -Wl,-rpath,'$$ORIGIN/../inject' -o $@

$(CONFORM_BUILD)/header_only: $(HOST_DIR)/header_only_a.c $(HOST_DIR)/header_only_b.c include/lapi.h
	@mkdir -p $(CONFORM_BUILD)
	$(CC) $(CONFORM_CFLAGS) -Iinclude $(filter %.c,$^) -o $@

conform-build: $(CONFORM_BINARIES) $(HOST_BINARIES) $(RUN)

conform: conform-build
	@BUILD=$(BUILD) bash tests/c/run-tests quick

# Without the fast lane, and with it at random for each call; tests/c/conform runs with it anyhow.
CONFORM_LANE := env counters put get amsend vector vector_errors xfer bulk dgsp dgsp_program multicast handlers completion rmw fence fence_mixed address progress threads errors init util conditions locking \
  recovery interop interop_words beyond atexit nopie cxx
LANE_WAYS_off    := 2:only:polling:on:l2
LANE_WAYS_random := 3:yes:interrupt:off:last
LANE_WAYS_whole  := 2:only:polling:on:l2 3:yes:interrupt:off:last 8:yes:polling:on:l1
conform-lane: conform-lane-off conform-lane-random
conform-lane-off conform-lane-random: conform-lane-%: conform-build
	@echo "LAPI_FASTLANE=$*"
	@LAPI_FASTLANE=$* WAYS="$(LANE_WAYS_$(if $(WHOLE),whole,$*))" BUILD=$(BUILD) \
	  bash tests/c/run-tests quick $(CONFORM_LANE)

# Data that is too long for slots, by each route (LAPI_ROUTE, docs/dev/bulk.md); tests/c/conform lets the
# library choose.
CONFORM_ROUTES := put get bulk xfer vector amsend fence fence_mixed errors threads
# A selection: each route once with each program that moves data by itself.
CONFORM_ROUTES_SHORT := put get xfer vector amsend fence_mixed
.PHONY: conform-routes
conform-routes: conform-build
	@for route in pipeline wide string streaming origin target halves; do \
	  echo "LAPI_ROUTE=$$route"; \
	  LAPI_ROUTE=$$route WAYS="2:only:polling:on:l2 $(if $(WHOLE),3:yes:interrupt:off:last)" \
	    BUILD=$(BUILD) bash tests/c/run-tests quick \
	    $(if $(WHOLE),$(CONFORM_ROUTES),$(CONFORM_ROUTES_SHORT)) || exit 1; \
	done

# UDP/IP as if the kernel could neither send nor receive several datagrams in one call;
# tests/c/conform uses such calls anyhow, where the kernel has them.
CONFORM_GSO := put get amsend vector fence progress
.PHONY: conform-gso
conform-gso: conform-build
	@LAPI_UDP_GSO=off WAYS="2:no:polling:on:l2 3:no:interrupt:off:last" BUILD=$(BUILD) bash tests/c/run-tests quick $(CONFORM_GSO)

conform-full: conform-build
	@BUILD=$(BUILD) bash tests/c/run-tests full

conform-huge: conform-build
	@BUILD=$(BUILD) bash tests/c/run-tests huge

host-test: conform-build
	@BUILD=$(BUILD) bash tests/c/run-tests host

kill-test: conform-build
	@BUILD=$(BUILD) bash tests/c/host/kill/run-kill

# A library that takes pages for 64 KiB, as some kernels for Arm and POWER have them: memory that is
# released or requested in advance is refused if it is no multiple, and shared memory has that
# layout.
PAGES_PROGRAMS ?= put get amsend vector bulk
.PHONY: pages-test pages-run
pages-test:
	@GOFLAGS=-tags=pages64k $(MAKE) --no-print-directory BUILD=build-64k PRETEND=-DCSHIM_PRETENDED_PAGE=65536 pages-run
pages-run: $(RUN) $(addprefix $(CONFORM_BUILD)/,$(PAGES_PROGRAMS))
	CGO_CFLAGS='-O2 -g $(PRETEND)' $(GO) test ./transport/shm
	@passed=0; failed=0; for program in $(PAGES_PROGRAMS); do \
	  if timeout 300 $(RUN) -n 2 $(CONFORM_BUILD)/$$program > $(CONFORM_BUILD)/$$program.log 2>&1; then \
	    passed=$$((passed + 1)); echo "pass $$program: $$(tail -n 1 $(CONFORM_BUILD)/$$program.log)"; \
	  else failed=$$((failed + 1)); echo "FAIL $$program"; tail -n 10 $(CONFORM_BUILD)/$$program.log; fi; done; \
	echo "pages of 64 KiB: $$passed passed, $$failed failed, 0 skipped"; [ $$failed = 0 ]
