package dat

import (
	"reflect"
	"testing"
)

// TestMergeTakesNamedMembers: each bit of dat_ep_modify's mask takes its member of the attributes,
// and no other.
func TestMergeTakesNamedMembers(t *testing.T) {
	var other Attr
	o := reflect.ValueOf(&other).Elem()
	for i := range o.NumField() {
		if f := o.Field(i); f.CanInt() {
			f.SetInt(int64(100 + i))
		} else {
			f.SetUint(uint64(100 + i))
		}
	}
	for i := range o.NumField() {
		got, want := DefaultAttr, DefaultAttr
		reflect.ValueOf(&want).Elem().Field(i).Set(o.Field(i))
		got.merge(1<<(firstAttr+i), &other)
		if got != want {
			t.Errorf("bit %d: %+v, not %+v", firstAttr+i, got, want)
		}
	}
}
