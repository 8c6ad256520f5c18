// Package version knows the version of the library and its commands: the file VERSION beside it, from
// which the Makefile and the packages take it, too.
package version

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed VERSION
var release string

// commit is "+g" and the commit's name in a build from a checkout that is no release, set by the
// Makefile (-ldflags -X).
var commit string

// String is the version, such as 0.2.0, or 0.2.0+g1a2b3c4d of a build between releases.
func String() string { return strings.TrimSpace(release) + commit }

// Line is what a command answers to --version.
func Line(command string) string { return fmt.Sprintf("%s (LAPI for Linux) %s\n", command, String()) }
