module lapi

go 1.24.0

require (
	github.com/dchest/siphash v1.2.3
	golang.org/x/sys v0.41.0
)
