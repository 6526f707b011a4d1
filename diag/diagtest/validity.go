package diagtest

import (
	"slices"
	"time"

	"github.com/miekg/dns"
)

// A trouble is why a validating resolver refuses an answer.
type trouble struct {
	code uint16 // extended error, RFC 8914
	text string
}

func troubleOf(z *zone, f SigningFault) *trouble {
	return &trouble{f.explanation(), "validating " + z.origin + ": " + string(f)}
}

// status tells whether a validating resolver trusts a zone: secure if each zone from the root down to it is signed and
// has its DS record above it, and in trouble if it should be and is not (RFC 4035 section 5).
func status(zones map[string]*zone, z *zone, now time.Time) (secure bool, t *trouble) {
	if z.origin == "." {
		if z.signer == nil {
			return false, nil
		}
		t = z.trouble(now)
		return t == nil, t
	}
	above := enclosing(zones, parent(z.origin), dns.TypeNone)
	if secure, t = status(zones, above, now); !secure {
		return false, t
	}
	var known bool
	records := above.nodes[z.origin][dns.TypeDS]
	for _, rr := range records {
		known = known || rr.(*dns.DS).Algorithm <= dns.ED448
	}
	fault := above.signer.broken(z.origin, dns.TypeDS)
	switch {
	case len(records) > 0 && fault != "":
		return false, troubleOf(above, fault)
	case len(records) == 0 && above.signer.has(DenialMissing):
		return false, troubleOf(above, DenialMissing)
	case !known: // RFC 4035 section 5.2: neither absent nor unknown DS records make it secure
		return false, nil
	case z.signer == nil:
		return false, troubleOf(z, SigMissing)
	case !slices.ContainsFunc(records, z.signer.vouched):
		return false, troubleOf(z, DSMismatch)
	}
	t = z.trouble(now)
	return t == nil, t
}

// trouble returns what is wrong with all signatures of a zone.
func (z *zone) trouble(now time.Time) *trouble {
	how := z.signer.how
	switch f := z.signer.broken(z.origin, dns.TypeDNSKEY); {
	case f != "":
		return troubleOf(z, f)
	case now.After(how.Expiration):
		return troubleOf(z, SigExpired)
	case now.Before(how.Inception):
		return troubleOf(z, SigNotYetValid)
	}
	return nil
}

// troubleWith returns what is wrong with the signatures that a result needs.
func (z *zone) troubleWith(r result) *trouble {
	if z.signer == nil {
		return nil
	}
	name := r.name
	if r.wildcard != "" {
		name = r.wildcard
	}
	for _, rrtype := range types(r.answer) {
		if f := z.signer.broken(name, rrtype); f != "" && len(r.dname) == 0 {
			return troubleOf(z, f)
		}
	}
	negative := len(r.answer) == 0
	if (negative || r.wildcard != "") && z.signer.has(DenialMissing) {
		return troubleOf(z, DenialMissing)
	}
	if negative {
		if f := z.signer.broken(z.origin, dns.TypeSOA); f != "" {
			return troubleOf(z, f)
		}
	}
	return nil
}
