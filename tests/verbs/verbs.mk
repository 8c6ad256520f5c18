# The link over RDMA verbs, on the kernel's soft-RoCE in machines of its own (docs/verbs.md).
# Included by the top Makefile.
#
#   make verbs-test        VERBS_FLAGS="-test.run TestNodesOutage" narrows it
#   make verbs-dat-test    uDAPL alone; ROWS="1 5" are lines of tests/verbs/dat.rows

.PHONY: verbs-test verbs-dat-test
verbs-dat-test: $(LIB)
	@scripts/setup.sh qemu-system-x86_64=qemu-system-x86 cpio=cpio rdma=iproute2 \
	  rxe-provider=ibverbs-providers
	@tests/verbs/dat $(BUILD) $(ROWS)

verbs-test: verbs-dat-test
	@scripts/setup.sh qemu-system-x86_64=qemu-system-x86 cpio=cpio rdma=iproute2 \
	  rxe-provider=ibverbs-providers
	@mkdir -p $(BUILD)/verbs
	$(GO) test -c -o $(BUILD)/verbs/verbs.test ./cshim/verbs
	$(GO) test -c -o $(BUILD)/verbs/registration.test ./transport/verbs/internal/registration
	@tests/verbs/run $(BUILD)/verbs $(VERBS_FLAGS)
