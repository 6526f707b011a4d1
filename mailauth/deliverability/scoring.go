package deliverability

import (
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/bimi"
	"github.com/diagkit/diagkit/mailauth/compose"
	"github.com/diagkit/diagkit/mailauth/dmarc"
	"github.com/diagkit/diagkit/mailauth/spf"
	"github.com/diagkit/diagkit/mailauth/tlsrpt"
)

type scoring struct {
	panics compose.Panics

	Request
	domain diag.Domain
	began  time.Time
	sender diag.IP // the address of the request, if it is a public one: no record can name another

	spf        *compose.Part[spf.LookupReport]
	keys       *compose.Keys
	dmarc      *compose.Part[dmarc.LookupReport]
	bimi       *compose.Part[bimi.LookupReport]
	reputation *compose.Part[ReputationReport]
	tlsrpt     *compose.Part[tlsrpt.LookupReport]

	gone   bool // the domain does not exist
	silent bool // it says that it sends no mail
	quiet  bool // nothing suggests that it sends any
	dkim   []*compose.DKIMPart
}

func (s *scoring) conclude() {
	s.gone = s.spf.Gone() || !s.spf.Known() && s.tlsrpt.Gone()
	s.dkim = s.keys.Parts(s.spf)
	doubt := compose.Doubtful(s.spf, s.dkim)
	s.silent = compose.Silent(s.spf) && !doubt
	s.quiet = s.IP.IsZero() && (s.silent || compose.Parked(s.spf) && !compose.Sends(s.spf, s.dkim))
	s.spf.Add(compose.Judge(addressRules, s, addressTexts))
	s.spf.Partially(func(r *spf.LookupReport) bool { return r.Partial })
	s.dmarc.Partially(func(r *dmarc.LookupReport) bool { return r.Partial })
	s.bimi.Partially(func(r *bimi.LookupReport) bool { return r.Partial })
	s.tlsrpt.Partially(func(r *tlsrpt.LookupReport) bool { return r.Partial })
	s.reputation.Partially(func(r *ReputationReport) bool {
		partial := func(a Address) bool { return a.Report == nil || a.Report.Partial }
		return len(r.Unanswered()) > 0 || slices.ContainsFunc(r.Addresses, partial)
	})
	if r := s.reputation.Result; r != nil && len(r.Addresses) == 0 && r.open == nil {
		s.reputation.Answered()
	}
	if s.quiet {
		r := &ReputationReport{Assumed: true, Addresses: []Address{}, Reverse: []compose.ReverseName{}, quiet: true}
		r.judge()
		s.reputation = &compose.Part[ReputationReport]{Summary: compose.Summarize(compose.Reputation, r), Result: r}
	}
	if s.dmarc.Result != nil && s.dmarc.Result.Inherited {
		s.dmarc.Foreign()
	}
	if s.bimi.Result != nil && s.bimi.Result.Inherited {
		s.bimi.Foreign()
	}
}

func (s *scoring) shares() []compose.Share {
	list := []compose.Share{{Summary: &s.spf.Summary, Weight: weightSPF}}
	list = append(list, compose.KeyShares(s.dkim, weightDKIM, s.silent || s.quiet)...)
	return append(list,
		compose.Share{Summary: &s.dmarc.Summary, Weight: weightDMARC},
		compose.Share{Summary: &s.bimi.Summary, Weight: weightBIMI},
		compose.Share{Summary: &s.reputation.Summary, Weight: weightReputation, NoMatter: s.quiet},
		compose.Share{Summary: &s.tlsrpt.Summary, Weight: weightTLSRPT},
	)
}

func (s *scoring) report(ended time.Time) *Report {
	r := &Report{
		Panics: s.panics,
		Domain: s.domain, DomainUnicode: s.domain.UnicodeIfDifferent(), Email: s.Email, Timing: diag.NewTiming(s.began, ended),
	}
	if s.gone {
		s.forget()
		r.Verdict = rules.Judge(s, texts)
		for i := range r.Findings {
			r.Findings[i].Target = "domain"
		}
	} else {
		w := compose.Whole{Parts: s.shares(), Good: goodText(s.silent), Open: openText(s),
			Sends: compose.Sends(s.spf, s.dkim)}
		r.Verdict, r.Partial = w.Sum(), w.Partial()
	}
	if s.Detail != compose.Full {
		s.shorten()
	}
	r.Components = s.components()
	r.Advice = advice(&r.Verdict)
	return r
}

func (s *scoring) forget() {
	for _, p := range s.shares() {
		p.Absent()
	}
	s.shorten()
	s.dkim = s.dkim[:1]
	s.dkim[0].Selector = ""
}

func (s *scoring) shorten() {
	for _, p := range []interface{ Shorten() }{s.spf, s.dmarc, s.bimi, s.reputation, s.tlsrpt} {
		p.Shorten()
	}
	for _, p := range s.dkim {
		p.Shorten()
	}
}

func (s *scoring) components() Components {
	return Components{
		SPF: component(s.spf, weightSPF), DKIM: s.dkimComponent(), DMARC: component(s.dmarc, weightDMARC),
		BIMI: component(s.bimi, weightBIMI), Reputation: component(s.reputation, weightReputation),
		TLSRPT: component(s.tlsrpt, weightTLSRPT),
	}
}

func component[R any](p *compose.Part[R], weight int) *Component[R] {
	c := &Component[R]{Part: *p, Weight: weight, Measured: p.Known()}
	share := compose.Share{Summary: &c.Summary, Weight: weight}
	measured := false
	if c.Points, c.MaxPoints, measured = share.Points(); !measured && c.Score != nil { // what is open could lower it
		c.Measured, c.Score, c.Band = false, nil, diag.Undetermined
	}
	return c
}

// dkimComponent is what all keys come to: the state and the texts are those of the worst.
func (s *scoring) dkimComponent() *Component[KeyReport] {
	shares := compose.KeyShares(s.dkim, weightDKIM, s.silent || s.quiet)
	worst := slices.IndexFunc(shares, func(p compose.Share) bool { return p.Weight > 0 })
	c := &Component[KeyReport]{Weight: weightDKIM, Measured: shares[worst].Known()}
	c.Summary = *shares[worst].Summary
	if rating := shares[worst].Rating; rating != nil {
		c.Score, c.Band = rating, diag.BandOf(*rating)
	}
	c.Points, c.MaxPoints, _ = shares[worst].Points()
	c.Findings = []diag.Finding{}
	for _, k := range s.dkim {
		c.Findings = append(c.Findings, k.Findings...)
	}
	slices.SortStableFunc(c.Findings, func(a, b diag.Finding) int { return int(b.Severity) - int(a.Severity) })
	if !s.gone && s.Detail == compose.Full {
		c.Result = &KeyReport{s.dkim}
	}
	return c
}

func advice(v *diag.Verdict) Advice {
	if len(v.Recommendations) == 0 {
		return Advice{}
	}
	first := v.Recommendations[0]
	i := slices.IndexFunc(v.Findings, func(f diag.Finding) bool { return f.Code == first.Code })
	if i < 0 || v.Findings[i].Severity == diag.Info {
		return Advice{}
	}
	f := v.Findings[i]
	component, _, _ := strings.Cut(f.Target, ":")
	return Advice{
		Cause{f.Code, component, f.Severity, f.Detail},
		Action{first.Code, component, first.Detail, first.SuggestedValue},
	}
}
