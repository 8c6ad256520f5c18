package main

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lapi/transport/calibration"
)

// putTimes are results of puts, in ns by size and chunk; the way makes no difference.
func putTimes(sizes []uint64, ns func(size, chunk uint64) float64) samples {
	s := samples{}
	for _, size := range sizes {
		for _, chunk := range chunkCandidates {
			for _, way := range []string{"1", "4"} {
				s[trialKey{"put", size, way, chunk}] = []float64{3 * ns(size, chunk),
					ns(size, chunk), 2 * ns(size, chunk)}
			}
		}
	}
	return s
}

func TestChooseChunks(t *testing.T) {
	sizes := []uint64{4 << 10, 16 << 10, 64 << 10, 1 << 20}
	distance := func(a, b uint64) float64 { return math.Abs(math.Log2(float64(a) / float64(b))) }
	best := map[uint64]uint64{4 << 10: 8 << 10, 16 << 10: 8 << 10, 64 << 10: 32 << 10,
		1 << 20: 64 << 10}
	got := putTimes(sizes, func(size, chunk uint64) float64 {
		return 1000 +
			100*distance(chunk, best[size])
	}).choose()
	if want := []calibration.Chunk{{From: 0, Bytes: 8 << 10}, {From: 64 << 10, Bytes: 32 << 10},
		{From: 1 << 20, Bytes: 64 << 10}}; !slices.Equal(got.Chunks, want) {
		t.Errorf("got %v, want %v", got.Chunks, want)
	}
	// Chunks grow with the size: a single result that says otherwise is chance.
	odd := putTimes(sizes, func(size, chunk uint64) float64 {
		if size == 64<<10 && chunk == 4<<10 {
			return 900
		}
		return 1000 + 100*distance(chunk, 32<<10)
	}).choose()
	if want := []calibration.Chunk{{From: 0, Bytes: 32 << 10}}; !slices.Equal(odd.Chunks, want) {
		t.Errorf("got %v, want %v", odd.Chunks, want)
	}
	// What gains less than chance may bring is not taken; without results nothing is.
	little := putTimes(sizes, func(size, chunk uint64) float64 {
		if chunk == 64<<10 {
			return 980
		}
		return 1000
	}).choose()
	for _, size := range sizes {
		if got, want := little.ChunkOf(size), calibration.BuiltIn().ChunkOf(size); got != want {
			t.Errorf("%d bytes in chunks of %d, not the built-in %d", size, got, want)
		}
	}
	if got := (samples{}).choose(); !slices.Equal(got.Chunks, calibration.BuiltIn().Chunks) ||
		got.PutDirect != calibration.BuiltIn().PutDirect {
		t.Errorf("without results: %v", got)
	}
}

func TestDirectFrom(t *testing.T) {
	sizes, last := []uint64{256, 512, 1024, 2048}, chunkCandidates[len(chunkCandidates)-1]
	for _, c := range []struct {
		direct [4]float64 // packets take 100
		want   uint64
	}{
		{[4]float64{300, 200, 90, 80}, 1024},
		{[4]float64{90, 200, 90, 80}, 1024},
		{[4]float64{90, 90, 90, 90}, 256},
		{[4]float64{300, 300, 90, 101}, 4096},
	} {
		s := samples{}
		for i, size := range sizes {
			s[trialKey{"am", size, "direct", last}] = []float64{c.direct[i] + 50, c.direct[i]}
			s[trialKey{"am", size, "packets", last}] = []float64{100, 1000}
		}
		if got := s.choose(); got.AmDirect != c.want ||
			got.PutDirect != calibration.BuiltIn().PutDirect {
			t.Errorf("%v: active messages directly from %d, want %d; puts from %d", c.direct,
				got.AmDirect, c.want, got.PutDirect)
		}
	}
}

func TestReadResults(t *testing.T) {
	s := samples{}
	for _, bad := range []string{"", "put 4096 1", "put 4096 1 2 3", "put x 1 2", "put 0 1 2",
		"put 4096 1 0", "put 4096 1 -5", "put 4096 1 NaN", "put 4096 1 Inf"} {
		if err := s.read(bad, 4096); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
	if err := errors.Join(s.read("put 4096 1 20\nam 8 direct 5\n", 4096),
		s.read("put 4096 1 10\n", 4096)); err != nil {
		t.Fatal(err)
	}
	if got := s.best(trialKey{"put", 4096, "1", 4096}); got != 10 {
		t.Errorf("the best is %v", got)
	}
	if report := s.report(calibration.BuiltIn()); !strings.Contains(report, "0.01/NaN") {
		t.Errorf("no result in %q", report)
	}
}

// launcher is a program in place of lapirun, of which the trials are.
func launcher(t *testing.T, script string) *calibrator {
	t.Helper()
	path := filepath.Join(t.TempDir(), "launcher")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	table, err := tableInMemory()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { table.Close() })
	return &calibrator{launcher: path, transfers: "/transfers", environ: os.Environ(), table: table,
		machine: calibration.ThisMachine(), seen: samples{}}
}

func TestTrials(t *testing.T) {
	// It answers with the chunk that its table says, in bytes, as the time.
	c := launcher(t, `test "$*" = "-n 2 -- /transfers chunks 4" || exit 1
sed -n 's/^chunk 0 /put 4096 1 /p' "$LAPI_CALIBRATION"`)
	if err := errors.Join(c.trial("chunks", 8192), c.trial("chunks", 16384)); err != nil {
		t.Fatal(err)
	}
	for _, chunk := range []uint64{8192, 16384} {
		if got := c.seen[trialKey{"put", 4096, "1", chunk}]; !slices.Equal(got,
			[]float64{float64(chunk)}) {
			t.Errorf("chunks of %d: %v", chunk, got)
		}
	}
	for script, word := range map[string]string{
		"exit 3":                               "exit status 3",
		"true":                                 "no result",
		"echo put 4096 1 5; echo not used >&2": "not used",
		"echo put 4096 1 5; kill -9 $$; sleep 10": "killed",
	} {
		if err := launcher(t, script).trial("chunks", 4096); err == nil ||
			!strings.Contains(err.Error(), word) {
			t.Errorf("%q: %v", script, err)
		}
	}
}

// The table of a trial is no file on disk that a killed lapirun would leave behind, but LAPI_Init
// of another process must be able to read it, also when a shorter one follows a longer one.
func TestTableInMemory(t *testing.T) {
	c := launcher(t, "cat $LAPI_CALIBRATION > $HOME/seen")
	home := t.TempDir()
	t.Setenv("TMPDIR", t.TempDir())
	c.environ = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	long := &calibration.Table{Chunks: []calibration.Chunk{{From: 0, Bytes: 4096},
		{From: 1 << 20, Bytes: 65536}}, PutDirect: 1, AmDirect: 1, BlockDirect: 1024}
	if err := c.put(long); err != nil {
		t.Fatal(err)
	}
	_ = c.trial("chunks", 8192) // it has no result
	seen, err := os.ReadFile(filepath.Join(home, "seen"))
	table, machine, parseErr := calibration.Parse(string(seen))
	if err != nil || parseErr != nil || *machine != c.machine || len(table.Chunks) != 1 ||
		table.Chunks[0].Bytes != 8192 {
		t.Errorf("the trial saw %q, %v, %v", seen, err, parseErr)
	}
	if got, err := calibration.Load(c.table.Name(), calibration.ThisMachine); err != nil ||
		got.Chunks[0].Bytes != 8192 {
		t.Errorf("%v, %v", got, err)
	}
	if left, _ := os.ReadDir(os.TempDir()); len(left) != 0 {
		t.Errorf("left on disk: %v", left)
	}
}

func TestCalibrationPlace(t *testing.T) {
	for _, environ := range [][]string{nil, {"HOME=relative"},
		{"HOME=/h", "LAPI_CALIBRATION=off"}} {
		if path, err := calibrationPath(environ); err == nil {
			t.Errorf("%v: %s", environ, path)
		}
	}
	if path, err := calibrationPath([]string{"HOME=/h"}); err != nil ||
		path != "/h/.cache/lapi/calibration" {
		t.Errorf("%s, %v", path, err)
	}
	if _, err := transfersOf(filepath.Join(t.TempDir(), "bin", "lapirun")); err == nil ||
		!strings.Contains(err.Error(), "libexec") {
		t.Errorf("no transfers: %v", err)
	}
	got := trialEnviron([]string{"HOME=/h", "MP_PROCS=5", "LAPI_USE_SHM=no", "LAPI_FASTLANE=off"})
	if want := []string{"HOME=/h", "LAPI_USE_SHM=only", "MP_INFOLEVEL=1"}; !slices.Equal(got,
		want) {
		t.Errorf("the trials' environment is %v", got)
	}
}

func TestCalibrateOption(t *testing.T) {
	if _, err := parse([]string{"--calibrate"}, nil); !errors.Is(err, errCalibrate) {
		t.Error(err)
	}
	if _, err := parse([]string{"--calibrate", "program"}, nil); err == nil ||
		!strings.Contains(err.Error(), "stands alone") {
		t.Error(err)
	}
}
