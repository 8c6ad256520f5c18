//go:build !race

package dat

const raced = false
