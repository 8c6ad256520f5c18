# Included by the top Makefile.
#
# samples builds every sample and runs it with 2 and 4 tasks over shared memory and UDP/IP; see
# tests/c/samples/README.md demo installs what is missing, builds, and shows samples at work
# install-test `make install` into a scratch folder, and programs built against that copy

samples: all
	BUILD=$(BUILD) tests/c/samples/run-samples

demo:
	tests/c/samples/demo.sh

install-test: all
	tests/c/install-test

.PHONY: samples demo install-test
