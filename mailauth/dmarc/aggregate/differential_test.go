package aggregate

import (
	"math/rand/v2"
	"net/netip"
	"strings"
)

// decorate writes the same report in another way: with comments, instructions, character data and references
// between and in its elements.
func decorate(r *rand.Rand, text string) string {
	var b strings.Builder
	for _, piece := range strings.SplitAfter(text, ">") {
		if value, tag, ok := strings.Cut(piece, "<"); ok && value != "" && !strings.Contains(value, "&") && r.IntN(6) == 0 {
			cut := r.IntN(len(value))
			piece = pick(r, value[:cut]+"<![CDATA["+value[cut:]+"]]>", value+"<!-- > -->", "<![CDATA["+value+"]]>") + "<" + tag
		}
		b.WriteString(piece)
		if strings.HasSuffix(piece, ">") && strings.Contains(piece, "</") && r.IntN(6) == 0 {
			b.WriteString(pick(r, "<!-- <record> -->", "<?x y?>", "\r\n\t", "<!---->"))
		}
	}
	return b.String()
}

// withoutPlace is a record without what encoding/xml does not know.
func withoutPlace(r Record) Record {
	r.Number, r.Line, r.Policy = 0, 0, nil
	return r
}

// expected is the Record of one that encoding/xml read. White space in texts is folded.
func expected(x xmlRecord) Record {
	r := Record{SourceIP: netip.MustParseAddr(x.Address), SourceText: x.Address, Count: x.Count,
		Disposition: Disposition(x.Disposition), DKIM: Result(x.DKIM), SPF: Result(x.SPF), HeaderFrom: x.HeaderFrom,
		EnvelopeFrom: x.EnvelopeFrom, EnvelopeTo: x.EnvelopeTo, Overrides: []Override{}, DKIMAuth: []DKIMAuth{},
		SPFAuth: []SPFAuth{}, Extensions: []Extension{}}
	for _, o := range x.Reasons {
		r.Overrides = append(r.Overrides, Override{OverrideType(o.Type), strings.Join(strings.Fields(o.Comment), " ")})
	}
	for _, d := range x.AuthDKIM {
		r.DKIMAuth = append(r.DKIMAuth, DKIMAuth{d.Domain, d.Selector, Result(d.Result), d.Human})
	}
	for _, s := range x.AuthSPF {
		r.SPFAuth = append(r.SPFAuth, SPFAuth{s.Domain, Scope(s.Scope), Result(s.Result), ""})
	}
	return r
}
