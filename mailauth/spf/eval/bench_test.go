package eval

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"testing"

	"blitiri.com.ar/go/spf"
	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// tenTerms is a record of ten terms, typical of a larger domain.
const tenTerms = "v=spf1 ip4:192.0.2.0/24 ip4:198.51.100.7 ip6:2001:db8::/32 a mx a:relay.example.com/29 " +
	"include:_spf.example.net include:mail.example.org exists:%{i}._spf.%{d2} ~all"

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Parse(tenTerms)
	}
}

// typical is the policy of a larger domain: its networks, its hosts, and two services. The host passes by a late
// term.
const typical = `
example.com.           TXT "v=spf1 ip4:192.0.2.0/24 ip4:198.51.100.7 ip6:2001:db8::/32 a mx include:_spf.example.net include:mail.example.org exists:%{i}._spf.%{d2} -all"
example.com.           A   192.0.2.10
example.com.           MX  10 mx.example.com.
mx.example.com.        A   192.0.2.25
_spf.example.net.      TXT "v=spf1 ip4:198.51.100.16/28 ip4:198.51.100.32/28 ip6:2001:db8:1::/48 ~all"
mail.example.org.      TXT "v=spf1 ip4:203.0.113.0/28 a:out.example.org ~all"
out.example.org.       A   203.0.113.20
203.0.113.99._spf.example.com. A 127.0.0.2
`

// memory holds the prepared records of a zone for both implementations.
type memory struct {
	messages map[dns.Question]*dns.Msg
	texts    map[string][]string
	mx       map[string][]*net.MX
	addrs    map[string][]net.IPAddr
}

func memoryOf(tb testing.TB, zone string) *memory {
	r := &memory{map[dns.Question]*dns.Msg{}, map[string][]string{}, map[string][]*net.MX{}, map[string][]net.IPAddr{}}
	p := dns.NewZoneParser(strings.NewReader(zone), ".", "")
	p.SetDefaultTTL(300)
	for rr, ok := p.Next(); ok; rr, ok = p.Next() {
		h := rr.Header()
		q := dns.Question{Name: h.Name, Qtype: h.Rrtype, Qclass: h.Class}
		m := r.messages[q]
		if m == nil {
			m = new(dns.Msg).SetReply(&dns.Msg{Question: []dns.Question{q}})
			r.messages[q] = m
		}
		m.Answer = append(m.Answer, rr)
		switch name := strings.TrimSuffix(h.Name, "."); rr := rr.(type) {
		case *dns.TXT:
			r.texts[name] = append(r.texts[name], strings.Join(rr.Txt, ""))
		case *dns.MX:
			r.mx[name] = append(r.mx[name], &net.MX{Host: rr.Mx, Pref: rr.Preference})
		case *dns.A:
			r.addrs[name] = append(r.addrs[name], net.IPAddr{IP: rr.A})
		}
	}
	require.NoError(tb, p.Err())
	return r
}

// Exchange makes the records a [diag.Resolver].
func (r *memory) Exchange(_ context.Context, q *dns.Msg) (*dns.Msg, error) {
	if m := r.messages[q.Question[0]]; m != nil {
		return m, nil
	}
	return new(dns.Msg).SetRcode(q, dns.RcodeNameError), nil
}

// The remaining methods implement the resolver of blitiri.com.ar/go/spf.

func (r *memory) LookupTXT(_ context.Context, name string) ([]string, error) {
	return found(r.texts, name)
}

func (r *memory) LookupMX(_ context.Context, name string) ([]*net.MX, error) {
	return found(r.mx, name)
}

func (r *memory) LookupIPAddr(_ context.Context, name string) ([]net.IPAddr, error) {
	return found(r.addrs, name)
}

func (r *memory) LookupAddr(context.Context, string) ([]string, error) {
	return nil, &net.DNSError{IsNotFound: true}
}

func found[T any](m map[string][]T, name string) ([]T, error) {
	if list := m[strings.TrimSuffix(name, ".")]; list != nil {
		return list, nil
	}
	return nil, &net.DNSError{IsNotFound: true}
}

// BenchmarkCheck evaluates a typical policy to the end with records in memory, here and by blitiri.com.ar/go/spf:
//
//	go test -run '^$' -bench BenchmarkCheck -benchmem ./mailauth/spf/eval
func BenchmarkCheck(b *testing.B) {
	r := memoryOf(b, typical)
	req := Request{IP: netip.MustParseAddr("203.0.113.99"), Sender: "joe@example.com", HELO: "mail.example.com"}
	b.Run("diagkit", func(b *testing.B) {
		env := &diag.Env{Resolver: r}
		b.ReportAllocs()
		for b.Loop() {
			if result, err := Check(b.Context(), env, req); err != nil || result.Outcome != Pass {
				b.Fatal(result, err)
			}
		}
	})
	b.Run("blitiri", func(b *testing.B) {
		ip := net.IP(req.IP.AsSlice())
		b.ReportAllocs()
		for b.Loop() {
			result, err := spf.CheckHostWithSender(ip, req.HELO, req.Sender, spf.WithResolver(r), spf.WithContext(b.Context()))
			if result != spf.Pass {
				b.Fatal(result, err)
			}
		}
	})
}
