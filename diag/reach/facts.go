// Package reach defines the rules of checks that connect to a server, for facts such as a name that does not
// exist, a host without an address, a refused connection, or a certificate that is untrusted or about to
// expire. Each fact has one severity, code suffix and wording, so that all checks report it in the same way
// (CONTRACT 1.7, One fact, one severity).
//
// Writers of checks call [Server.Rules] for the rules about reaching a server. Any other rule that reports
// such a fact names it in Fact of [rule.Rule] and, if its severity or suffix differs, gives the reason in
// Differs; a test over all operations enforces this.
package reach

import (
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/diag/rule"
)

// The facts. "The host" is the subject of the operation.
const (
	NotLookedUp      rule.Fact = "address could not be looked up"  // the name servers did not answer
	Silent           rule.Fact = "server does not answer"          // at any step
	NoName           rule.Fact = "name does not exist"             // NXDOMAIN (RFC 8020 section 2)
	NoAddress        rule.Fact = "host has no address"             // the name exists, without A and AAAA records
	NotPublic        rule.Fact = "address is not public"           // it is in a special-purpose registry
	Refused          rule.Fact = "connection refused"              // by the host, or the network
	HTTPClosed       rule.Fact = "port 80 is closed beside HTTPS"  // see [Observation].Closed
	HTTPSilent       rule.Fact = "port 80 is silent beside HTTPS"  // see [Observation].Mute
	NoRedirect       rule.Fact = "plain HTTP does not redirect"    // to HTTPS, which the site has
	Handshake        rule.Fact = "TLS handshake failed"            // for another reason than an untrusted certificate
	Expired          rule.Fact = "certificate expired"             // the leaf certificate; for others, Untrusted
	NotYetValid      rule.Fact = "certificate not yet valid"       // the leaf
	Untrusted        rule.Fact = "certificate not trusted"         // for another reason than its time or name
	OtherName        rule.Fact = "certificate of another name"     // it does not cover the host
	Expiring         rule.Fact = "certificate expires soon"        // see [Ends]
	ExpiresNow       rule.Fact = "certificate is about to expire"  // see [Ends]
	NotHTTP          rule.Fact = "answer is not HTTP"              // RFC 9112 section 2.1
	BadLine          rule.Fact = "malformed header line"           // clients skip or refuse it, see [fetch.HeadFault]
	LongRedirect     rule.Fact = "redirect beyond our limit"       // to a URL of more than [input.MaxURL] octets
	OldTLS           rule.Fact = "obsolete TLS version"            // RFC 8996 sections 4 and 5
	MXLiteral        rule.Fact = "MX record names an IP address"   // RFC 5321 section 5.1
	NullMXBeside     rule.Fact = "null MX beside other MX records" // RFC 7505 section 3
	SignatureEnds    rule.Fact = "DNSSEC signature ends soon"      // less than an eighth of its validity is left
	RegistrationEnds rule.Fact = "registration ends soon"          // within 30 days
)

// A Spec is what all rules about a fact have in common.
type Spec struct {
	Severity diag.Severity
	Suffix   string // suffix of the code
}

// Specs is the table of facts.
var Specs = map[rule.Fact]Spec{
	NotLookedUp:      {diag.Error, "unknown"},
	Silent:           {diag.Error, "unknown"},
	NoName:           {diag.Error, "nxdomain"},
	NoAddress:        {diag.Error, "address"},
	NotPublic:        {diag.Critical, "blocked"},
	Refused:          {diag.Critical, "connection"},
	HTTPClosed:       {diag.Info, "http.closed"},
	HTTPSilent:       {diag.Warning, "http.unknown"},
	NoRedirect:       {diag.Warning, "redirect.missing"},
	Handshake:        {diag.Critical, "handshake"},
	Expired:          {diag.Critical, "certificate.expired"},
	NotYetValid:      {diag.Critical, "certificate.early"},
	Untrusted:        {diag.Critical, "certificate.untrusted"},
	OtherName:        {diag.Critical, "certificate.name"},
	Expiring:         {diag.Warning, "certificate.expiring"},
	ExpiresNow:       {diag.Error, "certificate.expires_now"},
	NotHTTP:          {diag.Critical, "protocol"},
	BadLine:          {diag.Warning, "header.line"},
	LongRedirect:     {diag.Info, "redirect.long"},
	OldTLS:           {diag.Warning, "tls.version"},
	MXLiteral:        {diag.Error, "literal"},
	NullMXBeside:     {diag.Error, "null_beside"},
	SignatureEnds:    {diag.Warning, "signature.expiring"},
	RegistrationEnds: {diag.Warning, "expiring"},
}

// Redirect is the advice if plain HTTP does not redirect to HTTPS, or not directly.
const Redirect = "Redirect every http:// URL with 301 or 308 to the same URL at https:// first, and only from there " +
	"to another host."

// ClosedAdvice is the advice if port 80 of an HTTPS site refuses connections, which affects only old links.
const ClosedAdvice = "Listen on port 80 and redirect to https:// with 301 or 308, or leave it closed: browsers try " +
	"HTTPS first, old links and other clients do not."

// SilentAdvice is the advice if port 80 of an HTTPS site does not answer.
const SilentAdvice = "Let port 80 redirect to https:// or refuse connections immediately: while it is silent, old " +
	"links hang."

const day = 24 * time.Hour

// Ends grades a valid certificate by the time left until it expires (CONTRACT 1.7): [diag.Error] if that is
// at most the smaller of 7 days and an eighth of its lifetime, [diag.Warning] if at most the smaller of 14
// days and a quarter, otherwise [diag.Info]. A six-day certificate with two days left is [diag.Info].
func Ends(notBefore, notAfter, now time.Time) diag.Severity {
	life, left := notAfter.Sub(notBefore), notAfter.Sub(now)
	switch {
	case left <= min(7*day, life/8):
		return diag.Error
	case left <= min(14*day, life/4):
		return diag.Warning
	default:
		return diag.Info
	}
}

// A serverFact is the wording of a fact about a server in all packages.
type serverFact struct {
	// {host} and {Host} are replaced by its name. Where it failed, {port} in the advice is "port 443 of
	// www.example.com".
	title, requirement, ref, advice string

	reads   rule.Source
	after   []rule.Fact // facts that make this one moot
	applies func(*Observation) bool
	fails   func(*Observation) rule.Failures
}

// secured reports whether there was a connection over TLS, vouched whether there was one to be relied on.
func secured(s *Observation) bool { return len(s.TLS) > 0 }
func hasTrustedTLS(s *Observation) bool {
	return slices.ContainsFunc(s.TLS, func(t *pki.TLS) bool { return t.Err() == nil })
}

var served = map[rule.Fact]serverFact{
	NotLookedUp: {
		title: "Address of the {host} could not be looked up", requirement: "The name servers answer for the {host}",
		ref: "RFC 1034 section 4.3.1", advice: "Check that every name server of the domain answers, and try again.",
		fails: func(s *Observation) rule.Failures {
			return s.failIf(s.Err != nil && s.Err.Unanswered && s.Err.Step == fetch.LookingUp)
		},
	},
	Silent: {
		title: "{Host} does not answer", requirement: "The {host} answers", ref: "RFC 9293 section 3.10.1",
		advice: "Check the name servers, the server and the firewall in front of it, and try again.",
		after:  []rule.Fact{NotLookedUp},
		fails:  func(s *Observation) rule.Failures { return s.failIf(s.Err != nil && s.Err.Unanswered) },
	},
	NoName: {
		title: "{Host} does not exist", requirement: "The {host} exists", ref: "RFC 8020 section 2",
		advice: "Check the spelling of the name, its DNS records and the registration of the domain.",
		reads:  SourceServer,
		fails: func(s *Observation) rule.Failures {
			return rule.FailIf(s.is(fetch.DNS) && s.Err.Missing, "%sThe DNS answers NXDOMAIN: %s does not exist.", s.Way,
				s.Host).About(s.Host)
		},
	},
	NoAddress: {
		title: "{Host} has no address", requirement: "The {host} has an address", ref: "RFC 1035 section 3.4.1",
		advice: "Publish an A or AAAA record for the {host}.", reads: SourceServer, after: []rule.Fact{NoName},
		fails: func(s *Observation) rule.Failures {
			return rule.FailIf(s.is(fetch.DNS), "%s%s has neither an A nor an AAAA record.", s.Way, s.Host).
				About(s.Host)
		},
	},
	NotPublic: {
		title: "Address of the {host} is not public", requirement: "The {host} has a public address",
		ref: "RFC 6890 section 2.2", advice: "Give the {host} a public address.", reads: SourceServer,
		after: []rule.Fact{NoName, NoAddress},
		fails: func(s *Observation) rule.Failures {
			f := rule.FailIf(s.is(fetch.Blocked, fetch.Connecting),
				"%s%s was not contacted: its address is not public, or the port is not allowed.", s.Way, s.Host).
				About(s.Host)
			if len(f) > 0 && s.moved {
				f[0].Advice = "Redirect to a host with a public address."
			}
			return f
		},
	},
	Refused: {
		title: "{Host} refuses connections", requirement: "The {host} accepts connections",
		ref:    "RFC 9293 section 3.5.2",
		advice: "Start the server, have it listen on {port}, and open the port in the firewall.",
		reads:  SourceServer, after: []rule.Fact{NoName, NoAddress, NotPublic},
		fails: func(s *Observation) rule.Failures {
			f := s.failIf(s.is(fetch.Connect))
			if len(f) > 0 && s.moved && s.Port == httpPort {
				f[0].Advice = fmt.Sprintf("Redirect to https:// URLs, or have the server listen on port %d of %s.", s.Port, s.Host)
			}
			return f
		},
	},
	HTTPClosed: {
		title: "Port 80 refuses connections", requirement: "Port 80 accepts connections",
		ref:    "RFC 9110 section 4.2.1",
		advice: ClosedAdvice,
		reads:  SourceServer, after: []rule.Fact{NoName, NoAddress, NotPublic, Refused},
		applies: func(s *Observation) bool { return s.Plain && !s.Mute },
		fails: func(s *Observation) rule.Failures {
			return rule.FailIf(s.Closed, "Port 80 of %[1]s refuses connections, while https://%[1]s/ answers: an http:// link "+
				"works only in clients that try HTTPS by themselves.", s.Host).About(s.Host)
		},
	},
	HTTPSilent: {
		title: "Port 80 does not answer", requirement: "Port 80 answers in time", ref: "RFC 9110 section 4.2.1",
		advice: SilentAdvice, reads: SourceServer, after: []rule.Fact{NoName, NoAddress, NotPublic, Refused},
		applies: func(s *Observation) bool { return s.Plain },
		fails: func(s *Observation) rule.Failures {
			return rule.FailIf(s.Mute, "Port 80 of %[1]s did not answer in time, while https://%[1]s/ answers: where http:// "+
				"leads is not known.", s.Host).About(s.Host)
		},
	},
	Handshake: {
		title: "TLS handshake with the {host} failed", requirement: "The {host} completes a TLS handshake",
		ref: "RFC 8446 section 4.1.1",
		advice: "Configure TLS 1.2 or 1.3 and a certificate for the {host}. The server's log and " +
			"certificates/ssl/check say " +
			"what clients fail on.",
		reads: SourceServer, after: []rule.Fact{NoName, NoAddress, NotPublic, Refused},
		fails: func(s *Observation) rule.Failures { return s.failIf(s.is(fetch.TLS, fetch.Handshaking)) },
	},
	Expired: {
		title: "Certificate of the {host} has expired", requirement: "The certificate of the {host} has not expired",
		ref: "RFC 5280 section 4.1.2.5", advice: "Renew the certificate and automate renewal.", reads: SourceServer,
		applies: secured,
		fails: func(s *Observation) rule.Failures {
			return s.each(func(t *pki.TLS, leaf *pki.Certificate) string {
				if !leaf.Expired {
					return ""
				}
				ago := "less than a day ago"
				if leaf.DaysRemaining < 0 {
					ago = phrase.Count(-leaf.DaysRemaining, "day") + " ago"
				}
				return fmt.Sprintf("The certificate of %s expired on %s, %s.", t.ServerName,
					leaf.NotAfter.Format(time.DateOnly), ago)
			})
		},
	},
	NotYetValid: {
		title:       "Certificate of the {host} is not yet valid",
		requirement: "The validity period of the certificate of the {host} has begun", ref: "RFC 5280 section 4.1.2.5",
		advice: "Install a certificate that is valid now, and check the clock of the issuer.",
		reads:  SourceServer, applies: secured,
		fails: func(s *Observation) rule.Failures {
			return s.each(func(t *pki.TLS, leaf *pki.Certificate) string {
				if !leaf.NotYetValid {
					return ""
				}
				return fmt.Sprintf("The certificate of %s is valid only from %s.", t.ServerName,
					leaf.NotBefore.Format(time.RFC3339))
			})
		},
	},
	Untrusted: {
		title: "Certificate of the {host} is not trusted", requirement: "The certificate of the {host} is trusted",
		ref:    "RFC 9110 section 4.3.4",
		advice: "Install a certificate from a public authority, together with its intermediate certificates.",
		reads:  SourceServer, after: []rule.Fact{Expired, NotYetValid}, applies: secured,
		fails: func(s *Observation) rule.Failures {
			return rule.FailEach(s.TLS, func(t *pki.TLS) rule.Failures {
				if t.Trust == nil || t.Leaf() != nil && (t.Leaf().Expired || t.Leaf().NotYetValid) {
					return nil
				}
				return rule.Fail("%sClients do not trust the certificate of %s: %s.", s.Way, t.ServerName, t.Trust).
					About(t.ServerName)
			})
		},
	},
	OtherName: {
		title: "Certificate does not cover the {host}", requirement: "The certificate covers the {host}",
		ref: "RFC 9525 section 6.3", advice: "Get a certificate that lists the {host} as a subject alternative name.",
		reads: SourceServer, applies: secured,
		fails: func(s *Observation) rule.Failures {
			return s.each(func(t *pki.TLS, _ *pki.Certificate) string {
				if t.Name == nil {
					return ""
				}
				return s.Way + phrase.Sentence(t.Name.Error())
			})
		},
	},
	ExpiresNow: {
		title:       "Certificate of the {host} is about to expire",
		requirement: "The certificate of the {host} is not about to expire", ref: "RFC 5280 section 4.1.2.5",
		advice: "Renew the certificate now, and automate renewal.",
		reads:  SourceServer, applies: hasTrustedTLS, fails: ending(diag.Error),
	},
	Expiring: {
		title:       "Certificate of the {host} expires soon",
		requirement: "The certificate of the {host} does not expire soon", ref: "RFC 5280 section 4.1.2.5",
		advice: "Renew the certificate and automate renewal.", reads: SourceServer, after: []rule.Fact{ExpiresNow},
		applies: hasTrustedTLS, fails: ending(diag.Warning),
	},
	NotHTTP: {
		title: "{Host} does not answer in valid HTTP", requirement: "The {host} answers in valid HTTP",
		ref:    "RFC 9112 section 2.1",
		advice: "Check what listens on {port}, and look for the reason in the log of the web server.",
		reads:  SourceAnswer, after: []rule.Fact{NoName, NoAddress, NotPublic, Refused, Handshake},
		fails: func(s *Observation) rule.Failures { // or redirects to what is no URL of the web
			f := s.failIf(s.is(fetch.Protocol) || s.is(fetch.Blocked, fetch.Answering))
			if _, unframed := errors.AsType[*fetch.HeadError](s.failure()); unframed {
				f[0].Advice = "Send one Content-Length, the number of bytes of the body, or Transfer-Encoding: chunked without it."
			}
			return f
		},
	},
	BadLine: {
		title: "Malformed header line", requirement: "Every line of the header is a name, a colon and a value",
		ref: "RFC 9112 section 5",
		advice: "Correct the line where it is made: the application, a plug-in, or the configuration of the web server or " +
			"proxy.",
		reads: SourceAnswer, applies: func(s *Observation) bool { return len(s.Hops) > 0 },
		fails: func(s *Observation) rule.Failures {
			return rule.FailEach(s.Hops, func(h fetch.Hop) rule.Failures {
				return rule.FailEach(h.Faults, func(f fetch.HeadFault) rule.Failures {
					return rule.FailIf(!f.Obsolete(), "%s", f.Sentence()).About(fmt.Sprintf("hop %d", h.Index))
				})
			})
		},
	},
	LongRedirect: {
		title: "Redirect is too long to be checked", requirement: "Every redirect is short enough to be checked",
		ref: "RFC 9110 section 4.1",
		advice: "Open the URL in a browser to see where it leads. Keep URLs below 8,000 octets: many clients and " +
			"servers take " +
			"no more.",
		applies: func(s *Observation) bool { return len(s.Hops) > 0 },
		fails: func(s *Observation) rule.Failures {
			if !s.beyond() {
				return nil
			}
			h := s.Hops[len(s.Hops)-1]
			return rule.Fail("%s redirects to a URL of more than %d octets, percent-encoded. That is beyond what is read "+
				"here, so where it leads is not known.", phrase.Quote(h.URL), input.MaxURL).
				About(fmt.Sprintf("hop %d", h.Index))
		},
	},
	OldTLS: {
		title: "{Host} uses an obsolete TLS version", requirement: "The {host} uses TLS 1.2 or later",
		ref: "RFC 8996 sections 4 and 5", advice: "Enable TLS 1.2 and 1.3: current clients refuse older versions.",
		reads: SourceServer, applies: secured,
		fails: func(s *Observation) rule.Failures {
			return rule.FailEach(s.TLS, func(t *pki.TLS) rule.Failures {
				old := t.Version == tls.VersionName(tls.VersionTLS10) || t.Version == tls.VersionName(tls.VersionTLS11)
				return rule.FailIf(old, "%s agreed on %s.", t.ServerName, t.Version).About(t.ServerName)
			})
		},
	},
}
