package overlay

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// A zone says the same before and after it is published: random zones with wildcards, aliases and empty non-terminals
// are served by the resolver of diagtest, which is another implementation.
func TestSameAsPublished(t *testing.T) {
	r := rand.New(rand.NewPCG(4592, 2308))
	labels := []string{"a", "b", "*"}
	name := func() string {
		n := "example.com."
		for range r.IntN(4) {
			n = labels[r.IntN(len(labels))] + "." + n
		}
		return n
	}
	nobody, compared := diagtest.NewWorld(t), 0
	for range 120 {
		var b strings.Builder
		b.WriteString("example.com. 3600 SOA ns.example.net. h.example.net. 1 1 1 1 300\n")
		taken := map[string]bool{"example.com.": true}
		for range 1 + r.IntN(6) {
			owner := name()
			switch kind := r.IntN(4); {
			case kind == 0 && !taken[owner]:
				fmt.Fprintf(&b, "%s 60 CNAME %s\n", owner, name())
				taken[owner] = true
			case kind > 0 && (!taken[owner] || owner == "example.com."):
				fmt.Fprintf(&b, "%s 60 %s\n", owner, []string{"A 192.0.2.1", `TXT "x"`, "MX 10 mx.example.net."}[kind-1])
				taken[owner] = true
			}
		}
		world := diagtest.NewWorld(t)
		world.Zone(b.String())
		over := New(nobody, parsed(t, b.String()))
		for range 60 {
			types := []uint16{dns.TypeA, dns.TypeTXT, dns.TypeMX, dns.TypeCNAME, dns.TypeSOA}
			q := dnsmsg.Question(name(), types[r.IntN(len(types))], false)
			want, err := world.Exchange(t.Context(), q)
			require.NoError(t, err)
			got, err := over.Exchange(t.Context(), q)
			require.NoError(t, err)
			if want.Rcode == dns.RcodeServerFailure {
				continue // resolvers differ on endless chains
			}
			require.Equal(t, sorted(want), sorted(got), "%s\n%v", b.String(), q.Question)
			compared++
		}
	}
	require.Greater(t, compared, 4000)
}

// sorted is an answer without the order of its records, and without a negative answer's authority.
func sorted(m *dns.Msg) []string {
	list := []string{dns.RcodeToString[m.Rcode]}
	for _, rr := range m.Answer {
		list = append(list, rr.String())
	}
	slices.Sort(list)
	list = slices.Compact(list) // which the world keeps twice if it is added twice
	return list
}
