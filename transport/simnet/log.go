package simnet

import (
	"fmt"
	"time"

	"lapi/transport/udp/wire"
)

// note writes a line about packet i to the log: its fate, or "" if it goes its way.
func (s *Net) note(fate string, i int32) {
	if s.log == nil {
		return
	}
	k := &s.packets.all[i]
	fmt.Fprintf(s.log, "%14v  %2d -> %-2d path %d  %s", time.Duration(s.now), s.owner(k.from).index,
		k.to, k.path, describe(k.b))
	if fate != "" {
		fmt.Fprintf(s.log, "  %s", fate)
	}
	fmt.Fprintln(s.log)
}

// Note writes a line about something else to the packet log, if there is one.
func (s *Net) Note(format string, a ...any) {
	if s.log != nil {
		fmt.Fprintf(s.log, "%14v  ", time.Duration(s.now))
		fmt.Fprintf(s.log, format, a...)
		fmt.Fprintln(s.log)
	}
}

// describe says what is in a packet.
func describe(b []byte) string {
	kind, err := wire.KindOf(b)
	if err != nil {
		return fmt.Sprintf("%d bytes: %v", len(b), err)
	}
	if kind == wire.KindHello {
		var h wire.Hello
		if h.Decode(b) != nil {
			return fmt.Sprintf("Hello? of %d bytes", len(b))
		}
		return fmt.Sprintf("Hello flags %x nonce %04x incarnation %04x, of target %04x %04x",
			h.Flags, uint16(h.Nonce), uint16(h.Incarnation),
			uint16(h.TargetNonce), uint16(h.TargetIncarnation))
	}
	var h wire.Header
	if err := h.Decode(b); err != nil {
		return fmt.Sprintf("%d bytes: %v", len(b), err)
	}
	name := [...]string{wire.KindData: "Data", wire.KindAck: "Ack", wire.KindBye: "Bye"}[h.Kind]
	text := fmt.Sprintf("%-5s flags %x seq %d ack %d+%d bits %x tx %d echo %d, %d bytes", name,
		h.Flags, int32(h.Seq), int32(h.Ack), h.AckBlock, h.Bits,
		h.Tx, h.Echo, len(b))
	if h.Kind == wire.KindData {
		rest := b[wire.HeaderSize:]
		n, err := wire.Count(rest)
		if err == nil && isPart(b) {
			var w wire.Part
			_, header, _ := wire.Split(rest)
			err = w.Decode(rest[wire.MessageSize:header], len(rest)-header)
			return fmt.Sprintf("%s, of %d at %d of %d%s", text, int32(w.Of), w.Offset, w.Total,
				map[bool]string{true: " (malformed)"}[err != nil])
		}
		return fmt.Sprintf("%s, %d messages%s", text, n,
			map[bool]string{true: " (malformed)"}[err != nil])
	}
	if !h.Kind.Blocks() {
		return text
	}
	for rest := b[min(wire.HeaderSize, len(b)):]; len(rest) > 0; {
		var k wire.Block
		var err error
		if rest, err = k.Next(rest); err != nil {
			return text + " malformed"
		}
		text += fmt.Sprintf(" [%d +%x -%x]", int32(k.First), k.Received, k.NotReady)
	}
	return text
}
