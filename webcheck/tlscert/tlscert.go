package tlscert

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"slices"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/webcheck/internal/probe"
	"golang.org/x/crypto/ocsp"
)

const day = 24 * time.Hour

// A Request asks for the examination of a server.
type Request struct {
	// Host may have a port, such as "example.com:8443".
	Host Host `json:"host" doc:"server, by name or IP address; may end in a port" example:"example.com"`
	// Port is the port. 0 means that of Host, or else 443.
	Port          int         `json:"port,omitempty" default:"443" enum:"443 465 563 636 853 990 993 995 8443" doc:"port that speaks TLS from the start" example:"443"`
	ServerName    diag.Domain `json:"server_name,omitempty" doc:"name to ask for and to expect in the certificate; by default the host"`
	Detail        Detail      `json:"detail,omitempty" default:"summary" doc:"full adds long lists"`
	CheckVersions *bool       `json:"check_versions,omitempty" default:"true" doc:"whether to find out all protocol versions and cipher suites, over a few dozen connections" example:"true"`
}

// A Report describes the certificates, protocol versions and cipher suites of a server, with a verdict. What
// is absent is not known.
type Report struct {
	Host        string `json:"host" doc:"server that was asked for" example:"example.com"`
	HostUnicode string `json:"host_unicode,omitempty" doc:"its Unicode form, if different"`
	Port        int    `json:"port" doc:"port" example:"443"`
	Address     string `json:"address,omitempty" doc:"address that was connected to" example:"192.0.2.10"`
	IPVersion   int    `json:"ip_version,omitempty" doc:"4 or 6"`
	diag.Verdict
	TLS           pki.TLS          `json:"tls,omitzero" doc:"the connection and the chain as served; absent if there was none, or its certificates are not known"`
	Certificate   pki.Certificate  `json:"certificate,omitzero" doc:"certificate of the server"`
	HostnameMatch *bool            `json:"hostname_match,omitempty" doc:"whether it covers the name"`
	Trusted       *bool            `json:"trusted,omitempty" doc:"whether its chain leads to a trusted authority, the name apart"`
	ExpiresAt     time.Time        `json:"expires_at,omitzero" doc:"when the certificate of the server expires"`
	DaysRemaining *int             `json:"days_remaining,omitempty" doc:"whole days until the certificate of the server expires; negative a day after it"`
	Error         fetch.Error      `json:"error,omitzero" doc:"why there was no handshake with a certificate"`
	VerifiedChain []ChainLink      `json:"verified_chain" doc:"the path to a trusted authority, leaf first, root included; empty if there is none"`
	ChainIssues   []ChainIssue     `json:"chain_issues" doc:"what is wrong with the chain as served"`
	Repairable    *bool            `json:"chain_repairable,omitempty" doc:"of an incomplete chain: whether fetching what the certificates point to completes it"`
	Versions      []VersionSupport `json:"versions,omitempty" doc:"protocol versions, the oldest first"`
	CipherSuites  []CipherSuite    `json:"cipher_suites,omitempty" doc:"cipher suites by version, the newest first, as the server prefers them"`
	Groups        []string         `json:"groups,omitempty" doc:"groups for the key exchange, as the server prefers them" example:"[\"X25519\"]"`
	ALPN          []string         `json:"alpn_protocols,omitempty" doc:"application protocols, as the server prefers them" example:"[\"h2\"]"`
	Clients       []Client         `json:"clients,omitempty" doc:"families of clients, and whether and with what they connect"`
	IfDisabled    IfDisabled       `json:"if_disabled,omitzero" doc:"which families of clients would no longer connect if something were disabled"`
	Features      Features         `json:"features,omitzero" doc:"extensions and habits of the server"`
	OCSP          OCSP             `json:"ocsp" doc:"stapled OCSP response"`
	Revocation    Revocation       `json:"revocation,omitzero" doc:"whether the authority revoked the certificate; absent without a certificate"`
	Distrust      []Distrust       `json:"distrust,omitempty" doc:"announcements of browsers that concern the authority"`
	SCTs          []SCT            `json:"scts" doc:"signed certificate timestamps"`
	CAA           CAA              `json:"caa,omitzero" doc:"which authorities may issue certificates for the name; absent for addresses, and if it could not be learned"`
	HandshakeMS   *int64           `json:"handshake_ms,omitempty" min:"0" doc:"how long the TLS handshake took"`
	Partial       bool             `json:"partial" doc:"whether something could not be learned"`

	Addresses    []AddressReport        `json:"addresses,omitempty" maxitems:"8" doc:"the addresses of the host, if there are several"`
	Certificates []PresentedCertificate `json:"certificates,omitempty" maxitems:"24" doc:"all that are presented"`
	DANE         DANE                   `json:"dane,omitzero" doc:"TLSA records for the port; absent if there are none or not known"`
	WithoutSNI   WithoutSNI             `json:"without_sni,omitzero" doc:"what clients get that name no host; absent if not known"`
	diag.Timing
}

// Check examines a server. A server that does not answer is a result. The error is a *[diag.InputError], that
// of the context if it ended, or that of a list that cannot be read.
func Check(ctx context.Context, env *diag.Env, req Request) (*Report, error) {
	req, err := req.checked()
	if err != nil {
		return nil, err
	}
	x, err := gather(ctx, env, req)
	if err != nil {
		return nil, err
	}
	return x.report(env.Now()), nil
}

// Rules describes the rules behind the findings.
func (*Report) Rules() []rule.Description { return rules().Describe() }

// httpsPort is where web servers speak TLS (RFC 9110 section 4.2.2).
const httpsPort = 443

// ports are those on which TLS begins with the first byte, by their protocol: HTTPS, SMTP, NNTP, LDAP, DNS, FTP, IMAP,
// POP3 and HTTPS again (CONTRACT 3.4).
var ports = diag.Ports{443, 465, 563, 636, 853, 990, 993, 995, 8443}

// checked fills in defaults, and returns an InputError for what makes no sense.
func (r Request) checked() (Request, error) {
	if r.Host.IsZero() {
		return r, input.Invalid("host", "is missing")
	}
	if r.Port != 0 && r.Host.Port != 0 && r.Port != int(r.Host.Port) {
		return r, input.Invalid("port", "is %d, and host names port %d", r.Port, r.Host.Port)
	}
	field := "port"
	if r.Port == 0 && r.Host.Port != 0 {
		r.Port, field = int(r.Host.Port), "host"
	}
	if r.Port == 0 {
		r.Port = httpsPort
	}
	if r.Port < 0 || r.Port > 1<<16-1 || !slices.Contains(ports, uint16(r.Port)) {
		return r, input.Invalid(field, "the port must be one of 443, 465, 563, 636, 853, 990, 993, 995 and 8443, not %d",
			r.Port)
	}
	if r.CheckVersions == nil {
		r.CheckVersions = new(true)
	}
	return r, nil
}

// report describes the part that says most against the host, with the verdict on all of them.
func (x *examination) report(ended time.Time) *Report {
	r := x.worst().report(ended)
	r.Verdict = rules().JudgeParts(x.judged(), x.affected, texts)
	r.Addresses, r.Certificates = x.addresses(), x.certificates()
	r.Partial = r.Partial || slices.ContainsFunc(x.parts, (*evidence).partial) || r.Incomplete()
	return r
}

// report is all but the verdict.
func (e *evidence) report(ended time.Time) *Report {
	r := &Report{
		Host: e.req.Host.Name(), Port: e.req.Port, TLS: kit.OrZero(e.tls),
		VerifiedChain: e.verifiedChain(), ChainIssues: e.chainIssues(), OCSP: e.ocspReport(), SCTs: []SCT{},
		CAA: e.caaReport(), WithoutSNI: e.withoutSNI(), DANE: e.daneReport(), HandshakeMS: e.handshakeMS,
		Partial: e.partial(),
		Timing:  diag.NewTiming(e.began, ended),
	}
	if d, ok := e.req.Host.Domain(); ok {
		r.HostUnicode = d.UnicodeIfDifferent()
	}
	if e.addr.IsValid() {
		r.Address, r.IPVersion = e.addr.Addr().String(), diag.IP{Addr: e.addr.Addr()}.Version()
	}
	if c := e.described(); c != nil {
		r.Certificate = *c
		r.HostnameMatch, r.Trusted = new(e.tls.HostnameMatch), new(e.tls.Trusted)
		r.ExpiresAt, r.DaysRemaining = c.NotAfter, new(c.DaysRemaining)
		r.SCTs = e.scts
		r.Revocation, r.Distrust = e.revocation(), e.distrustReport()
	}
	if e.failure != nil && e.tls == nil {
		r.Error = *e.failure
	}
	if slices.Contains(r.ChainIssues, Incomplete) && (e.repairTried || e.repaired) {
		r.Repairable = new(e.repaired)
	}
	if e.scan != nil && *e.req.CheckVersions && !e.scan.NotTLS {
		e.matrix(r)
	}
	e.describeClients(r)
	return r
}

// matrix writes down what the scan found.
func (e *evidence) matrix(r *Report) {
	r.Versions = kit.Map(e.scan.Versions, func(v probe.VersionResult) VersionSupport {
		return VersionSupport{v.Version.String(), boolOf(v.Supported)}
	})
	r.CipherSuites = kit.Map(e.scan.Suites, func(s probe.SuiteResult) CipherSuite {
		return CipherSuite{s.Version.String(), fmt.Sprintf("0x%04X", s.ID), s.Name, s.Strength(), s.ForwardSecret(), s.DHBits}
	})
	for _, g := range e.scan.Groups {
		if name := g.Group.String(); !slices.Contains(r.Groups, name) {
			r.Groups = append(r.Groups, name)
		}
	}
	r.ALPN = slices.Clone(e.scan.ALPN)
	if e.alpn != "" && !slices.Contains(r.ALPN, e.alpn) {
		r.ALPN = slices.Insert(r.ALPN, 0, e.alpn)
	}
	if !e.scan.Any() {
		return
	}
	f := Features{
		known:       true,
		Compression: boolOf(e.scan.Compression), FallbackSCSV: boolOf(e.scan.FallbackSCSV),
		ServerOrder: boolOf(e.scan.ServerOrder), TicketResumption: boolOf(e.resumes),
	}
	if old := e.scan.Old; old != nil && old.Version > probe.SSL3 {
		f.SecureRenegotiation, f.MasterSecret = new(old.SecureRenegotiation), new(old.MasterSecret)
		f.SessionTickets, f.Heartbeat = new(old.SessionTicket), new(old.Heartbeat)
	}
	if e.scan.New != nil {
		f.PostQuantum = new(slices.ContainsFunc(e.scan.Groups,
			func(g probe.GroupResult) bool { return g.Group.PostQuantum() }))
	}
	r.Features = f
}

// partial reports whether something could not be learned.
func (e *evidence) partial() bool {
	return e.failure != nil && e.failure.Unanswered || e.scan != nil && e.scan.Partial || e.caaFault() != nil ||
		e.dane.err != nil || e.repairFault != nil || e.revocationOpen()
}

func (e *evidence) verifiedChain() []ChainLink {
	return kit.Map(e.verified, func(c *x509.Certificate) ChainLink {
		served := slices.ContainsFunc(e.tls.Peers, func(p *x509.Certificate) bool { return same(p, c) })
		return ChainLink{subject(c), c.NotAfter.UTC(), served, fmt.Sprintf("%x", sha256.Sum256(c.Raw))}
	})
}

func (e *evidence) chainIssues() []ChainIssue {
	list := []ChainIssue{}
	if e.tls == nil {
		return list
	}
	for _, one := range []struct {
		issue ChainIssue
		is    bool
	}{
		{Incomplete, e.incomplete()}, {WrongOrder, e.disordered()}, {Extra, len(e.extra()) > 0},
		{ExpiredExtra, len(e.stale()) > 0},
		{ExpiredIntermediate, len(e.expiredIssuers()) > 0}, {WeakSignature, len(e.weaklySigned()) > 0},
	} {
		if one.is {
			list = append(list, one.issue)
		}
	}
	return list
}

// incomplete reports whether the chain ends before a root, at a certificate whose issuer is not trusted itself.
func (e *evidence) incomplete() bool {
	return !e.tls.ChainComplete && !pki.SelfSigned(e.top()) && !e.anchored
}

// disordered reports whether a certificate does not follow the one that it signed (RFC 5246 section 7.4.2).
func (e *evidence) disordered() bool { return !slices.IsSorted(e.path) }

// extra lists the certificates that belong to no path: duplicates and unrelated ones. One with the name and the key of
// one on the path is another path to a root, and not extra.
func (e *evidence) extra() (list []*x509.Certificate) {
	stale := e.stale()
	for i, c := range e.tls.Peers {
		if slices.Contains(e.path, i) {
			continue
		}
		alternative := slices.ContainsFunc(e.path, func(j int) bool {
			return sameHolder(e.tls.Peers[j], c) && !same(e.tls.Peers[j], c)
		}) || slices.ContainsFunc(stale, func(known *x509.Certificate) bool { return same(known, c) })
		verified := slices.ContainsFunc(e.paths, func(path []*x509.Certificate) bool {
			return slices.ContainsFunc(path, func(v *x509.Certificate) bool { return same(v, c) })
		})
		if !alternative && !verified {
			list = append(list, c)
		}
	}
	return list
}

func (e *evidence) expiredIssuers() (list []*x509.Certificate) {
	if e.tls.Trusted {
		return nil // by another way
	}
	for _, c := range e.needed()[1:] {
		if e.now.After(c.NotAfter) {
			list = append(list, c)
		}
	}
	return list
}

// weaklySigned lists the certificates that are needed and signed with a broken hash. Roots are trusted without a look
// at their signature.
func (e *evidence) weaklySigned() (list []*x509.Certificate) {
	for _, c := range e.needed() {
		switch c.SignatureAlgorithm {
		case x509.MD2WithRSA, x509.MD5WithRSA, x509.SHA1WithRSA, x509.DSAWithSHA1, x509.ECDSAWithSHA1:
			list = append(list, c)
		}
	}
	return list
}

// The extension by which a certificate asks for a stapled response, and its content (RFC 7633 section 4): the number
// of the extension status_request.
var (
	tlsFeature    = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 1, 24}
	statusRequest = []byte{0x02, 0x01, 0x05}
)

// mustStaple reports whether the certificate asks for a stapled response.
func (e *evidence) mustStaple() bool {
	return e.leaf() != nil && slices.ContainsFunc(e.leaf().Extensions, func(x pkix.Extension) bool {
		return x.Id.Equal(tlsFeature) && bytes.Contains(x.Value, statusRequest)
	})
}

// sctList is the extension of an OCSP response that holds timestamps (RFC 6962 section 3.3).
var sctList = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 11129, 2, 4, 5}

func (e *evidence) ocspReport() OCSP {
	r := OCSP{Stapled: len(e.staple) > 0, MustStaple: e.mustStaple()}
	if e.response == nil {
		return r
	}
	r.Status = map[int]OCSPStatus{ocsp.Good: OCSPGood, ocsp.Revoked: OCSPRevoked,
		ocsp.Unknown: OCSPUnknown}[e.response.Status]
	r.ProducedAt, r.NextUpdate = e.response.ProducedAt.UTC(), e.response.NextUpdate.UTC()
	return r
}
