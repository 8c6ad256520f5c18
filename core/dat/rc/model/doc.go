// Package model holds no code: its test runs the two engines of connections that are the library's
// own against one model (docs/dev/testing.md).
//
//	driver_test.go       what an engine does for the harness, and what the harness posts and gets
//	links_test.go        the engine over links (core/dat/rc), on a simulated network
//	node_unsafe_test.go  the engine of a node (cshim/dat/rc), between processes that are one;
//	                     node_process_unsafe_test.go has a process, as core/dat is for it
//	layout_test.go       where a connection's memory is, and what is in it
//	world_test.go        what is known of processes and connections, and how it is collected
//	model_test.go        what may complete, in which order, with which status and data
//	causes_test.go       why something may fail
//	steps_test.go        what happens at random: a step of a seed draws from a source of its own;
//	                     requests_test.go has what is posted
//	run_test.go          a run of a seed, and if that fails the least steps that fail too
package model
