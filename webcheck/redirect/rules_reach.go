package redirect

import (
	"errors"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/ground"
)

// seen is how far the chain came. What its own rules say is left out: a target that is not public, and a body.
func (e *evidence) seen() *ground.Seen {
	s := ground.See(e.result, e.now)
	s.Way = e.led()
	if arrived(e) || e.location != nil || e.refusedPort() || e.refusedAddress() && e.elsewhere() {
		s.Err = nil
	}
	return s
}

// sourceBody is the document at the end.
const sourceBody diag.Source = "body"

// Unanswered lists what is not known: where the chain ends, if a server was silent or it was not to be followed, and
// what the document says.
func (e *evidence) Unanswered() []diag.Source {
	open := e.seen().Unanswered()
	if e.result.Err != nil && e.result.Err.Unanswered {
		open = append(open, sourceBody)
	}
	if e.stopped() {
		open = append(open, ground.SourceAnswer, sourceBody)
	}
	return open
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

var portRule = diag.Rule[*evidence]{
	Code: "url.port.blocked", Severity: diag.Warning, StateIfFailed: diag.Unknown, Ref: "RFC 9110 section 4.2",
	Title: "Port is not among those checked", Requirement: "The ports on the way are ones that are checked",
	Advice: "Serve web pages on port 443. Other ports than 80, 443, 8080 and 8443 are not checked.",
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(e.refusedPort(), "%sPort %d is not checked: only 80, 443, 8080 and 8443 are.", e.led(),
			e.result.URL.Port()).About(e.host())
	},
}

// serverRules are about reaching the servers on the way.
var serverRules = ground.Server[*evidence]{Seen: (*evidence).seen}.Rules(
	rule{Fact: ground.NotLookedUp, Code: "url.host.unknown"},
	rule{Fact: ground.Silent, Code: "url.unknown"},
	rule{Fact: ground.NoName, Code: "url.host.nxdomain", DependsOn: []diag.Code{"url.port.blocked"}},
	rule{Fact: ground.NoAddress, Code: "url.host.address", Weight: 3, Category: factorReach},
	rule{Fact: ground.NotPublic, Code: "url.host.blocked", Weight: 2, Category: factorReach},
	rule{Fact: ground.Refused, Code: "url.connection", Weight: 3, Category: factorReach},
	rule{Fact: ground.Handshake, Code: "url.tls.handshake", Weight: 2, Category: factorReach},
	rule{Fact: ground.Expired, Code: "url.certificate.expired", Weight: 2, Category: factorReach},
	rule{Fact: ground.NotYetValid, Code: "url.certificate.early", Weight: 2, Category: factorReach},
	rule{Fact: ground.Untrusted, Code: "url.certificate.untrusted", Weight: 2, Category: factorReach},
	rule{Fact: ground.OtherName, Code: "url.certificate.name", Weight: 2, Category: factorReach},
	rule{Fact: ground.NotHTTP, Code: "url.protocol", Weight: 2, Category: factorReach},
	rule{Fact: ground.ExpiresNow, Code: "url.certificate.expires_now", Weight: 1, Category: factorTransport},
	rule{Fact: ground.Expiring, Code: "url.certificate.expiring", Weight: 1, Category: factorTransport},
	rule{Fact: ground.OldTLS, Code: "url.tls.version", Weight: 1, Category: factorTransport},
)

// bodyRules are about what must not be reached behind a redirect, and about the document at the end.
var bodyRules = diag.Rules[*evidence]{{
	Code: "url.redirect.blocked", Severity: diag.Error, Weight: 2, Ref: "RFC 6890 section 2.2",
	Title: "Redirect leads to an address that is not public", Requirement: "Redirects lead to public addresses",
	Advice: "Redirect to a host that visitors can reach. If the target comes from the request, allow known targets only.",
	When:   answered,
	Fails: func(e *evidence) diag.Failures {
		inside := e.refusedAddress() && e.elsewhere() || e.location != nil && e.location.kind == local
		return diag.FailIf(inside, "%s leads to %s, which is not public and was not contacted.", e.lastURL(),
			diag.Quote(e.lastLocation())).About(e.host())
	},
}, {
	Code: "url.body.unknown", Severity: diag.Info, StateIfFailed: diag.Unknown, Ref: "RFC 9112 section 8",
	Title: "Document did not arrive in time", Requirement: "The document at the end arrives in time",
	Advice: "Check how long the web server takes for the document, and try again.", When: arrived,
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(e.result.Err != nil && e.result.Err.Unanswered, "%s", e.said())
	},
}, {
	Code: "url.body", Severity: diag.Warning, Reads: []diag.Source{sourceBody}, Ref: "RFC 9112 section 8",
	Title: "Document did not arrive complete", Requirement: "The document at the end arrives as a whole",
	Advice: "Find out from the log of the web server why it did not send the whole document.", When: arrived,
	Fails: func(e *evidence) diag.Failures {
		return diag.FailIf(e.result.Err != nil && !e.result.Err.Unanswered, "%s", e.said()).About(e.host())
	},
}}

// said is what the client says of the end, if it did not reach it.
func (e *evidence) said() string {
	if e.result.Err == nil {
		return ""
	}
	return diag.Sentence(e.result.Err.Message)
}

// lastURL writes the URL of the last answer, for rules that apply only if there is one.
func (e *evidence) lastURL() string { return e.last().at() }

// lastLocation is where the last answer leads, as it is written there.
func (e *evidence) lastLocation() string { return withoutSecret(e.last().hop.Location) }
