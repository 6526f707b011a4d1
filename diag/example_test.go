package diag_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

// zone is a resolver that knows a few records by heart.
type zone map[string]string

func (z zone) Exchange(_ context.Context, q *dns.Msg) (*dns.Msg, error) {
	m := new(dns.Msg).SetReply(q)
	if line, ok := z[q.Question[0].Name+" "+dns.TypeToString[q.Question[0].Qtype]]; ok {
		rr, err := dns.NewRR(line)
		if err != nil {
			return nil, err
		}
		m.Answer = []dns.RR{rr}
	}
	return m, nil
}

// The world comes in through an Env. Here the DNS is replaced, and the rest is the real world.
func ExampleEnv() {
	env := &diag.Env{
		Resolver: zone{"inside.example.com. A": "inside.example.com. 60 IN A 10.0.0.1"},
	}
	_, err := env.DialHost(context.Background(), "inside.example.com", 443, diag.WebPorts)
	blocked, ok := errors.AsType[*diag.BlockedError](err)
	fmt.Println(ok, blocked)
	// Output: true connecting to 10.0.0.1:443: the address is not public
}

func ExampleLookup() {
	env := &diag.Env{Resolver: zone{"example.com. MX": "example.com. 300 IN MX 10 mail.example.com."}}
	ctx := context.Background()
	domain := diag.MustDomain("example.com")

	mx := diag.Lookup[*dns.MX](ctx, env, domain.FQDN())
	for _, r := range mx.Records {
		fmt.Println(r.Preference, r.Mx)
	}
	txt := diag.Lookup[*dns.TXT](ctx, env, domain.Sub("_dmarc"))
	fmt.Println(txt.Exists(), txt.Err()) // there is no record, and that is known
	// Output:
	// 10 mail.example.com.
	// false <nil>
}

// A request with these types in it is validated by being decoded.
func ExampleParseDomain() {
	var request struct {
		Domain diag.Domain `json:"domain"`
	}
	_ = json.Unmarshal([]byte(`{"domain": "Bücher.example."}`), &request)
	fmt.Println(request.Domain, request.Domain.Unicode())

	err := json.Unmarshal([]byte(`{"domain": "exa mple.com"}`), &request)
	fmt.Println(err)
	// Output:
	// xn--bcher-kva.example bücher.example
	// domain: "exa mple.com" is not a domain name: it must not contain ' '
}

func ExampleParseURL() {
	u, _ := diag.ParseURL("Example.com/a/../b?q=1")
	fmt.Println(u, u.Host(), u.Port())

	u, _ = diag.ParseURL("http://0x7f.1/") // as a browser reads it
	ip, _ := u.Host().IP()
	fmt.Println(u, ip)
	// Output:
	// https://example.com/b?q=1 example.com 443
	// http://127.0.0.1/ 127.0.0.1
}

func ExampleGuard() {
	guard := diag.Guard{AllowNetworks: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
	fmt.Println(guard.Check(netip.MustParseAddrPort("10.0.0.1:443"), diag.WebPorts))
	fmt.Println(guard.Check(netip.MustParseAddrPort("169.254.169.254:80"), diag.WebPorts))
	// Output:
	// <nil>
	// connecting to 169.254.169.254:80: the address is not public
}
