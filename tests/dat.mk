# DAT. Included by the top Makefile.
#
# dat-headers-test the headers of include/dat2 and include/dat: sizes, offsets, values and types, also
# against Debian's, which it fetches; the macros; every dialect. Needs no library.

.PHONY: dat-headers-test

dat-headers-test:
	@tests/c/dat/headers.sh $(BUILD)
