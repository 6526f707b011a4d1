package mtasts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/rule"
)

// A policy that enforces may lie dormant: it is not in force because of a fault in the record, in its own text or on
// the policy host. Correcting that fault brings it into force, and then senders refuse to deliver to each mail server
// that it does not list or whose certificate fails (RFC 8461 section 5). So every suggestion and advice that may do
// so passes through [evidence.gated].

// mayComeIntoForce reports whether a policy may come into force that is not in force today: one that is known to
// enforce, or whose mode is unknown.
func (e *evidence) mayComeIntoForce() bool {
	return !e.enforced() && (e.policy == nil || e.policy.mayEnforce())
}

// A hazard is the reason why mail may be lost once the dormant policy takes effect.
type hazard struct {
	why   string // a clause; empty if no mail would be lost
	known bool   // the loss is certain, not only possible
}

// hazard evaluates the latent policy as if it were in force. There is no hazard if the policy lists every mail
// server, and each offers TLS with a trusted certificate. Mail servers that are undeliverable today cannot lose mail.
func (e *evidence) hazard() hazard {
	receives, known := e.mail.Receives()
	switch {
	case !e.mayComeIntoForce(), known && !receives:
		return hazard{}
	case !e.policyKnown():
		return hazard{"a policy in mode enforce takes effect immediately", false}
	}
	is := "the one that is served enforces as soon as it takes effect, and "
	if e.policy.policy.Mode != Enforce {
		is = "the one that is served may enforce as soon as it takes effect, and "
	}
	possible := ""
	if !known || e.mail.Surplus > 0 {
		possible = "not all mail servers of the domain are known"
	}
	for i := range e.hosts {
		switch why, sure := e.hosts[i].refused(); {
		case sure:
			return hazard{is + why, true}
		case possible == "":
			possible = why
		}
	}
	if possible != "" {
		possible = is + possible
	}
	return hazard{possible, false}
}

// policyKnown reports whether the text of the policy is known.
func (e *evidence) policyKnown() bool { return e.policy != nil && !e.policy.notPolicy }

// refused says why senders that follow the policy refuse to deliver to a mail server to which others deliver today,
// or, if sure is false, may refuse: a clause. It is empty if no sender does.
func (h *host) refused() (why string, sure bool) {
	switch tls := h.delivery.tls; {
	case isAddress(h.Name), len(h.Addresses.All()) == 0 && h.Err() == nil, h.delivery.refusesAll:
		return "", false
	case !h.covered:
		return "it does not list the mail server " + h.Name, true
	case h.delivery.refusal != nil:
		return fmt.Sprintf("the mail server %s offers no TLS", h.Name), true
	case tls == nil:
		return "whether senders get TLS with a valid certificate at the mail server " + h.Name + " is not known", false
	case tls.Err() != nil:
		return fmt.Sprintf("the certificate of the mail server %s is not valid", h.Name), true
	}
	return "", false
}

// guardRules returns rules whose failures are changed by guardFailures: those that suggest something and, with all
// set, also those of errors and of missing parts, which keep the policy from coming into force.
func guardRules(list rule.Rules[*evidence], all bool) rule.Rules[*evidence] {
	list = slices.Clone(list)
	for i := range list {
		r := list[i]
		if r.Code == missingRecord { // which already puts the policy first
			continue
		}
		corrects := all && (r.StateIfFailed == diag.Missing || r.Severity >= diag.Error && r.StateIfFailed == "")
		list[i].Fails = func(e *evidence) rule.Failures { return e.guardFailures(r.Fails(e), r.Advice, corrects) }
	}
	return list
}

// guardFailures suggests a harmless policy, in testing mode with the present mail servers, before any change that
// would bring the latent one into force. No record is suggested before that. It changes failures with a suggestion
// or, if corrects is set, all failures.
func (e *evidence) guardFailures(list rule.Failures, advice string, corrects bool) rule.Failures {
	h := hazard{}
	if len(list) > 0 {
		h = e.hazard()
	}
	if h.why == "" {
		return list
	}
	policy := e.newPolicy()
	for i := range list {
		f := &list[i]
		announces, replaces := f.Suggested == e.newRecord(), f.Suggested != "" && f.Suggested == policy
		if !corrects && f.Suggested == "" || replaces && !e.policyKnown() {
			continue
		}
		then := cmp.Or(f.Advice, advice)
		then = " Then " + strings.ToLower(then[:1]) + then[1:]
		if announces {
			f.Suggested = ""
			then += " The record is then " + e.newRecord()
		}
		at := "the policy at " + PolicyURL(e.domain)
		switch {
		case !e.policyKnown():
			f.Advice = "First make sure that " + at + " is in testing mode and lists every mail server: " +
				h.why + "." + then
			if announces && !unanswered(e) {
				f.Suggested = policy
			}
		case replaces:
			f.Advice = "Replace " + at + " by the suggested one, which is in testing mode and lists every mail server: " +
				h.why + "."
		case h.known && policy != "":
			f.Suggested = policy
			f.Advice = "First replace " + at + " by the suggested one, which is in testing mode and lists every " +
				"mail server: " + h.why +
				"." + then
		default:
			f.Advice = "First replace " + at + " by one in testing mode that lists every mail server: " + h.why + "." + then
		}
	}
	return list
}

func (e *evidence) newRecord() string { return newRecord(e.now).String() }

// newPolicy returns a policy that lists the present mail servers and keeps the valid parts of the present policy;
// empty if the mail servers are unknown. It enforces nothing that is not enforced today.
func (e *evidence) newPolicy() string {
	nowhere := func(h host) bool { return len(h.Addresses.All()) == 0 }
	if e.mail.Surplus > 0 || e.mail.Implicit || !receives(e) || slices.ContainsFunc(e.hosts, nowhere) {
		return "" // the mail servers must be known first
	}
	p := Policy{Mode: Testing, MaxAge: week}
	if e.enforced() {
		p.Mode = Enforce
	}
	if e.policy != nil {
		p.MaxAge = max(week, e.policy.policy.MaxAge)
		for _, pattern := range e.policy.policy.MX {
			used := func(h host) bool { return matches(pattern, h.Name) }
			if !slices.Contains(p.MX, pattern) && slices.ContainsFunc(e.hosts, used) {
				p.MX = append(p.MX, pattern)
			}
		}
	}
	for _, h := range e.hosts {
		if _, ok := p.match(h.Name); !ok {
			p.MX = append(p.MX, h.Name)
		}
	}
	if _, err := ParsePolicy(p.String()); err != nil { // a mail server has an invalid host name
		return ""
	}
	return p.String()
}
