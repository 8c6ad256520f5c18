package job

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"
)

// The key's page is in no core dump and no child of fork, and gone when the key is forgotten.
func TestKeyMemory(t *testing.T) {
	name := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(name, make([]byte, 100), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := FromEnv(good("LAPI_JOB_KEY_FILE="+name), nil)
	if err != nil {
		t.Fatal(err)
	}
	key, _, err := c.Key()
	if err != nil {
		t.Fatal(err)
	}
	at := uintptr(unsafe.Pointer(&key[0]))
	// the flags of the mapping with the key; its neighbours may be keys too
	smaps := func() string {
		b, err := os.ReadFile("/proc/self/smaps")
		if err != nil {
			t.Skip(err)
		}
		inside := false
		for line := range strings.Lines(string(b)) {
			var start, end uintptr
			if n, _ := fmt.Sscanf(line, "%x-%x ", &start, &end); n == 2 {
				inside = start <= at && at < end
			}
			if flags, ok := strings.CutPrefix(line, "VmFlags:"); ok && inside {
				return strings.TrimSuffix(flags, "\n") + " "
			}
		}
		return ""
	}
	if flags := smaps(); !strings.Contains(flags, " dd ") || !strings.Contains(flags, " wf ") {
		t.Errorf("flags%s", flags)
	}
	c.ForgetKey()
	if flags := smaps(); strings.Contains(flags, " dd ") {
		t.Errorf("the key's page is still there:%s", flags)
	}
	if again, ok, err := c.Key(); err != nil || !ok || len(again) != KeySize {
		t.Errorf("once more: %d bytes, %v, %v", len(again), ok, err)
	}
}
