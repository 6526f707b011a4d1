package target

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
)

// View joins the parts: the consequence in a sentence, a line for each part, what to do first, and all findings.
func (w *Whole) View() *view.View {
	v := &view.View{Subject: w.Target.Text}
	seen := map[string]bool{}
	for _, p := range w.Parts {
		if p.View == nil {
			v.Partial = v.Partial || !errors.Is(p.Err, ErrNothing)
			continue
		}
		v.Partial = v.Partial || p.View.Partial
		for _, f := range p.View.Findings {
			key := string(f.Code) + f.Target
			if strings.HasSuffix(string(f.Code), nonexistent) {
				key = nonexistent
			}
			if !seen[key] {
				seen[key] = true
				v.Findings = append(v.Findings, f)
			}
		}
		v.Steps = append(v.Steps, diag.Map(p.View.Steps, named)...)
	}
	gravest := func(a, b diag.Severity) int { return int(b) - int(a) }
	slices.SortStableFunc(v.Findings, func(a, b diag.Finding) int { return gravest(a.Severity, b.Severity) })
	slices.SortStableFunc(v.Steps, func(a, b view.Step) int { return gravest(a.Severity, b.Severity) })
	v.Steps = distinct(v.Steps)
	v.Headline = w.headline(v)
	v.Brief, v.Counts = v.Headline, counts(v.Findings)
	d := v.Rows(view.Sections, "")
	known, all := 0, 0
	for _, r := range w.rows() {
		if all += r.checks; r.mark != view.Unknown && !r.idle {
			known += r.checks
		}
		d.Marked(r.mark, "", strings.ToUpper(r.group), r.name, r.brief)
	}
	v.Foot = fmt.Sprintf("%d of %s in %.1f s · %s at the API",
		known, diag.Count(all, "check"), w.Took.Seconds(), diag.Count(w.Credits, "credit"))
	return v
}

// nonexistent ends the codes of what is found about a name that does not exist, whoever finds it.
const nonexistent = ".nxdomain"

func counts(findings []diag.Finding) string {
	n := map[diag.Severity]int{}
	for _, f := range findings {
		n[f.Severity]++
	}
	var parts []string
	for s := diag.Critical; s >= diag.Warning; s-- {
		switch {
		case n[s] == 0:
		case s == diag.Critical:
			parts = append(parts, fmt.Sprintf("%d critical", n[s]))
		default:
			parts = append(parts, diag.Count(n[s], s.String()))
		}
	}
	return strings.Join(parts, "  ")
}

// holders have the certificates that steps speak of, by how codes begin.
var holders = map[string]string{
	"tls": "web site", "hsts": "web site", "headers": "web site", "url": "web site",
	"smtp": "mail server", "mtasts": "policy host",
}

// named says whose certificate is to be renewed, since a domain has several.
func named(s view.Step) view.Step {
	family, _, _ := strings.Cut(string(s.Code), ".")
	const renew = "Renew the certificate"
	if rest, ok := strings.CutPrefix(s.Text, renew); ok && holders[family] != "" && !strings.HasPrefix(rest, " of") {
		s.Text = renew + " of the " + holders[family] + rest
	}
	return s
}

// siteFact matches codes of what several checks find out about one web site; the end tells what it is.
var siteFact = diag.Regexp(`^(?:tls|hsts|headers|url)\.(?:.+\.)?(certificate\.\w+|untrusted|connection|handshake)$`)

// distinct leaves out steps that publish the same as one before them, begin with the same sentence or are about the
// same fact, and all but the first about a name that does not exist.
func distinct(steps []view.Step) []view.Step {
	told := map[string]bool{}
	return slices.DeleteFunc(steps, func(s view.Step) bool {
		keys := []string{s.Text, string(s.Code)}
		if s.Value != "" {
			keys = append(keys, s.Name+s.Type+s.Value)
		} else {
			first, _, _ := strings.Cut(s.Text, ". ")
			keys = append(keys, strings.TrimSuffix(first, ".")+".")
		}
		if fact := siteFact().FindStringSubmatch(string(s.Code)); fact != nil {
			keys = append(keys, strings.TrimPrefix(fact[1], "certificate."))
		}
		if strings.HasSuffix(string(s.Code), nonexistent) {
			keys = []string{nonexistent}
		}
		again := slices.ContainsFunc(keys, func(k string) bool { return told[k] })
		for _, k := range keys {
			told[k] = true
		}
		return again
	})
}

// A consequence is what a finding means for somebody who is no expert. "{it}" stands for what was examined.
type consequence struct {
	topic string // of several about one, the gravest is told
	text  string
	least diag.Severity
	codes []diag.Code // or the beginnings of some, up to a dot
}

// consequencesText has the consequences in the order of what is felt first: topic, least severity and text in a line,
// and below it the codes.
//
//go:embed consequences.txt
var consequencesText string

var consequences = sync.OnceValue(func() (list []consequence) {
	for line := range strings.Lines(consequencesText) {
		if line[0] == '\t' {
			last := &list[len(list)-1]
			last.codes = append(last.codes, diag.Map(strings.Fields(line), func(s string) diag.Code { return diag.Code(s) })...)
			continue
		}
		var c consequence
		about, text, _ := strings.Cut(strings.TrimSpace(line), ": ")
		topic, least, _ := strings.Cut(about, " ")
		if c.topic, c.text = topic, text; c.least.UnmarshalText([]byte(least)) != nil {
			panic("consequences.txt: " + line) // which a test would see
		}
		list = append(list, c)
	}
	return list
})

// headline says what the gravest findings mean, at most two.
func (w *Whole) headline(v *view.View) string {
	type clause struct {
		consequence
		worst diag.Severity
	}
	var told []clause
	for _, c := range consequences() {
		again := slices.ContainsFunc(told, func(o clause) bool { return o.topic == c.topic })
		is := func(f diag.Finding) bool { return f.Severity >= c.least && c.about(f.Code) }
		if i := slices.IndexFunc(v.Findings, is); i >= 0 && !again { // the gravest come first
			told = append(told, clause{c, v.Findings[i].Severity})
		}
	}
	slices.SortStableFunc(told, func(a, b clause) int { return int(b.worst) - int(a.worst) })
	switch {
	case len(told) == 0:
		return w.quiet(v)
	case told[0].topic == "exists" || len(told) == 1 || told[1].worst < diag.Error:
		return said(told[0].text, w.noun()) + "."
	}
	return said(told[0].text, w.noun()) + ", and " +
		strings.ReplaceAll(genitive().ReplaceAllString(told[1].text, "its $1"), "{it}", "it") + "."
}

var genitive = diag.Regexp(`\bthe ([a-z ]+) of \{it\}`)

// about reports whether a finding is one of those. That something is not known has no consequence.
func (c consequence) about(code diag.Code) bool {
	if strings.HasSuffix(string(code), ".unknown") || strings.HasSuffix(string(code), ".unanswered") {
		return false
	}
	return slices.ContainsFunc(c.codes, func(is diag.Code) bool {
		return strings.HasPrefix(string(code+"."), string(is+"."))
	})
}

func said(text, noun string) string { return diag.Upper(strings.ReplaceAll(text, "{it}", noun)) }

// noun is what was examined.
func (w *Whole) noun() string {
	switch w.Target.Kind {
	case URL:
		return "this page"
	case Address:
		return "this address"
	}
	return "this domain"
}

// quiet is the headline where no finding has a consequence that is felt.
func (w *Whole) quiet(v *view.View) string {
	switch {
	case !slices.ContainsFunc(w.Parts, func(p Part) bool { return p.View != nil }):
		return "Nothing could be learned."
	case !slices.ContainsFunc(w.Parts, func(p Part) bool { return p.View != nil && !p.View.Optional }):
		v.Optional = true
		return "There was nothing to examine."
	case len(v.Findings) > 0 && v.Findings[0].Severity >= diag.Error:
		return v.Findings[0].Title + "."
	case v.Partial:
		return "Nothing wrong was found, but not everything answered."
	case len(v.Findings) > 0:
		return "Nothing is broken; " + diag.Count(len(v.Findings), "thing") + " could be safer."
	}
	return "Everything that was checked is in order."
}

func grave(v *view.View) (worst diag.Severity) {
	for _, f := range v.Findings {
		worst = max(worst, f.Severity)
	}
	return worst
}
