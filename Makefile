# liblapi_r.so and lapirun. `make` builds, `make demo` shows, `make test` tests; CI runs the same
# targets. build/ holds everything made; nothing else is written.

GO      ?= go
CC      ?= cc
PREFIX  ?= /usr/local
VERSION := $(shell cat core/version/VERSION)
# Of a checkout that is not the release's commit: +g and the commit's name.
COMMIT  := $(shell [ ! -e .git ] || git describe --exact-match --match 'v$(VERSION)' > /dev/null 2>&1 || \
  git rev-parse --short=8 HEAD 2> /dev/null | sed 's/^/+g/')
BUILD   := build
LIBDIR  := lib
WORD    := 64

# With M32=1 every target is about 32-bit programs (i386), and makes them in build32/, so that both
# can take part in one job.
ifdef M32
  BUILD := build32
  LIBDIR := lib32
  WORD   := 32
  CC    := $(CC) -m32
  CXX   := $(CXX) -m32
  export GOARCH := 386
  export CGO_ENABLED := 1
  export CC CXX
endif
# With ARCH=arm64 or ARCH=ppc64le every target is about programs of that architecture, and makes them
# in build-arm64 or build-ppc64le, by cross compilers that scripts/cross unpacks where they are not
# installed. On such a machine itself ARCH is not needed.
ifneq ($(ARCH),)
  TRIPLET := $(or $(patsubst arm64,aarch64-linux-gnu,$(filter arm64,$(ARCH))),$(patsubst ppc64le,powerpc64le-linux-gnu,$(filter ppc64le,$(ARCH))),\
    $(error ARCH=$(ARCH): this library is for arm64 and ppc64le, beside amd64))
  BUILD   := build-$(ARCH)
  CROSS   := $(or $(shell scripts/cross $(ARCH)),$(error ARCH=$(ARCH): no cross compiler))
  CC      := $(CROSS)gcc
  export GOARCH := $(ARCH)
  export CGO_ENABLED := 1
  export OBJCOPY := $(CROSS)objcopy
  export READELF := $(CROSS)readelf
  export NM := $(CROSS)nm
  export CC
endif
# The library's layout, guarded accesses and atomics are for little-endian words of these.
MACHINE := $(shell $(CC) -dumpmachine 2> /dev/null)
ifeq ($(MACHINE)$(filter x86_64-% i386-% i486-% i586-% i686-% aarch64-% powerpc64le-% ppc64le-%,$(MACHINE)),$(MACHINE))
ifneq ($(MACHINE),)
  $(error $(MACHINE): this library is for x86-64, i386, 64-bit Arm and POWER, all little-endian)
endif
endif
LIB     := $(BUILD)/lib/liblapi_r.so
RUN     := $(BUILD)/bin/lapirun
TRACE   := $(BUILD)/bin/lapitrace
INFO    := $(BUILD)/bin/lapi_info
PERF    := $(BUILD)/bin/lapi_perf
# What another uDAPL registry loads. There is none for 32-bit programs, which have no uDAPL.
DAPL    := $(if $(M32),,$(BUILD)/lib/libdapllapi.so.2)

GO_SOURCES := $(shell find capi core descriptor invariant transport cmd/lapirun cmd/lapitrace \
  cmd/lapi_info cmd/narrow -name '*.go' -not -name '*_test.go' -o -name '*_amd64.s' -o -name VERSION)
C_SOURCES  := $(wildcard cshim/*.[ch] cshim/*/*.[ch] cshim/dat/*/*.[ch] cshim/*.go cshim/*/*.go \
  cshim/dat/*/*.go include/*.h) \
  cshim/exports.map

# Go rebuilds a package of cshim when a file in its own folder has changed. Its parts include each
# other's headers, so these are part of the flags.
LIB_CFLAGS = -O2 -g $(PRETEND) -DCSHIM_HEADERS=$(shell cat cshim/*.h cshim/*/*.h cshim/dat/*/*.h include/*.h include/dat*/*.h include/dat2/parts/*.h | \
  cksum | cut -d' ' -f1)

# When the library was built, as it says at MP_INFOLEVEL 2. One source gives one library: it is the
# date of the commit, or SOURCE_DATE_EPOCH, or, where neither is known, that of the newest source.
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || \
  stat -c %Y $(GO_SOURCES) $(C_SOURCES) | sort -n | tail -n 1)
BUILT := $(shell date -u -d '@$(SOURCE_DATE_EPOCH)' +%Y-%m-%dT%H:%M:%SZ)

VERSIONED := -X lapi/core/version.ident=lapi-version:$(VERSION)$(COMMIT):
# The version script keeps everything but the APIs inside: a plain c-shared build exports dozens of
# the run-time's symbols. It gives uDAPL's their version.
# The run-time of Go starts at a call, not at load: scripts/link-core, and cshim/start, which stands
# in front of the function through which each call from C into Go goes. asyncpreemptoff: it sends no
# SIGURG, which is the program's. gcshrinkstackoff: its stacks have guard pages (transport/memory).
WRAP_MMAP := -Wl,--wrap=x_cgo_mmap
ifdef M32
  WRAP_MMAP :=
endif
# Nothing in it depends on the folder it was built in: Go's name of a build would, so it has the linker's.
LIB_LDFLAGS := -buildid= $(VERSIONED) -X lapi/core/lapi.built=$(BUILT) -extld=$(CURDIR)/scripts/link-core \
  -X runtime.godebugDefault=asyncpreemptoff=1,gcshrinkstackoff=1 \
  -extldflags "-Wl,--build-id=sha1 -Wl,-soname,liblapi_r.so.1 -Wl,--version-script=$(CURDIR)/cshim/exports.map \
  -Wl,-z,relro -Wl,-z,now -Wl,--wrap=_cgo_wait_runtime_init_done $(WRAP_MMAP)"

.PHONY: all build install uninstall test go-test m32-test vet race fuzz clean
all build: $(LIB) $(DAPL) $(RUN) $(TRACE) $(INFO) $(PERF) $(BUILD)/bin/poe $(BUILD)/bin/lapi_dump $(BUILD)/lib/pkgconfig/lapi.pc

$(LIB): $(GO_SOURCES) $(C_SOURCES) go.mod scripts/link-core scripts/poller-overlay
	@mkdir -p $(BUILD)/lib
	@rm -f $(BUILD)/lib/liblapi_r.so.1
	@scripts/poller-overlay '$(GO)' $(BUILD)/overlay
	LINK_CC='$(CC)' CC='$(CC)' CGO_CFLAGS='$(LIB_CFLAGS)' $(GO) build -buildmode=c-shared -trimpath \
	  -overlay $(BUILD)/overlay/overlay.json \
	  -ldflags '$(LIB_LDFLAGS)' -o $(BUILD)/lib/liblapi_r.so.1 ./capi
	@rm -f $(BUILD)/lib/liblapi_r.h $(BUILD)/lib/liblapi_r.so.h $(BUILD)/lib/liblapi_r.so.1.h
	@for name in liblapi_r.so libdat2.so.2 libdat2.so libdat.so; do \
	  ln -sf liblapi_r.so.1 $(BUILD)/lib/$$name; done
	@ln -sf liblapi_r.so.1 $(BUILD)/lib/liblapi.so
	@touch -h $(BUILD)/lib/liblapi_r.so

# It finds the library beside itself; in the system's folder it needs no run path. Registries unload providers, Go's run-time cannot be unloaded.
DAPL_RPATH = -Wl,-rpath,'$$ORIGIN',--enable-new-dtags
$(BUILD)/lib/libdapllapi.so.2: $(wildcard cshim/registry/provider/*.[ch] include/dat2/*.h include/dat2/parts/*.h)
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O2 -Wall -Wextra -Werror -fPIC -fvisibility=hidden -Icshim -Iinclude -shared -o $@ \
	  -Wl,-soname,$(@F) -Wl,-z,nodelete,-z,relro,-z,now $(DAPL_RPATH) \
	  cshim/registry/provider/provider.c

# Whose name reports of Go's run-time have.
REPORTS := $(VERSIONED) -X lapi/invariant/thrown.command=
$(RUN): $(GO_SOURCES) go.mod
	@mkdir -p $(BUILD)/bin
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(REPORTS)lapirun' -o $@ ./cmd/lapirun

$(TRACE): $(GO_SOURCES) go.mod
	@mkdir -p $(BUILD)/bin
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(REPORTS)lapitrace' -o $@ ./cmd/lapitrace

# It asks the library's own bindings of adapters and munge, so it has C in it.
$(INFO): $(GO_SOURCES) $(C_SOURCES) go.mod
	@mkdir -p $(BUILD)/bin
	CC='$(CC)' CGO_CFLAGS='$(LIB_CFLAGS)' $(GO) build -trimpath -ldflags '$(REPORTS)lapi_info' -o $@ ./cmd/lapi_info

# C, as it measures what C programs call; linked as they are. In the system's folders it needs no
# run path.
PERF_RPATH = -Wl,-rpath,'$$ORIGIN/../lib:$$ORIGIN/../$(LIBDIR)',--enable-new-dtags
$(PERF): $(wildcard cmd/lapi_perf/*.[ch]) include/lapi.h core/version/VERSION | $(LIB)
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O2 -Wall -Wextra -Werror -Iinclude -DLAPI_PERF_VERSION='"$(VERSION)$(COMMIT)"' \
	  $(wildcard cmd/lapi_perf/*.c) -L$(BUILD)/lib -llapi_r -Wl,-z,relro,-z,now $(PERF_RPATH) -o $@

$(BUILD)/bin/poe $(BUILD)/bin/lapi_dump: $(RUN)
	@ln -sf lapirun $@

# The folder of the word size has lapif.h alone. It comes first, and is also there where pkg-config
# leaves out /usr/include, which gfortran would not look into by itself.
$(BUILD)/lib/pkgconfig/lapi.pc: Makefile
	@mkdir -p $(dir $@)
	@printf '%s\n' 'prefix=$${pcfiledir}/../..' 'libdir=$${prefix}/$(LIBDIR)' \
	  'includedir=$${prefix}/include' '' 'Name: lapi' \
	  'Description: IBM LAPI, one-sided communication, for Linux' 'Version: $(VERSION)' \
	  'Cflags: -I$${prefix}/include$(WORD) -I$${includedir}' 'Libs: -L$${libdir} -llapi_r' > $@

# Relocatable: nothing in the installed files knows PREFIX. With M32=1 the library goes to lib32,
# beside the 64-bit one, whose lapirun starts tasks of either kind.
INSTALL_DIR := $(DESTDIR)$(PREFIX)
DAT_HEADERS := $(wildcard include/dat/*.h include/dat2/*.h include/dat2/parts/*.h)
LOCALES     := $(shell awk '/^[a-z]/ { for (i = 3; i <= NF; i++) print $$i }' nls/locales)
# Compilers under the names that old makefiles use; all are links to the first, whose man page is
# that of all.
DRIVERS     := mpcc_r mpCC_r mpxlf_r mpxlf90_r mpxlf95_r mpcc mpCC mpxlf mpxlf90 mpxlf95 \
               cc_r CC_r xlc_r xlC_r xlf_r xlf90_r xlf95_r xlc xlC xlf xlf90 xlf95
# The samples with their makefiles, but what runs them all in the source tree.
SAMPLES     := $(filter-out samples.mk, \
  $(patsubst tests/c/samples/%,%,$(shell find tests/c/samples -name README.md -o -name Makefile \
  -o -name '*.mk' -o -name '*.[chF]' -o -name '*.cc' -o -name '*.F90' -o -name start-by-hand \
  -o -name under-mpi -o -name run-pair)))
SAMPLES_DIR  = $(INSTALL_DIR)/share/lapi/samples
# For CMake, Lmod and Environment Modules.
FILLED      := sed -e 's|@VERSION@|$(VERSION)|g' -e 's|@LIBDIR@|$(LIBDIR)|g'
MODULES      = $(INSTALL_DIR)/share/lapi/modulefiles/lapi
install: build
	install -d $(INSTALL_DIR)/$(LIBDIR)/pkgconfig $(INSTALL_DIR)/include $(INSTALL_DIR)/bin
	install -m 755 $(BUILD)/lib/liblapi_r.so.1 $(INSTALL_DIR)/$(LIBDIR)/
	ln -sf liblapi_r.so.1 $(INSTALL_DIR)/$(LIBDIR)/liblapi_r.so
	ln -sf liblapi_r.so.1 $(INSTALL_DIR)/$(LIBDIR)/liblapi.so
	$(if $(OMPI_INCLUDE),$(MAKE) --no-print-directory btl && install -D -m 755 $(BTL) \
	  $(DESTDIR)$(BTL_DIR)/mca_btl_lapi.so)
	install -m 644 $(BUILD)/lib/pkgconfig/lapi.pc $(INSTALL_DIR)/$(LIBDIR)/pkgconfig/
	install -m 644 include/lapi.h include/lapi_link.h include/css_shared.h fortran/lapif.h $(INSTALL_DIR)/include/
	install -D -m 644 fortran/lapif.h $(INSTALL_DIR)/include64/lapif.h
	install -D -m 644 fortran/include32/lapif.h $(INSTALL_DIR)/include32/lapif.h
	for page in $(MAN_PAGES); do install -D -m 644 $$page $(INSTALL_DIR)/share/$$page || exit 1; done
	for file in $(SAMPLES); do [ -x tests/c/samples/$$file ] && mode=755 || mode=644; \
	  install -D -m $$mode tests/c/samples/$$file $(SAMPLES_DIR)/$$file || exit 1; done
	for page in $(BOOK); do install -D -m 644 $$page $(INSTALL_DIR)/share/doc/lapi/$${page##*/} || exit 1; done
	[ ! -e $(BUILD)/html/index.html ] || { install -d $(INSTALL_DIR)/share/doc/lapi/html && \
	  install -m 644 $(BUILD)/html/*.html $(INSTALL_DIR)/share/doc/lapi/html/; }
	install -D -m 644 packaging/valgrind.supp $(INSTALL_DIR)/share/lapi/valgrind.supp
	[ -n "$(M32)" ] || { install -D -m 644 packaging/cmake/lapiConfig.cmake \
	  $(INSTALL_DIR)/$(LIBDIR)/cmake/lapi/lapiConfig.cmake && \
	  $(FILLED) packaging/cmake/lapiConfigVersion.cmake.in > $(INSTALL_DIR)/$(LIBDIR)/cmake/lapi/lapiConfigVersion.cmake && \
	  install -D -m 644 packaging/completion/lapirun $(INSTALL_DIR)/share/bash-completion/completions/lapirun && \
	  ln -sf lapirun $(INSTALL_DIR)/share/bash-completion/completions/poe && \
	  install -d $(MODULES) && $(FILLED) packaging/modules/lapi.lua > $(MODULES)/$(VERSION).lua && \
	  $(FILLED) packaging/modules/lapi.tcl > $(MODULES)/$(VERSION); }
	scripts/catalogues.sh $(INSTALL_DIR)/share/locale
	[ -n "$(M32)" ] && [ -e $(INSTALL_DIR)/bin/lapirun ] || \
	  install -m 755 $(RUN) $(TRACE) $(INFO) $(PERF) $(INSTALL_DIR)/bin/
	ln -sf lapirun $(INSTALL_DIR)/bin/poe
	ln -sf lapirun $(INSTALL_DIR)/bin/lapi_dump
	install -m 755 drivers/lapi-compiler $(INSTALL_DIR)/bin/$(firstword $(DRIVERS))
	for driver in $(wordlist 2,99,$(DRIVERS)); do \
	  ln -sf $(firstword $(DRIVERS)) $(INSTALL_DIR)/bin/$$driver && \
	  echo .so man1/$(firstword $(DRIVERS)).1 | \
	  install -m 644 /dev/stdin $(INSTALL_DIR)/share/man/man1/$$driver.1 || exit 1; done
	[ -n "$(M32)" ] || { install -m 755 $(DAPL) $(INSTALL_DIR)/$(LIBDIR)/ && \
	  for file in $(DAT_HEADERS); do \
	  install -D -m 644 $$file $(INSTALL_DIR)/$$file || exit 1; done; \
	  for name in libdat2.so.2 libdat2.so libdat.so; do \
	  ln -sf liblapi_r.so.1 $(INSTALL_DIR)/$(LIBDIR)/$$name || exit 1; done; \
	  sed -e 's/^Name: .*/Name: dat/' -e 's/^Description: .*/Description: uDAPL 2.0, the Direct Access Programming Library/' \
	  -e 's/-llapi_r/-ldat2/' $(BUILD)/lib/pkgconfig/lapi.pc > $(INSTALL_DIR)/$(LIBDIR)/pkgconfig/dat.pc; }

uninstall:
	rm -rf $(INSTALL_DIR)/include/dat2 $(INSTALL_DIR)/include/dat $(INSTALL_DIR)/$(LIBDIR)/lapi \
	  $(INSTALL_DIR)/$(LIBDIR)/cmake/lapi $(INSTALL_DIR)/share/lapi/modulefiles $(INSTALL_DIR)/share/doc/lapi
	rm -f $(addprefix $(INSTALL_DIR)/share/bash-completion/completions/,lapirun poe)
	rm -f $(DESTDIR)$(BTL_DIR)/mca_btl_lapi.so
	rm -f $(addprefix $(INSTALL_DIR)/$(LIBDIR)/,libdat2.so.2 libdat2.so libdat.so \
	  libdapllapi.so.2 pkgconfig/dat.pc)
	rm -f $(MAN_PAGES:%=$(INSTALL_DIR)/share/%) $(DRIVERS:%=$(INSTALL_DIR)/share/man/man1/%.1) \
	  $(LOCALES:%=$(INSTALL_DIR)/share/locale/%/LC_MESSAGES/liblapi_r.cat)
	rm -f $(addprefix $(INSTALL_DIR)/, \
	  $(foreach l,lib lib32,$l/liblapi_r.so.1 $l/liblapi_r.so $l/liblapi.so $l/pkgconfig/lapi.pc) \
	  include/lapi.h include/lapi_link.h include/css_shared.h include/lapif.h include64/lapif.h include32/lapif.h \
	  bin/lapirun bin/poe bin/lapi_dump bin/lapitrace bin/lapi_info bin/lapi_perf $(DRIVERS:%=bin/%))
	rm -f $(SAMPLES:%=$(SAMPLES_DIR)/%) $(INSTALL_DIR)/share/lapi/valgrind.supp
	[ ! -d $(INSTALL_DIR)/share/lapi ] || find $(INSTALL_DIR)/share/lapi -type d -empty -delete

# Stages (--) one after the other; in a stage, lanes (+) side by side, of about the same length, of
# which the later ones mostly wait. Of the last stage one lane looks whether anything is left in the
# node's shared memory, and so the other runs no jobs. `go-test` runs with the race detector, which 386
# has none of.
TEST_TARGETS ?= build abi headers conform-build -- \
  go-test cshim-test dat-test mpi-test + \
  coll-nodes-test dat-hosts-test dat-ofed-test verbs-short-test conform-lane conform-routes \
  conform-gso samples install-test trace-test perf-test test-dat conform man-test m32-test fortran-test \
  rig-test rig-lapi rig-dat rig-sweep rig-statuses rig-faults-short rig-coll rig-matrix rig-scale link-test + \
  launch-test storm-test net-test -- \
  host-test kill-test kernel-test hostile-test + \
  vet model dist-test sim dat-headers-test machines-test arm64-test pages-test
test:
	@scripts/test.sh $(TEST_TARGETS)

# `make test` is a selection, which repeats less; `make test-whole`, or WHOLE=1 with any of its
# suites, runs all (docs/dev/testing.md).
.PHONY: test-whole
test-whole:
	@$(MAKE) WHOLE=1 test
ifdef WHOLE
  export WHOLE
endif

# The simulator's seeds take ten times as long with the race detector: `sim` runs all.
RACE_SEEDS ?= $(if $(WHOLE),20,5)
TESTED     := ./capi ./cmd/... ./core/... ./descriptor ./transport/... ./cshim/ibv/... \
  ./tests/bench/... ./tests/mutants/... ./tests/dialect ./tests/docs ./tests/shared
# Packages in which something runs at the same time: the race detector finds nothing in the others,
# and makes them take up to ten times as long. WHOLE=1: all packages have it.
RACED = $(if $(M32),,$(if $(WHOLE),$(TESTED),$(shell scripts/raced.sh)))
UNRACED = $(filter-out $(if $(RACED),$(shell $(GO) list $(RACED))),$(shell $(GO) list $(TESTED)))
go-test:
	@export SIM_SEEDS=$(RACE_SEEDS) status=0; set -x; \
	[ -z "$(RACED)" ] || $(GO) test -race -shuffle=on -timeout 15m $(RACED) || status=1; \
	[ -z "$(UNRACED)" ] || $(GO) test -shuffle=on -timeout 15m $(UNRACED) || status=1; \
	exit $$status

# A 32-bit build, its headers and symbols, a part of the conformance suite, and jobs of 32- and
# 64-bit tasks. All of it: make M32=1 conform host-test kill-test samples abi.
m32-test: conform-build
	@scripts/setup.sh gcc-m32=gcc-multilib g++-m32=g++-multilib gfortran=gfortran \
	  gfortran-m32=gfortran-multilib
	@tests/c/m32-test

# staticcheck is a tool of a module of its own, so that the library's go.mod names nothing that it
# does not contain.
STATICCHECK := build/tools/staticcheck
$(STATICCHECK): tools/go.mod tools/go.sum
	@mkdir -p $(@D)
	$(GO) build -C tools -o $(CURDIR)/$@ honnef.co/go/tools/cmd/staticcheck

vet: $(STATICCHECK) $(addprefix $(BUILD)/dat/,pointers_gen.h sweep_calls.h sweep_documents.h)
	$(GO) vet ./...
	$(STATICCHECK) ./...
	@scripts/analyze.sh
	@$(GO) run ./tests/dialect
	@$(GO) run ./tests/shared
	@unformatted=$$(gofmt -l capi cmd core cshim descriptor tests transport); \
	  [ -z "$$unformatted" ] || { echo "run gofmt -w on:" $$unformatted; exit 1; }

# Lowers the counts of phrases that `make vet` lets pass, after some were written anew.
.PHONY: dialect
dialect:
	$(GO) run ./tests/dialect -lower

# By every compiler there is: scripts/compilers.sh. On demand.
.PHONY: compilers-test
compilers-test:
	@scripts/compilers.sh $(COMPILERS)

# With musl in place of glibc: scripts/musl.sh. On demand.
.PHONY: musl-test
musl-test:
	@scripts/musl.sh

race:
	SIM_SEEDS=$(RACE_SEEDS) $(GO) test -race -shuffle=on -count=5 -timeout 60m $(TESTED)

# Every decoder that takes bytes from outside has a fuzz target; `make test` runs their seeds and
# finds, this looks for more.
FUZZTIME    ?= 10m
FUZZWORKERS ?= 1
fuzz:
	@GO='$(GO)' FUZZTIME=$(FUZZTIME) FUZZWORKERS=$(FUZZWORKERS) scripts/fuzz.sh

clean:
	rm -rf $(BUILD)

-include tests/c/abi/abi.mk
-include cshim/ctest/ctest.mk
-include cshim/model/model.mk
-include transport/simnet/sim.mk
-include tests/c/conform/conform.mk
-include tests/c/link/link.mk
-include btl/btl.mk
-include tests/c/samples/samples.mk
-include tests/bench/bench.mk
-include tests/mutants/mutants.mk
-include tests/c/trace/trace.mk
-include tests/c/perf/perf.mk
-include tests/verbs/verbs.mk
-include tests/qemu/qemu.mk
-include tests/c/hostile/hostile.mk
-include tests/net/net.mk
-include tests/launch/launch.mk
-include tests/storm/storm.mk
-include tests/fortran/fortran.mk
-include tests/man.mk
-include tests/dat.mk
-include docs/user/book.mk
-include packaging/package.mk
