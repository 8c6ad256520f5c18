# make sim SEEDS=n [FIRST=s]    n seeds (80 if not said, 200 with WHOLE=1) from s (1) on, on all processors
# make sim SEED=s [LOG=file]    one seed alone, with its packet log
# docs/dev/simulator.md says what a seed is.
.PHONY: sim
SEEDS ?= $(if $(WHOLE),200,80)
SIM_PACKAGES ?= ./transport/simnet ./core/lapi ./core/dat/rc/model
sim:
	@status=0; for package in $(SIM_PACKAGES); do \
	  export SIM_SEEDS=$(SEEDS) SIM_FIRST=$(FIRST) SIM_SEED=$(SEED) SIM_LOG=$(if $(LOG),$(abspath $(LOG)).$$(basename $$package)); \
	  $(GO) test -count=1 -timeout 24h -run '^TestSimulation$$' -v $$package || status=1; done; \
	$(if $(WHOLE),$(if $(M32),,SIM_SEEDS=40 $(GO) test -asan -count=1 ./core/dat/rc/model || status=1;)) \
	$(GO) test -count=1 -run '^(TestShares|TestTransitions|TestPeerGone|TestOperations)$$' \
	  ./transport/udp ./core/dat ./core/dat/coll || status=1; exit $$status
