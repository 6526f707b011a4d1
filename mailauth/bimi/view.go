package bimi

import (
	"cmp"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
)

// View is what a person sees of the report.
func (r *LookupReport) View() *view.View {
	v := view.OfRecord(r.RecordLookup, r.Verdict)
	v.Partial, v.Optional = r.Partial, r.State == diag.Missing
	v.PublishAt("v=BIMI1", r.RecordName+".", "TXT")
	v.Fact("record", r.Record)
	if r.Inherited {
		v.Fact("inherited", "from "+r.Location, "bimi.record.organizational")
	}
	if r.Declined {
		v.Fact("logo", "the record declines BIMI", "bimi.record.declined")
	} else if r.Found {
		v.Fact("logo", r.logo(), "bimi.logo_file", "bimi.location")
		v.Fact("certificate", r.certificate(), "bimi.certificate", "bimi.authority")
		v.Fact("same logo", matching(r.LogoMatchesCertificate), "bimi.logo_file.mismatch")
	}
	v.Fact("dmarc", r.DMARC.text(), "bimi.dmarc", "bimi.spf")
	if !r.Declined && (r.State == diag.Valid || r.State == diag.Warned) {
		v.Brief = view.Join("certificate: "+r.certificate(), r.DMARC.text())
	}
	return v
}

// View is what a person sees of the report.
func (r *ValidateReport) View() *view.View {
	v := view.Of("BIMI record", r.Verdict)
	v.Record = r.Record
	v.Fact("record", r.Record)
	v.Fact("logo", r.LogoURL, "bimi.location")
	v.Fact("certificate", r.CertificateURL, "bimi.authority", "bimi.certificate")
	if r.LocalPartSelectors != nil {
		v.Fact("selectors", cmp.Or(diag.Series(*r.LocalPartSelectors, 6), "all local parts"), "bimi.lps")
	}
	v.Fact("avatar", string(r.AvatarPreference), "bimi.avp")
	return v
}

// logo is where the logo is, and what was found there.
func (r *LookupReport) logo() string {
	if r.Logo.URL == "" {
		return r.LogoURL
	}
	return view.Join(r.LogoURL, r.Logo.Facts.Text())
}

// certificate is what the certificate says.
func (r *LookupReport) certificate() string {
	switch c := &r.Certificate; {
	case c.FingerprintSHA256 != "":
		return view.Join(strings.ToUpper(string(c.Type)), c.Remaining())
	case c.Findings != nil:
		return r.CertificateURL + ": no certificate"
	}
	return cmp.Or(r.CertificateURL, "none")
}

func matching(same *bool) string {
	switch {
	case same == nil:
		return ""
	case *same:
		return "as in the certificate"
	}
	return "not the one in the certificate"
}

// text says whether the DMARC policy lets receivers show the logo.
func (d *DMARC) text() string {
	policy := ""
	if d.Policy != "" {
		policy = "p=" + string(d.Policy)
	}
	switch {
	case d.Eligible == nil:
		return view.Join(policy, "not known whether it suffices")
	case d.Found != nil && !*d.Found:
		return "no record"
	case *d.Eligible:
		return view.Join(policy, "strong enough")
	}
	return view.Join(policy, "too weak")
}
