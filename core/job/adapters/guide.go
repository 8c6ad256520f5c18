package adapters

import (
	"fmt"
	"regexp"
	"slices"
)

// guideName matches names of adapters and of sets of adapters that the guide gives as values of
// MP_EUIDEVICE and of the adapter to initialize (Tables 12 and 41): switches, FDDI, token ring, IP
// multi-link devices and Ethernet as AIX numbers it.
var guideName = regexp.MustCompile(`^(csss|css[0-9]|sn[0-9]|en[0-9]|et[0-9]|fi[0-9]|tr[0-9]|m[lI1][0-9])$`)

// IsGuideName says whether a value of MP_EUIDEVICE is a name from AIX. Scripts still set such names,
// and machines of today need not have adapters so called.
func IsGuideName(device string) bool { return guideName.MatchString(device) }

// Available is the device to choose by where MP_EUIDEVICE is device. A guide's name that no node has
// stands for any network, as if it were not set; notice says so, for the user.
func Available(nodes []Node, device string) (use, notice string) {
	if !IsGuideName(device) || slices.ContainsFunc(nodes, func(n Node) bool {
		_, has := n.device(device)
		return has
	}) {
		return device, ""
	}
	return "", fmt.Sprintf("MP_EUIDEVICE=%s names an adapter of AIX, and there is none of that name "+
		"here: addresses are chosen as if it were not set", device)
}
