package dnssec

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/miekg/dns"
)

// rootAnchors are the keys of the root zone that IANA publishes in https://data.iana.org/root-anchors/root-anchors.xml,
// as of 18 July 2024: the key of 2017, in use since October 2018, and that of 2024, published in the zone since January
// 2025 and to be in use from October 2026.
const rootAnchors = `
. IN DS 20326 8 2 E06D44B80B8F1D39A95C0B0D7C65D08458E880409BBC683457104237C7F8EC8D
. IN DS 38696 8 2 683D2D0ACB8C9B712A1948B27F741219298D0A450D612C483AF444A4C0FB2B16
`

// maxAnchorText bounds a text of trust anchors; that of the root zone takes two kilobytes.
const maxAnchorText = 1 << 20

// iana returns the trust anchors of the root zone.
func iana() []dns.RR {
	anchors, err := ParseAnchors(rootAnchors)
	if err != nil {
		panic("dnssec: " + err.Error()) // the text is a constant, which a test reads
	}
	return anchors
}

// ParseAnchors reads trust anchors: DS and DNSKEY records in master file format (RFC 1035 section 5), as in
// the file root.key of most distributions. Other records, revoked keys and a text without any anchor are
// errors.
func ParseAnchors(text string) ([]dns.RR, error) {
	if len(text) > maxAnchorText {
		return nil, fmt.Errorf("trust anchors: the text is longer than %d bytes", maxAnchorText)
	}
	parser := dns.NewZoneParser(strings.NewReader(text+"\n"), ".", "")
	parser.SetDefaultTTL(0)
	var anchors []dns.RR
	for rr, ok := parser.Next(); ok; rr, ok = parser.Next() {
		if !genuine(rr) || rr.Header().Class != dns.ClassINET || !isAnchor(rr) {
			return nil, fmt.Errorf("trust anchors: %.100q is neither a good DS record nor the DNSKEY record of a zone key",
				rr.String())
		}
		anchors = append(anchors, rr)
	}
	if err := parser.Err(); err != nil {
		return nil, fmt.Errorf("trust anchors: %w", err)
	}
	if len(anchors) == 0 {
		return nil, fmt.Errorf("trust anchors: there is no DS or DNSKEY record")
	}
	return anchors, nil
}

// isAnchor reports whether validation can begin with a record.
func isAnchor(rr dns.RR) bool {
	switch r := rr.(type) {
	case *dns.DS:
		digest, err := hex.DecodeString(r.Digest)
		hash, known := digests[r.DigestType]
		return err == nil && (!known || len(digest) == hash.Size())
	case *dns.DNSKEY:
		return newKey(r).forZone()
	}
	return false
}

// An anchorSet holds the anchors of each zone as DS records, which represent keys as well.
type anchorSet map[name][]*dns.DS

func newAnchorSet(anchors []dns.RR) anchorSet {
	set := anchorSet{}
	for _, rr := range anchors {
		if !genuine(rr) || !isAnchor(rr) {
			continue
		}
		ds, isDS := rr.(*dns.DS)
		if !isDS {
			ds = NewDS(rr.(*dns.DNSKEY))
		}
		if zone, ok := parseName(rr.Header().Name); ok && ds != nil && len(set[zone]) < maxListed {
			set[zone] = append(set[zone], ds)
		}
	}
	return set
}

// closest returns the deepest zone with a trust anchor that a name is within.
func (s anchorSet) closest(n name) (name, bool) {
	for {
		if len(s[n]) > 0 {
			return n, true
		}
		if n == root {
			return "", false
		}
		n = n.parent()
	}
}

// An AnchorKey is a trust anchor of a zone.
type AnchorKey struct {
	KeyTag  uint16
	Revoked bool // the key in the zone has the REVOKE bit (RFC 5011 section 2.1)
}

// anchorKeys lists the anchors of a zone, each once. The keys were validated.
func anchorKeys(anchors []*dns.DS, keys []*key, z name) (list []AnchorKey) {
	for _, a := range anchors {
		revoked := slices.ContainsFunc(keys, func(k *key) bool {
			return k.rr.Flags&dns.REVOKE != 0 && anchorMatches(a, k.unrevoked(), z)
		})
		if entry := (AnchorKey{a.KeyTag, revoked}); !slices.Contains(list, entry) {
			list = append(list, entry)
		}
	}
	return list
}

// unrevoked returns the key as it was before it was revoked: that changes its tag and digest.
func (k *key) unrevoked() *key {
	before := *k.rr
	before.Flags &^= dns.REVOKE
	return newKey(&before)
}

func anchorMatches(anchor *dns.DS, k *key, z name) bool {
	return anchor.KeyTag == k.tag && anchor.Algorithm == k.rr.Algorithm && digestFits(anchor, k.rr, z)
}
