package tlscert

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/diag/pki/revocation"
	"github.com/diagkit/diagkit/diag/reach"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/webcheck/internal/lint"
	"github.com/diagkit/diagkit/webcheck/internal/probe"
	"golang.org/x/crypto/ocsp"
)

// evidence is the input of the rules: a certificate that is presented at an address, and what speaks there. Only
// gather and digest fill it.
type evidence struct {
	whole   *examination // of the host; nil in tests of rules
	limit   probe.Limit  // of connections to the address
	absent  bool         // of what did not answer, beside others that did
	further bool         // another address than that which answered first

	req   Request
	began time.Time
	now   time.Time
	name  string // that the certificate is to cover
	roots *x509.CertPool
	logs  logList

	addr    netip.AddrPort // invalid if nothing was connected to
	failure *fetch.Error   // why crypto/tls made no connection
	scan    *probe.Report  // nil if it was not asked for
	caa     caa
	dane    dane

	handshakeMS    *int64 // milliseconds of the handshake
	version, suite uint16 // of the connection, or as the scan found them
	alpn           string
	asksClient     bool     // the server asked for a certificate of the client
	refusesLate    bool     // and ended the connection after the handshake, since there was none
	served         [][]byte // certificates in DER form
	staple         []byte
	handshakeSCTs  int
	others         []*evidence // for further certificates that are presented at the address

	presented
	clientResults
	related
	digested
}

// related holds what is fetched because of the certificates of a chain.
type related struct {
	repairTried, repaired bool
	repairFault           error
	fetched               []*x509.Certificate
	revocations           []RevocationCheck // the status of the certificates at their authorities
	revokedIssuers        []*x509.Certificate
	otherCAA              []caa // of names of the certificate beside that of the host
	moreNames             int   // names of which they were not looked up
}

// digested is the result of digest on what was presented.
type digested struct {
	tls      *pki.TLS // nil if there are no certificates to describe
	broken   error    // why a certificate cannot be read
	path     []int    // of the served chain, from the leaf on
	anchored bool     // the last certificate of the path was issued by a trusted authority
	verified []*x509.Certificate
	paths    [][]*x509.Certificate // all that lead to a trusted authority, of which verified is one
	linted   bool                  // the chain was held to the rules of certificates
	product  *product              // that made the certificate by itself; nil if none is known
	faults   []lint.Fault
	response *ocsp.Response
	ocspErr  error
	scts     []SCT
	sctFault bool // a timestamp, or the list of them, cannot be read
}

func (e *evidence) verifier() pki.Verifier {
	return pki.Verifier{Roots: e.roots, ServerName: e.name, Now: e.now}
}

// parseChain reads the certificates of a chain. One that cannot be read ends it.
func parseChain(served [][]byte) (chain []*x509.Certificate, err error) {
	for _, der := range served[:min(len(served), pki.MaxChain)] {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			return chain, err
		}
		chain = append(chain, c)
	}
	return chain, nil
}

// What is asked beside the way to the server.
const (
	sourceScan rule.Source = "scan" // the connections that try versions and cipher suites
	sourceCAA  rule.Source = "caa"
	sourceDANE rule.Source = "dane" // TLSA records

	sourceRevocation rule.Source = "revocation" // OCSP responders and revocation lists
)

// Unanswered implements [rule.Unanswerer].
func (e *evidence) Unanswered() []rule.Source {
	list := e.observation().Unanswered()
	if e.scan == nil || e.scan.Partial {
		list = append(list, sourceScan)
	}
	if e.caaFault() != nil {
		list = append(list, sourceCAA)
	}
	if e.dane.err != nil {
		list = append(list, sourceDANE)
	}
	if e.revocationOpen() {
		list = append(list, sourceRevocation)
	}
	return list
}

// digest derives the input of the rules from the answers.
func (e *evidence) digest() {
	chain, err := parseChain(e.served)
	e.broken = err
	if e.broken == nil && e.failed(fetch.TLS) && strings.Contains(e.failure.Message, "failed to parse certificate") {
		e.broken = e.failure // crypto/tls does not expose it then
	}
	if len(chain) == 0 {
		return
	}
	e.tls = e.verifier().DescribeChain(chain)
	e.describeConnection()
	e.path = follow(chain)
	e.anchored = e.verifier().Complete([]*x509.Certificate{e.top()})
	e.verified = e.verify(chain)
	e.identify()
	e.lint(chain)
	e.readStaple()
	e.readSCTs()
}

// describeConnection says over what connection the chain came.
func (e *evidence) describeConnection() {
	e.tls.Version, e.tls.CipherSuite, e.tls.ALPN = tls.VersionName(e.version), probe.SuiteOf(e.suite).Name, e.alpn
	if e.version == 0 {
		e.tls.Version, e.tls.CipherSuite = "", ""
	}
}

func (e *evidence) leaf() *x509.Certificate {
	if e.tls == nil {
		return nil
	}
	return e.tls.Peers[0]
}

func (e *evidence) described() *pki.Certificate {
	if e.tls == nil {
		return nil
	}
	return e.tls.Leaf()
}

// issuer is the certificate that signed the leaf, or nil if it is not known.
func (e *evidence) issuer() *x509.Certificate {
	switch {
	case len(e.verified) > 1:
		return e.verified[1]
	case len(e.path) > 1:
		return e.tls.Peers[e.path[1]]
	case len(e.fetched) > 0:
		return e.fetched[0]
	default:
		return nil
	}
}

// verify returns a path from the leaf to a trusted authority, the shortest of those with the most certificates as
// served, or nil without one.
func (e *evidence) verify(chain []*x509.Certificate) []*x509.Certificate {
	if slices.ContainsFunc(chain, func(c *x509.Certificate) bool { return !pki.Checkable(c) }) {
		return nil
	}
	sent := x509.NewCertPool()
	for _, c := range chain[1:] {
		sent.AddCert(c)
	}
	paths, err := chain[0].Verify(x509.VerifyOptions{Roots: e.roots, Intermediates: sent, CurrentTime: e.now})
	if err != nil {
		return nil
	}
	e.paths = paths
	return slices.MinFunc(paths, func(a, b []*x509.Certificate) int { return len(a) - len(b) })
}

// follow returns the positions of the certificates that lead from the leaf to the last issuer that was sent.
func follow(chain []*x509.Certificate) []int {
	path := []int{0}
	for at := chain[0]; !bytes.Equal(at.RawSubject, at.RawIssuer); {
		next := slices.IndexFunc(chain, func(c *x509.Certificate) bool { return issued(c, at) })
		if next < 0 || slices.Contains(path, next) {
			break
		}
		path = append(path, next)
		at = chain[next]
	}
	return path
}

// issued reports whether a certificate may be that of another one's issuer: by its name, and by its key where that can
// be checked.
func issued(issuer, c *x509.Certificate) bool {
	if !bytes.Equal(issuer.RawSubject, c.RawIssuer) {
		return false
	}
	if len(c.AuthorityKeyId) > 0 && len(issuer.SubjectKeyId) > 0 && !bytes.Equal(c.AuthorityKeyId, issuer.SubjectKeyId) {
		return false
	}
	return true
}

// needed lists the certificates of the path, without a root: as it was verified, or else as it was served.
func (e *evidence) needed() (list []*x509.Certificate) {
	if len(e.verified) > 1 {
		return e.verified[:len(e.verified)-1]
	}
	for _, i := range e.path {
		if c := e.tls.Peers[i]; i == 0 || !bytes.Equal(c.RawSubject, c.RawIssuer) {
			list = append(list, c)
		}
	}
	return list
}

// reason says why the chain is not trusted; empty if it is.
func (e *evidence) reason() pki.Reason {
	if e.tls == nil || e.tls.Trust == nil {
		return ""
	}
	return e.tls.Trust.(*pki.TrustError).Reason
}

// LogsFile is the name of the file with the list of Certificate Transparency logs in Env.Data, such as that
// of a browser; see [diag.List] and [pki.ParseLogs]. No list is built in, because logs change every few
// months.
const LogsFile = "ct-logs.json"

// logList is a type of its own, since mark certificates have other built-in logs beside the same file.
type logList []pki.Log

// logs returns the logs of an environment. The error names the file that could not be read.
func logs(env *diag.Env) (logList, error) {
	return diag.List(env, LogsFile, func() logList { return nil }, func(data []byte) (logList, error) {
		return pki.ParseLogs(data)
	})
}

// CheckLogs returns an error if a list of logs is invalid.
func CheckLogs(data []byte) error {
	_, err := pki.ParseLogs(data)
	return err
}

// readSCTs reads the timestamps, and verifies those of known logs. Of those that came in the handshake it is only
// known how many there are.
func (e *evidence) readSCTs() {
	e.scts = []SCT{}
	list, err := pki.SCTs(e.leaf())
	e.sctFault = err != nil
	for _, s := range list {
		one := SCT{Source: SCTEmbedded}
		if s.Version == 0 {
			one.LogID, one.Timestamp = base64.StdEncoding.EncodeToString(s.LogID[:]), s.Timestamp
		}
		if i := slices.IndexFunc(e.logs, func(l pki.Log) bool { return l.ID == s.LogID }); i >= 0 {
			one.Log, one.Operator = e.logs[i].Description, e.logs[i].Operator
			if issuer := e.issuer(); issuer != nil {
				one.Verified = new(s.Verify(e.leaf(), issuer, e.logs[i].Key) == nil)
			}
		}
		e.scts = append(e.scts, one)
	}
	for range min(e.handshakeSCTs, pki.MaxSCTs) {
		e.scts = append(e.scts, SCT{Source: SCTHandshake})
	}
	if e.response != nil &&
		slices.ContainsFunc(e.response.Extensions, func(x pkix.Extension) bool { return x.Id.Equal(sctList) }) {
		e.scts = append(e.scts, SCT{Source: SCTStapled})
	}
}

// wantedSCTs is how many timestamps browsers ask for: two up to 180 days of validity, three above (Chrome Certificate
// Transparency Policy; Apple asks for the same).
func (e *evidence) wantedSCTs() int {
	const long = 180 * day
	if e.leaf().NotAfter.Sub(e.leaf().NotBefore) > long {
		return 3
	}
	return 2
}

// readStaple reads the stapled response, and checks that it is for the certificate and signed in the name of its
// issuer. Without the issuer it cannot be verified.
func (e *evidence) readStaple() {
	if issuer := e.issuer(); len(e.staple) > 0 && issuer != nil {
		e.response, e.ocspErr = revocation.ParseOCSP(e.staple, e.leaf(), issuer, e.now)
	}
}

// seen is how far the check came with the server. What only the scan could speak with counts as reached.
func (e *evidence) observation() *reach.Observation {
	s := &reach.Observation{Host: e.req.Host.Name(), Port: uint16(e.req.Port), Now: e.now}
	if e.tls != nil {
		s.TLS = []*pki.TLS{e.tls}
	}
	if e.failure != nil && !scanned(e) {
		failure := *e.failure
		failure.Unanswered = failure.Unanswered || e.isSilent()
		s.Err = &failure
	}
	return s
}

// failed reports whether the handshake or the way to it failed for a reason.
func (e *evidence) failed(code fetch.Reason) bool { return e.failure != nil && e.failure.Code == code }

// isSilent reports whether the server took connections and said nothing.
func (e *evidence) isSilent() bool {
	return e.connected() && e.scan != nil && e.scan.Partial && !e.scan.Any() && !e.scan.NotTLS
}

// demandsClient reports whether the server ends connections of clients that have no certificate.
func (e *evidence) demandsClient() bool { return e.asksClient && (e.failure != nil || e.refusesLate) }

// top is the last certificate of the path that was served.
func (e *evidence) top() *x509.Certificate { return e.tls.Peers[e.path[len(e.path)-1]] }

func boolOf(a probe.Answer) *bool {
	if a == probe.Unknown {
		return nil
	}
	return new(a == probe.Yes)
}

// subject names a certificate in a sentence. Those of servers often have no subject.
func subject(c *x509.Certificate) string {
	if name := pki.ParseName(c.RawSubject); name.Raw != "" || len(c.DNSNames) == 0 {
		return nameOf(name)
	}
	return phrase.Quote(c.DNSNames[0])
}

func nameOf(n pki.Name) string {
	for _, s := range append([]string{n.CommonName}, n.Organization...) {
		if s != "" {
			return phrase.Quote(s)
		}
	}
	return phrase.Quote(n.Raw)
}
