package header

import (
	"fmt"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/arc"
	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/dnsbl"
	"github.com/diagkit/diagkit/mailauth/spf"
)

// Live is what the DNS says about a message now.
type Live struct {
	Performed  bool           `json:"performed" doc:"whether the DNS was asked; if not, all else is absent or empty"`
	Partial    bool           `json:"partial" doc:"whether the DNS left questions without an answer"`
	CheckedAt  *time.Time     `json:"checked_at,omitempty" doc:"when the DNS was asked"`
	DurationMS *int64         `json:"duration_ms,omitempty" min:"0" doc:"how long it took"`
	OutsideHop *OutsideHop    `json:"outside_hop,omitempty" doc:"where the receiver's side took the message from elsewhere"`
	SPF        *SPFResult     `json:"spf,omitempty" doc:"SPF of the envelope sender, or of the HELO name for bounces, for the server that delivered; absent where server or sender is not known"`
	SPFHELO    *SPFResult     `json:"spf_helo,omitempty" doc:"SPF of the name that the server gave itself"`
	DKIM       []DKIMResult   `json:"dkim" doc:"each DKIM signature, the topmost first; at most 50"`
	DKIMMore   int            `json:"dkim_more_count" min:"0" doc:"signatures beyond these, which are not verified"`
	DMARC      *DMARCResult   `json:"dmarc,omitempty" doc:"DMARC of the author's domain (RFC 9989); absent without such a domain"`
	ARC        *arc.Result    `json:"arc,omitempty" doc:"the ARC chain (RFC 8617), which is reported and never scored"`
	PTR        []PTR          `json:"ptr" doc:"the names of the server that delivered"`
	Blacklists []dnsbl.Result `json:"blacklists,omitzero" maxitems:"200" doc:"the more widely used blocklists that have the server that delivered; absent if none of them answered"`
	Recorded   []Comparison   `json:"recorded" doc:"what servers of the receiver noted, beside what is found now; at most 20"`
}

// OutsideHop is where the receiver's side took the message from elsewhere.
type OutsideHop struct {
	Known  bool   `json:"known" doc:"whether the hop is known"`
	Index  *int   `json:"index,omitempty" min:"0" doc:"the hop in hops"`
	IP     string `json:"ip,omitempty" doc:"address of the server that delivered"`
	HELO   string `json:"helo,omitempty" doc:"the name that it gave itself"`
	By     string `json:"by,omitempty" doc:"who took the message"`
	Reason string `json:"reason" doc:"why it is this hop, or why none is known"`
}

// Identity says what SPF was checked for.
type Identity string

// The identities (RFC 7208 section 2).
const (
	mailFrom Identity = "mailfrom"
	helo     Identity = "helo"
)

// Values lists the identities.
func (Identity) Values() []string { return diag.Values(mailFrom, helo) }

// SPFResult is what SPF says about the server that delivered.
type SPFResult struct {
	IP          string      `json:"ip" doc:"address of the server"`
	Identity    Identity    `json:"identity" doc:"what was checked: the envelope sender, or the HELO name"`
	Domain      string      `json:"domain" doc:"whose record was evaluated"`
	Result      spf.Outcome `json:"result" doc:"the result"`
	Aligned     bool        `json:"aligned" doc:"whether the domain is aligned with that of the author"`
	MatchedTerm string      `json:"matched_term,omitempty" doc:"the mechanism that decided"`
	Explanation string      `json:"explanation,omitempty" doc:"what the domain says to servers that it refuses"`
	Reason      string      `json:"reason,omitempty" doc:"why there is no record, or why it could not be evaluated"`
}

// DKIMResult is what became of a signature.
type DKIMResult struct {
	dkim.Result
	Aligned    bool `json:"aligned" doc:"whether the signing domain is aligned with that of the author"`
	ExpiredNow bool `json:"expired_now" doc:"whether the signature has expired by now; verified speaks of when the message was received"`
}

// DMARCResult is what DMARC says about the message.
type DMARCResult struct {
	Result       policy.Result      `json:"result,omitempty" doc:"the result; absent where it depends on what was not submitted"`
	Policy       policy.Policy      `json:"policy,omitempty" doc:"what the domain asks for messages that fail"`
	Applied      policy.Policy      `json:"applied,omitempty" doc:"what remains of it while the domain is testing (t=y)"`
	Tag          string             `json:"tag,omitempty" enum:"p sp np" doc:"the tag that decides"`
	AlignedBy    []policy.Mechanism `json:"aligned_by" doc:"what authenticated an aligned domain"`
	PolicyDomain string             `json:"policy_domain,omitempty" doc:"where the record is"`
	Organization string             `json:"organizational_domain,omitempty" doc:"the organizational domain of the author, by tree walk"`
	Reason       string             `json:"reason,omitempty" doc:"why the result is not known"`
}

// A Comparison sets what a server noted when it took the message beside what is found now.
type Comparison struct {
	AuthServID string `json:"authserv_id" doc:"who noted it"`
	Trusted    bool   `json:"trusted" doc:"whether the caller trusts that server"`
	Method     string `json:"method" doc:"what was checked" example:"dkim"`
	Domain     string `json:"domain,omitempty" doc:"about which domain"`
	Recorded   string `json:"recorded" doc:"the result that was noted"`
	Now        string `json:"now" doc:"the result that is found now"`
	Agrees     bool   `json:"agrees" doc:"whether they are the same"`
	Reason     string `json:"reason,omitempty" doc:"why they may differ"`
}

// report is the live part of the report.
func (a *analysis) report() Live {
	r := Live{DKIM: []DKIMResult{}, PTR: []PTR{}, Recorded: []Comparison{}}
	l := a.live
	if l == nil {
		return r
	}
	r.Performed, r.ARC, r.DKIMMore = true, l.arc, l.dkim.Surplus
	timing := diag.NewTiming(l.now, l.ended)
	r.CheckedAt, r.DurationMS = &timing.CheckedAt, &timing.DurationMS
	r.Partial = len(l.silences()) > 0 || l.ptr != nil && l.ptr.err != nil || l.arc.Result == arc.Unknown
	r.OutsideHop = &OutsideHop{Reason: l.why}
	if l.hop != nil {
		r.OutsideHop = &OutsideHop{true, new(l.hop.index), l.hop.ip.String(), diag.Quote(l.hop.helo),
			diag.Quote(l.hop.by), l.why}
		r.PTR, r.Blacklists = append(r.PTR, *l.ptr), l.rbl.report()
		r.SPF = l.spfReport(l.spf, l.identity())
		r.SPFHELO = l.spfReport(l.helo, helo)
	}
	for _, s := range l.dkim.Signatures {
		expired := s.ExpiresAt != nil && s.ExpiresAt.Before(l.now)
		r.DKIM = append(r.DKIM, DKIMResult{s, l.aligned(policy.DKIM, s.Domain), expired})
	}
	r.DMARC = l.dmarcReport()
	r.Recorded = append(r.Recorded, a.comparisons()...)
	return r
}

// identity is what SPF of the envelope was checked for.
func (l *liveEvidence) identity() Identity {
	if e := l.input.envelope; e != nil && e.address == "" {
		return helo
	}
	return mailFrom
}

func (l *liveEvidence) spfReport(r *spf.Result, identity Identity) *SPFResult {
	if r == nil {
		return nil
	}
	return &SPFResult{
		IP: l.hop.ip.String(), Identity: identity, Domain: diag.Quote(r.Domain), Result: r.Outcome,
		Aligned:     l.aligned(policy.SPF, mailDomain(r.Domain).String()),
		MatchedTerm: diag.Quote(r.MatchedTerm), Explanation: diag.Quote(r.Explanation), Reason: diag.Quote(r.Reason),
	}
}

func (l *liveEvidence) dmarcReport() *DMARCResult {
	if l.could == nil {
		if l.dmarc.result == "" {
			return nil
		}
		return &DMARCResult{Result: l.dmarc.result, AlignedBy: []policy.Mechanism{}}
	}
	view := &l.could.Discovery.Tree
	r := &DMARCResult{
		Result: l.dmarc.result, Policy: l.could.Policy, Applied: l.could.Applied, Tag: l.could.Tag,
		AlignedBy: append([]policy.Mechanism{}, l.dmarc.by...), PolicyDomain: view.PolicyDomain(), Reason: l.dmarc.reason,
	}
	if view.OrganizationalErr == nil {
		r.Organization = view.Organizational
	}
	return r
}

// maxComparisons bounds the comparisons; a receiver notes up to ten results.
const maxComparisons = 20

// comparisons sets what the receiver noted beside what is found now: the topmost note about each thing.
func (a *analysis) comparisons() (list []Comparison) {
	seen := map[string]bool{}
	for _, r := range a.input.recorded {
		now, reason := a.live.found(r)
		about := r.method + " " + r.domain + " " + r.selector
		if !r.above || now == "" || seen[about] || len(list) == maxComparisons {
			continue
		}
		seen[about] = true
		c := Comparison{
			AuthServID: diag.Quote(r.authServID), Trusted: r.trusted, Method: r.method, Domain: diag.Quote(r.domain),
			Recorded: diag.Quote(r.result), Now: now, Agrees: r.result == now,
		}
		if !c.Agrees {
			c.Reason = reason
		}
		list = append(list, c)
	}
	return list
}

// found is what is found now for what a server noted, and why it may differ; empty if there is nothing to compare.
func (l *liveEvidence) found(r recorded) (now, reason string) {
	switch r.method {
	case "spf":
		if l.spf != nil && strings.EqualFold(l.spf.Domain, r.domain) {
			return string(l.spf.Outcome), fmt.Sprintf("The SPF record of %s has changed since, or the server noted another "+
				"address.",
				diag.Quote(r.domain))
		}
	case "dmarc":
		if l.dmarc.result != "" {
			return string(l.dmarc.result), "Records or keys have changed since, or what was submitted is not all of the " +
				"message as it came."
		}
	case "dkim":
		for i := range l.dkim.Signatures {
			s := &l.dkim.Signatures[i]
			other := s.Domain != r.domain || r.selector != "" && !strings.EqualFold(s.Selector, r.selector)
			if other || s.Result == dkim.Unchecked {
				continue
			}
			switch s.Cause {
			case dkim.KeyMissing, dkim.KeyRevoked:
				return string(s.Result), "The key has been withdrawn since, as happens when keys are rotated."
			case dkim.KeyUnknown:
				return string(s.Result), "The key could not be looked up now."
			}
			return string(s.Result), "The key has been replaced since, or the message was changed after it was received."
		}
	}
	return "", ""
}

// recordedTrusted is the topmost result of a method that a server noted which the caller trusts; nil if there is none.
func (a *analysis) recordedTrusted(method string) *recorded {
	for i := range a.input.recorded {
		if r := &a.input.recorded[i]; r.trusted && r.method == method {
			return r
		}
	}
	return nil
}
