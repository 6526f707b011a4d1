package zonecheck

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

// A sigFault is why a signature, or a proof, does not do.
type sigFault int

const (
	sigMissing sigFault = 0
	sigExpired sigFault = 1
	sigFuture  sigFault = 2
	sigSigner  sigFault = 3 // by another zone
	sigLabels  sigFault = 4 // for a name with other labels
	sigKey     sigFault = 5 // by a key that the zone does not have
	sigInvalid sigFault = 6 // does not fit the records
	sigSoon    sigFault = 7 // will expire
	sigLong    sigFault = 8 // is valid for too long
	noProof    sigFault = 9 // of absence
)

// A notice is a fault with the words for it and where it was seen.
type notice struct {
	fault   sigFault
	text    string
	targets []string
}

// A checker verifies signatures with the keys of a zone. Record sets that several servers have are
// verified once.
type checker struct {
	zone    string
	keys    []*dns.DNSKEY
	now     time.Time
	left    int // signatures that may still be verified
	seen    map[string]verdict
	notices []notice
}

// A verdict is what became of the signatures of a record set.
type verdict struct {
	ok      bool
	faults  []notice
	signers []uint16 // tags of the keys that made valid signatures
	algs    []uint8
}

func newChecker(zone string, keys []*dns.DNSKEY, now time.Time) *checker {
	return &checker{zone: zone, keys: keys, now: now, left: maxSignatures, seen: map[string]verdict{}}
}

// note keeps a fault, once for all places where it was seen.
func (c *checker) note(fault sigFault, target, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	for i := range c.notices {
		if n := &c.notices[i]; n.fault == fault && n.text == text {
			if !slices.Contains(n.targets, target) {
				n.targets = append(n.targets, target)
			}
			return
		}
	}
	c.notices = append(c.notices, notice{fault, text, []string{target}})
}

// failures lists the faults of one kind.
func (c *checker) failures(fault sigFault) diag.Failures {
	var list diag.Failures
	for _, n := range c.notices {
		if n.fault == fault && len(list) < maxListed {
			list = append(list, diag.Failure{Detail: n.text, Target: joined(n.targets)})
		}
	}
	return list
}

// joined names a few targets.
func joined(targets []string) string {
	if len(targets) > 3 {
		return fmt.Sprintf("%s and %d more", strings.Join(targets[:3], ", "), len(targets)-3)
	}
	return strings.Join(targets, ", ")
}

// check verifies the signatures of a record set in a section, and notes what is wrong.
func (c *checker) check(section []dns.RR, owner string, qtype uint16, target string) verdict {
	records := rrset(section, owner, qtype)
	if len(records) == 0 {
		return verdict{ok: true}
	}
	sigs := signaturesOf(section, owner, qtype)
	id := identify(records, sigs)
	v, known := c.seen[id]
	if !known {
		v = c.verify(records, sigs)
		c.seen[id] = v
	}
	for _, n := range v.faults {
		c.note(n.fault, target, "%s", n.text)
	}
	return v
}

// signaturesOf picks the signatures over a name and type.
func signaturesOf(section []dns.RR, owner string, qtype uint16) []*dns.RRSIG {
	var list []*dns.RRSIG
	for _, sig := range set[*dns.RRSIG](section, owner) {
		if sig.TypeCovered == qtype {
			list = append(list, sig)
		}
	}
	return list
}

// identify makes a text that equal record sets with equal signatures share.
func identify(records []dns.RR, sigs []*dns.RRSIG) string {
	var lines []string
	for _, rr := range records {
		lines = append(lines, contentOf(rr))
	}
	for _, sig := range sigs {
		lines = append(lines, contentOf(sig))
	}
	slices.Sort(lines)
	return dns.CanonicalName(records[0].Header().Name) + "\n" + strings.Join(lines, "\n")
}

// contentOf writes type and data of a record without its name and time to live.
func contentOf(rr dns.RR) string {
	h := rr.Header()
	return dns.Type(h.Rrtype).String() + " " + strings.TrimPrefix(rr.String(), h.String())
}

// verify checks all signatures of a record set: one that is valid is enough (RFC 6840 section 5.11).
func (c *checker) verify(records []dns.RR, sigs []*dns.RRSIG) verdict {
	var v verdict
	what := describe(records[0])
	if len(sigs) == 0 {
		v.faults = []notice{{fault: sigMissing, text: "There is no signature over the " + what + "."}}
		return v
	}
	var best *dns.RRSIG
	var faults []notice
	for _, sig := range sigs[:min(len(sigs), maxCandidates)] {
		fault, text := c.one(records, sig)
		if text != "" {
			faults = append(faults, notice{fault: fault, text: fmt.Sprintf("The signature over the %s %s.", what, text)})
			continue
		}
		v.ok = true
		v.signers = append(v.signers, sig.KeyTag)
		v.algs = append(v.algs, sig.Algorithm)
		if best == nil || int32(sig.Expiration-best.Expiration) > 0 {
			best = sig
		}
	}
	if v.ok {
		v.faults = c.lifetime(best, what)
	} else {
		v.faults = faults
	}
	return v
}

// describe names a record set: "SOA record of example.com".
func describe(rr dns.RR) string {
	return dns.Type(rr.Header().Rrtype).String() + " records of " + bareName(rr.Header().Name)
}

// one checks one signature and returns what is wrong with it. The DNS library checks neither times nor
// the place of the signer, and takes revoked keys.
func (c *checker) one(records []dns.RR, sig *dns.RRSIG) (sigFault, string) {
	now := uint32(c.now.Unix()) // compared as RFC 4034 section 3.1.5 demands
	owner := records[0].Header().Name
	switch labels := dns.CountLabel(strings.TrimPrefix(owner, "*.")); {
	case dns.CanonicalName(sig.SignerName) != c.zone: // RFC 4035 section 5.3.1
		return sigSigner, "names " + bareName(sig.SignerName) + " as the signer"
	case int(sig.Labels) > labels || int(sig.Labels) < dns.CountLabel(c.zone):
		return sigLabels, fmt.Sprintf("is for a name with %d labels", sig.Labels)
	case int32(sig.Expiration-now) < 0:
		return sigExpired, "expired on " + timeText(sig.Expiration)
	case int32(now-sig.Inception) < 0:
		return sigFuture, "is not valid before " + timeText(sig.Inception)
	}
	found := false
	for _, key := range c.keys {
		if key.KeyTag() != sig.KeyTag || key.Algorithm != sig.Algorithm || !usable(key) {
			continue
		}
		if found = true; c.left == 0 {
			return 0, "" // who makes validators work this hard has other troubles
		}
		c.left--
		switch err := verifyWith(sig, key, records); {
		case err == nil, errors.Is(err, dns.ErrAlg): // one that cannot be verified here is not wrong
			return 0, ""
		}
	}
	if !found {
		return sigKey, fmt.Sprintf("is by a key with tag %d, which the zone does not have", sig.KeyTag)
	}
	return sigInvalid, fmt.Sprintf("by the key with tag %d does not fit the records", sig.KeyTag)
}

// verifyWith verifies a signature with one key.
func verifyWith(sig *dns.RRSIG, key *dns.DNSKEY, records []dns.RR) error {
	k := dns.Copy(key).(*dns.DNSKEY)
	k.Hdr.Name = dns.CanonicalName(k.Hdr.Name)
	return sig.Verify(k, records)
}

// usable reports whether a key may sign the zone (RFC 4034 section 2.1.1, RFC 5011 section 2.1).
func usable(key *dns.DNSKEY) bool {
	return key.Flags&dns.ZONE != 0 && key.Flags&dns.REVOKE == 0 && key.Protocol == 3
}

// timeText writes a time of a signature, which has 32 bits.
func timeText(t uint32) string { return time.Unix(int64(t), 0).UTC().Format("2006-01-02 15:04 MST") }

const (
	// soonAtMost and soonShare say when a signature that is about to expire is overdue: less than
	// three days are left, and less than a fifth of its life. Signers renew long before, and those that
	// sign with every answer give less than three days in the first place.
	soonAtMost = 3 * 24 * time.Hour
	soonShare  = 5

	// tooLong is a life of a signature beyond which a replay is a danger (Zonemaster DNSSEC04).
	tooLong = 180 * 24 * time.Hour
)

// lifetime checks how long the best signature of a record set is valid.
func (c *checker) lifetime(sig *dns.RRSIG, what string) []notice {
	life := time.Duration(sig.Expiration-sig.Inception) * time.Second
	left := time.Duration(sig.Expiration-uint32(c.now.Unix())) * time.Second
	var list []notice
	if left < soonAtMost && left < life/soonShare {
		list = append(list, notice{fault: sigSoon, text: fmt.Sprintf(
			"The signature over the %s expires on %s.", what, timeText(sig.Expiration))})
	}
	if life > tooLong {
		list = append(list, notice{fault: sigLong, text: fmt.Sprintf(
			"The signature over the %s is valid for %d days.", what, life/(24*time.Hour))})
	}
	return list
}
