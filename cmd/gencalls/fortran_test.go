package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// goldens are the ABI goldens by word size. That of 32-bit machines is looked at where there is
// one.
var goldens = map[word][]string{64: {"x86_64", "aarch64"}, 32: {"i386", "i686"}}

// goldenLayout returns the lines of a golden, or nothing if there is no such golden.
func goldenLayout(t *testing.T, machine string) string {
	text, err := os.ReadFile(filepath.Join(root, "tests/c/abi", machine+".golden"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(text)
}

// TestTypesHaveTheLayoutOfC holds fortran/types.txt against what the C compiler says: each member,
// each size, and no member aligned but by padding that is written out.
func TestTypesHaveTheLayoutOfC(t *testing.T) {
	s, err := load(root)
	if err != nil {
		t.Fatal(err)
	}
	looked := 0
	for w, machines := range goldens {
		for _, machine := range machines {
			golden := goldenLayout(t, machine)
			if golden == "" {
				continue
			}
			looked++
			for _, st := range s.types {
				checkLayout(t, st, w, s.types, golden)
			}
		}
	}
	if looked == 0 {
		t.Error("no golden")
	}
}

func checkLayout(t *testing.T, st structure, w word, types []structure, golden string) {
	at := 0
	for _, m := range st.membersFor(w) {
		size := m.size(w, types)
		align := min(w.bytesOf(m.bytes), size)
		if m.inner != "" {
			align = int(w) / 8
		}
		if at%align != 0 {
			t.Errorf("%d-bit %s.%s: offset %d is not aligned: padding is missing", w, st.name,
				m.name, at)
		}
		line := fmt.Sprintf("member %s.%s offset %d size %d\n", st.cName, m.name, at, size)
		if st.cName != "" && !m.padding() && !strings.Contains(golden, line) {
			t.Errorf("%d-bit %s: C has no %q", w, st.name, strings.TrimSpace(line))
		}
		at += size
	}
	if line := fmt.Sprintf("type %s size %d ", st.cName, at); st.cName != "" &&
		!strings.Contains(golden, line) {
		t.Errorf("%d-bit %s: C has no %q", w, st.name, line)
	}
}

// inUnions are members of C for which Fortran has another name at the same place, and unions, which
// it does not have.
var inUnions = regexp.MustCompile(
	`^(lapi_xfer_t|lapi_util_t|lapi_cntr_t|lapi_cond_t)\.|\.Tot_(pkt|data)_recv(_cnt)?$|_dgsp_t\.dgsp$|unpack_dgsp_t\.in_buf$|udp_storage\.ip_addr\.`)

func TestTypesAreComplete(t *testing.T) {
	s, err := load(root)
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, st := range s.types {
		for _, m := range st.membersFor(64) {
			have[st.cName+"."+m.name] = true
		}
	}
	n := 0
	for _, m := range regexp.MustCompile(`(?m)^member ((?:struct )?[\w.]+) `).FindAllStringSubmatch(
		read(t, valuesFile), -1) {
		n++
		if !have[m[1]] && !inUnions.MatchString(m[1]) {
			t.Errorf("fortran/types.txt lacks %s", m[1])
		}
	}
	if n < 300 {
		t.Errorf("only %d members in the golden", n)
	}
	kinds := map[string]bool{"UINT": true, "ULONG": true}
	for _, k := range s.kinds {
		kinds[k.name] = true
	}
	for _, m := range regexp.MustCompile(`(?m)^number (\w+) `).FindAllStringSubmatch(read(t,
		valuesFile), -1) {
		if !kinds[strings.ToUpper(m[1])] {
			t.Errorf("fortran/types.txt has no kind for %s", m[1])
		}
	}
}

// TestLapifNamesAreUnique: Fortran does not distinguish capitals from small letters.
func TestLapifNamesAreUnique(t *testing.T) {
	for _, file := range []string{"fortran/lapif.h", "fortran/include32/lapif.h"} {
		seen := map[string]bool{"LAPI_ADDR_NULL": true, "LAPI_BYTE": true, commonBlock: true}
		for _, m := range regexp.MustCompile(`(?m)^      (?:integer(?:\(\d\))?, parameter :: (\w+)=|type (\w+)$|subroutine (\w+)\()`).
			FindAllStringSubmatch(read(t, file), -1) {
			name := strings.ToUpper(m[1] + m[2] + m[3])
			if seen[name] {
				t.Errorf("%s: %s comes twice", file, name)
			}
			if len(name) > 63 {
				t.Errorf("%s: %s is longer than names may be", file, name)
			}
			seen[name] = true
		}
		if len(seen) < 450 {
			t.Errorf("%s: only %d names", file, len(seen))
		}
	}
}

// TestLapifFitsEveryForm: no statement beyond column 72, none that is continued, statements from
// column 7 on.
func TestLapifFitsEveryForm(t *testing.T) {
	for _, file := range []string{"fortran/lapif.h", "fortran/include32/lapif.h"} {
		for i, line := range strings.Split(strings.TrimSpace(read(t, file)), "\n") {
			comment := strings.HasPrefix(line, "!")
			if !comment && (len(line) > fixedForm || !strings.HasPrefix(line, "      ") ||
				strings.Contains(line, "&")) || len(line) > 132 {
				t.Errorf("%s:%d: %q", file, i+1, line)
			}
		}
	}
}

func TestValuesByWordSize(t *testing.T) {
	s, err := load(root)
	if err != nil {
		t.Fatal(err)
	}
	for w, machines := range goldens {
		for _, machine := range machines {
			golden := goldenLayout(t, machine)
			for _, c := range s.constants {
				m := regexp.MustCompile(`(?m)^value ` + c.name +
					` (-?\d+)$`).FindStringSubmatch(golden)
				if golden == "" || m == nil {
					continue
				}
				want, _ := strconv.ParseInt(m[1], 10, 64)
				got := c.valueFor(w, s.types)
				if got != want && (constantBytes(c.name, w) == 8 || int32(got) != int32(want)) {
					t.Errorf("%d-bit %s is %d, C has %d", w, c.name, got, want)
				}
			}
		}
	}
	for text, want := range map[string]int64{"-2147483647-1": 1 << 31, "-1": 1<<32 - 1,
		"511": 511} {
		if got := literal(constant{"X", want}, 64, nil); got != text {
			t.Errorf("literal of %d is %s, want %s", want, got, text)
		}
	}
}

func TestBadTypes(t *testing.T) {
	for text, want := range map[string]string{
		"":                                      "1: no kinds",
		"kind A 4\n\tx i4\n":                    "2: cannot read",
		"kind A 4\ntype T t\n\tx i3\n":          "3: cannot read",
		"kind A 4\ntype T t\n\tx i4 @16\n":      "3: cannot read",
		"kind A 3\n":                            "1: cannot read",
		"kind A 4\ntype T\n":                    "2: cannot read",
		"kind A 4\n\ntype T t\n\tx type(u\n":    "4: cannot read",
		"kind A 4\ntype T t\n x i4 (3) extra\n": "3: cannot read",
	} {
		if _, _, err := parseTypes(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}
