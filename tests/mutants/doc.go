// Mutants makes one small defect at a time in a copy of the tree, and checks that the test named
// with the defect fails. `make mutants` runs it, `make mutants ONLY=lane J=2` a part.
//
//	table.go     what a mutation is, and all of them
//	lane.go      the fast lane
//	node.go      data on a node, and the link that drives it
//	progress.go  the lock, waiting, sleep
//	core.go      LAPI's own part, and wire-up
//	udp.go       the protocol over UDP
//	kill.go      the commands that must fail
//	tree.go      copies of the tree
//	run.go       the run
//	report.go    the table of all, and what is printed
//
// `make test` checks only that the table fits the sources (table_test.go).
package main
