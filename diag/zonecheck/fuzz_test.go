package zonecheck

import (
	"bytes"
	"net/netip"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/internal/survey"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// hostile returns messages with the records that the audit examines, and some malformed ones.
func hostile(tb testing.TB) [][]byte {
	texts := [][]string{
		{"example.com. SOA . . 0 0 0 0 0", "example.com. NS .", "example.com. NS 192.0.2.53.", "example.com. MX 0 ."},
		{"example.com. CNAME example.com.", `example.com. TXT "v=spf1 " "+"`, `example.com. CAA 128 x ""`},
		{"example.com. DNSKEY 257 3 8 AAAA", "example.com. DNSKEY 384 3 5 AQ==", "example.com. DS 1 8 1 00",
			"example.com. RRSIG SOA 8 0 0 20260101000000 20250101000000 1 . AAAA",
			"example.com. RRSIG DNSKEY 13 3 0 20260101000000 20250101000000 1 com. AAAA"},
		{"example.com. NSEC example.com. A", "com. NSEC . NS", "x.example.com. NSEC3 1 1 65535 ABCD AAAA A",
			"example.com. NSEC3PARAM 1 1 65535 ABCD"},
		{"example.com. CDS 0 0 0 00", "example.com. CDNSKEY 0 3 0 AA==",
			"example.com. ZONEMD 1 1 1 " + someDigest + someDigest,
			"example.com. HTTPS 0 . alpn=h2", "example.com. HTTPS 1 . mandatory=port"},
		{"example.com. HTTPS 0 example.com.", "www.example.com. HTTPS 0 example.com.", `example.com. CAA 1 isue ";;="`,
			"example.com. MX 1 example.com.example.com.", "www.example.com. CNAME 203.0.113.80.",
			"example.com. DNAME example.com.", "example.com. CAA 0 iodef \"\""},
		{". NS a.root-servers.net.", "com. NS ns1.example.com.", "ns1.example.com. A 0.0.0.0", "ns1.example.com. AAAA ::"},
	}
	var list [][]byte
	for i, records := range texts {
		m := new(dns.Msg)
		m.Authoritative, m.RecursionAvailable = i%2 == 0, true
		for _, text := range records {
			m.Answer = append(m.Answer, rr(text))
		}
		m.Ns, m.Extra = m.Answer, m.Answer
		m.SetEdns0(1, true)
		packed, err := m.Pack()
		require.NoError(tb, err)
		list = append(list, packed)
	}
	return append(list, nil, []byte{0}, bytes.Repeat([]byte{0xff}, 40))
}

// With any answers, the audit ends in time, stays within its budget and does not panic.
func FuzzHostileReplies(f *testing.F) {
	for _, packed := range hostile(f) {
		f.Add(packed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		synctest.Test(t, func(t *testing.T) {
			w := diagtest.NewWorld(t)
			w.Zone(parentZone + around + goodZone)
			w.ServeZones()
			var asked atomic.Int64
			answer := func(packet []byte) [][]byte {
				asked.Add(1)
				q := new(dns.Msg)
				if q.Unpack(packet) != nil {
					return nil
				}
				m := new(dns.Msg)
				if m.Unpack(data) != nil { // as it is, but for the identifier
					raw := append(append([]byte{}, packet[:2]...), 0x84)
					return [][]byte{append(raw, data...)}
				}
				m.Id, m.Response, m.Question = q.Id, true, q.Question
				b, err := m.Pack()
				if err != nil {
					return nil
				}
				return [][]byte{b}
			}
			for _, host := range []string{"ns1.nic.com:53", "ns1.example.com:53", "ns2.example.com:53"} {
				w.ServePackets(host, answer)
			}
			began := time.Now()
			r, err := Check(t.Context(), w.Env(), request)
			require.NoError(t, err)
			require.LessOrEqual(t, time.Since(began), survey.Timeout)
			require.LessOrEqual(t, int(asked.Load())+len(w.Queries()), survey.MaxQueries)
			require.Len(t, r.Checks, r.Summary.PassCount+r.Summary.WarningCount+r.Summary.FailCount+r.Summary.InfoCount)
		})
	})
}

// The rules take any message for any reply.
func FuzzRules(f *testing.F) {
	for _, packed := range hostile(f) {
		f.Add(packed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m := new(dns.Msg)
		if m.Unpack(data) != nil {
			return
		}
		any := survey.Reply{Result: survey.Answered, Msg: m}
		ad := &survey.Address{IP: netip.MustParseAddr("192.0.2.53"), Deep: true, EDNS: true}
		for p := range ad.Replies {
			ad.Replies[p] = any
		}
		content := map[uint16]survey.Reply{}
		for _, t := range []uint16{dns.TypeCDS, dns.TypeCDNSKEY, dns.TypeNSEC3PARAM, dns.TypeCAA, dns.TypeHTTPS,
			dns.TypeZONEMD} {
			content[t] = any
		}
		s := &survey.Survey{
			Domain: request.Domain, Zone: "example.com.", Began: time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC),
			Servers:   []*survey.Server{{Name: "ns1.example.com.", IPs: []netip.Addr{ad.IP}}},
			Addresses: []*survey.Address{ad},
			Parent: survey.Parent{Zone: "com.", Hosts: []string{"ns1.nic.com."},
				Views: []survey.View{{Host: "ns1.nic.com.", IP: ad.IP, NS: any, DS: any}}},
			Content: map[string]map[uint16]survey.Reply{"example.com.": content},
			Public:  func(netip.Addr) bool { return true },
		}
		first := newEvidence(s).report(s.Began)
		again := newEvidence(s).report(s.Began)
		require.Equal(t, first, again, "the same evidence gives the same report")
		require.NotEmpty(t, first.Headline)
	})
}
