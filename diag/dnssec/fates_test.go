package dnssec

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

// answerFates break the answer.
var answerFates = []fate{
	{"silence", func(f *farm) {
		f.errors[at("www.zone.test.", dns.TypeA)] = errors.New("nobody there")
	}, "", diag.Indeterminate, codeAnswerUnavailable, "zone.test"},
	{"refused", func(f *farm) {
		f.edit("www.zone.test.", dns.TypeA, rcode(dns.RcodeRefused))
	}, "", diag.Indeterminate, codeAnswerUnavailable, "zone.test"},
	{"SERVFAIL from a resolver that validates", func(f *farm) {
		f.edit("www.zone.test.", dns.TypeA, rcode(dns.RcodeServerFailure))
		resigned(f, "zone.test.", dns.TypeDS, "test.", period(-48*time.Hour, -time.Second))
	}, "", diag.Bogus, codeSigExpired, "test"},
	{"unsigned", func(f *farm) {
		f.edit("www.zone.test.", dns.TypeA, drop(dns.TypeRRSIG))
	}, "", diag.Bogus, codeSigMissing, "zone.test"},
	{"unsigned, also the proofs", func(f *farm) {
		f.edit("www.zone.test.", dns.TypeA, drop(dns.TypeRRSIG))
		f.edit("www.zone.test.", dns.TypeDS, drop(dns.TypeNSEC))
	}, "", diag.Bogus, codeSigMissing, "zone.test"},
	{"expired by a second", func(f *farm) {
		resigned(f, "www.zone.test.", dns.TypeA, "zone.test.", period(-time.Hour, -time.Second))
	}, "", diag.Bogus, codeSigExpired, "zone.test"},
	{"expires now", func(f *farm) {
		resigned(f, "www.zone.test.", dns.TypeA, "zone.test.", period(-time.Hour, 0))
	}, "", diag.Secure, "", ""},
	{"begins now", func(f *farm) {
		resigned(f, "www.zone.test.", dns.TypeA, "zone.test.", period(0, time.Hour))
	}, "", diag.Secure, "", ""},
	{"begins in a second", func(f *farm) {
		resigned(f, "www.zone.test.", dns.TypeA, "zone.test.", period(time.Second, time.Hour))
	}, "", diag.Bogus, codeSigEarly, "zone.test"},
	{"ends before it begins", func(f *farm) {
		resigned(f, "www.zone.test.", dns.TypeA, "zone.test.", period(time.Hour, -time.Hour))
	}, "", diag.Bogus, codeSigPeriod, "zone.test"},
	{"valid beyond the end of 32 bits", func(f *farm) {
		resigned(f, "www.zone.test.", dns.TypeA, "zone.test.", func(s *dns.RRSIG) { s.Expiration += 1 << 30 })
	}, "", diag.Secure, "", ""},
	{"tampered with", func(f *farm) {
		f.edit("www.zone.test.", dns.TypeA, func(m *dns.Msg) { m.Answer[0].(*dns.A).A[3]++ })
	}, "", diag.Bogus, codeSigInvalid, "zone.test"},
	{"a record added", func(f *farm) {
		f.edit("www.zone.test.", dns.TypeA, func(m *dns.Msg) {
			m.Answer = append(m.Answer, rrs([]string{"www.zone.test. A 192.0.2.66"})...)
		})
	}, "", diag.Bogus, codeSigInvalid, "zone.test"},
	{"signature is no base64", func(f *farm) {
		f.edit("www.zone.test.", dns.TypeA, func(m *dns.Msg) { m.Answer[1].(*dns.RRSIG).Signature = "%" })
	}, "", diag.Bogus, codeSigInvalid, "zone.test"},
	{"other letter case, order and time to live", func(f *farm) {
		f.add("www.zone.test. 300 A 192.0.2.9")
		f.edit("www.zone.test.", dns.TypeA, func(m *dns.Msg) {
			m.Answer[0], m.Answer[1] = m.Answer[1], dns.Copy(m.Answer[0])
			m.Answer[1].Header().Name, m.Answer[1].Header().Ttl = "WWW.Zone.test.", 7
		})
	}, "", diag.Secure, "", ""},
	{"signed by the key of the parent zone", func(f *farm) {
		f.edit("www.zone.test.", dns.TypeA, func(m *dns.Msg) {
			m.Answer[1] = f.signWith(f.keys["test."][0], "zone.test.", m.Answer[:1])
		})
	}, "", diag.Bogus, codeSigKey, "zone.test"},
	{"signed by a zone that is not above", func(f *farm) {
		f.zone("ne.test.", f.key("ne.test.", dns.ECDSAP256SHA256, 256, 257))
		f.edit("www.zone.test.", dns.TypeA, func(m *dns.Msg) { m.Answer[1] = f.sign("ne.test.", m.Answer[:1]) })
	}, "", diag.Bogus, codeSigSigner, "zone.test"},
	{"signed by a name that is no zone", func(f *farm) {
		f.edit("www.zone.test.", dns.TypeA, func(m *dns.Msg) {
			m.Answer[1] = f.signWith(f.keys["zone.test."][0], "www.zone.test.", m.Answer[:1])
		})
	}, "", diag.Bogus, codeSigSigner, "zone.test"},
	{"more labels than the name", func(f *farm) {
		f.edit("www.zone.test.", dns.TypeA, func(m *dns.Msg) { m.Answer[1].(*dns.RRSIG).Labels = 4 })
	}, "", diag.Bogus, codeSigLabels, "zone.test"},
	{"fewer labels than the zone", func(f *farm) {
		resigned(f, "www.zone.test.", dns.TypeA, "zone.test.", func(s *dns.RRSIG) { s.Labels = 1 })
	}, "", diag.Bogus, codeSigLabels, "zone.test"},
	{"wildcard without proof", func(f *farm) {
		resigned(f, "www.zone.test.", dns.TypeA, "zone.test.", func(s *dns.RRSIG) { s.Labels = 2 })
	}, "", diag.Bogus, codeWildcard, "zone.test"},
	{"wildcard with the proof for another name", func(f *farm) {
		resigned(f, "www.zone.test.", dns.TypeA, "zone.test.", func(s *dns.RRSIG) { s.Labels = 2 })
		f.edit("www.zone.test.", dns.TypeA, func(m *dns.Msg) {
			m.Ns = f.signed("zone.test.", "a.zone.test. 300 NSEC b.zone.test. A RRSIG NSEC")
		})
	}, "", diag.Bogus, codeWildcard, "zone.test"},
	{"wildcard with the proof that there is something closer", func(f *farm) {
		f.add("a.b.zone.test. 300 A 192.0.2.1")
		resigned(f, "a.b.zone.test.", dns.TypeA, "zone.test.", func(s *dns.RRSIG) { s.Labels = 2 })
		f.edit("a.b.zone.test.", dns.TypeA, func(m *dns.Msg) {
			m.Ns = f.signed("zone.test.", "b.zone.test. 300 NSEC zz.zone.test. A RRSIG NSEC")
		})
	}, "a.b.zone.test. A", diag.Bogus, codeWildcard, "zone.test"},
	{"wildcard with proof", func(f *farm) {
		resigned(f, "www.zone.test.", dns.TypeA, "zone.test.", func(s *dns.RRSIG) { s.Labels = 2 })
		f.edit("www.zone.test.", dns.TypeA, func(m *dns.Msg) {
			m.Ns = f.signed("zone.test.", "a.zone.test. 300 NSEC zz.zone.test. A RRSIG NSEC")
		})
	}, "", diag.Secure, "", ""},
	{"algorithm that cannot be checked", func(f *farm) {
		f.edit("www.zone.test.", dns.TypeA, func(m *dns.Msg) { m.Answer[1].(*dns.RRSIG).Algorithm = dns.ECCGOST })
	}, "", diag.Bogus, codeSigUnsupported, "zone.test"},
	{"key that cannot be used", func(f *farm) {
		bad := *f.keys["zone.test."][0].DNSKEY
		bad.PublicKey = "AAAA"
		f.put(&bad)
		f.edit("www.zone.test.", dns.TypeA, func(m *dns.Msg) { m.Answer[1].(*dns.RRSIG).KeyTag = bad.KeyTag() })
	}, "", diag.Bogus, codeKeyUnusable, "zone.test"},
	{"another class beside", func(f *farm) {
		f.edit("www.zone.test.", dns.TypeA, func(m *dns.Msg) {
			m.Answer = append(m.Answer, rrs([]string{"www.zone.test. 300 CH A 192.0.2.66"})...)
		})
	}, "", diag.Secure, "", ""},
	{"YXDOMAIN without DNAME", func(f *farm) {
		f.edit("www.zone.test.", dns.TypeTXT, func(m *dns.Msg) { m.Rcode = dns.RcodeYXDomain })
	}, "www.zone.test. TXT", diag.Bogus, codeAnswerContradict, "zone.test"},
	{"records and NXDOMAIN", func(f *farm) {
		f.edit("www.zone.test.", dns.TypeA, func(m *dns.Msg) { m.Rcode = dns.RcodeNameError })
	}, "", diag.Bogus, codeAnswerContradict, "zone.test"},
	{"signatures", func(*farm) {}, "www.zone.test. RRSIG", diag.Indeterminate, codeAnswerUnsignable, "zone.test"},
	{"all types", func(f *farm) {
		f.edit("www.zone.test.", dns.TypeANY, func(m *dns.Msg) {
			*m = *f.honest(dns.Question{Name: "www.zone.test.", Qtype: dns.TypeA})
		})
	}, "www.zone.test. ANY", diag.Secure, "", ""},
	{"the root", func(*farm) {}, ". NS", diag.Secure, "", ""},
	{"no DS record of the root", func(*farm) {}, ". DS", diag.Secure, "", ""},
	{"DS", func(*farm) {}, "zone.test. DS", diag.Secure, "", ""},
	{"keys", func(*farm) {}, "zone.test. DNSKEY", diag.Secure, "", ""},
}

// emptyWildcard proves that *.w.zone.test. exists because of the name below it alone, and that there is nothing between
// that name and zz.zone.test.
func emptyWildcard(f *farm) []dns.RR {
	return append(f.signed("zone.test.", "foo.*.w.zone.test. 300 NSEC zz.zone.test. A RRSIG NSEC"),
		f.signed("zone.test.", "a.zone.test. 300 NSEC foo.*.w.zone.test. A RRSIG NSEC")...)
}

// denialFates are about what is not there.
var denialFates = []fate{
	{"no such type", func(*farm) {}, "www.zone.test. TXT", diag.Secure, "", ""},
	{"no such name", func(*farm) {}, "nope.zone.test. A", diag.Secure, "", ""},
	{"without proof", func(f *farm) {
		f.edit("www.zone.test.", dns.TypeTXT, func(m *dns.Msg) { m.Ns = nil })
	}, "www.zone.test. TXT", diag.Bogus, codeDenialMissing, "zone.test"},
	{"signed, without proof", func(f *farm) {
		f.edit("www.zone.test.", dns.TypeTXT, func(m *dns.Msg) {
			m.Ns = append(slices.Clone(f.records[at("zone.test.", dns.TypeSOA)]), f.sign("zone.test.",
				f.records[at("zone.test.", dns.TypeSOA)]))
		})
	}, "www.zone.test. TXT", diag.Bogus, codeDenialMissing, "zone.test"},
	{"SOA with a wrong signature", func(f *farm) {
		f.edit("www.zone.test.", dns.TypeTXT, func(m *dns.Msg) {
			soa := f.signed("zone.test.", "zone.test. 300 SOA a. b. 1 2 3 4 5")
			soa[0].(*dns.SOA).Serial = 2
			m.Ns = append(m.Ns, soa...)
		})
	}, "www.zone.test. TXT", diag.Bogus, codeSigInvalid, "zone.test"},
	{"with opt-out", func(f *farm) {
		f.edit("nope.zone.test.", dns.TypeA, func(m *dns.Msg) {
			m.Rcode, m.Ns = dns.RcodeNameError, slices.Concat(f.hashed("zone.test.", "zone.test.", 0, 1, dns.TypeSOA),
				f.covering("zone.test.", "nope.zone.test.", 0, 1), f.covering("zone.test.", "*.zone.test.", 0, 0))
		})
	}, "nope.zone.test. A", diag.Insecure, codeOptOut, "zone.test"},
	{"for the DS record, from below the delegation", func(f *farm) {
		f.remove("zone.test.", dns.TypeDS)
		f.edit("zone.test.", dns.TypeDS, func(m *dns.Msg) {
			m.Ns = f.signed("test.", `zone.test. 300 NSEC \000.zone.test. NS SOA RRSIG NSEC DNSKEY`)
		})
	}, "zone.test. DS", diag.Bogus, codeDenialIncomplete, "test"},
	{"with an encloser above a delegation", func(f *farm) {
		f.edit("x.sub.zone.test.", dns.TypeA, func(m *dns.Msg) {
			m.Rcode, m.Ns = dns.RcodeNameError, slices.Concat(f.hashed("zone.test.", "sub.zone.test.", 0, 0, dns.TypeNS),
				f.covering("zone.test.", "x.sub.zone.test.", 0, 0), f.covering("zone.test.", "*.sub.zone.test.", 0, 0))
		})
		f.add("sub.zone.test. 300 TXT here")
	}, "x.sub.zone.test. A", diag.Bogus, codeDenialIncomplete, "zone.test"},
	{"for another name", func(f *farm) {
		f.edit("www.zone.test.", dns.TypeTXT, func(m *dns.Msg) {
			m.Ns = f.signed("zone.test.", "a.zone.test. 300 NSEC b.zone.test. A RRSIG NSEC")
		})
	}, "www.zone.test. TXT", diag.Bogus, codeDenialIncomplete, "zone.test"},
	{"that the type is there", func(f *farm) {
		f.edit("www.zone.test.", dns.TypeA, func(m *dns.Msg) {
			m.Answer, m.Ns = nil, f.denial("zone.test.", at("www.zone.test.", 0).owner)
		})
	}, "", diag.Bogus, codeDenialContradict, "zone.test"},
	{"that the name is there", func(f *farm) {
		f.edit("www.zone.test.", dns.TypeTXT, func(m *dns.Msg) { m.Rcode = dns.RcodeNameError })
	}, "www.zone.test. TXT", diag.Bogus, codeDenialContradict, "zone.test"},
	{"that an alias is there", func(f *farm) {
		f.edit("www.zone.test.", dns.TypeTXT, func(m *dns.Msg) {
			m.Ns = f.signed("zone.test.", "www.zone.test. 300 NSEC x.zone.test. CNAME RRSIG NSEC")
		})
	}, "www.zone.test. TXT", diag.Bogus, codeDenialContradict, "zone.test"},
	{"by a wildcard that has only names below it", func(f *farm) {
		f.edit("x.w.zone.test.", dns.TypeA, func(m *dns.Msg) { m.Ns = emptyWildcard(f) })
	}, "x.w.zone.test. A", diag.Secure, "", ""},
	{"by a wildcard that has only names below it, with NSEC3", func(f *farm) {
		f.edit("x.w.zone.test.", dns.TypeA, func(m *dns.Msg) {
			m.Ns = slices.Concat(f.hashed("zone.test.", "w.zone.test.", 0, 0), f.hashed("zone.test.", "*.w.zone.test.", 0, 0),
				f.covering("zone.test.", "x.w.zone.test.", 0, 0))
		})
	}, "x.w.zone.test. A", diag.Secure, "", ""},
	{"by a wildcard of which nothing is said", func(f *farm) {
		f.edit("x.w.zone.test.", dns.TypeA, func(m *dns.Msg) {
			m.Ns = f.signed("zone.test.", "foo.w.zone.test. 300 NSEC zz.zone.test. A RRSIG NSEC")
		})
	}, "x.w.zone.test. A", diag.Bogus, codeDenialIncomplete, "zone.test"},
	{"by a wildcard that is shown to exist, and no more", func(f *farm) {
		f.edit("x.w.zone.test.", dns.TypeA, func(m *dns.Msg) { m.Ns = emptyWildcard(f)[:2] })
	}, "x.w.zone.test. A", diag.Bogus, codeDenialIncomplete, "zone.test"},
	{"that a wildcard is there, without records", func(f *farm) {
		f.edit("x.w.zone.test.", dns.TypeA, func(m *dns.Msg) {
			m.Rcode, m.Ns = dns.RcodeNameError, emptyWildcard(f)
		})
	}, "x.w.zone.test. A", diag.Bogus, codeDenialContradict, "zone.test"},
	{"that a wildcard is there, without records, with NSEC3", func(f *farm) {
		f.edit("x.w.zone.test.", dns.TypeA, func(m *dns.Msg) {
			m.Rcode, m.Ns = dns.RcodeNameError, slices.Concat(f.hashed("zone.test.", "w.zone.test.", 0, 0),
				f.hashed("zone.test.", "*.w.zone.test.", 0, 0), f.covering("zone.test.", "x.w.zone.test.", 0, 0))
		})
	}, "x.w.zone.test. A", diag.Bogus, codeDenialContradict, "zone.test"},
	{"that the name is there, without records", func(f *farm) {
		f.edit("w.zone.test.", dns.TypeA, func(m *dns.Msg) {
			m.Rcode, m.Ns = dns.RcodeNameError, emptyWildcard(f)
		})
	}, "w.zone.test. A", diag.Bogus, codeDenialContradict, "zone.test"},
	{"from above the delegation", func(f *farm) {
		f.edit("zone.test.", dns.TypeTXT, func(m *dns.Msg) {
			m.Ns = f.signed("test.", "zone.test. 300 NSEC zz.test. NS DS RRSIG NSEC")
		})
	}, "zone.test. TXT", diag.Bogus, codeDenialIncomplete, "test"},
	{"from above the delegation, for a name below", func(f *farm) {
		f.edit("www.zone.test.", dns.TypeA, func(m *dns.Msg) {
			m.Answer, m.Rcode = nil, dns.RcodeNameError
			m.Ns = append(f.signed("test.", "zone.test. 300 NSEC zz.test. NS DS RRSIG NSEC"),
				f.signed("test.", "test. 300 NSEC zone.test. NS SOA RRSIG NSEC")...)
		})
	}, "", diag.Bogus, codeDenialIncomplete, "test"},
	{"from a wildcard", func(f *farm) {
		f.edit("www.zone.test.", dns.TypeTXT, func(m *dns.Msg) {
			set := rrs([]string{"www.zone.test. 300 NSEC x.zone.test. A RRSIG NSEC"})
			m.Ns = append(set, f.sign("zone.test.", set, func(s *dns.RRSIG) { s.Labels = 2 }))
		})
	}, "www.zone.test. TXT", diag.Bogus, codeSigLabels, "zone.test"},
	{"with a signature that expired", func(f *farm) {
		f.edit("www.zone.test.", dns.TypeTXT, func(m *dns.Msg) {
			m.Ns[1] = f.sign("zone.test.", m.Ns[:1], period(-time.Hour, -time.Minute))
		})
	}, "www.zone.test. TXT", diag.Bogus, codeSigExpired, "zone.test"},
	{"signed by a name that is no zone", func(f *farm) {
		f.edit("www.zone.test.", dns.TypeTXT, func(m *dns.Msg) {
			m.Ns[1] = f.signWith(f.keys["zone.test."][0], "www.zone.test.", m.Ns[:1])
		})
	}, "www.zone.test. TXT", diag.Bogus, codeSigSigner, "zone.test"},
	{"too many iterations", func(f *farm) {
		f.edit("www.zone.test.", dns.TypeTXT, func(m *dns.Msg) {
			m.Ns = f.hashed("zone.test.", "www.zone.test.", 51, 0, dns.TypeA)
		})
	}, "www.zone.test. TXT", diag.Insecure, codeDenialIterations, "zone.test"},
	{"as many iterations as may be", func(f *farm) {
		f.edit("www.zone.test.", dns.TypeTXT, func(m *dns.Msg) {
			m.Ns = f.hashed("zone.test.", "www.zone.test.", 50, 0, dns.TypeA)
		})
	}, "www.zone.test. TXT", diag.Secure, "", ""},
	{"of hashes that nobody knows", func(f *farm) {
		f.edit("www.zone.test.", dns.TypeTXT, func(m *dns.Msg) {
			m.Ns = f.hashed("zone.test.", "www.zone.test.", 0, 2, dns.TypeA)
		})
	}, "www.zone.test. TXT", diag.Bogus, codeDenialMissing, "zone.test"},
	{"delegation with too many iterations", func(f *farm) {
		f.remove("zone.test.", dns.TypeDS)
		f.edit("zone.test.", dns.TypeDS, func(m *dns.Msg) { m.Ns = f.hashed("test.", "zone.test.", 500, 0, dns.TypeNS) })
	}, "", diag.Insecure, codeDenialIterations, "test"},
	{"delegation with opt-out", func(f *farm) {
		f.remove("zone.test.", dns.TypeDS)
		f.edit("zone.test.", dns.TypeDS, func(m *dns.Msg) {
			m.Ns = append(f.hashed("test.", "test.", 0, 1, dns.TypeNS, dns.TypeSOA), f.covering("test.", "zone.test.", 0, 1)...)
		})
	}, "", diag.Insecure, codeOptOut, "test"},
	{"delegation without opt-out", func(f *farm) {
		f.remove("zone.test.", dns.TypeDS)
		f.edit("zone.test.", dns.TypeDS, func(m *dns.Msg) {
			m.Ns = append(f.hashed("test.", "test.", 0, 0, dns.TypeNS, dns.TypeSOA), f.covering("test.", "zone.test.", 0, 0)...)
		})
		f.edit("www.zone.test.", dns.TypeA, drop(dns.TypeRRSIG))
	}, "", diag.Bogus, codeSigMissing, "test"},
}

// aliasFates are about aliases.
var aliasFates = []fate{
	{"alias", func(f *farm) { f.add("a.zone.test. 300 CNAME www.zone.test.") }, "a.zone.test. A", diag.Secure, "", ""},
	{"alias itself", func(f *farm) {
		f.add("a.zone.test. 300 CNAME www.zone.test.")
	}, "a.zone.test. CNAME", diag.Secure, "", ""},
	{"alias to nothing", func(f *farm) {
		f.add("a.zone.test. 300 CNAME nope.zone.test.")
	}, "a.zone.test. A", diag.Secure, "", ""},
	{"alias into an unsigned zone", func(f *farm) {
		f.add("a.zone.test. 300 CNAME x.plain.test.", "plain.test. 300 NS ns.plain.test.")
		f.edit("x.plain.test.", dns.TypeA, func(m *dns.Msg) {
			m.Ns, m.Answer = nil, rrs([]string{"x.plain.test. A 192.0.2.5"})
		})
	}, "a.zone.test. A", diag.Insecure, codeDSMissing, "plain.test"},
	{"alias into a gap of opt-out, proven beside the alias alone", func(f *farm) {
		f.add("a.zone.test. 300 CNAME x.plain.test.")
		f.edit("a.zone.test.", dns.TypeA, func(m *dns.Msg) {
			m.Ns = slices.Concat(f.hashed("test.", "test.", 0, 1, dns.TypeNS, dns.TypeSOA), f.covering("test.", "plain.test.",
				0, 1))
		})
		f.edit("x.plain.test.", dns.TypeA, func(m *dns.Msg) { m.Ns = nil })
		f.edit("plain.test.", dns.TypeDS, func(m *dns.Msg) { m.Ns = nil })
	}, "a.zone.test. A", diag.Insecure, codeOptOut, "test"},
	{"unsigned zone below an alias", func(f *farm) {
		f.add("b.zone.test. 300 CNAME www.zone.test.", "x.b.zone.test. 300 NS ns.example.")
		f.edit("www.x.b.zone.test.", dns.TypeA, func(m *dns.Msg) {
			m.Ns, m.Answer = nil, rrs([]string{"www.x.b.zone.test. A 192.0.2.5"})
		})
	}, "www.x.b.zone.test. A", diag.Insecure, codeDSMissing, "x.b.zone.test"},
	{"unsigned alias", func(f *farm) {
		f.add("a.zone.test. 300 CNAME www.zone.test.")
		f.edit("a.zone.test.", dns.TypeA, drop(dns.TypeRRSIG))
	}, "a.zone.test. A", diag.Bogus, codeSigMissing, "zone.test"},
	{"alias to a forged answer", func(f *farm) {
		f.add("a.zone.test. 300 CNAME www.zone.test.")
		f.edit("a.zone.test.", dns.TypeA, func(m *dns.Msg) {
			m.Answer = append(m.Answer, rrs([]string{"www.zone.test. A 192.0.2.66"})...)
		})
		f.edit("www.zone.test.", dns.TypeA, drop(dns.TypeRRSIG))
	}, "a.zone.test. A", diag.Bogus, codeSigMissing, "zone.test"},
	{"forged answer behind an alias, and a right one for the target", func(f *farm) {
		f.add("a.zone.test. 300 CNAME www.zone.test.")
		f.edit("a.zone.test.", dns.TypeA, func(m *dns.Msg) {
			m.Answer = append(m.Answer, rrs([]string{"www.zone.test. A 192.0.2.66"})...)
		})
	}, "a.zone.test. A", diag.Secure, "", ""},
	{"target does not answer", func(f *farm) {
		f.add("a.zone.test. 300 CNAME www.zone.test.")
		f.errors[at("www.zone.test.", dns.TypeA)] = errors.New("nobody there")
	}, "a.zone.test. A", diag.Indeterminate, codeAnswerUnavailable, "zone.test"},
	{"loop", func(f *farm) {
		f.add("a.zone.test. 300 CNAME b.zone.test.", "b.zone.test. 300 CNAME a.zone.test.")
	}, "a.zone.test. A", diag.Bogus, codeAliasLoop, "zone.test"},
	{"long", func(f *farm) {
		for c := 'a'; c < 'm'; c++ {
			f.add(string(c) + ".zone.test. 300 CNAME " + string(c+1) + ".zone.test.")
		}
	}, "a.zone.test. A", diag.Bogus, codeAliasLong, "zone.test"},
	{"as long as may be", func(f *farm) {
		for c := 'a'; c < 'k'; c++ {
			f.add(string(c) + ".zone.test. 300 CNAME " + string(c+1) + ".zone.test.")
		}
		f.add("k.zone.test. 300 CNAME www.zone.test.")
	}, "a.zone.test. A", diag.Secure, "", ""},
	{"DNAME", func(f *farm) { f.redirect("www.zone.test.") }, "www.old.zone.test. A", diag.Secure, "", ""},
	{"DNAME without the alias", func(f *farm) { f.redirect("") }, "www.old.zone.test. A", diag.Secure, "", ""},
	{"DNAME that makes too long a name", func(f *farm) {
		f.redirect("")
		long := strings.Repeat("abcdefg.", 30) + "abc.zone.test."
		f.edit("www.old.zone.test.", dns.TypeA, func(m *dns.Msg) {
			m.Rcode, m.Answer = dns.RcodeYXDomain, f.signed("zone.test.", "old.zone.test. 300 DNAME "+long)
		})
	}, "www.old.zone.test. A", diag.Secure, "", ""},
	{"DNAME, and a wrong claim that the name is too long", func(f *farm) {
		f.redirect("")
		f.edit("www.old.zone.test.", dns.TypeA, func(m *dns.Msg) { m.Rcode = dns.RcodeYXDomain })
	}, "www.old.zone.test. A", diag.Bogus, codeDNAME, "zone.test"},
	{"DNAME with another alias", func(f *farm) {
		f.redirect("evil.test.")
	}, "www.old.zone.test. A", diag.Bogus, codeDNAME, "zone.test"},
	{"alias of a DNAME itself", func(f *farm) {
		f.redirect("www.zone.test.")
	}, "www.old.zone.test. CNAME", diag.Secure, "", ""},
	{"DNAME of a wildcard", func(f *farm) {
		f.redirect("www.zone.test.")
		f.edit("www.old.zone.test.", dns.TypeA, func(m *dns.Msg) {
			m.Answer[1] = f.sign("zone.test.", m.Answer[:1], func(s *dns.RRSIG) { s.Labels = 2 })
			m.Ns = f.signed("zone.test.", "a.zone.test. 300 NSEC zz.zone.test. A RRSIG NSEC")
		})
	}, "www.old.zone.test. A", diag.Bogus, codeWildcard, "zone.test"},
}
