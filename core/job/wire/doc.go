// Package wire is the protocol between tasks and the launcher while a job is being set up: messages
// of a kind, a number, bytes and file descriptors, over AF_UNIX sockets of type SOCK_SEQPACKET.
//
// A message travels as one or more records, never mixed with those of another message on the same
// socket. A record is a header of 8 bytes and at most MaxRecord bytes of payload:
//
//	byte 0     version of this protocol
//	byte 1     kind of the message
//	byte 2     1: more records of this message follow; 0: this is the last
//	byte 3     how many descriptors come with this record
//	bytes 4-7  the message's number, little-endian (of an exchange: its round)
//
// Both ends may be of different word size. Nothing received is trusted: a wrong version, kind,
// count or size is an error, and whatever descriptors came are closed.
//
// A Conn has no lock: one goroutine or thread uses it at a time. It never blocks; a caller that
// wants to wait polls its descriptor.
package wire
