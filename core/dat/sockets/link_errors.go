package sockets

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"lapi/core/dat"
)

// errorFiles are the kernel's counts that make up each of dat.LinkErrors.
var errorFiles = [len(dat.LinkErrors{})][]string{
	0: {"rx_errors"},
	3: {"tx_dropped"},
	5: {"rx_crc_errors", "rx_frame_errors"},
	6: {"rx_over_errors", "rx_fifo_errors"},
}

// LinkErrors are the kernel's counts of a network interface's errors; false: there are none.
func LinkErrors(device string) (dat.LinkErrors, bool) {
	return linkErrorsIn("/sys/class/net", device)
}

func linkErrorsIn(root, device string) (e dat.LinkErrors, ok bool) {
	for i, names := range errorFiles {
		for _, name := range names {
			text, err := os.ReadFile(filepath.Join(root, filepath.Base(device), "statistics", name))
			if err != nil {
				return dat.LinkErrors{}, false
			}
			n, _ := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
			e[i] += n
		}
	}
	return e, true
}
