package tlscert

import (
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
)

// rules is the table of all that is examined, in the order in which a client would meet it. Those about the connection
// stand on each other, and the rules about ignorance among them keep the next from being judged.
var rules = slices.Concat(
	connectionRules.Reading(diag.FromRequest), certificateRules.Reading(sourceServer), chainRules.Reading(sourceServer),
	keyRules.Reading(sourceServer), formRules.Reading(sourceServer), versionRules.Reading(sourceScan),
	cipherRules.Reading(sourceScan), featureRules.Reading(sourceScan), issuanceRules.Reading(sourceServer),
	caaRules.Reading(sourceCAA),
)

// failed reports whether nothing came about with the server, for one of the reasons.
func (e *evidence) failed(codes ...fetch.Reason) bool {
	return e.failure != nil && slices.Contains(codes, e.failure.Code)
}

// noAddress reports whether the host is known to have no address.
func (e *evidence) noAddress() bool { return e.failed(fetch.DNS) && !e.failure.Unanswered }

// connected reports whether the server took a connection.
func (e *evidence) connected() bool { return e.addr.IsValid() }

// mute reports whether the server took a connection and said nothing.
func (e *evidence) mute() bool {
	if e.failure == nil || e.scan == nil {
		return e.failed(fetch.Timeout)
	}
	return e.scan.Partial && !e.scan.Any() && !e.scan.NotTLS
}

// demandsClient reports whether the server ends connections of clients that have no certificate.
func (e *evidence) demandsClient() bool { return e.asksClient && (e.failure != nil || e.refusesLate) }

// oversized reports whether a handshake message is longer than crypto/tls reads, which is 256 KiB for certificates.
func (e *evidence) oversized() bool {
	return e.failed(fetch.TLS) && strings.Contains(e.failure.Message, "exceeds maximum")
}

// connectionRules are about reaching the server and coming to terms with it.
var connectionRules = diag.Rules[*evidence]{
	{
		Code: "tls.host.unknown", Severity: diag.Error, StateIfFailed: diag.Unknown,
		Title:       "Address of the host could not be looked up",
		Requirement: "The name servers answer for the host",
		Ref:         "RFC 1034 section 4.3.1",
		Advice:      "Check that every name server of the domain answers, then try again.",
		Fails: func(e *evidence) diag.Failures {
			if e.connected() || e.unlearned == nil {
				return nil
			}
			return diag.Fail("The address lookup of %s failed: %s.", e.req.Host.Name(), diag.Reason(e.unlearned))
		},
	},
	{
		Code: "tls.host.nonexistent", Severity: diag.Error, NoScore: true, DependsOn: []diag.Code{"tls.host.unknown"},
		Title:       "Host does not exist",
		Requirement: "The host exists in the DNS",
		Ref:         "RFC 8020 section 2",
		Advice:      "Check the spelling of the name, its registration and its delegation.",
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.noAddress() && e.nxdomain, "The DNS answers NXDOMAIN for %s.", e.req.Host.Name())
		},
	},
	{
		Code: "tls.host.address", Severity: diag.Error, NoScore: true, DependsOn: []diag.Code{"tls.host.nonexistent"},
		Title:       "Host has no address",
		Requirement: "The host has an address",
		Ref:         "RFC 1035 section 3.4.1",
		Advice:      "Publish an A or AAAA record for the host, or check the name that you asked for.",
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.noAddress(), "%s exists, but has neither an A nor an AAAA record.", e.req.Host.Name())
		},
	},
	{
		Code: "tls.host.blocked", Severity: diag.Error, StateIfFailed: diag.Unknown,
		DependsOn:   []diag.Code{"tls.host.address"},
		Title:       "Host leads to an address that is not public",
		Requirement: "The host has a public address",
		Ref:         "RFC 6890 section 2",
		Advice:      "Publish a public address, or run the check from within the network of the host.",
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.failed(fetch.Blocked),
				"%s leads to an address that must not be reached from here, so it was not "+
					"connected to.", e.req.Host.Name())
		},
	},
	{
		Code: "tls.connect.unanswered", Severity: diag.Error, StateIfFailed: diag.Unknown,
		DependsOn:   []diag.Code{"tls.host.blocked"},
		Title:       "Server does not answer",
		Requirement: "The server answers",
		Ref:         "RFC 9293 section 3.10.1",
		Advice:      "Check that the server runs and that its firewall lets packets to the port pass.",
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(!e.connected() && e.failure != nil && e.failure.Unanswered,
				"%s does not answer on port %d.", e.req.Host.Name(), e.req.Port)
		},
	},
	{
		Code: "tls.connect.refused", Severity: diag.Critical, NoScore: true,
		DependsOn:   []diag.Code{"tls.connect.unanswered"},
		Title:       "Connection refused: nothing listens on the port",
		Requirement: "The server accepts connections on the port",
		Ref:         "RFC 9293 section 3.5.2",
		Advice:      "Start the server, let it listen on the port, and check the port and the addresses in the DNS.",
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(!e.connected(), "%s refuses connections on port %d.", e.req.Host.Name(), e.req.Port)
		},
	},
	{
		Code: "tls.handshake.unanswered", Severity: diag.Error, StateIfFailed: diag.Unknown,
		DependsOn:   []diag.Code{"tls.connect.refused"},
		Title:       "Server does not answer the TLS handshake",
		Requirement: "The server answers the TLS handshake",
		Ref:         "RFC 8446 section 4.1.3",
		Advice:      "Check that the server speaks TLS on the port from the first byte, and is not overloaded.",
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.mute(), "The server at %s took the connection, but the TLS handshake did not end in time.",
				e.addr)
		},
	},
	{
		Code: "tls.handshake.plain", Severity: diag.Critical, NoScore: true,
		DependsOn:   []diag.Code{"tls.handshake.unanswered"},
		Title:       "Server does not speak TLS on the port",
		Requirement: "The server speaks TLS",
		Ref:         "RFC 8446 section 5.1",
		Advice:      "Enable TLS on the port, or check the port: protocols with STARTTLS begin without TLS.",
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.failure != nil && e.scan != nil && e.scan.NotTLS, "What the server at %s sends is not TLS.",
				e.addr)
		},
	},
	{
		Code: "tls.handshake.oversized", Severity: diag.Critical, NoScore: true,
		DependsOn:   []diag.Code{"tls.handshake.plain"},
		Title:       "TLS handshake message is too long for clients",
		Requirement: "The messages of the TLS handshake are of a usual size",
		Ref:         "RFC 8446 section 4",
		Advice:      "Configure a chain of the certificate and its intermediates only; these have a few kilobytes.",
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.oversized(), "The server at %s announces a message that no client reads: %s.", e.addr,
				reasonOf(e.failure))
		},
	},
	{
		Code: "tls.handshake.failed", Severity: diag.Critical, NoScore: true,
		DependsOn:   []diag.Code{"tls.handshake.oversized"},
		Title:       "TLS handshake fails with every version and cipher suite",
		Requirement: "The server completes a TLS handshake",
		Ref:         "RFC 8446 section 4.1.1",
		Advice: "Look for the reason in the log of the server: often no certificate is configured for the name, or none " +
			"of its files can be read.",
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.failure != nil && (e.scan == nil || !e.scan.Any()),
				"The server at %s completes no handshake for %s: %s.", e.addr, e.name, reasonOf(e.failure))
		},
	},
	{
		Code: "tls.handshake.client_certificate", Severity: diag.Info, DependsOn: []diag.Code{"tls.handshake.failed"},
		Title:       "Server asks clients for a certificate",
		Requirement: "The server asks for no certificate of the client",
		Ref:         "RFC 8446 section 4.3.2",
		Advice:      "Leave it if only known clients are to connect; else disable client certificates.",
		Fails: func(e *evidence) diag.Failures {
			if e.demandsClient() {
				return diag.Fail("The server at %s ends the connection unless the client shows a certificate.", e.addr)
			}
			return diag.FailIf(e.asksClient, "The server at %s asks for a certificate of the client. The handshake was completed "+
				"without one; whether the application refuses such clients was not tested.", e.addr)
		},
	},
	{
		Code: "tls.handshake.uncommon", Severity: diag.Error, Weight: 10, Category: factorConnection,
		DependsOn:   []diag.Code{"tls.handshake.failed"},
		Title:       "Common clients cannot connect",
		Requirement: "Common clients can connect",
		Ref:         "RFC 9325 section 4.2",
		Advice: "Enable cipher suites with ECDHE and AES-GCM or ChaCha20, the groups X25519 and P-256, and a certificate " +
			"with an RSA or ECDSA key on P-256.",
		When: func(e *evidence) bool { return !e.demandsClient() },
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.failure != nil,
				"A client with the usual cipher suites, groups and signatures fails: %s.", reasonOf(e.failure))
		},
	},
}

// reasonOf is the message of a failure; it is also called where there is none.
func reasonOf(f *fetch.Error) string {
	if f == nil {
		return ""
	}
	return diag.Quote(f.Message)
}
