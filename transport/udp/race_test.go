//go:build race

package udp

// raced: the race detector makes what takes seconds take minutes.
const raced = true
