package dnssec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
)

// View is what a person sees of the report: whether the chain holds, and where it does not.
func (r *Report) View() *view.View {
	v := view.Of(r.Domain.String(), r.Judgement())
	v.Optional, v.Partial = r.Status == diag.Insecure, r.Status == diag.Indeterminate
	status := string(r.Status)
	if r.Signed && r.Status == diag.Insecure {
		status += ", though there are signatures"
	}
	v.Fact("status", status, "dnssec.ds", "dnssec.denial.optout")
	if f := r.FirstFailure; f.Code != "" {
		v.Fact("fails at", f.Zone+": "+f.Message, f.Code)
	}
	v.Fact("answer", r.Answer.text(r.Type.String()), "dnssec.answer")
	if n := len(r.Chain); n > 0 {
		v.Fact("algorithm", r.Chain[n-1].algorithms(), "dnssec.algorithm", "dnssec.key", "dnssec.dnskey")
		v.Fact("expires", r.Chain[n-1].due(), codeSigExpired, "dnssec.signature.urgent", "dnssec.signature.expiring")
		v.Fact("denial", r.Chain[n-1].Denial.text(), "dnssec.nsec3", "dnssec.denial")
	}
	if r.Status == diag.Secure {
		v.Brief = view.Join("secure", diag.Count(len(r.Chain), "zone")+" in the chain")
	}
	d := view.Drawing{Kind: view.Chain, Title: "Chain of trust", Columns: []string{"zone", "ds", "keys", "valid"}}
	for _, z := range r.Chain {
		mark, note := z.stands()
		ds := z.vouchers()
		if z.Parent == "" && z.Zone == r.TrustAnchor.Zone {
			ds = "anchor " + strings.Trim(fmt.Sprint(r.TrustAnchor.KeyTags), "[]")
		}
		d.Marked(mark, note, z.Zone, ds, z.tags(), z.signatures())
	}
	v.Draw(d)
	return v
}

// stands is how a zone stands, and in words where that is not secure.
func (z *Zone) stands() (view.Mark, string) {
	switch z.Status {
	case diag.Secure:
		return view.Good, ""
	case diag.Insecure:
		return view.Optional, "not signed"
	case diag.Bogus:
		return view.Critical, "broken here"
	}
	return view.Unknown, "not known"
}

// vouchers are the DS records, with what does not fit.
func (z *Zone) vouchers() string {
	var list []string
	for _, ds := range z.DS {
		text := fmt.Sprint(ds.KeyTag)
		if !ds.MatchesDNSKEY {
			text += " without key"
		}
		if len(list) == 0 || list[len(list)-1] != text { // one for each digest
			list = append(list, text)
		}
	}
	return cmp.Or(strings.Join(list, " "), "none")
}

// maxTags bounds the keys that a line names.
const maxTags = 4

func (z *Zone) tags() string {
	var list []string
	for _, k := range z.Keys {
		text := fmt.Sprintf("%s %d", k.Role, k.KeyTag)
		if k.Revoked {
			text += " revoked"
		}
		list = append(list, text)
	}
	return cmp.Or(strings.Join(list[:min(len(list), maxTags)], ", "), "none")
}

// signatures says how many of them are right.
func (z *Zone) signatures() string {
	valid := 0
	for _, s := range z.Signatures {
		if s.Valid {
			valid++
		}
	}
	if len(z.Signatures) == 0 {
		return "none"
	}
	return fmt.Sprintf("%d of %d", valid, len(z.Signatures))
}

// algorithms describes the keys.
func (z *Zone) algorithms() string {
	var list []string
	for _, k := range z.Keys {
		if text := fmt.Sprintf("%s, %d bits", k.AlgorithmName, k.KeySizeBits); !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return diag.Series(list, 3)
}

// due is when the first signature of the zone expires.
func (z *Zone) due() string {
	var first *Signature
	for i, s := range z.Signatures {
		if s.SignerName == z.Zone && (first == nil || s.Expiration.Before(first.Expiration)) {
			first = &z.Signatures[i]
		}
	}
	if first == nil {
		return ""
	}
	return view.Days(int(first.ExpiresInSeconds/86400), first.Expiration) + ": the first signature"
}

func (d Denial) text() string {
	if d.Type == "" {
		return ""
	}
	text := strings.ToUpper(string(d.Type))
	if d.Type == NSEC3 {
		text += ", " + diag.Count(d.Iterations, "iteration")
	}
	if d.OptOut {
		text += ", opt-out"
	}
	if !d.Proven {
		text += ", proves nothing"
	}
	return text
}

func (a *Answer) text(qtype string) string {
	if a.Rcode == "" {
		return "not known"
	}
	text := fmt.Sprintf("%s %s, %s", qtype, a.Rcode, diag.Count(len(a.Records), "record"))
	if a.RRSIGValid {
		text += ", validly signed"
	}
	return text
}
