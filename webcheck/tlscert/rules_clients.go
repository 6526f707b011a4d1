package tlscert

import (
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/webcheck/internal/clients"
	"github.com/diagkit/diagkit/webcheck/internal/probe"
)

// toleranceKnown makes the condition of a rule: it is known whether the server takes one of the properties.
func toleranceKnown(properties ...probe.Property) func(*evidence) bool {
	return func(e *evidence) bool {
		for _, p := range properties {
			if e.scan != nil && e.scan.Tolerates(p) != probe.Unknown {
				return true
			}
		}
		return false
	}
}

// reacts says that the server fails on a property, and who has it.
func (e *evidence) reacts(p probe.Property, name string, why clients.Reason) rule.Failures {
	i := e.intolerant(p)
	if i == nil {
		return nil
	}
	return rule.Fail("The server at %s answers a plain ClientHello. One with %s fails: %s.%s", e.addr, name, i.Reaction,
		e.locksOut(why))
}

// maxNamedClients bounds the families in a sentence.
const maxNamedClients = 6

// helloRules are about what a server does not take in a ClientHello, although clients have it.
var helloRules = rule.Rules[*evidence]{{
	Code: "tls.handshake.large_hello", Severity: diag.Error, Weight: 10, When: toleranceKnown(probe.Large),
	Ref:   "RFC 8446 section 5.1",
	Title: "Server fails on a large ClientHello", Requirement: "The server accepts a large ClientHello",
	Advice: "Update or reconfigure the load balancer, firewall or TLS library that drops it. Post-quantum key shares " +
		"(X25519MLKEM768) make the ClientHello of current clients 1,500 to 1,900 octets long, which takes two TCP " +
		"segments; it must be read until it is complete (tldr.fail).",
	Fails: func(e *evidence) rule.Failures {
		i := e.intolerant(probe.Large)
		if i == nil {
			return nil
		}
		divided := ""
		if i.InSegments {
			divided = " A small one fails as well where it arrives in two TCP segments."
		}
		if i.InRecords {
			divided += " A small one fails as well where it is divided into two records."
		}
		return rule.Fail("The server at %s answers a ClientHello of %s. With %s: %s.%s%s", e.addr,
			phrase.Count(i.Answered, "octet"), phrase.Count(i.Failed, "octet"), i.Reaction, divided,
			e.locksOut(clients.LargeHello))
	},
}, {
	Code: "tls.handshake.tls13_hello", Severity: diag.Error, Weight: 10, When: toleranceKnown(probe.NewVersion),
	Ref:   "RFC 8446 section 4.2.1",
	Title: "Server fails when a client also offers TLS 1.3", Requirement: "The server accepts offers of TLS 1.3",
	Advice: "Update the load balancer or TLS library, or enable TLS 1.3. A server that does not support it has to " +
		"choose an older version; clients do not try again without it.",
	Fails: func(e *evidence) rule.Failures {
		return e.reacts(probe.NewVersion, "TLS 1.3 among the versions", clients.TLS13Hello)
	},
}, {
	Code: "tls.handshake.alpn", Severity: diag.Error, Weight: 10, When: toleranceKnown(probe.Protocols),
	Ref:   "RFC 7301 section 3.2",
	Title: "Server fails when a client offers ALPN", Requirement: "The server accepts offers of application protocols",
	Advice: "Update the load balancer or TLS library that fails on it: " +
		"browsers and other current clients always offer application protocols.",
	Fails: func(e *evidence) rule.Failures {
		failures := e.reacts(probe.Protocols, "ALPN", clients.ALPNHello)
		if i := e.intolerant(probe.Protocols); i != nil && i.Alert == probe.NoApplicationProtocol {
			failures[0].Advice = fmt.Sprintf("Add %s to the application protocols (ALPN) of the server: it only accepts others.",
				strings.Join(protocols(e.req.Port), " and "))
		}
		return failures
	},
}, {
	Code: "tls.handshake.unknown_values", Severity: diag.Error, Weight: 10, Ref: "RFC 8446 section 9.3",
	When:        toleranceKnown(probe.Reserved, probe.Extensions, probe.KeyShare),
	Title:       "Server fails on values in a ClientHello that it does not know",
	Requirement: "The server ignores unknown values",
	Advice: "Update the load balancer, firewall or TLS library that drops them. Servers must ignore what they do not " +
		"know, and browsers send reserved values to make sure that they do (GREASE, RFC 8701).",
	Fails: func(e *evidence) (all rule.Failures) {
		for _, p := range []struct {
			property probe.Property
			name     string
		}{
			{probe.Reserved, "reserved values (GREASE)"}, {probe.Extensions, "new extensions of browsers"},
			{probe.KeyShare, "a post-quantum key share (X25519MLKEM768)"},
		} {
			if len(all) == 0 { // one cause
				all = e.reacts(p.property, p.name, clients.OddHello)
			}
		}
		return all
	},
}}

// clientReasons are the reasons for which clients fail: in words, and what to do about it.
var clientReasons = []struct {
	reason     clients.Reason
	is, advice string
}{
	{clients.NoVersion, "no common protocol version", "Enable TLS 1.2 and TLS 1.3."},
	{clients.NoSuite, "no common cipher suite",
		"Enable cipher suites with ECDHE and AES-GCM; in TLS 1.3 TLS_AES_128_GCM_SHA256 and TLS_AES_256_GCM_SHA384."},
	{clients.NoGroup, "no common group for the key exchange", "Enable the groups X25519 and P-256."},
	{clients.SmallPrime, "the Diffie-Hellman prime is too small",
		"Enable cipher suites with ECDHE and AES-GCM instead of DHE."},
	{clients.KeyType, "the type of key of the certificate is not supported",
		"Use a certificate with an RSA key, or an ECDSA key on P-256, alone or beside this one."},
	{clients.NoSignature, "no common signature algorithm",
		"Enable signatures with SHA-256: RSA-PSS and PKCS #1 for RSA keys, ecdsa_secp256r1_sha256 for those on P-256."},
	{clients.Refused, "the server refuses the handshake", "Look for the reason in the log of the server."},
	{clients.NoRoot, "the root of the chain is not trusted there", "Send a chain to a root that they trust."},
}

// reportedByOthers reports whether other rules report that clients fail for a reason.
func (e *evidence) reportedByOthers(why clients.Reason) bool {
	switch why {
	case clients.LargeHello, clients.TLS13Hello, clients.ALPNHello, clients.OddHello:
		return true // helloRules
	case clients.NoVersion:
		return e.scan.Supported(probe.TLS12) == probe.No && e.scan.Supported(probe.TLS13) == probe.No // tls.version.modern
	case clients.NoSuite:
		return e.lacks(probe.Suite.ForwardSecret) || e.lacks(probe.Suite.AEAD) // tls.cipher.forward_secrecy, tls.cipher.aead
	case clients.NoGroup:
		return len(e.scan.Groups) > 0 && e.hybridOnly() // tls.group.hybrid_only
	default:
		return false
	}
}

// unreportedFailures are the outcomes of families that do not connect, for a reason that no other rule reports.
func (e *evidence) unreportedFailures(current bool) []clients.Outcome {
	return slices.DeleteFunc(e.failing(current), func(o clients.Outcome) bool { return e.reportedByOthers(o.Reason) })
}

// lockedOut makes a failure for each reason for which some families fail.
func (e *evidence) lockedOut(list []clients.Outcome) (all rule.Failures) {
	for _, r := range clientReasons {
		if some := names(because(list, r.reason)); len(some) > 0 {
			all = append(all, rule.Failure{Advice: r.advice,
				Detail: fmt.Sprintf("%s cannot connect to %s: %s.", phrase.Series(some, maxNamedClients), e.addr, r.is)})
		}
	}
	return all
}

// explain says why common clients fail, if families of clients show it.
func (e *evidence) explain(failures rule.Failures) rule.Failures {
	native := e.native()
	switch {
	case len(failures) == 0 || native == nil:
	case native.Connects == probe.No:
		if why := e.lockedOut(because(e.failing(true), native.Reason)); len(why) > 0 {
			failures[0].Detail += " " + why[0].Detail
			failures[0].Advice = why[0].Advice
		}
	default:
		failures[0].Advice = "Look for the reason in the log of the server: version, cipher suite and group are agreed " +
			"on, and what fails comes after that."
	}
	return failures
}

// familyRules are about families of clients.
var familyRules = rule.Rules[*evidence]{{
	Code: "tls.client.current", Severity: diag.Error, Weight: 10, Ref: "RFC 9325 section 4.2",
	Title: "Some current clients cannot connect", Requirement: "The current clients that were tried can connect",
	Advice: "Enable what most clients have: ECDHE with AES-GCM, X25519 and P-256, and an RSA key or one on P-256.",
	Fails:  func(e *evidence) rule.Failures { return e.lockedOut(e.unreportedFailures(true)) },
}, {
	Code: "tls.client.old", Severity: diag.Info, Ref: "RFC 9325 section 3.1",
	Title: "Old clients cannot connect", Requirement: "The old clients that were tried can connect",
	Advice: "Leave it unless the server has to serve such clients.",
	Fails: func(e *evidence) rule.Failures {
		details := kit.Map(e.lockedOut(e.unreportedFailures(false)), func(f rule.Failure) string { return f.Detail })
		return rule.FailIf(len(details) > 0, "%s", strings.Join(details, " "))
	},
}}

// clientsKnown reports whether families of clients were tried, and none fails because all do.
func clientsKnown(e *evidence) bool { return e.outcomes != nil && e.failure == nil }
