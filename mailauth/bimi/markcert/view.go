package markcert

import (
	"cmp"
	"strings"

	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/view"
)

// View renders the report for display.
func (r *ParseReport) View() *view.View {
	v := view.Of("mark certificate", r.Verdict, false)
	r.show(v)
	return v
}

// View renders the report for display.
func (r *LookupReport) View() *view.View {
	subject := r.URL
	if !r.Domain.IsZero() {
		subject = r.Domain.String()
	}
	v := view.Of(subject, r.Verdict, r.Partial)
	v.Record = r.Record
	v.PublishAt("v=BIMI1", r.RecordName+".", "TXT")
	if r.StatusCode == 0 || r.Certificate.FingerprintSHA256 == "" {
		v.Fact("address", r.URL, "cert_fetch_failed", "cert_url_invalid", "markcert.fetch", "markcert.record")
	}
	r.show(v)
	return v
}

func (r *ParseReport) show(v *view.View) {
	if c := &r.Certificate; c.FingerprintSHA256 != "" {
		kinds := map[Type]string{VMC: "verified mark certificate (VMC)", CMC: "common mark certificate (CMC)"}
		v.Fact("kind", cmp.Or(kinds[c.Type], "not known to be a mark certificate"),
			"cert_not_vmc", "markcert.type", "markcert.pilot")
		mark := []string{string(c.MarkType), c.TrademarkCountry, c.TrademarkID}
		v.Fact("mark", strings.TrimSpace(strings.Join(mark, " ")), "markcert.subject")
		v.Fact("owner", c.Subject.Short(), "markcert.subject")
		v.Fact("domains", phrase.Series(c.SAN.DNS, 4), "cert_domain_mismatch", "markcert.names")
		v.Fact("ends", c.Remaining(), "cert_expired", "markcert.validity")
		logo := view.TextIf(!c.LogoEmbedded, "none that can be read")
		if c.LogoEmbedded && c.LogotypeSVGBytes != nil {
			logo = "SVG, " + phrase.Count(*c.LogotypeSVGBytes, "byte")
		}
		v.Fact("logo", cmp.Or(logo, "SVG"), "markcert.logotype", "markcert.logo")
		v.Fact("authority", view.Known(r.ChainTrusted, cmp.Or(r.RootName, "recognized"),
			cmp.Or(view.TextIf(r.RootName != "", r.RootName+", not trusted now"), "not recognized for mark certificates"), ""),
			"markcert.chain")
		v.Fact("logged", map[bool]string{true: "yes", false: "by no known log"}[c.CTLogged], "markcert.log")
		v.BriefIf(r.Valid, strings.ToUpper(string(c.Type)), c.Remaining())
	}
	d := v.Rows(view.Chain, "Certificates", "subject", "issued by", "ends")
	for _, c := range r.Chain {
		d.StatusRow(view.MarkIf(c.Expired || c.NotYetValid, view.Error, ""),
			c.Subject.Short(), c.Issuer.Short(), c.Remaining())
	}
}
