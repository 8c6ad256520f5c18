package settings

import (
	"fmt"
	"slices"
	"strings"
)

// CheckVariable switches the search for unknown names off: no.
const CheckVariable = "LAPI_CHECK_SETTINGS"

// foreign are names that begin as this library's and are others': of makefiles and module files, of
// the launcher's own way to its tasks, and of POE, whose settings mean nothing here.
var foreign = append([]string{"LAPI_HOME", "LAPI_ROOT", "LAPI_DIR", "LAPI_PREFIX", "LAPI_PATH",
	"LAPI_BIN", "LAPI_CC", "LAPI_VERSION", "LAPI_CFLAGS", "LAPI_CPPFLAGS", "LAPI_FFLAGS", "LAPI_LDFLAGS",
	"LAPI_LAUNCHER_FD", "LAPI_LAUNCHER_JOB", "LAPI_LAUNCHER_HOSTS"}, poe()...)

// foreignBeginnings are the same for whole families.
var foreignBeginnings = []string{"LAPI_INC", "LAPI_LIB", "LAPI_TEST_", "LAPI_INJECT"}

// POEOptions are options of POE, each with a value, that mean nothing here: they concern its resource
// manager, MPI, the switch, dumps, traces and its own traffic. Its variables are MP_ and the same name.
func POEOptions() []string { return poeOptions }

var poeOptions = []string{
	"adapter_use", "buffer_mem", "bulk_xfer_chunk_size", "bulk_xfer_recv_conn", "cc_scratch_buf",
	"clock_source", "coredir", "corefile_format", "corefile_sigterm", "cpu_use", "css_interrupt",
	"eager_limit", "euidevelop", "euilibpath", "hints_filtered", "intrdelay", "io_buffer_size",
	"io_errlog", "ionodefile", "llfile", "max_typedepth", "msg_envelope_buf", "newjob",
	"pmd_version", "pmdlog", "pmlights", "printenv", "priority_log", "priority_ntp", "pulse",
	"rdma_count", "resd", "retry", "retrycount", "rmpool", "samplefreq", "save_llfile",
	"savehostfile", "sfreq", "shared_memory", "single_thread", "spname", "statistics",
	"task_affinity", "tbsize", "tbuffsize", "tbuffwrap", "tbwrap", "tdir", "tfile",
	"thread_stacksize", "tlevel", "tmpdir", "tracedir", "tracefile", "tracelevel", "ttempsize",
	"ttsize", "use_flow_control", "usrport", "wait_mode",
}

func poe() (names []string) {
	for _, o := range poeOptions {
		names = append(names, "MP_"+strings.ToUpper(o))
	}
	return names
}

// Unknown returns a sentence for each variable of environ (NAME=value) that looks like a setting and
// is none: every LAPI_ name, and MP_ names that are close to one. Other MP_ names are other programs'.
// It returns none where the caller's environment has CheckVariable=no.
func Unknown(environ []string) (sentences []string) {
	var names []string
	for _, e := range environ {
		name, value, _ := strings.Cut(e, "=")
		if name == CheckVariable && value == "no" {
			return nil
		}
		if _, known := Named(name); !known && value != "" && !isForeign(name) &&
			!slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if s, ok := unknown(name); ok {
			sentences = append(sentences, fmt.Sprintf("%s (%s=no turns this check off)", s,
				CheckVariable))
		}
	}
	return sentences
}

func isForeign(name string) bool {
	return slices.Contains(foreign, name) || slices.ContainsFunc(foreignBeginnings,
		func(b string) bool { return strings.HasPrefix(name, b) })
}

// unknown says of a name that is no setting what may be meant.
func unknown(name string) (sentence string, ok bool) {
	near, found := nearest(name)
	switch {
	case found:
		return fmt.Sprintf("%s has no effect: there is no such setting; did you mean %s?", name,
			near), true
	case strings.HasPrefix(name, "LAPI_"):
		return fmt.Sprintf("%s has no effect: there is no such setting; lapi_info lists them all",
			name), true
	}
	return "", false
}

// nearest returns the setting that name is a misspelling of. One with the other prefix counts, too:
// MP_USE_SHM, LAPI_INFOLEVEL.
func nearest(name string) (best string, found bool) {
	prefixes := []string{"MP_LAPI_", "LAPI_", "MP_"}
	bare, ours := "", false
	for _, p := range prefixes {
		if bare, ours = strings.CutPrefix(name, p); ours {
			break
		}
	}
	if !ours {
		return "", false
	}
	names := make([]string, 0, len(table))
	for _, s := range table {
		names = append(names, s.Name)
		for _, p := range prefixes {
			if rest, ok := strings.CutPrefix(s.Name, p); ok && rest == bare {
				return s.Name, true
			}
		}
	}
	return Nearest(name, names)
}

// Nearest returns the one of words that differs from word by the fewest letters, if it is few enough
// for a slip: one of up to five letters, two of up to nine, three of longer ones.
func Nearest(word string, words []string) (best string, found bool) {
	least := 1
	if len(word) > 5 {
		least = 2
	}
	if len(word) > 9 {
		least = 3
	}
	for _, w := range words {
		if d := distance(word, w); d < least || d == least && !found {
			best, least, found = w, d, true
		}
	}
	return best, found
}

// distance counts the letters to change, add, leave out or swap with the next one to turn a into b.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(a)][len(b)]
}
