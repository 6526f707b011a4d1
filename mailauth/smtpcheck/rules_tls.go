package smtpcheck

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/diag/reach"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/internal/smtp"
)

// opportunistic explains why a certificate matters although most senders do not verify it (RFC 7435).
const opportunistic = "Most senders encrypt anyway, but those that follow MTA-STS or ask for a valid " +
	"certificate do not deliver."

var encryptionRules = []serverRule{onServers(func(s *server) bool {
	return s.usable() &&
		!s.implicitTLS() && s.plain.Extended
}, rule.Rule[*evidence]{
	Code: "smtp.starttls.missing", Severity: diag.Warning, Weight: 10, Category: factorTLS, Ref: "RFC 3207 section 4",
	Title: "STARTTLS not offered: mail arrives unencrypted", Requirement: "The mail servers offer STARTTLS",
	Advice: "Install a certificate and enable STARTTLS in the mail server. Until then anyone on the path can read " +
		"the mail, and Gmail marks it as not encrypted.",
}, func(s *server) string {
	return textIf(s.tlsFault != nil && s.tlsFault.Kind == smtp.NotOffered, "does not offer STARTTLS")
}), onServers(func(s *server) bool { return s.usable() && s.offersTLS() }, rule.Rule[*evidence]{
	Code: "smtp.starttls.refused", Severity: diag.Warning, Weight: 10, Category: factorTLS, Ref: "RFC 3207 section 4",
	Title: "STARTTLS is offered, then refused", Requirement: "The mail servers accept STARTTLS where they offer it",
	Advice: "Look for the reason in the log of the mail server, most often a certificate or a key that cannot be " +
		"read. Until then mail arrives unencrypted, or not at all from senders that insist on encryption.",
}, func(s *server) string {
	if s.tlsFault != nil && s.tlsFault.Step == smtp.StepStartTLS && !s.cutShort() {
		return "offers STARTTLS, but TLS was not negotiated: " + s.tlsFault.Error()
	}
	return ""
}), onServers(func(s *server) bool { return s.tls != nil || s.handshakeFailed() }, rule.Rule[*evidence]{
	Code: "smtp.tls.handshake", Severity: diag.Error, Weight: 10, Category: factorTLS, Fact: reach.Handshake,
	Differs: "many senders fall back to plain text", Ref: "RFC 3207 section 4",
	Title: "TLS handshake fails", Requirement: "The mail servers complete the TLS handshake",
	Advice: "Check certificate, key and enabled TLS versions of the mail server, for instance with \"openssl " +
		"s_client -starttls smtp -connect HOST:25\". Many senders defer mail when the handshake fails.",
}, func(s *server) string {
	if s.handshakeFailed() {
		return "cannot be used over TLS: " + s.tlsFault.Error()
	}
	return ""
}).withDetails(func(s *server, f *rule.Failure) {
	if s.implicitTLS() {
		f.Advice = "Let the mail server begin with TLS on port 465, such as smtpd_tls_wrappermode = yes in Postfix, and " +
			"check its certificate and key, for instance with \"openssl s_client -connect HOST:465\"."
	}
}), onServers(func(s *server) bool { return s.tls != nil && !s.implicitTLS() }, rule.Rule[*evidence]{
	Code: "smtp.starttls.injection", Severity: diag.Error, Weight: 5, Category: factorTLS, Ref: "RFC 3207 section 6",
	Title:       "Unencrypted bytes follow the reply to STARTTLS",
	Requirement: "Nothing follows the reply to STARTTLS before TLS begins",
	Advice: "Update the mail server, and look for a proxy or a firewall on the path that changes sessions: what comes " +
		"between STARTTLS and TLS can be mistaken for part of the encrypted session.",
}, func(s *server) string {
	return textIf(s.session.Injected, "sends more than its reply to STARTTLS before TLS begins")
}), onServers(func(s *server) bool { return s.injection != unasked }, rule.Rule[*evidence]{
	Code: "smtp.starttls.commands", Severity: diag.Error, Weight: 5, Category: factorTLS,
	Reads: []rule.Source{fromNames, fromAddresses, fromSessions, fromInjection}, Ref: "RFC 3207 section 6",
	Title:       "Commands sent before TLS are answered inside TLS",
	Requirement: "The mail servers discard commands that are sent before TLS begins",
	Advice: "Update the mail server, or the proxy in front of it: it has to discard what it received before the TLS " +
		"handshake (CVE-2011-0411). Until then an attacker on the network path can put commands into encrypted " +
		"sessions, and read mail or passwords of clients.",
}, func(s *server) string {
	return textIf(s.injection == injectable, "answers a NOOP inside TLS that was sent unencrypted together with STARTTLS")
}), onServers(func(s *server) bool { return s.usable() && s.tls != nil && !s.implicitTLS() }, rule.Rule[*evidence]{
	Code: "smtp.hello.encrypted", Severity: diag.Error, Weight: 5, Category: factorTLS, Ref: "RFC 3207 section 4.2",
	Title: "Mail server does not answer EHLO over TLS", Requirement: "The mail servers answer EHLO over TLS",
	Advice: "Look for the reason in the log of the mail server, such as a client certificate that it asks for: mail " +
		"over TLS does not arrive.",
}, func(s *server) string {
	if s.ehloErr == nil || s.cutShort() {
		return ""
	}
	return "completes the TLS handshake, but goes no further: " + s.ehloErr.Error()
}), onServers(encrypted, rule.Rule[*evidence]{
	Code: "smtp.tls.version", Severity: diag.Warning, Weight: 3, Category: factorTLS, Fact: reach.OldTLS,
	Ref:   "RFC 8996 sections 4 and 5",
	Title: "Mail server uses an obsolete TLS version", Requirement: "The mail servers use TLS 1.2 or later",
	Advice: "Enable TLS 1.2 and 1.3: senders that follow the standard do not use older versions.",
}, func(s *server) string {
	old := []string{tls.VersionName(tls.VersionTLS10), tls.VersionName(tls.VersionTLS11)}
	return textIf(slices.Contains(old, s.tls.Version), "offers nothing newer than "+s.tls.Version)
}), onServers(encrypted, rule.Rule[*evidence]{
	Code: "smtp.tls.cipher", Severity: diag.Warning, Weight: 3, Category: factorTLS, Ref: "RFC 9325 section 4.1",
	Title: "Mail server uses a broken cipher", Requirement: "The mail servers use strong ciphers",
	Advice: "Enable cipher suites with AES-GCM or ChaCha20, and disable RC4 and 3DES.",
}, func(s *server) string {
	// RFC 7465, RFC 9325
	broken := strings.Contains(s.tls.CipherSuite, "RC4") || strings.Contains(s.tls.CipherSuite, "3DES")
	return textIf(broken, "chooses the cipher suite "+s.tls.CipherSuite)
})}

func (s *server) handshakeFailed() bool {
	return s.tlsFault != nil && s.tlsFault.Step == smtp.StepTLS && !s.cutShort()
}

func encrypted(s *server) bool { return s.tls != nil }

func certified(s *server) bool { return s.tls != nil && s.leaf() != nil }

// toleratesAll explains why a certificate weighs less here than on the web.
const toleratesAll = "STARTTLS is opportunistic: senders deliver whatever the certificate, unless DANE or MTA-STS " +
	"demand a good one"

// endingRule makes a rule about certificates whose expiry is as near as [reach.Ends] defines.
func endingRule(r rule.Rule[*evidence], near diag.Severity) serverRule {
	r.Ref, r.Advice = "RFC 8461 section 4.2", "Renew the certificate, reload the mail server and automate both."
	return onServers(func(s *server) bool { return certified(s) && !s.leaf().Expired }, r, func(s *server) string {
		leaf := s.leaf()
		return textIf(reach.Ends(leaf.NotBefore, leaf.NotAfter, s.now) == near, "shows a certificate that expires on "+
			leaf.NotAfter.Format(time.DateOnly)+", in "+phrase.Count(leaf.DaysRemaining, "day"))
	}).withDetails(func(s *server, f *rule.Failure) { f.Due = s.leaf().NotAfter })
}

var certificateRules = []serverRule{onServers(encrypted, rule.Rule[*evidence]{
	Code: "smtp.certificate.expired", Severity: diag.Warning, Weight: 5, Category: factorCertificate,
	Fact: reach.Expired, Differs: toleratesAll, Ref: "RFC 8461 section 4.2",
	Title:       "Certificate of the mail server has expired",
	Requirement: "The certificates of the mail servers have not expired",
	Advice:      "Renew the certificate, reload the mail server and automate both. " + opportunistic,
}, func(s *server) string {
	if s.leaf() == nil || !s.leaf().Expired {
		return "" // another certificate of the chain: reported by smtp.certificate.untrusted
	}
	return distrusted(pki.Expired)(s)
}), onServers(encrypted, rule.Rule[*evidence]{
	Code: "smtp.certificate.early", Severity: diag.Warning, Weight: 5, Category: factorCertificate,
	Fact: reach.NotYetValid, Differs: toleratesAll, Ref: "RFC 8461 section 4.2",
	Title:       "Certificate of the mail server is not valid yet",
	Requirement: "The certificates of the mail servers are valid already",
	Advice: "Install a certificate that is valid now, and check the clock of the machine that issued it. " +
		opportunistic,
}, distrusted(pki.NotYetValid)), onServers(encrypted, rule.Rule[*evidence]{
	Code: "smtp.certificate.incomplete", Severity: diag.Warning, Weight: 5, Category: factorCertificate,
	Ref:         "RFC 8446 section 4.4.2",
	Title:       "Certificate chain is incomplete: the issuer is not sent",
	Requirement: "The mail servers send complete certificate chains",
	Advice: "Configure the whole chain with its intermediate certificates, such as fullchain.pem, and not the " +
		"certificate of the server alone. If the issuer is an authority of your own, use a public one instead. " +
		opportunistic,
}, func(s *server) string {
	if !s.missesIssuer() {
		return ""
	}
	issuer := s.tls.Chain[len(s.tls.Chain)-1].Issuer
	return fmt.Sprintf("shows a certificate that is not trusted: its chain is incomplete, because the certificate "+
		"of its issuer %q is not sent, and that issuer is not a trusted "+
		"authority", phrase.Quote(cmp.Or(issuer.CommonName, issuer.Raw)))
}), onServers(encrypted, rule.Rule[*evidence]{
	Code: "smtp.certificate.self_signed", Severity: diag.Warning, Weight: 5, Category: factorCertificate,
	Ref:         "RFC 8461 section 4.2",
	Title:       "Certificate of the mail server is self-signed",
	Requirement: "The certificates of the mail servers are not self-signed",
	Advice: "Use a certificate of a public authority, unless DANE (TLSA records in a signed zone) pins this one. " +
		opportunistic,
}, distrusted(pki.SelfSignedLeaf)), onServers(encrypted, rule.Rule[*evidence]{
	Code: "smtp.certificate.untrusted", Severity: diag.Warning, Weight: 5, Category: factorCertificate,
	Fact: reach.Untrusted, Differs: toleratesAll, Ref: "RFC 8461 section 4.2",
	Title:       "Certificate of the mail server is not trusted",
	Requirement: "The certificates of the mail servers are issued by trusted authorities",
	Advice: "Use a certificate of a public authority with its present intermediate certificates, unless DANE (TLSA " +
		"records in a signed zone) pins this one. " + opportunistic,
}, func(s *server) string {
	if s.missesIssuer() {
		return ""
	}
	if leaf := s.leaf(); leaf != nil && !leaf.Expired && distrusted(pki.Expired)(s) != "" {
		return distrusted(pki.Expired)(s) + ". That is the certificate of an authority; the server's own is valid"
	}
	return distrusted(pki.NoCertificate, pki.UnknownAuthority, pki.WrongUsage, pki.BadChain)(s)
}), onServers(func(s *server) bool { return certified(s) && !s.byAddress() }, rule.Rule[*evidence]{
	Code: "smtp.certificate.name", Severity: diag.Warning, Weight: 5, Category: factorCertificate,
	Fact: reach.OtherName, Differs: toleratesAll, Ref: "RFC 8461 section 4.1",
	Title:       "Certificate does not match the name of the mail server",
	Requirement: "The certificates match the names of the mail servers",
	Advice:      "Get a certificate with the name of the MX host as a subject alternative name. " + opportunistic,
}, func(s *server) string {
	if s.tls.Name == nil {
		return ""
	}
	return "shows a certificate for another host name: " + s.tls.Name.Error()
}), endingRule(rule.Rule[*evidence]{
	Code: "smtp.certificate.expiring", Severity: diag.Warning, Fact: reach.Expiring, Weight: 1,
	Category:    factorCertificate,
	Title:       "Certificate of the mail server expires soon",
	Requirement: "The certificates of the mail servers do not expire soon",
}, diag.Warning), endingRule(rule.Rule[*evidence]{
	Code: "smtp.certificate.expires_now", Severity: diag.Warning, Fact: reach.ExpiresNow, Differs: toleratesAll,
	Title:       "Certificate of the mail server is about to expire",
	Requirement: "No certificate of the mail servers is about to expire",
}, diag.Error), onServers(certified, rule.Rule[*evidence]{
	Code: "smtp.certificate.key", Severity: diag.Warning, Weight: 3, Category: factorCertificate,
	Ref:         "RFC 9325 section 4.5",
	Title:       "Certificate of the mail server has a weak key",
	Requirement: "The certificates of the mail servers have strong keys",
	Advice:      "Get a certificate with an ECDSA key on P-256, or an RSA key of 2048 bits or more.",
}, func(s *server) string {
	key := s.leaf().PublicKey
	return textIf(key.Weak, "shows a certificate with a weak key: "+key.WeakReason)
})}

// missesIssuer reports whether the chain ends before a root, at a certificate whose issuer is not trusted itself.
func (s *server) missesIssuer() bool {
	why, _ := s.trust()
	if why != pki.UnknownAuthority && why != pki.Incomplete {
		return false
	}
	return !s.tls.Chain[len(s.tls.Chain)-1].SelfSigned
}

// distrusted returns why the chain is not trusted, if it is for one of the reasons.
func distrusted(reasons ...pki.Reason) func(*server) string {
	return func(s *server) string {
		why, text := s.trust()
		return textIf(slices.Contains(reasons, why), "shows a certificate that is not trusted: "+text)
	}
}
