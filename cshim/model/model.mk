# The memory order of the context lock and of the fast lane in Promela, and the defects that the
# checker must find; skips without spin (Debian: spin).
.PHONY: model model-lock model-lane
model: model-lock model-lane
model-lock model-lane: model-%:
	@cshim/model/check-$*
