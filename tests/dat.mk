# DAT. Included by the top Makefile.
#
# dat-headers-test the headers of include/dat2 and include/dat: sizes, offsets, values and types, also
# against Debian's, which it fetches; the macros; every dialect. Needs no library.
# dat-test         programs of tests/c/dat/programs over the library: each ends with a line "passed".
# test-dat         Debian's uDAPL programs over the library: every row of docs/dat-matrix.md, short.
# test-dat-full    on demand: all of it; writes the table there. ROWS="T5 T6" runs some.

DAT_DIR      := tests/c/dat/programs
DAT_BUILD    := $(BUILD)/dat
DAT_PROGRAMS := proposal counters memory leaks threads lane direct
DAT_CFLAGS   ?= -O2 -g -std=gnu11 -Wall -Wextra -Werror
DAT_LINK     := -L$(BUILD)/lib -ldat2 -lpthread -Wl,-rpath,'$$ORIGIN/../lib'

.PHONY: dat-headers-test dat-test test-dat test-dat-full

dat-headers-test:
	@tests/c/dat/headers.sh $(BUILD)

test-dat: $(LIB) $(DAPL)
	@tests/c/dat/matrix/run.sh $(BUILD) short $(ROWS)

test-dat-full: $(LIB) $(DAPL)
	@tests/c/dat/matrix/run.sh $(BUILD) full $(ROWS)

$(DAT_BUILD)/%: $(DAT_DIR)/%.c $(DAT_DIR)/pair.h $(DAT_HEADERS) $(LIB)
	@mkdir -p $(DAT_BUILD)
	$(CC) $(DAT_CFLAGS) -Iinclude $< $(DAT_LINK) -o $@

dat-test: $(addprefix $(DAT_BUILD)/,$(DAT_PROGRAMS))
	@scripts/dat-test.sh $^
