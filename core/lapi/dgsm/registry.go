package dgsm

import (
	"sync"

	"lapi/core/lapi/codes"
	"lapi/transport"
	"lapi/transport/arena"
	"lapi/transport/memory"
)

// Registry holds the registered DGSPs of the process by handle. A handle is the address of the
// program's copy in C (Program.Encode), which lies outside the Go heap. A program has two reference
// counts: of the user, 1 when registered, and of the library. It may be named as long as the user's
// is not 0, and its memory is freed when both are 0. The zero Registry is empty. It is safe for
// concurrent use: mu protects everything in it.
type Registry struct {
	mu       sync.Mutex
	programs map[transport.Addr]*registered
	memory   arena.Arena
}

// registered is a program in a Registry.
type registered struct {
	program    *Program
	handle     transport.Addr
	user, held int
	permanent  bool   // its memory is not the registry's, and the user cannot give it back
	block      []byte // its memory
	mapped     bool   // block has a mapping of its own, being too large for the arena
}

// Hold is the library's reference to a registered program. The zero Hold refers to none.
type Hold struct{ r *registered }

// Program is what the reference is to; nil for none.
func (h Hold) Program() *Program {
	if h.r == nil {
		return nil
	}
	return h.r.program
}

// Register copies the lapi_dgsp_descr_t at descriptor and its code. The handle is 0 with an error:
// those of Load, or LAPI_ERR_MEMORY_EXHAUSTED.
func (g *Registry) Register(descriptor transport.Addr, verify bool) (transport.Addr, *Error) {
	p, err := Load(descriptor, verify)
	if err != nil {
		return 0, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	r := &registered{program: p, user: 1}
	if err := g.allocate(r, p.EncodedSize()); err != nil {
		return 0, errorf(codes.ErrMemoryExhausted, "%v", err)
	}
	r.handle = memory.AddrOf(r.block)
	if err := p.Encode(r.handle); err != nil {
		g.free(r)
		return 0, errorf(codes.ErrMemoryExhausted, "%v", err)
	}
	g.enter(r)
	return r.handle, nil
}

// Predefine registers the program at descriptor for good, with that address as its handle:
// LAPI_BYTE, which C defines. Doing so again changes nothing. Errors: those of Load with
// verification.
func (g *Registry) Predefine(descriptor transport.Addr) *Error {
	p, err := Load(descriptor, true)
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.programs[descriptor] == nil {
		g.enter(&registered{program: p, handle: descriptor, user: 1, permanent: true})
	}
	return nil
}

// Reserve adds 1 to the user's count. LAPI_ERR_DGSP: no such program.
func (g *Registry) Reserve(handle transport.Addr) *Error {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := g.programs[handle]
	if r == nil {
		return errorf(codes.ErrDgsp, "%#x is no registered DGSP", uint64(handle))
	}
	r.user++
	return nil
}

// Unreserve takes 1 from the user's count. LAPI_ERR_DGSP: handle is 0. LAPI_ERR_DGSP_FREE: no such
// program, any more or ever, or the predefined one without a Reserve.
func (g *Registry) Unreserve(handle transport.Addr) *Error {
	if handle == 0 {
		return errorf(codes.ErrDgsp, "the DGSP is NULL")
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	r := g.programs[handle]
	if r == nil || r.permanent && r.user == 1 {
		return errorf(codes.ErrDgspFree, "%#x is no registered DGSP that could be given back",
			uint64(handle))
	}
	if r.user--; r.user == 0 {
		delete(g.programs, handle)
		g.dispose(r)
	}
	return nil
}

// Hold finds a program and keeps it until Release, even if the user unreserves it. LAPI_ERR_DGSP:
// no such program.
func (g *Registry) Hold(handle transport.Addr) (Hold, *Error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := g.programs[handle]
	if r == nil {
		return Hold{}, errorf(codes.ErrDgsp, "%#x is no registered DGSP", uint64(handle))
	}
	r.held++
	return Hold{r}, nil
}

// Release gives a reference back, once. It does nothing for the zero Hold.
func (g *Registry) Release(h Hold) {
	if h.r == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	h.r.held--
	g.dispose(h.r)
}

// enter makes a program known. mu is held.
func (g *Registry) enter(r *registered) {
	if g.programs == nil {
		g.programs = map[transport.Addr]*registered{}
	}
	g.programs[r.handle] = r
}

// dispose frees a program without references. mu is held.
func (g *Registry) dispose(r *registered) {
	if r.user == 0 && r.held == 0 {
		g.free(r)
	}
}

// allocate gives r its memory. mu is held.
func (g *Registry) allocate(r *registered, size int) (err error) {
	if r.mapped = size > arena.Largest; r.mapped {
		r.block, err = arena.Map(size)
	} else {
		r.block, err = g.memory.Get(size)
	}
	return err
}

// free takes r's memory back. mu is held.
func (g *Registry) free(r *registered) {
	if r.mapped {
		arena.Unmap(r.block)
	} else {
		g.memory.Put(r.block)
	}
	r.block = nil
}
