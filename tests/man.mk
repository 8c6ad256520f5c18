# Man pages. Included by the top Makefile.
#
# MAN_PAGES the pages to install: those of man/, but for the calls that the library does not export
# yet (man/later.txt) man-lint the format of all pages alone man-test that, and: every call has its
# page, synopsis and codes agree with the sources, every example compiles and runs; of LAPI and
# uDAPL

MAN_LATER := $(shell sed 's/\#.*//' man/later.txt)
MAN_PAGES := $(filter-out $(MAN_LATER:%=man/man3/%.3),$(wildcard man/man1/*.1 man/man3/*.3 man/man7/*.7))

.PHONY: man-lint man-test

man-test: all
	tests/man-test $(BUILD)

man-lint:
	tests/man-test --lint
