package tlsrpt

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/reception"
	"github.com/diagkit/diagkit/mailauth/taglist"
	"github.com/miekg/dns"
)

type evidence struct {
	domain diag.Domain
	now    time.Time

	txt       diag.Answer[*dns.TXT]
	found     taglist.Found
	addresses []address // of the record, if there is exactly one
	suggested string    // the record as it should be written; empty if that is not known

	elsewhere taglist.Elsewhere
	parent    taglist.Place // the record of the organizational domain; zero if there is none

	mail         reception.Reception
	sts          diag.Answer[*dns.TXT]
	tlsa         []diag.Answer[*dns.TLSA] // of the most preferred mail servers
	destinations []destination
	unchecked    int // destinations beyond maxDestinations
}

// A destination is where reports go by one scheme.
type destination struct {
	scheme, domain string
	uris           []address // that lead there
	external       bool
	mail           reception.Reception // of mailto
	hosts          diag.Addresses      // of https
	consentName    string
	consent        diag.Answer[*dns.TXT]
}

// The sources that rules read.
const (
	fromRecord    diag.Source = "record"    // the TXT records at the name
	fromMail      diag.Source = "mail"      // whether the domain receives mail
	fromElsewhere diag.Source = "elsewhere" // wrong names, which only matter where the right one has no record
	fromReports   diag.Source = "reports"   // whether reports arrive at every destination
	fromPolicies  diag.Source = "policies"  // MTA-STS and DANE
)

// Unanswered implements [diag.Asked].
func (e *evidence) Unanswered() []diag.Source {
	_, receives := e.mail.Receives()
	return diag.Unanswered(map[diag.Source]bool{
		fromRecord: e.txt.Err() == nil, fromMail: receives, fromPolicies: e.sts.Err() == nil && e.mail.MX.Err() == nil &&
			!slices.ContainsFunc(e.tlsa, func(a diag.Answer[*dns.TLSA]) bool { return a.Err() != nil }),
		fromElsewhere: present(e) || e.elsewhere.Unknown == "",
		fromReports: e.unchecked == 0 && !slices.ContainsFunc(e.destinations, func(d destination) bool {
			return d.unknown() != ""
		}),
	})
}

func printable(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func (e *evidence) read() {
	if e.txt.Err() != nil {
		return
	}
	e.found = format.Find(e.txt.Records)
	if len(e.found.Records) == 1 {
		e.addresses = addresses(&e.found.List)
	}
}

// locate keeps the records at wrong names, the last of which may be that of the organizational domain.
func (e *evidence) locate(wildcard diag.Answer[*dns.TXT], others []diag.Answer[*dns.TXT]) {
	e.elsewhere = format.Look(&e.found, e.txt, wildcard, others)
	e.elsewhere.Places = slices.DeleteFunc(e.elsewhere.Places, func(p taglist.Place) bool {
		inherited := p.Name+"." == e.parentName()
		if inherited {
			e.parent = p
		}
		return inherited
	})
}

func (e *evidence) name() string { return prefix + "." + e.domain.String() }

// nonexistent reports whether the domain is known not to exist: what has a name below it exists (RFC 8020 section 2).
func (e *evidence) nonexistent() bool {
	exists, known := e.mail.Exists()
	return known && !exists && e.txt.NXDomain()
}

// receives reports whether mail for the domain may go somewhere.
func (e *evidence) receives() bool {
	yes, _ := e.mail.Receives()
	return yes
}

func (e *evidence) valid() bool { return kit.One(e) && len(e.found.List.Errors()) == 0 }

func (e *evidence) external(domain string) bool {
	return domain != "" &&
		policy.PublicSuffixOrganizational(domain) != policy.PublicSuffixOrganizational(e.domain.String())
}

// stsRecord is what marks the record of MTA-STS (RFC 8461 section 3.1).
var stsRecord = taglist.Format{Protocol: "MTA-STS", Version: "STSv1", Readers: "Senders", Fields: true}

func (e *evidence) protectedBySTS() bool {
	return slices.ContainsFunc(e.sts.Records, func(r *dns.TXT) bool { return stsRecord.Is(diag.TXT(r)) })
}

func (e *evidence) protectedByDANE() bool {
	return slices.ContainsFunc(e.tlsa, func(a diag.Answer[*dns.TLSA]) bool { return a.Exists() })
}

// authorized reports whether an external destination says that it takes the reports, and whether that is known.
func (d *destination) authorized() (yes, known bool) {
	yes = slices.ContainsFunc(d.consent.Records, func(r *dns.TXT) bool {
		return strings.HasPrefix(diag.TXT(r), "v="+format.Version)
	})
	return yes, d.consent.Err() == nil
}

// refusal says why no report arrives there, as a clause about the domain; empty if one may.
func (d *destination) refusal() string {
	switch a := d.hosts; {
	case d.scheme == "mailto":
		return d.mail.Refusal()
	case a.Err() != nil || len(a.All()) > 0:
		return ""
	case a.V4.NXDomain():
		return "does not exist"
	default:
		return "has no address"
	}
}

// unknown says why it is not known whether reports arrive there, for a sentence; empty if it is.
func (d *destination) unknown() string {
	if d.scheme == "mailto" {
		return d.mail.Unknown()
	}
	if len(d.hosts.All()) > 0 || d.hosts.Err() == nil {
		return ""
	}
	return fmt.Sprintf("the address lookup of %s failed: %s", d.domain, diag.Reason(d.hosts.Err()))
}

func (e *evidence) partial() bool {
	return len(e.Unanswered()) > 0 || slices.ContainsFunc(e.destinations, func(d destination) bool {
		_, known := d.authorized()
		return d.external && !known
	})
}
