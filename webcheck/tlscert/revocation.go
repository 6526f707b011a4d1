package tlscert

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/diag/pki/revocation"
	"golang.org/x/crypto/ocsp"
)

// The bounds of asking whether certificates were revoked.
const (
	// revocationTimeout is for all services of a certificate. They are content delivery networks that answer in well
	// below a second.
	revocationTimeout = 5 * time.Second
	maxServices       = 3 // URLs of each method that are tried, one after another
	maxIntermediates  = 3 // that are asked about
	requestType       = "application/ocsp-request"
)

// A RevocationMethod is the source of a revocation status: staple, ocsp or crl.
type RevocationMethod string

const (
	ByStaple RevocationMethod = "staple"
	ByOCSP   RevocationMethod = "ocsp"
	ByCRL    RevocationMethod = "crl"
)

// Values lists the values.
func (RevocationMethod) Values() []string { return kit.Values(ByStaple, ByOCSP, ByCRL) }

// Revocation describes whether the authority revoked the certificate of the server.
type Revocation struct {
	Status  revocation.Status `json:"status" doc:"what is known; not_offered: the certificate names no service"`
	Method  RevocationMethod  `json:"method,omitempty" doc:"what said so; absent where nothing did"`
	Checked []RevocationCheck `json:"checked" doc:"what was asked, and what it answered"`
}

// A RevocationCheck is one answer about one certificate.
type RevocationCheck struct {
	Certificate string            `json:"certificate,omitempty" doc:"intermediate that is asked about; absent: that of the server"`
	Method      RevocationMethod  `json:"method" doc:"way of asking"`
	URL         string            `json:"url,omitempty" doc:"what was asked; absent for a stapled response"`
	Status      revocation.Status `json:"status" doc:"what it says"`
	ThisUpdate  time.Time         `json:"this_update,omitzero" doc:"when the answer was made"`
	NextUpdate  time.Time         `json:"next_update,omitzero" doc:"until when it is valid"`
	RevokedAt   time.Time         `json:"revoked_at,omitzero" doc:"since when the certificate is revoked"`
	Reason      revocation.Reason `json:"reason,omitempty" doc:"why (RFC 5280 section 5.3.1)" example:"keyCompromise"`
	Error       string            `json:"error,omitempty" doc:"why there is no answer that can be used"`
}

func (c *RevocationCheck) setAnswer(a revocation.Answer) {
	c.Status, c.ThisUpdate, c.NextUpdate, c.RevokedAt, c.Reason = a.Status, a.ThisUpdate, a.NextUpdate, a.RevokedAt,
		a.Reason
	if a.Err != nil {
		c.Error = a.Err.Error()
	}
}

// askRevocation asks the services that the certificates of the path name: of the server's own, and of intermediates.
func (e *evidence) askRevocation(ctx context.Context) {
	chain, _ := parseChain(e.served)
	if len(chain) == 0 || slices.ContainsFunc(chain, func(c *x509.Certificate) bool { return !pki.Checkable(c) }) {
		return
	}
	path := e.verify(chain)
	if len(path) == 0 {
		path = slices.Concat(kit.Map(follow(chain), func(i int) *x509.Certificate { return chain[i] }), e.fetched)
	}
	bounded, cancel := context.WithTimeout(ctx, revocationTimeout)
	defer cancel()
	n := min(len(path)-1, 1+maxIntermediates)
	answers := make([][]RevocationCheck, 2*max(n, 0)) // by OCSP, then by CRL
	var g diag.Group
	for i := range n {
		g.Go(func() { answers[2*i] = e.whole.services.askOCSP(bounded, e.now, path[i], path[i+1]) })
		g.Go(func() { answers[2*i+1] = e.whole.services.askCRL(bounded, e.now, path[i], path[i+1]) })
	}
	g.Wait()
	for i, list := range answers {
		for _, c := range list {
			if i > 1 {
				c.Certificate = phrase.Clip(subject(path[i/2]), maxSubject)
				if c.Status == revocation.Revoked {
					e.revokedIssuers = append(e.revokedIssuers, path[i/2])
				}
			}
			e.revocations = append(e.revocations, c)
		}
	}
}

// maxSubject bounds the name of a certificate in a reply, in bytes.
const maxSubject = 100

// ask asks one service after another until one says something that can be used.
func ask(now time.Time, cert *x509.Certificate, method RevocationMethod, urls []string,
	of func(url string) revocation.Answer) (list []RevocationCheck) {
	for _, target := range urls[:min(len(urls), maxServices)] {
		c := RevocationCheck{Method: method, URL: phrase.Clip(strings.ToValidUTF8(target, "\uFFFD"), maxShownURL)}
		if now.After(cert.NotAfter) {
			c.setAnswer(revocation.Answer{Status: revocation.LeftOut,
				Err: errors.New("authorities say nothing of certificates that have expired")}) // RFC 5280 section 3.3
		} else {
			c.setAnswer(of(target))
		}
		list = append(list, c)
		if known(c.Status) {
			break
		}
	}
	return list
}

// maxShownURL bounds a URL of a certificate in a reply, in bytes.
const maxShownURL = 300

// known reports whether a status is the word of the authority.
func known(s revocation.Status) bool {
	return s == revocation.Good || s == revocation.Revoked || s == revocation.Unknown
}

func (s *services) askCRL(ctx context.Context, now time.Time, cert, issuer *x509.Certificate) []RevocationCheck {
	return ask(now, cert, ByCRL, cert.CRLDistributionPoints, func(target string) revocation.Answer {
		d := s.list(ctx, target, cert.BasicConstraintsValid && cert.IsCA)
		if d.status != "" {
			return revocation.Answer{Status: d.status, Err: d.err}
		}
		return revocation.CRL(d.body, cert, issuer, now)
	})
}

// askOCSP asks by GET, which caches answer (RFC 5019 section 5), and where that fails by POST (RFC 6960 appendix A.1).
func (s *services) askOCSP(ctx context.Context, now time.Time, cert, issuer *x509.Certificate) []RevocationCheck {
	// The hash of the request is SHA-1, which every responder knows (RFC 5019 section 2.1.1).
	request, err := ocsp.CreateRequest(cert, issuer, nil)
	if err != nil {
		return nil
	}
	path := "/" + url.QueryEscape(base64.StdEncoding.EncodeToString(request))
	return ask(now, cert, ByOCSP, cert.OCSPServer, func(target string) revocation.Answer {
		ask := fetch.Request{Method: http.MethodGet, MaxBytes: revocation.MaxResponse, MaxRedirects: issuerRedirects}
		d := s.fetch(ctx, strings.TrimSuffix(target, "/")+path, ask)
		if d.refused {
			d = s.fetch(ctx, target, fetch.Request{Method: http.MethodPost, MaxBytes: revocation.MaxResponse, Body: request,
				Header: http.Header{"Content-Type": {requestType}}})
		}
		if d.status != "" {
			return revocation.Answer{Status: d.status, Err: d.err}
		}
		return revocation.OCSP(d.body, cert, issuer, now)
	})
}

// stapledCheck returns the stapled response as an answer among the others; false if absent or not verifiable.
func (e *evidence) stapledCheck() (c RevocationCheck, ok bool) {
	c.Method = ByStaple
	switch {
	case e.response != nil:
		c.setAnswer(revocation.FromOCSP(e.response, e.now))
	case e.ocspErr != nil:
		c.setAnswer(revocation.Answer{Status: revocation.Unusable, Err: e.ocspErr})
	default:
		return c, false
	}
	return c, true
}

// revocation returns the status of the certificate of the server: the gravest that an authority gives by any
// method, or else why nothing is known.
func (e *evidence) revocation() Revocation {
	r := Revocation{Status: revocation.NotOffered, Checked: []RevocationCheck{}}
	if c, ok := e.stapledCheck(); ok {
		r.Checked = append(r.Checked, c)
	}
	r.Checked = append(r.Checked, e.revocations...)
	best := len(statusRank)
	for _, c := range r.Checked {
		if rank := slices.Index(statusRank, c.Status); c.Certificate == "" && rank < best {
			best, r.Status = rank, c.Status
			if r.Method = ""; known(c.Status) {
				r.Method = c.Method
			}
		}
	}
	return r
}

// statusRank orders the answers of several methods about one certificate.
var statusRank = []revocation.Status{revocation.Revoked, revocation.Good, revocation.Unknown, revocation.Unanswered,
	revocation.Unusable, revocation.LeftOut}

// failing lists the services without an answer that can be used.
func (r *Revocation) failing() []RevocationCheck {
	return slices.DeleteFunc(slices.Clone(r.Checked), func(c RevocationCheck) bool {
		return c.Method == ByStaple || !c.failed()
	})
}

// failed reports whether there is no usable answer, for a reason that is not on our side.
func (c *RevocationCheck) failed() bool {
	return c.Status == revocation.Unanswered || c.Status == revocation.Unusable
}

// stapleable reports whether a server can have a response to staple.
func (e *evidence) stapleable() bool { return len(e.staple) > 0 || len(e.leaf().OCSPServer) > 0 }

// responderFault says why no OCSP responder of the certificate gave an answer; empty if one did, or none was asked.
func (e *evidence) responderFault() (why string) {
	for _, c := range e.revocations {
		switch {
		case c.Certificate != "" || c.Method != ByOCSP:
		case !c.failed():
			return ""
		default:
			why = c.Error
		}
	}
	return why
}

// uncheckedRevocation lists the certificates whose revocation was not checked for a reason on our side.
func (x *examination) uncheckedRevocation() (parts []diag.ScopePart) {
	for _, e := range x.parts {
		if e.tls == nil || e.described().Expired || e.revocation().Status != revocation.LeftOut {
			continue
		}
		p := diag.ScopePart{Part: "revocation of the certificate", State: diag.LeftOut, Reason: e.revocations[0].Error}
		if !slices.Contains(parts, p) {
			parts = append(parts, p)
		}
	}
	return parts
}

// The longest validity of a short-lived certificate, which needs no service (Baseline Requirements section 1.6.1).
const (
	shortLife       = 7 * day
	formerShortLife = 10 * day
)

var shortLifeSince = time.Date(2026, time.March, 15, 0, 0, 0, 0, time.UTC)

// shortLived reports whether a certificate expires before anyone would hear of its revocation.
func shortLived(notBefore, notAfter time.Time) bool {
	limit := shortLife
	if notBefore.Before(shortLifeSince) {
		limit = formerShortLife
	}
	return notAfter.Sub(notBefore)+time.Second <= limit // both ends included
}

// revocationOpen reports whether the certificate names services, and none of them gave an answer that can be used.
func (e *evidence) revocationOpen() bool {
	if e.tls == nil || known(e.revocation().Status) {
		return false
	}
	return slices.ContainsFunc(e.revocations, func(c RevocationCheck) bool { return c.Certificate == "" && c.failed() })
}
