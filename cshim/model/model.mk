# The memory order of the context lock, of the fast lane and of the node barrier, and who of several
# waiting threads does what, in Promela, and the defects that the checker must find. Without spin
# (Debian: spin) they are skipped, and counted so.
# `make model-full` has larger ones as well.
.PHONY: model model-full model-lock model-lane model-wait
model: model-lock model-lane model-wait
model-lock model-lane model-wait: model-%:
	@scripts/setup.sh spin=spin
	@FULL=$(FULL) cshim/model/check-$*
model-full:
	@$(MAKE) FULL=1 model
