package layout

import "os"

// PageSize is the size of the kernel's pages, the same in all processes of a node: what is mapped or
// given back by itself begins at a multiple. A build with the tag pages64k takes it for 64 KiB, for
// tests (make pages-test), as cshim_page_size in cshim/cpu.
func PageSize() uint64 { return uint64(max(os.Getpagesize(), pretendedPage)) }

// Paged is n, rounded up to pages.
func Paged(n uint64) uint64 { return (n + PageSize() - 1) &^ (PageSize() - 1) }
