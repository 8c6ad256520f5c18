package codes

import "testing"

// The numbers are those of the deployed library, which programs compare with.
func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		got  Return
		want uint32
	}{
		{ProviderNotFound.With(NameNotRegistered), 0x800a0064},
		{QueueEmpty.Raw(), 0x000d0000},
		{QueueEmpty.With(NoSubtype), 0x800d0000},
		{TimeoutExpired.With(NoSubtype), 0x800f0000},
		{InvalidState.With(InvalidStateEPUnconnected), 0x8007002f},
		{InvalidState.With(InvalidStateEVDInUse), 0x8007004a},
		{InvalidState.With(InvalidStateIAInUse), 0x80070050},
		{BadHandle(InvalidHandleIA), 0x8005000b},
		{Arg(1), 0x80060025},
		{Arg(10), 0x8006002e},
		{NotImplemented.Raw(), 0x3fff0000},
		{InvalidState.With(InvalidStatePZInUse), 0x80070053},
	} {
		if uint32(c.got) != c.want {
			t.Errorf("%#x, want %#x", uint32(c.got), c.want)
		}
	}
	if ThreadSafetyNotFound != 0x67 || PrivilegesRead != 0x59 {
		t.Error("a subtype is missing before these")
	}
}
