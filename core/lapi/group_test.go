package lapi

import (
	"math"
	"runtime"
	"testing"

	"lapi/core/lapi/codes"
	"lapi/transport"
)

// group makes a group of these tasks, which must succeed.
func (k *testTask) group(t testing.TB, members ...uint32) uint32 {
	t.Helper()
	var name uint32
	if code := k.GroupCreate(uint32(len(members)), at(&members[0]),
		at(&name)); code != codes.Success || name == 0 {
		t.Fatalf("group of %v: %s, named %d", members, codes.Name(code), name)
	}
	runtime.KeepAlive(members)
	return name
}

func TestGroupErrors(t *testing.T) {
	j := newJob(t, 3, paths["shm"])
	k := j.tasks[0]
	members := []uint32{0, 1, 2, 0}
	name := uint32(77)
	list, to := at(&members[0]), at(&name)
	want(t, "no list", k.GroupCreate(1, 0, to), codes.ErrRetPtrNull)
	want(t, "no place for the name", k.GroupCreate(1, list, 0), codes.ErrRetPtrNull)
	want(t, "nobody", k.GroupCreate(0, list, to), codes.ErrTgt)
	want(t, "more than there are", k.GroupCreate(4, list, to), codes.ErrTgt)
	want(t, "far more", k.GroupCreate(math.MaxUint32, list, to), codes.ErrTgt)
	members[2] = 3
	want(t, "no such task", k.GroupCreate(3, list, to), codes.ErrTgt)
	members[2] = 0
	want(t, "a task twice", k.GroupCreate(3, list, to), codes.ErrTgt)
	if name != 77 || len(k.groups) != 0 {
		t.Errorf("calls that fail leave name %d and %d groups", name, len(k.groups))
	}
	if _, raised := k.NextError(); raised {
		t.Error("the error handler hears of bad arguments")
	}
	for _, e := range []struct {
		what     string
		list, to transport.Addr
	}{{"a list that cannot be read", 0x1000, to}, {"a name that cannot be stored", list, 0x1000}} {
		want(t, e.what, k.GroupCreate(1, e.list, e.to), codes.ErrRetPtrNull)
		if event, _ := k.NextError(); event.Code != codes.ErrRetPtrNull || len(k.groups) != 0 {
			t.Errorf("%s: the error handler hears %s, there are %d groups",
				e.what, codes.Name(event.Code), len(k.groups))
		}
	}
	want(t, "a group that never was", k.GroupFree(0), codes.ErrTgt)
	runtime.KeepAlive(members)
}

// TestGroupNames: a freed name is never another group, nor is that of another context.
func TestGroupNames(t *testing.T) {
	j := newJob(t, 2, paths["shm"])
	a, b := j.tasks[0], j.tasks[1]
	first := a.group(t, 0, 1)
	want(t, "another context's", b.GroupFree(first), codes.ErrTgt)
	want(t, "free", a.GroupFree(first), codes.Success)
	want(t, "free again", a.GroupFree(first), codes.ErrTgt)
	second := a.group(t, 1)
	want(t, "a freed name", a.GroupFree(first), codes.ErrTgt)

	lastGroup.Store(second - 2) // names in use are left out, and 0
	before := a.group(t, 0)
	after := a.group(t, 0)
	if before != second-1 || after != second+1 {
		t.Errorf("names %d and %d around %d", before, after, second)
	}
	lastGroup.Store(math.MaxUint32)
	if name := a.group(t, 0); name == 0 {
		t.Error("a group has the name 0")
	}
}

// TestGroupsLimit: MaxGroups at a time, any number one after the other.
func TestGroupsLimit(t *testing.T) {
	j := newJob(t, 1, nil)
	k := j.tasks[0]
	var names []uint32
	for range MaxGroups {
		names = append(names, k.group(t, 0))
	}
	self, name := uint32(0), uint32(0)
	want(t, "one too many", k.GroupCreate(1, at(&self), at(&name)), codes.ErrMemoryExhausted)
	want(t, "free", k.GroupFree(names[100]), codes.Success)
	want(t, "another", k.GroupCreate(1, at(&self), at(&name)), codes.Success)
	runtime.KeepAlive([]any{names, &self, &name})
}
