package codes

import (
	"strings"

	"golang.org/x/sys/unix"
)

// String returns the message for a LAPI code or an errno value; known is false, and text empty, for
// any other number. A text is ASCII on one line and has at most 99 bytes, so that with its NUL it
// fits the buffer of the guide's examples.
func String(code int) (text string, known bool) {
	if e, ok := lookup(code); ok {
		return e.text, true
	}
	e := unix.Errno(uintptr(code))
	text = e.Error() // the C library's, but for the first letter
	if e == unix.EHWPOISON {
		text = "memory page has hardware error" // Go has no text for it
	}
	if strings.HasPrefix(text, "errno ") {
		return "", false
	}
	return strings.ToUpper(text[:1]) + text[1:], true
}

// Name returns the C name of a LAPI code, such as "LAPI_ERR_TGT", and "" for a number that is no
// LAPI code.
func Name(code Code) string {
	e, _ := lookup(int(code))
	return e.name
}

// lookup returns the entry of a LAPI code.
func lookup(code int) (entry, bool) {
	switch {
	case code == int(Success):
		return success, true
	case code >= int(First) && code <= int(Last):
		return entries[code-int(First)], true
	}
	return entry{}, false
}
