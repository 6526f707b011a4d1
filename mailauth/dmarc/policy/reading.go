package policy

import (
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/diag/kit"
)

// A Standard is one of the two by which receivers read records.
type Standard string

// The standards.
const (
	RFC7489 Standard = "rfc7489"
	RFC9989 Standard = "rfc9989"
)

// Values lists the standards.
func (Standard) Values() []string { return kit.Values(RFC7489, RFC9989) }

// Policies are the policies for a domain and for its subdomains.
type Policies struct {
	Domain      Policy // of the domain itself
	Subdomain   Policy // of subdomains that exist and have no record
	Nonexistent Policy // of subdomains that do not exist
}

// Lowered returns the policies, each one level lower.
func (p Policies) Lowered() Policies {
	return Policies{p.Domain.Lowered(), p.Subdomain.Lowered(), p.Nonexistent.Lowered()}
}

// A Reading is the interpretation of a record under a standard.
type Reading struct {
	Usable  bool   // DMARC applies; otherwise it is as if there were no record
	Assumed bool   // p=none applies, whatever the record says
	Reason  string // why it is not usable, or why p=none is assumed: a clause

	Requested Policies // what holds without testing and sampling; empty if not usable
	Applied   Policies // what receivers are asked to apply; empty if not usable
	// Percentage is the share of failing mail to which Applied holds; the rest is treated as Applied.Lowered().
	// It is 100 under RFC 9989, which has no pct.
	Percentage int
}

// Reading returns the interpretation of the record by receivers that follow a standard to the letter. In both a
// repeated tag voids the list of tags (RFC 6376 section 3.2), an invalid tag that is not a policy counts as absent,
// and where the policies cannot be read, p=none is assumed if there is somewhere to send reports to.
func (r *Record) Reading(s Standard) Reading {
	v := Reading{Percentage: 100}
	switch repeated := r.Repeated(); {
	case !r.Is():
		v.Reason = "the record does not begin with v=DMARC1"
		return v
	case len(repeated) > 0:
		v.Reason = fmt.Sprintf("the tag %s appears twice, so that the list of tags is not valid", repeated[0])
		return v
	}
	v.Usable = true
	if reason := r.unreadable(s); reason != "" {
		// RFC 9989 section 4.10.1, RFC 7489 section 6.6.3
		v.Reason = reason
		if v.Assumed = r.Reported(); !v.Assumed {
			v.Usable, v.Reason = false, reason+", and there is no valid rua"
			return v
		}
		v.Requested = Policies{None, None, None}
		v.Applied = v.Requested
		return v
	}
	v.Requested = r.requested(s)
	v.Applied = v.Requested
	if s == RFC9989 && r.Testing {
		v.Applied = v.Requested.Lowered()
	}
	if s == RFC7489 {
		if v.Percentage = r.Percentage; v.Percentage == 0 { // RFC 7489 section 6.6.4
			v.Applied, v.Percentage = v.Requested.Lowered(), 100
		}
		if v.Applied == (Policies{None, None, None}) { // no policy has no percentage
			v.Percentage = 100
		}
	}
	return v
}

// requested follows the fallbacks from np to sp and from sp to p (RFC 9989 section 4.7). RFC 7489 has no np.
func (r *Record) requested(s Standard) Policies {
	p := Policies{r.Policy, r.SubdomainPolicy, r.NonexistentSubdomainPolicy}
	if p.Subdomain == "" {
		p.Subdomain = p.Domain
	}
	if p.Nonexistent == "" || s == RFC7489 {
		p.Nonexistent = p.Subdomain
	}
	return p
}

func (r *Record) unreadable(s Standard) string {
	switch {
	case !r.Has("p"):
		return "there is no p"
	case r.Policy == "":
		return "the value of p is not a policy"
	case r.Has("sp") && r.SubdomainPolicy == "":
		return "the value of sp is not a policy"
	case s == RFC9989 && r.Has("np") && r.NonexistentSubdomainPolicy == "":
		return "the value of np is not a policy"
	case s == RFC7489 && !r.PolicyFirst(): // RFC 7489 section 6.4
		return "p does not follow the version"
	default:
		return ""
	}
}

// PolicyFirst reports whether p directly follows the version, as RFC 7489 section 6.4 demands and RFC 9989 does
// not. A record without p has it nowhere.
func (r *Record) PolicyFirst() bool {
	return len(r.List.Tags) > 1 && strings.EqualFold(r.List.Tags[1].Name, "p")
}
