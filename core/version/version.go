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

// Mark stands before the version in each binary, and a colon after it, so that lapi_info finds it in
// the file.
const Mark = "lapi-version:"

// ident is Mark, the version, and a colon. The Makefile sets it (-ldflags -X), in a build from a
// checkout that is no release with "+g" and the commit's name; it is empty in a build without make.
var ident string

// String is the version, such as 0.2.0, or 0.2.0+g1a2b3c4d of a build between releases.
func String() string {
	if ident == "" {
		return strings.TrimSpace(release)
	}
	return strings.TrimSuffix(strings.TrimPrefix(ident, Mark), ":")
}

// Line is what a command answers to --version.
func Line(command string) string { return fmt.Sprintf("%s (LAPI for Linux) %s\n", command, String()) }
