package dnssec

import (
	"cmp"
	"crypto"
	_ "crypto/sha1" // algorithms 5 and 7, digest 1
	_ "crypto/sha256"
	_ "crypto/sha512"
	"slices"

	"github.com/miekg/dns"
)

// Recommendation says whether zones should be signed with an algorithm: the column "Use for DNSSEC Signing"
// of IANA's registry (RFC 9904 section 2). It is recommended, may, not_recommended, must_not or unknown.
type Recommendation string

// The recommendations.
const (
	Recommended    Recommendation = "recommended"
	May            Recommendation = "may"
	NotRecommended Recommendation = "not_recommended"
	MustNot        Recommendation = "must_not"
	Unregistered   Recommendation = "unknown"
)

// Values lists the recommendations.
func (Recommendation) Values() []string {
	return []string{string(Recommended), string(May), string(NotRecommended), string(MustNot), string(Unregistered)}
}

// recommendations is the registry "DNS Security Algorithm Numbers" as of November 2025, that is with
// RFC 9904 (the process), RFC 9905 (SHA-1) and RFC 9906 (GOST R 34.10-2001).
var recommendations = map[uint8]Recommendation{
	dns.RSAMD5:           MustNot,
	dns.DSA:              MustNot,
	dns.RSASHA1:          MustNot, // RFC 9905 section 2
	dns.DSANSEC3SHA1:     MustNot,
	dns.RSASHA1NSEC3SHA1: MustNot, // RFC 9905 section 2
	dns.RSASHA256:        Recommended,
	dns.RSASHA512:        NotRecommended,
	dns.ECCGOST:          MustNot, // RFC 9906 section 2
	dns.ECDSAP256SHA256:  Recommended,
	dns.ECDSAP384SHA384:  May,
	dns.ED25519:          Recommended,
	dns.ED448:            May,
	17:                   May, // SM2SM3, RFC 9563
	23:                   May, // ECC-GOST12, RFC 9558
}

// Recommend returns the recommendation for an algorithm, given by its number.
func Recommend(algorithm uint8) Recommendation {
	return cmp.Or(recommendations[algorithm], Unregistered)
}

// hashes are the algorithms that can be validated, with the hash over the signed data. Ed25519 and
// Ed448 take the data as they are.
var hashes = map[uint8]crypto.Hash{
	dns.RSASHA1:          crypto.SHA1,
	dns.RSASHA1NSEC3SHA1: crypto.SHA1,
	dns.RSASHA256:        crypto.SHA256,
	dns.RSASHA512:        crypto.SHA512,
	dns.ECDSAP256SHA256:  crypto.SHA256,
	dns.ECDSAP384SHA384:  crypto.SHA384,
	dns.ED25519:          0,
	dns.ED448:            0,
}

// digests are the digest types of DS records that can be validated.
var digests = map[uint8]crypto.Hash{
	dns.SHA1:   crypto.SHA1,
	dns.SHA256: crypto.SHA256,
	dns.SHA384: crypto.SHA384,
}

// supports reports whether signatures of an algorithm can be validated. RFC 9905 section 2 obliges software to go on
// supporting RSASHA1, and operators of resolvers to treat it as unsupported. A diagnostic is to say whether the owner's
// signatures are right, so they are validated as any others; a zone that uses them is warned.
func supports(algorithm uint8) bool {
	_, ok := hashes[algorithm]
	return ok
}

// Usable reports whether a DS record can secure a delegation: whether its algorithm and digest type are
// supported.
func Usable(ds *dns.DS) bool {
	_, ok := digests[ds.DigestType]
	return ok && supports(ds.Algorithm)
}

// usableOf picks the DS records that count. Those with SHA-1 do not if there are stronger ones, or an attacker who
// can make collisions would choose the weakest (RFC 4509 section 3).
func usableOf(all []*dns.DS) []*dns.DS {
	var list []*dns.DS
	stronger := false
	for _, ds := range all {
		if Usable(ds) {
			list = append(list, ds)
			stronger = stronger || ds.DigestType != dns.SHA1
		}
	}
	if stronger {
		list = slices.DeleteFunc(list, func(ds *dns.DS) bool { return ds.DigestType == dns.SHA1 })
	}
	return list
}
