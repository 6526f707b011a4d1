package dnssec

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/view"
)

// View presents the report: whether the chain is valid, and where it is not.
func (r *Report) View() *view.View {
	v := view.Of(r.Domain.String(), r.Judgement(), r.Status == diag.Indeterminate)
	v.Optional = r.Status == diag.Insecure
	v.Fact("status", string(r.Status)+view.TextIf(r.Signed && v.Optional, ", though there are signatures"),
		"dnssec.ds", "dnssec.denial.optout")
	if f := r.FirstFailure; f.Code != "" {
		v.Fact("fails at", f.Zone+": "+f.Message, f.Code)
	}
	a := r.Answer
	v.Fact("answer", cmp.Or(view.TextIf(a.Rcode == "", "not known"), fmt.Sprintf("%s %s, %s", r.Type, a.Rcode,
		phrase.Count(len(a.Records), "record"))+view.TextIf(a.RRSIGValid, ", validly signed")), "dnssec.answer")
	if n := len(r.Chain); n > 0 {
		algorithms := kit.Map(r.Chain[n-1].Keys, func(k DNSKEY) string {
			return fmt.Sprintf("%s, %d bits", k.AlgorithmName, k.KeySizeBits)
		})
		v.Fact("algorithm", phrase.Series(view.Unique(algorithms), 3), "dnssec.algorithm", "dnssec.key", "dnssec.dnskey")
		v.Fact("expires", r.Chain[n-1].due(), codeSigExpired, "dnssec.signature.urgent", "dnssec.signature.expiring")
		v.Fact("denial", r.Chain[n-1].Denial.text(), "dnssec.nsec3", "dnssec.denial")
	}
	v.BriefIf(r.Status == diag.Secure, "secure", phrase.Count(len(r.Chain), "zone")+" in the chain")
	d := v.Rows(view.Chain, "Chain of trust", "zone", "ds", "keys", "valid")
	for _, z := range r.Chain {
		ds := z.dsText()
		if z.Parent == "" && z.Zone == r.TrustAnchor.Zone {
			ds = "anchor " + strings.Trim(fmt.Sprint(r.TrustAnchor.KeyTags), "[]")
		}
		tags := kit.Map(z.Keys[:min(len(z.Keys), maxTags)], func(k DNSKEY) string {
			return fmt.Sprintf("%s %d", k.Role, k.KeyTag) + view.TextIf(k.Revoked, " revoked")
		})
		valid, n := view.CountIf(z.Signatures, func(s Signature) bool { return s.Valid }), len(z.Signatures)
		d.StatusRow(cmp.Or(standings[z.Status], view.Standing{Mark: view.Unknown, Note: "not known"}),
			z.Zone, ds, cmp.Or(strings.Join(tags, ", "), "none"),
			cmp.Or(view.TextIf(n == 0, "none"), fmt.Sprintf("%d of %d", valid, n)))
	}
	return v
}

// standings are the marks of a zone's status, and words for all but secure.
var standings = map[diag.DNSSECStatus]view.Standing{
	diag.Secure: {Mark: view.Good}, diag.Insecure: {Mark: view.Optional, Note: "not signed"},
	diag.Bogus: {Mark: view.Critical, Note: "broken here"},
}

// dsText are the DS records, with what does not fit.
func (z *Zone) dsText() string {
	var list []string
	for _, ds := range z.DS {
		text := fmt.Sprint(ds.KeyTag) + view.TextIf(!ds.MatchesDNSKEY, " without key")
		if len(list) == 0 || list[len(list)-1] != text { // one for each digest
			list = append(list, text)
		}
	}
	return cmp.Or(strings.Join(list, " "), "none")
}

// maxTags bounds the keys that a line names.
const maxTags = 4

// due is when the first signature of the zone expires.
func (z *Zone) due() string {
	first := soonest(z.Signatures, func(s Signature) bool { return s.SignerName == z.Zone })
	if first == nil {
		return ""
	}
	return view.Days(int(first.ExpiresInSeconds/86400), first.Expiration) + ": the first signature"
}

func (d Denial) text() string {
	return view.TextIf(d.Type != "", strings.ToUpper(string(d.Type))+
		view.TextIf(d.Type == NSEC3, ", "+phrase.Count(d.Iterations, "iteration"))+
		view.TextIf(d.OptOut, ", opt-out")+view.TextIf(!d.Proven, ", proves nothing"))
}
