package smtpcheck

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

func TestService(t *testing.T) {
	implicit := "example.com. A 192.0.2.1\n"
	tests := []struct {
		sibling
		want Service
	}{
		{sibling{name: "null MX", zone: "example.com. MX 0 ."}, ServiceUnknown},
		{sibling{name: "no address", zone: "example.com. TXT x"}, ServiceUnknown},
		{sibling{name: "greets", zone: implicit, setup: setup{on("example.com")}}, ServiceOffered},
		{sibling{name: "busy", zone: implicit, setup: setup{on("example.com", says("CONNECT", "421 busy"))}}, ServiceOffered},
		{sibling{name: "refuses this client", zone: implicit,
			setup: setup{on("example.com", says("CONNECT", "554 5.7.1 your IP is listed by Spamhaus"))}}, ServiceOffered},
		{sibling{name: "refused", zone: implicit}, ServiceRefused},
		{sibling{name: "private", zone: "example.com. A 10.0.0.1"}, ServiceRefused},
		{sibling{name: "no SMTP service", zone: implicit, setup: setup{on("example.com", says("CONNECT", "554 no"))}},
			ServiceRefused},
		{sibling{name: "silent", zone: implicit, setup: setup{behaves("example.com:25", diagtest.Unreachable)}}, ServiceUnknown},
		{sibling{name: "one refuses, one is silent", zone: implicit + "example.com. A 192.0.2.2",
			setup: setup{behaves("192.0.2.2:25", diagtest.Unreachable)}}, ServiceUnknown},
		{sibling{name: "one refuses, one greets", zone: implicit + "example.com. AAAA 2001:db8::1",
			setup: setup{on("example.com"), behaves("[2001:db8::1]:25", diagtest.Refuses)}}, ServiceOffered},
		{sibling{name: "untested addresses", zone: implicit + "example.com. A 192.0.2.2\nexample.com. A 192.0.2.3"},
			ServiceUnknown},
		{sibling{name: "other port", zone: implicit, request: `{"domain": "example.com", "ports": [587]}`}, ServiceUnknown},
		{sibling{name: "MX refused", zone: one}, ServiceRefused},
		{sibling{name: "MX untested", zone: two, request: `{"domain": "example.com", "max_hosts": 1}`}, ServiceUnknown},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := tt.play(t)
			require.Equal(t, tt.want, r.Service())
			text, err := json.Marshal(r)
			require.NoError(t, err)
			var read Report
			require.NoError(t, json.Unmarshal(text, &read))
			require.Equal(t, ServiceUnknown, read.Service())
		})
	}
}

// A hop is a path to a mail server, with the code of the finding that names its first broken link if there is no
// other path; fixed is the same path without the fault.
type hop struct {
	name, zone string // {n} is its number
	port       func(*diagtest.World, string)
	code       diag.Code
	words      string // of headline and advice
}

func greets(w *diagtest.World, host string) { on(host)(w) }

var hops = []hop{
	{"works", "example.com. MX 10 mx{n}.example.com.\nmx{n}.example.com. A 192.0.2.{n}\n", greets, "", ""},
	{"no such host", "example.com. MX 10 gone{n}.example.com.\n", nil, "smtp.hosts.nxdomain", "does not exist address record"},
	{"no address", "example.com. MX 10 mx{n}.example.com.\nmx{n}.example.com. TXT x\n", nil, "smtp.hosts.address",
		"without an address address record"},
	{"address for a name", "example.com. MX 10 192.0.2.{n}.\n", nil, "smtp.hosts.literal", "IP address host name"},
	{"private", "example.com. MX 10 mx{n}.example.com.\nmx{n}.example.com. A 10.0.0.{n}\n", nil, "smtp.hosts.blocked",
		"public address"},
	{"refused", "example.com. MX 10 mx{n}.example.com.\nmx{n}.example.com. A 192.0.2.{n}\n", nil, "smtp.servers.unreachable",
		"mail server"},
	{"no SMTP", "example.com. MX 10 mx{n}.example.com.\nmx{n}.example.com. A 192.0.2.{n}\n",
		func(w *diagtest.World, host string) { raw(host+":25", "SSH-2.0-OpenSSH_10.0\r\n")(w) }, "smtp.servers.unreachable",
		"mail server"},
	{"rejects", "example.com. MX 10 mx{n}.example.com.\nmx{n}.example.com. A 192.0.2.{n}\n",
		func(w *diagtest.World, host string) { on(host, says("CONNECT", "554 no"))(w) }, "smtp.servers.unreachable", "mail server"},
	{"silent", "example.com. MX 10 mx{n}.example.com.\nmx{n}.example.com. A 192.0.2.{n}\n",
		func(w *diagtest.World, host string) { w.Behave(host+":25", diagtest.Unreachable) }, "smtp.servers.unknown", ""},
}

func (h *hop) world(n int) (string, func(*diagtest.World)) {
	return strings.ReplaceAll(h.zone, "{n}", fmt.Sprint(n)), func(w *diagtest.World) {
		if h.port != nil {
			h.port(w, fmt.Sprintf("mx%d.example.com", n))
		}
	}
}

// In worlds of up to three mail servers, the headline names the first broken link that no server passes, and fixing
// the named host removes the critical finding.
func TestFirstBrokenLink(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		var ways []hop
		var names []string
		for range 1 + random.IntN(3) {
			ways = append(ways, hops[random.IntN(len(hops))])
			names = append(names, ways[len(ways)-1].name)
		}
		build := func(ways []hop) *sibling {
			s := &sibling{}
			for i, h := range ways {
				zone, port := h.world(i + 1)
				s.zone += zone
				s.setup = append(s.setup, port)
			}
			return s
		}
		t.Run(strings.Join(names, ", "), func(t *testing.T) {
			r := build(ways).play(t)
			works, silent, deep := false, false, false // whether one passes the DNS
			codes := map[diag.Code]bool{}
			for _, h := range ways {
				works, silent = works || h.name == "works", silent || h.name == "silent"
				deep = deep || h.code == "smtp.servers.unreachable" // it answered, so silence is the fault of a server
				codes[h.code] = true
			}
			first := r.Findings
			switch {
			case works:
				for _, f := range first {
					require.NotEqual(t, diag.Critical, f.Severity, "%+v", f)
				}
				return
			case deep:
				require.Equal(t, diag.Code("smtp.servers.unreachable"), first[0].Code)
			case silent:
				require.NotEqual(t, diag.Critical, first[0].Severity, "%+v", first)
				return
			default:
				require.True(t, codes[first[0].Code], "%+v", first)
				require.NotContains(t, r.Sub, "firewall")
				for _, h := range ways {
					if h.code == first[0].Code {
						for word := range strings.FieldsSeq(h.words) {
							require.Contains(t, r.Headline+" "+first[0].Advice, word)
						}
					}
				}
			}
			require.Equal(t, diag.Critical, first[0].Severity)
			require.Equal(t, first[0].Title, r.Headline)
			for i := range ways { // the advice is followed for one server, which is enough
				fixed := append([]hop{}, ways...)
				fixed[i] = hops[0]
				for _, f := range build(fixed).play(t).Findings {
					require.NotEqual(t, diag.Critical, f.Severity, "%+v", f)
				}
			}
		})
	}
}

// A name without MX records is never advised to open a port, whatever its address does on port 25.
func TestNameWithoutMX(t *testing.T) {
	for name, world := range map[string]setup{
		"refused": nil, "silent": {behaves("example.com:25", diagtest.Unreachable)},
		"hangs":   {behaves("example.com:25", diagtest.Hangs)},
		"closes":  {behaves("example.com:25", diagtest.Closes)},
		"no SMTP": {raw("example.com:25", "SSH-2.0-OpenSSH_10.0\r\n")},
		"rejects": {on("example.com", says("CONNECT", "554 no SMTP service here"))},
	} {
		for _, zone := range []string{"example.com. A 192.0.2.1\n", "example.com. A 192.0.2.1\nexample.com. AAAA 2001:db8::1\n",
			"example.com. CNAME shop.example.net.\nshop.example.net. A 192.0.2.1\n"} {
			for _, request := range []string{"", `{"domain": "example.com", "ports": [25, 465, 587]}`} {
				t.Run(name, func(t *testing.T) {
					r := (&sibling{zone: zone, setup: world, request: request}).play(t)
					require.Len(t, r.Findings, 1, "%+v", r.Findings)
					require.Equal(t, diag.Warning, r.Findings[0].Severity)
					if strings.Contains(zone, "CNAME") {
						require.Contains(t, r.Findings[0].Advice, "the operator of shop.example.net")
						require.NotContains(t, r.Headline+r.Sub+r.Findings[0].Advice, "null MX")
					} else {
						require.Contains(t, r.Findings[0].Advice, `publish the null MX "0 ."`)
					}
					require.NotContains(t, r.Headline+r.Sub+r.Findings[0].Advice, "firewall")
					require.Empty(t, r.Recommendations[0].SuggestedValue)
				})
			}
		}
	}
}
