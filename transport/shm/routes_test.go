package shm

import (
	"math/bits"
	"strings"
	"testing"

	"lapi/transport/layout"
)

// TestRouteForced: C uses the route of Config.
func TestRouteForced(t *testing.T) {
	for route, want := range map[Route]uint32{RouteAuto: layout.Routes,
		RoutePipeline: layout.RoutePipeline, RouteOrigin: layout.RouteOrigin,
		RouteTarget: layout.RouteTarget, RouteHalves: layout.RouteHalves,
		RouteWide: layout.RouteWide, RouteString: layout.RouteString,
		RouteStreaming: layout.RouteStreaming} {
		l := newLinks(t, 1, func(config *Config) { config.Route = route })[0]
		if l.node.Routes.Forced != want {
			t.Errorf("route %d: C has %d, want %d", route, l.node.Routes.Forced, want)
		}
	}
}

// TestRouteNamed: each name is that of one route, and no other name is a route's.
func TestRouteNamed(t *testing.T) {
	for name, want := range map[string]Route{"pipeline": RoutePipeline, "origin": RouteOrigin,
		"target": RouteTarget, "halves": RouteHalves, "wide": RouteWide,
		"string": RouteString, "streaming": RouteStreaming, "auto": RouteAuto, "": RouteAuto, "Wide": RouteAuto} {
		if got := RouteNamed(name); got != want {
			t.Errorf("%q is route %d, want %d", name, got, want)
		}
	}
}

// TestRoutesShown: the table has a line for each class that was used, with its length, the route in
// use and the least of each route's times.
func TestRoutesShown(t *testing.T) {
	l := newLinks(t, 1)[0]
	if got := l.Routes(); got != "" {
		t.Errorf("nothing was sent: %q", got)
	}
	class := func(direction int, n uint64) *layout.RouteClass {
		return &l.node.Routes.Class[direction][routeClass(n)]
	}
	c := class(layout.RoutePut, 4096)
	c.Transfers, c.Best = 7, layout.RouteHalves
	c.Sample[layout.RoutePipeline] = [4]uint32{900, 800, 0, 1000}
	c.Sample[layout.RouteHalves] = [4]uint32{500}
	class(layout.RouteGet, 1<<40).Transfers = 3
	s := &l.node.Routes.Stream[layout.RoutePut][routeClass(4096)]
	s.Transfers, s.Best = 2, layout.RouteWide
	s.Sample[layout.RouteWide] = [4]uint32{0, 700}
	want := "put from 4096 bytes: halves, 7 transfers; pipeline 0.80 us halves 0.50 us\n" +
		"put from 4096 bytes in streams: wide, 2 stretches; wide 0.70 us\n" +
		"get from 25165824 bytes: pipeline, 3 transfers;\n"
	if got := l.Routes(); got != want {
		t.Errorf("got  %swant %s", got, want)
	}
}

// TestRouteClasses: Go counts classes as C does (cshim/ctest/node/test_route.c has the rest).
func TestRouteClasses(t *testing.T) {
	for class := range layout.RouteClasses {
		if got := routeClass(routeLeast(class)); got != class {
			t.Errorf("the least length of class %d is of class %d", class, got)
		}
	}
	if strings.Contains(strings.Join(routeNames[:], " "), "  ") {
		t.Error("a route has no name")
	}
}

// routeClass is the class of n bytes, as node_route_class_of.
func routeClass(n uint64) int {
	log := bits.Len64(n|1) - 1
	if log < layout.RouteLeastLog {
		return 0
	}
	return min(2*(log-layout.RouteLeastLog)+int(n>>(log-1)&1), layout.RouteClasses-1)
}
