package markcert

import (
	"context"
	"crypto/x509"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/mailauth/bimi/record"
	"github.com/diagkit/diagkit/mailauth/bimi/svg"
)

// evidence is the input of the rules; only digest and the functions that fetch fill it.
type evidence struct {
	now              time.Time
	roots            *RootSet
	logs             []pki.Log
	place            *Place              // location of the record; nil if no domain was given
	hasText          bool                // there is a text
	bundle           *bundle             // never nil once there is a text
	mark             *markCert           // the certificate that is judged; nil if the text has none
	others           []*x509.Certificate // the other certificates of the text, in order, each once
	trust            trust
	timestamps       []Timestamp
	timestampsBroken bool          // the list of timestamps cannot be read
	logo             *svg.Document // the logo in the certificate; nil without one
	textFault        string        // the first fault of the text that the corrected one does not have

	url           string // the requested URL
	urlFault      string // why it is not fetched, as a clause
	fetched       *fetch.Result
	discovery     *record.Discovery // if a domain was requested
	applies       *record.Place     // the record that applies; nil without one
	recordErr     error             // why that is unknown
	nonexistent   bool              // the domain does not exist
	domainUnknown bool              // whether it does is unknown
}

// parse parses the text of a certificate and all that is in it, without network access.
func (e *evidence) parse(text []byte) {
	e.hasText, e.bundle = true, readPEM(text)
	certs := e.bundle.Certificates
	if len(certs) == 0 {
		return
	}
	leaf := certs[markIndex(certs)]
	e.mark = readMark(leaf)
	for _, c := range certs {
		if !c.Equal(leaf) && !slices.ContainsFunc(e.others, c.Equal) {
			e.others = append(e.others, c)
		}
	}
	if !e.isMark() {
		return
	}
	e.trust = verify(leaf, e.others, e.roots, e.now)
	e.timestamps, e.timestampsBroken = readTimestamps(leaf, e.issuer(), e.logs)
	if logo := e.mark.logo(); logo != nil {
		e.logo = svg.Validate(logo)
	}
	e.textFault = e.firstFault()
}

func (e *evidence) firstFault() string {
	switch {
	case e.bundle.Form != pemText:
		return "form"
	case !e.inOrder():
		return "order"
	case len(e.bundle.Certificates) > len(e.others)+1:
		return "duplicate"
	case len(e.unrelated()) > 0:
		return "unrelated"
	default:
		return "others"
	}
}

func (e *evidence) unrelated() (list []string) {
	if !e.trust.Recognized {
		return nil
	}
	for _, c := range e.others {
		if !slices.ContainsFunc(e.trust.Chain, func(in *x509.Certificate) bool { return same(in, c) }) {
			list = append(list, name(c))
		}
	}
	if e.bundle.Excess > 0 {
		list = append(list, phrase.Count(e.bundle.Excess, "further one"))
	}
	return list
}

// markIndex returns the position of the mark certificate: that with the purpose, else with a logo, else the first that
// is not of an authority.
func markIndex(certs []*x509.Certificate) int {
	for _, is := range []func(*x509.Certificate) bool{func(c *x509.Certificate) bool { return forMarks(c) && !c.IsCA },
		func(c *x509.Certificate) bool { return extension(c, oidLogotype) != nil },
		func(c *x509.Certificate) bool { return !c.IsCA }} {
		if i := slices.IndexFunc(certs, is); i >= 0 {
			return i
		}
	}
	return 0
}

// isMark reports whether the certificate is one for marks, or was meant to be.
func (e *evidence) isMark() bool {
	return e.mark != nil && (e.mark.forMarks() || e.mark.Logotype != nil || e.mark.Subject.has(markTypeField))
}

func (e *evidence) issuer() *x509.Certificate {
	for _, c := range slices.Concat(e.others, e.roots.Certificates) {
		if string(c.RawSubject) == string(e.mark.X509.RawIssuer) && pki.Checkable(c) &&
			e.mark.X509.CheckSignatureFrom(c) == nil {
			return c
		}
	}
	return nil
}

func (e *evidence) coversDomain() bool { return e.mark.Coverage.covers(*e.place) }

func (e *evidence) isLogged() bool {
	return slices.ContainsFunc(e.timestamps, func(t Timestamp) bool { return t.Verified != nil && *t.Verified })
}

// corrected returns the text as it should be: the certificate and those of its issuers, in their order. It is empty if
// the chain is not complete, or if only the owner knows which of several certificates to keep.
func (e *evidence) corrected() string {
	if !e.trust.Recognized || slices.ContainsFunc(e.others, e.isRival) {
		return ""
	}
	var text strings.Builder
	for _, c := range e.trust.Chain[:max(1, len(e.trust.Chain)-1)] {
		text.WriteString(pki.PEM(c))
	}
	return text.String()
}

// timeout bounds the fetch of a certificate; what has not arrived by then is reported as unknown, before the caller's
// deadline, usually 15 seconds (CONTRACT 1.9).
const timeout = 10 * time.Second

// fetchText fetches the text of a certificate. It continues if the certificate of the web server is not trusted, so
// that all faults are found in one pass. The error is a *[diag.InputError], or that of the context; whatever else
// happens is in the result.
func fetchText(ctx context.Context, env *diag.Env, u diag.URL) (*fetch.Result, error) {
	return fetch.Do(ctx, env, fetch.Request{
		URL: u, Header: http.Header{"Accept": {"application/pem-certificate-chain, application/x-pem-file, text/plain, " +
			"*/*;q=0.1"}},
		MaxRedirects: fetch.DefaultRedirects, MaxBytes: maxBytes, Timeout: diag.TimeLeft(ctx, timeout), Ports: diag.WebPorts,
		AllowUntrusted: true,
	})
}

// text returns what was served as the text of a certificate; nil if nothing was, or not as a whole.
func (e *evidence) text() []byte {
	r := e.fetched
	if kit.OrZero(r.Final()).StatusCode != http.StatusOK || r.Err != nil || r.Truncated {
		return nil
	}
	return r.Body
}
