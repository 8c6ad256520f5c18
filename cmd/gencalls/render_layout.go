package main

import (
	"fmt"
	"strings"
)

// renderLayout returns a Fortran program that prints what its compiler made of lapif.h's types and
// constants, in the words of the ABI golden. A subroutine for each type, so that no program unit
// grows large.
func renderLayout(s source) string {
	var b strings.Builder
	fmt.Fprintf(&b, "! layout_gen.f90 - sizes, offsets and values of lapif.h as the ABI golden has them. %s\nprogram layout\n  implicit none\n", origin)
	for _, t := range s.types {
		if t.cName != "" {
			fmt.Fprintf(&b, "  call print_%s\n", strings.ToLower(t.name))
		}
	}
	for i := 0; i < len(s.constants); i += constantsPerUnit {
		fmt.Fprintf(&b, "  call print_constants_%d\n", i/constantsPerUnit)
	}
	b.WriteString("end program layout\n\n" + layoutCommon)
	for _, t := range s.types {
		if t.cName != "" {
			renderTypeLayout(&b, t)
		}
	}
	for i := 0; i < len(s.constants); i += constantsPerUnit {
		renderValues(&b, i/constantsPerUnit, s.constants[i:min(i+constantsPerUnit,
			len(s.constants))])
	}
	return b.String()
}

const constantsPerUnit = 50

// layoutCommon is what each unit uses: the distance of two addresses, as LAPI_ADDRESS knows them,
// and a line of the golden.
const layoutCommon = `subroutine print_member(name, offset, size)
  implicit none
  character(*), intent(in) :: name
  integer(8), intent(in) :: offset, size
  character(20) :: o, s
  write (o, '(i0)') offset
  write (s, '(i0)') size
  print '(a)', 'member '//name//' offset '//trim(o)//' size '//trim(s)
end subroutine print_member
`

// renderTypeLayout writes the unit for a type. Its size is the distance of two elements of an
// array, padding included. Members under @32 that are not padding are of the other file.
func renderTypeLayout(b *strings.Builder, t structure) {
	unit := "print_" + strings.ToLower(t.name)
	fmt.Fprintf(b, "\nsubroutine %s\n  implicit none\n  include 'lapif.h'\n  type(%s) :: v(2)\n  integer(LAPI_ADDR_TYPE) :: at, from, to\n"+
		"  integer :: rc\n  call LAPI_ADDRESS(v(1), at, rc)\n  call LAPI_ADDRESS(v(2), to, rc)\n"+
		"  print '(a,i0)', 'type %s size ', to - at\n", unit, t.name, t.cName)
	for _, m := range t.membersFor(64) {
		if m.padding() {
			continue
		}
		fmt.Fprintf(b, "  call LAPI_ADDRESS(v(1)%%%s, from, rc)\n", m.name)
		fmt.Fprintf(b, "  call print_member('%s.%s', int(from - at, 8), &\n    storage_size(v(1)%%%s, 8) / 8%s)\n",
			t.cName, m.name, m.name, times(m))
	}
	fmt.Fprintf(b, "end subroutine %s\n", unit)
}

// times returns the factor from an element to its array.
func times(m member) string {
	if m.count == 0 {
		return ""
	}
	return fmt.Sprintf(" * size(v(1)%%%s)", m.name) // the count may depend on the word size
}

// renderValues writes a unit with some constants. Values that are unsigned in C are printed as in
// C.
func renderValues(b *strings.Builder, unit int, constants []constant) {
	fmt.Fprintf(b, "\nsubroutine print_constants_%d\n  implicit none\n  include 'lapif.h'\n", unit)
	for _, c := range constants {
		unsigned := ""
		if constantBytes(c.name, 64) == 4 && c.value >= 1<<31 {
			unsigned = " + 4294967296_8"
		}
		fmt.Fprintf(b, "  print '(a,i0)', 'value %s ', int(%s, 8)%s\n", c.name, c.name, unsigned)
	}
	fmt.Fprintf(b, "end subroutine print_constants_%d\n", unit)
}
