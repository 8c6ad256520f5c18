# Programs of another architecture, emulated. Included by the top Makefile.
#
#   make ARCH=arm64 qemu-test   conformance programs over shared memory and UDP; QEMU_PROGRAMS chooses
#   make arm64-test             a selection, two minutes: part of `make test`
QEMU_PROGRAMS ?= env counters put get amsend vector xfer bulk dgsp handlers rmw fence address errors util interop

.PHONY: qemu-test
qemu-test: $(addprefix $(BUILD)/conform/,$(QEMU_PROGRAMS))
	$(if $(ARCH),,$(error make ARCH=arm64 qemu-test))
	@scripts/setup.sh qemu-aarch64-static=qemu-user-static
	@env -u CC -u GOARCH -u CGO_ENABLED -u OBJCOPY -u READELF -u NM $(MAKE) --no-print-directory ARCH= build/bin/lapirun
	@tests/qemu/run.sh $(ARCH) $(QEMU_PROGRAMS)

# Builds for that architecture first, by compilers that scripts/cross unpacks.
.PHONY: arm64-test
arm64-test:
	@if why=$$(scripts/cross arm64 2>&1 > /dev/null); then \
	  $(MAKE) --no-print-directory ARCH=arm64 qemu-test QEMU_PROGRAMS='put amsend rmw fence errors'; \
	else echo "skipped: $$why"; echo "0 passed, 0 failed, 1 skipped"; fi
