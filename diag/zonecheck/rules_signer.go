package zonecheck

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnssec"
	"github.com/diagkit/diagkit/diag/internal/survey"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/resolve"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/miekg/dns"
)

// signerRules compare the name servers with each other. Providers that sign for themselves may have different keys, as
// long as those of each validate the answers of all (RFC 8901 section 3).
var signerRules = rule.Rules[*evidence]{{
	Code: "zone.dnssec.servers.unsigned", Severity: diag.Error, Weight: 5,
	Ref:   "Zonemaster DNSSEC06, RFC 4035 section 3.1",
	Title: "Name server with an unsigned copy of the zone", Requirement: "All name servers have the signed zone",
	Advice: "Transfer the signed zone to the name server: validating resolvers reject its answers.", When: signed,
	Fails: func(e *evidence) rule.Failures {
		return e.each(e.sec.bare, func(*survey.Address) string {
			return "returns no keys or no signatures, although other name servers do"
		})
	},
}, {
	Code: "zone.dnssec.servers.keys", Severity: diag.Error, Weight: 5, Ref: "RFC 8901 section 3, RFC 4035 section 5.3.1",
	Title:       "Key that signs the zone not published by all name servers",
	Requirement: "All name servers publish the keys that sign the zone",
	Advice: "Publish the missing key at that name server too: a resolver that has cached its DNSKEY records rejects " +
		"records that the missing key has signed.",
	When: severalSigned,
	Fails: func(e *evidence) rule.Failures {
		return e.eachPair(func(c, other *signedCopy) string {
			keys := c.missing(other)
			return view.TextIf(len(keys) > 0, fmt.Sprintf("At %s there is no DNSKEY record for %s, with which the answers of "+
				"%s are signed.", e.nameOf(c), keyNames(keys), e.nameOf(other)))
		})
	},
}, {
	Code: "zone.dnssec.servers.ds", Severity: diag.Error, Weight: 5,
	DependsOn: []diag.Code{"zone.dnssec.ds.mismatch", "zone.dnssec.dnskey.signer"},
	Reads:     []rule.Source{parentDS, recordsKeys, identity}, Ref: "RFC 8901 section 3, RFC 4035 section 5.2",
	Title:       "No DS record matches the keys of one name server",
	Requirement: "A DS record matches a key of each name server",
	Advice: "Add the missing DS record at the registrar and keep the others: a resolver that gets its DNSKEY records " +
		"from that name server rejects the domain.",
	When: func(e *evidence) bool { return dsComparable(e) && severalSigned(e) },
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.sec.copies, func(c *signedCopy) rule.Failures {
			return rule.FailIf(len(c.entries) > 0 && !c.trusted(e.cut.ds),
				"At %s the DNSKEY records are signed with %s, for which %s has no DS record.", e.nameOf(c),
				keyNames(c.entries), e.parentName()).About(e.targetOf(c)).Suggesting(e.completeDS())
		})
	},
}, {
	Code: "zone.dnssec.servers.algorithms", Severity: diag.Warning, Weight: 2,
	Ref:         "RFC 8901 section 4, RFC 4035 section 2.2",
	Title:       "Name servers sign with different algorithms",
	Requirement: "All name servers sign with the same algorithms",
	Advice: "Let all providers sign with one common algorithm: strict validators expect signatures of each " +
		"algorithm that has a key.",
	When: severalSigned,
	Fails: func(e *evidence) rule.Failures {
		var used, texts []string
		for _, c := range e.sec.copies {
			if algorithms := c.algorithms(); algorithms != "" {
				used = append(used, algorithms)
				texts = append(texts, fmt.Sprintf("the answers of %s are signed with %s", e.nameOf(c), algorithms))
			}
		}
		return rule.FailIf(len(view.Unique(used)) > 1, "%s.", phrase.Capitalize(phrase.Series(texts, 3)))
	},
}, {
	Code: "zone.dnssec.servers.differ", Severity: diag.Info,
	Ref:         "Zonemaster DNSSEC08, RFC 8901 section 6, RFC 6781 section 4.1.1",
	Title:       "Unused zone signing key not published by all name servers",
	Requirement: "All name servers publish the zone signing keys that are not used yet",
	Advice:      "Wait if a key rollover is under way. Otherwise publish the key at all name servers before it signs.",
	When:        severalSigned,
	Fails: func(e *evidence) rule.Failures {
		return e.eachPair(func(c, other *signedCopy) string {
			keys := e.sec.unused(c, other)
			return view.TextIf(len(keys) > 0, fmt.Sprintf("At %s there is no DNSKEY record for %s, which %s has and which "+
				"signs nothing yet.", e.nameOf(c), keyNames(keys), e.nameOf(other)))
		})
	},
}}

// severalSigned reports whether the keys of several servers are known.
func severalSigned(e *evidence) bool { return signed(e) && answeredByAtLeast(2, survey.ProbeKeys)(e) }

// eachPair makes failures from a function on each copy of the zone and another copy, or itself.
func (e *evidence) eachPair(detail func(c, other *signedCopy) string) (list rule.Failures) {
	for _, c := range e.sec.copies {
		for _, other := range e.sec.copies {
			if text := detail(c, other); text != "" {
				list = append(list, rule.Failure{Detail: text, Target: e.targetOf(c)})
			}
		}
	}
	return list
}

// nameOf names the servers of a copy: by their addresses too where a host has several copies.
func (e *evidence) nameOf(c *signedCopy) string {
	var names []string
	for _, ad := range c.servers {
		elsewhere := func(other *signedCopy) bool {
			return other != c && slices.ContainsFunc(other.servers, func(o *survey.Address) bool {
				return slices.Equal(e.hostsOn(o.IP), e.hostsOn(ad.IP))
			})
		}
		if hosts := e.hostsOn(ad.IP); len(hosts) > 0 && !slices.ContainsFunc(e.sec.copies, elsewhere) {
			names = append(names, hosts...)
		} else {
			names = append(names, e.place(ad))
		}
	}
	return phrase.Series(view.Unique(names), 3)
}

func (e *evidence) targetOf(c *signedCopy) string { return joined(kit.Map(c.servers, e.target)) }

// completeDS returns the DS records that match the keys of each server beside those that there are, as in a zone file.
func (e *evidence) completeDS() string {
	lines := kit.Map(e.cut.ds, func(ds *dns.DS) string {
		return fmt.Sprintf("%s IN DS %d %d %d %s", e.Zone, ds.KeyTag, ds.Algorithm, ds.DigestType, strings.ToUpper(ds.Digest))
	})
	for _, c := range e.sec.copies {
		if own := c.propose(); own != "" && !c.trusted(e.cut.ds) {
			lines = append(lines, own)
		}
	}
	return strings.Join(view.Unique(lines), "\n")
}

// A signedCopy is the zone as it is signed at name servers that agree.
type signedCopy struct {
	servers   []*survey.Address
	keys      []*dns.DNSKEY
	published []signatureKey               // those that may sign the zone
	entries   []signatureKey               // those that have signed the keys
	signers   map[recordSet][]signatureKey // those that have signed a set of records
	how       string                       // the same for servers that agree
}

// A recordSet is one of the zone, but for the keys.
type recordSet struct{ owner, rrtype string }

// A signatureKey is a key as its signatures name it.
type signatureKey struct {
	tag       uint16
	algorithm uint8
}

func keyOf(k *dns.DNSKEY) signatureKey { return signatureKey{k.KeyTag(), k.Algorithm} }

func sortedKeys(list []signatureKey) []signatureKey {
	slices.SortFunc(list, func(a, b signatureKey) int {
		return cmp.Or(cmp.Compare(a.tag, b.tag), cmp.Compare(a.algorithm, b.algorithm))
	})
	return slices.Compact(list)
}

// keyNames writes keys as in "key 12345 (ECDSAP256SHA256)".
func keyNames(keys []signatureKey) string {
	names := kit.Map(keys, func(k signatureKey) string {
		return fmt.Sprintf("%d (%s)", k.tag, resolve.AlgorithmName(k.algorithm))
	})
	return "key" + view.TextIf(len(keys) > 1, "s") + " " + phrase.Series(names, 3)
}

// maxKeys bounds the keys of a copy that are checked. A zone whose providers roll their keys has some ten.
const maxKeys = 64

// copyAt begins with what a server has of the signed zone.
func (a *answers) copyAt(ad *survey.Address) *signedCopy {
	c := &signedCopy{servers: []*survey.Address{ad}, signers: map[recordSet][]signatureKey{}}
	records := a.records(ad, survey.ProbeKeys, dns.TypeDNSKEY)
	for _, rr := range records[:min(len(records), maxKeys)] {
		key := rr.(*dns.DNSKEY)
		c.keys = append(c.keys, key)
		if dnssec.ForZone(key) {
			c.published = append(c.published, keyOf(key))
		}
	}
	return c
}

// collect takes note of the right signatures of a judgment.
func (c *signedCopy) collect(j dnssec.Judgement) {
	for _, sig := range j.Signatures {
		key := signatureKey{sig.KeyTag, sig.Algorithm}
		switch set := (recordSet{sig.Owner, sig.TypeCovered}); {
		case !sig.Valid:
		case sig.TypeCovered == "DNSKEY":
			c.entries = sortedKeys(append(c.entries, key))
		default:
			c.signers[set] = sortedKeys(append(c.signers[set], key))
		}
	}
}

// join adds a copy to those of other servers, or the server to that of others which agree with it: they have the same
// keys and sign with the same.
func (s *zoneSecurity) join(c *signedCopy) {
	if len(c.keys) == 0 {
		return
	}
	keys := kit.Map(c.keys, func(k *dns.DNSKEY) string { return dataOf(k) })
	var signers []string
	for _, list := range c.signers {
		signers = append(signers, fmt.Sprint(list))
	}
	slices.Sort(keys)
	slices.Sort(signers)
	c.how = fmt.Sprint(keys, c.entries, slices.Compact(signers))
	for _, other := range s.copies {
		if other.how == c.how {
			other.servers = append(other.servers, c.servers...)
			return
		}
	}
	s.copies = append(s.copies, c)
}

// uses reports whether a key has signed anything of the copy.
func (c *signedCopy) uses(key signatureKey) bool {
	for _, keys := range c.signers {
		if slices.Contains(keys, key) {
			return true
		}
	}
	return slices.Contains(c.entries, key)
}

// algorithms names those of the signatures over records.
func (c *signedCopy) algorithms() string {
	var list []string
	for _, keys := range c.signers {
		list = append(list, kit.Map(keys, func(k signatureKey) string { return resolve.AlgorithmName(k.algorithm) })...)
	}
	slices.Sort(list)
	return strings.Join(slices.Compact(list), " and ")
}

// missing lists the missing keys that make a resolver with the keys of this copy reject records of another.
func (c *signedCopy) missing(other *signedCopy) (list []signatureKey) {
	publishes := func(key signatureKey) bool { return slices.Contains(c.published, key) }
	for _, keys := range other.signers {
		if !slices.ContainsFunc(keys, publishes) {
			list = append(list, keys...)
		}
	}
	return sortedKeys(list)
}

// trusted reports whether one of the DS records is that of a key that has signed the keys of the copy.
func (c *signedCopy) trusted(records []*dns.DS) bool {
	return slices.ContainsFunc(records, func(ds *dns.DS) bool {
		signs := slices.Contains(c.entries, signatureKey{ds.KeyTag, ds.Algorithm})
		matches := func(k *dns.DNSKEY) bool { return dnssec.MatchesDS(ds, k) }
		return signs && dnssec.Usable(ds) && slices.ContainsFunc(c.keys, matches)
	})
}

// propose returns the DS records of the keys that have signed the DNSKEY set of the copy, as in a zone file. Keys
// with the same tag cannot be distinguished.
func (c *signedCopy) propose() string {
	return dnssec.ProposeDS(c.keys, slices.DeleteFunc(slices.Clone(c.keys), func(k *dns.DNSKEY) bool {
		same := func(key signatureKey) bool { return key == keyOf(k) }
		return !slices.Contains(c.entries, keyOf(k)) || view.CountIf(c.published, same) != 1
	}))
}

// unused lists the zone signing keys that one copy lacks and another has, and that sign nothing anywhere. Those with
// the flag of a secure entry point are of no concern to other signers (RFC 8901 section 2.1.2).
func (s *zoneSecurity) unused(c, other *signedCopy) (list []signatureKey) {
	for _, k := range other.keys {
		key := keyOf(k)
		used := func(one *signedCopy) bool { return one.uses(key) }
		if k.Flags&dns.SEP == 0 && dnssec.ForZone(k) && !slices.Contains(c.published, key) &&
			!slices.ContainsFunc(s.copies, used) {
			list = append(list, key)
		}
	}
	return sortedKeys(list)
}

// proposeAll returns the DS records with which the parent zone would vouch for the keys of every server, where no
// key has signed those of all; empty if one of them has none.
func (s *zoneSecurity) proposeAll() string {
	lines := kit.Map(s.copies, (*signedCopy).propose)
	if slices.Contains(lines, "") {
		return ""
	}
	return strings.Join(view.Unique(lines), "\n")
}
