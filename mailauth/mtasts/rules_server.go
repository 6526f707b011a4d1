package mtasts

import (
	"mime"
	"net/http"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/ground"
)

func unanswered(e *evidence) bool { return e.page.Err != nil && e.page.Err.Unanswered }

func headed(e *evidence) bool { return announced(e) && e.page.Final() != nil }

func isRedirect(status int) bool {
	return status >= 300 && status < 400 && status != http.StatusNotModified
}

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

var server = ground.Server[*evidence]{Name: "policy host", Seen: func(e *evidence) *ground.Seen {
	if !announced(e) {
		return nil
	}
	return ground.See(e.page, e.now)
}}

type rule = diag.Rule[*evidence]

// serverRules are about reaching it; its certificate is what vouches for the policy.
var serverRules = server.Rules(
	rule{Fact: ground.Silent, Code: "mtasts.policy.unknown",
		Advice: "Check that the policy host answers in time from everywhere: senders give up after a minute."},
	rule{Fact: ground.NoName, Code: "mtasts.policy.host.nxdomain", Weight: 1, Category: factorServer,
		Advice: "Give mta-sts an A or AAAA record, or a CNAME to the host that serves the policy for you."},
	rule{Fact: ground.NoAddress, Code: "mtasts.policy.host.address", Weight: 1, Category: factorServer,
		Advice: "Give mta-sts an A or AAAA record, or a CNAME to the host that serves the policy for you."},
	rule{Fact: ground.NotPublic, Code: "mtasts.policy.host.blocked"},
	rule{Fact: ground.Refused, Code: "mtasts.policy.connection", Weight: 1, Category: factorServer},
	rule{Fact: ground.Handshake, Code: "mtasts.policy.tls.handshake", Weight: 1, Category: factorServer},
	rule{Fact: ground.Expired, Code: "mtasts.policy.certificate.expired", Weight: 2, Category: factorCertificate},
	rule{Fact: ground.NotYetValid, Code: "mtasts.policy.certificate.early"},
	rule{Fact: ground.Untrusted, Code: "mtasts.policy.certificate.untrusted", Weight: 2, Category: factorCertificate},
	rule{Fact: ground.OtherName, Code: "mtasts.policy.certificate.name", Weight: 2, Category: factorCertificate},
	rule{Fact: ground.ExpiresNow, Code: "mtasts.policy.certificate.expires_now"},
	rule{Fact: ground.Expiring, Code: "mtasts.policy.certificate.expiring"},
	rule{Fact: ground.OldTLS, Code: "mtasts.policy.tls.version"},
	rule{Fact: ground.NotHTTP, Code: "mtasts.policy.protocol", Weight: 1, Category: factorServer},
)

var answerRules = diag.Rules[*evidence]{{
	Code: "mtasts.policy.redirect", Severity: diag.Critical, Weight: 1, Category: factorServer,
	Ref:   "RFC 8461 section 3.3",
	Title: "Policy is behind a redirect", Requirement: "The policy is served without a redirect",
	Advice: "Serve the policy at the address itself: senders must not follow redirects.",
	When:   headed, Fails: func(e *evidence) diag.Failures {
		head := e.page.Final()
		return diag.FailIf(isRedirect(head.StatusCode), "The policy host answered %d and redirects to %.200q.",
			head.StatusCode, head.Location)
	},
}, {
	Code: "mtasts.policy.status", Severity: diag.Critical, Weight: 5, Category: factorServer,
	DependsOn: []diag.Code{"mtasts.policy.redirect"}, Ref: "RFC 8461 section 3.3",
	Title: "Policy is not served with status 200", Requirement: "The policy is served with status 200",
	Advice: "Serve the policy at /.well-known/mta-sts.txt on the policy host.",
	Fails: func(e *evidence) diag.Failures {
		head := e.page.Final()
		return diag.FailIf(head.StatusCode != http.StatusOK, "The policy host answered %d %.100s.", head.StatusCode, head.StatusText).
			Suggesting(e.newPolicy())
	},
}, {
	Code: "mtasts.policy.media_type", Severity: diag.Error, Weight: 3, Category: factorServer,
	DependsOn: []diag.Code{"mtasts.policy.status"}, Ref: "RFC 8461 section 3.2",
	Title: "Policy is not served as text/plain", Requirement: "The policy is served as text/plain",
	Advice: "Let the web server send Content-Type: text/plain.",
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
}, {
	Code: "mtasts.policy.charset", Severity: diag.Info, DependsOn: []diag.Code{"mtasts.policy.status"},
	Ref:   "RFC 8461 section 3.2",
	Title: "Policy has an unexpected character set", Requirement: "The character set of the policy is UTF-8 or US-ASCII",
	Advice: "Name utf-8 as the character set, or none: senders ignore all others.",
	Fails: func(e *evidence) diag.Failures {
		c := charset(e)
		return diag.FailIf(c != "" && c != "utf-8" && c != "us-ascii", "The policy host serves the policy with the character set %.100q.", c)
	},
}, {
	Code: "mtasts.policy.size", Severity: diag.Error, Weight: 1, Category: factorPolicy,
	DependsOn: []diag.Code{"mtasts.policy.status", "mtasts.policy.protocol"}, Ref: "RFC 8461 section 3.3",
	Title: "Policy is longer than 64 KiB", Requirement: "The policy has at most 64 KiB",
	Advice: "Shorten the policy, for instance by patterns: senders stop reading at 64 KiB.",
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(e.page.Truncated, "The policy is longer than %d bytes.", maxPolicyBytes)
	},
}}
