module lapi

go 1.26.0

require (
	github.com/dchest/siphash v1.2.3
	golang.org/x/sys v0.49.0
)
