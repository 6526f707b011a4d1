package header

import (
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/arc"
	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/header/live"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
)

func (a *analysis) report() Live {
	r := Live{DKIM: []DKIMResult{}, PTR: []PTR{}, Recorded: []Comparison{}}
	l := a.live
	if l == nil {
		return r
	}
	timing := diag.NewTiming(l.Now, l.Ended)
	r.CheckedAt, r.DurationMS = timing.CheckedAt, &timing.DurationMS
	r.Performed, r.ARC, r.DKIMMore, r.DMARC = true, diag.OrZero(l.ARC), l.DKIM.Surplus, dmarcReport(l)
	r.Partial = len(l.Silences()) > 0 || l.PTR != nil && l.PTR.Err != nil || l.ARC.Result == arc.Unknown
	r.OutsideHop = OutsideHop{Reason: l.Why}
	if l.Hop != nil {
		r.OutsideHop = OutsideHop{true, new(l.Hop.Index), l.Hop.IP.String(), diag.Quote(l.Hop.HELO),
			diag.Quote(l.Hop.By), l.Why}
		r.PTR, r.Blacklists = append(r.PTR, PTR(*l.PTR)), l.Listed
		identity := mailFrom
		if l.Envelope != nil && *l.Envelope == "" {
			identity = helo
		}
		r.SPF, r.SPFHELO = spfReport(l, l.SPF, identity), spfReport(l, l.HELO, helo)
	}
	for _, s := range l.DKIM.Signatures {
		expired := !s.ExpiresAt.IsZero() && s.ExpiresAt.Before(l.Now)
		r.DKIM = append(r.DKIM, DKIMResult{s, l.Aligned(policy.DKIM, s.Domain), expired})
	}
	r.Recorded = append(r.Recorded, a.comparisons()...)
	return r
}

func spfReport(l *live.Evidence, r *eval.Result, identity Identity) SPFResult {
	if r == nil {
		return SPFResult{}
	}
	return SPFResult{
		IP: l.Hop.IP.String(), Identity: identity, Domain: diag.Quote(r.Domain), Result: r.Outcome,
		Aligned:     l.Aligned(policy.SPF, live.MailDomain(r.Domain).String()),
		MatchedTerm: diag.Quote(r.MatchedTerm), Explanation: diag.Quote(r.Explanation), Reason: diag.Quote(r.Reason),
	}
}

func dmarcReport(l *live.Evidence) DMARCResult {
	r := DMARCResult{Result: l.DMARC.Result, AlignedBy: append([]policy.Mechanism{}, l.DMARC.By...),
		Reason: l.DMARC.Reason}
	switch could := l.Could; {
	case could == nil && r.Result == "":
		return DMARCResult{}
	case could != nil:
		view := &could.Discovery.Tree
		r.Policy, r.Applied, r.Tag, r.PolicyDomain = could.Policy, could.Applied, could.Tag, view.PolicyDomain()
		if view.OrganizationalErr == nil {
			r.Organization = view.Organizational
		}
	}
	return r
}

func (a *analysis) align(to *Alignment) {
	l := a.live
	if l == nil || l.Could == nil {
		return
	}
	if l.SPF != nil && !l.SPFGave(eval.Temperror) {
		to.SPFAligned = new(l.SPFGave(eval.Pass) && l.SPFAligned())
	}
	switch {
	case l.Signed(dkim.Pass) != nil:
		to.DKIMAligned = new(true)
	case l.Signed(dkim.TempError, dkim.Unchecked) == nil && len(l.DKIM.Signatures) > 0:
		to.DKIMAligned = new(false)
	}
}

// maxComparisons bounds the comparisons; a receiver notes up to ten results.
const maxComparisons = 20

// comparisons sets what the receiver noted beside what is found now: the topmost note about each thing.
func (a *analysis) comparisons() (list []Comparison) {
	seen := map[string]bool{}
	for _, n := range a.notes {
		r := n.result
		now, reason := found(a.live, r)
		about := r.Method + " " + r.Domain() + " " + r.Property("header.s")
		if n.foreign || now == "" || seen[about] || len(list) == maxComparisons {
			continue
		}
		seen[about] = true
		if r.Value == now {
			reason = ""
		}
		list = append(list, Comparison{
			AuthServID: n.by(), Trusted: n.trusted, Method: r.Method, Domain: diag.Quote(r.Domain()),
			Recorded: diag.Quote(r.Value), Now: now, Agrees: r.Value == now, Reason: reason,
		})
	}
	return list
}

// found is what is found now for what a server noted, and why it may differ; empty if there is nothing to compare.
func found(l *live.Evidence, noted *result) (now, reason string) {
	domain, selector := noted.Domain(), noted.Property("header.s")
	switch {
	case noted.Method == "spf" && l.SPF != nil && strings.EqualFold(l.SPF.Domain, domain):
		return string(l.SPF.Outcome), fmt.Sprintf("The SPF record of %s has changed since, or the server noted another address.",
			diag.Quote(domain))
	case noted.Method == "dmarc" && l.DMARC.Result != "":
		return string(l.DMARC.Result), "Records or keys have changed since, or what was submitted is not all of the " +
			"message as it came."
	case noted.Method != "dkim":
		return "", ""
	}
	same := slices.IndexFunc(l.DKIM.Signatures, func(s dkim.Result) bool {
		return s.Domain == domain && (selector == "" || strings.EqualFold(s.Selector, selector)) && s.Result != dkim.Unchecked
	})
	if same < 0 {
		return "", ""
	}
	s := &l.DKIM.Signatures[same]
	switch s.Cause {
	case dkim.KeyMissing, dkim.KeyRevoked:
		reason = "The key has been withdrawn since, as happens when keys are rotated."
	case dkim.KeyUnknown:
		reason = "The key could not be looked up now."
	default:
		reason = "The key has been replaced since, or the message was changed after it was received."
	}
	return string(s.Result), reason
}
