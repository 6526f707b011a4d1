package header

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/mailauth/arc"
	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/dnsbl"
	"github.com/diagkit/diagkit/mailauth/internal/live"
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
	r.Performed, r.ARC, r.DKIMMore, r.DMARC = true, kit.OrZero(l.ARC), l.DKIM.Surplus, dmarcReport(l)
	r.Partial = len(l.UnansweredTexts()) > 0 || l.PTR != nil && l.PTR.Err != nil || l.ARC.Result == arc.Unknown
	r.OutsideHop = OutsideHop{Reason: l.Why}
	if l.Hop != nil {
		r.OutsideHop = OutsideHop{true, new(l.Hop.Index), l.Hop.IP.String(), phrase.Quote(l.Hop.HELO),
			phrase.Quote(l.Hop.By), l.Why}
		r.PTR, r.Blacklists = append(r.PTR, PTR(*l.PTR)), l.Listed
		identity := MailFrom
		if l.Envelope != nil && *l.Envelope == "" {
			identity = HELO
		}
		r.SPF, r.SPFHELO = spfReport(l, l.SPF, identity), spfReport(l, l.HELO, HELO)
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
		IP: l.Hop.IP.String(), Identity: identity, Domain: phrase.Quote(r.Domain), Result: r.Outcome,
		Aligned:     l.Aligned(policy.SPF, live.MailDomain(r.Domain).String()),
		MatchedTerm: phrase.Quote(r.MatchedTerm), Explanation: phrase.Quote(r.Explanation), Reason: phrase.Quote(r.Reason),
	}
}

func dmarcReport(l *live.Evidence) DMARCResult {
	r := DMARCResult{Result: l.DMARC.Result, AlignedBy: append([]policy.Mechanism{}, l.DMARC.By...),
		Reason: l.DMARC.Reason}
	switch could := l.BestCase; {
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
	if l == nil || l.BestCase == nil {
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

// maxComparisons bounds the comparisons; a receiver records up to ten results.
const maxComparisons = 20

// comparisons pairs the receiver's results with the live results: the topmost one of each kind.
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
			AuthServID: n.by(), Trusted: n.trusted, Method: r.Method, Domain: phrase.Quote(r.Domain()),
			Recorded: phrase.Quote(r.Value), Now: now, Agrees: r.Value == now, Reason: reason,
		})
	}
	return list
}

// found returns the live result for one that a server recorded, and why they may differ; empty if they cannot be
// compared.
func found(l *live.Evidence, noted *result) (now, reason string) {
	domain, selector := noted.Domain(), noted.Property("header.s")
	switch {
	case noted.Method == "spf" && l.SPF != nil && strings.EqualFold(l.SPF.Domain, domain):
		return string(l.SPF.Outcome),
			fmt.Sprintf("The SPF record of %s has changed since, or the server noted another address.",
				phrase.Quote(domain))
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

// Authenticity states whether a message comes from the domain that its From field shows: likely, unlikely or unknown.
type Authenticity string

const (
	Likely     Authenticity = "likely"
	Unlikely   Authenticity = "unlikely"
	NotDecided Authenticity = "unknown"
)

// Values lists the judgements.
func (Authenticity) Values() []string { return kit.Values(Likely, Unlikely, NotDecided) }

// A Conclusion states whether a message is authentic, with reasons that can be shown to users.
type Conclusion struct {
	Authentic Authenticity `json:"authentic" doc:"whether the message comes from the domain that its From field shows"`
	SendingIP string       `json:"sending_ip,omitempty" doc:"address of the server that delivered the message to the receiver's side"`
	Reasons   []string     `json:"reasons" doc:"why, in sentences for people, the weightiest first"`
}

// Live holds the DNS results about a message at the time of the analysis.
type Live struct {
	Performed  bool           `json:"performed" doc:"whether the DNS was asked; if not, all else is absent or empty"`
	Partial    bool           `json:"partial" doc:"whether the DNS left questions without an answer"`
	CheckedAt  time.Time      `json:"checked_at,omitzero" doc:"when the DNS was asked"`
	DurationMS *int64         `json:"duration_ms,omitempty" min:"0" doc:"how long it took"`
	OutsideHop OutsideHop     `json:"outside_hop,omitzero" doc:"where the receiver's side took the message from elsewhere"`
	SPF        SPFResult      `json:"spf,omitzero" doc:"SPF of the envelope sender, or of the HELO name for bounces, for the server that delivered; absent where server or sender is not known"`
	SPFHELO    SPFResult      `json:"spf_helo,omitzero" doc:"SPF of the name that the server gave itself"`
	DKIM       []DKIMResult   `json:"dkim" doc:"each DKIM signature, the topmost first; at most 50"`
	DKIMMore   int            `json:"dkim_more_count" min:"0" doc:"signatures beyond these, which are not verified"`
	DMARC      DMARCResult    `json:"dmarc,omitzero" doc:"DMARC of the author's domain (RFC 9989); absent without such a domain"`
	ARC        arc.Result     `json:"arc,omitzero" doc:"the ARC chain (RFC 8617), which is reported and never scored"`
	PTR        []PTR          `json:"ptr" doc:"the names of the server that delivered"`
	Blacklists []dnsbl.Result `json:"blacklists,omitzero" maxitems:"200" doc:"the more widely used blocklists that have the server that delivered; absent if none of them answered"`
	Recorded   []Comparison   `json:"recorded" doc:"what servers of the receiver noted, beside what is found now; at most 20"`
}

// OutsideHop is the hop at which the receiver's side accepted the message from elsewhere.
type OutsideHop struct {
	Known  bool   `json:"known" doc:"whether the hop is known"`
	Index  *int   `json:"index,omitempty" min:"0" doc:"the hop in hops"`
	IP     string `json:"ip,omitempty" doc:"address of the server that delivered"`
	HELO   string `json:"helo,omitempty" doc:"the name that it gave itself"`
	By     string `json:"by,omitempty" doc:"who took the message"`
	Reason string `json:"reason" doc:"why it is this hop, or why none is known"`
}

// Identity is the identity that SPF was checked for: mailfrom or helo.
type Identity string

// The identities (RFC 7208 section 2).
const (
	MailFrom Identity = "mailfrom"
	HELO     Identity = "helo"
)

// Values lists the identities.
func (Identity) Values() []string { return kit.Values(MailFrom, HELO) }

// PTR is the reverse DNS of the address of the sending server.
type PTR live.PTR

// SPFResult is the SPF result for the delivering server.
type SPFResult struct {
	IP          string       `json:"ip" doc:"address of the server"`
	Identity    Identity     `json:"identity" doc:"what was checked: the envelope sender, or the HELO name"`
	Domain      string       `json:"domain" doc:"whose record was evaluated"`
	Result      eval.Outcome `json:"result" doc:"the result"`
	Aligned     bool         `json:"aligned" doc:"whether the domain is aligned with that of the author"`
	MatchedTerm string       `json:"matched_term,omitempty" doc:"the mechanism that decided"`
	Explanation string       `json:"explanation,omitempty" doc:"what the domain says to servers that it refuses"`
	Reason      string       `json:"reason,omitempty" doc:"why there is no record, or why it could not be evaluated"`
}

// DKIMResult is the result of verifying a signature.
type DKIMResult struct {
	dkim.Result
	Aligned    bool `json:"aligned" doc:"whether the signing domain is aligned with that of the author"`
	ExpiredNow bool `json:"expired_now" doc:"whether the signature has expired by now; verified speaks of when the message was received"`
}

// DMARCResult is the DMARC result of the message.
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

// A Comparison pairs a result that a server recorded on receipt with the live result.
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
