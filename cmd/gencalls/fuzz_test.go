package main

import "testing"

// FuzzTable: a table is refused with the number of a line, or every record of it is whole.
func FuzzTable(f *testing.F) {
	f.Add("Init init exported\n\tint (lapi_handle_t *hndl, lapi_info_t *info)\n")
	f.Add("# nothing\n int (x)\n")
	f.Add("A data exported\n \tb\nA data exported\n b\n")
	f.Fuzz(func(t *testing.T, text string) {
		calls, err := parseTable(text)
		if err != nil {
			if c := err.Error()[0]; c < '0' || c > '9' {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		for _, c := range calls {
			if c.name == "" || c.prototype == "" || !groups[c.group] || c.line < 1 {
				t.Errorf("%q gives %+v", text, c)
			}
		}
	})
}
