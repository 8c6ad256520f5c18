# DAT. Included by the top Makefile.
#
# dat-headers-test the headers of include/dat2 and include/dat: sizes, offsets, values and types, also
# against Debian's, which it fetches; the macros; every dialect. Needs no library.
# test-dat         on demand: Debian's uDAPL programs over the library: a selection of docs/dat-matrix.md.
# test-dat-full    all lines of it.

.PHONY: dat-headers-test test-dat test-dat-full

dat-headers-test:
	@tests/c/dat/headers.sh $(BUILD)

test-dat: $(LIB)
	@tests/c/dat/matrix.sh $(BUILD) selection

test-dat-full: $(LIB)
	@tests/c/dat/matrix.sh $(BUILD) full
