package progress

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"lapi/descriptor"
	"lapi/invariant"
	"lapi/transport/layout"
)

// verified is what Verify has panicked with, or "".
func verified(b *Block) (cause string) {
	defer func() {
		if c, ok := recover().(invariant.Cause); ok {
			cause = string(c)
		}
	}()
	b.Verify()
	return ""
}

// TestVerifyNoticesOtherFile: the program closes all, and a file of its own gets the number.
func TestVerifyNoticesOtherFile(t *testing.T) {
	for _, taken := range []bool{false, true} {
		words, due := &layout.Progress{}, uint32(0)
		b := NewBlock(words, &due)
		var ends [2]int
		if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
		defer unix.Close(ends[1])
		if err := b.Open(1, 1, []int{ends[0]}); err != nil {
			t.Fatal(err)
		}
		b.Keep(ends[:1])
		if cause := verified(&b); cause != "" {
			t.Errorf("before: %q", cause)
		}
		file, err := os.CreateTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		bell := int(words.Descriptors[0])
		unix.Close(bell)
		if taken {
			if err := unix.Dup3(int(file.Fd()), bell, unix.O_CLOEXEC); err != nil {
				t.Fatal(err)
			}
		}
		if cause := verified(&b); !strings.Contains(cause, "has closed descriptor ") {
			t.Errorf("after: %q", cause)
		}
		words.Poller = 1
		b.Kick()
		b.Close()
		if taken && descriptor.FileOf(bell) != descriptor.FileOf(int(file.Fd())) {
			t.Error("the program's file is closed")
		}
		if s, err := file.Stat(); err != nil || s.Size() != 0 {
			t.Errorf("the program's file is written to: %v, %v", s, err)
		}
		if taken {
			unix.Close(bell)
		}
		unix.Close(ends[0])
	}
}
