package bimi

import (
	"github.com/diagkit/diagkit/mailauth/bimi/record"
	"github.com/diagkit/diagkit/mailauth/taglist"
)

// Fields are what a record says. Reports embed them.
type Fields struct {
	Valid              bool                    `json:"valid" doc:"whether receivers can use the record: there is one, without an error"`
	Version            string                  `json:"version,omitempty" doc:"version of the record" example:"BIMI1"`
	Declined           bool                    `json:"declined" doc:"whether the record says that no logo is to be shown"`
	LogoURL            string                  `json:"logo_url,omitempty" doc:"address of the logo as it stands in l"`
	CertificateURL     string                  `json:"certificate_url,omitempty" doc:"address of the certificate as it stands in a"`
	LocalPartSelectors *[]string               `json:"local_part_selectors,omitempty" doc:"beginnings of local parts that are selectors of their own (lps), empty if all are; absent without lps"`
	AvatarPreference   record.AvatarPreference `json:"avatar_preference,omitempty" doc:"what mailboxes that have an avatar of the sender are to show (avp)"`
	ParsedTags         []taglist.ParsedTag     `json:"parsed_tags" doc:"tags of the record"`
}

func (e *evidence) fields() Fields {
	f := Fields{Valid: e.valid(), ParsedTags: []taglist.ParsedTag{}}
	if r := e.record; r != nil {
		f.Version, f.Declined = record.Format.Version, r.Declined
		f.LogoURL, f.CertificateURL = printable(r.Location.Text), printable(r.Authority.Text)
		f.AvatarPreference = r.AvatarPreference
		f.ParsedTags = r.List.Parsed()
		if r.LocalPartSelectors {
			list := append([]string{}, r.Prefixes...)
			f.LocalPartSelectors = &list
		}
	}
	return f
}
