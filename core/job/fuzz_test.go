package job

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A value that a parser accepts must have the form that its error message shows: writing the result
// again gives an equal result.

func FuzzCommonTasks(f *testing.F) {
	for _, s := range []string{"3:0:2:3", "0", "0:", "1:1", "2:0", "2:0:0", ":::", "-1:0",
		"3:0:2:99999999999", "03:0:2:3"} {
		f.Add(s, 1, 4)
	}
	f.Fuzz(func(t *testing.T, s string, task, numTasks int) {
		if numTasks < 1 || task < 0 || task >= numTasks {
			return // the callers have checked MP_PROCS and MP_CHILD
		}
		tasks, err := parseCommonTasks(s, task, numTasks)
		if err != nil {
			return
		}
		if !slices.IsSorted(tasks) || slices.Contains(tasks, task) || len(tasks) > numTasks {
			t.Fatalf("%q gives %v", s, tasks)
		}
		text := fmt.Sprint(len(tasks))
		for _, k := range tasks {
			text += fmt.Sprintf(":%d", k)
		}
		again, err := parseCommonTasks(text, task, numTasks)
		if err != nil || !slices.Equal(again, tasks) {
			t.Fatalf("%q gives %v, but %q gives %v, %v", s, tasks, text, again, err)
		}
	})
}

func FuzzInetAddr(f *testing.F) {
	for _, s := range []string{"@2:192.161.0.1,sn0:192.161.1.1,sn1", "@1:[::1],lo", "@1:[",
		"@1:]:,", "@", "@1:", "@1:1.2.3.4,", "@1:::,x",
		"@1:[[1.2.3.4]],a", "@16:1.2.3.4,a", "@1:::ffff:1.2.3.4,a", "@1:[fe80::1%eth0],eth0",
		"@1:[fe80::1%],eth0",
		"@1:[::ffff:1.2.3.4],a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		all, err := parseInetAddr(s)
		if err != nil {
			return
		}
		for _, a := range all {
			if !a.Addr.IsValid() || a.Addr.Is4In6() || a.Device == "" || a.Addr.Zone() != "" &&
				a.Addr.Zone() != a.Device {
				t.Fatalf("%q gives %+v", s, a)
			}
		}
		text := FormatAdapters(all)
		again, err := parseInetAddr(text)
		if err != nil || !slices.Equal(again, all) {
			t.Fatalf("%q gives %v, but %q gives %v, %v", s, all, text, again, err)
		}
	})
}

func FuzzNetwork(f *testing.F) {
	for _, s := range []string{"@1:164,sn0", "@2:1,a:2,b", "@1:,", "@1:1", "@-1:1,a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		ports, err := parseNetwork(s)
		if err == nil && (!strings.HasPrefix(s, "@") || strings.Count(s, ",") != len(ports)) {
			t.Fatalf("%q is accepted as %v", s, ports)
		}
		for _, port := range ports {
			if again, err := parsePort(port.String()); err != nil || again != port {
				t.Fatalf("%v becomes %v, %v", port, again, err)
			}
		}
	})
}

// FuzzEnvironment sets all variables to odd values: a Config is within its documented ranges, or
// there is an error that names a variable.
func FuzzEnvironment(f *testing.F) {
	f.Add("lapi", "1", "4", "7", "3:0:2:3", "@1:1.2.3.4,eth0", "30", "yes", "mac", "64K", "60:1")
	f.Add("mpi", "-1", "", "x\x00y", "0", "", "99999999999999999999", "only", "none", "1G", "0:")
	f.Fuzz(func(t *testing.T, api, child, procs, partition, common, inet, number, shm, auth, size,
		launcher string) {
		c, err := FromEnv(env("MP_MSG_API="+api, "MP_CHILD="+child, "MP_PROCS="+procs,
			"MP_PARTITION="+partition, "MP_COMMON_TASKS="+common,
			"MP_LAPI_INET_ADDR="+inet, "LAPI_USE_SHM="+shm, "MP_ACK_THRESH="+number,
			"MP_POLLING_INTERVAL="+number,
			"MP_RETRANSMIT_INTERVAL="+number, "MP_REXMIT_BUF_CNT="+number,
			"MP_REXMIT_BUF_SIZE="+number, "MP_INFOLEVEL="+number,
			"LAPI_AUTH="+auth, "LAPI_JOB_KEY_FILE="+size, "MP_BULK_MIN_MSG_SIZE="+size,
			"MP_UDP_PACKET_SIZE="+number, "MP_USE_BULK_XFER="+shm,
			"LAPI_LAUNCHER_FD="+launcher, "MP_LAPI_TRACE_LEVEL="+number, "LAPI_TRACE_SIZE="+number,
			"LAPI_FASTLANE="+auth), nil)
		if err != nil {
			if e, ok := err.(*EnvError); !ok || e.Code < 400 || e.Code > 511 || e.Variable == "" {
				t.Fatalf("error %v", err)
			}
			return
		}
		if c.NumTasks < 1 || c.Task < 0 || c.Task >= c.NumTasks ||
			len(c.CommonTasks) >= c.NumTasks ||
			c.AckThreshold < 1 || c.AckThreshold > 30 || c.PollingInterval <= 0 ||
			c.RetransmitInterval < 1000 ||
			c.RexmitBufCount < 1 || c.RexmitBufSize < 1 || c.InfoLevel < 0 || c.InfoLevel > 6 ||
			c.Auth > AuthNone || (c.Auth == AuthMAC) != (auth == "mac") || c.Auth == AuthMAC &&
			!c.Launched && size == "" || c.Launched ||
			c.BulkMin < 4096 || c.UDPPacketSize != 0 && (c.UDPPacketSize < 1024 ||
			c.UDPPacketSize > 65536) || c.TraceLevel < 0 || c.TraceLevel > 5 ||
			c.TraceSize < 1 {
			t.Fatalf("%+v", c)
		}
	})
}

// FuzzStat: whatever name a process has given itself, its parent is the number that the kernel
// gives.
func FuzzStat(f *testing.F) {
	f.Add([]byte("cat"), 12)
	f.Add([]byte(") R 1 (x) S 2"), 0)
	f.Fuzz(func(t *testing.T, name []byte, parent int) {
		if parent < 0 {
			return
		}
		line := fmt.Appendf(nil, "7 (%s) S %d 1 1 0", name, parent)
		if got := parentIn(line); got != parent {
			t.Errorf("the parent in %q is %d", line, got)
		}
		parentIn(name) // a line of another form
	})
}
