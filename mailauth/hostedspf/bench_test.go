package hostedspf

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
)

// hostile returns a world in which records have the maximum length and signs alternate.
func hostile(t testing.TB) (*diagtest.World, string) {
	w := diagtest.NewWorld(t)
	source := "v=spf1"
	n := 0
	for i := range 8 {
		var b strings.Builder
		b.WriteString("v=spf1")
		for b.Len() < 8000 {
			a := netip.AddrFrom4([4]byte{byte(1 + n>>14), byte(n >> 7), byte(n << 1), 0})
			fmt.Fprintf(&b, " %sip4:%s", []string{"", "-"}[n%2], a)
			n++
		}
		w.Zone(fmt.Sprintf("n%d.example. TXT", i) + quoted(b.String()))
		source += fmt.Sprintf(" include:n%d.example", i)
	}
	return w, source + " -all"
}

// BenchmarkFlattenHostile bounds the cost of untrusted records.
func BenchmarkFlattenHostile(b *testing.B) {
	w, source := hostile(b)
	for b.Loop() {
		if flatten(b, w, source).Published != nil {
			b.Fatal("so much cannot be published")
		}
	}
}

// BenchmarkFlatten measures a tree of common size: eight services with twenty networks each.
func BenchmarkFlatten(b *testing.B) {
	w := diagtest.NewWorld(b)
	source := "v=spf1"
	for i := range 8 {
		text := "v=spf1"
		for j := range 20 {
			text += fmt.Sprintf(" ip4:192.%d.%d.0/26", i, 3*j)
		}
		w.Zone(fmt.Sprintf("n%d.example. TXT", i) + quoted(text+" ~all"))
		source += fmt.Sprintf(" include:n%d.example", i)
	}
	req := FlattenRequest{diag.MustDomain("example.com"), source + " -all", diag.MustName(host), false, false}
	for b.Loop() {
		if r, err := Flatten(b.Context(), w.Env(), req); err != nil || r.Published == nil {
			b.Fatal(err, r)
		}
	}
}
