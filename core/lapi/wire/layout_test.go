package wire

import (
	"encoding/hex"
	"strings"
	"testing"
)

// TestFormats holds each header against its bytes: what is here crosses the wire, so it changes
// only with CardVersion.
func TestFormats(t *testing.T) {
	const a, b, c = 0x1122334455667788, 0x99, 0xaabb
	for name, k := range map[string]struct {
		encode func([]byte) []byte
		want   string
	}{
		"put": {(&Put{a, b, c}).Encode,
			"8877665544332211 9900000000000000 bbaa000000000000"},
		"put direct": {(&PutDirect{a, b, c}).Encode,
			"8877665544332211 9900000000000000 bbaa000000000000"},
		"put fragment": {(&PutFragment{Put{a, b, c}, 7, 5, 9}).Encode,
			"8877665544332211 9900000000000000 bbaa000000000000 0700000000000000 0500000000000000 0900000000000000"},
		"get": {(&Get{a, 5, b, c, true}).Encode,
			"8877665544332211 0500000000000080 9900000000000000 bbaa000000000000"},
		"part": {(&Part{a, b}).Encode, "8877665544332211 9900000000000000"},
		"active message": {(&Am{a, 5, b, c, 7, 8, 9, 10, true, true, true, 32}).Encode,
			"8877665544332211 0500000000000000 9900000000000000 bbaa000000000000 0700000000000000 0800000000000000 09000000 0a00 0720"},
		"its vector": {(&Amv{1, 2, a, 5, 6}).Encode,
			"01000000 02000000 8877665544332211 0500000000000000 0600000000000000"},
		"vector": {(&Vector{a, b, 6, 5, true, 4, 3, c, 2, 1}).Encode,
			"8877665544332211 9900000000000000 0600000000000080 0500000000000000 04000000 03000000 bbaa000000000000 0200000000000000 0100000000000000"},
		"completion": {(&Completion{a, b}).Encode, "8877665544332211 9900000000000000"},
		"read":       {(&Read{a, b}).Encode, "8877665544332211 9900000000000000"},
		"fetched":    {(&Fetched{a, FetchPlaced}).Encode, "8877665544332211 0300000000000000"},
		"exchange":   {(&Exchange{1, 2, 3, 4}).Encode, "01000000 02000000 03000000 04000000"},
		"fault": {(&Fault{1, 2, a, b}).Encode,
			"01000000 02000000 8877665544332211 9900000000000000"},
	} {
		if got := hex.EncodeToString(k.encode(make([]byte, 128))); got !=
			strings.ReplaceAll(k.want, " ", "") {
			t.Errorf("%s is %s, want %s", name, got, k.want)
		}
	}
}
