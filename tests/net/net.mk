# Tests and measurements over networks that they make themselves (docs/network.md). Included by the
# top Makefile.
#
#   make net-test         jobs over several nodes; NET_FLAGS="-test.run Outage -test.v" narrows it
#   make bench-net        what several links are worth, and how long a failover takes

NET_BUILD := $(BUILD)/net

.PHONY: net-test net-build bench-net

$(NET_BUILD)/%: tests/net/programs/%.c $(LIB)
	@mkdir -p $(NET_BUILD)
	$(CC) $(CONFORM_CFLAGS) -Iinclude $< $(CONFORM_LINK) -o $@

NET_PROGRAMS := $(NET_BUILD)/steady $(NET_BUILD)/stream
net-build: conform-build $(NET_PROGRAMS)

net-test: net-build
	@scripts/setup.sh ip=iproute2 tc=iproute2 iptables=iptables
	$(GO) test -c -o $(NET_BUILD)/tests ./tests/net
	$(NET_BUILD)/tests -test.timeout 10m -build $(CURDIR)/$(BUILD) $(NET_FLAGS)

bench-net: net-build
	@scripts/setup.sh ip=iproute2 tc=iproute2
	$(GO) build -o $(NET_BUILD)/bench ./tests/net/bench
	$(NET_BUILD)/bench -build $(CURDIR)/$(BUILD) $(NET_FLAGS)
