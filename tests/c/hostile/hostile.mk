# hostile-test: jobs under attack, and where their secrets are. hostile-bench: what an attack costs.
# Included by the top Makefile. As root the attacker also forges source addresses and becomes
# another user; else those tests are skipped, and counted.

.PHONY: hostile-test hostile-bench
hostile-test: all $(BUILD)/hostile/traffic
	$(GO) vet ./tests/hostile
	@BUILD=$(CURDIR)/$(BUILD) $(GO) test -v -count=1 -timeout 10m ./tests/hostile | awk '!/^=== /; /^ *--- PASS/ { p++ } /^ *--- FAIL/ { f++ } /^ *--- SKIP/ { s++ } \
	  /^FAIL/ { bad = 1 } END { printf "%d passed, %d failed, %d skipped\n", p, f, s; exit bad || !p }'

# HOSTILE_PREFIX="chrt -f 5" keeps other programs of the machine away from the tasks; the attacker
# then needs a priority above theirs.
hostile-bench: all $(BUILD)/hostile/traffic
	$(GO) test -c -o $(BUILD)/hostile/bench ./tests/hostile
	BUILD=$(CURDIR)/$(BUILD) $(if $(HOSTILE_PREFIX),chrt -f 6) $(BUILD)/hostile/bench -test.run '^$$' -test.bench . -test.benchtime 1x

$(BUILD)/hostile/traffic: tests/c/hostile/traffic.c include/lapi.h $(LIB)
	@mkdir -p $(@D)
	$(CC) -O2 -g -std=gnu11 -Wall -Wextra -Werror -Iinclude $< -L$(BUILD)/lib -llapi_r -Wl,-rpath,'$$ORIGIN/../lib' -o $@
