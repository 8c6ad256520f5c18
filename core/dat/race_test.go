//go:build race

package dat

// raced: the race detector makes what takes seconds take minutes.
const raced = true
