// Package rendezvous lets tasks that were started by hand, on any hosts, exchange one card each.
// They know their number, how many they are, the job's partition and one address: that of task 0.
//
//	rendezvous.go  Config, Open, and the launcher that Open returns
//	address.go     where task 0 listens
//	host.go        task 0's side: connections, strangers, the end
//	members.go     task 0's side: which tasks are there, and what each gets
//	caller.go      the side of the other tasks
//	message.go     messages, and how they are read
//
// # Conversation
//
// Each task but 0 has one TCP connection to task 0, on which messages are proved (package proved).
//
//	caller  hello      task, number of tasks, partition, card
//	task 0  cards      of all tasks, when all are there
//	caller  bye        it has them
//
// Instead of cards task 0 may say refused, to this task, or failed, to all; both with a reason.
//
// All tasks have met when the last hello has come. Until then a task whose connection breaks, or
// another process in its place, may come again, with any card. From then on only with the same
// card, because others may have it already. Task 0 is done when each task has said bye; a
// connection that breaks before that and does not come again within some seconds is an error at
// task 0.
//
// # Secrets
//
// The key of proofs is derived from the job key, which is that of LAPI_JOB_KEY_FILE: so nothing
// secret travels. A card can be read on its way, but neither changed nor sent again in another
// conversation. A message without a valid proof is dropped, and its sender gets no reason.
//
// Without a job key the proof has an empty key, which everybody has: it finds accidents. Then
// whoever reaches task 0's port and guesses the partition can be a task, or, at the address before
// task 0, can be task 0. So no process gets the partition's name before it has proved the key.
//
// # Bounds
//
// A card has at most MaxCard bytes. Task 0 has at most a connection for each task and 64 more: for
// a further one the oldest that has not said hello is closed. A connection that has not said hello
// after 10 seconds is closed. Before hello is proved a connection costs at most one card's memory.
package rendezvous
