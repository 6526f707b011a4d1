package hsts

import (
	"crypto/tls"
	"crypto/x509"
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/pki"
	"golang.org/x/net/publicsuffix"
)

// judgeAs predicts the result of hstspreload.org for the site by the requirements of a policy: the same codes in the
// same order.
func (e *evidence) judgeAs(policy Policy) Issues {
	found := checkFormat(e.domain.String())
	if !found.OK() {
		return found
	}
	found.add(checkLevel(e.domain.String()))
	head := first(e.https)
	switch {
	case silent(e.https):
		return found // unknown
	case head == nil:
		found.fail("domain.tls.cannot_connect")
		return found
	case head.TLS.Err() != nil:
		found.fail("domain.tls.invalid_cert_chain")
		return found
	}
	if sha1Signed(head.TLS) != nil {
		found.fail("domain.tls.sha1")
	}
	if obsolete(head.TLS) {
		found.warn("tls.obsolete_cipher_suite")
	}
	answer := answerIssues(head, policy)
	found.add(answer)
	redirects, afterRedirect := e.httpIssues(policy)
	found.add(redirects)
	if answer.OK() { // else it would be reported twice
		found.add(afterRedirect)
	}
	found.add(followIssues(e.https, 1))
	found.add(insecureIssues(e.https))
	if e.www != nil && e.www.Err != nil && e.www.Err.Code == fetch.TLS {
		found.fail("domain.www.no_tls")
	}
	return found
}

func answerIssues(h *fetch.Hop, policy Policy) (found Issues) {
	switch fields := fieldsOf(h); len(fields) {
	case 0:
		found.fail("response.no_header")
	case 1:
		found = eligible(fields[0], policy)
	default:
		found.fail("response.multiple_headers")
	}
	return found
}

// sha1Signed returns a certificate that is signed with SHA-1, or nil. The signature of a root does not matter.
func sha1Signed(t *pki.TLS) *x509.Certificate {
	for _, c := range t.Peers {
		old := c.SignatureAlgorithm == x509.SHA1WithRSA || c.SignatureAlgorithm == x509.ECDSAWithSHA1
		if old && !pki.SelfSigned(c) {
			return c
		}
	}
	return nil
}

// modern are the cipher suites of TLS 1.2 with forward secrecy and authenticated encryption.
var modern = []string{tls.CipherSuiteName(tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256),
	tls.CipherSuiteName(tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384),
	tls.CipherSuiteName(tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256),
	tls.CipherSuiteName(tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256),
	tls.CipherSuiteName(tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384),
	tls.CipherSuiteName(tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256)}

// obsolete reports whether a connection uses neither TLS 1.3 nor one of the modern cipher suites of TLS 1.2.
func obsolete(t *pki.TLS) bool {
	return t.Version != tls.VersionName(tls.VersionTLS13) && !slices.Contains(modern, t.CipherSuite)
}

// httpIssues are about plain HTTP. What is wrong with the header behind the first redirect is separate.
func (e *evidence) httpIssues(policy Policy) (found, afterRedirect Issues) {
	head := first(e.http)
	if head == nil {
		found.warn("redirects.http.does_not_exist")
		return found, afterRedirect
	}
	if len(fieldsOf(head)) > 0 {
		found.warn("redirects.http.useless_header")
	}
	path := leads(e.http)
	found.add(followIssues(e.http, 0))
	if len(path) == 0 {
		found.fail("redirects.http.no_redirect")
		return found, afterRedirect
	}
	switch host := hostOf(path[0]); {
	case path[0].Scheme == "https" && host == e.domain.String():
		if next := e.afterRedirect(); next == nil {
			afterRedirect.fail("redirects.http.first_redirect.invalid")
		} else if !answerIssues(next, policy).OK() {
			afterRedirect.fail("redirects.http.first_redirect.no_hsts")
		}
		found.add(insecureIssues(e.http))
	case host == "www."+e.domain.String():
		found.fail("redirects.http.www_first")
	default:
		found.fail("redirects.http.first_redirect.insecure")
	}
	return found, afterRedirect
}

// afterRedirect returns the answer behind the first redirect from plain HTTP, if it can be trusted; else nil.
func (e *evidence) afterRedirect() *fetch.Hop {
	if len(e.http.Hops) < 2 || e.http.Hops[1].TLS == nil || e.http.Hops[1].TLS.Err() != nil {
		return nil
	}
	return &e.http.Hops[1]
}

// followIssues are about following redirects. Certificates count from a hop on, for the first answer over
// HTTPS has been judged already.
func followIssues(r *fetch.Result, from int) (found Issues) {
	switch {
	case tooMany(r):
		found.fail("redirects.too_many")
	case brokenOff(r) != nil && !brokenOff(r).Unanswered || untrustedHop(r, from) != nil:
		found.fail("redirects.follow_error")
	}
	return found
}

// tooMany reports whether there are more redirects than hstspreload.org follows.
func tooMany(r *fetch.Result) bool {
	return r.Err != nil && (r.Err.Code == fetch.TooManyRedirects || r.Err.Code == fetch.Loop)
}

// brokenOff returns why a chain ended behind a redirect and before its end, or nil. That the body of the last
// answer could not be read is no matter.
func brokenOff(r *fetch.Result) *fetch.Error {
	if r.Err == nil || len(r.Hops) == 0 || tooMany(r) || tooLong(r) {
		return nil
	}
	if r.Hops[len(r.Hops)-1].RedirectType != fetch.HTTPRedirect {
		return nil
	}
	return r.Err
}

// untrustedHop returns the first answer, counted from 0, whose certificate is not to be trusted, or nil.
func untrustedHop(r *fetch.Result, from int) *fetch.Hop {
	for i := from; i < len(r.Hops); i++ {
		if h := &r.Hops[i]; h.TLS != nil && h.TLS.Err() != nil {
			return h
		}
	}
	return nil
}

func insecureIssues(r *fetch.Result) (found Issues) {
	for i, u := range leads(r) {
		if u.Scheme == "https" {
			continue
		}
		if i == 0 {
			found.fail("redirects.insecure.initial")
		} else {
			found.fail("redirects.insecure.subsequent")
		}
		break
	}
	return found
}

// wwwReachable reports whether the host www speaks HTTPS; nil if there is no such host, or it is unknown.
func (e *evidence) wwwReachable() *bool {
	switch {
	case e.www == nil || silent(e.www):
		return nil
	case first(e.www) == nil && e.www.Err.Code == fetch.DNS:
		return nil
	}
	return new(first(e.www) != nil)
}

// checkFormat says what keeps a text from being a domain that hstspreload.org accepts. It reads the text as
// it is typed into the form there, so that it may be anything.
func checkFormat(domain string) (found Issues) {
	suffix, _ := publicsuffix.PublicSuffix(domain)
	_, err := netip.ParseAddr(domain)
	dotted := err == nil && strings.Contains(domain, ".") // an address of digits and dots is reported below
	switch {
	case strings.HasPrefix(domain, "."):
		found.fail("domain.format.begins_with_dot")
	case strings.HasSuffix(domain, "."):
		found.fail("domain.format.ends_with_dot")
	case strings.Contains(domain, ".."):
		found.fail("domain.format.contains_double_dot")
	case suffix == domain && !dotted:
		found.fail("domain.format.public_suffix")
	case strings.ContainsFunc(strings.ToLower(domain), notLDH):
		found.fail("domain.format.invalid_characters")
	case err == nil:
		found.fail("domain.format.is_ip_address")
	}
	return found
}

func notLDH(r rune) bool {
	return !('a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-' || r == '.')
}

// checkLevel says whether a domain is directly below a public suffix: only such domains are accepted, for
// the sake of the list's size.
func checkLevel(domain string) (found Issues) {
	registrable, err := publicsuffix.EffectiveTLDPlusOne(domain)
	switch {
	case err != nil:
		found.fail("internal.domain.name.cannot_compute_etld1")
	case registrable != domain:
		found.fail("domain.is_subdomain")
	}
	return found
}
