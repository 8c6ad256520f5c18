package main

import (
	"slices"

	"lapi/core/settings"
)

// poeAlone says whether an option is POE's and not lapirun's. They are taken out of what the program
// gets, as POE does.
func poeAlone(name string) bool { return slices.Contains(settings.POEOptions(), name) }
