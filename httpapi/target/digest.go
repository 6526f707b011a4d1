package target

import (
	"bytes"
	"cmp"
	"encoding/json"
	"html"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnssec"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/diag/registry"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/mailauth/bimi"
	"github.com/diagkit/diagkit/mailauth/domaincheck"
	"github.com/diagkit/diagkit/mailauth/mtasts"
	"github.com/diagkit/diagkit/mailauth/smtpcheck"
	"github.com/diagkit/diagkit/webcheck/headers"
	"github.com/diagkit/diagkit/webcheck/tlscert"
)

// A Digest is what a page shows of a whole, and a store can keep: the verdict, what to do, the parts with their facts,
// and what ends when. It has no reports, and its size is bounded, see [MaxDigest].
type Digest struct {
	At       time.Time       `json:"at"`
	Headline string          `json:"headline"`
	Sub      string          `json:"sub,omitempty"`
	Counts   Counts          `json:"counts"`
	Findings []DigestFinding `json:"findings,omitempty"` // warnings and worse, the gravest first
	Steps    []DigestStep    `json:"steps,omitempty"`    // the most urgent first
	Parts    []DigestPart    `json:"parts,omitempty"`
	Ends     []End           `json:"ends,omitempty"` // the earliest first
	// Omitted is how many findings and steps did not fit.
	Omitted int `json:"omitted,omitempty"`
}

// Counts are findings by severity.
type Counts struct {
	Critical int `json:"critical,omitempty"`
	Error    int `json:"error,omitempty"`
	Warning  int `json:"warning,omitempty"`
}

func (c *Counts) add(s diag.Severity, n int) {
	switch s {
	case diag.Critical:
		c.Critical += n
	case diag.Error:
		c.Error += n
	case diag.Warning:
		c.Warning += n
	}
}

// Mark returns the mark of the gravest finding.
func (c Counts) Mark() view.Mark {
	switch {
	case c.Critical > 0:
		return view.Critical
	case c.Error > 0:
		return view.Error
	case c.Warning > 0:
		return view.Warning
	}
	return view.None
}

// A DigestFinding is a finding without its advice, which is that of a step.
type DigestFinding struct {
	Code     diag.Code     `json:"code"`
	Severity diag.Severity `json:"severity"`
	Title    string        `json:"title"`
	Detail   string        `json:"detail,omitempty"`
	Target   string        `json:"target,omitempty"`
}

// A DigestStep is a step, and the codes of all that it fixes.
type DigestStep struct {
	view.Step
	Codes []diag.Code `json:"codes"`
	// Long is whether the step has a value that did not fit. A value is never cut.
	Long bool `json:"long,omitempty"`
}

// A DigestPart is a part of the checks, as a line of [Whole.View], with its facts.
type DigestPart struct {
	Group string      `json:"group"` // [Mail], [DNS] or [Web]; empty for an operation of one's own
	Name  string      `json:"name"`
	Mark  view.Mark   `json:"mark,omitempty"`
	Brief string      `json:"brief"`
	Facts []view.Fact `json:"facts,omitempty"`
}

// IsWrong reports whether the part has a warning or worse.
func (p DigestPart) IsWrong() bool {
	return p.Mark == view.Critical || p.Mark == view.Error || p.Mark == view.Warning
}

// An End is the time at which something ends.
type End struct {
	What string    `json:"what"`
	At   time.Time `json:"at"`
	Near bool      `json:"near,omitempty"` // whether a finding warns of it
}

// The bounds of a digest, whatever a domain publishes. Texts are cut, the last and mildest findings and steps left out.
const (
	// MaxDigest bounds the JSON of a digest in bytes, as it would be written in HTML; JSON that escapes < and > is no
	// longer than twice that.
	MaxDigest = 32 << 10

	maxDigestFindings = 64
	maxDigestSteps    = 40
	maxDigestParts    = 32
	maxDigestFacts    = 4 // of a part
	maxDigestEnds     = 16
	maxDigestCurrent  = 1    // record that is to be replaced
	maxDigestText     = 700  // bytes
	maxDigestDetail   = 320  // bytes
	maxDigestFact     = 120  // bytes
	maxDigestValue    = 2048 // bytes: keys of RSA with 8192 bits have 1,400
)

// Digest returns the digest of checks that were made at an instant. Checks that only query records are not part of it.
func (w *Whole) Digest(at time.Time) *Digest {
	checks := *w
	checks.Parts = slices.DeleteFunc(slices.Clone(w.Parts), func(p Part) bool { return p.Endpoint.Name() == "resolve" })
	w = &checks
	v := w.View()
	d := &Digest{At: at, Headline: v.Headline, Sub: v.Sub, Ends: w.ends(v.Findings)}
	for _, f := range v.Findings {
		d.Counts.add(f.Severity, 1)
		d.Findings = append(d.Findings, DigestFinding{f.Code, f.Severity, f.Title, phrase.Clip(f.Detail, maxDigestDetail),
			phrase.Clip(f.Target, maxDigestFact)})
	}
	for _, s := range v.Steps {
		one := DigestStep{Step: s, Codes: append([]diag.Code{s.Code}, s.Merged...)}
		one.Text = phrase.Clip(s.Text, maxDigestText)
		one.Current = nil
		for _, text := range s.Current[:min(len(s.Current), maxDigestCurrent)] {
			one.Current = append(one.Current, phrase.Clip(text, maxDigestDetail))
		}
		if one.Places, one.Merged = s.Places[:min(len(s.Places), mostNamed)], nil; len(s.Value) > maxDigestValue {
			one.Value, one.Long = "", true
		}
		d.Steps = append(d.Steps, one)
	}
	for _, r := range w.parts() {
		d.addPart(r)
	}
	d.bound()
	return d
}

// addPart adds a part. Those of which nothing is known for the same reason are one.
func (d *Digest) addPart(r row) {
	part := DigestPart{cmp.Or(r.group, groupOf(r.name)), r.name, r.mark, phrase.Clip(r.brief, maxDigestDetail), nil}
	if part.Mark == view.Unknown {
		i := slices.IndexFunc(d.Parts, func(p DigestPart) bool {
			return p.Group == part.Group && p.Mark == part.Mark && p.Brief == part.Brief
		})
		if i >= 0 {
			d.Parts[i].Name, d.Parts[i].Facts = d.Parts[i].Name+", "+part.Name, nil
			return
		}
	}
	for _, f := range r.facts[:min(len(r.facts), maxDigestFacts)] {
		f.Value = phrase.Clip(f.Value, maxDigestFact)
		part.Facts = append(part.Facts, f)
	}
	d.Parts = append(d.Parts, part)
}

// groupOf returns the group of an operation; empty if it is not of the public API.
func groupOf(operation string) string {
	ep, ok := httpapi.Endpoints().ByName(operation)
	if !ok {
		return ""
	}
	return map[string]string{"Mail": Mail, "DNS and registration": DNS, "Web": Web}[ep.Family()]
}

// common are the checks of a domain, by the names of their operations.
var common = sync.OnceValue(func() map[string]Check {
	byOperation := map[string]Check{}
	for _, c := range (Target{Kind: Domain, Text: "example.com"}).Checks(Options{}) {
		byOperation[c.Endpoint.Name()] = c
	}
	return byOperation
})

// bound leaves out what does not fit: facts first, then the mildest findings and the last steps.
func (d *Digest) bound() {
	d.Omitted += max(0, len(d.Findings)-maxDigestFindings) + max(0, len(d.Steps)-maxDigestSteps)
	d.Findings = d.Findings[:min(len(d.Findings), maxDigestFindings)]
	d.Steps = d.Steps[:min(len(d.Steps), maxDigestSteps)]
	d.Parts = d.Parts[:min(len(d.Parts), maxDigestParts)]
	d.Ends = d.Ends[:min(len(d.Ends), maxDigestEnds)]
	if d.size() > MaxDigest {
		for i := range d.Parts {
			d.Parts[i].Facts = nil
		}
	}
	for d.size() > MaxDigest && len(d.Findings)+len(d.Steps) > 0 {
		d.Omitted++
		if n := len(d.Steps); n > 1 && n >= len(d.Findings)/2 {
			d.Steps = d.Steps[:n-1]
		} else if n := len(d.Findings); n > 0 {
			d.Findings = d.Findings[:n-1]
		} else {
			d.Steps = nil
		}
	}
}

// size is the length of the digest in HTML, where quotation marks take the place of markup. The templates of
// html/template escape + as well.
func (d *Digest) size() int {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(d); err != nil {
		panic(err) // texts, numbers and times
	}
	return len(html.EscapeString(b.String())) + bytes.Count(b.Bytes(), []byte("+"))*len("&#43")
}

// Without returns the digest without the findings of some codes, and their steps. It then has no headline.
func (d Digest) Without(codes []diag.Code) *Digest {
	gone := func(code diag.Code) bool { return slices.Contains(codes, code) }
	findings := slices.Clone(d.Findings)
	d.Findings = slices.DeleteFunc(findings, func(f DigestFinding) bool {
		if gone(f.Code) {
			d.Counts.add(f.Severity, -1)
			d.Headline = ""
		}
		return gone(f.Code)
	})
	d.Steps = slices.DeleteFunc(slices.Clone(d.Steps), func(s DigestStep) bool {
		return !slices.ContainsFunc(s.Codes, func(code diag.Code) bool { return !gone(code) })
	})
	return &d
}

// A Task is what to do about a fault: one step, or several that follow each other.
type Task struct {
	Number int
	DigestStep
	Steps    []DigestStep    // of the same code, in their order
	Findings []DigestFinding // what it fixes; the first is the fault
	Left     Counts          // what is still wrong afterwards
}

// Tasks returns what to do, in order, with the state after each step. That counts findings whose codes are those of
// steps: what else a step changes is seen by the next checks.
func (d *Digest) Tasks() (list []Task) {
	left, fixed := d.Counts, map[int]bool{}
	for i, s := range d.Steps {
		if i > 0 && d.Steps[i-1].Code == s.Code {
			last := &list[len(list)-1]
			last.Steps = append(last.Steps, s)
			continue
		}
		t := Task{Number: len(list) + 1, DigestStep: s, Steps: []DigestStep{s}}
		for _, code := range s.Codes {
			for j, f := range d.Findings {
				if f.Code == code && !fixed[j] {
					fixed[j] = true
					left.add(f.Severity, -1)
					t.Findings = append(t.Findings, f)
				}
			}
		}
		t.Left = left
		list = append(list, t)
	}
	return list
}

// Others returns the findings that no step is about.
func (d *Digest) Others() []DigestFinding {
	return slices.DeleteFunc(slices.Clone(d.Findings), func(f DigestFinding) bool {
		return slices.ContainsFunc(d.Steps, func(s DigestStep) bool { return slices.Contains(s.Codes, f.Code) })
	})
}

// ends returns what ends when, the earliest first, as far as the reports say.
func (w *Whole) ends(findings []diag.Finding) (list []End) {
	add := func(what string, at time.Time) {
		one := End{What: phrase.Clip(what, maxDigestFact), At: at.UTC()}
		if !at.IsZero() && !slices.Contains(list, one) {
			list = append(list, one)
		}
	}
	for _, p := range w.Parts {
		addEnds(p.Report, add)
	}
	for _, f := range findings {
		same := func(e End) bool { return e.At.Sub(f.Due).Abs() < time.Minute }
		if !slices.ContainsFunc(list, same) {
			add(f.Title, f.Due)
		}
		for i := range list {
			list[i].Near = list[i].Near || same(list[i])
		}
	}
	slices.SortStableFunc(list, func(a, b End) int { return cmp.Or(a.At.Compare(b.At), strings.Compare(a.What, b.What)) })
	return list
}

func addEnds(report any, add func(what string, at time.Time)) {
	leaf := func(what string, chain []pki.Certificate) {
		if len(chain) > 0 {
			add(what, chain[0].NotAfter)
		}
	}
	switch r := report.(type) {
	case *registry.DomainReport:
		add("Registration of the domain", r.Dates.ExpiresAt)
	case *tlscert.Report:
		add("Certificate of the website "+r.Host, r.Certificate.NotAfter)
	case *headers.Report:
		add("security.txt", r.SecurityTxt.Expires)
	case *smtpcheck.Report:
		if r == nil {
			return
		}
		for _, s := range r.Servers {
			leaf("Certificate of the mail server "+s.Host, s.TLS.Chain)
		}
	case *mtasts.Report:
		if r != nil {
			leaf("Certificate of the MTA-STS host "+r.TLS.ServerName, r.TLS.Chain)
		}
	case *bimi.LookupReport:
		if r != nil {
			add("Mark certificate of BIMI", r.Certificate.NotAfter)
		}
	case *dnssec.Report:
		if r != nil && len(r.Chain) > 0 {
			zone := r.Chain[len(r.Chain)-1]
			add("DNSSEC signatures of "+strings.TrimSuffix(zone.Zone, "."), firstExpiry(zone))
		}
	case *domaincheck.Report:
		addEnds(r.Pillars.Receiving.SMTP.Result, add)
		if p := r.Pillars.Receiving.MTASTS; p != nil {
			addEnds(p.Result, add)
		}
		if p := r.Pillars.Sending.BIMI; p != nil {
			addEnds(p.Result, add)
		}
		if p := r.Pillars.Integrity.DNSSEC; p != nil {
			addEnds(p.Result, add)
		}
	}
}

// firstExpiry is when the first of the signatures that a zone itself made expires.
func firstExpiry(zone dnssec.Zone) (first time.Time) {
	for _, s := range zone.Signatures {
		own := strings.TrimSuffix(s.SignerName, ".") == strings.TrimSuffix(zone.Zone, ".")
		if own && s.Valid && (first.IsZero() || s.Expiration.Before(first)) {
			first = s.Expiration
		}
	}
	return first
}
