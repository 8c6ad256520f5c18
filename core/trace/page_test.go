package trace

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"lapi/transport/layout"
)

// pageOf returns a page and its data.
func pageOf(t *testing.T, traces []*Trace) (text string, p page) {
	t.Helper()
	var b bytes.Buffer
	if err := WritePage(&b, traces); err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(b.String(), `<script type="application/json" id="data">`)
	data, _, ok := strings.Cut(rest, "</script>")
	if err := json.Unmarshal([]byte(data), &p); err != nil || !ok {
		t.Fatalf("%v: %.200s", err, data)
	}
	return b.String(), p
}

// TestPageHasEverySlice: a row for each thread, main first, with its slices at their depth and time.
func TestPageHasEverySlice(t *testing.T) {
	text, p := pageOf(t, digested())
	var labels []string
	for _, r := range p.Rows {
		labels = append(labels, r.Label)
	}
	if got := strings.Join(labels, "; "); got != "task 0, main; task 0, completion handlers; "+
		"task 0, service; task 0, thread 1; task 1, main" {
		t.Errorf("%s", got)
	}
	main := p.Rows[0]
	if len(main.Slices) != 4 || p.End != 100 || main.Longest != 60 {
		t.Fatalf("%+v, %v", main, p.End)
	}
	for i, want := range []struct {
		name                 string
		begin, length, depth float64
	}{{"LAPI_Waitcntr", 0, 60, 0}, {"wait", 10, 40, 1}, {"asleep", 20, 10, 2}, {"LAPI_Term", 100, 0, 0}} {
		s := main.Slices[i]
		if p.Names[int(s[2])] != want.name || s[0] != want.begin || s[1] != want.length ||
			s[5] != want.depth {
			t.Errorf("%v, not %+v", s, want)
		}
	}
	if len(p.Arrows) != 1 || p.Arrows[0] != [4]float64{8, 4, 40, 2} {
		t.Errorf("%v", p.Arrows)
	}
	if !strings.Contains(p.Summary, "LAPI_Waitcntr") {
		t.Errorf("%q", p.Summary)
	}
	for _, far := range []string{"http:", "https:", "src=", "href=", "import", "fetch("} {
		if strings.Contains(text, far) {
			t.Errorf("the page has %q: it may load something", far)
		}
	}
}

// TestPageKeepsNamesInside: no name of a record ends the script or becomes markup.
func TestPageKeepsNamesInside(t *testing.T) {
	traces := digested()
	traces[1].Records[0] = record(0, 10, -1, layout.TraceBegin|layout.TraceCall,
		"</script><b>&", 0, 0, 0)
	text, p := pageOf(t, traces)
	if strings.Count(text, "</script>") != 2 || strings.Contains(text, "<b>&") {
		t.Error("a name got out")
	}
	found := false
	for _, name := range p.Names {
		found = found || name == "</script><b>&"
	}
	if !found {
		t.Errorf("%q", p.Names)
	}
}
