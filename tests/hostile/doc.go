// Package hostile attacks running jobs, as one who knows the packet format and all addresses but
// not the job key, and looks for the key where it must not be. docs/dev/threat-model.md says what is
// claimed; the tests here, run by `make hostile-test` against the built library and lapirun, hold
// it up.
package hostile
