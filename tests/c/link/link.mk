# lapi_link_*: programs that use lapi_link.h alone. Included by the top Makefile.
#
#   make bench-link    what operations cost, two tasks on this node
#   make link-test     each over shared memory, UDP/IP with and without loss, and adapters of the rig
#   make link-sanitize on demand: the same with a sanitizer; SANITIZER=thread, else address

LINK_DIR      := tests/c/link
LINK_BUILD    := $(BUILD)/link
LINK_PROGRAMS := operations messages addresses ends keys threads beside
LINK_BINARIES := $(addprefix $(LINK_BUILD)/,$(LINK_PROGRAMS) bench)

$(LINK_BINARIES): $(LINK_BUILD)/%: $(LINK_DIR)/%.c $(LINK_DIR)/link_test.c $(LINK_DIR)/link_test.h \
  include/lapi_link.h $(LIB)
	@mkdir -p $(@D)
	$(CC) -O2 -g -std=gnu11 -Wall -Wextra -Werror -Iinclude \
	  $(filter %.c,$^) -L$(BUILD)/lib -llapi_r -lpthread -Wl,-rpath,'$$ORIGIN/../lib' -o $@

.PHONY: link-test
link-test: $(LINK_BINARIES) $(RUN) rig
	@$(LINK_DIR)/run.sh $(BUILD)

.PHONY: link-sanitize
link-sanitize: build
	@$(LINK_DIR)/sanitize $(BUILD) $(or $(SANITIZER),address)

.PHONY: bench-link
bench-link: $(LINK_BUILD)/bench $(RUN)
	@$(RUN) --timeout 120 -n 2 --bind core $<
