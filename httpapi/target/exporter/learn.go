package exporter

import (
	"cmp"
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnssec"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/diag/registry"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/target"
	"github.com/diagkit/diagkit/mailauth/bimi"
	"github.com/diagkit/diagkit/mailauth/compose"
	"github.com/diagkit/diagkit/mailauth/domaincheck"
	"github.com/diagkit/diagkit/mailauth/smtpcheck"
	"github.com/diagkit/diagkit/webcheck/tlscert"
	"github.com/miekg/dns"
)

// A result is the current knowledge about a domain after its runs.
type result struct {
	checks         []checkState
	ended          time.Time // of the last run
	duration       time.Duration
	failed         bool // it learned nothing
	runs, failures int
}

type checkState struct {
	check, of    string    // of: the part of the run that it is in
	isKnown      bool      // the last run learned it
	learned      time.Time // zero: never
	state        diag.State
	score        *int
	findings     []diag.Finding // code, severity and count alone
	expiries     []expiry
	isPartial    bool        // a part is unknown
	unknownRules []diag.Code // rules of which it is unknown whether they are violated
}

// An expiry is the expiry of something.
type expiry struct {
	kind, subject     string
	from, to, learned time.Time // from is zero if unknown
}

// maxExpiries bounds the dates of a check: a domain has a handful of mail servers.
const maxExpiries = 20

// next is the result of a run that follows. The error is why it learned nothing.
func (r result) next(w *target.Whole, err error, began, now time.Time) result {
	r.runs, r.ended, r.duration, r.failed = r.runs+1, now, now.Sub(began), err != nil
	old := kit.Map(r.checks, func(k checkState) checkState { k.isKnown = false; return k })
	if r.checks = old; r.failed {
		r.failures++
		return r
	}
	r.checks = nil
	for _, p := range w.Parts {
		if errors.Is(p.Err, target.ErrNothing) {
			continue // the domain has no such check
		}
		learned := []checkState{{check: p.Name, of: p.Name}}
		if p.View != nil {
			learned = learn(p, now)
		}
		for _, was := range old {
			i := slices.IndexFunc(learned, func(k checkState) bool { return k.check == was.check })
			switch {
			case i >= 0:
				learned[i] = learned[i].keepUnknown(was)
			case was.of == p.Name && (p.View == nil || p.View.Partial): // a part not found, of what is not whole
				learned = append(learned, was)
			}
		}
		r.checks = append(r.checks, learned...)
	}
	return r
}

// keepUnknown keeps earlier knowledge that was not learned anew: all of a check that is not known, a finding if it is
// unknown whether it is gone, a date if something was not learned.
func (k checkState) keepUnknown(was checkState) checkState {
	if !k.isKnown && !was.learned.IsZero() {
		return was
	}
	for _, f := range was.findings {
		if slices.Contains(k.unknownRules, f.Code) && !k.violates(f.Code) {
			k.findings = append(k.findings, f)
		}
	}
	for _, e := range was.expiries {
		if k.isPartial && len(k.expiries) < maxExpiries && !slices.ContainsFunc(k.expiries, e.isSame) {
			k.expiries = append(k.expiries, e)
		}
	}
	return k
}

func (e expiry) isSame(o expiry) bool { return e.kind == o.kind && e.subject == o.subject }

// learn returns the results of a part of a run, for mail those of each of its own parts.
func learn(p target.Part, now time.Time) []checkState {
	k := checkState{check: p.Name, of: p.Name, state: p.View.State, score: p.View.Score}
	k.setFindings(p.Report, p.View.Findings, now)
	r, ok := p.Report.(*domaincheck.Report)
	if !ok {
		return []checkState{k}
	}
	s, in := r.Pillars.Sending, r.Pillars.Receiving
	list := slices.Concat(
		sharedCheck(
			"spf",
			s.SPF,
			now,
		),
		sharedCheck("dmarc", s.DMARC, now),
		sharedCheck("bimi", s.BIMI, now),
		sharedCheck("smtp", &in.SMTP, now),
		sharedCheck("mta-sts", in.MTASTS, now),
		sharedCheck("dane", in.DANE, now),
		sharedCheck("tls-rpt", in.TLSRPT, now),
		sharedCheck("dnssec", r.Pillars.Integrity.DNSSEC, now),
	)
	if in.MX != nil {
		list = append(list, sharedCheck("mx", in.MX.Part, now)...)
	}
	for _, key := range s.DKIM {
		list = append(list, sharedCheck(strings.TrimSuffix("dkim/"+key.Selector, "/"), &key.Part, now)...)
	}
	for _, part := range list { // whose findings are in its parts
		k.findings = slices.DeleteFunc(k.findings, func(f diag.Finding) bool { return part.violates(f.Code) })
	}
	return append(list, k)
}

func (k checkState) violates(code diag.Code) bool {
	return slices.ContainsFunc(k.findings, func(f diag.Finding) bool { return f.Code == code })
}

// sharedCheck returns the results of a part of the check of mail, if it has one.
func sharedCheck[R any](check string, p *compose.Part[R], now time.Time) []checkState {
	if p == nil || p.State == "" {
		return nil
	}
	k := checkState{check: check, of: "mail", state: p.State, score: p.Score}
	var report any
	if p.Result != nil {
		report = p.Result
	}
	k.setFindings(report, p.Findings, now)
	return []checkState{k}
}

// setFindings takes the relevant values from a report, which may be nil, and from its findings. Those that only mean
// that something could not be learned are not faults.
func (k *checkState) setFindings(report any, findings []diag.Finding, now time.Time) {
	if k.isKnown = k.state != diag.Unknown; !k.isKnown || report == nil {
		*k = checkState{check: k.check, of: k.of}
		return
	}
	k.learned, k.isPartial, k.expiries = now, httpapi.View(report).Partial, expiries(report, now)
	var rules []rule.Description
	if r, ok := report.(interface{ Rules() []rule.Description }); ok {
		rules = r.Rules()
	}
	if r, ok := report.(interface{ Judgement() diag.Verdict }); ok {
		k.unknownRules = r.Judgement().Open()
	} else if k.isPartial {
		k.unknownRules = kit.Map(rules, func(r rule.Description) diag.Code { return r.Code })
	}
	for _, f := range findings {
		ignorance := func(r rule.Description) bool { return r.Code == f.Code && r.State == diag.Unknown }
		same := func(o diag.Finding) bool { return o.Code == f.Code && o.Severity == f.Severity }
		i := slices.IndexFunc(k.findings, same)
		switch n := max(1, f.PlaceCount); {
		case f.Severity == diag.Info, slices.ContainsFunc(rules, ignorance):
		case i >= 0:
			k.findings[i].PlaceCount += n
		default:
			k.findings = append(k.findings, diag.Finding{Code: f.Code, Severity: f.Severity, PlaceCount: n})
		}
	}
}

// expiries returns the expiry dates in a report.
func expiries(report any, now time.Time) (list []expiry) {
	add := func(kind, subject string, from, to time.Time) {
		e := expiry{kind, subject, from, to, now}
		switch i := slices.IndexFunc(list, e.isSame); {
		case to.IsZero():
		case i >= 0 && to.Before(list[i].to):
			list[i] = e // another address of the host, or another signature
		case i < 0 && len(list) < maxExpiries:
			list = append(list, e)
		}
	}
	served := func(host string, port int, c *pki.Certificate) {
		add("certificate", net.JoinHostPort(host, strconv.Itoa(port)), c.NotBefore, c.NotAfter)
	}
	switch r := report.(type) {
	case *registry.DomainReport:
		add("registration", r.RegisteredDomain, time.Time{}, cmp.Or(r.Dates.ExpiresAt, r.Dates.RegistrarExpiresAt))
	case *tlscert.Report:
		served(r.Host, r.Port, &r.Certificate)
	case *smtpcheck.Report:
		for _, s := range r.Servers {
			if len(s.TLS.Chain) > 0 {
				served(s.Host, s.Port, &s.TLS.Chain[0])
			}
		}
	case *bimi.LookupReport:
		add("mark_certificate", r.Domain.String(), r.Certificate.NotBefore, r.Certificate.NotAfter)
	case *dnssec.Report:
		var own dnssec.Zone // the last that the domain is in: behind it are those of aliases
		for _, z := range r.Chain {
			if dns.IsSubDomain(dns.Fqdn(z.Zone), dns.Fqdn(r.Domain.String())) {
				own = z
			}
		}
		for _, s := range own.Signatures {
			if s.SignerName == own.Zone {
				add("signature", own.Zone, s.Inception, s.Expiration)
			}
		}
	}
	return list
}
