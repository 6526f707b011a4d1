package dkim

import (
	"crypto"
	"fmt"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"golang.org/x/net/publicsuffix"
)

const maxAhead = 10 * time.Minute

// issues lists what speaks against a signature apart from cryptography.
func (s *Signature) issues(c *Checker, check Check, at time.Time) []Issue {
	list := []Issue{}
	add := func(code IssueCode, refused bool, tag, format string, args ...any) {
		issue := Issue{Code: code, Text: fmt.Sprintf(format, args...), Refused: refused}
		if t, ok := s.tag(tag); ok {
			issue.Location = diag.Location{Offset: t.Offset, Length: t.Length}
		}
		list = append(list, issue)
	}
	if s.Hash == crypto.SHA1 { // RFC 8301 section 3.1
		add(issueSHA1, true, "a", "The signature was made with rsa-sha1, which verifiers must not accept.")
	}
	if s.Draft() { // RFC 6376 section 3.5
		add(issueDraft, true, "", "The signature has no version tag (v=1), like those of drafts from before 2007.")
	}
	if p := check.Key; p != nil && p.Key != nil {
		if p.Short() { // RFC 8301 section 3.2
			add(issueShortKey, true, "", "The RSA key at %s has %d bits, and verifiers must not accept fewer than %d.",
				p.Name, p.Key.Details.SizeBits, MinRSABits)
		}
		if p.Key.Testing() { // RFC 6376 section 3.6.1
			add(issueTesting, false, "", "The key at %s says that the domain is testing DKIM (t=y).", p.Name)
		}
	}
	if s.Expires != nil && at.After(*s.Expires) { // RFC 6376 section 3.5
		add(issueExpired, true, "x", "The signature expired on %s.", s.Expires.Format(time.RFC3339))
	}
	if s.Time != nil && s.Time.Sub(at) > maxAhead { // RFC 6376 section 3.5
		add(issueFuture, false, "t", "The signature says that it was made on %s, which is in the future.",
			s.Time.Format(time.RFC3339))
	}
	if s.Time != nil && s.Expires != nil && !s.Expires.After(*s.Time) { // RFC 6376 section 3.5
		add(issueTimes, false, "x", "The signature expires no later than it was made (x= is not after t=).")
	}
	if s.Length != nil { // RFC 6376 section 8.2
		first := diag.Count(*s.Length, "byte")
		if more := c.bodies.sizes[s.Body] - *s.Length; more > 0 {
			add(issueAppended, false, "l", "The signature covers only the first %s of the body (l=): the last %d are not signed.", first, more)
		} else {
			add(issueLength, false, "l", "The signature covers only the first %s of the body (l=): anything can be appended.", first)
		}
	}
	if suffix, official := publicsuffix.PublicSuffix(s.Domain.String()); official && suffix == s.Domain.String() {
		// RFC 6376 section 6.1.1
		add(IssuePublicSuffix, false, "d", "The signing domain %s is a public suffix, under which anyone can register.", s.Domain)
	}
	listed := 0
	for _, n := range s.Names {
		if strings.EqualFold(n, "From") {
			listed++
		}
	}
	if from := c.header.count("From"); listed > 0 && from > listed { // RFC 6376 section 8.15
		add(IssueFromAdded, false, "h", "The message has %d From fields, of which the signature covers only the lowest %d.",
			from, listed)
	}
	return list
}
