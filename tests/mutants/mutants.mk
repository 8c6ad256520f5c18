# Defects, and the tests that must notice them (make mutants-list). Included by the top Makefile.
#
#   make mutants                      all; it takes long
#   make mutants ONLY='lane|udp' J=2  some, in two copies of the tree at once

J ?= 1
.PHONY: mutants mutants-list
mutants-list:
	@$(GO) run ./tests/mutants -doc
mutants:
	@$(GO) run ./tests/mutants -j $(J) -only '$(ONLY)' $(MUTANTS_FLAGS)

# The same program as cshim-test-plain, built from objects: a mutation recompiles few of them.
MUTANTS_OBJECTS := $(CSHIM_TEST_SOURCES:%.c=$(BUILD)/mutants/%.o)
$(BUILD)/mutants/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CSHIM_TEST_FLAGS) -MMD -MP -c $< -o $@
$(BUILD)/mutants/cshim-test: $(MUTANTS_OBJECTS)
	$(CC) $(CSHIM_TEST_FLAGS) $(CSHIM_TEST_LINK) -o $@ $^
-include $(MUTANTS_OBJECTS:.o=.d)
