package dgsm

import "lapi/core/lapi/codes"

// control is what a CONTROL instruction sets: arguments of the DDM function.
type control struct{ operation, operand int32 }

// NoControl is the operation out of CONTROL mode: LAPI_DGSM_NO_CTL.
const NoControl = -1

var noControl = control{operation: NoControl}

// op is one step of a routine, with at least one byte. Without sub it is count blocks of block
// bytes, the first at offset from the routine's base and each stride further than the one before;
// of a single one stride means nothing. With sub it is count passes of that routine, placed
// likewise, and block is the size of a pass.
type op struct {
	start  uint64 // bytes of the routine's pass before this step
	total  uint64 // block * count
	offset int64
	block  uint64
	count  uint64
	stride int64
	sub    *routine
	ctl    control // in force, if set; else what was in force when the pass began
	set    bool
}

// routine is the path from one entry to its ITERATE. Nothing in a program depends on data, so there
// is only one path.
type routine struct {
	entry  int
	ops    []op
	size   uint64   // bytes of a pass
	bounds interval // touched by a pass, from its base
	height int      // routines active at once in a pass, this one included
	loops  bool     // its ITERATE branches to entry, so that it can be repeated
	sets   bool     // a pass leaves exit in force
	exit   control

	decoding   bool // on the decoder's path: a GOSUB to it would be recursion
	simplified bool
}

// decoder turns code into routines.
type decoder struct {
	code     []int32
	limit    int // of nesting
	verify   bool
	routines map[int]*routine // by entry
	// budget is how many steps may still be taken. Routines of a sane program share no code;
	// entries into the middle of each other could cost the square of the code.
	budget  int
	control bool
}

// checkDescriptor makes the checks that registering makes with and without verification.
func checkDescriptor(d Descriptor, codeSize int) *Error {
	switch {
	case d.AtomSize < 0 || d.AtomSize > MaxAtomSize:
		return errorf(codes.ErrDgspAtom, "atom_size is %d, not 0 to %d", d.AtomSize, MaxAtomSize)
	case codeSize <= 0:
		return errorf(codes.ErrDgspOther, "code_size is %d", codeSize)
	case d.Density < Sparse || d.Density > Unit:
		return errorf(codes.ErrDgspOther, "density is %d", d.Density)
	case d.Size < 0:
		return errorf(codes.ErrDgspOther, "size is %d", d.Size)
	}
	return nil
}

// decode fills in what New has not set.
func (p *Program) decode(verify bool) *Error {
	d := &decoder{code: p.code, verify: verify, routines: map[int]*routine{},
		budget: 4*len(p.code) + 16}
	d.limit = min(int(p.Depth), MaxDepth)
	main, err := d.routine(0, 1)
	if err != nil {
		return err
	}
	p.main, p.control, p.depth = main, d.control, main.height
	if p.control && p.Density != Sparse {
		return errorf(codes.ErrDgspCtl, "a program with CONTROL must be LAPI_DGSM_SPARSE")
	}
	if !p.control { // each COPY is a call of the DDM function: they must stay what they are
		main.simplify()
		p.regular = p.flatten()
	}
	return nil
}

// routine decodes the routine at entry, which is active as the depth-th.
func (d *decoder) routine(entry, depth int) (*routine, *Error) {
	if depth > d.limit {
		return nil, errorf(codes.ErrDgspStack, "code[%d]: %d routines active, depth is %d",
			entry, depth, d.limit)
	}
	if r := d.routines[entry]; r != nil {
		switch {
		case r.decoding:
			return nil, errorf(codes.ErrDgspStack, "code[%d]: the routine calls itself", entry)
		case depth+r.height-1 > d.limit:
			return nil, errorf(codes.ErrDgspStack, "code[%d]: %d routines active, depth is %d",
				entry, depth+r.height-1, d.limit)
		}
		return r, nil
	}
	r := &routine{entry: entry, height: 1, decoding: true}
	d.routines[entry] = r
	t := path{d: d, r: r, ic: entry, depth: depth}
	for done := false; !done; {
		var err *Error
		if done, err = t.step(); err != nil {
			return nil, err
		}
	}
	r.decoding = false
	return r, nil
}

// path is the decoder on its way through a routine.
type path struct {
	d     *decoder
	r     *routine
	ic    int
	depth int
	steps int
	ctl   control // in force here, if set
	set   bool
}

// take spends n steps of the budget.
func (t *path) take(n int) *Error {
	// A path that is longer than the code has passed an instruction twice, and would for ever.
	if t.steps += n; t.steps > len(t.d.code) {
		return errorf(codes.ErrDgspBranch, "code[%d]: the routine never comes to an ITERATE",
			t.r.entry)
	}
	if t.d.budget -= n; t.d.budget < 0 {
		return errorf(codes.ErrDgspOther, "code[%d]: too many routines share their code", t.r.entry)
	}
	return nil
}

// need makes sure that an instruction of size ints lies in the code.
func (t *path) need(size int64) *Error {
	if int64(len(t.d.code)-t.ic) < size {
		return errorf(codes.ErrDgspOther, "code[%d]: the instruction is cut off by code_size", t.ic)
	}
	return nil
}

// step decodes the instruction at ic; true after the ITERATE.
func (t *path) step() (done bool, err *Error) {
	if t.ic < 0 || t.ic >= len(t.d.code) {
		return false, errorf(codes.ErrDgspBranch, "the routine at code[%d] leaves the code, to %d",
			t.r.entry, t.ic)
	}
	if err := t.take(1); err != nil {
		return false, err
	}
	switch opcode(t.d.code[t.ic]) {
	case opCopy:
		return false, t.copy()
	case opMcopy:
		return false, t.mcopy()
	case opGosub:
		return false, t.gosub()
	case opIterate:
		return true, t.iterate()
	case opControl:
		return false, t.control()
	}
	return false, errorf(codes.ErrDgspOpc, "code[%d]: opcode %d", t.ic, t.d.code[t.ic])
}

func (t *path) copy() *Error {
	if err := t.need(copySize); err != nil {
		return err
	}
	code := t.d.code
	if err := t.block(long(code, t.ic+copyBytes), long(code, t.ic+copyOffset)); err != nil {
		return err
	}
	t.ic += copySize
	return nil
}

func (t *path) mcopy() *Error {
	if err := t.need(mcopyBlocks); err != nil {
		return err
	}
	code, count := t.d.code, t.d.code[t.ic+mcopyCount]
	if count < 0 {
		return errorf(codes.ErrDgspCopySz, "code[%d]: MCOPY of %d blocks", t.ic, count)
	}
	if err := t.need(mcopyBlocks + int64(count)*blockSize); err != nil {
		return err
	}
	if err := t.take(int(count)); err != nil {
		return err
	}
	at := t.ic + mcopyBlocks
	for range count {
		if err := t.block(long(code, at+blockLen), long(code, at+blockDisp)); err != nil {
			return err
		}
		at += blockSize
	}
	t.ic = at
	return nil
}

// block adds n bytes at offset.
func (t *path) block(n, offset int64) *Error {
	if n < 0 {
		return errorf(codes.ErrDgspCopySz, "code[%d]: %d bytes", t.ic, n)
	}
	if n == 0 {
		return nil
	}
	return t.add(op{offset: offset, block: uint64(n), count: 1})
}

func (t *path) gosub() *Error {
	if err := t.need(gosubSize); err != nil {
		return err
	}
	code, at := t.d.code, t.ic
	to, ret := int64(at)+int64(code[at+gosubTo]), int64(at)+int64(code[at+gosubRet])
	reps := long(code, at+gosubReps)
	switch {
	case reps < 0:
		return errorf(codes.ErrDgspReps, "code[%d]: %d repetitions", at, reps)
	case to < 0 || to >= int64(len(code)):
		return errorf(codes.ErrDgspBranch, "code[%d]: GOSUB to %d", at, to)
	case ret < 0 || ret >= int64(len(code)):
		return errorf(codes.ErrDgspBranch, "code[%d]: GOSUB returns to %d", at, ret)
	}
	t.ic = int(ret)
	if reps == 0 {
		return nil
	}
	sub, err := t.d.routine(int(to), t.depth+1)
	if err != nil {
		return err
	}
	if reps > 1 && !sub.loops {
		return errorf(codes.ErrDgspBranch,
			"code[%d]: the ITERATE does not branch to its routine's beginning", sub.entry)
	}
	t.r.height = max(t.r.height, sub.height+1)
	if sub.size > 0 {
		call := op{offset: long(code, at+gosubOffset), block: sub.size, count: uint64(reps),
			stride: long(code, at+gosubStride), sub: sub}
		if err := t.add(call); err != nil {
			return err
		}
	}
	if sub.sets {
		t.ctl, t.set = sub.exit, true
	}
	return nil
}

func (t *path) iterate() *Error {
	if err := t.need(iterateSize); err != nil {
		return err
	}
	target := int64(t.ic) + int64(t.d.code[t.ic+iterateLoc])
	// Unverified, a wrong branch is an error only where it would be taken: a routine that runs
	// once never does.
	if t.d.verify && (target < 0 || target >= int64(len(t.d.code))) {
		return errorf(codes.ErrDgspBranch, "code[%d]: ITERATE to %d", t.ic, target)
	}
	t.r.loops = target == int64(t.r.entry)
	t.r.sets, t.r.exit = t.set, t.ctl
	return nil
}

func (t *path) control() *Error {
	if err := t.need(controlSize); err != nil {
		return err
	}
	t.ctl, t.set = control{t.d.code[t.ic+controlOperation], t.d.code[t.ic+controlOperand]}, true
	if t.ctl.operation < NoControl {
		return errorf(codes.ErrDgspCtl, "code[%d]: CONTROL operation %d", t.ic, t.ctl.operation)
	}
	t.d.control = true
	t.ic += controlSize
	return nil
}

// add appends a step to the routine.
func (t *path) add(o op) *Error {
	o.ctl, o.set = t.ctl, t.set
	if o.block > MaxBytes/o.count {
		return errorf(codes.ErrDgspOther, "code[%d]: more bytes than can be counted", t.ic)
	}
	o.start, o.total = t.r.size, o.block*o.count
	if o.total > MaxBytes-t.r.size {
		return errorf(codes.ErrDgspOther, "code[%d]: more bytes than can be counted", t.ic)
	}
	touched, ok := o.bounds()
	if !ok {
		return errorf(codes.ErrDgspOther, "code[%d]: offsets that do not fit a long", t.ic)
	}
	t.r.bounds = t.r.bounds.union(touched)
	t.r.size += o.total
	t.r.ops = append(t.r.ops, o)
	return nil
}

// verify compares a decoded program with what its descriptor says.
func (p *Program) verify() *Error {
	main := p.main
	switch {
	case !main.loops:
		return errorf(codes.ErrDgspBranch,
			"the main routine's ITERATE does not branch to its beginning")
	case main.size != uint64(p.Size):
		return errorf(codes.ErrDgspOther, "size is %d, but the code covers %d bytes",
			p.Size, main.size)
	case main.size > 0 && (main.bounds.lo < p.Lext || main.bounds.hi > p.Rext):
		return errorf(codes.ErrDgspOther,
			"the code covers bytes from %d to %d, outside lext %d and rext %d",
			main.bounds.lo, main.bounds.hi, p.Lext, p.Rext)
	case p.Density == Sparse || main.size == 0:
		return nil
	case len(main.ops) > 1 || main.ops[0].sub != nil || main.ops[0].count > 1:
		return errorf(codes.ErrDgspOther, "the density promises one block, the code has more")
	case p.Density == Unit && p.Extent != p.Size:
		return errorf(codes.ErrDgspOther, "LAPI_DGSM_UNIT with an extent of %d and a size of %d",
			p.Extent, p.Size)
	}
	return nil
}
