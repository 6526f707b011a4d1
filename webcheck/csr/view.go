package csr

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/diag/view"
)

// View presents the report.
func (r *Report) View() *view.View {
	names := kit.Map(r.Names, func(n Name) string { return n.Value })
	subject := cmp.Or(r.Subject.Short(), "signing request")
	if len(names) > 0 {
		subject = names[0]
	}
	v := view.Of(subject, diag.Verdict{
		Headline: r.Headline, Sub: r.Sub, Findings: r.Findings, Recommendations: r.Recommendations,
		State: cmp.Or(map[Outcome]diag.State{Compliant: diag.Valid, Warned: diag.Warned}[r.Outcome], diag.Bad),
	}, false)
	v.Fact("names", phrase.Series(names, 4), "csr.names", "csr.cn")
	v.Fact("subject", phrase.Clip(r.Subject.Raw, maxShown), "csr.subject")
	v.Fact("key", r.PublicKey.Short(), "csr.key")
	v.Fact("weaknesses", r.WeakKey.text(), "csr.key")
	s, x := r.Signature, r.Extensions
	v.Fact("signature", view.TextIf(s.Algorithm != "", s.Algorithm+", "+
		view.Known(s.Valid, "valid", "not of this key", "not checked")), "csr.signature")
	asked := slices.Concat(x.ExtKeyUsage, x.KeyUsage)
	if x.MustStaple {
		asked = append(asked, "OCSP stapling")
	}
	v.Fact("asks for", phrase.Series(append(asked, x.Others...), 6),
		"csr.usage", "csr.purpose", "csr.constraints", "csr.staple")
	v.Fact("spki", r.SPKISHA256)
	d, met := v.Rows(view.Table, "Requirements of public authorities", "requirement", "status"), 0
	for _, c := range r.Compliance {
		if c.Status == CompliancePass {
			met++
			continue
		}
		d.StatusRow(cmp.Or(view.MarkIf(c.Status == ComplianceWarning, view.Warning, ""), view.Standing{Mark: view.Error}),
			c.Rule, string(c.Status))
	}
	v.Fact("requirements", view.TextIf(len(r.Compliance) > 0, fmt.Sprintf("%d of %d met", met, len(r.Compliance))))
	if r.CleanPEM != "" && r.Outcome == Compliant {
		v.Steps = append(v.Steps,
			view.Step{Code: "csr.pem.form", Severity: diag.Info, Text: "Submit the request as this file.",
				Value: r.CleanPEM})
	}
	v.BriefIf(v.Mark() == view.Good && r.PublicKey.Algorithm != "", phrase.Series(names, 2), r.PublicKey.Short())
	return v
}

// maxShown bounds the texts of strangers that a view shows, in bytes.
const maxShown = 160

// text says which weaknesses were looked for.
func (w WeakKey) text() string {
	looked := len(w.Checks)
	found := view.Each(w.Checks, func(c pki.KeyCheck) string {
		if c.Status == pki.CheckSkipped {
			looked--
		}
		return view.TextIf(c.Status == pki.CheckFailed, string(c.Code))
	})
	return cmp.Or(strings.Join(found, ", "),
		view.TextIf(w.Checks != nil, fmt.Sprintf("none of %d that were looked for", looked)))
}
