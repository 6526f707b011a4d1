package zonecheck

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnssec"
	"github.com/diagkit/diagkit/diag/internal/survey"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/miekg/dns"
)

// denialRules hold the proofs of absence against what there is.
var denialRules = rule.Rules[*evidence]{{
	Code: "zone.dnssec.denial.existing", Severity: diag.Error, Weight: 5,
	Ref:         "RFC 8198 section 5, RFC 4034 section 4.1.2, RFC 5155 section 3.2.1",
	Title:       "NSEC or NSEC3 record denies records that exist",
	Requirement: "NSEC and NSEC3 records deny nothing that exists",
	Advice: "Sign the whole zone again, so that its NSEC or NSEC3 records have all names and their types, or update the " +
		"software if it signs while it answers: resolvers that reuse such a proof answer that the records do not exist.",
	When:  func(e *evidence) bool { return signed(e) && e.sec.held },
	Fails: func(e *evidence) rule.Failures { return e.sec.denied },
}, {
	Code: "zone.dnssec.parent.proof", Severity: diag.Critical, Weight: 10,
	Reads:       []rule.Source{parentDS, parentSecurity},
	Ref:         "RFC 4035 section 3.1.4.1, section 5.2",
	Title:       "Signed parent zone does not prove that the domain has no DS record",
	Requirement: "The parent zone proves that the domain has no DS record",
	Advice: "Ask the operator of the parent zone to repair its proof: its name servers must return signed NSEC or NSEC3 " +
		"records that show the delegation and no DS record. Until then validating resolvers reject the domain.",
	When: func(e *evidence) bool {
		return delegated(e) && e.cut.dsKnown && len(e.cut.ds) == 0 && (e.parentSigned() || e.Parent.DS.Err() != nil)
	},
	Fails: func(e *evidence) rule.Failures {
		var hosts []string
		for _, v := range e.Parent.Views {
			if v.ProvesNoDS(e.Zone) {
				return nil // which resolvers find
			}
			if e.Parent.Owes(v, e.Zone) {
				hosts = append(hosts, survey.BareName(v.Host))
			}
		}
		return rule.FailIf(len(hosts) > 0, "%s does not prove with NSEC or NSEC3 records that there is no DS record for %s: "+
			"its name servers %s do not return the record that shows the delegation.",
			phrase.Capitalize(e.parentName()), e.Domain,
			phrase.Series(view.Unique(hosts), 3)).About(survey.BareName(e.Parent.Zone))
	},
}}

// parentSigned reports whether the parent zone is known to be signed.
func (e *evidence) parentSigned() bool {
	proves := func(v survey.View) bool { return v.ProvesNoDS(e.Zone) }
	return e.Parent.Zone == "." || e.Parent.DS.Exists() || slices.ContainsFunc(e.Parent.Views, proves)
}

// A version is the zone as name servers have it whose SOA records have the same serial number.
type version struct {
	proofs *dnssec.KeptProofs
	data   map[recordSet]*survey.Address // what they returned, with one that did
}

// holdProofs looks for records that servers return and an NSEC or NSEC3 record of the same version denies: resolvers
// keep such a record and answer other queries with it (RFC 8198). One that lists types which its name does not have
// denies nothing; servers that sign while they answer do so on purpose (RFC 9824).
func (s *zoneSecurity) holdProofs(a *answers) {
	versions, soas := map[string]*version{}, a.soas()
	for _, ad := range a.serving {
		key := ad.IP.String()
		if soa := soas[ad]; soa != nil {
			key = fmt.Sprint(soa.Serial)
		}
		if versions[key] == nil {
			versions[key] = &version{s.NewKeptProofs(), map[recordSet]*survey.Address{}}
		}
		if !slices.Contains(s.bare, ad) {
			a.eachReply(ad, func(r survey.Reply) { s.held = versions[key].add(s, a, ad, r) || s.held })
		}
	}
	for _, key := range slices.Sorted(maps.Keys(versions)) {
		s.contradictions(a, versions[key])
	}
}

// contradictions takes note of the records of a version that its proofs deny.
func (s *zoneSecurity) contradictions(a *answers, v *version) {
	for _, set := range slices.SortedFunc(maps.Keys(v.data), func(x, y recordSet) int {
		return cmp.Or(strings.Compare(x.owner, y.owner), strings.Compare(x.rrtype, y.rrtype))
	}) {
		if text := v.proofs.Denies(set.owner, dns.StringToType[set.rrtype]); text != "" {
			owner := survey.BareName(set.owner)
			s.denied = append(s.denied, rule.Failure{
				Detail: fmt.Sprintf("%s, although %s returns %s records of %s.", text, a.place(v.data[set]), set.rrtype, owner),
				Target: owner,
			})
		}
	}
}

// eachReply calls a function for each reply of a server that asks for signatures.
func (a *answers) eachReply(ad *survey.Address, do func(survey.Reply)) {
	visit := func(r survey.Reply) {
		if r.OK() && r.EDNS() != nil && r.Msg.Authoritative {
			do(r)
		}
	}
	for _, r := range ad.Replies {
		visit(r)
	}
	for _, name := range slices.Sorted(maps.Keys(a.Content)) {
		for _, qtype := range slices.Sorted(maps.Keys(a.Content[name])) {
			if r := a.Content[name][qtype]; r.By == ad {
				visit(r)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.Within)) {
		if r := a.Within[name]; r.By == ad {
			visit(r)
		}
	}
}

// add keeps the proofs of a reply, and takes note of the records in it. It reports whether there were proofs.
func (v *version) add(s *zoneSecurity, a *answers, ad *survey.Address, r survey.Reply) (proofs bool) {
	isProof := func(rr dns.RR) bool {
		return rr.Header().Rrtype == dns.TypeNSEC || rr.Header().Rrtype == dns.TypeNSEC3
	}
	if proofs = slices.ContainsFunc(r.Msg.Ns, isProof); proofs {
		v.proofs.Keep(s.Read(r.Msg))
	}
	for _, rr := range slices.Concat(r.Msg.Answer, signedAside(r.Msg)) {
		h := rr.Header()
		set := recordSet{dns.CanonicalName(h.Name), dns.Type(h.Rrtype).String()}
		known := v.data[set] != nil || h.Rrtype == dns.TypeRRSIG || isProof(rr) || slices.Contains(unasked, h.Rrtype)
		if !known && h.Class == dns.ClassINET && dns.IsSubDomain(a.Zone, set.owner) && len(v.data) < maxHeld {
			v.data[set] = ad
		}
	}
	return proofs
}

// unasked are types that no client asks a resolver for: parent zones and secondaries read them (RFC 7344 section 3, RFC
// 5155 section 4). Servers that sign while they answer leave them out of their proofs, Knot DNS among them.
var unasked = []uint16{dns.TypeCDS, dns.TypeCDNSKEY, dns.TypeNSEC3PARAM}

// maxHeld bounds the sets of records of a version that are held against its proofs. Some twenty are asked for.
const maxHeld = 128

// signedAside lists the records in the additional section that have a signature, and so are no glue.
func signedAside(m *dns.Msg) (list []dns.RR) {
	for _, rr := range m.Extra {
		if slices.ContainsFunc(m.Extra, func(other dns.RR) bool {
			sig, ok := other.(*dns.RRSIG)
			return ok && sig.TypeCovered == rr.Header().Rrtype && strings.EqualFold(sig.Hdr.Name, rr.Header().Name)
		}) {
			list = append(list, rr)
		}
	}
	return list
}
