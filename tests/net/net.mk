# Tests and measurements over networks that they make themselves (docs/network.md). Included by the
# top Makefile.
#
#   make net-test         jobs over several nodes; NET_FLAGS="-test.run Outage -test.v" narrows it
#   make bench-net        what several links are worth, and how long a failover takes
#   make soak SECONDS=n   a job over a network that loses 2 % and fails every 15 s; resident memory
#                         stays flat. An hour by default; SOAK_FLAGS="-loss 0.1" and others

NET_BUILD := $(BUILD)/net

.PHONY: net-test net-build bench-net soak

$(NET_BUILD)/%: tests/net/programs/%.c $(LIB)
	@mkdir -p $(NET_BUILD)
	$(CC) $(CONFORM_CFLAGS) -Iinclude $< $(CONFORM_LINK) -o $@

NET_PROGRAMS := $(NET_BUILD)/steady $(NET_BUILD)/stream $(NET_BUILD)/soak
net-build: conform-build $(NET_PROGRAMS)

net-test: net-build
	@scripts/setup.sh ip=iproute2 tc=iproute2 iptables=iptables
	$(GO) test -c -o $(NET_BUILD)/tests ./tests/net
	$(NET_BUILD)/tests -test.timeout 10m -build $(CURDIR)/$(BUILD) $(NET_FLAGS)

bench-net: net-build
	@scripts/setup.sh ip=iproute2 tc=iproute2
	$(GO) build -o $(NET_BUILD)/bench ./tests/net/bench
	$(NET_BUILD)/bench -build $(CURDIR)/$(BUILD) $(NET_FLAGS)

soak: net-build
	@scripts/setup.sh ip=iproute2 tc=iproute2 iptables=iptables
	$(GO) build -o $(NET_BUILD)/soak-run ./tests/net/soak
	$(NET_BUILD)/soak-run -build $(CURDIR)/$(BUILD) -seconds $(or $(SECONDS),3600) $(SOAK_FLAGS)
