//go:build !race

package udp

const raced = false
