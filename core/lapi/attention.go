package lapi

import (
	"fmt"

	"lapi/core/lapi/codes"
	"lapi/core/wireup"
)

// Version is the library's version, the Makefile's VERSION.
const Version = "0.1.0"

// Levels of MP_INFOLEVEL at which attention messages appear: what failed, and what is only worth knowing.
const (
	levelFailure = wireup.LevelFailure
	levelInform  = wireup.LevelInform
)

// attention prints the message of an attention code (guide, Table 33) with what is particular to this case, if MP_INFOLEVEL
// is at least level.
func (c *Context) attention(level int, code codes.Code, format string, args ...any) {
	text, _ := codes.String(int(code))
	c.host.Message(level, fmt.Sprintf("task %d: %d: %s ", c.me, code, text)+fmt.Sprintf(format, args...))
}

// say prints what LAPI_Init has to say.
func (c *Context) say(level int, format string, args ...any) {
	c.host.Message(level, fmt.Sprintf("task %d: LAPI_Init: ", c.me)+fmt.Sprintf(format, args...))
}
