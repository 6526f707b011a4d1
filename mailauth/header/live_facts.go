package header

import (
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/arc"
	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/dnsbl"
	"github.com/diagkit/diagkit/mailauth/header/live"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
)

// Authenticity says whether a message comes from the domain that its From field shows.
type Authenticity string

// The judgements.
const (
	likely     Authenticity = "likely"
	unlikely   Authenticity = "unlikely"
	notDecided Authenticity = "unknown"
)

// Values lists the judgements.
func (Authenticity) Values() []string { return diag.Values(likely, unlikely, notDecided) }

// A Conclusion says whether a message is authentic, with reasons that can be shown to users.
type Conclusion struct {
	Authentic Authenticity `json:"authentic" doc:"whether the message comes from the domain that its From field shows"`
	SendingIP string       `json:"sending_ip,omitempty" doc:"address of the server that delivered the message to the receiver's side"`
	Reasons   []string     `json:"reasons" doc:"why, in sentences for people, the weightiest first"`
}

// Live is what the DNS says about a message now.
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

// PTR is what the DNS says about the address of the sending server.
type PTR live.PTR

// SPFResult is what SPF says about the server that delivered.
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
