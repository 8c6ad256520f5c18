# perf-test: the command lapi_perf: options, rows, check of data. Included by the top Makefile.

.PHONY: perf-test
perf-test: all $(BUILD)/perf/libwrong.so
	BUILD=$(BUILD) tests/c/perf/run-perf

$(BUILD)/perf/libwrong.so: tests/c/perf/wrong.c include/lapi.h
	@mkdir -p $(@D)
	$(CC) -O2 -std=gnu11 -Wall -Wextra -Werror -fPIC -shared -Iinclude $< -o $@
