package tlsrpt

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
)

// A fault is the meaning of a result type, with advice.
type fault struct {
	code   diag.Code
	title  string
	detail string // continues "3 sessions to mx1.example.com:"
	advice string
	ref    string
	policy bool // about the policy of MTA-STS itself, without which senders deliver
}

// faults are the result types of RFC 8460 section 4.3.
var faults = map[ResultType]fault{
	StartTLSNotSupported: {"tlsrpt.report.starttls.missing", "Mail server did not offer STARTTLS",
		"the mail server did not offer STARTTLS.",
		"Enable STARTTLS on this mail server, and check that no firewall or proxy in front of it removes the offer.",
		"RFC 8460 section 4.3.1", false},
	CertificateHostMismatch: {"tlsrpt.report.certificate.host", "Certificate of a mail server names another host",
		"the certificate does not name the host in the MX record.",
		"Install a certificate that names the host of the MX record, or point the MX record at a name in the certificate.",
		"RFC 8460 section 4.3.1", false},
	CertificateExpired: {"tlsrpt.report.certificate.expired", "Certificate of a mail server had expired",
		"the certificate had expired.", "Renew the certificate of this mail server, reload the server, and automate renewal.",
		"RFC 8460 section 4.3.1", false},
	CertificateNotTrusted: {"tlsrpt.report.certificate.untrusted", "Certificate of a mail server was not trusted",
		"the certificate was issued by no authority that the sender trusts, or its chain is incomplete.",
		"Install a certificate of a public certificate authority with all intermediate certificates. Under DANE, publish a " +
			"TLSA record that matches it first.", "RFC 8460 section 4.3.1", false},
	ValidationFailure: {"tlsrpt.report.validation.failed", "TLS with a mail server failed for another reason",
		"TLS failed for a reason that has no type of its own.",
		"Check the TLS versions, ciphers and connection limits of this mail server, and its log at the time of the report.",
		"RFC 8460 section 4.3.3", false},
	TLSAInvalid: {"tlsrpt.report.tlsa.invalid", "No valid TLSA record for a mail server",
		"none of the TLSA records is valid or matches the certificate.",
		"Publish a TLSA record that matches the certificate in use, before the certificate changes.",
		"RFC 8460 section 4.3.2.1", false},
	DNSSECInvalid: {"tlsrpt.report.dnssec.invalid", "DNSSEC validation failed for a mail server",
		"the sender's resolver got no records that DNSSEC validates.",
		"Check the DNSSEC signatures and the DS record of the zones of the domain and of its mail servers.",
		"RFC 8460 section 4.3.2.1", false},
	DANERequired: {"tlsrpt.report.dane.required", "A sender requires DANE, which a mail server lacks",
		"the sender is set up to require DANE, and found no TLSA record that DNSSEC validates.",
		"Sign the zone with DNSSEC and publish TLSA records for every mail server, or ask the sender why it requires DANE.",
		"RFC 8460 section 4.3.2.1", false},
	STSPolicyFetchError: {"tlsrpt.report.sts.fetch", "MTA-STS policy could not be fetched",
		"the MTA-STS policy could not be fetched.",
		"Check that the policy host mta-sts of the domain resolves and serves /.well-known/mta-sts.txt by HTTPS with " +
			"status 200 and without a redirect, also to strangers, bots and IPv6 clients.", "RFC 8460 section 4.3.2.2", true},
	STSPolicyInvalid: {"tlsrpt.report.sts.invalid", "MTA-STS policy is invalid",
		"the MTA-STS policy was fetched and is invalid.",
		"Correct the policy file: version, mode, max_age and one mx line for each mail server, each on a line of its own.",
		"RFC 8460 section 4.3.2.2", true},
	STSWebPKIInvalid: {"tlsrpt.report.sts.webpki", "Certificate of the MTA-STS policy host is invalid",
		"the certificate of the policy host could not be validated.",
		"Install a certificate of a public certificate authority that names the policy host mta-sts of the domain, with " +
			"its intermediate certificates.", "RFC 8460 section 4.3.2.2", true},
}

// other is the fault of unregistered results, and of failures without details.
var other = fault{"tlsrpt.report.failed", "TLS sessions failed for a reason that is not given",
	"the report does not say why in a registered term.",
	"Check the domain: mail servers, certificates, MTA-STS policy and TLSA records.", "RFC 8460 section 4.4", false}

// A mailOutcome is the outcome for mail whose session failed.
type mailOutcome int

const (
	delivered    mailOutcome = iota // no enforced policy required TLS
	notStated                       // the report does not say whether the policy is enforced
	notDelivered                    // it was not delivered over this session
)

var policyMode = kit.Regexp(`(?i)\bmode"?\s*:\s*"?(enforce|testing|none)\b`)

// mode returns the mode of the MTA-STS policy that the sender saw; empty if the report does not state it.
func (p *PolicyReport) mode() string {
	if found := policyMode().FindStringSubmatch(strings.Join(p.Strings, "\n")); found != nil {
		return strings.ToLower(found[1])
	}
	return ""
}

// mailOutcome returns the outcome for the mail, also as a sentence (RFC 8461 section 5, RFC 7672 section 2.2, RFC 8460
// section 4.3).
func (p *PolicyReport) mailOutcome(result ResultType, f *fault) (mailOutcome, string) {
	mode := p.mode()
	switch {
	case result == DANERequired:
		return notStated, "Senders that require DANE do not deliver without it; others do."
	case f.policy && mode == "enforce":
		return delivered, "Senders apply the policy that they have cached, until it expires."
	case f.policy:
		return delivered, "Mail is delivered, but as if there were no policy: nothing requires encryption."
	case p.Type == PolicyTLSA:
		return notDelivered, "DANE requires TLS: the mail was not delivered in these sessions."
	case mode == "enforce":
		return notDelivered, "The policy is enforced: the mail was not delivered in these sessions."
	case mode == "testing":
		return delivered, "The policy is in testing mode: the mail was delivered all the same."
	case mode == "none", p.Type == NoPolicy:
		return delivered, "No policy requires TLS: the mail was delivered, without encryption or to a server that was not " +
			"verified."
	}
	return notStated, "The report does not say whether the policy is enforced, and so whether the mail was delivered."
}

// A cause groups the sessions that failed for one reason with one outcome.
type cause struct {
	fault       fault
	mailOutcome mailOutcome
	consequence string
	sessions    int64
	hosts       []string
	senderText  string // the sender's text about the first
}

// causes returns the causes of failures: those with undelivered mail first, then by sessions.
func (r *Report) causes() []*cause {
	var list []*cause
	count := func(p *PolicyReport, result ResultType, sessions int64, host, said string) {
		f, ok := faults[result]
		if !ok {
			f, said = other, cmp.Or(said, string(result))
		}
		outcome, then := p.mailOutcome(result, &f)
		i := slices.IndexFunc(list, func(o *cause) bool { return o.fault.code == f.code && o.consequence == then })
		if i < 0 {
			i = len(list)
			list = append(list, &cause{fault: f, mailOutcome: outcome, consequence: then, senderText: said})
		}
		o := list[i]
		if o.sessions = add(o.sessions, sessions); host != "" && len(o.hosts) < maxHosts && !slices.Contains(o.hosts, host) {
			o.hosts = append(o.hosts, host)
		}
	}
	for i := range r.Policies {
		p, counted := &r.Policies[i], int64(0)
		for _, f := range p.Failures {
			counted = add(counted, f.Sessions)
			host := cmp.Or(f.ReceivingMXHostname, f.ReceivingMXHELO)
			if faults[f.Result].policy {
				host = ""
			}
			if f.Sessions > 0 || p.Failed == 0 {
				count(p, f.Result, f.Sessions, host, cmp.Or(f.ReasonCode, f.AdditionalInformation))
			}
		}
		if rest := p.Failed - counted; rest > 0 {
			count(p, "", rest, "", "")
		}
	}
	slices.SortStableFunc(list, func(a, b *cause) int {
		return cmp.Or(cmp.Compare(b.mailOutcome, a.mailOutcome), cmp.Compare(b.sessions, a.sessions))
	})
	return list
}

// maxHosts bounds the mail servers that a finding names.
const maxHosts = 20

// finding returns the finding of the cause: undelivered mail is an error.
func (o *cause) finding() diag.Finding {
	f := diag.Finding{Code: o.fault.code, Severity: diag.Warning, Title: o.fault.title, Reference: o.fault.ref,
		Advice: o.fault.advice}
	if o.mailOutcome == notDelivered {
		f.Severity = diag.Error
	}
	to := ""
	if hosts := kit.Map(o.hosts, phrase.Quote); len(hosts) > 0 {
		to = " to " + phrase.Series(hosts, 3)
		f.Target = hosts[0]
	}
	quotation := ""
	if o.senderText != "" {
		quotation = fmt.Sprintf(" The sender adds: %s.", quote(o.senderText))
	}
	f.Detail = fmt.Sprintf(
		"%s%s: %s %s%s",
		phrase.Count(o.sessions, "session"),
		to,
		o.fault.detail,
		o.consequence,
		quotation,
	)
	return f
}

// consequence describes the outcome for the mail of all failed sessions.
func consequence(list []*cause) string {
	has := func(f mailOutcome) bool {
		return slices.ContainsFunc(list, func(o *cause) bool { return o.mailOutcome == f })
	}
	switch {
	case len(list) == 0:
		return ""
	case has(notDelivered):
		return "Where TLS is required, senders try again and return the mail if that keeps failing."
	case has(notStated):
		return "The report does not say of all sessions whether the mail was delivered."
	}
	return "The mail was delivered all the same: no policy that is enforced kept it."
}
