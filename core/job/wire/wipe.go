package wire

// Wipe clears b, which held a secret, and the vector registers of the processor, which copied it: a
// signal would store them on a stack.
func Wipe(b []byte) {
	clear(b)
	var from, to [256]byte
	wash(to[:], from[:])
}

// wash copies zeros by way of all the registers that a copy uses.
//
//go:noinline
func wash(to, from []byte) { copy(to, from) }

// wipe clears a record that may hold the job key; the message's data is wiped by its owner.
func wipe(kind Kind, record []byte) {
	if kind == Welcome {
		Wipe(record)
	}
}
