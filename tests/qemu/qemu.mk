# make ARCH=arm64 qemu-test: conformance programs of another architecture, emulated. Included by the
# top Makefile. QEMU_PROGRAMS chooses.
QEMU_PROGRAMS ?= env counters put get amsend vector xfer bulk dgsp handlers rmw fence address errors util interop

.PHONY: qemu-test
qemu-test: $(addprefix $(BUILD)/conform/,$(QEMU_PROGRAMS))
	$(if $(ARCH),,$(error make ARCH=arm64 qemu-test))
	@scripts/setup.sh qemu-aarch64-static=qemu-user-static
	@env -u CC -u GOARCH -u CGO_ENABLED -u OBJCOPY -u READELF -u NM $(MAKE) --no-print-directory ARCH= build/bin/lapirun
	@tests/qemu/run.sh $(ARCH) $(QEMU_PROGRAMS)
