# The user's book as HTML, in build/html. Included by the top Makefile.

.PHONY: html
BOOK := $(wildcard docs/user/*.md)
HTML := $(patsubst docs/user/%.md,$(BUILD)/html/%.html,$(filter-out docs/user/README.md,$(BOOK))) $(BUILD)/html/index.html
html: $(HTML)
	@echo $(BUILD)/html/index.html

# Links between the pages name their sources.
define PAGE
@command -v pandoc > /dev/null || scripts/setup.sh pandoc=pandoc
@mkdir -p $(@D)
sed -e 's/README\.md\([)#]\)/index.html\1/g' -e 's/\([a-z-]*\)\.md\([)#]\)/\1.html\2/g' $< | \
  pandoc -f gfm -t html5 -s --metadata title="$$(sed -n 's/^# //p;T;q' $<)" -V title= -H docs/user/head.html -o $@
endef
$(BUILD)/html/index.html: docs/user/README.md docs/user/head.html
	$(PAGE)
$(BUILD)/html/%.html: docs/user/%.md docs/user/head.html
	$(PAGE)
