// Package wireup brings the tasks of a job together: it decides which link reaches which task,
// opens the links, exchanges what peers must know of each other (a card for each task), and
// connects. It serves any API whose owner drives links.
//
//	wireup.go   Config, Open: the steps in their order; Net, what they leave
//	node.go     which tasks share memory; sizes that were measured for this machine
//	connect.go  exchange of cards, the link to each task
//	udp.go      sockets and addresses
//	verbs.go    RDMA adapters
//	adapter.go  the addresses of one network interface
//	auth.go     the job key; tasks that disagree about it
//	card.go     what a task sends to the others
//	processors.go  which tasks share processors
//	silence.go  reports of tasks that do not answer over UDP
//
// Open may block and needs no lock: no other thread knows the Net yet. Later its owner's lock
// covers it.
package wireup
