// Package proved lets parts of a job that have its key talk over TCP: tasks that meet at an address
// (package rendezvous), and the hubs of several nodes (package hub).
//
//	opening.go  what either side says first
//	proof.go    the key, and what proves a message
//	stream.go   a connection
//
// # Conversation
//
// Numbers are little-endian.
//
//	caller  opening    "LAPImeet", version (16 bits), 1: with a key (8), 0 (8), nonce (256)
//	host    challenge  the same of the host, and its proof (256)
//	both    messages   kind (8), 0 (24), length (32), proof (256), content
//
// Opening and challenge are the same in all versions, so that two versions recognise each other.
//
// A proof is an HMAC-SHA-256 over both nonces, the direction, the kind, how many messages went
// before in that direction, and the content. Its key is derived from the job's for one purpose. So
// nothing can be altered, left out, repeated, sent back, or sent in another conversation. The
// content can be read. Without a job key the proof has an empty key: it finds accidents.
package proved
