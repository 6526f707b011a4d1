package dnsmsg

import "testing"

func TestRcodeName(t *testing.T) {
	for rcode, want := range map[int]string{0: "NOERROR", 3: "NXDOMAIN", 16: "BADVERS", 23: "BADCOOKIE", 3841: "RCODE3841"} {
		if got := RcodeName(rcode); got != want {
			t.Errorf("RcodeName(%d) = %s, want %s", rcode, got, want)
		}
	}
}
