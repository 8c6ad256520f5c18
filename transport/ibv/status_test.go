package ibv

import "testing"

// TestNames: statuses, events and operations have the names of <infiniband/verbs.h>, unknown ones
// their numbers.
func TestNames(t *testing.T) {
	for got, want := range map[string]string{RetryExcErr.String(): "IBV_WC_RETRY_EXC_ERR",
		GeneralErr.String(): "IBV_WC_GENERAL_ERR", Status(99).String(): "status 99",
		EventType(8).String(): "IBV_EVENT_DEVICE_FATAL", EventType(1).String(): "IBV_EVENT_QP_FATAL",
		EventType(77).String(): "event 77"} {
		if got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
}

// TestFailureText: a report has all that is known, and nothing else.
func TestFailureText(t *testing.T) {
	i := Info{Name: "mlx5_0", Port: 2}
	f := i.Report(&Completion{QPN: 0x11, Status: RemAccessErr, VendorErr: 0x88})
	f.Op, f.N, f.Local, f.Remote = OpWrite, 4096, 0x1000, 0x2000
	want := "IBV_WC_REM_ACCESS_ERR, vendor_err 0x88: RDMA write of 4096 bytes, local address 0x1000, " +
		"remote address 0x2000; queue pair 0x11 of adapter mlx5_0, port 2"
	if got := f.String(); got != want {
		t.Errorf("%s", got)
	}
	f = i.Report(&Completion{QPN: 1, Status: LocLenErr})
	f.Receive = true
	want = "IBV_WC_LOC_LEN_ERR, vendor_err 0x0: receive; queue pair 0x1 of adapter mlx5_0, port 2"
	if got := f.String(); got != want {
		t.Errorf("%s", got)
	}
}
