package header

import (
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/mailauth/arc"
	"github.com/diagkit/diagkit/mailauth/authres"
	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/message"
	"github.com/diagkit/diagkit/mailauth/spf"
)

// How old a message may be for what the DNS says today to speak against it. Keys are left published for about a week
// after their last use; SPF records change less often.
const (
	staleKey    = 7 * 24 * time.Hour
	staleRecord = 90 * 24 * time.Hour
)

// beyondReach reports whether a note stands above the Received field of the outside hop, where no sender can write.
func (a *analysis) beyondReach(r *recorded) bool {
	if a.live.hop == nil {
		return false
	}
	border := a.hops[a.live.hop.index].field
	return slices.IndexFunc(a.msg.Fields, func(f message.Field) bool { return f.Offset == border.Offset }) > r.position
}

// excuse is why a message may be genuine although DMARC fails.
type excuse int

const (
	noExcuse    excuse = iota
	notedPass          // a server that the caller trusts noted that it passed
	claimedPass        // the same, where the sender could have written it
	changedBody        // the author's domain signed it, and what was changed since is known
	vouched            // a valid ARC chain says that it passed before
	longAgo            // the message is older than what the DNS says about it
	filtered           // the server before may be a filter of the receiver
	sameSide           // a domain of the author's organization is authenticated; only strict alignment refuses it
)

// excuse finds why the message may be genuine although DMARC fails now.
func (a *analysis) excuse() excuse {
	l := a.live
	age, limit := l.now.Sub(l.at), staleRecord
	if len(l.signatures(func(s *dkim.Result) bool { return l.aligned(policy.DKIM, s.Domain) })) > 0 {
		limit = staleKey
	}
	switch r := a.recordedTrusted("dmarc"); {
	case r != nil && r.result == "pass" && a.beyondReach(r):
		return notedPass
	case l.misaligned() != "":
		return sameSide
	case l.changedOnTheWay() != nil:
		return changedBody
	case l.arcVouches():
		return vouched
	case age > limit:
		return longAgo
	case a.gateway() != "":
		return filtered
	case r != nil && r.result == "pass":
		return claimedPass
	default:
		return noExcuse
	}
}

// changedOnTheWay returns an aligned signature that does not verify although the author's domain made it: the header is
// as it was signed, or is so without what mailing lists change, such as a tag before the subject.
func (l *liveEvidence) changedOnTheWay() *dkim.Result {
	for i := range l.dkim.Signatures {
		s := &l.dkim.Signatures[i]
		header := s.SignatureOK != nil && *s.SignatureOK || slices.ContainsFunc(s.Causes, func(c dkim.Cause) bool {
			return c == dkim.SubjectTagged || c == dkim.FieldAdded
		})
		if l.aligned(policy.DKIM, s.Domain) && header && s.Result == dkim.Fail {
			return s
		}
	}
	return nil
}

// misaligned returns a domain of the author's organization that SPF or DKIM authenticates, though the policy demands
// that the domains be the same (adkim=s, aspf=s); empty if there is none. On public suffixes, where strangers share
// an organization, there is none either.
func (l *liveEvidence) misaligned() string {
	org := organizational(l.input.from[0].String())
	if s := l.spfDomain(); l.spf != nil && l.spf.Outcome == spf.Pass && !l.open() && org != "" && organizational(s) == org {
		return s
	}
	for i := range l.dkim.Signatures {
		if s := &l.dkim.Signatures[i]; s.Result == dkim.Pass && org != "" && organizational(s.Domain) == org {
			return s.Domain
		}
	}
	return ""
}

// open reports whether SPF passes since the record authorizes everybody: that shows nothing about the server.
func (l *liveEvidence) open() bool {
	return l.spf != nil && l.spf.Outcome == spf.Pass && strings.EqualFold(strings.TrimPrefix(l.spf.MatchedTerm, "+"), "all")
}

// nonexistent reports whether it is known that the author's domain does not exist.
func (l *liveEvidence) nonexistent() bool {
	if l.could == nil {
		return false
	}
	exists, err := l.could.Discovery.Exists()
	return err == nil && !exists
}

// anySigned returns a signature that passes, whoever made it.
func (l *liveEvidence) anySigned() *dkim.Result {
	for i := range l.dkim.Signatures {
		if l.dkim.Signatures[i].Result == dkim.Pass {
			return &l.dkim.Signatures[i]
		}
	}
	return nil
}

// spfDomain is the domain that SPF was checked for, as alignment names it.
func (l *liveEvidence) spfDomain() string {
	if l.spf == nil {
		return ""
	}
	return mailDomain(l.spf.Domain).String()
}

func day(t time.Time) string { return t.UTC().Format("2 January 2006") }

// gateways are mail filters that organizations put before their own servers, by organizational domain. Their
// servers also send, so that only the receiver knows on which side they are.
var gateways = []string{"antispamcloud.com", "antispameurope.com", "appriver.com", "barracudanetworks.com",
	"cloudfilter.net", "eset.com", "fireeyecloud.com", "hornetsecurity.com", "iphmx.com", "libraesva.com",
	"mailanyone.net", "mailcontrol.com", "mailinblack.com", "mailspamprotection.com", "messagelabs.com", "mimecast.com",
	"mxthunder.com", "n-able.com", "ppe-hosted.com", "pphosted.com", "retarus.com", "sophos.com", "spamexperts.com",
	"spamtitan.com", "trendmicro.com", "trendmicro.eu", "vadesecure.com", "zerospam.ca"}

// gateway returns the name of the sending server if it is that of a mail filter.
func (a *analysis) gateway() string {
	if name := a.server(); slices.Contains(gateways, organizational(name)) {
		return name
	}
	return ""
}

// server is the name of the sending server: one that the DNS confirms, or none.
func (a *analysis) server() string {
	if a.live == nil || a.live.ptr == nil || len(a.live.ptr.Confirmed) == 0 {
		return ""
	}
	return a.live.ptr.Confirmed[0]
}

// forwarder returns who passed the message on, if the sending server is neither the author's nor the envelope
// sender's and says itself that it took the message from elsewhere; empty if it did not.
func (a *analysis) forwarder() string {
	l := a.live
	if l == nil || l.hop == nil {
		return ""
	}
	name := a.server()
	if name == "" {
		name = strings.TrimSuffix(l.hop.from, ".")
	}
	org := organizational(name)
	if org == "" || org == organizational(a.author()) || !a.input.claims.forwards(org) {
		return ""
	}
	if l.spf != nil && l.spf.Outcome == spf.Pass && l.aligned(policy.SPF, l.spfDomain()) {
		return ""
	}
	return name
}

// arcVouches reports whether the chain is valid and says that DMARC passed for the author before.
func (l *liveEvidence) arcVouches() bool {
	if l.arc.Result != arc.Pass || len(l.input.from) != 1 {
		return false
	}
	noted := l.arc.Sets[0].Authentication
	return noted != nil && slices.ContainsFunc(noted.Results, func(r authres.Result) bool {
		return r.Method == "dmarc" && r.Value == "pass" && r.Domain() == l.input.from[0].String()
	})
}
