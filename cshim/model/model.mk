# The memory order of the fast lane in Promela, and the defects that the checker must find; skips without spin (Debian: spin).
.PHONY: model model-lane
model: model-lane
model-lane:
	@cshim/model/check-lane
