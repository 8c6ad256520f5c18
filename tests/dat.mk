# DAT. Included by the top Makefile.
#
# dat-headers-test the headers of include/dat2 and include/dat: sizes, offsets, values and types, also
# against Debian's, which it fetches; the macros; every dialect. Needs no library.
# test-dat         Debian's uDAPL programs over the library: every row of docs/dat-matrix.md, short.
# test-dat-full    on demand: all of it; writes the table there. ROWS="T5 T6" runs some.

.PHONY: dat-headers-test test-dat test-dat-full

dat-headers-test:
	@tests/c/dat/headers.sh $(BUILD)

test-dat: $(LIB) $(DAPL)
	@tests/c/dat/matrix/run.sh $(BUILD) short $(ROWS)

test-dat-full: $(LIB) $(DAPL)
	@tests/c/dat/matrix/run.sh $(BUILD) full $(ROWS)
