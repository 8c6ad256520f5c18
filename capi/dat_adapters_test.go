package main

import "testing"

// TestDebugOfUDAPL: failures of adapters are printed at MP_INFOLEVEL 1, or by DAPL_DBG_TYPE.
func TestDebugOfUDAPL(t *testing.T) {
	for _, c := range []struct {
		level, types string
		prints       bool
	}{{"", "", false}, {"0", "", false}, {"1", "", true}, {"", "0x80", true}, {"0", "1", true},
		{"", "0x8", false}, {"", "all", false}} {
		env := map[string]string{"MP_INFOLEVEL": c.level, "DAPL_DBG_TYPE": c.types}
		debug := datDebug(func(name string) (string, bool) { return env[name], env[name] != "" })
		if (debug != nil) != c.prints {
			t.Errorf("MP_INFOLEVEL=%s DAPL_DBG_TYPE=%s: %v", c.level, c.types, debug != nil)
		}
	}
}
