package tlsrpt

import (
	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
)

// View is what a person sees of the report.
func (r *LookupReport) View() *view.View {
	v := view.OfRecord(r.RecordLookup, r.Verdict)
	v.Partial = r.Partial
	v.PublishAt("v=TLSRPTv1", r.RecordName+".", "TXT")
	v.Fact("record", r.Record)
	var list []string
	for _, d := range r.RUA {
		text := d.Destination
		switch {
		case !d.Valid:
			text = d.URI + " (not valid)"
		case d.External:
			text += " (another organization)"
		}
		list = append(list, text)
	}
	v.Fact("reports to", diag.Series(list, 4), "tlsrpt.rua", "tlsrpt.destination")
	if r.Found || r.MTASTSFound || r.DANEFound {
		v.Fact("reports on", r.policies(), "tlsrpt.policy")
	}
	if r.Valid {
		v.Brief = view.Join("reports to "+diag.Series(list, 1), r.policies())
	}
	return v
}

// policies are those whose failures reports tell.
func (r *LookupReport) policies() string {
	switch {
	case r.MTASTSFound && r.DANEFound:
		return "MTA-STS and DANE"
	case r.MTASTSFound:
		return "MTA-STS"
	case r.DANEFound:
		return "DANE"
	}
	return "STARTTLS alone"
}
