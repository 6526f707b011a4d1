package tlscert

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnssec"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/pki/tlsa"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/miekg/dns"
)

// maxTLSA bounds the TLSA records that are read. Two are needed, and four are usual during a change.
const maxTLSA = 20

// dane holds the TLSA records for the certificate of the server (RFC 6698).
type dane struct {
	queried bool
	name    string // of the records, without a final dot
	records []tlsa.Record
	status  diag.DNSSECStatus // of the records; empty if there are none
	err     error             // why it is not known whether there are any
}

// lookupDANE asks for the TLSA records of the port (RFC 6698 section 3).
func lookupDANE(ctx context.Context, env *diag.Env, name string, port int) dane {
	if _, err := netip.ParseAddr(name); err == nil {
		return dane{} // addresses have none
	}
	d := dane{queried: true, name: fmt.Sprintf("_%d._tcp.%s", port, name)}
	a := diag.Lookup[*dns.TLSA](ctx, env, dns.Fqdn(d.name))
	if d.err = a.Err(); d.err != nil || !a.Exists() {
		return d
	}
	d.records = kit.Map(a.Records[:min(len(a.Records), maxTLSA)], tlsa.RecordOf)
	d.status = dnssec.Proven(ctx, env, a, dns.TypeTLSA)
	return d
}

// matches reports whether a TLSA record authenticates the certificate.
func (e *evidence) matches() bool {
	return tlsa.Verify(e.dane.records, tlsa.Peer{
		Chain: e.tls.Peers, Names: []string{e.name}, Now: e.now, Roots: e.roots,
	}).OK()
}

// usable reports whether clients can use one of the records.
func (d dane) usable() bool {
	for _, r := range d.records {
		if r.Fault() == "" {
			return true
		}
	}
	return false
}

// pin is a record for the key of the certificate, which a renewal may keep.
func (e *evidence) pin() string {
	sum := sha256.Sum256(e.leaf().RawSubjectPublicKeyInfo)
	return "3 1 1 " + hex.EncodeToString(sum[:])
}

// daneRules are about TLSA records, where there are any. Browsers do not read them; other clients refuse what they do
// not match.
var daneRules = rule.Rules[*evidence]{{
	Code: "tls.dane.unknown", Severity: diag.Info, StateIfFailed: diag.Unknown, Ref: "RFC 6698 section 4.1",
	Title: "TLSA records could not be looked up", Requirement: "The name servers answer for TLSA records",
	Advice: "Check that every name server answers TLSA queries: " +
		"clients that use DANE do not connect when the lookup fails.",
	When: func(e *evidence) bool { return e.dane.queried && e.connected() },
	Fails: func(e *evidence) rule.Failures {
		if e.dane.err == nil {
			return nil
		}
		return rule.Fail("The TLSA lookup of %s failed: %s.", e.dane.name, diag.Reason(e.dane.err))
	},
}, {
	Code: "tls.dane.unsigned", Severity: diag.Warning, Weight: 1, Ref: "RFC 6698 section 4.1",
	Title: "TLSA records are not signed with DNSSEC", Requirement: "The TLSA records are signed with DNSSEC",
	Advice: "Sign the zone with DNSSEC and publish its DS record, or remove the TLSA records: " +
		"without signatures clients ignore them.",
	When: func(e *evidence) bool { return len(e.dane.records) > 0 && e.dane.status != diag.Indeterminate },
	Fails: func(e *evidence) rule.Failures {
		switch e.dane.status {
		case diag.Insecure:
			return rule.Fail("The TLSA records at %s are not signed, and have no effect.", e.dane.name)
		case diag.Bogus:
			return rule.Fail("DNSSEC validation of the TLSA records at %s fails: clients that use DANE do not connect.",
				e.dane.name)
		}
		return nil
	},
}, {
	Code: "tls.dane.unusable", Severity: diag.Warning, Weight: 1, DependsOn: []diag.Code{"tls.dane.unsigned"},
	Ref:   "RFC 6698 section 2.1",
	Title: "No client can use the TLSA records", Requirement: "Clients can use the TLSA records",
	Advice: "Publish 3 1 1 and the SHA-256 of the public key of the certificate.",
	When:   func(e *evidence) bool { return len(e.dane.records) > 0 },
	Fails: func(e *evidence) rule.Failures {
		if e.dane.usable() {
			return nil
		}
		return rule.Fail("The TLSA record at %s %s.", e.dane.name, e.dane.records[0].Fault())
	},
}, {
	Code: "tls.dane.mismatch", Severity: diag.Warning, Weight: 3,
	DependsOn: []diag.Code{"tls.dane.unsigned", "tls.dane.unusable"}, Ref: "RFC 7671 section 5",
	Title: "TLSA records do not match the certificate", Requirement: "A TLSA record matches the certificate",
	When: func(e *evidence) bool { return len(e.dane.records) > 0 && certified(e) && e.dane.status == diag.Secure },
	Fails: func(e *evidence) rule.Failures {
		if e.matches() {
			return nil
		}
		f := rule.Fail("None of the TLSA records at %s matches the certificate for %s: clients that use DANE refuse it.",
			e.dane.name, subject(e.leaf())).About(e.dane.name)
		f[0].Advice = fmt.Sprintf("Publish the TLSA record %s at %s, then remove those that match no certificate in use.",
			e.pin(), e.dane.name)
		return f
	},
}}

// DANE is the result of the TLSA records for the certificate (RFC 6698).
type DANE struct {
	Name    string            `json:"name" doc:"name of the TLSA records" example:"_443._tcp.example.com"`
	Records []string          `json:"records" doc:"the records"`
	Status  diag.DNSSECStatus `json:"dnssec_status" doc:"whether DNSSEC proves them: others have no effect"`
	Matches *bool             `json:"matches,omitempty" doc:"whether one matches the certificate of the server; absent without one"`
}

// daneReport describes the records; zero if there are none.
func (e *evidence) daneReport() (d DANE) {
	if len(e.dane.records) == 0 {
		return d
	}
	d = DANE{Name: e.dane.name, Records: kit.Map(e.dane.records, tlsa.Record.String), Status: e.dane.status}
	if e.tls != nil {
		d.Matches = new(e.matches())
	}
	return d
}
