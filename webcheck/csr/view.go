package csr

import (
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/diag/view"
)

// View is what a person sees of the report.
func (r *Report) View() *view.View {
	subject := "signing request"
	if len(r.Names) > 0 {
		subject = r.Names[0].Value
	} else if r.Subject.Short() != "" {
		subject = r.Subject.Short()
	}
	v := view.Of(subject, diag.Verdict{
		Headline: r.Headline, Sub: r.Sub, Findings: r.Findings, Recommendations: r.Recommendations,
		State: map[Outcome]diag.State{compliant: diag.Valid, warned: diag.Warned}[r.Outcome],
	})
	if v.State == "" {
		v.State = diag.Bad
	}
	v.Fact("names", diag.Series(diag.Map(r.Names, func(n Name) string { return n.Value }), 4), "csr.names", "csr.cn")
	v.Fact("subject", diag.Clip(r.Subject.Raw, maxShown), "csr.subject")
	if r.PublicKey.Algorithm != "" {
		v.Fact("key", r.PublicKey.Short(), "csr.key")
	}
	v.Fact("weaknesses", r.WeakKey.text(), "csr.key")
	if s := &r.Signature; s.Algorithm != "" {
		v.Fact("signature", s.text(), "csr.signature")
	}
	v.Fact("asks for", r.Extensions.text(), "csr.usage", "csr.purpose", "csr.constraints", "csr.staple")
	v.Fact("spki", r.SPKISHA256)
	d := view.Drawing{Kind: view.Table, Title: "Requirements of public authorities",
		Columns: []string{"requirement", "status"}}
	met := 0
	for _, c := range r.Compliance {
		switch c.Status {
		case compliancePass:
			met++
		case complianceWarning:
			d.Marked(view.Warning, "", c.Rule, string(c.Status))
		default:
			d.Marked(view.Error, "", c.Rule, string(c.Status))
		}
	}
	if len(r.Compliance) > 0 {
		v.Fact("requirements", fmt.Sprintf("%d of %d met", met, len(r.Compliance)))
	}
	v.Draw(d)
	if v.Mark() == view.Good && r.PublicKey.Algorithm != "" {
		v.Brief = view.Join(diag.Series(diag.Map(r.Names, func(n Name) string { return n.Value }), 2), r.PublicKey.Short())
	}
	return v
}

// maxShown bounds the texts of strangers that a view shows, in bytes.
const maxShown = 160

// text says which weaknesses were looked for.
func (w WeakKey) text() string {
	if w.Checks == nil {
		return ""
	}
	var found []string
	looked := 0
	for _, c := range w.Checks {
		if c.Status != pki.CheckSkipped {
			looked++
		}
		if c.Status == pki.CheckFailed {
			found = append(found, string(c.Code))
		}
	}
	if len(found) > 0 {
		return strings.Join(found, ", ")
	}
	return fmt.Sprintf("none of %d that were looked for", looked)
}

func (s *Signature) text() string {
	switch {
	case s.Valid == nil:
		return s.Algorithm + ", not checked"
	case !*s.Valid:
		return s.Algorithm + ", not of this key"
	}
	return s.Algorithm + ", valid"
}

// text names the extensions that are asked for.
func (x Extensions) text() string {
	list := append(append([]string{}, x.ExtKeyUsage...), x.KeyUsage...)
	if x.MustStaple {
		list = append(list, "OCSP stapling")
	}
	return diag.Series(append(list, x.Others...), 6)
}
