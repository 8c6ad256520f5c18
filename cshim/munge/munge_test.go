package munge

import (
	"bytes"
	"strings"
	"testing"
)

// TestNoLibrary: where there is no libmunge, or it is something else, both calls say so.
func TestNoLibrary(t *testing.T) {
	for library, says := range map[string]string{"libmunge-of-nowhere.so": "libmunge-of-nowhere.so",
		"libc.so.6": "munge_encode"} {
		c := &Client{library}
		if _, err := c.Seal([]byte("a secret")); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("Seal with %s: %v", library, err)
		}
		if err := c.Open([]byte("MUNGE:"), nil); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("Open with %s: %v", library, err)
		}
	}
}

// TestSeal: with a daemon what is sealed opens again, more than once, and nothing else does. `make
// launch-test` has a daemon.
func TestSeal(t *testing.T) {
	c := New()
	secret := []byte("a secret of some bytes")
	sealed, err := c.Seal(secret)
	if err != nil {
		t.Skip(err)
	}
	if bytes.Contains(sealed, secret) {
		t.Errorf("%q", sealed)
	}
	for range 2 {
		got := make([]byte, len(secret))
		if err := c.Open(sealed, got); err != nil || !bytes.Equal(got, secret) {
			t.Errorf("%q, %v", got, err)
		}
	}
	if c.Open(sealed, make([]byte, len(secret)-1)) == nil {
		t.Error("another length")
	}
	sealed[len(sealed)/2] ^= 1
	if c.Open(sealed, make([]byte, len(secret))) == nil {
		t.Error("a credential that was changed")
	}
}
