# make abi: compares the facts built into compiled programs, and the library's symbols, with goldens.
# make headers: the public headers compile alone and quietly in every dialect.
# make abi-update: rewrites this machine's golden; look at the difference before you commit it.
# symbols.golden comes from cmd/gencalls.

ABI         := tests/c/abi
ABI_MACHINE := $(if $(M32),i386,$(shell $(CC) -dumpmachine | cut -d- -f1))
ABI_GOLDEN  := $(ABI)/$(ABI_MACHINE).golden
ABI_SOURCES := $(addprefix $(ABI)/,main.c types.c layout.c values.c codes.c)

.PHONY: abi abi-types abi-symbols abi-packages abi-glibc abi-update headers
abi: abi-types abi-symbols abi-packages abi-glibc

$(BUILD)/abi/print: $(ABI_SOURCES) $(ABI)/abi.h include/lapi.h include/css_shared.h
	@mkdir -p $(@D)
	$(CC) -std=c11 -Wall -Wextra -Werror -Iinclude $(ABI_SOURCES) -o $@

abi-types: $(BUILD)/abi/print
	@test -s $(ABI_GOLDEN) || { echo 'abi: no golden for $(ABI_MACHINE): make abi-update, check it, commit it'; exit 1; }
	@$(BUILD)/abi/print > $(BUILD)/abi/types.txt
	@diff -u $(ABI_GOLDEN) $(BUILD)/abi/types.txt || { echo 'abi: the headers differ from $(ABI_GOLDEN)'; exit 1; }
	@echo "abi: $$(wc -l < $(BUILD)/abi/types.txt) facts of the headers as in $(ABI_GOLDEN)"

abi-symbols: $(LIB)
	@mkdir -p $(BUILD)/abi
	@nm -D --defined-only $(LIB) > $(BUILD)/abi/nm.txt
	@sed -e 's/^[0-9a-f]* *//' -e '/^[Aa-z] /d' -e 's/@.*//' $(BUILD)/abi/nm.txt | LC_ALL=C sort -k 2 > $(BUILD)/abi/symbols.txt
	@diff -u $(ABI)/symbols.golden $(BUILD)/abi/symbols.txt || { echo 'abi: $(LIB) exports other symbols than the table says'; exit 1; }
	@echo "abi: $$(wc -l < $(BUILD)/abi/symbols.txt) symbols of $(LIB) as in $(ABI)/symbols.golden"

# Debian's packages promise the same symbols; without this, only `make deb` would notice a new one.
abi-packages:
	@mkdir -p $(BUILD)/abi
	@cut -d' ' -f2 $(ABI)/symbols.golden | LC_ALL=C sort > $(BUILD)/abi/golden.txt
	@sed -e '1,/^liblapi_r/d' -e '/^ \(.*\)@\1 /d' -e 's/^ //' -e 's/@.*//' \
	  debian/liblapi1.symbols | LC_ALL=C sort > $(BUILD)/abi/debian.txt
	@diff -u $(BUILD)/abi/golden.txt $(BUILD)/abi/debian.txt || \
	  { echo 'abi: debian/liblapi1.symbols differs from $(ABI)/symbols.golden'; exit 1; }
	@echo "abi: debian/liblapi1.symbols as $(ABI)/symbols.golden"

# The library runs with the C library of RHEL 9 and Debian 12: it asks for no newer symbol.
GLIBC_LEAST := 2.34
abi-glibc: $(LIB) $(DAPL)
	@newest=$$(LC_ALL=C $(or $(READELF),readelf) -V $^ | grep -oE 'GLIBC_[0-9.]+' | sort -Vu | tail -n 1); \
	[ -n "$$newest" ] && printf '%s\n' "$$newest" GLIBC_$(GLIBC_LEAST) | sort -CV || \
	  { echo "abi: $^ ask for $$newest, newer than GLIBC_$(GLIBC_LEAST)"; exit 1; }; \
	echo "abi: the newest symbol of the C library asked for is of $$newest"

abi-update: $(BUILD)/abi/print
	$(BUILD)/abi/print > $(ABI_GOLDEN)

headers:
	@sh $(ABI)/headers.sh
