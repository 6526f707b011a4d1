package domaincheck

import (
	"slices"
	"strings"
	"time"

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

type check struct {
	Request
	began time.Time

	spf     *compose.Part[spf.LookupReport]
	keys    *compose.Keys
	dmarc   *compose.Part[dmarc.LookupReport]
	bimi    *compose.Part[bimi.LookupReport]
	mx      *compose.Part[mx.Report]
	mtasts  *compose.Part[mtasts.Report]
	dane    *compose.Part[dane.Report]
	tlsrpt  *compose.Part[tlsrpt.LookupReport]
	smtp    *compose.Part[smtpcheck.Report] // nil unless asked for
	dnssec  *compose.Part[dnssec.Report]
	reverse []compose.ReverseName // of addresses that are known to send

	panics compose.Panics

	gone   bool                // the domain does not exist
	silent bool                // the domain says that it sends no mail
	doubt  bool                // it says so, and has a key to sign mail with
	dkim   []*compose.DKIMPart // what the keys come to
}

func (c *check) conclude() {
	c.gone = c.mx.Gone() || !c.mx.Known() && c.spf.Gone()
	c.dkim = c.keys.Parts(c.spf)
	c.doubt = compose.Doubtful(c.spf, c.dkim)
	c.silent = compose.Silent(c.spf) && !c.doubt
	c.spf.Partially(func(r *spf.LookupReport) bool { return r.Partial })
	c.dmarc.Partially(func(r *dmarc.LookupReport) bool { return r.Partial })
	c.bimi.Partially(func(r *bimi.LookupReport) bool { return r.Partial })
	c.mx.Partially(func(r *mx.Report) bool { return r.Partial })
	c.mtasts.Partially(func(r *mtasts.Report) bool { return r.Partial })
	c.dane.Partially(func(r *dane.Report) bool { return r.Partial })
	c.tlsrpt.Partially(func(r *tlsrpt.LookupReport) bool { return r.Partial })
	if c.smtp != nil {
		c.smtp.Partially(func(r *smtpcheck.Report) bool { return r.Partial })
	}
	if c.dmarc.Result != nil && c.dmarc.Result.Inherited {
		c.dmarc.Foreign()
	}
	if c.bimi.Result != nil && c.bimi.Result.Inherited {
		c.bimi.Foreign()
	}
}

// The weights of the parts in the score: mail that is lost or forged matters more than what would be good to have.
const (
	weightSPF    = 20
	weightDKIM   = 15
	weightDMARC  = 20
	weightBIMI   = 2
	weightMX     = 20
	weightMTASTS = 8
	weightDANE   = 5
	weightTLSRPT = 3
	weightSMTP   = 10
	weightDNSSEC = 3
)

// untested reports whether mail servers are there, and one of them was not seen at work: by the part about them, or by
// those of DANE and MTA-STS, which compare their certificates.
func (c *check) untested() bool {
	if !c.receives() {
		return false
	}
	if c.smtp == nil {
		return (c.dane.Result == nil || !c.dane.Result.Summary.Complete) &&
			!slices.Contains(c.mtasts.Verdict().Fulfilled(), "mtasts.mx.starttls")
	}
	unseen := func(s smtpcheck.Server) bool { return !s.Reachable || !s.EHLOOK }
	return c.smtp.Result == nil || slices.ContainsFunc(c.smtp.Result.Servers, unseen)
}

func (c *check) receives() bool {
	return c.mx.Result != nil && c.mx.State != diag.Missing && !c.mx.Result.NullMX
}

func (c *check) shares() []compose.Share {
	list := []compose.Share{{Summary: &c.spf.Summary, Weight: weightSPF}}
	list = append(list, compose.KeyShares(c.dkim, weightDKIM, c.silent)...)
	list = append(list,
		compose.Share{Summary: &c.dmarc.Summary, Weight: weightDMARC},
		compose.Share{Summary: &c.bimi.Summary, Weight: weightBIMI},
		compose.Share{Summary: &c.mx.Summary, Weight: weightMX},
		compose.Share{Summary: &c.mtasts.Summary, Weight: weightMTASTS},
		compose.Share{Summary: &c.dane.Summary, Weight: weightDANE},
		compose.Share{Summary: &c.tlsrpt.Summary, Weight: weightTLSRPT},
		compose.Share{Summary: &c.dnssec.Summary, Weight: weightDNSSEC, Rating: ratingOf(&c.dnssec.Summary)},
	)
	if c.smtp != nil {
		list = append(list, compose.Share{Summary: &c.smtp.Summary, Weight: weightSMTP})
	}
	return list
}

// ratingOf is what a part without a score of its own counts for: nothing if there is none and none is needed.
func ratingOf(s *compose.Summary) *int {
	switch s.State {
	case diag.Valid:
		return new(100)
	case diag.Warned:
		return new(70)
	case diag.Bad:
		return new(0)
	default:
		return nil
	}
}

func (c *check) report(ended time.Time) *Report {
	r := &Report{Domain: c.Domain, DomainUnicode: c.Domain.UnicodeIfDifferent(), Timing: diag.NewTiming(c.began, ended),
		Panics: c.panics,
	}
	own := rules.Judge(c, texts)
	if c.gone {
		c.forget()
		r.Verdict, r.Ready = own, new(false)
		for i := range r.Findings {
			r.Findings[i].Target = "domain"
		}
	} else {
		s := compose.Summarize(kindReverse, &ownReport{own})
		w := compose.Whole{Parts: c.shares(), Own: []*compose.Summary{&s}, Good: c.good(), Open: c.open(), Withhold: c.withhold,
			Sends: compose.Sends(c.spf, c.dkim), Untested: c.doubt || c.untested(),
		}
		r.Verdict, r.Ready, r.Partial = w.Sum(), w.Ready(), w.Partial()
	}
	if sends := compose.Sends(c.spf, c.dkim); !c.gone && !c.doubt && (sends || c.silent) {
		r.SendsMail = &sends
	}
	r.Pillars = c.pillars()
	r.Requirements = c.requirements()
	if c.Detail != compose.Full {
		c.shorten()
	}
	return r
}

// forget leaves of each part only that the domain does not exist.
func (c *check) forget() {
	for _, p := range c.shares() {
		p.Absent()
	}
	c.shorten()
	c.dkim = c.dkim[:1]
	c.dkim[0].Selector = ""
}

func (c *check) shorten() {
	for _, p := range []interface{ Shorten() }{c.spf, c.dmarc, c.bimi, c.mx, c.mtasts, c.dane, c.tlsrpt, c.dnssec, c.smtp} {
		p.Shorten()
	}
	for _, p := range c.dkim {
		p.Shorten()
	}
}

func (c *check) pillars() Pillars {
	m := &MXPart{Part: c.mx, Hosts: []reception.MXHost{}}
	if c.mx.Result != nil {
		m.NullMX = c.mx.Result.NullMX
		m.Hosts = diag.Map(c.mx.Result.Hosts, func(h mx.Host) reception.MXHost { return h.MXHost })
	}
	return Pillars{
		Sending:   Sending{SPF: c.spf, DKIM: c.dkim, DMARC: c.dmarc, BIMI: c.bimi},
		Receiving: Receiving{MX: m, MTASTS: c.mtasts, DANE: c.dane, TLSRPT: c.tlsrpt, SMTP: diag.OrZero(c.smtp)},
		Integrity: Integrity{DNSSEC: c.dnssec},
	}
}

// withhold keeps back a policy of MTA-STS that names a mail server whose MX record has to be changed first: one without an
// address, or an alias.
func (c *check) withhold(value string) bool {
	if c.mx.Result == nil || !strings.Contains(strings.ToLower(value), "stsv1") {
		return false
	}
	return slices.ContainsFunc(c.mx.Result.Hosts, func(h mx.Host) bool {
		return (!h.Resolves || len(h.CNAMEChain) > 0) && strings.Contains(value, h.Host)
	})
}
