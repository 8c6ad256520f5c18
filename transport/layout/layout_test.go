package layout

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// structs pairs each C struct with its Go view.
var structs = map[string]any{
	"cshim_context":      Context{},
	"cshim_progress":     Progress{},
	"node_slot":          Slot{},
	"node_ring_control":  RingControl{},
	"node_segment_head":  SegmentHead{},
	"node_sender":        Sender{},
	"node_receiver":      Receiver{},
	"node_chunks":        Chunks{},
	"node_place":         Place{},
	"node_barrier":       Barrier{},
	"node_barrier_word":  BarrierWord{},
	"node_barrier_words": Barriers{},
	"node_op":            NodeOp{},
	"node_event":         NodeEvent{},
	"node_peer":          NodePeer{},
	"node_link":          NodeLink{},
	"cshim_trace_record": TraceRecord{},
	"cshim_trace_head":   TraceHead{},
	"cshim_lane":         Lane{},
	"cshim_outbox":       Outbox{},
	"cshim_outboxes":     Outboxes{},
	"cshim_am_header":    AmSmall{},
	"dat_slot":           DatSlot{},
	"dat_lane":           DatLane{},
	"dat_name":           DatName{},
	"dat_open":           DatOpen{},
	"dat_table":          DatTable{},
	"dat_queue":          DatQueue{},
	"dat_request":        DatRequest{},
	"dat_receive":        DatReceive{},
	"dat_end":            DatEnd{},
	"dat_end_config":     DatConfig{},
	"dat_end_route":      DatRoute{},
	"dat_end_tx":         DatTx{},
	"dat_end_rx":         DatRx{},
	"dat_span":           DatSpan{},
	"dat_group_config":   DatGroupConfig{},
	"dat_group_op":       DatGroupOp{},
	"dat_rail_config":    DatRailConfig{},
	"dat_rail_message":   DatRailMessage{},
	"dat_rail_grant":     DatRailGrant{},
	"dat_rail_state":     DatRailState{},
	"dat_rail_post":      DatRailPost{},
	"verbs_link":         VerbsLink{},
	"verbs_port":         VerbsPort{},
	"verbs_peer":         VerbsPeer{},
	"verbs_ring":         VerbsRing{},
	"verbs_sent":         VerbsSent{},
	"verbs_pair":         VerbsPair{},
	"verbs_chunk":        VerbsChunk{},

	"struct cshim_ibv_completion": VerbsCompletion{},
	"verbs_buffer":                VerbsBuffer{},
}

// cName turns LockWord back into lock_word.
func cName(name string) string {
	var b strings.Builder
	for i, r := range name {
		if i > 0 && r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
		}
		b.WriteString(strings.ToLower(string(r)))
	}
	return b.String()
}

// goLayout prints what Go thinks, and the C program that prints what C thinks, in the same order.
func goLayout() (expected, program string) {
	var want, body strings.Builder
	for name, value := range structs {
		typ := reflect.TypeOf(value)
		fmt.Fprintf(&want, "%s %d\n", name, typ.Size())
		fmt.Fprintf(&body, "\tprintf(\"%s %%zu\\n\", sizeof(%s));\n", name, name)
		for i := range typ.NumField() {
			f := typ.Field(i)
			fmt.Fprintf(&want, "%s.%s %d %d\n", name, cName(f.Name), f.Offset, f.Type.Size())
			fmt.Fprintf(&body,
				"\tprintf(\"%s.%s %%zu %%zu\\n\", offsetof(%s, %s), sizeof(((%s *)0)->%s));\n",
				name, cName(f.Name), name, cName(f.Name), name, cName(f.Name))
		}
	}
	program =
		"#include <stddef.h>\n#include <stdio.h>\n#include \"shared.h\"\nint main(void)\n{\n" +
			body.String() + "\treturn 0;\n}\n"
	return want.String(), program
}

func needCompiler(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no gcc: the C layout cannot be asked for")
	}
}

// TestOffsets compiles a program over the headers and compares each size and offset.
func TestOffsets(t *testing.T) {
	needCompiler(t)
	want, program := goLayout()
	dir := t.TempDir()
	source, binary := filepath.Join(dir, "layout.c"), filepath.Join(dir, "layout")
	if err := os.WriteFile(source, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-I", "../../cshim",
		"-o", binary, source)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("compiling: %v\n%s", err, out)
	}
	got, err := exec.Command(binary).Output()
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("layouts differ; run go generate ./transport/layout\nGo:\n%sC:\n%s", want, got)
	}
}

// TestGeneratedFresh regenerates layout_gen.go and compares: a member added to a header must arrive
// here.
func TestGeneratedFresh(t *testing.T) {
	needCompiler(t)
	fresh := filepath.Join(t.TempDir(), "fresh") // no .go: go run would take it for a source
	cmd := exec.Command("go", "run", "generate.go", fresh)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("generating: %v\n%s", err, out)
	}
	got, err := os.ReadFile("layout_gen.go")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(fresh)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("layout_gen.go is stale: run go generate ./transport/layout")
	}
}
