package codes

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// headerFile is the public header, which numbers the codes for C.
const headerFile = "../../../include/lapi.h"

// header returns the LAPI_ERR_, LAPI_ATT_ and LAPI_WARN_ names that lapi.h defines as numbers:
// today's, and the old ones.
func header(t *testing.T) (today, old map[string]int) {
	text, err := os.ReadFile(headerFile)
	if err != nil {
		t.Fatal(err)
	}
	now, before, found := strings.Cut(string(text), "Names of older releases")
	if !found {
		t.Fatal("lapi.h: no section of old names")
	}
	define := regexp.MustCompile(
		`(?m)^#define (LAPI_(?:SUCCESS|ERR_\w+|ATT_\w+|WARN_\w+|WAIT_\w+)) (\d+)\b`)
	collect := func(text string) map[string]int {
		names := map[string]int{}
		for _, m := range define.FindAllStringSubmatch(text, -1) {
			names[m[1]], _ = strconv.Atoi(m[2])
		}
		return names
	}
	return collect(now), collect(before)
}

func TestNamesAndNumbersAreTheHeaders(t *testing.T) {
	today, old := header(t)
	if len(today) != 1+int(Last-First)+1 {
		t.Errorf("lapi.h defines %d codes, want %d", len(today), 1+int(Last-First)+1)
	}
	for name, number := range today {
		if got := Name(Code(number)); got != name {
			t.Errorf("Name(%d) = %q, lapi.h has %s", number, got, name)
		}
	}
	if len(old) != 41 {
		t.Errorf("lapi.h defines %d old names, want 41", len(old))
	}
	for name, number := range old {
		if Name(Code(number)) == "" {
			t.Errorf("old name %s has number %d, which is no code", name, number)
		}
	}
}

// guideBuffer is the buffer that the guide's error handlers have for a message with its NUL.
const guideBuffer = 100

func TestEveryCodeHasText(t *testing.T) {
	seen := map[string]int{}
	check := func(code int) {
		text, known := String(code)
		if !known || text == "" || len(text)+1 >= guideBuffer || strings.Trim(text, " ") != text {
			t.Errorf("String(%d) = %q, %v", code, text, known)
		}
		for _, r := range text {
			if r < ' ' || r > '~' {
				t.Errorf("String(%d) = %q: not printable ASCII", code, text)
			}
		}
		if other, double := seen[text]; double {
			t.Errorf("codes %d and %d have the same text", other, code)
		}
		seen[text] = code
	}
	check(int(Success))
	for code := int(First); code <= int(Last); code++ {
		check(code)
	}
	for e := 1; e <= 133; e++ {
		if unix.ErrnoName(unix.Errno(e)) != "" {
			check(e)
		}
	}
}

func TestUnknownNumbers(t *testing.T) {
	for _, code := range []int{-1, -400, 134, 399, 512, 1 << 30, -1 << 31} {
		if text, known := String(code); known || text != "" {
			t.Errorf("String(%d) = %q, %v", code, text, known)
		}
		if name := Name(Code(code)); name != "" {
			t.Errorf("Name(%d) = %q", code, name)
		}
	}
}

// TestErrnoTexts: programs read from LAPI_Msg_string what the C library's strerror says.
func TestErrnoTexts(t *testing.T) {
	for e, want := range map[unix.Errno]string{
		unix.EPERM: "Operation not permitted", unix.ENOENT: "No such file or directory",
		unix.EIO: "Input/output error", unix.EAGAIN: "Resource temporarily unavailable",
		unix.ELIBSCN: ".lib section in a.out corrupted", unix.EDOTDOT: "RFS specific error",
		unix.ENOTNAM:      "Not a XENIX named type file",
		unix.ETOOMANYREFS: "Too many references: cannot splice",
		unix.ERFKILL:      "Operation not possible due to RF-kill",
		unix.EHWPOISON:    "Memory page has hardware error",
	} {
		if text, known := String(int(e)); !known || text != want {
			t.Errorf("String(%d) = %q, %v; want %q", e, text, known, want)
		}
	}
	for e := 1; e <= 133; e++ {
		if text, known := String(e); known != (unix.ErrnoName(unix.Errno(e)) != "") {
			t.Errorf("String(%d) = %q, %v", e, text, known)
		}
	}
}
