package dnssec

import (
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// A proof that was kept denies what its resolver would conclude from it, and nothing else.
func TestKeptProofs(t *testing.T) {
	f := newFarm(t)
	lines := func(list ...string) (messages []*dns.Msg) {
		for _, line := range list {
			if !strings.Contains(line, "RRSIG") {
				line += " RRSIG NSEC"
			}
			messages = append(messages, &dns.Msg{Ns: f.signed("zone.test.", line)})
		}
		return messages
	}
	hashed := func(parts ...[]dns.RR) (messages []*dns.Msg) {
		for _, part := range parts {
			messages = append(messages, &dns.Msg{Ns: part})
		}
		return messages
	}
	const apex = "zone.test. 300 NSEC a.zone.test. NS SOA"
	tests := []struct {
		name   string
		proofs []*dns.Msg
		want   string // of A www.zone.test
	}{
		{"nothing", nil, ""},
		{"type listed", lines("www.zone.test. 300 NSEC zone.test. A"), ""},
		{"type not listed", lines("www.zone.test. 300 NSEC zone.test. AAAA"),
			"The NSEC record of www.zone.test does not list A"},
		{"listed in one of two", lines("www.zone.test. 300 NSEC zone.test. A AAAA",
			"www.zone.test. 300 NSEC zone.test. AAAA"), "The NSEC record of www.zone.test does not list A"},
		{"alias", lines("www.zone.test. 300 NSEC zone.test. CNAME"), ""},
		{"delegation", lines("www.zone.test. 300 NSEC zone.test. NS"), ""},
		{"compact, without one type each", lines(`www.zone.test. 300 NSEC \000.www.zone.test. A MX TXT`,
			`www.zone.test. 300 NSEC \000.www.zone.test. A MX AAAA`), ""},
		{"compact, no such name", lines(`www.zone.test. 300 NSEC \000.www.zone.test. RRSIG NSEC TYPE128`),
			"The NSEC record of www.zone.test does not list A"},
		{"compact, of another name", lines(`ww.zone.test. 300 NSEC \000.ww.zone.test. RRSIG NSEC TYPE128`), ""},
		{"white lies", lines("ww-.zone.test. 300 NSEC ww0.zone.test. A", apex), ""},
		{"gap", lines("a.zone.test. 300 NSEC zone.test. A", apex),
			"The NSEC record of a.zone.test says that the next name is zone.test, and so denies www.zone.test"},
		{"gap that may hold a wildcard", lines("a.zone.test. 300 NSEC zone.test. A"), ""},
		{"gap, and a wildcard", lines("*.zone.test. 300 NSEC zone.test. A"), ""},
		{"gap, and a wildcard without the type", lines("*.zone.test. 300 NSEC zone.test. TXT"),
			"The NSEC record of *.zone.test says that the next name is zone.test, and so denies www.zone.test, and that of " +
				"*.zone.test does not list A"},
		{"gap up to a name below", lines("a.zone.test. 300 NSEC x.www.zone.test. A"),
			"The NSEC record of a.zone.test says that the next name is x.www.zone.test, and so denies www.zone.test"},
		{"hashed, type listed", hashed(f.hashed("zone.test.", "www.zone.test.", 0, 0, dns.TypeA)), ""},
		{"hashed, type not listed", hashed(f.hashed("zone.test.", "www.zone.test.", 0, 0, dns.TypeTXT)),
			"The NSEC3 record of www.zone.test (51p8qnmgg1jvqikj4urgli4bqls7m7pi) does not list A"},
		{"hashed, gap", hashed(f.hashed("zone.test.", "zone.test.", 0, 0, dns.TypeSOA),
			f.covering("zone.test.", "www.zone.test.", 0, 0), f.covering("zone.test.", "*.zone.test.", 0, 0)),
			"The NSEC3 record 51p8qnmgg1jvqikj4ur0li4bqls7m7pi denies the hash of www.zone.test"},
		{"hashed, gap with opt-out", hashed(f.hashed("zone.test.", "zone.test.", 0, 1, dns.TypeSOA),
			f.covering("zone.test.", "www.zone.test.", 0, 1), f.covering("zone.test.", "*.zone.test.", 0, 1)), ""},
		{"expired", func() []*dns.Msg {
			set := rrs([]string{"www.zone.test. 300 NSEC zone.test. AAAA RRSIG NSEC"})
			return []*dns.Msg{{Ns: append(set, f.sign("zone.test.", set, period(-time.Hour, -time.Second)))}}
		}(), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			checker := NewChecker("zone.test.", []*dns.DNSKEY{f.keys["zone.test."][0].DNSKEY}, now)
			kept := checker.NewKeptProofs()
			for _, m := range tt.proofs {
				kept.Keep(checker.Read(m))
			}
			require.Equal(t, tt.want, kept.Denies("WWW.zone.test.", dns.TypeA))
			require.Empty(t, kept.Denies("www.other.test.", dns.TypeA))
		})
	}
}
