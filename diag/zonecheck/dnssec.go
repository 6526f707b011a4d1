package zonecheck

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnssec"
	"github.com/diagkit/diagkit/diag/internal/survey"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/miekg/dns"
)

// A zoneSecurity is the audit's result for the signatures of the zone.
type zoneSecurity struct {
	*dnssec.Checker
	keys    []*dns.DNSKEY     // of all servers
	judged  int               // sets of records and proofs
	notices []notice          // what is wrong with them
	bare    []*survey.Address // servers that have no keys, or no signatures
	copies  []*signedCopy     // as servers have the signed zone, those alike once
	signers []uint16          // tags of the signatures over the keys
	ds      dsView
	cds     []*dns.DS
	cdnskey []*dns.DNSKEY
	cdsOK   bool            // CDS and CDNSKEY records are signed by a key that the DS records vouch for
	param   *dns.NSEC3PARAM // nil without
	optOut  bool
	algs    map[uint8]bool // of the signatures over the SOA records
	keyAlgs map[uint8]bool // of the keys
	proofs  int            // negative replies with a proof that were checked
	held    bool           // proofs were held against what there is
	denied  rule.Failures  // records that proofs deny
}

// A dsView compares the DS records of the parent zone with the keys.
type dsView struct {
	usable  int       // records with an algorithm and a digest that are known
	matched []*dns.DS // those that match a key which signs the DNSKEY set
	idle    []*dns.DS // those that match a key of the zone which does not
	standby []*dns.DS // the other usable ones
	propose string    // records for keys with which all servers sign the DNSKEY set, as in a zone file
}

// secure examines all signatures that came along.
func (a *answers) secure() zoneSecurity {
	keys := a.keys()
	s := zoneSecurity{
		Checker: dnssec.NewChecker(a.Zone, keys, a.Began), keys: keys,
		algs: map[uint8]bool{}, keyAlgs: map[uint8]bool{},
	}
	for _, k := range keys {
		if dnssec.ForZone(k) {
			s.keyAlgs[k.Algorithm] = true
		}
	}
	s.cds, s.cdnskey = a.childDS()
	if len(keys) == 0 {
		return s
	}
	s.findBare(a)
	var signers []uint16
	proven := keys
	for _, ad := range a.serving {
		if slices.Contains(s.bare, ad) {
			continue // that it has nothing of it is reported once
		}
		c := a.copyAt(ad)
		signatures := s.checkApex(a, ad, c)
		for _, sig := range signatures {
			signers = append(signers, sig.KeyTag)
		}
		proven = s.signing(proven, signatures)
		s.checkNames(a, ad, c)
		s.join(c)
	}
	s.signers = signers
	s.compareDS(a.cut.ds, signers)
	if len(s.bare) == 0 {
		s.ds.propose = cmp.Or(dnssec.ProposeDS(keys, proven), s.proposeAll())
	}
	s.checkContent(a)
	s.holdProofs(a)
	return s
}

// signing returns those of the keys that may sign the zone and made one of the valid signatures. Keys that share a
// tag cannot be distinguished by it.
func (s *zoneSecurity) signing(keys []*dns.DNSKEY, signatures []dnssec.Signature) []*dns.DNSKEY {
	return slices.DeleteFunc(slices.Clone(keys), func(k *dns.DNSKEY) bool {
		tag := k.KeyTag()
		namesake := func(other *dns.DNSKEY) bool {
			return other != k && other.Algorithm == k.Algorithm && other.KeyTag() == tag
		}
		made := func(sig dnssec.Signature) bool {
			return sig.Valid && sig.KeyTag == tag && sig.Algorithm == k.Algorithm
		}
		return !dnssec.ForZone(k) || slices.ContainsFunc(s.keys, namesake) || !slices.ContainsFunc(signatures, made)
	})
}

// findBare finds servers that have no keys, or answer without signatures, although others have them.
func (s *zoneSecurity) findBare(a *answers) {
	signed := false
	var bare []*survey.Address
	for _, ad := range a.serving {
		if !ad.Replies[survey.ProbeKeys].Settled() {
			continue
		}
		switch {
		case len(a.records(ad, survey.ProbeKeys, dns.TypeDNSKEY)) == 0:
			s.bare = append(s.bare, ad)
		case unsignedReply(ad.Replies[survey.ProbeKeys]) && unsignedReply(ad.Replies[survey.ProbeIdentity]):
			bare = append(bare, ad)
		default:
			signed = true
		}
	}
	if signed {
		s.bare = append(s.bare, bare...)
	}
}

func unsignedReply(r survey.Reply) bool {
	signature := func(rr dns.RR) bool { return rr.Header().Rrtype == dns.TypeRRSIG }
	return r.Settled() && !slices.ContainsFunc(r.Msg.Answer, signature)
}

// checkApex judges the signatures at the apex, and returns those over the keys, valid or not.
func (s *zoneSecurity) checkApex(a *answers, ad *survey.Address, c *signedCopy) (overKeys []dnssec.Signature) {
	for i, r := range ad.Replies {
		p := survey.Probe(i)
		qtype, ok := survey.ApexTypes[p]
		if p == survey.ProbeIdentity {
			qtype, ok = dns.TypeSOA, true
		}
		if !ok || r.Rcode() != dns.RcodeSuccess || r.EDNS() == nil {
			continue
		}
		j := s.checkName(r, a.Zone, qtype, a.target(ad))
		if p != survey.ProbeCDS && p != survey.ProbeCDNSKEY { // which each provider may sign with its entry point
			c.collect(j)
		}
		for _, sig := range j.Signatures {
			switch p {
			case survey.ProbeIdentity:
				s.algs[sig.Algorithm] = true
			case survey.ProbeKeys:
				overKeys = append(overKeys, sig)
			}
		}
	}
	return overKeys
}

// checkNames judges the replies about names below the apex: one that is usual, and one that does not exist.
func (s *zoneSecurity) checkNames(a *answers, ad *survey.Address, c *signedCopy) {
	if r := ad.Replies[survey.ProbeWWW]; r.OK() && r.EDNS() != nil {
		c.collect(s.checkName(r, "www."+a.Zone, dns.TypeA, a.target(ad)))
	}
	if r := ad.Replies[survey.ProbeAbsent]; r.OK() && r.EDNS() != nil {
		c.collect(s.checkName(r, survey.AbsentLabel+"."+a.Zone, dns.TypeA, a.target(ad)))
	}
}

// checkName judges the signatures of a reply about a name, unless it is that of a zone below: those over
// the records, or over an alias in their place, or over the proof that there is nothing.
func (s *zoneSecurity) checkName(r survey.Reply, name string, qtype uint16, target string) dnssec.Judgement {
	if !r.Msg.Authoritative {
		return dnssec.Judgement{}
	}
	read := s.Read(r.Msg)
	for _, t := range []uint16{qtype, dns.TypeCNAME} {
		if j, found := read.Records(name, t); found {
			s.record(j, target)
			return j
		}
	}
	if len(r.Msg.Answer) > 0 || !r.Settled() {
		return dnssec.Judgement{}
	}
	s.proofs++
	j := read.Denial(name, qtype)
	s.optOut = s.optOut || j.Denial != nil && j.Denial.OptOut
	s.record(j, target)
	return j
}

// compareDS finds the DS records that match keys which sign the DNSKEY set (RFC 4035 section 5.2).
func (s *zoneSecurity) compareDS(list []*dns.DS, signers []uint16) {
	for _, ds := range list {
		if !dnssec.Usable(ds) {
			continue
		}
		s.ds.usable++
		matches := func(k *dns.DNSKEY) bool { return dnssec.MatchesDS(ds, k) }
		signs := func(k *dns.DNSKEY) bool { return matches(k) && slices.Contains(signers, k.KeyTag()) }
		switch {
		case slices.ContainsFunc(s.keys, signs):
			s.ds.matched = append(s.ds.matched, ds)
		case slices.ContainsFunc(s.keys, matches):
			s.ds.idle = append(s.ds.idle, ds)
		default:
			s.ds.standby = append(s.ds.standby, ds)
		}
	}
}

// checkContent verifies the signatures in one server's answers, and checks the parameters.
func (s *zoneSecurity) checkContent(a *answers) {
	s.cdsOK = true
	for _, qtype := range []uint16{dns.TypeCDS, dns.TypeCDNSKEY} {
		r := a.at(a.Zone, qtype)
		if !s.verifiable(r) {
			continue
		}
		if j, found := s.Read(r.Msg).Records(a.Zone, qtype); found {
			s.cdsOK = s.cdsOK && j.Fault == nil && s.hasTrustedSignature(j.Signatures)
		}
	}
	for _, qtype := range []uint16{dns.TypeZONEMD, dns.TypeNSEC3PARAM} {
		r := a.at(a.Zone, qtype)
		if !s.verifiable(r) {
			continue
		}
		if len(survey.RRSet(r.Msg.Answer, a.Zone, qtype)) > 0 {
			s.checkName(r, a.Zone, qtype, survey.BareName(a.Zone))
		}
		if params := survey.Set[*dns.NSEC3PARAM](r.Msg.Answer, a.Zone); len(params) > 0 {
			s.param = params[0]
		}
	}
	if r := a.at("www."+a.Zone, dns.TypeAAAA); s.verifiable(r) {
		s.checkName(r, "www."+a.Zone, dns.TypeAAAA, "www")
	}
}

// verifiable reports whether a reply should have signatures: it is a good one, of a server that has any.
func (s *zoneSecurity) verifiable(r survey.Reply) bool {
	return r.Rcode() == dns.RcodeSuccess && r.EDNS() != nil && !slices.Contains(s.bare, r.By)
}

// hasTrustedSignature reports whether one of the signatures is valid and by a key that the DS records match. Without
// DS records that is unknown (RFC 7344 section 4.1).
func (s *zoneSecurity) hasTrustedSignature(signatures []dnssec.Signature) bool {
	return len(s.ds.matched) == 0 || slices.ContainsFunc(signatures, func(sig dnssec.Signature) bool {
		return sig.Valid && slices.ContainsFunc(s.ds.matched, func(ds *dns.DS) bool { return sig.KeyTag == ds.KeyTag })
	})
}

// keyMissing is the fault of a signature by a key that the zone does not have.
const keyMissing diag.Code = "zone.dnssec.signature.key"

// ruleOf maps faults of validation to rules of the audit. The audit ignores the others: a signature of an algorithm
// that cannot be checked, and a zone that requires more checks than any real one.
var ruleOf = map[diag.Code]diag.Code{
	"dnssec.signature.missing":     "zone.dnssec.signature.missing",
	"dnssec.signature.expired":     "zone.dnssec.signature.expired",
	"dnssec.signature.early":       "zone.dnssec.signature.future",
	"dnssec.signature.period":      "zone.dnssec.signature.invalid",
	"dnssec.signature.invalid":     "zone.dnssec.signature.invalid",
	"dnssec.signature.key_missing": keyMissing,
	"dnssec.signature.signer":      "zone.dnssec.signature.signer",
	"dnssec.signature.labels":      "zone.dnssec.signature.labels",
	"dnssec.dnskey.unusable":       "zone.dnssec.signature.invalid",
	"dnssec.denial.missing":        "zone.dnssec.denial",
	"dnssec.denial.incomplete":     "zone.dnssec.denial",
	"dnssec.denial.contradicted":   "zone.dnssec.denial",
	"dnssec.wildcard.unproven":     "zone.dnssec.denial",
}

// A notice is a fault with the words for it and where it was seen.
type notice struct {
	rule    diag.Code
	refused bool // by validating resolvers
	text    string
	targets []string
	due     time.Time // when it breaks what works
}

// note keeps a fault, once for all places where it was seen.
func (s *zoneSecurity) note(n notice, target string) {
	n.text = strings.TrimSuffix(n.text, ".") + "."
	i := slices.IndexFunc(s.notices, func(o notice) bool { return o.rule == n.rule && o.text == n.text })
	if i < 0 {
		i, s.notices = len(s.notices), append(s.notices, n)
	}
	if known := &s.notices[i]; !slices.Contains(known.targets, target) {
		known.targets = append(known.targets, target)
	}
}

// refused reports whether validating resolvers would refuse something of the zone if the parent zone
// vouched for its keys.
func (s *zoneSecurity) refused() bool {
	return slices.ContainsFunc(s.notices, func(n notice) bool { return n.refused })
}

// record notes all results of a judgment: for each signature, because resolvers may pick any, and for the set.
func (s *zoneSecurity) record(j dnssec.Judgement, target string) {
	s.judged++
	for _, sig := range j.Signatures {
		rule := ruleOf[sig.Code]
		right := slices.ContainsFunc(j.Signatures, func(other dnssec.Signature) bool {
			return other.Valid && other.Owner == sig.Owner && other.TypeCovered == sig.TypeCovered
		})
		switch {
		case sig.Valid:
			s.age(sig, target)
		case right && rule == keyMissing: // a key may follow its signatures (RFC 6781 section 4.1.4)
		case right && rule != "":
			s.note(notice{rule: "zone.dnssec.signature.stray", refused: true, text: sig.Error}, target)
		case rule != "":
			s.note(notice{rule: rule, refused: true, text: sig.Error}, target)
		}
	}
	if j.Fault != nil && ruleOf[j.Fault.Code] != "" {
		s.note(notice{rule: ruleOf[j.Fault.Code], refused: true, text: j.Fault.Message}, target)
	}
}

// age notes what is wrong with the times of a signature that is right.
func (s *zoneSecurity) age(sig dnssec.Signature, target string) {
	what := fmt.Sprintf("The signature over %s %s by key %d", sig.TypeCovered, sig.Owner, sig.KeyTag)
	ends := notice{due: sig.Expiration, text: what + " expires on " + sig.Expiration.UTC().Format("2006-01-02 15:04 MST")}
	switch sig.Urgency() {
	case dnssec.Urgent:
		ends.rule = "zone.dnssec.signature.urgent"
		s.note(ends, target)
	case dnssec.Overdue:
		ends.rule = "zone.dnssec.signature.expiring"
		s.note(ends, target)
	}
	if sig.TooLong() {
		days := fmt.Sprintf("%s is valid for %d days", what, sig.Validity()/(24*time.Hour))
		s.note(notice{rule: "zone.dnssec.signature.long", text: days}, target)
	}
	if sig.ExceedsTTL() {
		text := fmt.Sprintf("The TTL of %s %s is %d seconds, and its signature allows %d", sig.TypeCovered, sig.Owner,
			sig.TTL, sig.OriginalTTL)
		s.note(notice{rule: "zone.dnssec.signature.ttl", text: text}, target)
	}
}
