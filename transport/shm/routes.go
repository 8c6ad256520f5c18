package shm

import (
	"fmt"
	"strings"

	"lapi/transport/layout"
)

// Route is a way of data that is too long for slots, to or from a peer that polls
// (cshim/node/route.h).
type Route uint8

// The routes. RouteAuto: the fastest, as the link finds while it is used.
const (
	RouteAuto Route = iota
	RoutePipeline
	RouteOrigin
	RouteTarget
	RouteHalves
	RouteWide
	RouteString
	RouteStreaming
)

// RouteNamed is the route that LAPI_ROUTE names so, else RouteAuto.
func RouteNamed(name string) Route {
	for route := RoutePipeline; route <= RouteStreaming; route++ {
		if routeNames[route.forced()] == name {
			return route
		}
	}
	return RouteAuto
}

// forced is r for C.
func (r Route) forced() uint32 {
	return [...]uint32{RouteAuto: layout.Routes, RoutePipeline: layout.RoutePipeline,
		RouteOrigin: layout.RouteOrigin, RouteTarget: layout.RouteTarget,
		RouteHalves: layout.RouteHalves, RouteWide: layout.RouteWide,
		RouteString: layout.RouteString, RouteStreaming: layout.RouteStreaming}[r]
}

var routeNames = [layout.Routes]string{layout.RoutePipeline: "pipeline",
	layout.RouteOrigin: "origin", layout.RouteTarget: "target", layout.RouteHalves: "halves",
	layout.RouteWide: "wide", layout.RouteString: "string", layout.RouteStreaming: "streaming"}

// Routes is a table of the times found, a line for each class of lengths that was used; "" if none
// was. The classes of streams count stretches (route.h).
func (l *Link) Routes() string {
	if l.node == nil {
		return ""
	}
	var b strings.Builder
	for direction, name := range [...]string{layout.RoutePut: "put", layout.RouteGet: "get"} {
		for class := range layout.RouteClasses {
			from := fmt.Sprintf("%s from %d bytes", name, routeLeast(class))
			showClass(&b, from, "transfers", &l.node.Routes.Class[direction][class])
			showClass(&b, from+" in streams", "stretches", &l.node.Routes.Stream[direction][class])
		}
	}
	return b.String()
}

// showClass is its line, if it was used.
func showClass(b *strings.Builder, from, what string, c *layout.RouteClass) {
	if c.Transfers == 0 {
		return
	}
	fmt.Fprintf(b, "%s: %s, %d %s;", from, routeNames[c.Best], c.Transfers, what)
	for route, name := range routeNames {
		if ns := routeTime(c, route); ns != 0 {
			fmt.Fprintf(b, " %s %.2f us", name, float64(ns)/1e3)
		}
	}
	b.WriteString("\n")
}

// routeLeast is the least length of a class, as node_route_least.
func routeLeast(class int) uint64 {
	power := uint64(1) << (layout.RouteLeastLog + class/2)
	return power + uint64(class&1)*power/2
}

// routeTime is the time of a route, as node_route_time.
func routeTime(c *layout.RouteClass, route int) (least uint32) {
	for _, ns := range c.Sample[route] {
		if ns != 0 && (least == 0 || ns < least) {
			least = ns
		}
	}
	return least
}
