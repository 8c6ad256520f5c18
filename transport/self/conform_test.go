package self_test

import (
	"testing"
	"time"

	"lapi/transport/conform"
	"lapi/transport/emul"
	"lapi/transport/self"
)

func clock() int64 { return time.Now().UnixNano() }

func TestConform(t *testing.T) {
	conform.Run(t, conform.Factory{MaxNodes: 1, New: func(t *testing.T, _ int) *conform.Net {
		l, err := self.New(clock)
		if err != nil {
			t.Fatal(err)
		}
		e := emul.New(l, conform.EmulRequest, conform.EmulReply)
		if err := l.Connect(0, l.Address()); err != nil {
			t.Fatal(err)
		}
		return &conform.Net{Nodes: []conform.Node{{Link: l, Emul: e}}, Self: true}
	}})
}
