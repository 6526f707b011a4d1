package pki

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
)

// A Reason is the reason that a chain of certificates is not trusted.
type Reason string

// The reasons.
const (
	NoCertificate    Reason = "no_certificate"    // there is no certificate
	SelfSignedLeaf   Reason = "self_signed"       // signed with its own key
	UnknownAuthority Reason = "unknown_authority" // the chain ends at an authority that is not trusted
	Incomplete       Reason = "incomplete"        // an intermediate certificate is not sent
	Expired          Reason = "expired"           // a certificate has expired
	NotYetValid      Reason = "not_yet_valid"     // a certificate is not yet valid
	WrongUsage       Reason = "wrong_usage"       // not issued for this purpose
	WrongName        Reason = "wrong_name"        // not issued for this host
	BadChain         Reason = "bad_chain"         // violates a constraint of an issuer, or is malformed
)

// Values lists the reasons.
func (Reason) Values() []string {
	return kit.Values(NoCertificate, SelfSignedLeaf, UnknownAuthority, Incomplete, Expired, NotYetValid, WrongUsage,
		WrongName, BadChain)
}

// A TrustError is the reason that a chain is not trusted, or does not cover a name.
type TrustError struct {
	Reason Reason
	Text   string
	Cause  error // the error of crypto/x509; may be nil
}

func (e *TrustError) Error() string { return e.Text }

// Unwrap returns the cause.
func (e *TrustError) Unwrap() error { return e.Cause }

// A Verifier verifies certificate chains without network access.
type Verifier struct {
	Roots      *x509.CertPool     // authorities to trust; nil means those of the system
	ServerName string             // host name or IP address that the leaf must cover, without a final dot
	Now        time.Time          // time of verification; required
	Usages     []x509.ExtKeyUsage // key usages, one of which must be allowed; nil means TLS server
}

// MaxChain is the maximum number of certificates of a chain that are examined. Real chains have up to 5.
const MaxChain = 10

// Trust returns a *[TrustError] if the chain, leaf first, does not lead to a trusted authority, otherwise
// nil. It does not check the name.
func (v Verifier) Trust(chain []*x509.Certificate) error {
	if len(chain) == 0 {
		return &TrustError{NoCertificate, "the server showed no certificate", nil}
	}
	chain = chain[:min(len(chain), MaxChain)]
	for _, c := range chain {
		if !Checkable(c) {
			return &TrustError{BadChain, fmt.Sprintf("the key of %s is too large to be checked", label(c)), nil}
		}
	}
	_, err := chain[0].Verify(v.options(chain, v.Now))
	if err == nil {
		return nil
	}
	reason, text := v.explain(chain, err)
	return &TrustError{reason, text, err}
}

// Name returns a *[TrustError] if the leaf does not cover the server's name, otherwise nil. Only subject
// alternative names count, and "*" matches exactly one label (RFC 6125 section 6.4).
func (v Verifier) Name(leaf *x509.Certificate) error {
	err := leaf.VerifyHostname(v.ServerName)
	switch {
	case err == nil:
		return nil
	case len(leaf.DNSNames) == 0 && len(leaf.IPAddresses) == 0:
		return &TrustError{WrongName, "the certificate lists no host names at all", err}
	case len(leaf.DNSNames) > 3:
		return &TrustError{WrongName, fmt.Sprintf("none of the %d names in the certificate is %s",
			len(leaf.DNSNames), v.ServerName), err}
	default:
		return &TrustError{WrongName, fmt.Sprintf("the certificate is for %s, not for %s",
			strings.Join(printable(leaf.DNSNames, 3), ", "), v.ServerName), err}
	}
}

// Complete reports whether the certificates as sent lead to a trusted authority without any others,
// regardless of their validity periods.
func (v Verifier) Complete(chain []*x509.Certificate) bool {
	chain = chain[:min(len(chain), MaxChain)]
	unfit := func(c *x509.Certificate) bool { return !Checkable(c) }
	if len(chain) == 0 || slices.ContainsFunc(chain, unfit) {
		return false
	}
	forAnyUsage := v
	forAnyUsage.Usages = []x509.ExtKeyUsage{x509.ExtKeyUsageAny}
	for _, at := range []time.Time{v.Now, chain[0].NotAfter, chain[0].NotBefore} {
		if _, err := chain[0].Verify(forAnyUsage.options(chain, at)); err == nil {
			return true
		}
	}
	return false
}

func (v Verifier) options(chain []*x509.Certificate, at time.Time) x509.VerifyOptions {
	sent := x509.NewCertPool()
	for _, c := range chain[1:] {
		sent.AddCert(c)
	}
	return x509.VerifyOptions{Roots: v.Roots, Intermediates: sent, CurrentTime: at, KeyUsages: v.Usages}
}

// explain puts an error of crypto/x509 into plain words.
func (v Verifier) explain(chain []*x509.Certificate, err error) (Reason, string) {
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return unknownAuthority(chain)
	}
	if e, ok := errors.AsType[x509.CertificateInvalidError](err); ok {
		return v.invalid(chain[0], e)
	}
	if _, ok := errors.AsType[x509.SystemRootsError](err); ok {
		return UnknownAuthority, "the list of trusted certificate authorities could not be read"
	}
	if _, ok := errors.AsType[x509.UnhandledCriticalExtension](err); ok {
		return BadChain, "a certificate has a critical extension that is not understood"
	}
	return BadChain, "the certificates do not form a valid chain"
}

func unknownAuthority(chain []*x509.Certificate) (Reason, string) {
	leaf := chain[0]
	if SelfSigned(leaf) {
		return SelfSignedLeaf, "the certificate is signed with its own key, not by a certificate authority"
	}
	top := leaf
	for range chain {
		issuer := issuerOf(top, chain)
		if issuer == nil {
			break
		}
		if !issuer.BasicConstraintsValid || !issuer.IsCA {
			return BadChain, fmt.Sprintf("the certificate of %s may not sign others", label(issuer))
		}
		top = issuer
	}
	issuer := text(ParseName(top.RawIssuer))
	if !SelfSigned(top) && len(top.IssuingCertificateURL) > 0 {
		return Incomplete, fmt.Sprintf("the server does not send the intermediate certificate of %s", issuer)
	}
	return UnknownAuthority, fmt.Sprintf("the chain leads to %s, which is not a trusted certificate authority", issuer)
}

// issuerOf returns the certificate of the chain that has the name of another one's issuer, or nil.
func issuerOf(c *x509.Certificate, chain []*x509.Certificate) *x509.Certificate {
	for _, other := range chain {
		if other != c && string(other.RawSubject) == string(c.RawIssuer) {
			return other
		}
	}
	return nil
}

// maxDetail bounds what crypto/x509 quotes from a certificate, in bytes.
const maxDetail = 300

func (v Verifier) invalid(leaf *x509.Certificate, e x509.CertificateInvalidError) (Reason, string) {
	which := "the certificate"
	if e.Cert != nil && !e.Cert.Equal(leaf) {
		which = "the certificate of the authority " + label(e.Cert)
	}
	switch e.Reason {
	case x509.Expired:
		if e.Cert != nil && v.Now.Before(e.Cert.NotBefore) {
			from := e.Cert.NotBefore.UTC().Format(time.DateOnly)
			return NotYetValid, fmt.Sprintf("%s is valid only from %s", which, from)
		}
		if e.Cert != nil {
			return Expired, fmt.Sprintf("%s expired on %s", which, e.Cert.NotAfter.UTC().Format(time.DateOnly))
		}
		return Expired, which + " has expired"
	case x509.IncompatibleUsage:
		return WrongUsage, which + " was not issued for this purpose"
	case x509.NotAuthorizedToSign:
		return BadChain, which + " is signed by a certificate that may not sign others"
	case x509.CANotAuthorizedForThisName:
		return BadChain, which + " breaks the name constraints of an authority above it: " + phrase.Clip(e.Detail, maxDetail)
	case x509.TooManyIntermediates:
		return BadChain, "there are more intermediate certificates than an authority allows"
	default:
		return BadChain, "the certificates do not form a valid chain"
	}
}

func label(c *x509.Certificate) string { return text(ParseName(c.RawSubject)) }

func text(n Name) string {
	switch {
	case n.CommonName != "":
		return fmt.Sprintf("%.200q", n.CommonName)
	case len(n.Organization) > 0:
		return fmt.Sprintf("%.200q", n.Organization[0])
	default:
		return fmt.Sprintf("%.200q", n.Raw)
	}
}

// A TLS describes a TLS connection and the certificates of the peer.
type TLS struct {
	Version       string        `json:"version" doc:"protocol version agreed on" example:"TLS 1.3"`
	CipherSuite   string        `json:"cipher_suite" doc:"cipher suite agreed on"`
	ALPN          string        `json:"alpn,omitempty" doc:"application protocol agreed on" example:"h2"`
	ServerName    string        `json:"server_name" doc:"name that was asked for"`
	HostnameMatch bool          `json:"hostname_match" doc:"whether the certificate covers that name"`
	Trusted       bool          `json:"trusted" doc:"whether the chain leads to a trusted authority, the name apart"`
	TrustError    string        `json:"trust_error,omitempty" doc:"why the chain is not trusted"`
	Chain         []Certificate `json:"chain" doc:"certificates in the order served, leaf first"`
	ChainComplete bool          `json:"chain_complete" doc:"whether it leads to a trusted authority as it was served"`
	// Peers are the certificates as served, at most [MaxChain].
	Peers []*x509.Certificate `json:"-"`
	// OCSP is the stapled OCSP response, if any (RFC 6066 section 8).
	OCSP []byte `json:"-"`
	// Trust and Name are the results of [Verifier.Trust] and [Verifier.Name].
	Trust, Name error `json:"-"`
}

// Describe describes a TLS connection after its handshake, and verifies the certificates of the peer.
func (v Verifier) Describe(state tls.ConnectionState) *TLS {
	chain := state.PeerCertificates[:min(len(state.PeerCertificates), MaxChain)]
	t := v.DescribeChain(chain)
	t.Version, t.CipherSuite = tls.VersionName(state.Version), tls.CipherSuiteName(state.CipherSuite)
	t.ALPN, t.OCSP = state.NegotiatedProtocol, state.OCSPResponse
	return t
}

// DescribeChain is [Verifier.Describe] for certificates without a TLS connection.
func (v Verifier) DescribeChain(chain []*x509.Certificate) *TLS {
	chain = chain[:min(len(chain), MaxChain)]
	t := &TLS{
		ServerName: v.ServerName, Chain: []Certificate{}, Peers: chain,
		Trust: v.Trust(chain), ChainComplete: v.Complete(chain),
	}
	if t.Trusted = t.Trust == nil; !t.Trusted {
		t.TrustError = t.Trust.Error()
	}
	if len(chain) > 0 {
		t.Name = v.Name(chain[0])
		t.HostnameMatch = t.Name == nil
	}
	for _, c := range chain {
		t.Chain = append(t.Chain, Describe(c, v.Now))
	}
	return t
}

// Err returns Trust or, if that is nil, Name: the reason that the connection must not be trusted. It returns
// nil if the connection can be trusted.
func (t *TLS) Err() error {
	if t.Trust != nil {
		return t.Trust
	}
	return t.Name
}

// Leaf returns the description of the server's own certificate, or nil if it presented none.
func (t *TLS) Leaf() *Certificate {
	if len(t.Chain) == 0 {
		return nil
	}
	return &t.Chain[0]
}
