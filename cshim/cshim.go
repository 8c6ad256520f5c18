// Package cshim is the C side of liblapi_r.so. It has no Go code: capi imports it so that the C
// files of its parts become part of the library. They call core by the golapi_ functions
// (context/golapi.h), which capi exports.
//
// Each part is a package. An include names the folder of its header ("node/node.h"), in the part
// itself, too: base names occur twice. Which parts each may include is in core/cparts_test.go. All
// symbols are hidden but those of exports.map.
//
//	lapi      entry points
//	link      lapi_link_*: operations for libraries that move data for others
//	context   context blocks, handles, entering a call, traces
//	dat       uDAPL: api (entry points), rc (connections), coll (groups), evd (events)
//	fortran   the same for Fortran
//	handlers  calls of the user's functions
//	start     starts core at the first call that needs it
//	progress  the lock, waiting, the library's threads
//	lane      the fast path of LAPI's small operations
//	node      data between tasks of a node; transport/shm calls it, too
//	registry  which library serves a name of uDAPL's adapters: what libdat2 is elsewhere
//	coll      reductions of uDAPL's collectives
//	pmix      a client of PMIx; capi calls it
//	cpu       what all ask of the processor
package cshim

import (
	_ "lapi/cshim/coll"
	_ "lapi/cshim/context"
	_ "lapi/cshim/cpu"
	_ "lapi/cshim/dat"
	_ "lapi/cshim/dat/api"
	_ "lapi/cshim/dat/coll"
	_ "lapi/cshim/dat/evd"
	_ "lapi/cshim/dat/rc"
	_ "lapi/cshim/fortran"
	_ "lapi/cshim/handlers"
	_ "lapi/cshim/lane"
	_ "lapi/cshim/lapi"
	_ "lapi/cshim/link"
	_ "lapi/cshim/node"
	_ "lapi/cshim/packets"
	_ "lapi/cshim/progress"
	_ "lapi/cshim/registry"
	_ "lapi/cshim/start"
)
