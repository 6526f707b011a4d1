package zonecheck

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnssec"
	"github.com/miekg/dns"
)

// A sigFault is why a signature, or a proof, does not do.
type sigFault int

const (
	sigMissing sigFault = 1
	sigExpired sigFault = 2
	sigFuture  sigFault = 3
	sigSigner  sigFault = 4  // by another zone
	sigLabels  sigFault = 5  // for a name with other labels
	sigKey     sigFault = 6  // by a key that the zone does not have
	sigInvalid sigFault = 7  // does not fit the records
	sigStray   sigFault = 8  // not right, beside one that is
	sigUrgent  sigFault = 9  // will expire within a day or so
	sigSoon    sigFault = 10 // should have been renewed
	sigLong    sigFault = 11 // is valid for too long
	sigTTL     sigFault = 12 // signed with a shorter time to live
	noProof    sigFault = 13 // of absence
)

// faultOf says to which rule of the audit a fault of validation belongs. The audit has nothing to say of the others: a
// signature of an algorithm that cannot be checked, and of a zone that asks for more checks than any real one does.
var faultOf = map[diag.Code]sigFault{
	"dnssec.signature.missing":     sigMissing,
	"dnssec.signature.expired":     sigExpired,
	"dnssec.signature.early":       sigFuture,
	"dnssec.signature.period":      sigInvalid,
	"dnssec.signature.invalid":     sigInvalid,
	"dnssec.signature.key_missing": sigKey,
	"dnssec.signature.signer":      sigSigner,
	"dnssec.signature.labels":      sigLabels,
	"dnssec.dnskey.unusable":       sigInvalid,
	"dnssec.denial.missing":        noProof,
	"dnssec.denial.incomplete":     noProof,
	"dnssec.denial.contradicted":   noProof,
	"dnssec.wildcard.unproven":     noProof,
}

// A notice is a fault with the words for it and where it was seen.
type notice struct {
	fault   sigFault
	text    string
	targets []string
	due     time.Time // when it breaks what works
}

// A checker judges signatures and proofs with the keys of a zone, and notes what is wrong.
type checker struct {
	*dnssec.Checker
	keys    []*dns.DNSKEY
	judged  int // sets of records and proofs
	notices []notice
}

func newChecker(zone string, keys []*dns.DNSKEY, now time.Time) *checker {
	return &checker{Checker: dnssec.NewChecker(zone, keys, now), keys: keys}
}

// note keeps a fault, once for all places where it was seen.
func (c *checker) note(fault sigFault, target string, due time.Time, text string) {
	text = strings.TrimSuffix(text, ".") + "."
	for i := range c.notices {
		if n := &c.notices[i]; n.fault == fault && n.text == text {
			if !slices.Contains(n.targets, target) {
				n.targets = append(n.targets, target)
			}
			return
		}
	}
	c.notices = append(c.notices, notice{fault, text, []string{target}, due})
}

// refused reports whether validating resolvers would refuse something of the zone if the parent zone
// vouched for its keys.
func (c *checker) refused() bool {
	return slices.ContainsFunc(c.notices, func(n notice) bool { return n.fault <= sigStray || n.fault == noProof })
}

// record notes all that a judgement has to say: of each signature, for resolvers may pick any, and of the whole.
func (c *checker) record(j dnssec.Judgement, target string) {
	c.judged++
	for _, s := range j.Signatures {
		fault := faultOf[s.Code]
		right := slices.ContainsFunc(j.Signatures, func(other dnssec.Signature) bool {
			return other.Valid && other.Owner == s.Owner && other.TypeCovered == s.TypeCovered
		})
		switch {
		case s.Valid:
			c.age(s, target)
		case right && fault == sigKey: // a key may follow its signatures (RFC 6781 section 4.1.4)
		case right && fault != 0:
			c.note(sigStray, target, time.Time{}, s.Error)
		case fault != 0:
			c.note(fault, target, time.Time{}, s.Error)
		}
	}
	if j.Fault != nil && faultOf[j.Fault.Code] != 0 {
		c.note(faultOf[j.Fault.Code], target, time.Time{}, j.Fault.Message)
	}
}

// age notes what is wrong with the times of a signature that is right.
func (c *checker) age(s dnssec.Signature, target string) {
	what := fmt.Sprintf("The signature over %s %s by key %d", s.TypeCovered, s.Owner, s.KeyTag)
	switch s.Urgency() {
	case dnssec.Urgent:
		c.note(sigUrgent, target, s.Expiration, what+" expires on "+timeText(s.Expiration))
	case dnssec.Overdue:
		c.note(sigSoon, target, s.Expiration, what+" expires on "+timeText(s.Expiration))
	}
	if s.TooLong() {
		c.note(sigLong, target, time.Time{}, fmt.Sprintf("%s is valid for %d days", what, s.Validity()/(24*time.Hour)))
	}
	if s.ExceedsTTL() {
		c.note(sigTTL, target, time.Time{}, fmt.Sprintf("The TTL of %s %s is %d seconds, and its signature allows %d",
			s.TypeCovered, s.Owner, s.TTL, s.OriginalTTL))
	}
}

func timeText(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 MST") }
