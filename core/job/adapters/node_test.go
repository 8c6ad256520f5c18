package adapters

import "testing"

func TestList(t *testing.T) {
	n, err := List()
	if err != nil {
		t.Fatal(err)
	}
	lo, ok := n.device("lo")
	if !ok || !lo.Loopback {
		t.Errorf("%+v", n)
	}
	if again, err := List(); err != nil || again.Namespace != n.Namespace {
		t.Errorf("%d, then %d, %v", n.Namespace, again.Namespace, err)
	}
}
