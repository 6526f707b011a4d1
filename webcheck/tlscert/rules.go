package tlscert

import (
	"slices"
	"strings"
	"sync"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/reach"
	"github.com/diagkit/diagkit/diag/rule"
)

// rules is the table of all that is examined, in the order in which a client would meet it.
var rules = sync.OnceValue(func() rule.Rules[*evidence] {
	fromServer, fromScan := []rule.Source{reach.SourceServer}, []rule.Source{sourceScan}
	return slices.Concat(reachRules(), addressRules.Reading(fromServer...),
		connectionRules.Reading(fromServer...), handshakeRules(),
		helloRules.With(rule.Rule[*evidence]{Reads: fromScan, Category: factorConnection, HoldsWhenUnanswered: true}),
		clientRules.With(rule.Rule[*evidence]{Reads: fromServer, DependsOn: []diag.Code{"tls.host.handshake"}}),
		productRules.With(rule.Rule[*evidence]{Reads: fromServer, Category: factorChain, When: certified}), validityRules,
		presentedRules.Reading(fromServer...), differenceRules.Reading(fromServer...),
		scanDifferenceRules.With(rule.Rule[*evidence]{Reads: fromScan, HoldsWhenUnanswered: true}),
		certificateRules.With(rule.Rule[*evidence]{Reads: fromServer, Category: factorCertificate}),
		chainRules.With(rule.Rule[*evidence]{Reads: fromServer, Category: factorChain, When: certified}),
		distrustRules.With(rule.Rule[*evidence]{Reads: fromServer, Category: factorChain}),
		keyRules.With(rule.Rule[*evidence]{Reads: fromServer, Category: factorKey, When: certified}),
		formRules.Reading(fromServer...),
		versionRules.With(rule.Rule[*evidence]{
			Reads: fromScan, Category: factorProtocol, When: scanned, HoldsWhenUnanswered: true,
		}),
		cipherRules.With(rule.Rule[*evidence]{Reads: fromScan, Category: factorCipher, When: offers}),
		featureRules.With(rule.Rule[*evidence]{Reads: fromScan, Category: factorProtocol}),
		familyRules.With(rule.Rule[*evidence]{
			Reads: fromScan, Category: factorConnection, When: clientsKnown, HoldsWhenUnanswered: true,
		}),
		issuanceRules.With(rule.Rule[*evidence]{Reads: fromServer, Category: factorIssuance, When: stapled}),
		daneRules.With(rule.Rule[*evidence]{Reads: []rule.Source{sourceDANE}, Category: factorIssuance}),
		revocationRules, caaRules.With(rule.Rule[*evidence]{Reads: []rule.Source{sourceCAA}, Category: factorIssuance}))
})

// server makes the rules about facts that other checks of servers meet as well.
var server = reach.Server[*evidence]{Observation: (*evidence).observation}

func (e *evidence) connected() bool { return e.addr.IsValid() }

// oversized reports whether a handshake message is longer than crypto/tls reads, which is 256 KiB for certificates.
func (e *evidence) oversized() bool {
	return e.failed(fetch.TLS) && strings.Contains(e.failure.Message, "exceeds maximum")
}

func reachRules() rule.Rules[*evidence] {
	return server.Rules(
		rule.Rule[*evidence]{Fact: reach.NotLookedUp, Code: "tls.host.unknown"},
		rule.Rule[*evidence]{Fact: reach.Silent, Code: "tls.server.unknown"},
		rule.Rule[*evidence]{Fact: reach.NoName, Code: "tls.host.nxdomain"},
		rule.Rule[*evidence]{Fact: reach.NoAddress, Code: "tls.host.address", NoScore: true},
		rule.Rule[*evidence]{Fact: reach.NotPublic, Code: "tls.host.blocked", NoScore: true},
		rule.Rule[*evidence]{Fact: reach.Refused, Code: "tls.host.connection", NoScore: true},
	)
}

var connectionRules = rule.Rules[*evidence]{{
	Code: "tls.handshake.plain", Severity: diag.Critical, NoScore: true,
	DependsOn: []diag.Code{"tls.host.connection"}, Ref: "RFC 8446 section 5.1",
	Title: "Server does not speak TLS on this port", Requirement: "The server speaks TLS",
	Advice: "Enable TLS on the port, or check the port: protocols with STARTTLS begin without TLS.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.failure != nil && e.scan != nil && e.scan.NotTLS, "What %s sends is not TLS.", e.server())
	},
}, {
	Code: "tls.handshake.oversized", Severity: diag.Critical, NoScore: true,
	DependsOn: []diag.Code{"tls.handshake.plain"}, Ref: "RFC 8446 section 4",
	Title:       "TLS handshake message is too long for clients",
	Requirement: "The messages of the TLS handshake are of a usual size",
	Advice:      "Configure a chain of the certificate and its intermediates only; these take a few kilobytes.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.oversized(), "%s announces a handshake message beyond the 256 KiB "+
			"that clients read at most.", phrase.Capitalize(e.server()))
	},
}}

func handshakeRules() rule.Rules[*evidence] {
	return server.Rules(rule.Rule[*evidence]{
		Fact: reach.Handshake, Code: "tls.host.handshake", NoScore: true,
		DependsOn: []diag.Code{"tls.host.connection", "tls.handshake.plain", "tls.handshake.oversized"},
		Advice: "Look for the reason in the log of the server: often no certificate is configured for the name, " +
			"or its files cannot be read.",
	})
}

// clientRules are about who can connect.
var clientRules = rule.Rules[*evidence]{{
	Code: "tls.handshake.client_certificate", Severity: diag.Info, Ref: "RFC 8446 section 4.3.2",
	Title: "Server asks clients for a certificate", Requirement: "The server asks for no certificate of the client",
	Advice: "Disable client certificates unless only known clients should connect.",
	Fails: func(e *evidence) rule.Failures {
		if e.demandsClient() {
			return rule.Fail("%s ends the connection unless the client shows a certificate.", phrase.Capitalize(e.server()))
		}
		old := scanned(e) && e.scan.Old != nil && e.scan.Old.ClientCertificate
		return rule.FailIf(e.asksClient || old, "%s asks for a certificate of the client. The handshake was completed "+
			"without one; whether the application refuses such clients was not tested.", phrase.Capitalize(e.server()))
	},
}, {
	Code: "tls.handshake.uncommon", Severity: diag.Error, Weight: 10, Category: factorConnection,
	Ref:   "RFC 9325 section 4.2",
	Title: "Common clients cannot connect", Requirement: "Common clients can connect",
	Advice: "Enable cipher suites with ECDHE and AES-GCM or ChaCha20, the groups X25519 and P-256, and a certificate " +
		"with an RSA or ECDSA key on P-256.",
	When: func(e *evidence) bool {
		return !e.demandsClient() && !e.anonymous() && e.broken == nil && !e.hasIntolerances()
	},
	Fails: func(e *evidence) rule.Failures {
		return e.explain(rule.FailIf(e.failure != nil,
			"A client with the usual cipher suites, groups and signatures fails: %s.", reasonOf(e.failure)))
	},
}}

// reasonOf is the message of a failure; the failure may be nil.
func reasonOf(f *fetch.Error) string {
	if f == nil {
		return ""
	}
	_, reason, ok := strings.Cut(f.Message, "failed: ")
	if !ok {
		reason = f.Message
	}
	return phrase.Quote(reason)
}

// The factors of the score, in the order of a reader.
var (
	factorConnection  = rule.Category{Code: "connection", Label: "Connection"}
	factorCertificate = rule.Category{Code: "certificate", Label: "Certificate and name"}
	factorChain       = rule.Category{Code: "chain", Label: "Chain and trust"}
	factorKey         = rule.Category{Code: "key", Label: "Keys and signatures"}
	factorProtocol    = rule.Category{Code: "protocol", Label: "Protocol versions"}
	factorCipher      = rule.Category{Code: "cipher", Label: "Cipher suites"}
	factorIssuance    = rule.Category{Code: "issuance", Label: "Transparency, revocation and CAA"}
)

// texts are the verdicts in words, where title and advice of the gravest finding do not say it better.
var texts = rule.Texts{
	"excellent": {
		Headline: "Certificate and TLS configuration are in order",
		Sub:      "Clients trust the certificate and connect securely. Keep renewal automated.",
	},
	"valid": {
		Headline: "Certificate is trusted and matches the name",
		Sub:      "Clients connect without a warning. Versions and cipher suites are good as far as they were tried.",
	},
	"tls.handshake.client_certificate": {
		Headline: "Certificate is trusted; the server asks clients for one as well",
		Sub: "Clients without a certificate of their own may be refused. " +
			"Disable client certificates unless that is intended.",
	},
	"tls.version.unknown": {
		Headline: "Certificate is trusted; not all versions and ciphers could be tried",
		Sub:      "The server stopped answering, as servers that limit the rate of connections do. Try again later.",
	},
	"tls.caa.unknown": {
		Headline: "Certificate is trusted; CAA records could not be looked up",
		Sub: "Authorities do not issue certificates when the lookup fails. " +
			"Check that every name server answers CAA queries.",
	},
}
