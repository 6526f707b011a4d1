package domaincheck

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnssec"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/mailauth/bimi"
	"github.com/diagkit/diagkit/mailauth/compose"
	"github.com/diagkit/diagkit/mailauth/dane"
	"github.com/diagkit/diagkit/mailauth/dmarc"
	"github.com/diagkit/diagkit/mailauth/internal/reception"
	"github.com/diagkit/diagkit/mailauth/mtasts"
	"github.com/diagkit/diagkit/mailauth/mx"
	"github.com/diagkit/diagkit/mailauth/nameuse"
	"github.com/diagkit/diagkit/mailauth/smtpcheck"
	"github.com/diagkit/diagkit/mailauth/spf"
	"github.com/diagkit/diagkit/mailauth/tlsrpt"
)

// A Request is a request to examine a domain.
type Request struct {
	Domain        diag.Domain     `json:"domain" doc:"domain that sends or receives mail" example:"example.com"`
	DKIMSelectors []diag.Selector `json:"dkim_selectors,omitempty" maxitems:"20" unique:"true" doc:"selectors of DKIM keys, each of which must exist; without any, 40 common ones are tried"`
	IncludeSMTP   bool            `json:"include_smtp,omitempty" default:"false" doc:"whether to connect to the mail servers too"`
	Detail        compose.Detail  `json:"detail,omitempty" default:"summary" doc:"full adds the report of each part"`
}

// A Report states how a domain is set up for mail, and what to do first.
type Report struct {
	Domain        diag.Domain `json:"domain" doc:"the domain, as A-labels"`
	DomainUnicode string      `json:"domain_unicode,omitempty" doc:"the domain in Unicode, if that differs"`
	diag.Verdict
	Ready        *bool         `json:"ready,omitempty" doc:"whether mail works: no part has an error, and all that mail depends on was examined; absent where what was not examined decides"`
	SendsMail    *bool         `json:"sends_mail,omitempty" doc:"whether the domain sends mail, as far as its SPF record and keys tell; absent if they do not"`
	Name         nameuse.Name  `json:"name,omitzero" doc:"what the name is and what it is used for; absent where it does not exist"`
	Steps        []view.Step   `json:"steps,omitempty" doc:"what to do, in this order: what loses mail now, what breaks by a date, other errors, warnings"`
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

// Check examines the mail set-up of a domain. The error is a *[diag.InputError], that of the context if it ended, or
// wraps [diag.ErrUnavailable] if nothing could be determined.
func Check(ctx context.Context, env *diag.Env, req Request) (*Report, error) {
	if req.Domain.IsZero() {
		return nil, input.Invalid("domain", "is missing")
	}
	c := &check{Request: req, began: env.Now()}
	c.gather(ctx, env)
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("checking %s: %w", req.Domain, err)
	}
	c.conclude()
	if err := compose.Unavailable(c.weightedParts(), c.mx.Err, c.SPF.Err, c.TLSRPT.Err); err != nil {
		return nil, err
	}
	return c.report(env.Now()), nil
}

func (c *check) gather(ctx context.Context, env *diag.Env) {
	run := compose.Start(ctx, env)
	c.common = compose.AskDomain(run, c.Domain, diag.IP{}, c.DKIMSelectors)
	c.mx = compose.Ask(run, compose.MX, mx.Lookup, mx.Request{Domain: c.Domain})
	c.mtasts = compose.Ask(run, compose.MTASTS, mtasts.Lookup, mtasts.Request{Domain: c.Domain})
	c.dane = compose.Ask(run, compose.DANE, dane.Lookup, dane.Request{Domain: c.Domain})
	if c.IncludeSMTP {
		c.smtp = compose.Ask(run, compose.SMTP, smtpcheck.Check, smtpcheck.Request{Domain: c.Domain})
	}
	c.dnssec = compose.Ask(run, compose.DNSSEC, dnssec.Check, dnssec.Request{Domain: c.Domain.Name()})
	run.Do(func(ctx context.Context, env *diag.Env) {
		c.reverse = compose.LookupReverse(ctx, env, compose.SendingAddresses(ctx, env, c.Domain))
	})
	c.panics = run.Wait()
}

type check struct {
	Request
	began time.Time

	common
	mx      *compose.Part[mx.Report]
	mtasts  *compose.Part[mtasts.Report]
	dane    *compose.Part[dane.Report]
	smtp    *compose.Part[smtpcheck.Report] // nil unless requested
	dnssec  *compose.Part[dnssec.Report]
	reverse []compose.ReverseName // of addresses that are known to send

	panics compose.Panics

	nonexistent bool // the domain does not exist
	name        nameuse.Name
}

type common = *compose.Domain

func (c *check) conclude() {
	c.nonexistent = c.mx.Nonexistent() || !c.mx.Known() && c.SPF.Nonexistent()
	c.Conclude()
	if c.mx.Result != nil && !c.mx.Result.ImplicitMX {
		c.CheckMailboxes(kit.Map(c.mx.Result.Hosts, func(h mx.Host) string { return h.Host }))
	}
	c.mx.MarkPartial(func(r *mx.Report) bool { return r.Partial })
	c.mtasts.MarkPartial(func(r *mtasts.Report) bool { return r.Partial })
	c.dane.MarkPartial(func(r *dane.Report) bool { return r.Partial })
	if c.smtp != nil {
		c.smtp.MarkPartial(func(r *smtpcheck.Report) bool { return r.Partial })
	}
	c.name = c.Name(c.Domain, compose.Facts{Route: c.route(), SMTP: c.smtp, MTASTS: c.mtasts, DANE: c.dane,
		DNSSEC: c.dnssec})
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

func (c *check) weightedParts() []compose.WeightedPart {
	list := []compose.WeightedPart{{Summary: &c.SPF.Summary, Weight: weightSPF}}
	list = append(list, compose.WeighKeys(c.DKIM, weightDKIM, c.SendsNoMail)...)
	list = append(list,
		compose.WeightedPart{Summary: &c.DMARC.Summary, Weight: weightDMARC},
		compose.WeightedPart{Summary: &c.BIMI.Summary, Weight: weightBIMI},
		compose.WeightedPart{Summary: &c.mx.Summary, Weight: weightMX},
		compose.WeightedPart{Summary: &c.mtasts.Summary, Weight: weightMTASTS},
		compose.WeightedPart{Summary: &c.dane.Summary, Weight: weightDANE},
		compose.WeightedPart{Summary: &c.TLSRPT.Summary, Weight: weightTLSRPT},
		compose.WeightedPart{Summary: &c.dnssec.Summary, Weight: weightDNSSEC, Rating: ratingOf(&c.dnssec.Summary)},
	)
	if c.smtp != nil {
		list = append(list, compose.WeightedPart{Summary: &c.smtp.Summary, Weight: weightSMTP})
	}
	return list
}

// ratingOf returns the rating of a part without a score of its own: nil if it is absent and not needed.
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
	own := compose.Judge(rules, c, texts)
	if c.nonexistent {
		c.MarkNonexistent(c.weightedParts())
		r.Verdict, r.Ready = own.Judgement(), new(false)
		for i := range r.Findings {
			r.Findings[i].Target = "domain"
		}
	} else {
		reverse, named := compose.Summarize(kindReverse, own), compose.NameRules(c.Domain, c.name, c.route())
		w := compose.Composite{Domain: c.Domain, Parts: c.weightedParts(), Own: []*compose.Summary{&named, &reverse},
			Good: c.goodText(), Incomplete: c.incompleteText(),
			Withhold: c.withhold, Name: c.name, Route: c.route(), Now: c.began, LeftOut: c.leftOutParts(), Sends: c.Sends(),
			Untested: c.Contradictory || c.untested(),
		}
		r.Verdict, r.Steps = w.Verdict(), w.Steps()
		r.Name, r.Ready, r.Partial = c.name, c.ready(&w), w.Partial()
	}
	if sends := c.Sends(); !c.nonexistent && !c.Contradictory && (sends || c.SendsNoMail) {
		r.SendsMail = &sends
	}
	r.Pillars = c.pillars()
	r.Requirements = c.requirements()
	if c.Detail != compose.Full || c.nonexistent {
		c.Shorten(c.mx, c.mtasts, c.dane, c.dnssec, c.smtp)
	}
	return r
}

// ready reports whether mail works: a domain that sends mail but cannot receive replies is not ready, whatever its
// parts say.
func (c *check) ready(w *compose.Composite) *bool {
	ready := w.Ready()
	if ready != nil && c.name.Sends.Answer == nameuse.Yes && c.name.Receives.Answer == nameuse.No {
		return new(false)
	}
	return ready
}

func (c *check) route() reception.Route {
	if c.mx.Result == nil {
		return reception.RouteUnknown
	}
	return c.mx.Result.Route()
}

func (c *check) leftOutParts() []diag.ScopePart {
	if c.smtp != nil || !c.receives() {
		return nil
	}
	return []diag.ScopePart{{Part: compose.SMTP.Code, State: diag.LeftOut, Reason: "not asked for: include_smtp"}}
}

func (c *check) pillars() Pillars {
	m := &MXPart{Part: c.mx, Hosts: []reception.MXHost{}}
	if c.mx.Result != nil {
		m.NullMX = c.mx.Result.NullMX
		m.Hosts = kit.Map(c.mx.Result.Hosts, func(h mx.Host) reception.MXHost { return h.MXHost })
	}
	return Pillars{
		Sending:   Sending{SPF: c.SPF, DKIM: c.DKIM, DMARC: c.DMARC, BIMI: c.BIMI},
		Receiving: Receiving{MX: m, MTASTS: c.mtasts, DANE: c.dane, TLSRPT: c.TLSRPT, SMTP: kit.OrZero(c.smtp)},
		Integrity: Integrity{DNSSEC: c.dnssec},
	}
}

// withhold keeps back a policy of MTA-STS that names a mail server whose MX record has to be changed first: one without
// an address, or an alias.
func (c *check) withhold(value string) bool {
	if c.mx.Result == nil || !strings.Contains(strings.ToLower(value), "stsv1") {
		return false
	}
	return slices.ContainsFunc(c.mx.Result.Hosts, func(h mx.Host) bool {
		return (!h.Resolves || len(h.CNAMEChain) > 0) && strings.Contains(value, h.Host)
	})
}
