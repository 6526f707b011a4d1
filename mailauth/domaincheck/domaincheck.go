package domaincheck

import (
	"context"
	"errors"
	"fmt"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnssec"
	"github.com/diagkit/diagkit/mailauth/bimi"
	"github.com/diagkit/diagkit/mailauth/compose"
	"github.com/diagkit/diagkit/mailauth/dane"
	"github.com/diagkit/diagkit/mailauth/dmarc"
	"github.com/diagkit/diagkit/mailauth/mtasts"
	"github.com/diagkit/diagkit/mailauth/mx"
	"github.com/diagkit/diagkit/mailauth/reception"
	"github.com/diagkit/diagkit/mailauth/smtpcheck"
	"github.com/diagkit/diagkit/mailauth/spf"
	"github.com/diagkit/diagkit/mailauth/tlsrpt"
)

// A Request asks for the examination of a domain.
type Request struct {
	Domain        diag.Domain     `json:"domain" doc:"domain that sends or receives mail" example:"example.com"`
	DKIMSelectors []diag.Selector `json:"dkim_selectors,omitempty" maxitems:"20" unique:"true" doc:"selectors of DKIM keys, each of which must exist; without any, 40 common ones are tried"`
	IncludeSMTP   bool            `json:"include_smtp,omitempty" default:"false" doc:"whether to connect to the mail servers too"`
	Detail        compose.Detail  `json:"detail,omitempty" default:"summary" doc:"full adds the report of each part"`
}

// A Report says how a domain is set up for mail, and what to do first.
type Report struct {
	Domain        diag.Domain `json:"domain" doc:"the domain, as A-labels"`
	DomainUnicode string      `json:"domain_unicode,omitempty" doc:"the domain in Unicode, if that differs"`
	diag.Verdict
	Ready        *bool         `json:"ready,omitempty" doc:"whether mail works: no part has an error, and all that mail depends on was examined; absent where what was not examined decides"`
	SendsMail    *bool         `json:"sends_mail,omitempty" doc:"whether the domain sends mail, as far as its SPF record and keys tell; absent if they do not"`
	Pillars      Pillars       `json:"pillars" doc:"the parts"`
	Requirements []Requirement `json:"requirements" doc:"what large receivers ask of bulk senders: Google, Yahoo, Microsoft"`
	Partial      bool          `json:"partial" doc:"whether something could not be learned"`
	diag.Timing

	compose.Panics `json:"-"`
}

// Pillars are the parts by what they are for.
type Pillars struct {
	Sending   Sending   `json:"sending" doc:"whether receivers can tell mail of the domain from forgeries"`
	Receiving Receiving `json:"receiving" doc:"whether mail for the domain arrives, and safely"`
	Integrity Integrity `json:"integrity" doc:"whether the records of the domain can be trusted"`
}

// Sending are the parts about mail from the domain.
type Sending struct {
	SPF   *compose.Part[spf.LookupReport]   `json:"spf" doc:"which hosts may send"`
	DKIM  []*compose.DKIMPart               `json:"dkim" maxitems:"20" doc:"keys with which mail is signed; one entry of state unknown if none was found"`
	DMARC *compose.Part[dmarc.LookupReport] `json:"dmarc" doc:"what receivers do with forged mail"`
	BIMI  *compose.Part[bimi.LookupReport]  `json:"bimi" doc:"which logo receivers show"`
}

// Receiving are the parts about mail for the domain.
type Receiving struct {
	MX     *MXPart                            `json:"mx" doc:"where mail goes"`
	MTASTS *compose.Part[mtasts.Report]       `json:"mta_sts" doc:"whether senders must encrypt"`
	DANE   *compose.Part[dane.Report]         `json:"dane" doc:"whether DNSSEC proves the certificates of the mail servers"`
	TLSRPT *compose.Part[tlsrpt.LookupReport] `json:"tls_rpt" doc:"whether senders report failures of encryption"`
	SMTP   compose.Part[smtpcheck.Report]     `json:"smtp,omitzero" doc:"how the mail servers behave; absent unless the request asked for it"`
}

// An MXPart is the part about MX records.
type MXPart struct {
	*compose.Part[mx.Report]
	Hosts  []reception.MXHost `json:"hosts" maxitems:"50" doc:"mail servers, the most preferred first"`
	NullMX bool               `json:"null_mx" doc:"whether the domain says that it receives no mail (RFC 7505)"`
}

// Integrity are the parts about the records themselves.
type Integrity struct {
	DNSSEC *compose.Part[dnssec.Report] `json:"dnssec" doc:"whether the zone is signed"`
}

// Check examines the mail set-up of a domain. The error is a *[diag.InputError], that of the context if it ended, or wraps
// [diag.ErrUnavailable] if nothing could be learned.
func Check(ctx context.Context, env *diag.Env, req Request) (*Report, error) {
	if req.Domain.IsZero() {
		return nil, diag.Invalid("domain", "is missing")
	}
	c := &check{Request: req, began: env.Now()}
	c.gather(ctx, env)
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("checking %s: %w", req.Domain, err)
	}
	c.conclude()
	if err := c.unavailable(); err != nil {
		return nil, err
	}
	return c.report(env.Now()), nil
}

func (c *check) gather(ctx context.Context, env *diag.Env) {
	run := compose.Start(ctx, env)
	c.spf = compose.Ask(run, compose.SPF, spf.Lookup, spf.LookupRequest{Domain: c.Domain})
	c.keys = compose.FindKeys(run, c.Domain, c.DKIMSelectors)
	c.dmarc = compose.Ask(run, compose.DMARC, dmarc.Lookup, dmarc.LookupRequest{Domain: c.Domain})
	c.bimi = compose.Ask(run, compose.BIMI, bimi.Lookup, bimi.LookupRequest{Domain: c.Domain})
	c.mx = compose.Ask(run, compose.MX, mx.Lookup, mx.Request{Domain: c.Domain})
	c.mtasts = compose.Ask(run, compose.MTASTS, mtasts.Lookup, mtasts.Request{Domain: c.Domain})
	c.dane = compose.Ask(run, compose.DANE, dane.Lookup, dane.Request{Domain: c.Domain})
	c.tlsrpt = compose.Ask(run, compose.TLSRPT, tlsrpt.Lookup, tlsrpt.Request{Domain: c.Domain})
	if c.IncludeSMTP {
		c.smtp = compose.Ask(run, compose.SMTP, smtpcheck.Check, smtpcheck.Request{Domain: c.Domain})
	}
	c.dnssec = compose.Ask(run, compose.DNSSEC, dnssec.Check, dnssec.Request{Domain: c.Domain.Name()})
	run.Do(func(ctx context.Context, env *diag.Env) {
		c.reverse = compose.LookupReverse(ctx, env, compose.SendingAddresses(ctx, env, c.Domain))
	})
	c.panics = run.Wait()
}

// unavailable is the error of a part if no server answered for the domain: no part is known, and some heard nothing at
// all. DNSSEC, DMARC and BIMI ask the servers of parent zones, too, which need not be silent.
func (c *check) unavailable() error {
	for _, p := range c.shares() {
		if p.Known() {
			return nil
		}
	}
	for _, err := range []error{c.spf.Err, c.mx.Err, c.tlsrpt.Err} {
		if !errors.Is(err, diag.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded) {
			return nil
		}
	}
	return c.mx.Err
}
