# Programs of another architecture, emulated. Included by the top Makefile.
#
#   make ARCH=arm64 qemu-test   conformance programs over shared memory and UDP, also in jobs with tasks
#                               of this machine; uDAPL; the C side: QEMU_PROGRAMS, QEMU_DAT, QEMU_COLL
#                               and QEMU_CSHIM choose
#   make arm64-test             a selection, two minutes: part of `make test`
QEMU_PROGRAMS ?= env counters put get amsend vector vector_errors xfer bulk dgsp dgsp_program multicast handlers \
  completion rmw fence fence_mixed address progress threads errors util conditions locking interop interop_words beyond
# uDAPL's programs that start no further ones, which the emulator would have to be named for.
QEMU_DAT      ?= interrupted proposal counters memory leaks threads provided
QEMU_COLL     ?= coll_reductions coll_moves
QEMU_CSHIM    ?= guard coll group_call group node
QEMU_MADE     := $(QEMU_PROGRAMS:%=conform/%) $(QEMU_COLL:%=dat/%)

.PHONY: qemu-test qemu-here
qemu-test: $(addprefix $(BUILD)/,$(QEMU_MADE) $(QEMU_DAT:%=dat/%) $(if $(QEMU_CSHIM),cshim-test/plain))
	$(if $(ARCH),,$(error make ARCH=arm64 qemu-test))
	@scripts/setup.sh qemu-aarch64-static=qemu-user-static
	@env -u CC -u GOARCH -u CGO_ENABLED -u OBJCOPY -u READELF -u NM $(MAKE) --no-print-directory ARCH= \
	  QEMU_PROGRAMS='$(QEMU_PROGRAMS)' QEMU_COLL='$(QEMU_COLL)' qemu-here
	@QEMU_DAT='$(QEMU_DAT)' QEMU_COLL='$(QEMU_COLL)' QEMU_CSHIM='$(QEMU_CSHIM)' \
	  tests/qemu/run.sh $(ARCH) $(QEMU_PROGRAMS)

# This machine's part of mixed jobs.
qemu-here: $(RUN) $(addprefix $(BUILD)/,$(QEMU_MADE))

# Other machines are refused in one line; packages and compilers under old names know all that are not.
.PHONY: machines-test
machines-test:
	@tests/qemu/machines

# Builds for that architecture first, by compilers that scripts/cross unpacks.
.PHONY: arm64-test
arm64-test:
	@if why=$$(scripts/cross arm64 2>&1 > /dev/null); then \
	  $(MAKE) --no-print-directory ARCH=arm64 qemu-test QEMU_PROGRAMS='put get amsend rmw fence errors interop' \
	    QEMU_DAT='proposal memory' QEMU_COLL=coll_reductions QEMU_CSHIM='guard coll group_call'; \
	else echo "skipped: $$why"; echo "0 passed, 0 failed, 1 skipped"; fi
