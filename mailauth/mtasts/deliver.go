package mtasts

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/diag/reach"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/internal/smtp"
)

const (
	// maxServers is how many mail servers are connected to for their certificates, the most preferred first.
	maxServers = 10
	// deliverTimeout is when connections to them end, counted from the beginning. Some servers delay the banner by six
	// seconds on purpose.
	deliverTimeout = 13 * time.Second
	portMail       = 25
	// maxAddresses is how many addresses of a mail server are tried while they refuse connections.
	maxAddresses = 4
)

// A delivery is the result that a sender enforcing the policy gets at a mail server: at one address, because all
// addresses serve the same certificate.
type delivery struct {
	addr       netip.Addr  // zero if it was not connected to
	refusesAll bool        // it refuses all connections, so no sender delivers to it
	tls        *pki.TLS    // nil without TLS
	refusal    *smtp.Error // why there is no TLS, if the network in between is not at fault
	unknown    string      // why nothing is known, as a clause; empty if the result is known
}

// deliver connects to all mail servers that the policy lists concurrently, if it is or may be enforced.
func (e *evidence) deliver(ctx context.Context, env *diag.Env) {
	if !e.enforced() && (e.policy == nil || !e.policy.mayEnforce()) {
		return
	}
	var g diag.Group
	count := 0
	for i := range e.hosts {
		h := &e.hosts[i]
		switch addresses := h.Addresses.All(); {
		case !h.covered || len(addresses) == 0 && h.Err() == nil:
		case len(addresses) == 0:
			h.delivery.unknown = "its address could not be looked up"
		case count == maxServers:
			h.delivery.unknown = "it is not one of the most preferred mail servers"
		default:
			count++
			g.Go(func() {
				// IPv6 comes first, and not every network has it.
				for _, a := range slices.Backward(addresses[max(0, len(addresses)-maxAddresses):]) {
					if h.delivery = connect(ctx, env, a, h.Name); !h.delivery.refusesAll {
						return
					}
				}
			})
		}
	}
	g.Wait()
}

func connect(ctx context.Context, env *diag.Env, a netip.Addr, name string) (d delivery) {
	d.addr = a
	session, err := smtp.Secure(ctx, env, smtp.Config{Addr: netip.AddrPortFrom(a, portMail), ServerName: name})
	defer func() { session.Close() }() // the session exists after an error too
	if d.tls = session.TLS(); d.tls != nil {
		return d
	}
	known, ok := errors.AsType[*smtp.Error](err)
	switch {
	case !ok:
		d.unknown = "no connection could be established"
	case known.Kind == smtp.NotOffered, known.Kind == smtp.NoHandshake,
		known.Step == smtp.StepStartTLS && known.Kind == smtp.Rejected:
		d.refusal = known
	default:
		d.unknown, d.refusesAll = known.Error(), known.Kind == smtp.Refused
	}
	return d
}

// failEach merges the failures of several mail servers into one.
func failEach(hosts []host, test func(host) rule.Failures) rule.Failures {
	return rule.FailEach(hosts, func(h host) rule.Failures { return test(h).About(h.Name) }).Joined()
}

var deliverRules = rule.Rules[*evidence]{
	{
		Code: "mtasts.mx.tls.unknown", Severity: diag.Info, StateIfFailed: diag.Unknown,
		DependsOn: []diag.Code{"mtasts.mx.unknown"}, Ref: "RFC 8461 section 4.2",
		Title:       "Certificates of mail servers were not tested",
		Requirement: "The mail servers can be reached on port 25 from here",
		Advice: "Test STARTTLS on port 25 from another network: many networks block outgoing " +
			"connections to mail servers.",
		When: (*evidence).enforced, Fails: (*evidence).untested,
	},
	perServer(rule.Rule[*evidence]{
		Code: "mtasts.mx.starttls", Weight: 3,
		Title:       "Mail server offers no STARTTLS, which the policy enforces",
		Requirement: "Every mail server offers STARTTLS",
		Advice:      "enable STARTTLS on the mail server",
	}, func(_ *evidence, h *host) string { return h.delivery.refused(smtp.NotOffered, smtp.Rejected) }),
	perServer(rule.Rule[*evidence]{
		Code: "mtasts.mx.handshake", Weight: 1, Fact: reach.Handshake,
		Title: "TLS handshake with a mail server failed", Requirement: "Every mail server completes a TLS handshake",
		Advice: "configure a certificate for the mail server, and TLS 1.2 or 1.3",
	}, func(_ *evidence, h *host) string { return h.delivery.refused(smtp.NoHandshake) }),
	perServer(rule.Rule[*evidence]{
		Code: "mtasts.mx.certificate.expired", Weight: 1, Fact: reach.Expired,
		Title: "Certificate of a mail server has expired", Requirement: "The certificate of no mail server has expired",
		Advice: "renew the certificate and automate renewal",
	}, byCertificate(func(_ *evidence, t *pki.TLS, leaf *pki.Certificate) (bool, string) {
		return leaf.Expired, "its certificate expired on " + leaf.NotAfter.Format(time.DateOnly)
	})),
	perServer(rule.Rule[*evidence]{
		Code: "mtasts.mx.certificate.early", Weight: 1, Fact: reach.NotYetValid,
		Title:       "Certificate of a mail server is not yet valid",
		Requirement: "The validity of the certificate of every mail server has begun",
		Advice:      "install a certificate that is valid now",
	}, byCertificate(func(_ *evidence, t *pki.TLS, leaf *pki.Certificate) (bool, string) {
		return leaf.NotYetValid, "its certificate is valid only from " + leaf.NotBefore.Format(time.DateOnly)
	})),
	perServer(rule.Rule[*evidence]{
		Code: "mtasts.mx.certificate.untrusted", Weight: 1, Fact: reach.Untrusted,
		Title:       "Certificate of a mail server is not trusted",
		Requirement: "The certificate of every mail server is trusted",
		Advice:      "install a certificate from a public authority, together with its intermediate certificates",
	}, byCertificate(func(_ *evidence, t *pki.TLS, leaf *pki.Certificate) (bool, string) {
		return t.Trust != nil && !leaf.Expired && !leaf.NotYetValid, t.TrustError
	})),
	perServer(rule.Rule[*evidence]{
		Code: "mtasts.mx.certificate.name", Weight: 1, Fact: reach.OtherName,
		Title:       "Certificate does not cover the name of a mail server",
		Requirement: "The certificate of every mail server covers its name",
		Advice:      "get a certificate that lists the name of the MX host",
	}, byCertificate(func(_ *evidence, t *pki.TLS, _ *pki.Certificate) (bool, string) {
		return t.Name != nil, fmt.Sprint(t.Name)
	})),
	perServer(rule.Rule[*evidence]{
		Code: "mtasts.mx.certificate.expires_now", Severity: diag.Error, Fact: reach.ExpiresNow,
		Title:       "Certificate of a mail server is about to expire",
		Requirement: "The certificate of no mail server is about to expire",
		Advice:      "Renew the certificate now and automate renewal: senders refuse to deliver once it has expired.",
	}, ending(diag.Error)),
	perServer(rule.Rule[*evidence]{
		Code: "mtasts.mx.certificate.expiring", Severity: diag.Warning, Fact: reach.Expiring,
		Title:       "Certificate of a mail server expires soon",
		Requirement: "The certificate of every mail server is renewed in time",
		Advice:      "Renew the certificate and automate renewal: senders refuse to deliver once it has expired.",
	}, ending(diag.Warning)),
}

// perServer completes a rule about the delivery to each mail server. Unless it says otherwise, they refuse to
// deliver if it fails (RFC 8461 section 4.2). It applies if it is known to fail, or all mail servers were tested.
func perServer(r rule.Rule[*evidence], why func(*evidence, *host) string) rule.Rule[*evidence] {
	r.Ref, r.Category, r.Reads = "RFC 8461 section 4.2", factorMX, []rule.Source{fromRecord, fromPolicy, fromMail}
	consequence := "senders will not deliver to it then"
	if r.Severity == diag.Info {
		r.Severity, consequence = diag.Critical, "senders that follow the policy do not deliver to it"
		r.Advice = "Set the mode of the policy to testing today, with a new id of the record, if this cannot be corrected " +
			"immediately: senders refuse to deliver. Then " + r.Advice + ", and enforce the policy again."
	}
	r.Fails = func(e *evidence) rule.Failures {
		return failEach(e.hosts, func(h host) rule.Failures {
			text := why(e, &h)
			return rule.FailIf(text != "", "The mail server %s (%s): %s; %s.", h.Name, h.delivery.addr, text, consequence)
		})
	}
	r.When = func(e *evidence) bool {
		met := func(h host) bool { return h.delivery.tls != nil || h.delivery.refusal != nil }
		return e.enforced() && (len(r.Fails(e)) > 0 || len(e.untested()) == 0 && slices.ContainsFunc(e.hosts, met))
	}
	return r
}

// refused returns why there is no TLS if the reason is one of kinds; otherwise empty.
func (d *delivery) refused(kinds ...smtp.Kind) string {
	if d.refusal == nil || !slices.Contains(kinds, d.refusal.Kind) {
		return ""
	}
	return d.refusal.Error()
}

// byCertificate makes a test of a host from a test of its certificate.
func byCertificate(test func(*evidence, *pki.TLS, *pki.Certificate) (bool, string)) func(*evidence, *host) string {
	return func(e *evidence, h *host) string {
		if h.delivery.tls == nil || h.delivery.tls.Leaf() == nil {
			return ""
		}
		if holds, text := test(e, h.delivery.tls, h.delivery.tls.Leaf()); holds {
			return text
		}
		return ""
	}
}

func ending(grade diag.Severity) func(*evidence, *host) string {
	return byCertificate(func(e *evidence, t *pki.TLS, leaf *pki.Certificate) (bool, string) {
		return t.Err() == nil && reach.Ends(leaf.NotBefore, leaf.NotAfter, e.now) == grade,
			"its certificate expires on " + leaf.NotAfter.Format(time.DateOnly)
	})
}

func mxHosts(e *evidence) bool { return announced(e) && receives(e) }

func uncovered(e *evidence) []host {
	return slices.DeleteFunc(slices.Clone(e.hosts), func(h host) bool { return h.covered || isAddress(h.Name) })
}

func (e *evidence) undeliverable() bool { return e.enforced() && len(uncovered(e)) == len(e.hosts) }

var mxRules = rule.Rules[*evidence]{{
	Code: "mtasts.mx.unknown", Severity: diag.Error, StateIfFailed: diag.Unknown, Ref: "RFC 5321 section 5.1",
	Title: "Mail servers could not be looked up", Requirement: "The name servers answer for the mail servers",
	Advice: "Check the name servers: senders defer mail while MX or address records cannot be looked up.",
	When:   func(e *evidence) bool { return answered(e) && !nonexistent(e) },
	Fails: func(e *evidence) rule.Failures {
		if why := e.mail.Unknown(); why != "" {
			return rule.Fail("Whether %s receives mail is not known: %s.", e.domain, why)
		} else if !announced(e) {
			return nil
		}
		return failEach(e.hosts, func(h host) rule.Failures {
			if h.Err() == nil {
				return nil
			}
			return rule.Fail("The address lookup of %s failed: %s.", h.Name, diag.Reason(h.Err()))
		})
	},
}, {
	Code: "mtasts.mx.uncovered", Severity: diag.Error, Weight: 15, Category: factorMX, HoldsWhenUnanswered: true,
	DependsOn: []diag.Code{"mtasts.policy.mode.none", "mtasts.policy.mx.missing"}, Ref: "RFC 8461 section 4.1",
	Title: "Mail server not covered by the MTA-STS policy", Requirement: "The policy covers every mail server",
	Advice: "Add the missing hosts to the policy, in testing mode as long as it is not in force.",
	When:   func(e *evidence) bool { return mxHosts(e) && !e.undeliverable() },
	Fails: func(e *evidence) rule.Failures {
		consequence := "once the policy is enforced, senders will not deliver to it"
		if e.enforced() {
			consequence = "senders do not deliver to it"
		}
		return failEach(uncovered(e), func(h host) rule.Failures {
			f := rule.Fail("The policy does not list the mail server %s: %s.", h.Name, consequence)
			f[0].Advice = "Add the missing hosts to the policy, then change the id of the record."
			return f
		}).Suggesting(e.newPolicy())
	},
	Partly: func(e *evidence) float64 {
		return 0.5 * float64(len(e.hosts)-len(uncovered(e))) / float64(len(e.hosts))
	},
}, {
	Code: "mtasts.mx.undeliverable", Severity: diag.Critical, Weight: 5, Category: factorMX,
	DependsOn: []diag.Code{"mtasts.policy.mode.none"}, Ref: "RFC 8461 section 5",
	Title: "Enforced MTA-STS policy covers no mail server", Requirement: "The enforced policy covers a mail server",
	Advice: "List the mail servers in the policy now, and change the id of the record: senders refuse to deliver.",
	When:   func(e *evidence) bool { return mxHosts(e) && e.enforced() },
	Fails: func(e *evidence) rule.Failures {
		if !e.undeliverable() {
			return nil
		}
		return failEach(e.hosts, func(h host) rule.Failures {
			return rule.Fail("The policy is enforced and does not list the mail server %s: senders refuse to deliver.", h.Name)
		}).Suggesting(e.newPolicy())
	},
}, {
	Code: "mtasts.mx.null", Severity: diag.Warning, Ref: "RFC 7505 section 3",
	Title: "Null MX beside an MTA-STS policy", Requirement: "The domain has no null MX",
	Advice: "Take down the record and the policy, or remove the null MX: a domain without mail needs no policy.",
	When:   hasRecordText, Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.mail.NullMX(), "The null MX of %s says that it receives no mail.", e.domain)
	},
}, {
	Code: "mtasts.mx.missing", Severity: diag.Warning, Ref: "RFC 5321 section 5.1",
	Title: "No MX records", Requirement: "The domain has MX records",
	Advice: "Publish MX records: without one senders turn to the address of the domain itself, if it has one.",
	When:   announced, Fails: func(e *evidence) rule.Failures {
		switch {
		case e.mail.MX.Exists():
			return nil
		case len(e.hosts) == 0:
			return rule.Fail("%s has neither MX records nor an address.", e.domain)
		default:
			return rule.Fail("%s has no MX record, so that senders deliver to its address.", e.domain)
		}
	},
}, {
	Code: "mtasts.mx.address", Severity: diag.Error, Fact: reach.NoAddress,
	Reads: []rule.Source{fromRecord, fromPolicy, fromMail, fromAddresses}, HoldsWhenUnanswered: true,
	Ref:   "RFC 5321 section 5.1",
	Title: "Mail server without an address", Requirement: "Every mail server has an address",
	Advice: "Give the host an address, or remove its MX record.",
	When:   mxHosts, Fails: func(e *evidence) rule.Failures {
		return failEach(e.hosts, func(h host) rule.Failures {
			nowhere := len(h.Addresses.All()) == 0 && h.Err() == nil && !isAddress(h.Name)
			return rule.FailIf(nowhere, "%s has no address.", h.Name)
		})
	},
}, {
	Code: "mtasts.mx.literal", Severity: diag.Error, Fact: reach.MXLiteral, Ref: "RFC 5321 section 5.1",
	Title: "MX record names an IP address", Requirement: "Every MX record names a host",
	Advice: "Name the host in the MX record instead: senders look up the name and find nothing, and no policy can list " +
		"it.",
	When: mxHosts, Fails: func(e *evidence) rule.Failures {
		return failEach(e.hosts, func(h host) rule.Failures {
			return rule.FailIf(isAddress(h.Name), "The MX record names %s, which is an IP address.", h.Name)
		})
	},
}, {
	Code: "mtasts.mx.many", Severity: diag.Info, StateIfFailed: diag.Unknown, Ref: "RFC 5321 section 5.1",
	Title: "Too many mail servers to examine", Requirement: "All mail servers were examined",
	Advice: "Remove MX records: senders try only a few hosts.",
	When:   mxHosts, Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.mail.Surplus > 0, "%d mail servers were not examined, beyond the first %d.",
			e.mail.Surplus, maxMXHosts)
	},
}}

func (e *evidence) untested() rule.Failures {
	if !e.enforced() {
		return nil
	}
	return failEach(e.hosts, func(h host) rule.Failures {
		return rule.FailIf(h.delivery.unknown != "",
			"Whether senders can deliver to %s as the policy asks was not tested from here: %s.", h.Name, h.delivery.unknown)
	})
}
