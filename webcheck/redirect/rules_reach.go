package redirect

import (
	"crypto/tls"
	"errors"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/pki"
)

// failedFor fails with what the client said if the chain ended for a reason, as a matter of fact.
func failedFor(code fetch.Reason) func(*evidence) diag.Failures {
	return func(e *evidence) diag.Failures {
		if !e.failed(code) {
			return nil
		}
		return e.explained()
	}
}

// refusedPort reports whether it was the port that must not be reached.
func (e *evidence) refusedPort() bool {
	if !e.failed(fetch.Blocked) {
		return false
	}
	blocked, ok := errors.AsType[*diag.BlockedError](e.result.Err)
	return ok && !blocked.Addr.Addr().IsValid()
}

// refusedAddress reports whether it was the address.
func (e *evidence) refusedAddress() bool {
	return e.failed(fetch.Blocked) && e.location == nil && !e.refusedPort()
}

// reachRules are about reaching the hosts.
var reachRules = diag.Rules[*evidence]{
	{
		Code: "url.unknown", Severity: diag.Error, StateIfFailed: diag.Unknown,
		Title:       "Server did not answer",
		Requirement: "The servers on the way answer",
		Ref:         refRedirect,
		Advice:      "Check that the name servers and web servers of the host answer in time from everywhere, then try again.",
		Fails: func(e *evidence) diag.Failures {
			if e.result.Err == nil || !e.result.Err.Unanswered || arrived(e) {
				return nil
			}
			return e.explained()
		},
	},
	{
		Code: "url.port.blocked", Severity: diag.Warning, StateIfFailed: diag.Unknown,
		Title:       "Port is not one that is checked",
		Requirement: "The ports on the way are ones that are checked",
		Ref:         "RFC 9110 section 4.2",
		Advice:      "Serve web pages on port 443. Other ports than 80, 443, 8080 and 8443 are not checked.",
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.refusedPort(), "%sPort %d is not checked: only 80, 443, 8080 and 8443 are.", e.led(),
				e.result.URL.Port()).About(e.host())
		},
	},
	{
		Code: "url.host.nxdomain", Severity: diag.Critical, NoScore: true,
		DependsOn:   []diag.Code{"url.unknown"},
		Title:       "Host does not exist in the DNS",
		Requirement: "The hosts on the way exist in the DNS",
		Ref:         "RFC 8020 section 2",
		Advice:      "Check the spelling of the host, the registration of its domain and its DNS records.",
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.nxdomain, "%sThe DNS answers NXDOMAIN: %s does not exist.", e.led(), e.host()).About(e.host())
		},
	},
	{
		Code: "url.host.address", Severity: diag.Critical, Weight: 3, Category: factorReach,
		DependsOn:   []diag.Code{"url.host.nxdomain"},
		Title:       "Host has no address",
		Requirement: "The hosts on the way have addresses",
		Ref:         "RFC 1035 section 3.4.1",
		Advice:      "Give the host an A or AAAA record, or link to a host that has one.",
		Fails:       failedFor(fetch.DNS),
	},
	{
		Code: "url.host.blocked", Severity: diag.Critical, Weight: 2, Category: factorReach,
		DependsOn:   []diag.Code{"url.host.address"},
		Title:       "Address of the host is not public",
		Requirement: "The host has a public address",
		Ref:         "RFC 6890 section 2.2",
		Advice:      "Give the host a public address, or check it from inside its own network.",
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.refusedAddress() && !e.elsewhere(),
				"%s has an address that is not public, so it was not contacted.", e.host()).About(e.host())
		},
	},
	{
		Code: "url.redirect.blocked", Severity: diag.Error, Weight: 2, Category: factorReach,
		Title:       "Redirect leads to an address that is not public",
		Requirement: "Redirects lead to public addresses",
		Ref:         "RFC 6890 section 2.2",
		Advice:      "Redirect to a host that visitors can reach. If the target comes from the request, allow known targets only.",
		When:        answered,
		Fails: func(e *evidence) diag.Failures {
			inside := e.refusedAddress() && e.elsewhere() || e.location != nil && e.location.kind == local
			return diag.FailIf(inside, "%s leads to %s, which is not public and was not contacted.", e.lastURL(),
				diag.Quote(e.lastLocation())).About(e.host())
		},
	},
	{
		Code: "url.connection", Severity: diag.Critical, Weight: 3, Category: factorReach,
		DependsOn:   []diag.Code{"url.host.address"},
		Title:       "Server refuses connections",
		Requirement: "The servers on the way accept connections",
		Ref:         "RFC 9110 section 4.2",
		Advice:      "Start the web server, let it listen on this port, and open the firewall for it.",
		Fails:       failedFor(fetch.Connect),
	},
	{
		Code: "url.tls.handshake", Severity: diag.Critical, Weight: 2, Category: factorReach,
		DependsOn:   []diag.Code{"url.connection"},
		Title:       "TLS handshake failed",
		Requirement: "The servers on the way complete TLS handshakes",
		Ref:         "RFC 9110 section 4.2.2",
		Advice:      "Configure the web server with a certificate for this host and TLS 1.2 or 1.3.",
		Fails: func(e *evidence) diag.Failures {
			if !e.failed(fetch.TLS) || e.result.TLS != nil {
				return nil
			}
			return e.explained()
		},
	},
	{
		Code: "url.certificate.expired", Severity: diag.Critical, Weight: 2, Category: factorReach,
		DependsOn:   []diag.Code{"url.tls.handshake"},
		Title:       "Certificate has expired",
		Requirement: "No certificate on the way has expired",
		Ref:         refURI,
		Advice:      "Renew the certificate and automate renewal.",
		Fails:       untrusted(func(r pki.Reason) bool { return r == pki.Expired }),
	},
	{
		Code: "url.certificate.untrusted", Severity: diag.Critical, Weight: 2, Category: factorReach,
		DependsOn:   []diag.Code{"url.tls.handshake"},
		Title:       "Certificate is not trusted",
		Requirement: "The certificates on the way are trusted",
		Ref:         refURI,
		Advice:      "Use a certificate of a public authority, and send its intermediate certificates along.",
		Fails:       untrusted(func(r pki.Reason) bool { return r != pki.Expired }),
	},
	{
		Code: "url.certificate.name", Severity: diag.Critical, Weight: 2, Category: factorReach,
		DependsOn:   []diag.Code{"url.tls.handshake"},
		Title:       "Certificate does not cover the host",
		Requirement: "The certificates on the way cover their hosts",
		Ref:         refURI,
		Advice:      "Get a certificate that lists the host as a subject alternative name.",
		Fails: func(e *evidence) diag.Failures {
			if !e.failed(fetch.TLS) || e.result.TLS == nil || e.result.TLS.Trust != nil || e.result.TLS.Name == nil {
				return nil
			}
			return e.explained()
		},
	},
	{
		Code: "url.protocol", Severity: diag.Critical, Weight: 2, Category: factorReach,
		DependsOn:   []diag.Code{"url.tls.handshake"},
		Title:       "Server does not answer in valid HTTP",
		Requirement: "The servers on the way answer in valid HTTP",
		Ref:         "RFC 9112 section 2.1",
		Advice:      "Check what listens on this port, and read the log of the web server.",
		Fails: func(e *evidence) diag.Failures {
			if !e.failed(fetch.Protocol) || e.location != nil || arrived(e) {
				return nil
			}
			return e.explained()
		},
	},
	{
		Code: "url.body", Severity: diag.Warning,
		Title:       "Document did not arrive as a whole",
		Requirement: "The document at the end arrives as a whole",
		Ref:         "RFC 9112 section 8",
		Advice:      "Read the log of the web server for why it did not send all of the document.",
		When:        arrived,
		Fails: func(e *evidence) diag.Failures {
			if e.result.Err == nil {
				return nil
			}
			return e.explained()
		},
	},
	{
		Code: "url.certificate.expiring", Severity: diag.Warning, Weight: 1, Category: factorTransport,
		Title:       "Certificate expires within two weeks",
		Requirement: "The certificates on the way are valid for two weeks",
		Ref:         refURI,
		Advice:      "Renew the certificate and automate renewal: once it has expired, browsers warn visitors off.",
		When:        answered,
		Fails: func(e *evidence) (all diag.Failures) {
			for _, t := range e.connections() {
				if leaf := t.Leaf(); leaf != nil && leaf.DaysRemaining < expiringDays {
					all = append(all, diag.Failure{Target: t.ServerName, Due: leaf.NotAfter, Detail: "The certificate of " +
						t.ServerName + " expires on " + leaf.NotAfter.Format("2006-01-02") + ", in " +
						diag.Count(leaf.DaysRemaining, "day") + "."})
				}
			}
			return all
		},
	},
	{
		Code: "url.tls.version", Severity: diag.Warning, Weight: 1, Category: factorTransport,
		Title:       "Server uses an obsolete TLS version",
		Requirement: "The servers on the way use TLS 1.2 or later",
		Ref:         "RFC 8996 section 1",
		Advice:      "Enable TLS 1.2 and 1.3: browsers refuse older versions.",
		When:        answered,
		Fails: func(e *evidence) (all diag.Failures) {
			for _, t := range e.connections() {
				if t.Version == tls.VersionName(tls.VersionTLS10) || t.Version == tls.VersionName(tls.VersionTLS11) {
					all = append(all, diag.Fail("%s agreed on %s.", t.ServerName, t.Version).About(t.ServerName)...)
				}
			}
			return all
		},
	},
}

// expiringDays is when a certificate should have been renewed: those of Let's Encrypt have 30 days left then.
const expiringDays = 14

// connections are the TLS connections that were used, one for each host.
func (e *evidence) connections() (list []*pki.TLS) {
	seen := map[string]bool{}
	for i := range e.steps {
		if t := e.steps[i].hop.TLS; t != nil && !seen[t.ServerName] {
			seen[t.ServerName] = true
			list = append(list, t)
		}
	}
	return list
}

// untrusted fails with why the certificate is not trusted, for the reasons that are picked.
func untrusted(pick func(pki.Reason) bool) func(*evidence) diag.Failures {
	return func(e *evidence) diag.Failures {
		if !e.failed(fetch.TLS) || e.result.TLS == nil {
			return nil
		}
		trust, ok := errors.AsType[*pki.TrustError](e.result.TLS.Trust)
		if !ok || !pick(trust.Reason) {
			return nil
		}
		said := trust.Text
		if rest, ok := strings.CutPrefix(said, "the certificate "); ok {
			said = "the certificate of " + e.host() + " " + rest
		}
		return diag.Fail("%s%s", e.led(), diag.Sentence(said)).About(e.host())
	}
}

// lastURL writes the URL of the last answer, for rules that apply only if there is one.
func (e *evidence) lastURL() string { return e.last().at() }

// lastLocation is where the last answer leads, as it is written there.
func (e *evidence) lastLocation() string { return withoutSecret(e.last().hop.Location) }
