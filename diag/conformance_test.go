package diag_test

import (
	"context"
	"encoding/xml"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// TestConformanceSSRF holds the guard and the parsers of hosts and URLs against what is public, and what is not.
func TestConformanceSSRF(t *testing.T) {
	type vectors struct {
		Deny  []string `json:"deny_ip"`
		Allow []string `json:"allow_ip"`
		URLs  []struct {
			URL     string
			Allowed bool
			Why     string
		}
	}
	passed, total := 0, 0
	judge := func(what, why string, want, got bool) {
		if total++; want == got {
			passed++
			return
		}
		t.Errorf("%s (%s): allowed is %v", what, why, got)
	}
	for _, v := range diagtest.Documents[vectors](t, diagtest.Vectors(t, "web/ssrf/vectors.json")) {
		for want, list := range map[bool][]string{false: v.Deny, true: v.Allow} {
			for _, s := range list {
				judge(s, "address", want, public(netip.MustParseAddr(s)))
			}
		}
		for _, u := range v.URLs {
			judge(u.URL, u.Why, u.Allowed, connects(t, u.URL))
		}
	}
	require.NotZero(t, total)
	t.Logf("web/ssrf: %d/%d", passed, total)
}

// connects reports whether a URL leads to a connection in a world where every name has a public
// address, but for those of services that put an address into a name.
func connects(t *testing.T, text string) bool {
	u, err := diag.ParseURL(text)
	if err != nil {
		return false
	}
	name := u.Host().Name() + "."
	address := "93.184.216.34"
	if inner, ok := strings.CutSuffix(name, ".nip.io."); ok {
		address = inner
	}
	dialled := false
	env := &diag.Env{Resolver: oneAddress(name + " A " + address), Dial: func(context.Context, string, string) (net.Conn, error) {
		dialled = true
		near, _ := net.Pipe()
		return near, nil
	}}
	conn, err := env.DialHost(t.Context(), u.Host().Name(), u.Port(), diag.WebPorts)
	if err != nil {
		require.False(t, dialled, "%s must not be dialled", text)
		return false
	}
	require.NoError(t, conn.Close())
	return true
}

// oneAddress is a DNS of one record.
type oneAddress string

func (o oneAddress) Exchange(_ context.Context, q *dns.Msg) (*dns.Msg, error) {
	rr, err := dns.NewRR(string(o))
	m := new(dns.Msg).SetReply(q)
	if h := rr.Header(); h.Name == q.Question[0].Name && h.Rrtype == q.Question[0].Qtype {
		m.Answer = []dns.RR{rr}
	}
	return m, err
}

// public reports whether the guard lets connections to an address pass.
func public(addr netip.Addr) bool {
	return new(diag.Guard).Check(netip.AddrPortFrom(addr, 443), diag.WebPorts) == nil
}

// TestConformanceSpecialPurpose holds the guard against IANA's registries: the first and the last
// address of every entry is refused.
func TestConformanceSpecialPurpose(t *testing.T) {
	passed, total := 0, 0
	for _, file := range diagtest.Vectors(t, "dns/bootstrap/iana-*-special-registry.xml") {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var registry struct {
			Records []struct {
				Address string `xml:"address"`
			} `xml:"registry>record"`
		}
		require.NoError(t, xml.Unmarshal(text, &registry))
		require.NotEmpty(t, registry.Records)
		for _, r := range registry.Records {
			for network := range strings.SplitSeq(r.Address, ",") {
				prefix := netip.MustParsePrefix(strings.TrimSpace(network))
				total++
				if public(prefix.Addr()) || public(last(prefix)) {
					t.Errorf("%s is allowed", prefix)
					continue
				}
				passed++
			}
		}
	}
	t.Logf("dns/bootstrap special-purpose networks: %d/%d", passed, total)
}

// last returns the last address of a network.
func last(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for i := p.Bits(); i < len(b)*8; i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	ip, _ := netip.AddrFromSlice(b)
	return ip
}
