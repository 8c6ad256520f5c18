package main

// #include "dat/godat.h"
// #include "dat/calls.h"
// #include <dat2/udat.h>
// #include <dat2/dat_registry.h>
import "C"

import (
	"unsafe"

	"lapi/core/dat/codes"
	"lapi/core/dat/registry"
	"lapi/transport"
	"lapi/transport/memory"
)

func initRegistryCalls() {
	d := &datCalls
	d[C.DAT_CALL_registry_list_providers] = listProviders
	d[C.DAT_CALL_registry_add_provider] = addProvider
	d[C.DAT_CALL_registry_remove_provider] = func(c *datCall) codes.Return {
		e, ok := providerInfo(c)
		switch {
		case !ok:
			return codes.Arg(2)
		case !udapl.lib.Registry().Remove(e.Name, e.Major, e.Minor, e.ThreadSafe):
			return codes.ProviderNotFound.With(codes.NameNotRegistered)
		}
		return codes.Success
	}
	d[C.DAT_CALL_registry_providers_related] = func(c *datCall) codes.Return {
		if c.needs(2) {
			return codes.Arg(3)
		}
		set(c, 2, uint32(C.DAT_HA_FALSE))
		return codes.Success
	}
	d[C.DAT_CALL_registry_candidate] = candidate
	d[C.DAT_CALL_registry_has_table] = func(c *datCall) codes.Return {
		if !udapl.lib.Registry().HasTable(c[0]) {
			return codes.ProviderNotFound.With(codes.NameNotRegistered)
		}
		return codes.Success
	}
	d[C.DAT_CALL_registry_message] = func(c *datCall) codes.Return {
		datHost{}.Message(c.str(0))
		return codes.Success
	}
}

// addProvider registers a table: argument 2 says that its functions are this library's, so that its
// address is another registry's mark of objects, and no way to open adapters.
func addProvider(c *datCall) codes.Return {
	e, ok := providerInfo(c)
	if !ok {
		return codes.Arg(2)
	}
	own := c.u(2) != 0
	if !own {
		e.Table = c[0]
	}
	if udapl.lib.Registry().Add(e) != nil {
		return codes.ProviderAlreadyRegistered.With(codes.NoSubtype)
	}
	if own {
		udapl.lib.SetTable(e.Name, c[0])
	}
	return codes.Success
}

// candidate is the adapter of a name with index argument 4 in the order to try them.
func candidate(c *datCall) codes.Return {
	found, missing := udapl.lib.Registry().Lookup(c.str(0), c.u(1), c.u(2), c.u(3) != 0)
	index := c.i(4)
	switch {
	case missing != registry.Found:
		return codes.ProviderNotFound.With(
			codes.NameNotRegistered + codes.Subtype(missing-registry.NoName))
	case index >= len(found):
		return codes.ProviderNotFound.With(codes.NameNotRegistered)
	}
	e, to := found[index], at[C.dat_candidate](c, 5)
	switch {
	case e.Table != 0:
		to.table = C.uint64_t(e.Table)
	case e.Provided:
		to.library, to.params = datString(e.Library), datString(e.Params)
	}
	return codes.Success
}

func providerInfo(c *datCall) (e registry.Entry, ok bool) {
	p := at[C.DAT_PROVIDER_INFO](c, 1)
	if p == nil {
		return e, false
	}
	return registry.Entry{Name: C.GoString(&p.ia_name[0]), Major: uint32(p.dapl_version_major),
		Minor: uint32(p.dapl_version_minor), ThreadSafe: p.is_thread_safe != 0,
		Library: "program", Default: true}, true
}

func listProviders(c *datCall) codes.Return {
	all := udapl.lib.Registry().List()
	set(c, 1, int32(len(all)))
	switch n := c.i(0); {
	case n <= 0:
		return codes.Arg(1)
	case c.needs(1):
		return codes.Arg(2)
	case c.needs(2):
		return codes.Arg(3)
	default:
		infos, ok := infosAt(c, 2, min(n, len(all)))
		if !ok {
			return codes.Arg(3)
		}
		for i, p := range infos {
			put(p.ia_name[:], all[i].Name)
			p.dapl_version_major, p.dapl_version_minor = C.DAT_UINT32(all[i].Major),
				C.DAT_UINT32(all[i].Minor)
			p.is_thread_safe = cBool(all[i].ThreadSafe)
		}
		return codes.Success
	}
}

// infosAt are n pointers at argument i, to what can be written; ok is false otherwise.
func infosAt(c *datCall, i, n int) (infos []*C.DAT_PROVIDER_INFO, ok bool) {
	const word = uint64(unsafe.Sizeof(uintptr(0)))
	if memory.Readable(transport.Addr(c[i]), uint64(n)*word) != nil {
		return nil, false
	}
	infos = list[*C.DAT_PROVIDER_INFO](c, i, n)
	for _, p := range infos {
		at := transport.Addr(uintptr(unsafe.Pointer(p)))
		if memory.Writable(at, uint64(unsafe.Sizeof(*p))) != nil {
			return nil, false
		}
	}
	return infos, true
}
