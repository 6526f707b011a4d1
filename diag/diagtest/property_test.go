package diagtest_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/miekg/dns"
	"pgregory.net/rapid"
)

// drawName draws a name below example.com. of few letters, so that names meet.
func drawName(t *rapid.T, what string, wildcards bool) string {
	label := rapid.SampledFrom([]string{"a", "b", "c", "d"})
	labels := rapid.SliceOfN(label, 0, 4).Draw(t, what)
	if wildcards && rapid.IntRange(0, 3).Draw(t, "star") == 0 {
		labels = append([]string{"*"}, labels...)
	}
	return strings.Join(append(labels, "example.com."), ".")
}

// drawZone draws a zone with wildcards, delegations, aliases and empty non-terminals.
func drawZone(t *rapid.T) string {
	var b strings.Builder
	b.WriteString("example.com. SOA ns.example.net. hostmaster.example.net. 1 7200 3600 1209600 300\n")
	b.WriteString("example.com. NS ns.example.net.\n")
	cname, other := map[string]bool{"example.com.": false}, map[string]bool{"example.com.": true}
	for range rapid.IntRange(0, 8).Draw(t, "records") {
		name := drawName(t, "owner", true)
		switch kind := rapid.IntRange(0, 9).Draw(t, "kind"); {
		case kind == 0 && !other[name] && !cname[name]:
			fmt.Fprintf(&b, "%s CNAME %s\n", name, drawName(t, "target", false))
			cname[name] = true
		case kind == 1 && !cname[name] && !strings.HasPrefix(name, "*") && name != "example.com.":
			fmt.Fprintf(&b, "%s NS ns.example.net.\n", name)
			other[name] = true
		case !cname[name]:
			fmt.Fprintf(&b, "%s %s\n", name, rapid.SampledFrom([]string{"A 192.0.2.1", `TXT "x"`}).Draw(t, "data"))
			other[name] = true
		}
	}
	return b.String()
}

// The recursive and the authoritative view agree on everything that is not delegated.
func TestViewsAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		world, err := diagtest.New(diagtest.Config{Zone: drawZone(t)})
		if err != nil {
			t.Fatal(err)
		}
		defer world.Close()
		world.Server("ns.example.net", "192.0.2.53")
		name := drawName(t, "question", false)
		q := dnsmsg.Question(name, dns.TypeTXT, false)
		recursive, err := world.Exchange(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		authoritative, err := ask(t.Context(), world, "tcp", netip.MustParseAddr("192.0.2.53").String(), q)
		if err != nil {
			t.Fatal(err)
		}
		referral := len(authoritative.Ns) > 0 && authoritative.Ns[0].Header().Rrtype == dns.TypeNS
		if referral || recursive.Rcode == dns.RcodeServerFailure {
			return
		}
		if a, b := strings.TrimPrefix(summary(authoritative), "aa "), summary(recursive); a != b {
			t.Fatalf("the server says %s\nthe resolver says %s", a, b)
		}
	})
}

func FuzzZone(f *testing.F) {
	f.Add("example.com. MX 10 mx.example.com.", "example.com")
	f.Add("$ORIGIN example.com.\n@ SOA a b 1 2 3 4 5\n* CNAME *\nx DNAME x.x", "a.x.example.com")
	f.Add(". NS .\n. DNAME com.\ncom. DS 1 8 2 00", "\\000.com")
	f.Fuzz(func(t *testing.T, zone, name string) {
		world, err := diagtest.New(diagtest.Config{Zone: zone})
		if (world == nil) == (err == nil) {
			t.Fatalf("world %v, error %v", world, err)
		}
		if err != nil {
			return
		}
		defer world.Close()
		if _, ok := dns.IsDomainName(name); !ok {
			return
		}
		for _, qtype := range []uint16{dns.TypeA, dns.TypeANY, dns.TypeDS, dns.TypeRRSIG} {
			m, err := world.Exchange(t.Context(), dnsmsg.Question(name, qtype, true))
			if err != nil {
				t.Fatal(err)
			}
			if len(m.Question) != 1 || !m.Response {
				t.Fatalf("not a reply: %v", m)
			}
		}
	})
}
