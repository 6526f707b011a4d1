package dnssec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/resolve"
	"github.com/miekg/dns"
)

// A Zone is one link of a chain of trust: the DS records in the parent zone, the keys of the zone, and the
// signatures over both.
type Zone struct {
	Zone       string            `json:"zone" doc:"the zone, \".\" for the root" example:"example.com"`
	Parent     string            `json:"parent,omitempty" doc:"the parent zone; absent where the chain begins"`
	Status     diag.DNSSECStatus `json:"status" doc:"whether the keys of the zone are to be trusted"`
	DS         []DS              `json:"ds" doc:"DS records in the parent zone; at most 32"`
	Keys       []DNSKEY          `json:"dnskeys" doc:"keys of the zone; at most 32"`
	Signatures []Signature       `json:"rrsigs" doc:"signatures over the DS and DNSKEY records, and over what the zone answered; at most 32"`
	Denial     Denial            `json:"denial,omitzero" doc:"proof of the zone, or of the parent zone, that something is not there"`

	publish string // DS records with which the parent zone would vouch for the keys
}

// A DS is a DS record: the digest of a key, in the parent zone (RFC 4034 section 5).
type DS struct {
	KeyTag        uint16 `json:"key_tag" doc:"tag of the key"`
	Algorithm     uint8  `json:"algorithm" doc:"number of the key's algorithm"`
	AlgorithmName string `json:"algorithm_name" doc:"its name" example:"ECDSAP256SHA256"`
	DigestType    uint8  `json:"digest_type" doc:"number of the digest: 1 SHA-1, 2 SHA-256, 4 SHA-384"`
	Digest        string `json:"digest" doc:"the digest in hexadecimal digits"`
	MatchesDNSKEY bool   `json:"matches_dnskey" doc:"whether the zone has the key"`
	Valid         bool   `json:"valid" doc:"whether the signature over the DS records is right"`
}

// Role is the purpose of a key: ksk, zsk or csk.
type Role string

// The roles.
const (
	KSK Role = "ksk" // signs the keys
	ZSK Role = "zsk" // signs the rest
	CSK Role = "csk" // signs everything
)

// Values lists the roles.
func (Role) Values() []string { return kit.Values(KSK, ZSK, CSK) }

// A DNSKEY is a public key of a zone (RFC 4034 section 2).
type DNSKEY struct {
	KeyTag        uint16 `json:"key_tag" doc:"tag of the key"`
	Flags         uint16 `json:"flags" doc:"256 is a zone key, 1 a secure entry point, 128 revoked"`
	Role          Role   `json:"role" doc:"what the key is for"`
	Algorithm     uint8  `json:"algorithm" doc:"number of its algorithm"`
	AlgorithmName string `json:"algorithm_name" doc:"name of its algorithm" example:"ECDSAP256SHA256"`
	KeySizeBits   int    `json:"key_size_bits" doc:"its size; 0 if the key cannot be read"`
	Revoked       bool   `json:"revoked" doc:"whether the key says of itself that it must not be used (RFC 5011)"`
	Trusted       bool   `json:"trusted" doc:"whether the chain of trust reaches the key"`

	anchored bool // a DS record or trust anchor matches it
}

// A Signature is an RRSIG record (RFC 4034 section 3).
type Signature struct {
	TypeCovered      string    `json:"type_covered" doc:"type of the records that it is over"`
	KeyTag           uint16    `json:"key_tag" doc:"tag of the key that made it"`
	Algorithm        uint8     `json:"algorithm" doc:"number of its algorithm"`
	SignerName       string    `json:"signer_name" doc:"zone that it says to be from"`
	Inception        time.Time `json:"inception" doc:"from when on it is valid"`
	Expiration       time.Time `json:"expiration" doc:"until when it is valid"`
	ExpiresInSeconds int64     `json:"expires_in_seconds" doc:"time left, negative if it has expired"`
	Valid            bool      `json:"valid" doc:"whether it is right"`
	Error            string    `json:"error,omitempty" doc:"why it is not, or was not checked"`

	Owner       string    `json:"-"` // name of the records
	Code        diag.Code `json:"-"` // of the error
	TTL         uint32    `json:"-"` // longest time to live of the records, in seconds
	OriginalTTL uint32    `json:"-"` // time to live that was signed, in seconds
}

// DenialType is the method by which a zone proves absence.
type DenialType string

// The types of denial.
const (
	NSEC  DenialType = "nsec"  // RFC 4034 section 4
	NSEC3 DenialType = "nsec3" // RFC 5155
)

// Values lists the types.
func (DenialType) Values() []string { return kit.Values(NSEC, NSEC3) }

// A Denial is a proof that a name or record does not exist.
type Denial struct {
	Type       DenialType `json:"type" doc:"kind of the records"`
	OptOut     bool       `json:"opt_out" doc:"whether delegations to unsigned zones are left out (NSEC3)"`
	Iterations int        `json:"iterations" doc:"additional iterations of the hash (NSEC3)"`
	SaltLength int        `json:"salt_length" doc:"octets of salt (NSEC3)"`
	Proven     bool       `json:"proven" doc:"whether the records prove it"`
}

func newZoneInfo(n name) *Zone {
	return &Zone{Zone: n.String(), Status: diag.Indeterminate, DS: []DS{}, Keys: []DNSKEY{}, Signatures: []Signature{}}
}

// note adds a signature to a list, with what is wrong with it.
func (v *engine) note(log *[]Signature, set *rrset, sig *dns.RRSIG, f *ChainFault) {
	if log == nil || len(*log) == maxListed {
		return
	}
	s := Signature{
		TypeCovered: dns.Type(sig.TypeCovered).String(), KeyTag: sig.KeyTag, Algorithm: sig.Algorithm,
		SignerName: quoteName(sig.SignerName), Owner: set.owner.String(), OriginalTTL: sig.OrigTtl,
		Inception:  resolve.SerialTime(sig.Inception, v.now),
		Expiration: resolve.SerialTime(sig.Expiration, v.now), Valid: f == nil,
	}
	s.ExpiresInSeconds = int64(s.Expiration.Sub(v.now) / time.Second)
	for _, rr := range set.rrs {
		s.TTL = max(s.TTL, rr.Header().Ttl)
	}
	if f != nil {
		s.Error, s.Code = f.Message, f.Code
	}
	*log = append(*log, s)
}

func (z *Zone) listDS(records []*dns.DS, valid bool) {
	records = slices.SortedStableFunc(slices.Values(records), func(a, b *dns.DS) int {
		return cmp.Or(cmp.Compare(a.KeyTag, b.KeyTag), cmp.Compare(a.DigestType, b.DigestType),
			cmp.Compare(a.Digest, b.Digest))
	})
	for _, ds := range records[:min(len(records), maxListed)] {
		z.DS = append(z.DS, DS{
			KeyTag: ds.KeyTag, Algorithm: ds.Algorithm, AlgorithmName: resolve.AlgorithmName(ds.Algorithm),
			DigestType: ds.DigestType, Digest: strings.ToLower(ds.Digest), Valid: valid,
		})
	}
}

// listKeys describes the keys of a zone: all of them, those that are trusted, and those that a DS record or trust
// anchor matches. Servers give them in any order, so they are sorted.
func (z *Zone) listKeys(all, trusted, anchored []*key) {
	all = slices.SortedStableFunc(slices.Values(all), func(a, b *key) int {
		return cmp.Or(cmp.Compare(b.rr.Flags, a.rr.Flags), cmp.Compare(a.tag, b.tag),
			cmp.Compare(a.rr.PublicKey, b.rr.PublicKey))
	})
	for _, k := range all[:min(len(all), maxListed)] {
		entry := DNSKEY{
			KeyTag: k.tag, Flags: k.rr.Flags, Algorithm: k.rr.Algorithm, AlgorithmName: resolve.AlgorithmName(k.rr.Algorithm),
			Revoked: k.rr.Flags&dns.REVOKE != 0,
			Trusted: slices.Contains(trusted, k), anchored: slices.Contains(anchored, k),
		}
		if k.public != nil {
			entry.KeySizeBits = k.public.bits
		}
		z.Keys = append(z.Keys, entry)
	}
	n, _ := parseName(z.Zone)
	for i := range z.DS {
		ds := &z.DS[i]
		m := matcher{zone: n, usable: []*dns.DS{{
			KeyTag: ds.KeyTag, Algorithm: ds.Algorithm, DigestType: ds.DigestType, Digest: ds.Digest,
		}}}
		ds.MatchesDNSKEY = slices.ContainsFunc(all, m.fits)
	}
}

// describeRoles sets the roles of the keys. Those with the flag of a secure entry point sign the keys; in a zone
// that has no others they sign everything, and so does a key without it to which the parent zone points (RFC 4034
// section 2.1.1: the flag is but a hint).
func (z *Zone) describeRoles() {
	plain := slices.ContainsFunc(z.Keys, func(k DNSKEY) bool { return k.Flags&dns.SEP == 0 && !k.anchored })
	for i := range z.Keys {
		k := &z.Keys[i]
		switch {
		case !plain:
			k.Role = CSK
		case k.Flags&dns.SEP != 0:
			k.Role = KSK
		case k.anchored:
			k.Role = CSK
		default:
			k.Role = ZSK
		}
	}
}

// deny adds what the records of a denial proved.
func (z *Zone) deny(d *denials, f statusCause) {
	for _, s := range d.log {
		if len(z.Signatures) < maxListed {
			z.Signatures = append(z.Signatures, s)
		}
	}
	if d.any() || d.failed != nil {
		z.Denial = *d.facts(f.status == diag.Secure || f.status == diag.Insecure)
	}
}

// A ChainFault describes the first broken link of the chain: the reason that an answer is not secure.
type ChainFault struct {
	Zone    string    `json:"zone" doc:"zone in which the fault lies" example:"example.com"`
	Code    diag.Code `json:"code" doc:"permanent name of the rule that is not fulfilled" example:"dnssec.signature.expired"`
	Message string    `json:"message" doc:"what is wrong, in one sentence"`

	advice string // what to do, where more is known than the rule can say
}

func (f *ChainFault) Error() string { return f.Zone + ": " + f.Message }

func fault(zone name, code diag.Code, format string, args ...any) *ChainFault {
	return &ChainFault{Zone: zone.String(), Code: code, Message: fmt.Sprintf(format, args...)}
}

// The codes of failures, each of which is a rule.
const (
	codeAnchorNone        diag.Code = "dnssec.anchor.none"
	codeAnchorMismatch    diag.Code = "dnssec.anchor.mismatch"
	codeStripped          diag.Code = "dnssec.resolver.strips"
	codeDiffers           diag.Code = "dnssec.resolver.differs"
	codeDSUnavailable     diag.Code = "dnssec.ds.unavailable"
	codeDSMismatch        diag.Code = "dnssec.ds.mismatch"
	codeDSRevoked         diag.Code = "dnssec.ds.revoked"
	codeDSUnsupported     diag.Code = "dnssec.ds.unsupported"
	codeDSWildcard        diag.Code = "dnssec.ds.wildcard"
	codeDSMissing         diag.Code = "dnssec.ds.missing"
	codeKeysMissing       diag.Code = "dnssec.dnskey.missing"
	codeKeysUnavailable   diag.Code = "dnssec.dnskey.unavailable"
	codeKeysSigner        diag.Code = "dnssec.dnskey.signer"
	codeKeyUnusable       diag.Code = "dnssec.dnskey.unusable"
	codeSigMissing        diag.Code = "dnssec.signature.missing"
	codeSigExpired        diag.Code = "dnssec.signature.expired"
	codeSigEarly          diag.Code = "dnssec.signature.early"
	codeSigPeriod         diag.Code = "dnssec.signature.period"
	codeSigInvalid        diag.Code = "dnssec.signature.invalid"
	codeSigKey            diag.Code = "dnssec.signature.key_missing"
	codeSigSigner         diag.Code = "dnssec.signature.signer"
	codeSigLabels         diag.Code = "dnssec.signature.labels"
	codeSigUnsupported    diag.Code = "dnssec.signature.unsupported"
	codeDenialMissing     diag.Code = "dnssec.denial.missing"
	codeDenialIncomplete  diag.Code = "dnssec.denial.incomplete"
	codeDenialContradict  diag.Code = "dnssec.denial.contradicted"
	codeDenialIterations  diag.Code = "dnssec.denial.iterations"
	codeWildcard          diag.Code = "dnssec.wildcard.unproven"
	codeDelegation        diag.Code = "dnssec.delegation.unproven"
	codeOptOut            diag.Code = "dnssec.denial.optout"
	codeAnswerUnavailable diag.Code = "dnssec.answer.unavailable"
	codeAnswerUnsignable  diag.Code = "dnssec.answer.unsignable"
	codeAnswerContradict  diag.Code = "dnssec.answer.contradictory"
	codeAliasLoop         diag.Code = "dnssec.alias.loop"
	codeAliasLong         diag.Code = "dnssec.alias.long"
	codeDNAME             diag.Code = "dnssec.dname.mismatch"
	codeWork              diag.Code = "dnssec.work.exceeded"
	codeExempted          diag.Code = "dnssec.zone.exempted"
)

// A statusCause is a status with the reason for it, which is nil for what is secure.
type statusCause struct {
	status diag.DNSSECStatus
	why    *ChainFault
}

var secure = statusCause{diag.Secure, nil}

func insecure(why *ChainFault) statusCause      { return statusCause{diag.Insecure, why} }
func bogus(why *ChainFault) statusCause         { return statusCause{diag.Bogus, why} }
func indeterminate(why *ChainFault) statusCause { return statusCause{diag.Indeterminate, why} }

// gravity orders the statuses: a chain of aliases is worth what its worst part is.
var gravity = map[diag.DNSSECStatus]int{diag.Secure: 0, diag.Insecure: 1, diag.Indeterminate: 2, diag.Bogus: 3}

// worse returns the graver of two, the first if they are alike.
func worse(a, b statusCause) statusCause {
	if gravity[b.status] > gravity[a.status] {
		return b
	}
	return a
}
