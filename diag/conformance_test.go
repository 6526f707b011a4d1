package diag

import (
	"encoding/json"
	"encoding/xml"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// TestConformanceSSRF holds the guard and the parsers of hosts and URLs against vectors of others.
func TestConformanceSSRF(t *testing.T) {
	text, err := os.ReadFile(conformance(t, "web", "ssrf", "vectors.json"))
	require.NoError(t, err)
	var vectors struct {
		Deny  []string `json:"deny_ip"`
		Allow []string `json:"allow_ip"`
		URLs  []struct {
			URL     string
			Allowed bool
			Why     string
		}
	}
	require.NoError(t, json.Unmarshal(text, &vectors))
	total := len(vectors.Deny) + len(vectors.Allow) + len(vectors.URLs)
	require.NotZero(t, total)
	passed := 0
	judge := func(what, why string, want, got bool) {
		if want == got {
			passed++
			return
		}
		t.Errorf("%s (%s): allowed is %v", what, why, got)
	}
	var g Guard
	for want, list := range map[bool][]string{false: vectors.Deny, true: vectors.Allow} {
		for _, s := range list {
			err := g.Check(netip.AddrPortFrom(netip.MustParseAddr(s), 443), WebPorts)
			judge(s, "address", want, err == nil)
		}
	}
	for _, v := range vectors.URLs {
		judge(v.URL, v.Why, v.Allowed, connects(t, v.URL))
	}
	t.Logf("web/ssrf: %d/%d", passed, total)
}

// connects reports whether a URL leads to a connection in a world where every name has a public
// address, but for those of services that put an address into a name.
func connects(t *testing.T, text string) bool {
	u, err := ParseURL(text)
	if err != nil {
		return false
	}
	name := u.Host().Name() + "."
	address := "93.184.216.34"
	if inner, ok := strings.CutSuffix(name, ".nip.io."); ok {
		address = inner
	}
	world := new(fakeDNS).set(name, dns.TypeA, fakeAnswer{records: []string{name + " A " + address}})
	network := &fakeNet{hosts: map[string]fakeHost{address: {}, u.Host().Name(): {}}}
	env := &Env{Resolver: world, Dial: network.dial}
	conn, err := env.DialHost(t.Context(), u.Host().Name(), u.Port(), WebPorts)
	if err != nil {
		require.Empty(t, network.dialedAddrs(), "%s must not be dialled", text)
		return false
	}
	require.NoError(t, conn.Close())
	return true
}

// TestConformanceSpecialPurpose holds the guard against IANA's registries: the first and the last
// address of every entry is refused.
func TestConformanceSpecialPurpose(t *testing.T) {
	passed, total := 0, 0
	for _, file := range []string{"iana-ipv4-special-registry.xml", "iana-ipv6-special-registry.xml"} {
		text, err := os.ReadFile(conformance(t, "dns", "bootstrap", file))
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
