//go:build !pages64k

package layout

const pretendedPage = 0
