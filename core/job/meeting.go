package job

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"lapi/core/job/adapters"
	"lapi/core/job/pmi"
	"lapi/core/job/wire"
)

// meeting is what a process has learned from its one exchange.
type meeting struct {
	done      bool
	asked     bool // the launcher has answered
	err       error
	socket    int    // the launcher's
	node      []int  // the other tasks of this node
	nodes     []int  // the node of each task, from 0 on by their lowest tasks
	partition string // a name for the job
	key       []byte // its key, in secret memory
	// of this task, unless the user gave some; and MP_UDP_PACKET_SIZE likewise, 0: none
	adapters   []Adapter
	packetSize int
	control    int      // the socket to this process's keeper; -1: there is one task
	daemon     *os.File // the launcher's process on this node; nil: it is not known
	hub        *nodeHub // this process's part in its node's hub
	warnings   []string

	place func() (place, error)         // nil: ownPlace; for tests
	list  func() (adapters.Node, error) // nil: adapters.List; likewise
}

// met is this process's. The launcher's space is there once, so every LAPI_Init has to do with it.
var met struct {
	sync.Mutex
	meeting
}

// Meet completes the Config of a task that a launcher of the field has started: CommonTasks,
// Partition, the job key, and addresses if the user gave none. It waits until all tasks of the job
// call it; in other jobs it does nothing. Only a process's first Meet asks the launcher. The
// strings are for the user, at MP_INFOLEVEL 1; only that first Meet has any.
func (c *Config) Meet() ([]string, error) {
	if c.start == byHand {
		return nil, nil
	}
	met.Lock()
	defer met.Unlock()
	if !met.done {
		met.done = true
		met.err = met.hold(c)
	}
	if met.err != nil {
		return nil, met.err
	}
	met.tell(c)
	said := met.warnings
	met.warnings = nil
	return said, nil
}

// tell writes the results of the meeting into c.
func (m *meeting) tell(c *Config) {
	c.CommonTasks, c.Partition = slices.Clone(m.node), m.partition
	c.kept, c.launcherFD, c.daemon = m.control >= 0, m.control, m.daemon
	if c.Adapters == nil {
		c.Adapters = slices.Clone(m.adapters)
	}
	if c.UDPPacketSize == 0 {
		c.UDPPacketSize = m.packetSize
	}
}

// hold holds the exchange.
func (m *meeting) hold(c *Config) error {
	l, socket, err := c.openField()
	if err != nil {
		if c.start == byAddress {
			return err
		}
		return fmt.Errorf("the launcher cannot be asked: %w", err)
	}
	m.asked, m.socket, m.control = c.start != byAddress, socket, -1
	switch {
	case c.serverPort != 0:
		m.daemon = listeningAncestor(c.serverPort)
	case m.asked:
		m.daemon = daemonOf(socket)
	}
	mine, err := m.ownCard(c)
	var in entrances
	if err == nil {
		err = in.open(&mine)
	}
	if err != nil {
		if c.start == byAddress {
			_ = l.Abort(1) // closes task 0's port; other launchers see the exit status
		}
		return err
	}
	defer func() {
		if m.control < 0 {
			in.close()
		}
	}()
	if p, ok := l.(pmi.Patient); ok {
		p.Look(newMates(c, socket).look)
		defer p.Look(nil)
	}
	encoded := mine.encode()
	cards, err := m.exchange(c, l, encoded)
	wire.Wipe(encoded)
	if err != nil {
		if c.start == byAddress {
			return err
		}
		return fmt.Errorf("the launcher's exchange: %w", err)
	}
	all, err := m.read(c, cards)
	if err == nil {
		err = m.chooseAdapters(c, all)
	}
	if err != nil || c.NumTasks == 1 {
		return err
	}
	m.control, err = m.reachHub(c, all, in)
	return err
}

// ownCard is this task's.
func (m *meeting) ownCard(c *Config) (f fieldCard, err error) {
	if m.place == nil {
		m.place = ownPlace
	}
	at, err := m.place()
	if err != nil {
		return f, err
	}
	if m.list == nil {
		m.list = adapters.List
	}
	if f.nics, err = m.awaitCarrier(c); err != nil {
		return f, err
	}
	f.fill(at, c.Task == 0)
	return f, c.sealSecret(&f)
}

// read evaluates all tasks' cards, and wipes them.
func (m *meeting) read(c *Config, cards [][]byte) ([]fieldCard, error) {
	all := make([]fieldCard, len(cards))
	for i, b := range cards {
		var err error
		if all[i], err = decodeFieldCard(b); err != nil {
			return nil, fmt.Errorf("task %d: %w", i, err)
		}
	}
	if len(all[0].secret) == 0 {
		return nil, fmt.Errorf("task 0: %w", errCard)
	}
	err := c.openSecret(&all[0])
	if err != nil {
		return nil, err
	}
	m.partition = fmt.Sprintf("%x", all[0].secret[:nameSize])
	if m.key, err = secretMemory(KeySize); err != nil {
		return nil, err
	}
	copy(m.key, all[0].secret[nameSize:])
	wire.Wipe(all[0].secret)
	wire.Wipe(cards[0])
	numbers := make(map[[nodeSize]byte]int)
	for i := range all {
		number, known := numbers[all[i].node]
		if !known {
			number = len(numbers)
			numbers[all[i].node] = number
		}
		m.nodes = append(m.nodes, number)
		if all[i].node == all[c.Task].node && i != c.Task {
			m.node = append(m.node, i)
		}
	}
	return all, nil
}

// leader is the task of a node that has its hub: the lowest one.
func (m *meeting) leader(node int) int { return slices.Index(m.nodes, node) }

// chooseAdapters does what lapirun does for its own nodes: each task comes to the same result.
func (m *meeting) chooseAdapters(c *Config, all []fieldCard) error {
	if c.Adapters != nil {
		return nil
	}
	count := slices.Max(m.nodes) + 1
	if count == 1 && c.device == "" && c.instances == 0 {
		m.adapters = []Adapter{{Addr: netip.AddrFrom4([4]byte{127, 0, 0, 1}), Device: "lo"}}
		return nil
	}
	nodes := make([]adapters.Node, count)
	for i := range nodes {
		nodes[i] = all[m.leader(i)].nics
	}
	if count == 1 { // cards do not have all interfaces: neither lo nor those that are down
		var err error
		if nodes[0], err = adapters.List(); err != nil {
			return err
		}
	}
	if _, notice := adapters.Available(nodes, c.device); notice != "" && c.Task == 0 && c.say != nil {
		c.say(notice)
	}
	chosen, err := adapters.Choose(nodes, c.device, c.instances)
	var lacks adapters.NodeError
	if errors.As(err, &lacks) {
		err = fmt.Errorf("host %s %s", all[m.leader(lacks.Node)].host, lacks.Text)
	}
	if err != nil {
		return fmt.Errorf("no addresses for UDP/IP: %w. MP_EUIDEVICE or MP_LAPI_INET_ADDR may say "+
			"others", err)
	}
	me := m.nodes[c.Task]
	m.adapters, m.packetSize = chosen[me], adapters.PacketSize(nodes, chosen)
	if c.Task == m.leader(me) && adapters.SameAdapter(m.adapters) {
		m.warnings = append(m.warnings, fmt.Sprintf("all %d instances of host %s are on %s: there is "+
			"nothing to fail over to", len(m.adapters), all[c.Task].host, m.adapters[0].Device))
	}
	return nil
}

// copyKey gives c a copy of the job key, which ForgetKey wipes.
func (m *meeting) copyKey(c *Config) error {
	if m.key == nil {
		return fmt.Errorf("the tasks have not met")
	}
	key, err := secretMemory(KeySize)
	if err != nil {
		return err
	}
	copy(key, m.key)
	c.key = key
	return nil
}

// place is where a task runs.
type place struct {
	// text is what the tasks of one node have in common, and no two nodes: they can share
	// memory, and see each other's sockets. Namespaces on one machine differ in one of its last
	// two parts.
	text    string
	network string // what only those in one network namespace have in common; "": unknown
	host    string
}

func ownPlace() (place, error) {
	host, err := os.Hostname()
	if err != nil {
		return place{}, err
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		boot = []byte(host)
	}
	var shm, network unix.Stat_t
	for path, st := range map[string]*unix.Stat_t{"/dev/shm": &shm, "/proc/self/ns/net": &network} {
		if unix.Stat(path, st) != nil {
			*st = unix.Stat_t{} // in a container without it all tasks lack it
		}
	}
	p := place{host: host,
		text: fmt.Sprintf("%s\n%s\n%d\n%d", host, boot, shm.Dev, network.Ino)}
	if network.Ino != 0 {
		p.network = fmt.Sprintf("%s\n%d", boot, network.Ino)
	}
	return p, nil
}
