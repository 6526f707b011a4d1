package bimi

import (
	"maps"

	"github.com/diagkit/diagkit/diag"
)

var textsOffline = func() diag.Texts {
	t := maps.Clone(texts)
	t["excellent"] = diag.Text{
		Headline: "BIMI record is correct",
		Sub:      "The text was examined; logo, certificate and DMARC were not. Publish it and look the domain up.",
	}
	t["valid"] = t["excellent"]
	return t
}()

// texts are those for what was examined: the words of the parts where they speak for the whole, and no praise for what
// was not fetched.
func (e *evidence) texts() diag.Texts {
	t := maps.Clone(texts)
	for p, codes := range map[*part][]diag.Code{
		e.logo: {"bimi.logo_file.unknown", "bimi.logo_file.invalid", "bimi.logo_file.flawed"},
		e.mark: {"bimi.certificate.unknown", "bimi.certificate.invalid", "bimi.certificate.flawed"},
	} {
		for _, code := range codes {
			if p != nil {
				t[string(code)] = p.Text
			}
		}
	}
	what, rest := "", ""
	switch located, certified := e.unfetchedLogo(), e.unfetchedMark(); {
	case located && certified:
		what, rest = "BIMI record and DMARC policy are correct", "Logo and certificate were not examined."
	case located:
		what, rest = "BIMI record, certificate and DMARC policy are correct", "The logo was not examined."
	case certified:
		what, rest = "BIMI record, logo and DMARC policy are correct", "The certificate was not examined."
	default:
		return t
	}
	t["excellent"] = diag.Text{Headline: what, Sub: rest}
	t["valid"] = t["excellent"]
	return t
}

func (e *evidence) unfetchedLogo() bool { return e.active() && e.logo == nil }

func (e *evidence) unfetchedMark() bool {
	return e.active() && e.mark == nil && e.record.Authority.Text != ""
}

var texts = diag.Texts{
	"excellent": {Headline: "BIMI is set up correctly",
		Sub: "Receivers that support BIMI can show the logo. Whether one does is up to it and to your reputation there."},
	"valid": {Headline: "BIMI is set up",
		Sub: "Receivers that support BIMI can show the logo. Whether one does is up to it and to your reputation there."},
	"bimi.record.declined": {Headline: "BIMI is declined: the domain wants no logo shown",
		Sub: "Receivers show none. Write the address of a logo into l if one is to be shown."},
}
