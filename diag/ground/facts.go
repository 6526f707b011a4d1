// Package ground states the facts that every check that reaches a server meets: a name that does not exist, a host
// without an address, a refused connection, a certificate that is untrusted or about to expire. Each is a [Spec]
// with its severity, code suffix and wording, so that no two operations report one fact differently (CONTRACT 1.7,
// One fact, one severity).
//
// Call [Server.Rules] for the rules about reaching a server. Any other rule that states such a fact names it in
// [diag.Rule.Fact] and, where severity or suffix differ, says why in [diag.Rule.Differs]; a test over all operations
// enforces it.
package ground

import (
	"time"

	"github.com/diagkit/diagkit/diag"
)

// The facts. What is said of "the host" holds for whatever the operation was asked about.
const (
	NotLookedUp      diag.Fact = "address could not be looked up"  // the name servers did not say
	Silent           diag.Fact = "server does not answer"          // at whatever step
	NoName           diag.Fact = "name does not exist"             // NXDOMAIN (RFC 8020 section 2)
	NoAddress        diag.Fact = "host has no address"             // the name exists without A and AAAA
	NotPublic        diag.Fact = "address is not public"           // an address of a special-purpose registry
	Refused          diag.Fact = "connection refused"              // the host says no to a connection, or the network does
	Handshake        diag.Fact = "TLS handshake failed"            // no TLS connection, for another reason than trust
	Expired          diag.Fact = "certificate expired"             // the leaf; of another certificate: Untrusted
	NotYetValid      diag.Fact = "certificate not yet valid"       // the leaf
	Untrusted        diag.Fact = "certificate not trusted"         // for another reason than time and name
	OtherName        diag.Fact = "certificate of another name"     // it does not cover the host
	Expiring         diag.Fact = "certificate expires soon"        // see [Ends]
	ExpiresNow       diag.Fact = "certificate is about to expire"  // see [Ends]
	NotHTTP          diag.Fact = "answer is not HTTP"              // RFC 9112 section 2.1
	OldTLS           diag.Fact = "obsolete TLS version"            // RFC 8996 section 1
	MXLiteral        diag.Fact = "MX record names an IP address"   // RFC 5321 section 5.1
	NullMXBeside     diag.Fact = "null MX beside other MX records" // RFC 7505 section 3
	SignatureEnds    diag.Fact = "DNSSEC signature ends soon"      // less than an eighth of its validity is left
	RegistrationEnds diag.Fact = "registration ends soon"          // within 30 days
)

// A Spec is what is the same wherever a fact is met.
type Spec struct {
	Severity diag.Severity
	Suffix   string // of the code
}

// Specs is the table of facts.
var Specs = map[diag.Fact]Spec{
	NotLookedUp:      {diag.Error, "unknown"},
	Silent:           {diag.Error, "unknown"},
	NoName:           {diag.Error, "nxdomain"},
	NoAddress:        {diag.Error, "address"},
	NotPublic:        {diag.Critical, "blocked"},
	Refused:          {diag.Critical, "connection"},
	Handshake:        {diag.Critical, "handshake"},
	Expired:          {diag.Critical, "certificate.expired"},
	NotYetValid:      {diag.Critical, "certificate.early"},
	Untrusted:        {diag.Critical, "certificate.untrusted"},
	OtherName:        {diag.Critical, "certificate.name"},
	Expiring:         {diag.Warning, "certificate.expiring"},
	ExpiresNow:       {diag.Error, "certificate.expires_now"},
	NotHTTP:          {diag.Critical, "protocol"},
	OldTLS:           {diag.Warning, "tls.version"},
	MXLiteral:        {diag.Error, "literal"},
	NullMXBeside:     {diag.Error, "null_beside"},
	SignatureEnds:    {diag.Warning, "signature.expiring"},
	RegistrationEnds: {diag.Warning, "expiring"},
}

const day = 24 * time.Hour

// Ends grades a certificate that is still valid by what is left of its lifetime (CONTRACT 1.7): [diag.Error] from the
// smaller of 7 days and an eighth of it, [diag.Warning] from the smaller of 14 days and a quarter, else [diag.Info]. A
// certificate of six days is fine with two left.
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
