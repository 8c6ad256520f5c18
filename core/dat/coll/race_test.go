//go:build race

package coll

// The race detector finds nothing in what one goroutine does, and takes ten times as long: then the
// largest groups are left to `make sim`.
func init() { largest = 4 }
