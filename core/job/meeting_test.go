package job

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lapi/core/job/adapters"
	"lapi/core/job/pmi"
	"lapi/core/poll"
	"lapi/tests/heap"
)

// board passes cards around in this process.
type board struct {
	pmi.Launcher
	task  int
	cards [][]byte
	all   *sync.WaitGroup
}

func (b board) Exchange(card []byte) ([][]byte, error) {
	b.cards[b.task] = slices.Clone(card)
	b.all.Done()
	b.all.Wait()
	all := make([][]byte, len(b.cards)) // each task wipes its copy
	for i := range all {
		all[i] = slices.Clone(b.cards[i])
	}
	return all, nil
}

// shelf is a board of which each card is a question.
type shelf struct {
	board
	asked *atomic.Int32
}

func (s shelf) Put(card []byte) error {
	_, err := s.Exchange(card)
	return err
}

func (s shelf) Get(rank int) ([]byte, error) {
	s.asked.Add(1)
	return slices.Clone(s.cards[rank]), nil
}

// TestSharing: with many tasks one of each node asks for all cards, and the others for one.
func TestSharing(t *testing.T) {
	const size, nodes = 40, 4
	cards, all := make([][]byte, size), new(sync.WaitGroup)
	all.Add(size)
	var asked atomic.Int32
	got := make([]*meeting, size)
	each(t, size, func(task int) error {
		c := &Config{Task: task, NumTasks: size, start: byPMI, Shm: ShmYes,
			openField: func() (pmi.Launcher, int, error) {
				return shelf{board{task: task, cards: cards, all: all}, &asked}, 3, nil
			}}
		got[task] = &meeting{place: func() (place, error) {
			return place{fmt.Sprint(task%nodes, os.Getpid()), "machine", fmt.Sprint(task % nodes)},
				nil
		}}
		return got[task].hold(c)
	})
	for task, m := range got {
		if len(m.node) != size/nodes-1 || !bytes.Equal(m.key, got[0].key) || m.control < 0 {
			t.Errorf("task %d: %v", task, m.node)
		}
		unix.Close(m.control)
	}
	if n := asked.Load(); n != size+nodes*(size-1) {
		t.Errorf("%d cards were asked for", n)
	}
}

// meet has tasks of this process meet that are on hosts of these names.
func meet(t *testing.T, hosts ...string) ([]*Config, []*meeting) {
	t.Helper()
	cards, all, done := make([][]byte, len(hosts)), new(sync.WaitGroup), new(sync.WaitGroup)
	all.Add(len(hosts))
	configs, got := make([]*Config, len(hosts)), make([]*meeting, len(hosts))
	for task, host := range hosts {
		configs[task] = &Config{Task: task, NumTasks: len(hosts), start: byPMI, Shm: ShmYes,
			openField: func() (pmi.Launcher, int, error) {
				return board{task: task, cards: cards, all: all}, 40 + task, nil
			}}
		got[task] = &meeting{place: func() (place, error) {
			return place{fmt.Sprint(host, os.Getpid()), "machine", host}, nil
		}}
		done.Add(1)
		go func() {
			defer done.Done()
			if err := got[task].hold(configs[task]); err != nil {
				t.Errorf("task %d: %v", task, err)
			}
			got[task].tell(configs[task])
		}()
	}
	done.Wait()
	t.Cleanup(func() {
		for _, m := range got {
			if m.control >= 0 {
				unix.Close(m.control)
			}
		}
	})
	if t.Failed() {
		t.FailNow()
	}
	return configs, got
}

// TestMeeting: all tasks come to the same name and key, and to the others of the node.
func TestMeeting(t *testing.T) {
	for _, hosts := range []string{"a a a a", "a b a c"} {
		_, got := meet(t, strings.Fields(hosts)...)
		for task, m := range got {
			var want []int
			for i, host := range strings.Fields(hosts) {
				if i != task && host == strings.Fields(hosts)[task] {
					want = append(want, i)
				}
			}
			if !slices.Equal(m.node, want) || m.socket != 40+task ||
				m.partition != got[0].partition || len(m.partition) != 2*nameSize ||
				!bytes.Equal(m.key, got[0].key) || m.control < 0 {
				t.Errorf("%s: task %d: %v %d %q %d", hosts, task, m.node, m.socket, m.partition,
					m.control)
			}
			closed := m.hub.in.door.(*net.TCPListener).SetDeadline(time.Time{}) != nil
			if several := strings.Contains(hosts, "b"); closed == several {
				t.Errorf("%s: task %d: its TCP port is closed: %v", hosts, task, closed)
			}
		}
	}
}

// each runs f for all tasks at once.
func each(t *testing.T, n int, f func(task int) error) {
	t.Helper()
	var all sync.WaitGroup
	for task := range n {
		all.Add(1)
		go func() {
			defer all.Done()
			if err := f(task); err != nil {
				t.Errorf("task %d: %v", task, err)
			}
		}()
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// TestSpanning: a session of tasks on several nodes, twice, and the end of one of them.
func TestSpanning(t *testing.T) {
	configs, _ := meet(t, "a", "b", "a", "c", "c")
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	sessions := make([]Session, len(configs))
	for incarnation := range 2 {
		each(t, len(configs), func(task int) (err error) {
			if sessions[task], err = Open(configs[task], 3); err != nil {
				return err
			}
			parts, err := sessions[task].Exchange(Part{Data: []byte{byte(task), byte(incarnation)},
				Files: []int{int(null.Fd())}})
			if err != nil {
				return err
			}
			defer closeParts(parts)
			for i, p := range parts {
				near := configs[i].Task == task || slices.Contains(configs[task].CommonTasks, i)
				if !bytes.Equal(p.Data, []byte{byte(i), byte(incarnation)}) ||
					(len(p.Files) == 1) != near {
					return fmt.Errorf("task %d gave %v", i, p)
				}
			}
			return nil
		})
		if incarnation == 0 {
			each(t, len(configs), func(task int) error {
				sessions[task].Leave()
				return sessions[task].Close()
			})
		}
	}
	if err := sessions[4].Close(); err != nil { // without Leave
		t.Fatal(err)
	}
	each(t, 4, func(task int) error {
		s := sessions[task]
		defer s.Close()
		for end := time.Now().Add(time.Minute); time.Now().Before(end); {
			if e, ok := s.Poll(); ok {
				if e.Kind != TaskDied || e.Task != 4 || e.Text == "" {
					return fmt.Errorf("%+v", e)
				}
				s.Leave()
				return nil
			}
			_, _ = poll.Until([]unix.PollFd{{Fd: int32(s.Descriptor()), Events: unix.POLLIN}}, end)
		}
		return errors.New("it has heard of no death")
	})
}

// TestLowestLeads: of the tasks of a node that live the lowest has its hub, and no other, however
// it is asked.
func TestLowestLeads(t *testing.T) {
	_, got := meet(t, "a", "b", "a", "a", "b")
	for task, leads := range []bool{true, true, false, false, false} {
		if h := got[task].hub.lead(); (h != nil) != leads {
			t.Errorf("task %d has a hub: %v", task, h != nil)
		}
	}
	for _, c := range []interface{ Close() error }{got[0].hub.in.socket, got[0].hub.in.door} {
		if err := c.Close(); err != nil { // as far as it can be seen task 0 has ended
			t.Fatal(err)
		}
	}
	if got[3].hub.lead() != nil || got[2].hub.lead() == nil {
		t.Error("not the next one has the hub")
	}
}

// TestRendezvous: tasks started by hand meet by the address of task 0. Without a key file the job
// is not authenticated.
func TestRendezvous(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr()
	l.Close()
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("sixteen bytes are enough"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"", " LAPI_JOB_KEY_FILE=" + key} {
		got := make([]*meeting, 3)
		each(t, len(got), func(task int) error {
			c, err := FromEnv(environment(fmt.Sprintf("MP_PROCS=3 MP_CHILD=%d MP_PARTITION=5 "+
				"LAPI_RENDEZVOUS=%v%s", task, address, file)), nil)
			if err != nil {
				return err
			}
			host := fmt.Sprint(task % 2)
			got[task] = &meeting{place: func() (place, error) {
				return place{host + file, "one", host}, nil
			}}
			if err := got[task].hold(c); err != nil {
				return err
			}
			defer unix.Close(got[task].control)
			got[task].tell(c)
			_, proved, err := c.Key()
			c.ForgetKey()
			if err != nil || proved != (file != "") || got[task].asked || len(c.Adapters) != 1 {
				return fmt.Errorf("%v %+v %v", proved, c, err)
			}
			return nil
		})
		for _, m := range got {
			if fmt.Sprint(m.nodes) != "[0 1 0]" || m.partition != got[0].partition {
				t.Error(m.nodes, m.partition)
			}
		}
	}
}

// TestMemoryOfCards: of tasks on other nodes that this one never talks to little is kept.
func TestMemoryOfCards(t *testing.T) {
	if !heap.Alone(t) {
		return
	}
	const size, nodes = 4096, 8
	nics := oneInterface("10.0.0.1/24", "10.1.0.1/24", "fd00::1/64")
	before := heap.InUse()
	n := &nodeHub{nodes: make([]int, size)}
	func() {
		cards := make([]fieldCard, size)
		for task := range cards {
			n.nodes[task] = task * nodes / size
			c := fieldCard{nics: nics}
			c.fill(place{"text", "machine", strings.Repeat("h", task%2+20)}, false)
			var err error
			if cards[task], err = decodeFieldCard(c.encode()); err != nil {
				t.Fatal(err)
			}
		}
		n.remember(cards)
	}()
	each := (heap.InUse() - before) / size
	t.Logf("%d bytes for each of %d tasks", each, size)
	if each > 40 || len(n.hosts) != nodes {
		t.Errorf("%d bytes; %d hosts", each, len(n.hosts))
	}
	runtime.KeepAlive(n)
}

// TestNoSecret: without task 0's secret there is no job.
func TestNoSecret(t *testing.T) {
	var f fieldCard
	if _, err := new(meeting).read(&Config{}, [][]byte{f.encode()}); err == nil {
		t.Error("a job without a key")
	}
}

// TestHubAddresses: hubs use what leads to the other node.
func TestHubAddresses(t *testing.T) {
	a, b := oneInterface("10.1.0.1/24", "192.168.5.1/16"), oneInterface("172.16.0.2/12",
		"192.168.9.2/16", "fe80::1/64")
	a.Namespace, b.Namespace = 1, 2
	if got := fmt.Sprint(addressesOf(a, b)); got != "[192.168.9.2 172.16.0.2]" {
		t.Error(got)
	}
	b.Namespace = 1
	if got := fmt.Sprint(addressesOf(a, b)); got != "[127.0.0.1]" {
		t.Error(got)
	}
}

func oneInterface(addrs ...string) adapters.Node {
	i := adapters.Interface{Name: "eth0", Up: true, MTU: 1500}
	for _, a := range addrs {
		i.Addrs = append(i.Addrs, netip.MustParsePrefix(a))
	}
	return adapters.Node{Interfaces: []adapters.Interface{i}}
}

func FuzzFieldCard(f *testing.F) {
	for _, first := range []bool{false, true} {
		var c fieldCard
		c.fill(place{"text", "machine", "host"}, first)
		f.Add(c.encode())
		nics, err := adapters.List()
		if err != nil {
			f.Fatal(err)
		}
		c.nics = nics
		f.Add(c.encode())
	}
	sealed := fieldCard{secret: []byte(sealedBegin + "credential:")}
	f.Add(sealed.encode())
	f.Add([]byte{fieldVersion})
	f.Add(append([]byte{fieldVersion}, bytes.Repeat([]byte{255}, 200)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := decodeFieldCard(b)
		if err != nil {
			return
		}
		if again := c.encode(); !bytes.Equal(again, b) {
			t.Fatalf("% x becomes % x", b, again)
		}
	})
}
