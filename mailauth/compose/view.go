package compose

import (
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/mailauth/mtasts"
)

const maxShown = 80

// Mark returns the mark of the part in a view of the composite.
func (s *Summary) Mark() view.Mark {
	switch {
	case s.Unneeded():
		return view.Optional
	case s.State == diag.Unknown:
		return view.Unknown
	}
	return view.Of("", diag.Verdict{State: s.State, Findings: s.Findings}, false).Mark()
}

// Brief returns the part in a line: what is wrong with it, or else its record if that is short.
func (s *Summary) Brief() string {
	if s.Mark() == view.Good && strings.HasPrefix(s.Record, "v=") && len(s.Record) <= maxShown {
		return s.Record
	}
	return s.Headline
}

// ViewOf starts the view of a composite, with the places of the values that its parts suggest.
func ViewOf(subject string, d diag.Domain, j diag.Verdict, partial bool) *view.View {
	v := view.Of(subject, j, partial)
	for _, begin := range []string{"Fix first: ", "Next step: "} {
		v.Brief = strings.TrimPrefix(v.Brief, begin)
	}
	setPlaces(v, d)
	return v
}

// setPlaces states where to publish the values that are suggested for a domain.
func setPlaces(v *view.View, d diag.Domain) {
	for begins, name := range map[string]string{
		"v=spf1": "", "v=DMARC1": "_dmarc.", "v=STSv1": "_mta-sts.", "v=TLSRPTv1": "_smtp._tls.", "v=BIMI1": "default._bimi.",
	} {
		v.PublishAt(begins, name+d.FQDN(), "TXT")
	}
	v.PublishAt("version:", mtasts.PolicyURL(d), "")
	v.PublishAt(nullMX, d.FQDN(), "MX")
}

// Draw adds the row of the part to a view of the composite, if there is one. Facts not in its summary come first.
func (p *Part[R]) Draw(d *view.Drawing, kind Kind, known ...string) {
	if p != nil && p.State != "" {
		d.Marked(p.Mark(), "", kind.Label, string(p.State), view.Join(append(known, p.Brief())...))
	}
}
