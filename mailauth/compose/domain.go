package compose

import (
	"context"
	"errors"
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/bimi"
	"github.com/diagkit/diagkit/mailauth/dmarc"
	"github.com/diagkit/diagkit/mailauth/spf"
	"github.com/diagkit/diagkit/mailauth/tlsrpt"
)

// A Domain has the parts that every composite about a domain needs. [AskDomain] starts them.
type Domain struct {
	SPF    *Part[spf.LookupReport]
	DKIM   []*DKIMPart // the keys that count
	DMARC  *Part[dmarc.LookupReport]
	BIMI   *Part[bimi.LookupReport]
	TLSRPT *Part[tlsrpt.LookupReport]

	SendsNoMail   bool // the domain says that it sends no mail
	Contradictory bool // it says that it sends no mail, but has a key to sign mail with

	keys *Keys
}

// AskDomain starts the parts of a domain; SPF is evaluated for the address, too, unless that is zero.
func AskDomain(run *Run, domain diag.Domain, ip diag.IP, selectors []diag.Selector) *Domain {
	return &Domain{
		SPF:    Ask(run, SPF, spf.Lookup, spf.LookupRequest{Domain: domain, IP: ip}),
		DMARC:  Ask(run, DMARC, dmarc.Lookup, dmarc.LookupRequest{Domain: domain}),
		BIMI:   Ask(run, BIMI, bimi.Lookup, bimi.LookupRequest{Domain: domain}),
		TLSRPT: Ask(run, TLSRPT, tlsrpt.Lookup, tlsrpt.Request{Domain: domain}),
		keys:   FindKeys(run, domain, selectors),
	}
}

// Conclude draws the conclusions from all parts together, after [Run.Wait] has returned.
func (d *Domain) Conclude() {
	d.DKIM = d.keys.Parts(d.SPF)
	d.Contradictory = CheckContradiction(d.SPF, d.DKIM)
	d.SendsNoMail = SendsNoMail(d.SPF) && !d.Contradictory
	d.SPF.MarkPartial(func(r *spf.LookupReport) bool { return r.Partial })
	d.DMARC.MarkPartial(func(r *dmarc.LookupReport) bool { return r.Partial })
	d.BIMI.MarkPartial(func(r *bimi.LookupReport) bool { return r.Partial })
	d.TLSRPT.MarkPartial(func(r *tlsrpt.LookupReport) bool { return r.Partial })
	if d.DMARC.Result != nil && d.DMARC.Result.Inherited {
		d.DMARC.MarkForeign()
	}
	if d.BIMI.Result != nil && d.BIMI.Result.Inherited {
		d.BIMI.MarkForeign()
	}
}

// Sends reports whether the domain seems to send mail, see [Sends].
func (d *Domain) Sends() bool { return Sends(d.SPF, d.DKIM) }

// Shorten leaves out the reports of these parts, and of others.
func (d *Domain) Shorten(others ...interface{ Shorten() }) {
	for _, p := range append(others, d.SPF, d.DMARC, d.BIMI, d.TLSRPT) {
		p.Shorten()
	}
	for _, p := range d.DKIM {
		p.Shorten()
	}
}

// MarkNonexistent reduces the parts to the finding that the domain does not exist.
func (d *Domain) MarkNonexistent(parts []WeightedPart) {
	for _, p := range parts {
		p.MarkNonexistent()
	}
	d.DKIM = d.DKIM[:1]
	d.DKIM[0].Selector = ""
}

// Unavailable returns the first error of a part if no server answered for the domain: no part is known, and those with
// an error got no reply at all. DNSSEC, DMARC and BIMI query the servers of parent zones, too, which may answer.
func Unavailable(parts []WeightedPart, errs ...error) error {
	heard := func(err error) bool {
		return !errors.Is(err, diag.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded)
	}
	if slices.ContainsFunc(parts, func(p WeightedPart) bool { return p.Known() }) || slices.ContainsFunc(errs, heard) {
		return nil
	}
	return errs[0]
}
