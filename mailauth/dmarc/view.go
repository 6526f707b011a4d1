package dmarc

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
)

// View renders the report for display.
func (r *LookupReport) View() *view.View {
	v := view.OfRecord(r.RecordLookup, r.Verdict, r.Partial, "v=DMARC1")
	from := view.TextIf(r.Inherited, "from "+r.Location)
	v.Fact("inherited", from)
	r.facts(v)
	if list := r.Views; len(list) == 2 && list[0].applied() != list[1].applied() {
		v.Fact("receivers", list[0].text()+"; "+list[1].text(), "dmarc.standards")
	}
	v.BriefIf(r.Record != "" && (r.State == diag.Valid || r.State == diag.Warned), r.policy(), from, r.reports())
	for _, f := range v.Findings {
		if f.Code == "dmarc.record.void" {
			_, why, _ := strings.Cut(strings.TrimSuffix(f.Detail, "."), ". ") // which tags it has instead
			v.Brief = view.Join("no policy", why)
		}
	}
	d := v.Rows(view.Table, "Report addresses in other organizations", "domain", "consent")
	for _, e := range r.ExternalDestinations {
		d.Marked(view.Known(e.Authorized, view.Good, view.Warning, view.Unknown), "",
			e.Domain, view.Known(e.Authorized, cmp.Or(view.TextIf(e.Wildcard, "for every domain"), "for this domain"),
				"not given at "+e.RecordName, "not known"))
	}
	return v
}

// View renders the report for display.
func (r *Analysis) View() *view.View {
	v := view.Of("DMARC record", r.Verdict, false)
	v.Record = r.Record
	v.Fact("record", r.Record)
	r.facts(v)
	v.BriefIf(r.Valid, r.policy(), r.reports())
	return v
}

// View renders the report for display: what to change in the request, what others must publish, and then the records,
// one after the other.
func (r *GenerateReport) View() *view.View {
	v := view.Answer(r.Name, "The DMARC record can be published")
	v.Brief, v.Record = r.Record, r.Record
	v.Judged(r.Findings)
	v.Advise()
	v.Fact("record", r.Record)
	if r.Analysis != nil {
		r.Analysis.facts(v)
	}
	for _, a := range r.ExternalAuthorizations {
		v.Steps = append(v.Steps, view.Step{Text: "Have the owner of the report address publish this: until then no report " +
			"is sent there.",
			Name: a.Name + ".", Type: a.Type, Value: a.Value})
	}
	name := r.Name + view.TextIf(strings.Contains(r.Name, "."), ".")
	for _, s := range r.Rollout {
		text := fmt.Sprintf("Publish p=%s%s. %s", s.Policy,
			view.TextIf(s.DurationDays > 0, " for at least "+phrase.Count(s.DurationDays, "day")), s.Goal)
		v.Steps = append(v.Steps, view.Step{Text: text, Name: name, Type: r.Type, Value: s.Record})
	}
	if n := len(v.Steps); n > 1 {
		v.Headline = fmt.Sprintf("Publish the DMARC record in %d steps", n)
	}
	if len(r.Rollout) > 1 {
		v.Sub = "The reports that arrive after the first record show whether the next one would lose mail."
	}
	return v
}

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
	v.Fact("reports to", cmp.Or(addresses(d.AggregateURIs), "not asked for"),
		"dmarc.rua", "dmarc.uri", "dmarc.destination")
	v.Fact("failures to", addresses(d.FailureURIs))
	v.Fact("alignment", view.Join(view.TextIf(d.DKIMAlignment != "", "DKIM "+string(d.DKIMAlignment)),
		view.TextIf(d.SPFAlignment != "", "SPF "+string(d.SPFAlignment))), "dmarc.alignment")
}

func (d *Details) policy() string {
	applied := d.Effective.Policy
	if d.Policy == "" {
		return "not valid, receivers assume " + string(applied)
	}
	text := "p=" + string(d.Policy)
	if d.Percentage != nil && *d.Percentage < policy.DefaultPercentage {
		text += fmt.Sprintf(" for %d%% of the mail", *d.Percentage)
	}
	return text +
		cmp.Or(view.TextIf(d.Testing, ", only tested"), view.TextIf(d.Policy == policy.None, ", no protection")) +
		view.TextIf(applied != "" && applied != d.Policy, ", applied: "+string(applied))
}

func (d *Details) reports() string {
	n := len(d.AggregateURIs)
	return cmp.Or(view.TextIf(n == 0, "no reports"), fmt.Sprintf("reports to %d address%s", n, view.TextIf(n > 1, "es")))
}

func addresses(uris []URI) string {
	return phrase.Series(kit.Map(uris, func(u URI) string {
		return cmp.Or(view.TextIf(u.Valid, u.Address), view.TextIf(!u.Valid, u.URI+" (not valid)"))
	}), 4)
}

func (w *View) text() string {
	return strings.Replace(strings.ToUpper(string(w.Standard)), "RFC", "RFC ", 1) + ": " + w.applied()
}

func (w *View) applied() string {
	if !w.Usable {
		return "no policy"
	}
	return string(w.AppliedPolicy) +
		view.TextIf(w.Percentage < policy.DefaultPercentage, fmt.Sprintf(" for %d%%", w.Percentage))
}
