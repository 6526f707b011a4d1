package deliverability

import (
	"context"
	"fmt"
	"net/mail"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/mailauth/bimi"
	"github.com/diagkit/diagkit/mailauth/compose"
	"github.com/diagkit/diagkit/mailauth/dmarc"
	"github.com/diagkit/diagkit/mailauth/internal/reception"
	"github.com/diagkit/diagkit/mailauth/nameuse"
	"github.com/diagkit/diagkit/mailauth/spf"
	"github.com/diagkit/diagkit/mailauth/tlsrpt"
)

// A Report states how likely mail of a domain is to be accepted, and what to do first.
type Report struct {
	Domain        diag.Domain `json:"domain" doc:"the domain, as A-labels"`
	DomainUnicode string      `json:"domain_unicode,omitempty" doc:"the domain in Unicode, if that differs"`
	Email         string      `json:"email,omitempty" doc:"the address, if the request gave one"`
	diag.Verdict
	Components Components   `json:"components" doc:"what the score consists of"`
	Advice     Advice       `json:"advice,omitzero" doc:"what lowers the score most, and what to do about it; absent when nothing needs to be improved"`
	Name       nameuse.Name `json:"name,omitzero" doc:"what the name is and what it is used for; absent where it does not exist"`
	Steps      []view.Step  `json:"steps,omitempty" doc:"what to do, in this order: what loses mail now, what breaks by a date, other errors, warnings"`
	Partial    bool         `json:"partial" doc:"whether a component could not be measured"`
	diag.Timing

	compose.Panics `json:"-"`
}

// Components are the parts of the score.
type Components struct {
	SPF        *Component[spf.LookupReport]    `json:"spf" doc:"which hosts may send"`
	DKIM       *Component[KeyReport]           `json:"dkim" doc:"keys with which mail is signed"`
	DMARC      *Component[dmarc.LookupReport]  `json:"dmarc" doc:"what receivers do with forged mail"`
	BIMI       *Component[bimi.LookupReport]   `json:"bimi" doc:"which logo receivers show"`
	Reputation *Component[ReputationReport]    `json:"reputation" doc:"what is known of the sending addresses"`
	TLSRPT     *Component[tlsrpt.LookupReport] `json:"tls_rpt" doc:"whether senders report failures of encryption"`
}

// A Component is a part and what it contributes to the score.
type Component[R any] struct {
	compose.Part[R]
	Weight    int  `json:"weight" doc:"what it counts for, of 100"`
	Points    int  `json:"points" min:"0" doc:"points earned"`
	MaxPoints int  `json:"max_points" min:"0" doc:"points that could be earned: the weight, or 0 if the component does not count here"`
	Measured  bool `json:"measured" doc:"whether the component is known"`
}

// A KeyReport holds the findings about DKIM keys.
type KeyReport struct {
	Keys []*compose.DKIMPart `json:"keys" maxitems:"20" doc:"one entry for each key; one of state unknown if none was found"`
}

// Advice is the first action to take.
type Advice struct {
	Cause  Cause  `json:"cause" doc:"the fault that does most harm to mail"`
	Action Action `json:"action" doc:"what to do about it"`
}

// A Cause is the fault behind an advice.
type Cause struct {
	Code      diag.Code     `json:"code" doc:"permanent name of the rule"`
	Component string        `json:"component" doc:"component that it lowers: spf, dkim, dmarc, bimi, reputation, tls_rpt, or domain"`
	Severity  diag.Severity `json:"severity" doc:"how much it matters"`
	Message   string        `json:"message" doc:"what was seen"`
}

// An Action is one action to take.
type Action struct {
	Code           diag.Code `json:"code" doc:"rule that it fulfills"`
	Component      string    `json:"component" doc:"component that it improves"`
	Message        string    `json:"message" doc:"what to do"`
	SuggestedValue string    `json:"suggested_value,omitempty" doc:"a value to publish as it is"`
}

// The weights of the components (CONTRACT 3.3.4).
const (
	weightSPF        = 25
	weightDKIM       = 25
	weightDMARC      = 20
	weightReputation = 20
	weightBIMI       = 5
	weightTLSRPT     = 5
)

// Score examines a domain and scores it. The error is a *[diag.InputError], that of the context if it ended, or wraps
// [diag.ErrUnavailable] if nothing could be determined.
func Score(ctx context.Context, env *diag.Env, req Request) (*Report, error) {
	domain, err := req.subject()
	if err != nil {
		return nil, err
	}
	s := &scoring{Request: req, domain: domain, began: env.Now()}
	s.gather(ctx, env)
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("scoring %s: %w", domain, err)
	}
	s.conclude()
	if err := compose.Unavailable(s.shares(), s.SPF.Err, s.TLSRPT.Err); err != nil {
		return nil, err
	}
	return s.report(env.Now()), nil
}

func (s *scoring) gather(ctx context.Context, env *diag.Env) {
	run := compose.Start(ctx, env)
	if env.Public(s.IP.Addr) {
		s.sender = s.IP
	}
	s.common = compose.AskDomain(run, s.domain, s.sender, s.DKIMSelectors)
	s.reputation = compose.Go(run, compose.Reputation, s.lookupReputation)
	run.Do(func(ctx context.Context, env *diag.Env) { // which other parts query as well
		r := reception.Lookup(ctx, env, s.domain.Name())
		s.route = r.Route()
	})
	s.panics = run.Wait()
}

// A Request is a request to score a domain, given by its name or by an address in it.
type Request struct {
	Domain        diag.Domain     `json:"domain,omitempty" oneof:"subject" doc:"domain in the From field of mail" example:"example.com"`
	Email         string          `json:"email,omitempty" oneof:"subject" minlen:"3" maxlen:"320" doc:"address in the From field of mail"`
	IP            diag.IP         `json:"ip,omitempty" doc:"address of the host that sends the mail; without it the mail servers of the domain are taken"`
	DKIMSelectors []diag.Selector `json:"dkim_selectors,omitempty" maxitems:"20" unique:"true" doc:"selectors with which mail is signed, each of which must exist; without any, 40 common ones are tried"`
	Detail        compose.Detail  `json:"detail,omitempty" default:"summary" doc:"full adds the report of each component"`
}

// The longest parts of an address, in bytes (RFC 5321 section 4.5.3.1).
const (
	maxAddress   = 320
	maxLocalPart = 64
)

func (r *Request) subject() (diag.Domain, error) {
	switch {
	case r.Email != "" && !r.Domain.IsZero():
		return diag.Domain{}, input.Invalid("email", "cannot be combined with domain; give one of them")
	case r.Email != "":
		return domainOf(r.Email)
	case r.Domain.IsZero():
		return diag.Domain{}, input.Invalid("domain", "is missing; give a domain, or an address in email")
	default:
		return r.Domain, nil
	}
}

func domainOf(email string) (diag.Domain, error) {
	none := diag.Domain{}
	at := strings.LastIndexByte(email, '@')
	switch {
	case at < 0:
		return none, input.Invalid("email", "%.320q is not an address: it has no @. For a domain use the field domain", email)
	case len(email) > maxAddress:
		return none, input.Invalid("email", "is longer than %d bytes", maxAddress)
	case strings.TrimSpace(email) != email:
		return none, input.Invalid("email", "%q has white space around the address", email)
	case at == 0:
		return none,
			input.Invalid("email", "%q has nothing before the @. For a domain use the field domain: %q", email, email[1:])
	case at > maxLocalPart:
		return none, input.Invalid("email", "has %d bytes before the @; there may be %d", at, maxLocalPart)
	}
	if strings.ContainsAny(email, "<>") {
		if parsed, err := mail.ParseAddress(email); err == nil {
			return none, input.Invalid("email", "must be the address alone: %q", parsed.Address)
		}
	}
	d, err := diag.ParseDomain(email[at+1:])
	if err != nil {
		return none, input.Invalid("email", "%q has no domain name after the @", email)
	}
	if _, err := mail.ParseAddress(email[:at] + "@" + d.String()); err != nil { // RFC 5322 section 3.4.1
		return none, input.Invalid("email", "%q is not an address: %q is not allowed before the @", email, email[:at])
	}
	return d, nil
}

type scoring struct {
	panics compose.Panics

	Request
	domain diag.Domain
	began  time.Time
	sender diag.IP // the address of the request, if it is a public one: no record can name another

	common
	reputation *compose.Part[ReputationReport]

	nonexistent  bool // the domain does not exist
	noSignOfMail bool // there is no sign that it sends mail
	route        reception.Route
}

type common = *compose.Domain

func (s *scoring) conclude() {
	s.nonexistent = s.SPF.Nonexistent() || !s.SPF.Known() && s.TLSRPT.Nonexistent()
	s.Conclude()
	s.noSignOfMail = s.IP.IsZero() && (s.SendsNoMail || compose.Parked(s.SPF) && !s.Sends())
	s.SPF.Add(compose.Judge(addressRules, s, addressTexts))
	s.reputation.MarkPartial(func(r *ReputationReport) bool {
		partial := func(a Address) bool { return a.Report == nil || a.Report.Partial }
		return len(r.Unanswered()) > 0 || slices.ContainsFunc(r.Addresses, partial)
	})
	if r := s.reputation.Result; r != nil && len(r.Addresses) == 0 && r.mxErr == nil {
		s.reputation.MarkAnswered()
	}
	if s.noSignOfMail {
		r := &ReputationReport{Assumed: true, Addresses: []Address{}, Reverse: []compose.ReverseName{}, noSignOfMail: true}
		r.judge()
		s.reputation = &compose.Part[ReputationReport]{Summary: compose.Summarize(compose.Reputation, r), Result: r}
	}
}

func (s *scoring) shares() []compose.WeightedPart {
	list := []compose.WeightedPart{{Summary: &s.SPF.Summary, Weight: weightSPF}}
	list = append(list, compose.WeighKeys(s.DKIM, weightDKIM, s.SendsNoMail || s.noSignOfMail)...)
	return append(list,
		compose.WeightedPart{Summary: &s.DMARC.Summary, Weight: weightDMARC},
		compose.WeightedPart{Summary: &s.BIMI.Summary, Weight: weightBIMI},
		compose.WeightedPart{Summary: &s.reputation.Summary, Weight: weightReputation, MayBeUnknown: s.noSignOfMail},
		compose.WeightedPart{Summary: &s.TLSRPT.Summary, Weight: weightTLSRPT},
	)
}

func (s *scoring) report(ended time.Time) *Report {
	r := &Report{
		Panics: s.panics,
		Domain: s.domain, DomainUnicode: s.domain.UnicodeIfDifferent(), Email: s.Email,
		Timing: diag.NewTiming(s.began, ended),
	}
	if s.nonexistent {
		s.MarkNonexistent(s.shares())
		r.Verdict = rules.Judge(s, texts)
		for i := range r.Findings {
			r.Findings[i].Target = "domain"
		}
	} else {
		r.Name = s.common.Name(s.domain, compose.Facts{Route: s.route})
		named := compose.NameRules(s.domain, r.Name, s.route)
		w := compose.Composite{Domain: s.domain, Parts: s.shares(), Own: []*compose.Summary{&named},
			Good: goodText(s.SendsNoMail), Incomplete: openText(s),
			Name: r.Name, Route: s.route, Now: s.began, Sends: s.Sends()}
		r.Verdict, r.Steps = w.Verdict(), w.Steps()
		r.Partial = w.Partial()
	}
	if s.Detail != compose.Full || s.nonexistent {
		s.Shorten(s.reputation)
	}
	r.Components = s.components()
	r.Advice = advice(&r.Verdict)
	return r
}

func (s *scoring) components() Components {
	return Components{
		SPF: component(s.SPF, weightSPF), DKIM: s.dkimComponent(), DMARC: component(s.DMARC, weightDMARC),
		BIMI: component(s.BIMI, weightBIMI), Reputation: component(s.reputation, weightReputation),
		TLSRPT: component(s.TLSRPT, weightTLSRPT),
	}
}

func component[R any](p *compose.Part[R], weight int) *Component[R] {
	c := &Component[R]{Part: *p, Weight: weight, Measured: p.Known()}
	share := compose.WeightedPart{Summary: &c.Summary, Weight: weight}
	measured := false
	if c.Points, c.MaxPoints, measured = share.Points(); !measured && c.Score != nil { // what is open could lower it
		c.Measured, c.Score, c.Band = false, nil, diag.Undetermined
	}
	return c
}

// dkimComponent merges all keys into one component: its state and texts are those of the worst key.
func (s *scoring) dkimComponent() *Component[KeyReport] {
	shares := compose.WeighKeys(s.DKIM, weightDKIM, s.SendsNoMail || s.noSignOfMail)
	worst := slices.IndexFunc(shares, func(p compose.WeightedPart) bool { return p.Weight > 0 })
	c := &Component[KeyReport]{Weight: weightDKIM, Measured: shares[worst].Known()}
	c.Summary = *shares[worst].Summary
	if rating := shares[worst].Rating; rating != nil {
		c.Score, c.Band = rating, rule.BandOf(*rating)
	}
	c.Points, c.MaxPoints, _ = shares[worst].Points()
	c.Findings = []diag.Finding{}
	for _, k := range s.DKIM {
		c.Findings = append(c.Findings, k.Findings...)
	}
	slices.SortStableFunc(c.Findings, func(a, b diag.Finding) int { return int(b.Severity) - int(a.Severity) })
	if !s.nonexistent && s.Detail == compose.Full {
		c.Result = &KeyReport{s.DKIM}
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
