# trace-test: jobs with tracing from end to end. Included by the top Makefile.

.PHONY: trace-test
trace-test: all $(BUILD)/trace/traced
	-@scripts/setup.sh chromium=chromium
	BUILD=$(BUILD) tests/c/trace/run-trace

$(BUILD)/trace/traced $(BUILD)/trace/overhead: $(BUILD)/trace/%: tests/c/trace/%.c include/lapi.h $(LIB)
	@mkdir -p $(@D)
	$(CC) -O2 -g -std=gnu11 -Wall -Wextra -Werror -Iinclude $< -L$(BUILD)/lib -llapi_r -Wl,-rpath,'$$ORIGIN/../lib' -o $@

# The cost of tracing by level; OLD=FOLDER also measures another library, without tracing, in turn.
.PHONY: trace-bench
trace-bench: all $(BUILD)/trace/overhead
	BUILD=$(BUILD) tests/c/trace/run-overhead $(OLD)
