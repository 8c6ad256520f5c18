package dat

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// interfaceOf is the interface and address, in a list, of an adapter of that name: those that device
// names, an interface or one of its addresses; else those that the name ends with; else the first
// that are not the loopback's.
func interfaceOf(list []Interface, name, device string) Interface {
	at, err := netip.ParseAddr(device)
	for _, i := range list {
		if device != "" && i.Name == device || err == nil && i.Addr == at.Unmap() {
			return i
		}
	}
	for _, i := range list {
		if strings.HasSuffix(name, "-"+i.Name) {
			return i
		}
	}
	for _, i := range list {
		if !i.Addr.IsLoopback() && i.Addr.Is4() {
			return i
		}
	}
	for _, i := range list {
		if i.Addr.IsLoopback() {
			return i
		}
	}
	return Interface{Name: "lo", Addr: netip.AddrFrom4([4]byte{127, 0, 0, 1}), MTU: 65536}
}

// groups writes bytes as InfiniBand's tools do: four hexadecimal digits, a colon, and so on.
func groups(b []byte) string {
	var s strings.Builder
	for i := 0; i+1 < len(b); i += 2 {
		if i > 0 {
			s.WriteByte(':')
		}
		fmt.Fprintf(&s, "%02x%02x", b[i], b[i+1])
	}
	return s.String()
}

// guid makes an EUI-64 of a hardware address, as adapters of Ethernet do; zeros if there is none.
// Of InfiniBand's address of 20 bytes it is the end.
func guid(hardware []byte) (g [8]byte) {
	switch len(hardware) {
	case 6:
		copy(g[:], hardware[:3])
		copy(g[3:], []byte{0xff, 0xfe})
		copy(g[5:], hardware[3:])
		g[0] ^= 2 // given by a maker: the opposite bit
	case 8, 20:
		copy(g[:], hardware[len(hardware)-8:])
	}
	if len(hardware) == 6 && [6]byte(hardware) == [6]byte{} {
		return [8]byte{} // the loopback's
	}
	return g
}

// Attributes are the named attributes of the adapter's provider.
func (ia *IA) Attributes() [][2]string {
	i := ia.engine.identity()
	truth := map[bool]string{true: "TRUE", false: "FALSE"}
	atomics := truth[i.atomics]
	list := [][2]string{{"DAT_IB_PROVIDER_NAME", "LAPI"}, {"DAT_IB_DEVICE_NAME", ia.port.Name},
		{"DAT_IB_CONNECTIVITY_MODE", "DIRECT"}, {"DAT_IB_RDMA_READ", "TRUE"},
		{"DAT_IB_NODE_GUID", groups(i.guid[:])}, {"DAT_IB_GID", groups(i.gid[:])},
		{"DAT_IB_TRANSPORT_MTU", strconv.Itoa(min(ia.port.MTU, ia.limits.Datagram))},
		{"DAT_IB_PORT_STATUS", map[bool]string{true: "ACTIVE", false: "DOWN"}[i.active]},
		{"DAT_IB_PORT_NUMBER", strconv.Itoa(int(i.port))},
		{"DAT_EXTENSION_INTERFACE", "TRUE"}, {"DAT_IB_FETCH_AND_ADD", atomics},
		{"DAT_IB_CMP_AND_SWAP", atomics}, {"DAT_IB_IMMED_DATA", "TRUE"}, {"DAT_IB_UD", "TRUE"},
		{"DAT_COUNTERS", "TRUE"},
		// the proposal of 2005
		{"DAT_EXT_RDMA_WRITE_IMMED", "TRUE"}, {"DAT_EXT_RECV_IMMED", "TRUE"},
		{"DAT_EXT_RECV_IMMED_EVENT", "TRUE"}, {"DAT_EXT_RECV_IMMED_PAYLOAD", "FALSE"},
		{"DAT_EXT_FETCH_AND_ADD", atomics}, {"DAT_EXT_CMP_AND_SWAP", atomics}}
	for _, name := range collectives {
		list = append(list, [2]string{"DAT_COLL_" + name, "TRUE"})
	}
	return append(list, [2]string{"DAT_COLL_PORT_REDUCE", reductions})
}

// collectives are the operations that groups have. The last one has two names, of which the second
// is that of the design of 2011.
var collectives = []string{"SET_CLOCK", "READ_CLOCK", "BROADCAST", "BARRIER", "SCATTER", "SCATTERV",
	"GATHER", "GATHERV", "ALLGATHER", "ALLGATHERV", "ALLTOALL", "ALLTOALLV", "REDUCE", "ALLREDUCE",
	"SCAN", "REDUCE_SCATTER", "REDUCESCATTER"}

// reductions are those of groups, by the short names of that design.
const reductions = "REDUCE_OP_MAX REDUCE_OP_MIN REDUCE_OP_SUM REDUCE_OP_PROD REDUCE_OP_LAND " +
	"REDUCE_OP_BAND REDUCE_OP_LOR REDUCE_OP_BOR REDUCE_OP_LXOR REDUCE_OP_BXOR REDUCE_OP_MAXLOC " +
	"REDUCE_OP_MINLOC"
