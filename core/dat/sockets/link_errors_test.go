package sockets

import (
	"os"
	"path/filepath"
	"testing"

	"lapi/core/dat"
)

// TestLinkErrors: the kernel's counts come to the places that the header names.
func TestLinkErrors(t *testing.T) {
	dir := t.TempDir()
	statistics := filepath.Join(dir, "eth0", "statistics")
	if err := os.MkdirAll(statistics, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, ok := linkErrorsIn(dir, "eth0"); ok {
		t.Error("counts without files")
	}
	for name, n := range map[string]string{"rx_errors": "1\n", "tx_dropped": "2\n",
		"rx_crc_errors": "4\n", "rx_frame_errors": "8\n", "rx_over_errors": "16\n",
		"rx_fifo_errors": "32\n"} {
		if err := os.WriteFile(filepath.Join(statistics, name), []byte(n), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if e, ok := linkErrorsIn(dir, "eth0"); !ok || e != (dat.LinkErrors{1, 0, 0, 2, 0, 12, 48}) {
		t.Errorf("%v %v", e, ok)
	}
}
