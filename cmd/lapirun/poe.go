package main

import "slices"

// poeOnly are options of POE's, each with a value, that mean nothing here: they concern its
// resource manager, MPI, the switch, dumps, traces and its own traffic. They are taken out of what
// the program gets, as POE does.
var poeOnly = []string{
	"adapter_use", "buffer_mem", "bulk_xfer_chunk_size", "bulk_xfer_recv_conn", "cc_scratch_buf",
	"clock_source", "coredir", "corefile_format", "corefile_sigterm", "cpu_use", "css_interrupt",
	"eager_limit", "euidevelop", "euilibpath", "hints_filtered", "intrdelay", "io_buffer_size",
	"io_errlog", "ionodefile", "llfile", "max_typedepth", "msg_envelope_buf", "newjob",
	"pmd_version", "pmdlog", "pmlights", "printenv", "priority_log", "priority_ntp", "pulse",
	"rdma_count", "resd", "retry", "retrycount", "rmpool", "samplefreq", "save_llfile",
	"savehostfile", "sfreq", "shared_memory", "single_thread", "spname", "statistics",
	"task_affinity", "tbsize", "tbuffsize", "tbuffwrap", "tbwrap", "tdir", "tfile",
	"thread_stacksize", "tlevel", "tmpdir", "tracedir", "tracefile", "tracelevel", "ttempsize",
	"ttsize", "use_flow_control", "usrport", "wait_mode",
}

// poeAlone says whether an option is POE's and not lapirun's.
func poeAlone(name string) bool { return slices.Contains(poeOnly, name) }
