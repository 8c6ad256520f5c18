// Package hostile attacks running jobs, as an attacker who knows the packet format and all
// addresses but not the job key, and looks for the key where it must not be.
// docs/dev/threat-model.md has the claims; the tests here, run by `make hostile-test` against the
// built library and lapirun, check them.
package hostile
