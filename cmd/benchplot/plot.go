package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// The range of sizes of every picture, bytes.
const (
	smallest = 8
	largest  = 4 << 20
)

// colours of the curves that are not raw, to be told apart on white.
var colours = []string{"#9400d3", "#009e73", "#56b4e9", "#e69f00", "#8b4513", "#0072b2", "#e51e10", "#708000"}

// curve is one line of a picture.
type curve struct {
	key   Key // without size
	title string
	scale float64 // from the series' unit to the picture's
	raw   bool
	flat  bool // has no size: a level across the picture
}

// picture is one PNG: something against size, on logarithmic axes.
type picture struct {
	name, title, unit string
	key               string // where the legend is out of the way
	curves            []curve
}

func pictures() []picture {
	ours := func(m, test, op, title string) curve { return curve{Key{Ours, m, test, op, 0}, title, 1, false, false} }
	raw := func(test, op, title string, scale float64) curve {
		return curve{Key{Raw, "", test, op, 0}, title, scale, true, false}
	}
	return []picture{
		{"latency-shm", "Latency, shared memory, 2 tasks, polling", "microseconds", "top left", []curve{
			ours("shm", "latency", "put", "put, one way"), ours("shm", "latency", "am", "active message, one way"),
			ours("shm", "latency", "get", "get"), ours("shm", "latency", "put-completed", "put until completed"),
			raw("writev", "time", "raw: process_vm_writev", 1e-3),
			{Key{Raw, "", "cacheline", "oneway", 0}, "raw: cache line, one way", 1e-3, true, true}}},
		{"latency-udp", "Latency, UDP on loopback, 2 tasks, polling", "microseconds", "top left", []curve{
			ours("udp", "latency", "put", "put, one way"), ours("udp", "latency", "am", "active message, one way"),
			ours("udp", "latency", "get", "get"), ours("udp", "latency", "put-completed", "put until completed"),
			raw("udp", "oneway", "raw: bare UDP, one way", 1)}},
		{"bandwidth-shm", "Bandwidth, shared memory, 2 tasks, polling", "GB/s", "bottom right", []curve{
			ours("shm", "bandwidth", "put", "put, windowed"), ours("shm", "bandwidth", "get", "get, windowed"),
			raw("writev", "bandwidth", "raw: process_vm_writev", 1), raw("memcpy", "bandwidth", "raw: memcpy", 1)}},
		{"bandwidth-udp", "Bandwidth, UDP on loopback, 2 tasks, polling", "GB/s", "bottom right", []curve{
			ours("udp", "bandwidth", "put", "put, windowed"), ours("udp", "bandwidth", "get", "get, windowed"),
			raw("udp", "bandwidth", "raw: bare UDP stream", 1)}},
	}
}

// plotAll draws every one of the pictures for which there are results; an error if there are none, or gnuplot fails.
func plotAll(o *options, all []picture, s *Summaries) error {
	if _, err := exec.LookPath("gnuplot"); err != nil {
		return errors.New("gnuplot is not installed (Debian: gnuplot-nox)")
	}
	drawn := 0
	for _, p := range all {
		script, n := p.script(s, filepath.Join(o.out, p.name+".png"))
		if n == 0 {
			continue
		}
		file := filepath.Join(o.out, p.name+".gnuplot")
		if err := os.WriteFile(file, script, 0o644); err != nil {
			return err
		}
		if out, err := exec.Command("gnuplot", file).CombinedOutput(); err != nil {
			return fmt.Errorf("gnuplot %s: %w: %s", file, err, out)
		}
		fmt.Println(filepath.Join(o.out, p.name+".png"))
		drawn++
	}
	if drawn == 0 {
		return errors.New("the run has nothing to draw: no operation was measured at two sizes or more")
	}
	return nil
}

// points returns the data of a curve: size, median, quartiles.
func (s *Summaries) points(c curve, sizes []int) string {
	var b strings.Builder
	for _, size := range sizes {
		c.key.Size = size
		v := s.All[c.key]
		at := []int{size}
		if c.flat {
			at = []int{smallest, largest}
		}
		for _, x := range at {
			fmt.Fprintf(&b, "%d %g %g %g\n", x, v.Median*c.scale, v.Low*c.scale, v.High*c.scale)
		}
	}
	return b.String()
}

// script returns what gnuplot is to do, data included, and how many curves there are.
func (p *picture) script(s *Summaries, png string) ([]byte, int) {
	var data, plot bytes.Buffer
	n, raws := 0, 0
	low, high := largest, smallest
	for i, c := range p.curves {
		sizes := s.sizes(c.key.Side, c.key.Medium, c.key.Test, c.key.Op)
		if len(sizes) < 2 && !(c.flat && len(sizes) == 1) {
			continue
		}
		fmt.Fprintf(&data, "$c%d << EOD\n%sEOD\n", i, s.points(c, sizes))
		low, high = min(low, sizes[0]), max(high, sizes[len(sizes)-1])
		if c.flat {
			low, high = min(low, smallest), max(high, largest)
		}
		style := fmt.Sprintf("lw 2.5 lc rgb '%s' pt %d ps 1.2", colours[i%len(colours)], 4+2*i+1)
		if c.raw {
			style = fmt.Sprintf("lw 2.5 dt (6,4) lc rgb '%s' pt %d ps 1.1", []string{"#000000", "#888888"}[raws%2], 1+raws%2)
			raws++
		}
		sep := ", \\\n  "
		if n == 0 {
			sep = ""
		}
		fmt.Fprintf(&plot, "%s$c%d using 1:2:3:4 with yerrorlines %s title %q", sep, i, style, c.title)
		n++
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "set terminal pngcairo size 1100,750 noenhanced font 'Sans,13'\nset output %q\n", png)
	b.Write(data.Bytes())
	fmt.Fprintf(&b, "set title %q font ',16'\nset xlabel 'message size'\nset ylabel %q\n", p.title, p.unit)
	fmt.Fprintf(&b, "set logscale x 2\nset logscale y 10\nset xrange [%g:%g]\nset grid xtics ytics back lt 1 lw 1 lc rgb '#cccccc'\nset key %s Left reverse box opaque spacing 1.2\n",
		float64(low)/1.3, float64(high)*1.4, p.key)
	fmt.Fprintf(&b, "set xtics ('8 B' 8, '64 B' 64, '512 B' 512, '4 KiB' 4096, '32 KiB' 32768, '256 KiB' 262144, '1 MiB' 1048576, '4 MiB' 4194304)\n")
	fmt.Fprintf(&b, "set format y '%%g'\nplot %s\n", plot.String())
	return b.Bytes(), n
}
