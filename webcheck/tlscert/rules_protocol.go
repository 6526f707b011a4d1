package tlscert

import (
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/webcheck/internal/clients"
	"github.com/diagkit/diagkit/webcheck/internal/probe"
)

// scanned reports whether versions and cipher suites were found out.
func scanned(e *evidence) bool { return e.scan != nil && e.scan.Any() }

func failVersions(detail string, versions ...probe.Version) func(e *evidence) rule.Failures {
	return func(e *evidence) rule.Failures {
		var names []string
		for _, v := range versions {
			if e.scan.Supported(v) == probe.Yes {
				names = append(names, v.String())
			}
		}
		return rule.FailIf(len(names) > 0, "The server accepts %s%s", strings.Join(names, " and "), detail)
	}
}

var versionRules = rule.Rules[*evidence]{{
	Code: "tls.version.unknown", Severity: diag.Info, StateIfFailed: diag.Unknown, Ref: "RFC 9325 section 3.1",
	Title:       "Some versions and cipher suites could not be tried",
	Requirement: "All versions and cipher suites could be tried",
	Advice:      "Try again later: servers that limit the rate of connections stop answering.",
	When: func(e *evidence) bool { // another rule reports a server that does not answer at all
		return scanned(e) || e.scan != nil && e.failure == nil
	},
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.scan.Partial, "%s did not answer all of %s.", phrase.Capitalize(e.server()),
			phrase.Count(e.scan.Connections, "connection"))
	},
}, {
	Code: "tls.version.ssl", Severity: diag.Error, Weight: 10, Ref: "RFC 7568 section 3",
	Title: "Server accepts SSLv2 or SSLv3", Requirement: "The server refuses SSLv2 and SSLv3",
	Advice: "Disable SSLv2 and SSLv3: what is sent with them can be decrypted (DROWN, POODLE).",
	Fails:  failVersions(", with which connections can be decrypted.", probe.SSL2, probe.SSL3),
}, {
	Code: "tls.version.obsolete", Severity: diag.Warning, Weight: 5, Ref: "RFC 8996 sections 4 and 5",
	Title: "Server accepts TLS 1.0 or 1.1", Requirement: "The server refuses TLS 1.0 and 1.1",
	Advice: "Disable TLS 1.0 and 1.1: browsers stopped using them in 2020.",
	Fails:  failVersions(", which must no longer be used.", probe.TLS10, probe.TLS11),
}, {
	Code: "tls.version.modern", Severity: diag.Error, Weight: 10, Ref: "RFC 9325 section 3.1.1",
	Title: "Server supports neither TLS 1.2 nor TLS 1.3", Requirement: "The server supports TLS 1.2 or TLS 1.3",
	Advice: "Enable TLS 1.2 and TLS 1.3: browsers refuse everything else.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.scan.Supported(probe.TLS12) == probe.No && e.scan.Supported(probe.TLS13) == probe.No,
			"The newest version that the server accepts is %s.", e.newest())
	},
}, {
	Code: "tls.version.tls13", Severity: diag.Info, Weight: 2, DependsOn: []diag.Code{"tls.version.modern"},
	Ref:   "RFC 9325 section 3.1.1",
	Title: "Server does not support TLS 1.3", Requirement: "The server supports TLS 1.3",
	Advice: "Enable TLS 1.3: it is faster, and leaves out what is weak in TLS 1.2.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.scan.Supported(probe.TLS13) == probe.No, "The newest version that the server accepts is %s.",
			e.newest())
	},
}}

// newest is the newest version that the server speaks.
func (e *evidence) newest() probe.Version {
	var newest probe.Version
	for _, v := range e.scan.Versions {
		if v.Supported == probe.Yes {
			newest = max(newest, v.Version)
		}
	}
	return newest
}

func offers(e *evidence) bool { return e.scan != nil && len(e.scan.Suites) > 0 }

// suites lists the names of the suites of a kind, each once.
func (e *evidence) suites(is func(probe.Suite) bool) (names []string) {
	for _, s := range e.scan.Suites {
		if is(s.Suite) && !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
	}
	return names
}

// maxShownSuites bounds the suites in a sentence.
const maxShownSuites = 3

// accepts finds fault with the suites of a kind.
func accepts(what string, is func(probe.Suite) bool) func(e *evidence) rule.Failures {
	return func(e *evidence) rule.Failures {
		names := e.suites(is)
		shown := strings.Join(names[:min(len(names), maxShownSuites)], ", ")
		if more := len(names) - maxShownSuites; more > 0 {
			shown += fmt.Sprintf(" and %d more", more)
		}
		return rule.FailIf(len(names) > 0, "The server accepts %s: %s.", what, shown)
	}
}

func suite(code diag.Code, severity diag.Severity, weight int, ref, title, requirement, advice, what string,
	is func(probe.Suite) bool) rule.Rule[*evidence] {
	return rule.Rule[*evidence]{
		Code: code, Severity: severity, Weight: weight, Ref: ref, Title: title, Requirement: requirement, Advice: advice,
		HoldsWhenUnanswered: true, Fails: accepts(what, is),
	}
}

var cipherRules = rule.Rules[*evidence]{
	suite("tls.cipher.null", diag.Critical, 10, "RFC 9325 section 4.1",
		"Server accepts unencrypted connections", "The server accepts encrypted connections only",
		"Disable the cipher suites with NULL: they send all data in the clear.",
		"cipher suites that do not encrypt", probe.Suite.Unencrypted),
	suite("tls.cipher.anonymous", diag.Error, 10, "RFC 9325 section 4.1",
		"Server accepts anonymous cipher suites", "The server authenticates itself in every cipher suite",
		"Disable the anonymous cipher suites (aNULL in OpenSSL): anyone can impersonate the server.",
		"cipher suites without a certificate", probe.Suite.Anonymous),
	suite("tls.cipher.export", diag.Error, 5, "RFC 9325 section 4.1",
		"Server accepts export cipher suites or single DES", "The server refuses ciphers with short keys",
		"Disable the cipher suites with EXPORT, DES and RC2: their keys can be brute-forced (FREAK, Logjam).",
		"ciphers with short keys", probe.Suite.ShortKey),
	suite("tls.cipher.rc4", diag.Error, 5, "RFC 7465 section 2",
		"Server accepts RC4", "The server refuses RC4",
		"Disable the cipher suites with RC4: attackers can recover parts of what is sent.", "RC4", probe.Suite.RC4),
	suite("tls.cipher.small_block", diag.Warning, 3, "RFC 9325 section 4.1",
		"Server accepts 3DES or another cipher with 64-bit blocks", "The server refuses ciphers with 64-bit blocks",
		"Disable 3DES, IDEA and the like: long connections leak data (Sweet32).",
		"ciphers with blocks of 64 bits", func(s probe.Suite) bool { return s.SmallBlock() && !s.ShortKey() }),
	{
		Code: "tls.cipher.forward_secrecy", Severity: diag.Error, Weight: 5, Ref: "RFC 9325 section 4.1",
		Title: "No cipher suite has forward secrecy", Requirement: "The server supports forward secrecy",
		Advice: "Enable cipher suites with ECDHE: otherwise anyone who steals the key can decrypt recorded connections.",
		When:   func(e *evidence) bool { return offers(e) && !e.anonymous() },
		Fails: func(e *evidence) rule.Failures {
			return e.warnUnlessLockedOut(rule.FailIf(e.lacks(probe.Suite.ForwardSecret), "None of the cipher suites that the "+
				"server accepts agrees on keys by ECDHE or DHE; there %s.", countOf(len(e.suites(anySuite)), "cipher suite")))
		},
	},
	{
		Code: "tls.cipher.static", Severity: diag.Info, Weight: 1, HoldsWhenUnanswered: true,
		DependsOn: []diag.Code{"tls.cipher.forward_secrecy"}, Ref: "RFC 9325 section 4.1",
		Title:       "Server also accepts cipher suites without forward secrecy",
		Requirement: "Every cipher suite has forward secrecy",
		Advice:      "Disable the cipher suites that begin with TLS_RSA once no old clients need them.",
		Fails: accepts("cipher suites without forward secrecy", func(s probe.Suite) bool {
			return !s.ForwardSecret() && !s.Anonymous()
		}),
	},
	{
		Code: "tls.cipher.aead", Severity: diag.Error, Weight: 3, Ref: "RFC 9325 section 4.2",
		Title: "No cipher suite has authenticated encryption", Requirement: "The server supports AES-GCM or ChaCha20",
		Advice: "Enable cipher suites with AES-GCM or ChaCha20-Poly1305; CBC has been attacked again and again.",
		When:   func(e *evidence) bool { return offers(e) && !e.anonymous() },
		Fails: func(e *evidence) rule.Failures {
			failures := rule.FailIf(e.lacks(probe.Suite.AEAD), "Every cipher suite that the server accepts uses CBC "+
				"or older modes; there %s.", countOf(len(e.suites(anySuite)), "cipher suite"))
			if failures != nil && e.lacks(probe.Suite.ForwardSecret) { // whose text says who is locked out
				failures[0].Warns = true
				return failures
			}
			return e.warnUnlessLockedOut(failures)
		},
	},
	{
		Code: "tls.cipher.dh_broken", Severity: diag.Error, Weight: 5, HoldsWhenUnanswered: true, Ref: "RFC 9325 " +
			"section 4.5",
		Title: "Diffie-Hellman prime of 1024 bits or fewer", Requirement: "Diffie-Hellman primes have more than 1024 bits",
		Advice: "Use ECDHE instead of DHE, or the prime ffdhe2048 of RFC 7919: smaller ones can be broken (Logjam).",
		Fails:  primeBelow(1025),
	},
	{
		Code: "tls.cipher.dh_small", Severity: diag.Warning, Weight: 2, HoldsWhenUnanswered: true,
		DependsOn: []diag.Code{"tls.cipher.dh_broken"}, Ref: "RFC 9325 section 4.5",
		Title: "Diffie-Hellman prime of fewer than 2048 bits", Requirement: "Diffie-Hellman primes have 2048 bits or more",
		Advice: "Use ECDHE instead of DHE, or the prime ffdhe2048 of RFC 7919.",
		Fails:  primeBelow(2048),
	},
}

// lacks reports whether the server is known to accept suites, and none of a kind.
func (e *evidence) lacks(is func(probe.Suite) bool) bool { return offers(e) && len(e.suites(is)) == 0 }

// warnUnlessLockedOut makes a warning of a failure, unless current clients have no cipher suite in common with the
// server.
func (e *evidence) warnUnlessLockedOut(failures rule.Failures) rule.Failures {
	for i := range failures {
		failures[i].Warns = e.failure != nil || len(because(e.failing(true), clients.NoSuite)) == 0
		if !failures[i].Warns {
			failures[i].Detail += e.locksOut(clients.NoSuite)
		}
	}
	return failures
}

func anySuite(probe.Suite) bool { return true }

// countOf says how many there are.
func countOf(n int, thing string) string {
	return map[bool]string{true: "is ", false: "are "}[n == 1] + phrase.Count(n, thing)
}

// primeBelow finds fault with the smallest prime of a Diffie-Hellman key exchange if it has fewer bits.
func primeBelow(limit int) func(e *evidence) rule.Failures {
	return func(e *evidence) rule.Failures {
		smallest := limit
		for _, s := range e.scan.Suites {
			if s.DHBits > 0 {
				smallest = min(smallest, s.DHBits)
			}
		}
		return rule.FailIf(smallest < limit, "The server agrees on keys modulo a prime of %d bits.", smallest)
	}
}

// old reports whether the server speaks TLS 1.2 or earlier, where extensions and compression matter.
func old(e *evidence) bool {
	return e.scan != nil && e.scan.Old != nil && e.scan.Old.Version > probe.SSL3
}

// hybridOnly reports whether TLS 1.3 agrees on keys by groups only that protect against quantum computers.
func (e *evidence) hybridOnly() bool {
	return !slices.ContainsFunc(e.scan.Groups, func(g probe.GroupResult) bool {
		return g.Version == probe.TLS13 && !g.Group.PostQuantum()
	})
}

var featureRules = rule.Rules[*evidence]{{
	Code: "tls.group.hybrid_only", Severity: diag.Error, Weight: 3, Ref: "RFC 9325 section 4.2.1",
	Title:       "Older clients cannot connect: all groups are post-quantum",
	Requirement: "TLS 1.3 also has a group that older clients know",
	Advice:      "Enable X25519 and P-256 in addition to X25519MLKEM768: new clients still prefer the latter.",
	When: func(e *evidence) bool {
		return scanned(e) && e.scan.Supported(probe.TLS13) == probe.Yes && len(e.scan.Groups) > 0
	},
	Fails: func(e *evidence) rule.Failures {
		if !e.hybridOnly() {
			return nil
		}
		return rule.Failures{{Warns: len(because(e.failing(true), clients.NoGroup)) == 0, Detail: fmt.Sprintf(
			"In TLS 1.3 the server only accepts %s; clients without it fail also where TLS 1.2 is enabled.%s",
			e.scan.Groups[0].Group, e.locksOut(clients.NoGroup))}}
	},
}, {
	Code: "tls.feature.renegotiation", Severity: diag.Warning, Weight: 2, HoldsWhenUnanswered: true,
	Ref:   "RFC 5746 section 3.6",
	Title: "Server does not support secure renegotiation", Requirement: "The server supports secure renegotiation",
	Advice: "Update the TLS library of the server: an attacker may be able to insert data before that of a client.",
	When:   old,
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(!e.scan.Old.SecureRenegotiation, "In %s the server does not answer the "+
			"extension renegotiation_info.", e.scan.Old.Version)
	},
}, {
	Code: "tls.feature.compression", Severity: diag.Error, Weight: 2, HoldsWhenUnanswered: true,
	Ref:   "RFC 9325 section 3.3",
	Title: "Server compresses TLS", Requirement: "The server does not compress TLS",
	Advice: "Disable TLS compression: an attacker who controls part of a request can recover its cookies (CRIME).",
	When:   func(e *evidence) bool { return e.scan != nil && e.scan.Compression != probe.Unknown },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.scan.Compression == probe.Yes, "The server accepts an offer to compress with DEFLATE.")
	},
}}
