package mtasts

import (
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/internal/reception"
	"github.com/diagkit/diagkit/mailauth/internal/taglist"
	"github.com/miekg/dns"
)

// evidence holds the lookup results of a domain and the facts derived from them.
type evidence struct {
	domain diag.Domain
	now    time.Time

	txt        diag.Answer[*dns.TXT]
	found      taglist.Found
	elsewhere  taglist.Elsewhere
	record     Record // parsed as far as possible, if there is exactly one
	tlsrpt     diag.Answer[*dns.TXT]
	unreported error // why no reports are requested; nil if reports are requested

	page   *fetch.Result // the policy as it was served
	policy *document     // the text served with status 200, else nil

	mail  reception.Hosts
	hosts []host // those of mail
}

type host struct {
	reception.Host
	pattern  string
	covered  bool
	delivery delivery
}

const (
	fromRecord    rule.Source = "record"    // the TXT records at the name
	fromElsewhere rule.Source = "elsewhere" // wrong names, which only matter where the right one has no record
	fromReports   rule.Source = "reports"   // the TLSRPT record
	fromPolicy    rule.Source = "policy"    // the policy host
	fromMail      rule.Source = "mail"      // whether the domain receives mail, and by which servers
	fromAddresses rule.Source = "addresses" // of all mail servers
)

// Unanswered implements [rule.Unanswerer].
func (e *evidence) Unanswered() []rule.Source {
	failing := func(h host) bool { return h.Err() != nil }
	return rule.Unanswered(map[rule.Source]bool{
		fromRecord: answered(e), fromReports: e.tlsrpt.Err() == nil, fromPolicy: !unanswered(e),
		fromElsewhere: hasRecord(e) || e.elsewhere.Unknown == "",
		fromMail:      mailKnown(e) && e.mail.Surplus == 0,
		fromAddresses: !slices.ContainsFunc(e.hosts, failing),
	})
}

// validRecord reports whether senders find a record: exactly one, without a fault (RFC 8461 section
// 3.1).
func (e *evidence) validRecord() bool { return tagRules.HasOne(e) && len(e.found.List.Errors()) == 0 }

// validPolicy reports whether senders can use the policy (RFC 8461 section 3.3).
func (e *evidence) validPolicy() bool {
	kept := e.policy != nil && (e.policy.policy.MaxAge > 0 || e.policy.policy.Mode == None)
	return kept && e.policy.valid() && e.page.Err == nil && !e.page.Truncated &&
		e.page.TLS != nil && e.page.TLS.Err() == nil && mediaType(e) == "text/plain"
}

func mediaType(e *evidence) string {
	kind, _, _ := strings.Cut(e.page.Final().Header.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

func (e *evidence) enforced() bool {
	return e.validRecord() && e.validPolicy() && e.policy.policy.Mode == Enforce
}

// inForce returns the mode that senders apply; empty if unknown.
func (e *evidence) inForce() Mode {
	switch {
	case !answered(e), e.validRecord() && (e.page == nil || unanswered(e)):
		return ""
	case e.validRecord() && e.validPolicy():
		return e.policy.policy.Mode
	default:
		return None
	}
}

func (e *evidence) name() string { return label + "." + e.domain.String() }

func answered(e *evidence) bool { return e.txt.Err() == nil }

func unanswered(e *evidence) bool { return e.page.Err != nil && e.page.Err.Unanswered }

func hasRecord(e *evidence) bool { return len(e.found.Records) > 0 }

func hasRecordText(e *evidence) bool { return len(e.found.Records)+len(e.found.Strays) > 0 }

func announced(e *evidence) bool { return hasRecordText(e) || unannounced(e) && receives(e) }

// unannounced reports whether there is a policy without a record. Web servers that answer for all names are not
// policy hosts.
func unannounced(e *evidence) bool {
	return answered(e) && len(e.found.Records) == 0 && e.policy != nil && e.policy.seen["version"]
}

func nonexistent(e *evidence) bool {
	exists, known := e.mail.Exists()
	return known && !exists && e.txt.NXDomain()
}

// receives reports whether mail for the domain may go somewhere: there is no null MX, and an MX record or an
// address (RFC 5321 section 5.1).
func receives(e *evidence) bool { yes, _ := e.mail.Receives(); return yes }

func mailKnown(e *evidence) bool { _, known := e.mail.Receives(); return known }
