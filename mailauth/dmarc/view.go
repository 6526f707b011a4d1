package dmarc

import (
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
)

// View is what a person sees of the report.
func (r *LookupReport) View() *view.View {
	v := view.OfRecord(r.RecordLookup, r.Verdict)
	v.Partial = r.Partial
	v.PublishAt("v=DMARC1", r.RecordName+".", "TXT")
	v.Fact("record", r.Record)
	if r.Inherited {
		v.Fact("inherited", "from "+r.Location)
	}
	r.facts(v)
	if list := r.Views; len(list) == 2 && list[0].applied() != list[1].applied() {
		v.Fact("receivers", list[0].text()+"; "+list[1].text(), "dmarc.standards")
	}
	if r.Record != "" && (r.State == diag.Valid || r.State == diag.Warned) {
		from := ""
		if r.Inherited {
			from = "from " + r.Location
		}
		v.Brief = view.Join(r.policy(), from, r.reports())
	}
	for _, f := range v.Findings {
		if f.Code == "dmarc.record.void" {
			_, why, _ := strings.Cut(strings.TrimSuffix(f.Detail, "."), ". ") // which tags it has instead
			v.Brief = view.Join("no policy", why)
		}
	}
	d := view.Drawing{Kind: view.Table, Title: "Report addresses in other organizations"}
	d.Columns = []string{"domain", "consent"}
	for _, e := range r.ExternalDestinations {
		mark, note := e.text()
		d.Marked(mark, "", e.Domain, note)
	}
	v.Draw(d)
	return v
}

// View is what a person sees of the report.
func (r *Analysis) View() *view.View {
	v := view.Of("DMARC record", r.Verdict)
	v.Record = r.Record
	v.Fact("record", r.Record)
	r.facts(v)
	if r.Valid {
		v.Brief = view.Join(r.policy(), r.reports())
	}
	return v
}

// View is what a person sees of the report: the records to publish, one after the other.
func (r *GenerateReport) View() *view.View {
	v := view.Answer(r.Name, "The DMARC record can be published")
	if n := len(r.Rollout); n > 1 {
		v.Headline = fmt.Sprintf("Publish the DMARC record in %d steps", n)
		v.Sub = "Begin with the first: the reports that arrive show whether the next step would lose mail."
	}
	v.Brief, v.Record = r.Record, r.Record
	v.Judged(r.Findings)
	v.Advise()
	v.Fact("record", r.Record)
	if r.Analysis != nil {
		r.Analysis.facts(v)
	}
	name := r.Name
	if strings.Contains(name, ".") {
		name += "."
	}
	var steps []view.Step
	for _, s := range r.Rollout {
		text := fmt.Sprintf("Publish p=%s. ", s.Policy)
		if s.DurationDays > 0 {
			text = fmt.Sprintf("Publish p=%s for at least %s. ", s.Policy, diag.Count(s.DurationDays, "day"))
		}
		steps = append(steps, view.Step{Text: text + s.Goal, Name: name, Type: r.Type, Value: s.Record})
	}
	for _, a := range r.ExternalAuthorizations {
		steps = append(steps, view.Step{Text: "Have this published by the owner of the report address.",
			Name: a.Name + ".", Type: a.Type, Value: a.Value})
	}
	v.Steps = append(steps, v.Steps...)
	return v
}

// facts are those of the record, if there is one.
func (d *Details) facts(v *view.View) {
	if d.Version == "" {
		return
	}
	v.Fact("policy", d.policy(), "dmarc.policy", "dmarc.standards")
	below := string(d.Effective.SubdomainPolicy)
	if np := string(d.Effective.NonexistentSubdomainPolicy); np != below {
		below += ", nonexistent ones " + np
	}
	v.Fact("subdomains", below, "dmarc.subdomain")
	to := addresses(d.AggregateURIs)
	if to == "" {
		to = "not asked for"
	}
	v.Fact("reports to", to, "dmarc.rua", "dmarc.uri", "dmarc.destination")
	v.Fact("failures to", addresses(d.FailureURIs))
	v.Fact("alignment", view.Join(labelled("DKIM", d.DKIMAlignment), labelled("SPF", d.SPFAlignment)), "dmarc.alignment")
}

// policy is what the record asks for, and what becomes of it.
func (d *Details) policy() string {
	text := "p=" + string(d.Policy)
	if d.Policy == "" {
		return "not valid, receivers assume " + string(d.Effective.Policy)
	}
	if d.Percentage != nil && *d.Percentage < policy.DefaultPercentage {
		text += fmt.Sprintf(" for %d%% of the mail", *d.Percentage)
	}
	switch {
	case d.Testing:
		text += ", only tested"
	case d.Policy == policy.None:
		text += ", no protection"
	}
	if e := d.Effective.Policy; e != "" && e != d.Policy {
		text += ", applied: " + string(e)
	}
	return text
}

// reports says to how many addresses reports go.
func (d *Details) reports() string {
	switch n := len(d.AggregateURIs); n {
	case 0:
		return "no reports"
	case 1:
		return "reports to 1 address"
	default:
		return fmt.Sprintf("reports to %d addresses", n)
	}
}

func addresses(uris []URI) string {
	var list []string
	for _, u := range uris {
		text := u.Address
		if !u.Valid {
			text = u.URI + " (not valid)"
		}
		list = append(list, text)
	}
	return diag.Series(list, 4)
}

func labelled(name string, a policy.Alignment) string {
	if a == "" {
		return ""
	}
	return name + " " + string(a)
}

// text says what receivers of the standard do.
func (w *View) text() string {
	return strings.Replace(strings.ToUpper(string(w.Standard)), "RFC", "RFC ", 1) + ": " + w.applied()
}

func (w *View) applied() string {
	switch {
	case !w.Usable:
		return "no policy"
	case w.Percentage < policy.DefaultPercentage:
		return fmt.Sprintf("%s for %d%%", w.AppliedPolicy, w.Percentage)
	}
	return string(w.AppliedPolicy)
}

// text says whether the destination takes reports.
func (e *Destination) text() (view.Mark, string) {
	switch {
	case e.Authorized == nil:
		return view.Unknown, "not known"
	case !*e.Authorized:
		return view.Warning, "not given at " + e.RecordName
	case e.Wildcard:
		return view.Good, "for every domain"
	}
	return view.Good, "for this domain"
}
