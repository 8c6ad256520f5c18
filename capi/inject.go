//go:build !lapi_inject

package main

// inject breaks nothing; builds for tests do (inject_tag.go).
func inject(bool) {}
