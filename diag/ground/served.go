package ground

import (
	"crypto/tls"
	"fmt"
	"slices"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/pki"
)

// A serverFact is what is said of a fact about a server, wherever it is met.
type serverFact struct {
	title, requirement, ref, advice string // {host} and {Host} stand for its name

	reads   diag.Source
	after   []diag.Fact // facts of which nothing more is to be said
	applies func(*Seen) bool
	fails   func(*Seen) diag.Failures
}

// secured reports whether there was a connection over TLS, vouched whether there was one to be relied on.
func secured(s *Seen) bool { return len(s.TLS) > 0 }
func vouched(s *Seen) bool {
	return slices.ContainsFunc(s.TLS, func(t *pki.TLS) bool { return t.Err() == nil })
}

var served = map[diag.Fact]serverFact{
	NotLookedUp: {
		title: "Address of the {host} could not be looked up", requirement: "The name servers answer for the {host}",
		ref: "RFC 1034 section 4.3.1", advice: "Check that every name server of the domain answers, and try again.",
		fails: func(s *Seen) diag.Failures {
			return s.said(s.Err != nil && s.Err.Unanswered && s.Err.Step == fetch.LookingUp)
		},
	},
	Silent: {
		title: "{Host} does not answer", requirement: "The {host} answers", ref: "RFC 9293 section 3.10.1",
		advice: "Check the name servers, the server and the firewall in front of it, and try again.",
		after:  []diag.Fact{NotLookedUp},
		fails:  func(s *Seen) diag.Failures { return s.said(s.Err != nil && s.Err.Unanswered) },
	},
	NoName: {
		title: "{Host} does not exist", requirement: "The {host} exists", ref: "RFC 8020 section 2",
		advice: "Check the spelling of the name, its DNS records and the registration of the domain.",
		reads:  SourceServer,
		fails: func(s *Seen) diag.Failures {
			return diag.FailIf(s.is(fetch.DNS) && s.Err.Missing, "%sThe DNS answers NXDOMAIN: %s does not exist.", s.Way,
				s.Host).About(s.Host)
		},
	},
	NoAddress: {
		title: "{Host} has no address", requirement: "The {host} has an address", ref: "RFC 1035 section 3.4.1",
		advice: "Publish an A or AAAA record for the {host}.", reads: SourceServer, after: []diag.Fact{NoName},
		fails: func(s *Seen) diag.Failures {
			return diag.FailIf(s.is(fetch.DNS), "%s%s has neither an A nor an AAAA record.", s.Way, s.Host).
				About(s.Host)
		},
	},
	NotPublic: {
		title: "Address of the {host} is not public", requirement: "The {host} has a public address",
		ref: "RFC 6890 section 2.2", advice: "Give the {host} a public address.", reads: SourceServer,
		after: []diag.Fact{NoName, NoAddress},
		fails: func(s *Seen) diag.Failures {
			f := diag.FailIf(s.is(fetch.Blocked, fetch.Connecting),
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
		advice: "Start the server, have it listen on this port, and open the port in the firewall.",
		reads:  SourceServer, after: []diag.Fact{NoName, NoAddress, NotPublic},
		fails: func(s *Seen) diag.Failures { return s.said(s.is(fetch.Connect)) },
	},
	Handshake: {
		title: "TLS handshake with the {host} failed", requirement: "The {host} completes a TLS handshake",
		ref:    "RFC 8446 section 4.1.1",
		advice: "Configure TLS 1.2 or 1.3 and a certificate for the {host}; look for the reason in the server's log.",
		reads:  SourceServer, after: []diag.Fact{NoName, NoAddress, NotPublic, Refused},
		fails: func(s *Seen) diag.Failures { return s.said(s.is(fetch.TLS, fetch.Handshaking)) },
	},
	Expired: {
		title: "Certificate of the {host} has expired", requirement: "The certificate of the {host} has not expired",
		ref: "RFC 5280 section 4.1.2.5", advice: "Renew the certificate and automate renewal.", reads: SourceServer,
		applies: secured,
		fails: func(s *Seen) diag.Failures {
			return s.each(func(t *pki.TLS, leaf *pki.Certificate) string {
				if !leaf.Expired {
					return ""
				}
				ago := "less than a day ago"
				if leaf.DaysRemaining < 0 {
					ago = diag.Count(-leaf.DaysRemaining, "day") + " ago"
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
		fails: func(s *Seen) diag.Failures {
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
		reads:  SourceServer, after: []diag.Fact{Expired, NotYetValid}, applies: secured,
		fails: func(s *Seen) diag.Failures {
			return diag.FailEach(s.TLS, func(t *pki.TLS) diag.Failures {
				if t.Trust == nil || t.Leaf() != nil && (t.Leaf().Expired || t.Leaf().NotYetValid) {
					return nil
				}
				return diag.Fail("%sClients do not trust the certificate of %s: %s.", s.Way, t.ServerName, t.Trust).
					About(t.ServerName)
			})
		},
	},
	OtherName: {
		title: "Certificate does not cover the {host}", requirement: "The certificate covers the {host}",
		ref: "RFC 9525 section 6.3", advice: "Get a certificate that lists the {host} as a subject alternative name.",
		reads: SourceServer, applies: secured,
		fails: func(s *Seen) diag.Failures {
			return s.each(func(t *pki.TLS, _ *pki.Certificate) string {
				if t.Name == nil {
					return ""
				}
				return s.Way + diag.Sentence(t.Name.Error())
			})
		},
	},
	ExpiresNow: {
		title:       "Certificate of the {host} is about to expire",
		requirement: "The certificate of the {host} is not about to expire", ref: "RFC 5280 section 4.1.2.5",
		advice: "Renew the certificate now, and automate renewal.",
		reads:  SourceServer, applies: vouched, fails: ending(diag.Error),
	},
	Expiring: {
		title:       "Certificate of the {host} expires soon",
		requirement: "The certificate of the {host} does not expire soon", ref: "RFC 5280 section 4.1.2.5",
		advice: "Renew the certificate and automate renewal.", reads: SourceServer, after: []diag.Fact{ExpiresNow},
		applies: vouched, fails: ending(diag.Warning),
	},
	NotHTTP: {
		title: "{Host} does not answer in valid HTTP", requirement: "The {host} answers in valid HTTP",
		ref:    "RFC 9112 section 2.1",
		advice: "Check what listens on this port, and look for the reason in the log of the web server.",
		reads:  SourceAnswer, after: []diag.Fact{NoName, NoAddress, NotPublic, Refused, Handshake},
		fails: func(s *Seen) diag.Failures { // or redirects to what is no URL of the web
			return s.said(s.is(fetch.Protocol) || s.is(fetch.Blocked, fetch.Answering))
		},
	},
	OldTLS: {
		title: "{Host} uses an obsolete TLS version", requirement: "The {host} uses TLS 1.2 or later",
		ref: "RFC 8996 section 1", advice: "Enable TLS 1.2 and 1.3: current clients refuse older versions.",
		reads: SourceServer, applies: secured,
		fails: func(s *Seen) diag.Failures {
			return diag.FailEach(s.TLS, func(t *pki.TLS) diag.Failures {
				old := t.Version == tls.VersionName(tls.VersionTLS10) || t.Version == tls.VersionName(tls.VersionTLS11)
				return diag.FailIf(old, "%s agreed on %s.", t.ServerName, t.Version).About(t.ServerName)
			})
		},
	},
}
