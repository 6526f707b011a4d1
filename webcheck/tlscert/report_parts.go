package tlscert

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"slices"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/webcheck/internal/probe"
)

// A Detail selects whether a report has the long lists: summary or full.
type Detail string

// The details.
const (
	Summary Detail = "summary" // the default
	Full    Detail = "full"    // cipher suites, groups and application protocols of each address as well
)

// Values lists the details.
func (Detail) Values() []string { return kit.Values(Summary, Full) }

// An AddressReport is the result for one of several addresses of the host.
type AddressReport struct {
	Address      string          `json:"address" doc:"address" example:"192.0.2.10"`
	IPVersion    int             `json:"ip_version" doc:"4 or 6"`
	State        diag.ScopeState `json:"state" doc:"whether it was examined"`
	Outcome      AddressOutcome  `json:"outcome" doc:"how far the check came"`
	Fingerprints []string        `json:"fingerprints_sha256" doc:"certificates that it presents, by their SHA-256 in hex"`
	ExpiresAt    time.Time       `json:"expires_at,omitzero" doc:"when the first of its certificates expires"`
	Versions     []string        `json:"versions,omitempty" doc:"protocol versions that it speaks, the oldest first"`
	CipherSuites []CipherSuite   `json:"cipher_suites,omitempty" doc:"cipher suites that it accepts; with detail full"`
	Groups       []string        `json:"groups,omitempty" doc:"groups for the key exchange; with detail full"`
	ALPN         []string        `json:"alpn_protocols,omitempty" doc:"application protocols; with detail full"`
}

// An AddressOutcome is how far the check got at an address: handshake, failed, refused, unanswered or
// left_out.
type AddressOutcome string

const (
	AddressSpeaks     AddressOutcome = "handshake"  // it presents a certificate
	AddressFailed     AddressOutcome = "failed"     // it takes connections, and presents none
	AddressRefused    AddressOutcome = "refused"    // it refuses connections
	AddressUnanswered AddressOutcome = "unanswered" // it is silent
	AddressLeftOut    AddressOutcome = "left_out"   // it was not asked
)

// Values lists the outcomes.
func (AddressOutcome) Values() []string {
	return kit.Values(AddressSpeaks, AddressFailed, AddressRefused, AddressUnanswered, AddressLeftOut)
}

// addresses describes all addresses, if there are several.
func (x *examination) addresses() []AddressReport { return kit.Map(x.places, (*place).report) }

func (p *place) report() AddressReport {
	a := AddressReport{Address: p.addr.String(), IPVersion: diag.IP{Addr: p.addr}.Version(), State: p.part().State,
		Fingerprints: []string{}}
	switch {
	case a.State == diag.LeftOut:
		a.Outcome = AddressLeftOut
	case a.State == diag.NotAnswered:
		a.Outcome = AddressUnanswered
	case p.failure != nil:
		a.Outcome = AddressRefused
	case p.main.tls == nil:
		a.Outcome = AddressFailed
	default:
		a.Outcome = AddressSpeaks
		p.describe(&a)
	}
	return a
}

// describe says what is presented and spoken at the address.
func (p *place) describe(a *AddressReport) {
	for _, e := range append([]*evidence{p.main}, p.main.others...) {
		leaf := e.leaf()
		if leaf == nil {
			continue
		}
		a.Fingerprints = append(a.Fingerprints, sha256Of(leaf))
		if ends := leaf.NotAfter.UTC(); a.ExpiresAt.IsZero() || ends.Before(a.ExpiresAt) {
			a.ExpiresAt = ends
		}
	}
	if p.main.scan == nil || !*p.main.req.CheckVersions {
		return
	}
	for _, v := range p.main.scan.Versions {
		if v.Supported == probe.Yes {
			a.Versions = append(a.Versions, v.Version.String())
		}
	}
	if p.main.req.Detail == Full {
		var r Report
		p.main.matrix(&r)
		a.CipherSuites, a.Groups, a.ALPN = r.CipherSuites, r.Groups, r.ALPN
	}
}

func sha256Of(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	return hex.EncodeToString(sum[:])
}

// A PresentedCertificate is one of the certificates that the host presents.
type PresentedCertificate struct {
	KeyType       string    `json:"key_type" doc:"type of its key: clients that can verify no other get it" example:"RSA"`
	SHA256        string    `json:"fingerprint_sha256" doc:"SHA-256 of the whole certificate, in hex"`
	Subject       string    `json:"subject" doc:"common name, or the first of its names"`
	Issuer        string    `json:"issuer" doc:"organization or name of the issuer"`
	NotBefore     time.Time `json:"not_before" doc:"first moment of validity"`
	NotAfter      time.Time `json:"not_after" doc:"last moment of validity"`
	HostnameMatch bool      `json:"hostname_match" doc:"whether it covers the name"`
	Trusted       bool      `json:"trusted" doc:"whether its chain leads to a trusted authority, the name apart"`
	Addresses     []string  `json:"addresses" doc:"addresses that present it"`
}

// certificates lists the certificates that are presented, that which usual clients get first.
func (x *examination) certificates() (list []PresentedCertificate) {
	for _, e := range x.parts {
		leaf := e.leaf()
		if leaf == nil {
			continue
		}
		sum := sha256Of(leaf)
		i := slices.IndexFunc(list, func(c PresentedCertificate) bool { return c.SHA256 == sum })
		if i < 0 {
			i = len(list)
			list = append(list, PresentedCertificate{
				KeyType: e.kind(), SHA256: sum, Subject: subject(leaf), Issuer: e.described().Issuer.Maker(),
				NotBefore: leaf.NotBefore.UTC(), NotAfter: leaf.NotAfter.UTC(), HostnameMatch: e.tls.HostnameMatch,
				Trusted: e.tls.Trusted, Addresses: []string{},
			})
		}
		if addr := e.addr.Addr().String(); e.addr.IsValid() && !slices.Contains(list[i].Addresses, addr) {
			list[i].Addresses = append(list[i].Addresses, addr)
		}
	}
	return list
}

// WithoutSNI is the result for clients that do not send SNI, such as old devices.
type WithoutSNI struct {
	Outcome   BareOutcome `json:"outcome" doc:"same: what others get; other: another certificate; refused: none"`
	SHA256    string      `json:"fingerprint_sha256,omitempty" doc:"SHA-256 of the certificate, in hex"`
	Subject   string      `json:"subject,omitempty" doc:"its common name, or the first of its names"`
	ExpiresAt time.Time   `json:"expires_at,omitzero" doc:"when it expires"`
}

// A BareOutcome is the outcome of a handshake without SNI: same, other or refused.
type BareOutcome string

const (
	BareSame    BareOutcome = "same"
	BareOther   BareOutcome = "other"
	BareRefused BareOutcome = "refused"
)

// Values lists the outcomes.
func (BareOutcome) Values() []string { return kit.Values(BareSame, BareOther, BareRefused) }

func (e *evidence) withoutSNI() WithoutSNI {
	switch {
	case e.noSNI == nil:
		return WithoutSNI{}
	case e.noSNI.leaf == nil:
		return WithoutSNI{Outcome: BareRefused}
	}
	leaf := e.noSNI.leaf
	w := WithoutSNI{BareSame, sha256Of(leaf), subject(leaf), leaf.NotAfter.UTC()}
	if e.foreignBare() {
		w.Outcome = BareOther
	}
	return w
}

// foreignBare reports whether clients that name no host get a certificate that others do not.
func (e *evidence) foreignBare() bool {
	if e.noSNI == nil || e.noSNI.leaf == nil {
		return false
	}
	shown := func(p *evidence) bool { return len(p.served) > 0 && bytes.Equal(p.served[0], e.noSNI.leaf.Raw) }
	return !slices.ContainsFunc(e.siblings(), shown)
}

// siblings are the parts at the same address.
func (e *evidence) siblings() (list []*evidence) {
	if e.whole == nil {
		return []*evidence{e}
	}
	for _, p := range e.whole.parts {
		if p.addr == e.addr {
			list = append(list, p)
		}
	}
	return list
}
