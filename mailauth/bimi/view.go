package bimi

import (
	"cmp"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/view"
)

// View renders the report for display.
func (r *LookupReport) View() *view.View {
	v := view.OfRecord(r.RecordLookup, r.Verdict, r.Partial, "v=BIMI1")
	v.Optional = r.State == diag.Missing
	v.Fact("inherited", view.TextIf(r.Inherited, "from "+r.Location), "bimi.record.organizational")
	if r.Declined {
		v.Fact("logo", "the record declines BIMI", "bimi.record.declined")
	} else if r.Found {
		v.Fact("logo", view.Join(r.LogoURL, view.TextIf(r.Logo.URL != "", r.Logo.Facts.Text())),
			"bimi.logo_file", "bimi.location")
		v.Fact("certificate", r.certificate(), "bimi.certificate", "bimi.authority")
		v.Fact("same logo", view.Known(r.LogoMatchesCertificate,
			"as in the certificate", "not the one in the certificate", ""), "bimi.logo_file.mismatch")
	}
	v.Fact("dmarc", r.DMARC.text(), "bimi.dmarc", "bimi.spf")
	v.BriefIf(!r.Declined && (r.State == diag.Valid || r.State == diag.Warned),
		"certificate: "+r.certificate(), r.DMARC.text())
	return v
}

// View renders the report for display.
func (r *ValidateReport) View() *view.View {
	v := view.Of("BIMI record", r.Verdict, false)
	v.Record = r.Record
	v.Fact("record", r.Record)
	v.Fact("logo", r.LogoURL, "bimi.location")
	v.Fact("certificate", r.CertificateURL, "bimi.authority", "bimi.certificate")
	if r.LocalPartSelectors != nil {
		v.Fact("selectors", cmp.Or(phrase.Series(*r.LocalPartSelectors, 6), "all local parts"), "bimi.lps")
	}
	v.Fact("avatar", string(r.AvatarPreference), "bimi.avp")
	return v
}

func (r *LookupReport) certificate() string {
	switch c := &r.Certificate; {
	case c.FingerprintSHA256 != "":
		return view.Join(strings.ToUpper(string(c.Type)), c.Remaining())
	case c.Findings != nil:
		return r.CertificateURL + ": no certificate"
	}
	return cmp.Or(r.CertificateURL, "none")
}

func (d *DMARC) text() string {
	return cmp.Or(view.TextIf(d.Eligible != nil, view.Known(d.Found, "", "no record", "")),
		view.Join(view.TextIf(d.Policy != "", "p="+string(d.Policy)),
			view.Known(d.Eligible, "strong enough", "too weak", "not known whether it suffices")))
}
