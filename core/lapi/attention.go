package lapi

import (
	"fmt"

	"lapi/core/lapi/codes"
)

// Version is the library's version, the Makefile's VERSION.
const Version = "0.1.0"

// Levels of MP_INFOLEVEL at which attention messages appear: what failed, and what is only worth knowing.
const (
	levelFailure = 1
	levelInform  = 2
)

// attention prints the message of an attention code (guide, Table 33) with what is particular to this case, if MP_INFOLEVEL
// is at least level.
func (c *Context) attention(level int, code codes.Code, format string, args ...any) {
	text, _ := codes.String(int(code))
	c.host.Message(level, fmt.Sprintf("task %d: %d: %s ", c.me, code, text)+fmt.Sprintf(format, args...))
}
