package idn

import (
	"strings"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/rule"
)

// maxDomain bounds the text of a name, in characters (CONTRACT 3.1). A name in Unicode may be longer
// than its ASCII form, as far as mapping leaves characters out, but not by that much.
const maxDomain = 1000

// profile names the rules that are applied.
const profile = "idna2008-nontransitional"

// A Request asks for a name to be converted.
type Request struct {
	Domain string `json:"domain" minlen:"1" maxlen:"1000" doc:"the name in Unicode or ASCII form" example:"bücher.example"`
	To     Form   `json:"to,omitempty" enum:"auto ascii unicode" default:"auto" doc:"form wanted; auto is unicode for a name with A-labels, else ascii"`
}

// A Form is a form of a name: auto, ascii or unicode.
type Form string

// The forms.
const (
	Auto    Form = "auto"    // Unicode if the name has an A-label, else ASCII
	ASCII   Form = "ascii"   // with A-labels, as in the DNS
	Unicode Form = "unicode" // with U-labels, for people
)

// Values lists the forms.
func (Form) Values() []string { return kit.Values(Auto, ASCII, Unicode) }

// A Report has both forms of a name, and its faults.
type Report struct {
	Input       string         `json:"input" doc:"the name as it was given"`
	ASCII       string         `json:"ascii" doc:"the name with A-labels, as in the DNS; without the final dot"`
	Unicode     string         `json:"unicode" doc:"the name with U-labels, for people; without the final dot"`
	Direction   Form           `json:"direction" enum:"ascii unicode" doc:"the form that was asked for"`
	IsIDN       bool           `json:"is_idn" doc:"whether a label has characters beyond ASCII, or is an A-label"`
	Changed     bool           `json:"changed" doc:"whether the name in the form asked for differs from the one given"`
	Valid       bool           `json:"valid" doc:"whether the name keeps all rules; if not, its forms are as near as one can get"`
	Labels      []Label        `json:"labels" doc:"its labels"`
	Profile     string         `json:"profile" enum:"idna2008-nontransitional" doc:"the rules that were applied"`
	LengthASCII int            `json:"length_ascii" min:"0" doc:"octets of the name with A-labels; a valid one has 253 at most"`
	Findings    []rule.Finding `json:"findings" doc:"what is wrong or remarkable, the worst first; locations are in the name as it was given"`
}

// Rules describes the rules behind the findings.
func (*Report) Rules() []rule.Description { return rules.Describe() }

// A Label is one label of a name.
type Label struct {
	ASCII          string   `json:"ascii" doc:"the label as in the DNS"`
	Unicode        string   `json:"unicode" doc:"the label for people"`
	Scripts        []string `json:"scripts" doc:"the scripts of its letters, by their names in Unicode"`
	MixedScript    bool     `json:"mixed_script" doc:"whether these are scripts that no language uses together"`
	ConfusableWith string   `json:"confusable_with,omitempty" doc:"the plain label that it looks like"`
}

// Convert returns both forms of a name and its faults. The error is a *diag.InputError; an invalid name is
// not an error.
func Convert(req Request) (*Report, error) {
	switch n := utf8.RuneCountInString(req.Domain); {
	case n == 0:
		return nil, input.Invalid("domain", "is required")
	case n > maxDomain:
		return nil, input.Invalid("domain", "has %d characters; the most is %d", n, maxDomain)
	case !utf8.ValidString(req.Domain):
		return nil, input.Invalid("domain", "is not valid UTF-8")
	}
	switch req.To {
	case "", Auto, ASCII, Unicode:
	default:
		return nil, input.Invalid("to", "%.40q is not one of auto, ascii, unicode", string(req.To))
	}
	return report(req, examine(req.Domain)), nil
}

// evidence is a name taken apart.
type evidence struct {
	domain  string // as it was given
	name    *name
	ascii   string
	address string // the IP address that the input is in place of a name; empty if it is a name
	labels  []Label
	mixes   []aMix
}

func examine(domain string) *evidence {
	e := &evidence{domain: domain, name: process(domain)}
	e.ascii = e.name.ascii()
	e.address = addressOf(e.ascii)
	for _, l := range e.name.labels {
		scripts := scriptsOf(l.unicode)
		mix := mixOf(scripts)
		e.mixes = append(e.mixes, mix)
		e.labels = append(e.labels, Label{l.ascii, l.unicode, scripts, mix != usual, skeleton(l.unicode)})
	}
	return e
}

func report(req Request, e *evidence) *Report {
	verdict := rules.Judge(e, nil)
	r := &Report{
		Input: req.Domain, ASCII: e.ascii, Unicode: e.name.unicode(), Direction: req.To,
		Valid: verdict.State != rule.Bad, Labels: e.labels, Profile: profile, LengthASCII: len(e.ascii),
		Findings: verdict.Findings,
	}
	encoded := false
	for _, l := range e.name.labels {
		encoded = encoded || l.encoded
		r.IsIDN = r.IsIDN || l.encoded || !isASCII(l.unicode)
	}
	if req.To == "" || req.To == Auto {
		r.Direction = ASCII
		if encoded {
			r.Direction = Unicode
		}
	}
	result := r.ASCII
	if r.Direction == Unicode {
		result = r.Unicode
	}
	r.Changed = result != strings.TrimSuffix(req.Domain, ".")
	return r
}
