package job

import (
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"
)

// env is a getenv over pairs "NAME=value".
func env(pairs ...string) func(string) (string, bool) {
	m := map[string]string{}
	for _, p := range pairs {
		name, value, _ := strings.Cut(p, "=")
		m[name] = value
	}
	return func(name string) (string, bool) { v, ok := m[name]; return v, ok }
}

// good is a task of a job of four on one node, started by hand.
func good(more ...string) func(string) (string, bool) {
	return env(append([]string{"MP_MSG_API=lapi", "MP_CHILD=1", "MP_PROCS=4", "MP_PARTITION=7"},
		more...)...)
}

func TestDefaults(t *testing.T) {
	c, err := FromEnv(good(), func(level int, text string) {
		t.Errorf("warning %d: %s", level,
			text)
	})
	if err != nil {
		t.Fatal(err)
	}
	want := &Config{
		Task: 1, NumTasks: 4, Partition: "7", AckThreshold: 30,
		PollingInterval:    400 * time.Millisecond,
		RetransmitInterval: 1000000, RexmitBufCount: 128, RexmitBufSize: 16384, BulkMin: 153600,
		SendQueue: 4 << 20, RegistrationLimit: 1 << 30,
		TraceDir: ".", TraceSize: 32,
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got  %+v\nwant %+v", c, want)
	}
}

func TestAllSet(t *testing.T) {
	c, err := FromEnv(good("MP_MSG_API=mpi,lapi", "MP_EUILIB=ip", "LAPI_USE_SHM=YES",
		"MP_COMMON_TASKS=2:3:0",
		"MP_LAPI_INET_ADDR=@3:192.168.1.2,eth0:10.0.0.1,ib0:[fe80::1%eth1],eth1", "MP_INFOLEVEL=2",
		"MP_DEBUG_NOTIMEOUT=yes",
		"MP_UDP_PACKET_SIZE=65536", "MP_ACK_THRESH=5", "MP_POLLING_INTERVAL=10001",
		"MP_RETRANSMIT_INTERVAL=1000",
		"MP_REXMIT_BUF_CNT=1", "MP_REXMIT_BUF_SIZE=256", "LAPI_SEND_QUEUE=64",
		"MP_USE_BULK_XFER=yes",
		"MP_BULK_MIN_MSG_SIZE=4096", "LAPI_REGISTRATION_LIMIT=512M", "MP_LAPI_TRACE_LEVEL=3",
		"LAPI_TRACE_DIR=/traces",
		"LAPI_TRACE_SIZE=64"), func(level int, text string) {
		t.Errorf("warning %d: %s",
			level, text)
	})
	if err != nil {
		t.Fatal(err)
	}
	want := &Config{
		Task: 1, NumTasks: 4, Partition: "7", Shm: ShmYes, CommonTasks: []int{0, 3},
		Adapters: []Adapter{{Addr: netip.MustParseAddr("192.168.1.2"), Device: "eth0"},
			{Addr: netip.MustParseAddr("10.0.0.1"), Device: "ib0"},
			{Addr: netip.MustParseAddr("fe80::1%eth1"), Device: "eth1"}},
		InetSet: true, InfoLevel: 2, NoTimeout: true, UDPPacketSize: 65536, AckThreshold: 5,
		PollingInterval:    10001 * time.Microsecond,
		RetransmitInterval: 1000, RexmitBufCount: 1, RexmitBufSize: 256, RexmitBufSizeSet: true,
		UseBulk: true, BulkMin: 4096, SendQueue: 64 << 10, RegistrationLimit: 512 << 20,
		TraceLevel: 3, TraceDir: "/traces", TraceSize: 64,
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got  %+v\nwant %+v", c, want)
	}
}

// TestPartitionIsNeededWithoutAddresses: MP_PARTITION may be unset where the program lists addresses,
// where LAPI_RENDEZVOUS says where the tasks meet, and for one task; not where tasks share memory, or
// nothing else says where the others are.
func TestPartitionIsNeededWithoutAddresses(t *testing.T) {
	for _, k := range []struct {
		vars           string
		listed, needed bool
	}{
		{"", true, false},
		{"", false, true},
		{"LAPI_USE_SHM=yes", true, false},
		{"LAPI_USE_SHM=yes MP_COMMON_TASKS=1:1", true, true},
		{"LAPI_USE_SHM=no MP_COMMON_TASKS=1:1", true, false},
		{"LAPI_RENDEZVOUS=127.0.0.1:9", false, false},
		{"MP_PROCS=1", false, false},
		{"MP_PARTITION=7 LAPI_USE_SHM=yes MP_COMMON_TASKS=1:1", false, false},
	} {
		c, err := FromEnv(env(append([]string{"MP_MSG_API=lapi", "MP_CHILD=0", "MP_PROCS=2"},
			strings.Fields(k.vars)...)...), nil)
		if err != nil {
			t.Errorf("%s: %v", k.vars, err)
			continue
		}
		err = c.CheckPartition(k.listed)
		if e, ok := err.(*EnvError); ok != k.needed || ok && (e.Code != codeNoEnvVar ||
			e.Variable != "MP_PARTITION") {
			t.Errorf("%q, listed %v: %v", k.vars, k.listed, err)
		}
	}
}

// TestUserSpace: these settings ask for user space, and for these ports; letters may be of either
// case.
func TestUserSpace(t *testing.T) {
	rxe := []Port{{"rxe0", 0}, {"mlx5_0", 1}}
	for vars, want := range map[string]UserSpace{
		"MP_EUILIB=us":                                       {Wanted: true, Most: 1},
		"MP_EUILIB=US LAPI_US=yes":                           {Wanted: true, Most: 1},
		"MP_EUILIB=us LAPI_US=Only":                          {Wanted: true, Only: true, Most: 1},
		"MP_EUILIB=us MP_EUIDEVICE=sn_all":                   {Wanted: true, Most: 8},
		"MP_EUILIB=us MP_EUIDEVICE=sn_single":                {Wanted: true, Most: 1},
		"MP_EUILIB=us MP_INSTANCES=3":                        {Wanted: true, Most: 3},
		"MP_EUILIB=us MP_INSTANCES=max":                      {Wanted: true, Most: 8},
		"MP_EUILIB=us MP_EUIDEVICE=mlx5_0":                   {true, false, []Port{{"mlx5_0", 0}}, 1},
		"MP_EUILIB=us MP_EUIDEVICE=mlx5_0:2":                 {true, false, []Port{{"mlx5_0", 2}}, 1},
		"MP_EUILIB=us MP_EUIDEVICE=a/2 MP_INSTANCES=2":       {true, false, []Port{{"a", 2}}, 2},
		"MP_EUILIB=us MP_LAPI_NETWORK=@2:1,rxe0:2,mlx5_0/1":  {true, false, rxe, 2},
		"MP_EUILIB=us MP_EUIDEVICE=a MP_LAPI_NETWORK=@1:1,b": {true, false, []Port{{"b", 0}}, 1},
		"MP_EUILIB=IP LAPI_US=only MP_EUIDEVICE=x:y:z":       {},
		"MP_MSG_API=MPI_lapi MP_LAPI_NETWORK=@1:1,b":         {},
	} {
		var said []string
		c, err := FromEnv(good(append(strings.Fields(vars), "MP_INFOLEVEL=1")...),
			func(level int, text string) { said = append(said, fmt.Sprint(level, " ", text)) })
		if err != nil || len(said) != 0 || !reflect.DeepEqual(c.US, want) {
			t.Errorf("%s: %+v, %v, %q", vars, c, err, said)
		}
	}
	var said []string
	c, err := FromEnv(good("MP_EUILIB=us", "MP_EUIDEVICE=csss", "MP_INFOLEVEL=1"),
		func(level int, text string) { said = append(said, fmt.Sprint(level, " ", text)) })
	if err != nil || len(said) != 1 || !strings.HasPrefix(said[0], "1 MP_EUIDEVICE=csss names an ") ||
		!reflect.DeepEqual(c.US, UserSpace{Wanted: true, Most: 1}) {
		t.Errorf("MP_EUIDEVICE=csss: %+v, %v, %q", c, err, said)
	}
	for _, device := range []string{"mlx5_0:0", "mlx5_0:255", "mlx5_0:x", ":1", "a:1:1", "a b",
		strings.Repeat("x", 64)} {
		_, err := FromEnv(good("MP_EUILIB=us", "MP_EUIDEVICE="+device), nil)
		if e, ok := err.(*EnvError); !ok || e.Code != codeNoNetstrSet ||
			e.Variable != "MP_EUIDEVICE" {
			t.Errorf("MP_EUIDEVICE=%s: %v", device, err)
		}
	}
}

// TestDeviceForIP: an adapter for user space is no network interface.
func TestDeviceForIP(t *testing.T) {
	for _, c := range [][3]string{{"us", "mlx5_0", ""}, {"US", "sn_all", "sn_all"},
		{"us", "sn_single", "sn_single"}, {"ip", "eth0", "eth0"}, {"", "eth0", "eth0"}} {
		if got := DeviceForIP(c[0], c[1]); got != c[2] {
			t.Errorf("%v: %q", c, got)
		}
	}
}

// Every environment that LAPI_Init refuses: the code, the variable named, and what the text must
// say.
func TestRefused(t *testing.T) {
	cases := []struct {
		name     string
		env      func(string) (string, bool)
		code     int
		variable string
		says     string
	}{
		{"nothing set", env(), 510, "MP_CHILD", "lapirun"},
		{"only variables of others", env("LAPI_USE_SHM=yes", "HOME=/"), 510, "MP_CHILD", "lapirun"},
		{"all empty", env("MP_MSG_API=", "MP_CHILD="), 510, "MP_CHILD", "lapirun"},
		{"no message API", env("MP_CHILD=0", "MP_PROCS=1"), 406, "MP_MSG_API", "not set"},
		{"empty message API", good("MP_MSG_API="), 406, "MP_MSG_API", "not set"},
		{"message API mpi", good("MP_MSG_API=mpi"), 406, "MP_MSG_API", "mpi"},
		{"bad message API", good("MP_MSG_API=LAIP"), 406, "MP_MSG_API", `"LAIP"`},
		{"message API with blank", good("MP_MSG_API=lapi, mpi"), 406, "MP_MSG_API", "lapi, mpi"},
		{"bad user space", good("MP_EUILIB=us", "LAPI_US=on"), 404, "LAPI_US", `"on"`},
		{"bad library", good("MP_EUILIB=ib"), 404, "MP_EUILIB", `"ib"`},
		{"no task", env("MP_MSG_API=lapi", "MP_PROCS=4"), 510, "MP_CHILD", "not set"},
		{"no number of tasks", env("MP_MSG_API=lapi", "MP_CHILD=4"), 510, "MP_PROCS", "not set"},
		{"task too high", good("MP_CHILD=4"), 510, "MP_CHILD", "from 0 to 3"},
		{"task negative", good("MP_CHILD=-1"), 510, "MP_CHILD", `"-1"`},
		{"task no number", good("MP_CHILD=one"), 510, "MP_CHILD", `"one"`},
		{"no tasks", good("MP_PROCS=0"), 510, "MP_PROCS", "from 1"},
		{"too many tasks", good("MP_PROCS=16385"), 510, "MP_PROCS", "16384"},
		{"number of tasks huge", good("MP_PROCS=99999999999999999999"), 510, "MP_PROCS",
			"too large"},
		{"both networks", good("MP_LAPI_INET_ADDR=@1:1.2.3.4,eth0", "MP_LAPI_NETWORK=@1:164,sn0"),
			402, "MP_LAPI_NETWORK", "MP_LAPI_INET_ADDR"},
		{"both networks, one malformed", good("MP_LAPI_INET_ADDR=x", "MP_LAPI_NETWORK=y"), 402,
			"MP_LAPI_NETWORK", "MP_LAPI_INET_ADDR"},
		{"inet without @", good("MP_LAPI_INET_ADDR=1:1.2.3.4,eth0"), 407, "MP_LAPI_INET_ADDR",
			"@number:address,device"},
		{"inet without list", good("MP_LAPI_INET_ADDR=@1"), 407, "MP_LAPI_INET_ADDR",
			"@number:address,device"},
		{"inet count", good("MP_LAPI_INET_ADDR=@2:1.2.3.4,eth0"), 407, "MP_LAPI_INET_ADDR",
			"announces 2 instances and lists 1"},
		{"inet none", good("MP_LAPI_INET_ADDR=@0:"), 407, "MP_LAPI_INET_ADDR", "not 1 to 16"},
		{"inet address", good("MP_LAPI_INET_ADDR=@1:1.2.3.256,eth0"), 407, "MP_LAPI_INET_ADDR",
			`"1.2.3.256"`},
		{"inet name", good("MP_LAPI_INET_ADDR=@1:localhost,eth0"), 407, "MP_LAPI_INET_ADDR",
			"localhost"},
		{"inet any", good("MP_LAPI_INET_ADDR=@1:0.0.0.0,eth0"), 407, "MP_LAPI_INET_ADDR",
			"0.0.0.0"},
		{"inet multicast", good("MP_LAPI_INET_ADDR=@1:224.0.0.1,eth0"), 407, "MP_LAPI_INET_ADDR",
			"224.0.0.1"},
		{"inet without device", good("MP_LAPI_INET_ADDR=@1:1.2.3.4"), 407, "MP_LAPI_INET_ADDR",
			"comma"},
		{"inet empty device", good("MP_LAPI_INET_ADDR=@1:1.2.3.4,"), 407, "MP_LAPI_INET_ADDR",
			"device"},
		{"inet long device", good("MP_LAPI_INET_ADDR=@1:1.2.3.4,abcdefghijklmnop"), 407,
			"MP_LAPI_INET_ADDR", "device"},
		{"inet IPv6 without brackets", good("MP_LAPI_INET_ADDR=@1:fd00::1,eth0"), 407,
			"MP_LAPI_INET_ADDR", "announces 1 instances and lists 3"},
		{"inet IPv6 half a bracket", good("MP_LAPI_INET_ADDR=@1:[fd00::1,eth0"), 407,
			"MP_LAPI_INET_ADDR", "closing bracket"},
		{"inet IPv4 in brackets", good("MP_LAPI_INET_ADDR=@1:[1.2.3.4],eth0"), 407,
			"MP_LAPI_INET_ADDR", "brackets"},
		{"inet link-local without zone", good("MP_LAPI_INET_ADDR=@1:[fe80::1],eth0"), 407,
			"MP_LAPI_INET_ADDR", "[fe80::1%eth0],eth0"},
		{"inet zone of another device", good("MP_LAPI_INET_ADDR=@1:[fe80::1%eth1],eth0"), 407,
			"MP_LAPI_INET_ADDR", "[fe80::1%eth0],eth0"},
		{"inet zone on a global address", good("MP_LAPI_INET_ADDR=@1:[fd00::1%eth0],eth0"), 407,
			"MP_LAPI_INET_ADDR", "no zone"},
		{"inet mapped any", good("MP_LAPI_INET_ADDR=@1:[::ffff:0.0.0.0],eth0"), 407,
			"MP_LAPI_INET_ADDR", "not the address of one"},
		{"inet 17", good("MP_LAPI_INET_ADDR=@17:1.2.3.4,a"), 407, "MP_LAPI_INET_ADDR",
			"not 1 to 16"},
		{"network window", good("MP_LAPI_NETWORK=@1:x,sn0"), 407, "MP_LAPI_NETWORK",
			"@number:window,adapter"},
		{"network comma", good("MP_LAPI_NETWORK=@1:164"), 407, "MP_LAPI_NETWORK", "@1:164,sn0"},
		{"level", good("LAPI_AUTH=MAC"), 510, "LAPI_AUTH", "cookie, mac or none"},
		{"level without a key", good("LAPI_AUTH=mac"), 510, "LAPI_JOB_KEY_FILE", "needs a job key"},
		{"shared memory", good("LAPI_USE_SHM=maybe"), 439, "LAPI_USE_SHM", `"maybe"`},
		{"common tasks no number", good("MP_COMMON_TASKS=x"), 439, "MP_COMMON_TASKS", "3:0:2:3"},
		{"common tasks count", good("MP_COMMON_TASKS=3:0:2"), 439, "MP_COMMON_TASKS",
			"announces 3 tasks and lists 2"},
		{"common tasks empty field", good("MP_COMMON_TASKS=2:0:"), 439, "MP_COMMON_TASKS",
			"not a number"},
		{"common tasks itself", good("MP_COMMON_TASKS=2:0:1"), 439, "MP_COMMON_TASKS", "itself"},
		{"common tasks twice", good("MP_COMMON_TASKS=2:3:3"), 439, "MP_COMMON_TASKS", "twice"},
		{"common tasks too high", good("MP_COMMON_TASKS=1:4"), 439, "MP_COMMON_TASKS",
			"MP_PROCS is 4"},
		{"common tasks malformed but unused", good("LAPI_USE_SHM=no", "MP_COMMON_TASKS=,"), 439,
			"MP_COMMON_TASKS", "malformed"},
		{"only, but others are elsewhere", good("LAPI_USE_SHM=Only", "MP_COMMON_TASKS=2:0:2"), 439,
			"LAPI_USE_SHM", "MP_COMMON_TASKS"},
		{"packet too small", good("MP_UDP_PACKET_SIZE=1023"), 415, "MP_UDP_PACKET_SIZE",
			"1024 to 65536"},
		{"packet too large", good("MP_UDP_PACKET_SIZE=65537"), 415, "MP_UDP_PACKET_SIZE",
			"1024 to 65536"},
		{"loss no number", good("LAPI_UDP_LOSS=1%"), 400, "LAPI_UDP_LOSS", "0.5:42"},
		{"loss too much", good("LAPI_UDP_LOSS=100.1"), 400, "LAPI_UDP_LOSS", `"100.1"`},
		{"loss negative", good("LAPI_UDP_LOSS=-1"), 400, "LAPI_UDP_LOSS", `"-1"`},
		{"loss not a number at all", good("LAPI_UDP_LOSS=NaN"), 400, "LAPI_UDP_LOSS", "NaN"},
		{"loss seed", good("LAPI_UDP_LOSS=1:x"), 400, "LAPI_UDP_LOSS", "percent:seed"},
		{"packet no number", good("MP_UDP_PACKET_SIZE=8k"), 415, "MP_UDP_PACKET_SIZE", `"8k"`},
		{"launcher malformed", good("LAPI_LAUNCHER_FD=3"), 510, "LAPI_LAUNCHER_FD", "lapirun"},
		{"launcher closed", good("LAPI_LAUNCHER_FD=987654:1"), 510, "LAPI_LAUNCHER_FD", "lapirun"},
		{"launcher is another file", good("LAPI_LAUNCHER_FD=0:1"), 510, "LAPI_LAUNCHER_FD",
			"something else"},
	}
	for _, k := range cases {
		t.Run(k.name, func(t *testing.T) {
			c, err := FromEnv(k.env, nil)
			var e *EnvError
			if !errors.As(err, &e) {
				t.Fatalf("config %+v, error %v", c, err)
			}
			if e.Code != k.code || e.Variable != k.variable || !strings.Contains(e.Text, k.says) {
				t.Errorf("code %d, %v; want code %d of %s with %q", e.Code, e, k.code, k.variable,
					k.says)
			}
		})
	}
}

// Values that are corrected: what is used instead, and the message.
func TestCorrected(t *testing.T) {
	ack := func(c *Config) int { return c.AckThreshold }
	polling := func(c *Config) int { return int(c.PollingInterval / time.Microsecond) }
	retransmit := func(c *Config) int { return c.RetransmitInterval }
	count := func(c *Config) int { return c.RexmitBufCount }
	size := func(c *Config) int { return c.RexmitBufSize }
	level := func(c *Config) int { return c.InfoLevel }
	bulkMin := func(c *Config) int { return c.BulkMin }
	bulk := func(c *Config) int {
		if c.UseBulk {
			return 1
		}
		return 0
	}
	cases := []struct {
		set  string
		got  func(*Config) int
		want int
	}{
		{"MP_ACK_THRESH=0", ack, 1}, {"MP_ACK_THRESH=32", ack, 30}, {"MP_ACK_THRESH=-3", ack, 30},
		{"MP_ACK_THRESH=many", ack, 30},
		{"MP_POLLING_INTERVAL=10000", polling, 10001}, {"MP_POLLING_INTERVAL=99999999999", polling,
			1<<31 - 1},
		{"MP_POLLING_INTERVAL=1s", polling, 400000},
		{"MP_RETRANSMIT_INTERVAL=999", retransmit, 1000}, {"MP_RETRANSMIT_INTERVAL=2147483648",
			retransmit, 1<<31 - 1},
		{"MP_REXMIT_BUF_CNT=0", count, 1}, {"MP_REXMIT_BUF_CNT=x", count, 128},
		{"MP_REXMIT_BUF_SIZE=0", size, 1}, {"MP_REXMIT_BUF_SIZE=16K", size, 16384},
		{"MP_INFOLEVEL=7", level, 6}, {"MP_INFOLEVEL=-1", level, 0},
		{"MP_INFOLEVEL=high", level, 0},
		{"MP_USE_BULK_XFER=maybe", bulk, 0}, {"MP_USE_BULK_XFER=1", bulk, 0},
		{"MP_USE_BULK_XFER=yes ", bulk, 0},
		{"MP_BULK_MIN_MSG_SIZE=0", bulkMin, 4096}, {"MP_BULK_MIN_MSG_SIZE=4095", bulkMin, 4096},
		{"MP_BULK_MIN_MSG_SIZE=3K", bulkMin, 4096},
		{"MP_BULK_MIN_MSG_SIZE=-1", bulkMin, 153600}, {"MP_BULK_MIN_MSG_SIZE=K", bulkMin, 153600},
		{"MP_BULK_MIN_MSG_SIZE=8KB", bulkMin, 153600},
		{"MP_BULK_MIN_MSG_SIZE=0x2000", bulkMin, 153600}, {"MP_BULK_MIN_MSG_SIZE=2147483648",
			bulkMin, 1<<31 - 1},
		{"MP_BULK_MIN_MSG_SIZE=2G", bulkMin, 1<<31 - 1}, {"MP_BULK_MIN_MSG_SIZE=17179869184G",
			bulkMin, 1<<31 - 1},
		{"MP_BULK_MIN_MSG_SIZE=99999999999999999999", bulkMin, 1<<31 - 1},
	}
	for _, k := range cases {
		t.Run(k.set, func(t *testing.T) {
			var said []string
			c, err := FromEnv(good(k.set), func(level int, text string) {
				said = append(said,
					text)
			})
			if err != nil {
				t.Fatal(err)
			}
			if k.got(c) != k.want {
				t.Errorf("%d is used, not %d", k.got(c), k.want)
			}
			name, value, _ := strings.Cut(k.set, "=")
			if len(said) != 1 || !strings.Contains(said[0], name) ||
				!strings.Contains(said[0], value) || !strings.Contains(said[0], "Set it to") {
				t.Errorf("messages %q", said)
			}
		})
	}
}

func TestAccepted(t *testing.T) {
	quiet := func(level int, text string) { t.Errorf("warning %d: %s", level, text) }
	for _, set := range []string{"MP_MSG_API=lapi,mpi", "MP_MSG_API=mpi_lapi", "LAPI_USE_SHM=nO",
		"MP_COMMON_TASKS=0",
		"MP_LAPI_NETWORK=@2:164,sn0:165,sn1", "MP_UDP_PACKET_SIZE=1024", "MP_ACK_THRESH=31",
		"MP_REXMIT_BUF_CNT=2147483647", "MP_CHILD=3"} {
		if _, err := FromEnv(good(set), quiet); err != nil {
			t.Errorf("%s: %v", set, err)
		}
	}
	c, err := FromEnv(good("MP_ACK_THRESH=31", "MP_DEBUG_NOTIMEOUT=no", "LAPI_USE_SHM=only",
		"MP_COMMON_TASKS=3:0:2:3"), quiet)
	if err != nil || c.AckThreshold != 30 || c.NoTimeout || c.Shm != ShmOnly ||
		!reflect.DeepEqual(c.CommonTasks, []int{0, 2, 3}) {
		t.Errorf("%+v, %v", c, err)
	}
	if c, err := FromEnv(env("MP_MSG_API=lapi", "MP_CHILD=0", "MP_PROCS=1"), quiet); err != nil ||
		c.NumTasks != 1 {
		t.Errorf("a job of one task without a partition: %+v, %v", c, err)
	}
}

func TestBulkAccepted(t *testing.T) {
	for set, want := range map[string]struct {
		use bool
		min int
	}{
		"MP_USE_BULK_XFER=YES": {true, 153600}, "MP_USE_BULK_XFER=No": {false, 153600},
		"MP_USE_BULK_XFER=":         {false, 153600},
		"MP_BULK_MIN_MSG_SIZE=4097": {false, 4097}, "MP_BULK_MIN_MSG_SIZE=4K": {false, 4096},
		"MP_BULK_MIN_MSG_SIZE=1m": {false, 1 << 20},
		"MP_BULK_MIN_MSG_SIZE=1G": {false, 1 << 30}, "MP_BULK_MIN_MSG_SIZE=2147483647": {false,
			1<<31 - 1},
	} {
		c, err := FromEnv(good(set), func(level int, text string) {
			t.Errorf("%s: warning %d: %s",
				set, level, text)
		})
		if err != nil || c.UseBulk != want.use || c.BulkMin != want.min {
			t.Errorf("%s: %+v, %v", set, c, err)
		}
	}
}

func TestRegistrationLimit(t *testing.T) {
	for value, want := range map[string]uint64{"": 1 << 30, "0": 0, "7": 7, "3k": 3 << 10,
		"99999999999999999999": 1<<64 - 1, "-1": 1 << 30, "much": 1 << 30} {
		n := 0
		c, err := FromEnv(good("LAPI_REGISTRATION_LIMIT="+value), func(int, string) { n++ })
		if err != nil || c.RegistrationLimit != want {
			t.Errorf("%q: %+v, %v", value, c, err)
		}
		if wrong := value == "-1" || value == "much"; wrong != (n == 1) {
			t.Errorf("%q: %d warnings", value, n)
		}
	}
}

func TestFastLane(t *testing.T) {
	for value, want := range map[string]FastLane{"": FastLaneOn, "on": FastLaneOn,
		"off": FastLaneOff, "random": FastLaneRandom, "fast": FastLaneOn} {
		n := 0
		c, err := FromEnv(good("LAPI_FASTLANE="+value), func(int, string) { n++ })
		if err != nil || c.FastLane != want || (n == 1) != (value == "fast") {
			t.Errorf("LAPI_FASTLANE=%s: %v, %d messages, %v", value, c.FastLane, n, err)
		}
	}
}

func TestUDPSwitches(t *testing.T) {
	for value, plain := range map[string]bool{"": false, "on": false, "off": true, "Off": false,
		"0": false} {
		n := 0
		c, err := FromEnv(good("LAPI_UDP_GSO="+value), func(int, string) { n++ })
		if err != nil || c.UDPPlain != plain || (n == 1) != (value == "Off" || value == "0") {
			t.Errorf("LAPI_UDP_GSO=%s: %v, %d messages, %v", value, c.UDPPlain, n, err)
		}
	}
	for value, want := range map[string]Loss{"": {}, "0": {}, "1": {1, 0}, "0.5:42": {0.5, 42},
		"100:18446744073709551615": {100, 1<<64 - 1}} {
		c, err := FromEnv(good("LAPI_UDP_LOSS="+value), nil)
		if err != nil || c.UDPLoss != want {
			t.Errorf("LAPI_UDP_LOSS=%s: %+v, %v", value, c.UDPLoss, err)
		}
	}
}

// The first eight instances count.
func TestAdaptersBeyondEight(t *testing.T) {
	var said []string
	c, err := FromEnv(good("MP_INFOLEVEL=1", "MP_LAPI_INET_ADDR=@9"+strings.Repeat(":10.0.0.1,eth0",
		8)+":10.0.0.2,eth1"),
		func(_ int, text string) { said = append(said, text) })
	if err != nil || len(c.Adapters) != MaxAdapters || c.Adapters[7].Device != "eth0" {
		t.Errorf("%+v, %v", c, err)
	}
	if len(said) != 1 || !strings.Contains(said[0], "first 8") {
		t.Errorf("messages %q", said)
	}
}

// Advice is given only to those who ask for warnings.
func TestWarningLevel(t *testing.T) {
	for level, want := range map[string]int{"0": 0, "1": 1} {
		n := 0
		if _, err := FromEnv(good("LAPI_USE_SHM=yes", "MP_INFOLEVEL="+level),
			func(int, string) { n++ }); err != nil || n != want {
			t.Errorf("MP_INFOLEVEL=%s: %d messages, %v", level, n, err)
		}
	}
}

func TestAuth(t *testing.T) {
	for value, want := range map[string]Auth{"": AuthCookie, "cookie": AuthCookie, "mac": AuthMAC,
		"none": AuthNone} {
		if c, err := FromEnv(good("LAPI_JOB_KEY_FILE=/key", "LAPI_AUTH="+value), nil); err != nil ||
			c.Auth != want {
			t.Errorf("%q: %+v, %v", value, c, err)
		}
	}
}

// TestRoute: LAPI_ROUTE forces a route or shows what was found; an invalid value is reported.
func TestRoute(t *testing.T) {
	for value, want := range map[string]struct {
		route Route
		show  bool
		said  int
	}{"": {}, "auto": {}, "show": {show: true}, "pipeline": {route: RoutePipeline},
		"origin": {route: RouteOrigin}, "target": {route: RouteTarget},
		"halves": {route: RouteHalves}, "wide": {route: RouteWide}, "string": {route: RouteString},
		"streaming": {route: RouteStreaming}, "Origin": {said: 1}, "fast": {said: 1}} {
		n := 0
		c, err := FromEnv(good("LAPI_ROUTE="+value), func(int, string) { n++ })
		if value == "" {
			c, err = FromEnv(good(), func(int, string) { n++ })
		}
		if err != nil || c.Route != want.route || c.ShowRoutes != want.show || n != want.said {
			t.Errorf("LAPI_ROUTE=%s: %v, show %v, %d messages, %v",
				value, c.Route, c.ShowRoutes, n, err)
		}
	}
}
