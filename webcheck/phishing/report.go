package phishing

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/webcheck/phishing/lookalike"
)

// The risks from which a verdict is given. What an honest URL may have as well, such as a code in its path or free
// hosting, has such weights that three or four of them together are below the first.
const (
	suspicious = 40
	malicious  = 75
)

// risk adds up weights as independent reasons: what the first leaves of 100 is lowered by the second in its
// proportion, and so on. So no number of weak signals is as good as a proof, and the order does not matter.
func risk(signals []Signal) int {
	left := 1.0
	for _, s := range signals {
		left *= 1 - float64(s.Weight)/100
	}
	return int(math.Round(100 * (1 - left)))
}

func (e *evidence) report(ended time.Time) *Report {
	judged := rules().Judge(e, nil)
	r := &Report{
		Input: e.input, NormalizedURL: e.url.String(), Host: e.url.Host().Name(), Signals: signals(judged.Findings),
		Sources: e.sources, Coverage: Coverage{SourcesAnswered: e.heard(), HeuristicsRun: heuristics(judged)},
		Redirects: e.redirects(), TLS: e.certificate(), Forms: e.forms(), Lookalike: e.lookalike(),
		Partial: len(e.Unanswered()) > 0, Timing: diag.NewTiming(e.now, ended), Findings: judged.Findings,
	}
	if d, err := diag.ParseDomain(e.registered); err == nil {
		r.Registered = d
	}
	if e.asked {
		r.Coverage.SourcesQueried = len(e.sources)
	}
	for _, a := range e.ages {
		if n, ok := a.days(); ok && a.domain == r.Registered {
			r.AgeDays = new(n)
		}
	}
	r.RiskScore = risk(r.Signals)
	r.Verdict = e.verdict(r)
	r.Text = e.text(r)
	return r
}

var describe = sync.OnceValue(func() map[diag.Code]diag.RuleInfo {
	m := map[diag.Code]diag.RuleInfo{}
	for _, info := range rules().Describe() {
		m[info.Code] = info
	}
	return m
})

// signals lists the rules with a weight that failed, each with its first finding, the heaviest first.
func signals(findings []diag.Finding) []Signal {
	list, known, seen := []Signal{}, describe(), map[diag.Code]bool{}
	for _, f := range findings {
		info := known[f.Code]
		if info.Weight == 0 || seen[f.Code] {
			continue
		}
		seen[f.Code] = true
		list = append(list, Signal{f.Code, Category(info.Category.Code), f.Severity, info.Weight, true, f.Detail})
	}
	slices.SortStableFunc(list, func(a, b Signal) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(a.Code, b.Code))
	})
	return list
}

// heuristics counts the rules that could be applied.
func heuristics(judged diag.Verdict) int {
	n, seen := len(judged.Passed), map[diag.Code]bool{}
	known := describe()
	for _, f := range judged.Findings {
		if !seen[f.Code] && known[f.Code].State != diag.Unknown {
			n++
		}
		seen[f.Code] = true
	}
	return n
}

// verdict is what the risk says. It is inconclusive where the page was not examined, and where an answer that did not
// come could have raised the risk so far that the verdict would be another one.
func (e *evidence) verdict(r *Report) Verdict {
	listed := slices.ContainsFunc(r.Sources, func(s SourceResult) bool { return s.Status == sourceMatch })
	open := e.Unanswered()
	worst := r.RiskScore
	if slices.Contains(open, sourceRegistration) {
		worst = risk(append(slices.Clone(r.Signals), Signal{Weight: describe()["phishing.registration.new"].Weight}))
	}
	switch {
	case listed, r.RiskScore >= malicious:
		return Malicious
	case r.RiskScore >= suspicious:
		return Suspicious
	case !e.served(), slices.Contains(open, sourceReputation), worst >= suspicious:
		return inconclusive
	default:
		return clean
	}
}

// redirects lists the answers that led on.
func (e *evidence) redirects() []fetch.Hop {
	list := []fetch.Hop{}
	if e.site == nil {
		return list
	}
	for _, h := range e.site.Hops {
		if h.RedirectType != "" {
			list = append(list, h)
		}
	}
	return list
}

func (e *evidence) certificate() (t TLS) {
	if !certified(e) {
		return t
	}
	leaf := e.site.TLS.Leaf()
	issuer := cmp.Or(leaf.Issuer.CommonName, leaf.Issuer.Raw)
	if len(leaf.Issuer.Organization) > 0 {
		issuer = leaf.Issuer.Organization[0]
	}
	return TLS{Valid: e.site.TLS.Err() == nil, Issuer: issuer, AgeDays: days(e.now.Sub(leaf.NotBefore))}
}

// lookalike is the brand that is imitated: by the host that was given, or else by that to which it leads.
func (e *evidence) lookalike() Lookalike {
	m := e.imitation()
	if m == nil {
		return Lookalike{}
	}
	return Lookalike{Brand: m.Target.Name, Technique: m.Technique, Distance: m.Distance}
}

// imitation is the strongest likeness to a brand.
func (e *evidence) imitation() (best *lookalike.Match) {
	for _, a := range e.places() {
		if a.match != nil && (best == nil || a.match.Strength > best.Strength) {
			best = a.match
		}
	}
	return best
}

// days returns the whole days of a duration, rounded down.
func days(d time.Duration) int { return int(math.Floor(d.Hours() / 24)) }
