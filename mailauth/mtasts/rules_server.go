package mtasts

import (
	"crypto/tls"
	"errors"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/pki"
)

// expiringDays is when a certificate should have been renewed: those of Let's Encrypt have 30 days
// left then.
const expiringDays = 14

// failed reports whether the fetch failed for a reason, as a matter of fact.
func failed(e *evidence, code fetch.Reason) bool {
	return e.page.Err != nil && e.page.Err.Code == code && !e.page.Err.Unanswered
}

func unanswered(e *evidence) bool { return e.page.Err != nil && e.page.Err.Unanswered }

// hostKnown reports whether it is known if the policy host exists.
func hostKnown(e *evidence) bool { return announced(e) && (!unanswered(e) || e.page.TLS != nil) }

func headed(e *evidence) bool { return announced(e) && e.page.Final() != nil }

// isRedirect reports whether a status leads elsewhere.
func isRedirect(status int) bool {
	return status >= 300 && status < 400 && status != http.StatusNotModified
}

// mediaType returns the media type of the answer in lower case, without parameters.
func mediaType(e *evidence) string {
	kind, _, _ := strings.Cut(e.page.Final().Header.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

func charset(e *evidence) string {
	_, parameters, err := mime.ParseMediaType(e.page.Final().Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return strings.ToLower(parameters["charset"])
}

// failedFor fails with what the fetch said if it failed for one of the reasons, as a matter of fact.
func failedFor(reasons ...fetch.Reason) func(*evidence) diag.Failures {
	return func(e *evidence) diag.Failures {
		if !slices.ContainsFunc(reasons, func(r fetch.Reason) bool { return failed(e, r) }) {
			return nil
		}
		return explained(e)
	}
}

// explained fails with what the fetch said.
func explained(e *evidence) diag.Failures {
	return onHost(e, strings.TrimSuffix(e.page.Err.Message, "."))
}

// onHost fails with a text about the policy host.
func onHost(e *evidence, text string) diag.Failures {
	return diag.Failures{{Detail: diag.Sentence(text), Target: "mta-sts." + e.domain.String()}}
}

// serverRules are about reaching the web server of the policy.
var serverRules = diag.Rules[*evidence]{
	{
		Code: "mtasts.policy.unknown", Severity: diag.Error, StateIfFailed: diag.Unknown,
		Title:       "Policy host did not answer",
		Requirement: "The policy host answers",
		Ref:         "RFC 8461 section 3.3",
		Advice:      "Check that the policy host answers in time from everywhere: senders give up after a minute.",
		When:        announced,
		Fails: func(e *evidence) diag.Failures {
			if !unanswered(e) {
				return nil
			}
			return explained(e)
		},
	},
	{
		Code: "mtasts.policy.host.missing", Severity: diag.Critical, Weight: 2, Category: factorServer,
		Title:       "Policy host has no address",
		Requirement: "The policy host has an address",
		Ref:         "RFC 8461 section 3.3",
		Advice:      "Give mta-sts an A or AAAA record, or a CNAME to the host that serves the policy for you.",
		When:        hostKnown, Fails: failedFor(fetch.DNS),
	},
	{
		Code: "mtasts.policy.connection", Severity: diag.Critical, Weight: 1, Category: factorServer,
		DependsOn:   []diag.Code{"mtasts.policy.host.missing"},
		Title:       "Policy host cannot be reached on port 443",
		Requirement: "The policy host accepts connections on port 443",
		Ref:         "RFC 8461 section 3.3",
		Advice:      "Let the web server listen on port 443 of a public address, and open the firewall for it.",
		Fails:       failedFor(fetch.Connect, fetch.Blocked),
	},
	{
		Code: "mtasts.policy.tls.handshake", Severity: diag.Critical, Weight: 1, Category: factorServer,
		DependsOn:   []diag.Code{"mtasts.policy.connection"},
		Title:       "TLS handshake with the policy host failed",
		Requirement: "The policy host completes a TLS handshake",
		Ref:         "RFC 8461 section 3.3",
		Advice:      "Configure the web server for the mta-sts host with a certificate and TLS 1.2 or 1.3.",
		Fails:       failedFor(fetch.TLS),
	},
}

// untrusted fails with why the certificate is not trusted, for the reasons that are picked.
func untrusted(pick func(pki.Reason) bool) func(*evidence) diag.Failures {
	return func(e *evidence) diag.Failures {
		trust, ok := errors.AsType[*pki.TrustError](e.page.TLS.Trust)
		if !ok || !pick(trust.Reason) {
			return nil
		}
		text, ok := strings.CutPrefix(trust.Text, "the certificate ")
		if ok {
			text = "the certificate of mta-sts." + e.domain.String() + " " + text
		}
		return onHost(e, text)
	}
}

// certificateRules are about the certificate, which is what vouches for the policy.
var certificateRules = diag.Rules[*evidence]{
	{
		Code: "mtasts.policy.certificate.expired", Severity: diag.Critical, Weight: 2, Category: factorCertificate,
		DependsOn:   []diag.Code{"mtasts.policy.tls.handshake"},
		Title:       "Certificate of the policy host has expired",
		Requirement: "The certificate of the policy host has not expired",
		Ref:         "RFC 8461 section 3.3",
		Advice:      "Renew the certificate and automate renewal.",
		Fails:       untrusted(func(r pki.Reason) bool { return r == pki.Expired }),
	},
	{
		Code: "mtasts.policy.certificate.untrusted", Severity: diag.Critical, Weight: 2, Category: factorCertificate,
		DependsOn:   []diag.Code{"mtasts.policy.tls.handshake"},
		Title:       "Certificate of the policy host is not trusted",
		Requirement: "The certificate of the policy host is trusted",
		Ref:         "RFC 8461 section 3.3",
		Advice:      "Use a certificate of a public authority, and send its intermediate certificates along.",
		Fails:       untrusted(func(r pki.Reason) bool { return r != pki.Expired }),
	},
	{
		Code: "mtasts.policy.certificate.name", Severity: diag.Critical, Weight: 2, Category: factorCertificate,
		DependsOn:   []diag.Code{"mtasts.policy.tls.handshake"},
		Title:       "Certificate does not cover the policy host",
		Requirement: "The certificate covers the policy host",
		Ref:         "RFC 8461 section 3.3",
		Advice:      "Get a certificate with the name mta-sts in front of the domain as a subject alternative name.",
		When:        func(e *evidence) bool { return len(e.page.TLS.Chain) > 0 },
		Fails: func(e *evidence) diag.Failures {
			if e.page.TLS.Name == nil {
				return nil
			}
			return onHost(e, e.page.TLS.Name.Error())
		},
	},
	{
		Code: "mtasts.policy.certificate.expiring", Severity: diag.Warning,
		DependsOn:   []diag.Code{"mtasts.policy.certificate.expired", "mtasts.policy.certificate.untrusted"},
		Title:       "Certificate of the policy host expires within two weeks",
		Requirement: "The certificate of the policy host is valid for at least two weeks",
		Ref:         "RFC 8461 section 3.3",
		Advice:      "Renew the certificate: once it has expired, no sender can learn of a change.",
		Fails: func(e *evidence) diag.Failures {
			leaf := e.page.TLS.Leaf()
			return diag.FailIf(leaf.DaysRemaining < expiringDays, "The certificate expires on %s, in %d days.",
				leaf.NotAfter.Format("2006-01-02"), leaf.DaysRemaining)
		},
	},
	{
		Code: "mtasts.policy.tls.version", Severity: diag.Warning,
		DependsOn:   []diag.Code{"mtasts.policy.tls.handshake"},
		Title:       "Policy host uses an obsolete TLS version",
		Requirement: "The policy host uses TLS 1.2 or later",
		Ref:         "RFC 8996 section 1",
		Advice:      "Enable TLS 1.2 and 1.3: senders that follow the standard refuse older versions.",
		Fails: func(e *evidence) diag.Failures {
			v := e.page.TLS.Version
			old := v == tls.VersionName(tls.VersionTLS10) || v == tls.VersionName(tls.VersionTLS11)
			return diag.FailIf(old, "The policy host agreed on %s.", v)
		},
	},
}

// answerRules are about what the web server answers.
var answerRules = diag.Rules[*evidence]{
	{
		Code: "mtasts.policy.http", Severity: diag.Critical, Weight: 1, Category: factorServer,
		DependsOn:   []diag.Code{"mtasts.policy.tls.handshake"},
		Title:       "Policy host does not answer in valid HTTP",
		Requirement: "The policy host answers in valid HTTP",
		Ref:         "RFC 8461 section 3.3",
		Advice:      "Check the web server: its answer is not valid HTTP.",
		When:        func(e *evidence) bool { return !unanswered(e) },
		Fails: func(e *evidence) diag.Failures {
			if !failed(e, fetch.Protocol) {
				return nil
			}
			return explained(e)
		},
	},
	{
		Code: "mtasts.policy.redirect", Severity: diag.Critical, Weight: 1, Category: factorServer,
		Title:       "Policy is behind a redirect",
		Requirement: "The policy is served without a redirect",
		Ref:         "RFC 8461 section 3.3",
		Advice:      "Serve the policy at the address itself: senders must not follow redirects.",
		When:        headed,
		Fails: func(e *evidence) diag.Failures {
			head := e.page.Final()
			return diag.FailIf(isRedirect(head.StatusCode), "The policy host answered %d and redirects to %.200q.",
				head.StatusCode, head.Location)
		},
	},
	{
		Code: "mtasts.policy.status", Severity: diag.Critical, Weight: 5, Category: factorServer,
		DependsOn:   []diag.Code{"mtasts.policy.redirect"},
		Title:       "Policy is not served with status 200",
		Requirement: "The policy is served with status 200",
		Ref:         "RFC 8461 section 3.3",
		Advice:      "Serve the policy at /.well-known/mta-sts.txt on the policy host.",
		Fails: func(e *evidence) diag.Failures {
			head := e.page.Final()
			return diag.FailIf(head.StatusCode != http.StatusOK, "The policy host answered %d %.100s.", head.StatusCode, head.StatusText).
				Suggesting(e.newPolicy())
		},
	},
	{
		Code: "mtasts.policy.media_type", Severity: diag.Error, Weight: 3, Category: factorServer,
		DependsOn:   []diag.Code{"mtasts.policy.status"},
		Title:       "Policy is not served as text/plain",
		Requirement: "The policy is served as text/plain",
		Ref:         "RFC 8461 section 3.2",
		Advice:      "Let the web server send Content-Type: text/plain.",
		Fails: func(e *evidence) diag.Failures {
			switch t := mediaType(e); t {
			case "text/plain":
				return nil
			case "":
				return diag.Fail("The answer of the policy host has no Content-Type.")
			default:
				return diag.Fail("The policy host serves the policy as %.100q, not as text/plain.", t)
			}
		},
	},
	{
		Code: "mtasts.policy.charset", Severity: diag.Info,
		DependsOn:   []diag.Code{"mtasts.policy.status"},
		Title:       "Policy has an unexpected character set",
		Requirement: "The character set of the policy is UTF-8 or US-ASCII",
		Ref:         "RFC 8461 section 3.2",
		Advice:      "Name utf-8 as the character set, or none: senders ignore all others.",
		Fails: func(e *evidence) diag.Failures {
			c := charset(e)
			return diag.FailIf(c != "" && c != "utf-8" && c != "us-ascii", "The policy host serves the policy with the character set %.100q.", c)
		},
	},
	{
		Code: "mtasts.policy.size", Severity: diag.Error, Weight: 1, Category: factorPolicy,
		DependsOn:   []diag.Code{"mtasts.policy.status", "mtasts.policy.http"},
		Title:       "Policy is longer than 64 KiB",
		Requirement: "The policy has at most 64 KiB",
		Ref:         "RFC 8461 section 3.3",
		Advice:      "Shorten the policy, for instance by patterns: senders stop reading at 64 KiB.",
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.page.Truncated, "The policy is longer than %d bytes.", MaxPolicyBytes)
		},
	},
}
