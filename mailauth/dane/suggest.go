package dane

import (
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/pki"
)

// mismatches fails for the hosts that present another certificate than the records say, with the records that would
// let senders deliver again.
func mismatches(e *evidence) diag.Failures {
	var lines []string
	f := each(e, func(h *host) diag.Failures {
		s := h.server()
		f := diag.Fail("%s presents a certificate that %s%s.%s", h.at(s), unmatched(len(h.usable())),
			e.cause(h, s), e.refused())
		if line := e.suggest(h); line != "" {
			lines = append(lines, line)
		} else {
			f[0].Advice = "Compute the SHA-256 of the public key from the certificate file on the server itself, publish it " +
				"as TLSA 3 1 1 beside the old records, and remove those once their TTL has passed. Nothing proves from " +
				"outside that the certificate seen is that of your server."
		}
		return f
	}, mismatch)
	return f.Suggesting(strings.Join(lines, "\n"))
}

func unmatched(n int) string {
	if n == 1 {
		return "does not match its TLSA record"
	}
	return fmt.Sprintf("matches none of its %d TLSA records", n)
}

// at names a host, and the address at which it was found wrong if it is right at another.
func (h *host) at(s *server) string {
	if slices.ContainsFunc(h.servers, func(other server) bool { return other.fault() == none }) {
		return h.Name + " at " + s.ip.String()
	}
	return h.Name
}

// cause explains a mismatch where something nearly matches.
func (e *evidence) cause(h *host, s *server) string {
	for i, m := range s.result.Matches {
		r := h.records[i]
		switch leaf := s.chain[0]; {
		case m.Err != nil && m.Err.Reason == Superseded && m.Found:
			return ": the record with SHA2-256 would, but those with SHA2-512 count instead"
		case r.Usage == daneta && r.Matches(leaf):
			return ": the record " + r.numbers() + " is for the certificate of the server itself, which is usage 3"
		case r.Usage == daneee && len(s.chain) > 1 && slices.ContainsFunc(s.chain[1:], r.Matches):
			return ": the record " + r.numbers() + " is for the certificate of an authority, which is usage 2"
		case (Record{r.Usage, 1 - r.Selector, r.Matching, r.Data}).Matches(leaf) && r.Usage == daneee:
			return ": the record " + r.numbers() + " has the wrong selector for its data"
		}
	}
	if len(s.chain) == 1 && slices.ContainsFunc(h.usable(), func(r Record) bool { return r.Usage == daneta }) &&
		!pki.SelfSigned(s.chain[0]) {
		return ": it sends no issuer certificates, and usage 2 (DANE-TA) needs them"
	}
	return ""
}

// suggest returns the line of a zone file with which senders can authenticate a host as it is now; empty if nothing
// proves that what answered is the server, and not somebody in between: a public authority must vouch for the name,
// at every address.
func (e *evidence) suggest(h *host) string {
	line := ""
	for _, s := range h.servers {
		if len(s.chain) == 0 {
			continue // not reached
		}
		leaf := s.chain[0]
		v := pki.Verifier{Roots: e.roots, Now: e.now, ServerName: h.base}
		if v.Trust(s.chain) != nil || v.Name(leaf) != nil {
			return ""
		}
		own := e.recordName(h.base) + ". IN TLSA " + h.keyRecord(leaf).String()
		if line != "" && line != own {
			return ""
		}
		line = own
	}
	return line
}

// keyRecord is the record of the public key of a certificate: with SHA-512 only where records with it would make clients
// leave out one with SHA-256 (RFC 7671 section 9).
func (h *host) keyRecord(leaf *x509.Certificate) Record {
	strong := func(r Record) bool { return r.Usage == daneee && r.Selector == spki && r.Matching == SHA512 }
	if slices.ContainsFunc(h.usable(), strong) {
		sum := sha512.Sum512(leaf.RawSubjectPublicKeyInfo)
		return Record{daneee, spki, SHA512, sum[:]}
	}
	sum := sha256.Sum256(leaf.RawSubjectPublicKeyInfo)
	return Record{daneee, spki, SHA256, sum[:]}
}
