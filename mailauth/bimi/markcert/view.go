package markcert

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
)

// View is what a person sees of the report.
func (r *ParseReport) View() *view.View {
	v := view.Of("mark certificate", r.Verdict)
	r.show(v)
	return v
}

// View is what a person sees of the report.
func (r *LookupReport) View() *view.View {
	subject := r.URL
	if !r.Domain.IsZero() {
		subject = r.Domain.String()
	}
	v := view.Of(subject, r.Verdict)
	v.Partial, v.Record = r.Partial, r.Record
	v.PublishAt("v=BIMI1", r.RecordName+".", "TXT")
	if r.StatusCode == 0 || r.Certificate.FingerprintSHA256 == "" {
		v.Fact("address", r.URL, "cert_fetch_failed", "cert_url_invalid", "markcert.fetch", "markcert.record")
	}
	r.show(v)
	return v
}

// show adds the facts of the certificate, and the chain.
func (r *ParseReport) show(v *view.View) {
	if c := &r.Certificate; c.FingerprintSHA256 != "" {
		v.Fact("kind", kind(c), "cert_not_vmc", "markcert.type", "markcert.pilot")
		mark := []string{string(c.MarkType), c.TrademarkCountry, c.TrademarkID}
		v.Fact("mark", strings.TrimSpace(strings.Join(mark, " ")), "markcert.subject")
		v.Fact("owner", c.Subject.Short(), "markcert.subject")
		v.Fact("domains", diag.Series(c.SAN.DNS, 4), "cert_domain_mismatch", "markcert.names")
		v.Fact("ends", c.Remaining(), "cert_expired", "markcert.validity")
		v.Fact("logo", embedded(c), "markcert.logotype", "markcert.logo")
		v.Fact("authority", r.authority(), "markcert.chain")
		v.Fact("logged", map[bool]string{true: "yes", false: "by no known log"}[c.CTLogged], "markcert.log")
		if r.Valid {
			v.Brief = view.Join(strings.ToUpper(string(c.Type)), c.Remaining())
		}
	}
	d := view.Drawing{Kind: view.Chain, Title: "Certificates", Columns: []string{"subject", "issued by", "ends"}}
	for _, c := range r.Chain {
		mark := view.None
		if c.Expired || c.NotYetValid {
			mark = view.Error
		}
		d.Marked(mark, "", c.Subject.Short(), c.Issuer.Short(), c.Remaining())
	}
	v.Draw(d)
}

func kind(c *Certificate) string {
	switch c.Type {
	case vmc:
		return "verified mark certificate (VMC)"
	case cmc:
		return "common mark certificate (CMC)"
	}
	return "not known to be a mark certificate"
}

func embedded(c *Certificate) string {
	switch {
	case !c.LogoEmbedded:
		return "none that can be read"
	case c.LogotypeSVGBytes != nil:
		return fmt.Sprintf("SVG, %s", diag.Count(*c.LogotypeSVGBytes, "byte"))
	}
	return "SVG"
}

// authority says to whom the chain leads.
func (r *ParseReport) authority() string {
	switch {
	case r.ChainTrusted == nil:
		return ""
	case *r.ChainTrusted:
		return cmp.Or(r.RootName, "recognized")
	case r.RootName != "":
		return r.RootName + ", not trusted now"
	}
	return "not recognized for mark certificates"
}
