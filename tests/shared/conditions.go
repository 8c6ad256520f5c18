package main

import (
	"os"
	"regexp"
	"strings"
)

var (
	condition = regexp.MustCompile(`^\s*#\s*(?:if|ifdef|ifndef|elif)\b.*\b(__x86_64__|__i386__|__aarch64__|__arm__|__powerpc\w*|__PPC\w*|__riscv\w*|__s390\w*|__SSE\w*|__AVX\w*|__ARM\w*|__ALTIVEC__|__VSX__)`)
	// These may know the processor.
	mayKnow = []string{"cshim/cpu/", "cshim/node/guard"}
)

// lookAtConditions finds lines of the preprocessor that ask for an architecture.
func lookAtConditions(wordSet) ([]finding, int, error) {
	var found []finding
	files, err := sources("cshim", ".c", ".h")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, 0, err
		}
		known := false
		for _, k := range mayKnow {
			known = known || strings.HasPrefix(file, k)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if m := condition.FindStringSubmatch(line); m != nil && !known {
				found = append(found, finding{file, i + 1, m[1] + " is asked for here; cshim/cpu may"})
			}
		}
	}
	return found, 0, err
}
