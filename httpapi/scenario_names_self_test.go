package httpapi

import (
	"encoding/json"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

const describedZone = `"zone": "com. 300 IN SOA ns.com. h.com. 7 7200 900 1209600 300\ncom. 300 IN NS ns.com.\n` +
	`ns.com. 300 IN A 192.0.2.2\nexample.com. 300 IN SOA ns1.example.com. h.example.com. 1 7200 900 1209600 300\n` +
	`example.com. 300 IN NS ns1.example.com.\nexample.com. 300 IN NS ns2.example.com.\n` +
	`ns1.example.com. 300 IN A 192.0.2.53\nns2.example.com. 300 IN A 192.0.2.54\n` +
	`example.com. 300 IN TXT \"v=spf1 -all\"\nwww.example.com. 300 IN A 192.0.2.80\n"`

// inScenario runs a test in the world that a text describes, in a bubble.
func inScenario(t *testing.T, text string, f func(*testing.T, *diagtest.World)) {
	synctest.Test(t, func(t *testing.T) {
		var described scenarioWorld
		require.NoError(t, json.Unmarshal([]byte(text), &described))
		f(t, described.build(t))
	})
}

// askedServer returns a server's answer to a validator, or nil if it is silent.
func askedServer(t *testing.T, w *diagtest.World, addr, name string, qtype uint16) *dns.Msg {
	c, err := w.Dial(t.Context(), "tcp", addr+":53")
	require.NoError(t, err)
	server := &dns.Conn{Conn: c}
	defer server.Close()
	require.NoError(t, server.SetDeadline(time.Now().Add(time.Minute)))
	q := new(dns.Msg).SetQuestion(name, qtype)
	q.SetEdns0(1232, true)
	require.NoError(t, server.WriteMsg(q))
	m, err := server.ReadMsg()
	if err != nil {
		return nil
	}
	return m
}

func askedResolver(t *testing.T, w *diagtest.World, name string, qtype uint16) *dns.Msg {
	q := new(dns.Msg).SetQuestion(name, qtype)
	q.SetEdns0(1232, true)
	m, err := w.Exchange(t.Context(), q)
	require.NoError(t, err)
	return m
}

// Name servers answer one question as the file defines, and resolvers accordingly.
func TestScenarioAnswers(t *testing.T) {
	const (
		mute    = -1
		fine    = dns.RcodeSuccess
		gone    = dns.RcodeNameError
		failed  = dns.RcodeServerFailure
		refused = dns.RcodeRefused
		unknown = dns.RcodeNotImplemented
	)
	for _, c := range []struct {
		name, world, answer string
		ns1, ns2, resolver  int // rcodes
	}{
		{"another type", ``, `"type": "MX", "answer": "REFUSED"`, fine, fine, fine},
		{"NXDOMAIN", ``, `"type": "TXT", "answer": "NXDOMAIN"`, gone, gone, gone},
		{"SERVFAIL", ``, `"type": "TXT", "answer": "SERVFAIL"`, failed, failed, failed},
		{"REFUSED", ``, `"type": "TXT", "answer": "REFUSED"`, refused, refused, failed},
		{"NOTIMP", ``, `"type": "TXT", "answer": "NOTIMP"`, unknown, unknown, failed},
		{"silent", ``, `"type": "TXT", "answer": "silent"`, mute, mute, failed},
		{"one", ``, `"type": "TXT", "answer": "REFUSED", "servers": ["ns2.example.com."]`, fine, refused, fine},
		{"no proof", `"signed": ["example.com."], `, `"type": "TXT", "answer": "NXDOMAIN"`, gone, gone, failed},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := `{` + c.world + describedZone + `, "answers": [{"name": "example.com.", ` + c.answer + `}]}`
			inScenario(t, text, func(t *testing.T, w *diagtest.World) {
				for addr, want := range map[string]int{"192.0.2.53": c.ns1, "192.0.2.54": c.ns2} {
					if m := askedServer(t, w, addr, "example.com.", dns.TypeTXT); want == mute {
						require.Nil(t, m)
					} else {
						require.Equal(t, want, m.Rcode, addr)
					}
					require.Equal(t, dns.RcodeSuccess, askedServer(t, w, addr, "www.example.com.", dns.TypeA).Rcode)
				}
				require.Equal(t, c.resolver, askedResolver(t, w, "example.com.", dns.TypeTXT).Rcode)
			})
		})
	}
	nodata := `{` + describedZone + `, "answers": [{"name": "example.com.", "type": "TXT", "answer": "NODATA"}]}`
	inScenario(t, nodata, func(t *testing.T, w *diagtest.World) {
		server := askedServer(t, w, "192.0.2.53", "example.com.", dns.TypeTXT)
		for _, m := range []*dns.Msg{server, askedResolver(t, w, "example.com.", dns.TypeTXT)} {
			require.Equal(t, dns.RcodeSuccess, m.Rcode)
			require.Empty(t, m.Answer)
			require.Equal(t, uint32(1), m.Ns[0].(*dns.SOA).Serial, "that of the zone")
		}
	})
	nods := `{"signed": ["com."], ` + describedZone +
		`, "answers": [{"name": "example.com.", "type": "DS", "answer": "NODATA"}]}`
	inScenario(t, nods, func(t *testing.T, w *diagtest.World) {
		m := askedServer(t, w, "192.0.2.2", "example.com.", dns.TypeDS)
		require.False(t, slices.ContainsFunc(m.Ns, func(rr dns.RR) bool { return rr.Header().Rrtype == dns.TypeNSEC }))
		require.Equal(t, uint32(7), m.Ns[0].(*dns.SOA).Serial, "that of the parent zone")
		require.Equal(t, dns.RcodeServerFailure, askedResolver(t, w, "www.example.com.", dns.TypeA).Rcode)
		require.Equal(t, dns.RcodeSuccess, askedResolver(t, w, "ns.com.", dns.TypeA).Rcode)
	})
}

func TestScenarioServers(t *testing.T) {
	for text, want := range map[string]string{"true": "www.example.com.", "false": "WWW.example.com."} {
		text := `{` + describedZone + `, "servers": {"ns1.example.com.": {"lower_case": ` + text + `}}}`
		inScenario(t, text, func(t *testing.T, w *diagtest.World) {
			require.Equal(t, want, askedServer(t, w, "192.0.2.53", "WWW.example.com.", dns.TypeA).Question[0].Name)
			require.Equal(t, "WWW.example.com.", askedServer(t, w, "192.0.2.54", "WWW.example.com.", dns.TypeA).Question[0].Name)
		})
	}
}

func TestScenarioSigners(t *testing.T) {
	const signers = `"signed_by": {"example.com.": {"ds": ["ksk-1", "ksk-2"], "signers": [
		{"servers": ["ns1.example.com."], "dnskey": ["ksk-1", "zsk-1", "zsk-2"], "signs_by": ["ksk-1", "zsk-1"]},
		{"servers": ["ns2.example.com."], "dnskey": ["ksk-2", "zsk-2"], "signs_by": ["ksk-2", "zsk-2"],
			"nsec_lacks": {"www.example.com.": ["A"]}}]}}`
	inScenario(t, `{"signed": ["com."], `+signers+`, `+describedZone+`}`, func(t *testing.T, w *diagtest.World) {
		require.True(t, askedResolver(t, w, "example.com.", dns.TypeTXT).AuthenticatedData)
		var ds []uint16
		for _, rr := range askedServer(t, w, "192.0.2.2", "example.com.", dns.TypeDS).Answer {
			if rr, ok := rr.(*dns.DS); ok {
				ds = append(ds, rr.KeyTag)
			}
		}
		require.Len(t, ds, 2)
		for addr, c := range map[string]struct {
			keys    int
			address bool // that the NSEC record of www lists
		}{"192.0.2.53": {3, true}, "192.0.2.54": {2, false}} {
			set := askedServer(t, w, addr, "example.com.", dns.TypeDNSKEY).Answer
			flags := map[uint16]uint16{}
			for _, rr := range set {
				if key, ok := rr.(*dns.DNSKEY); ok {
					flags[key.KeyTag()] = key.Flags
				}
			}
			require.Len(t, flags, c.keys)
			require.Contains(t, ds, signerOf(set))
			require.Equal(t, uint16(257), flags[signerOf(set)])
			records := askedServer(t, w, addr, "example.com.", dns.TypeTXT).Answer
			require.Equal(t, uint16(256), flags[signerOf(records)])
			for _, rr := range askedServer(t, w, addr, "www.example.com.", dns.TypeAAAA).Ns {
				if nsec, ok := rr.(*dns.NSEC); ok {
					require.Equal(t, c.address, slices.Contains(nsec.TypeBitMap, dns.TypeA))
				}
			}
		}
		one := signerOf(askedServer(t, w, "192.0.2.53", "example.com.", dns.TypeTXT).Answer)
		require.NotEqual(t, one, signerOf(askedServer(t, w, "192.0.2.54", "example.com.", dns.TypeTXT).Answer))
	})
}

// signerOf is the tag of the key that signed records.
func signerOf(rrs []dns.RR) uint16 {
	i := slices.IndexFunc(rrs, func(rr dns.RR) bool { return rr.Header().Rrtype == dns.TypeRRSIG })
	return rrs[i].(*dns.RRSIG).KeyTag
}

// The data of a registry is found by the operation that queries it.
func TestScenarioRegistries(t *testing.T) {
	lookup := endpoints[slices.IndexFunc(endpoints, func(ep Endpoint) bool { return ep.Name() == "rdap/lookup" })]
	for _, c := range []struct {
		name, world, domain, want string
	}{
		{"JSON", `"rdap": {"example.com": {"objectClassName": "domain", "ldhName": "EXAMPLE.COM", "status": ["active"]}}`,
			"example.com", `{"registered": true, "protocol": "rdap"}`},
		{"404", `"rdap": {"example.net": {"status": 404}}`, "example.net", `{"registered": false, "protocol": "rdap"}`},
		{"org", `"rdap": {"example.org": {"objectClassName": "domain", "ldhName": "EXAMPLE.ORG"}}`,
			"example.org", `{"registered": true, "protocol": "rdap"}`},
		{"WHOIS", `"whois": {"example.com": "Domain Name: EXAMPLE.COM\nCreation Date: 2013-03-28\n"}`,
			"example.com", `{"registered": true, "protocol": "whois", "dates.created_at": "2013-03-28T00:00:00Z"}`},
		{"WHOIS of org", `"whois": {"example.org": "Domain Name: EXAMPLE.ORG\nCreation Date: 2013-03-28\n"}`,
			"example.org", `{"registered": true, "protocol": "whois"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			inScenario(t, `{`+c.world+`}`, func(t *testing.T, w *diagtest.World) {
				result, err := lookup.Run(t.Context(), w.Env(), []byte(`{"domain": "`+c.domain+`"}`))
				require.NoError(t, err)
				var e expectation
				require.NoError(t, json.Unmarshal([]byte(`{"fields": `+c.want+`}`), &e))
				require.Empty(t, e.judge(playedReply{body: result.Body}), string(result.Body))
			})
		})
	}
	inScenario(t, `{"whois": {"example.com": "Domain Name: EXAMPLE.COM\n"}}`, func(t *testing.T, w *diagtest.World) {
		_, err := w.Env().DialHost(t.Context(), "rdap.verisign.com", 443, diag.WebPorts)
		require.ErrorContains(t, err, "refused")
	})
}
