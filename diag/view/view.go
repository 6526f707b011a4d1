// Package view defines how reports are presented to people. Every report has a View method, which returns the
// verdict with the most important facts. Call that method to show a report, and pass the result to package
// render. To write one for a new report, begin with [Of]:
//
//	func (r *Report) View() *view.View {
//		v := view.Of(r.Domain.String(), r.Verdict, r.Partial)
//		v.Fact("lookups", fmt.Sprintf("%d of 10", r.DNSLookups.Count), "spf.lookups.exceeded")
//		return v
//	}
//
// A view is pure data, from which package diag/view/render writes output for terminals, tickets and pages.
// All reports have the same few parts: the subject, the verdict, at most [MaxFacts] facts, at most one
// drawing, the steps to take, the findings, and optional improvements.
package view

import (
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/rule"
)

// MaxFacts is the maximum number of facts in a view. Others belong in the drawing, or only in the report.
const MaxFacts = 8

// A View is the presentation of a report.
type View struct {
	Subject  string         `json:"subject" doc:"what was examined"`
	State    rule.State     `json:"state,omitempty" doc:"the outcome in a word; absent where nothing is judged"`
	Score    *int           `json:"score,omitempty" doc:"percent, where there is a score"`
	Headline string         `json:"headline" doc:"the outcome in a sentence"`
	Sub      string         `json:"sub,omitempty" doc:"the consequence, and the next step"`
	Brief    string         `json:"brief" doc:"the outcome in some fifty characters, as for a line among others"`
	Partial  bool           `json:"partial,omitempty" doc:"whether something could not be learned"`
	Facts    []Fact         `json:"facts,omitempty" doc:"what people look for first"`
	Drawing  *Drawing       `json:"drawing,omitempty" doc:"how the parts belong together"`
	Steps    []Step         `json:"steps,omitempty" doc:"what to publish or do, the most urgent first"`
	Findings []rule.Finding `json:"findings,omitempty" doc:"warnings and worse"`
	Better   []rule.Finding `json:"better,omitempty" doc:"what could be better, and need not be"`
	Passed   []rule.Check   `json:"-"`
	Record   string         `json:"record,omitempty" doc:"the text in which findings have their places"`
	Counts   string         `json:"counts,omitempty" doc:"how many findings there are, of a view that joins others"`
	Foot     string         `json:"-"` // text at the end, such as how much was examined
	Optional bool           `json:"optional,omitempty" doc:"whether nothing is wrong if there is nothing"`
}

// A Fact is a label and a value.
type Fact struct {
	Label string    `json:"label"`
	Value string    `json:"value"`
	Code  rule.Code `json:"code,omitempty" doc:"the finding that speaks of it, if one does"`
	Mark  Mark      `json:"mark,omitempty" doc:"how grave that is"`
}

// A Step is an action to take. If it has a Value, the action is to publish it.
type Step struct {
	Code     rule.Code     `json:"code" doc:"permanent name of the rule that it fulfils"`
	Severity rule.Severity `json:"severity" doc:"how grave the fault is"`
	Title    string        `json:"title,omitempty" doc:"the fault in a few words"`
	Text     string        `json:"text" doc:"what to do"`
	Name     string        `json:"name,omitempty" doc:"where the value belongs, or the record at fault is: with a dot at the end if it is a name in the DNS"`
	Type     string        `json:"type,omitempty" doc:"type of the record"`
	Value    string        `json:"value,omitempty" doc:"what to publish, as it is"`
	Current  []string      `json:"current,omitempty" maxitems:"10" doc:"the records of the kind that are there now"`
	Who      Who           `json:"who,omitempty" doc:"who can do it; absent where that is not known"`
	Loses    bool          `json:"loses,omitempty" doc:"whether mail or visitors are lost until it is done"`
	Due      time.Time     `json:"due,omitzero" doc:"when something breaks by itself if nobody acts"`
	After    rule.Code     `json:"after,omitempty" doc:"code of the step that must be done before"`
	Wait     int64         `json:"wait_seconds,omitempty" min:"1" doc:"how long to wait after that step: until resolvers have forgotten what was there"`
	Places   []string      `json:"places,omitempty" maxitems:"20" doc:"the parts or checks that ask for it, if there are several"`

	Merged []rule.Code `json:"-"` // codes of the steps that were merged into this one by [Step.With]
}

// Who is the party that can take a step.
type Who string

// The parties.
const (
	Zone       Who = "zone"        // the editor of the DNS zone
	NameServer Who = "name_server" // the operator of the name servers
	MailServer Who = "mail_server" // the operator of the mail servers
	WebServer  Who = "web_server"  // the operator of the web server
	Sender     Who = "sender"      // the administrator of the services that send mail
	Network    Who = "network"     // the operator of the address
	Registrar  Who = "registrar"
)

// Values lists the parties.
func (Who) Values() []string {
	return kit.Values(Zone, NameServer, MailServer, WebServer, Sender, Network, Registrar)
}

// A Mark is a status: a severity, or one of the words below.
type Mark string

// The marks. None means that nothing is said, neither good nor bad.
const (
	None     Mark = ""
	Good     Mark = "good"
	Info     Mark = "info"
	Warning  Mark = "warning"
	Error    Mark = "error"
	Critical Mark = "critical"
	Unknown  Mark = "unknown"  // not known
	Optional Mark = "optional" // absent, and not required
)

// MarkOf returns the mark of a severity.
func MarkOf(s rule.Severity) Mark { return Mark(s.String()) }

// Of returns the view of a report with a verdict. Partial means that something could not be learned.
func Of(subject string, j rule.Verdict, partial bool) *View {
	v := &View{Subject: subject, State: j.State, Score: j.Score, Headline: j.Headline, Sub: j.Sub, Brief: j.Headline,
		Passed: j.Passed, Partial: partial || j.Incomplete()}
	v.Judged(j.Findings)
	if short := j.OfAll(); short != "" {
		v.Fact("examined", short+" parts; not "+j.Unexamined())
	}
	for _, r := range j.Recommendations {
		s := v.severity(r.Code)
		if s < rule.Info {
			s = severityOf[r.Priority]
		}
		if s > rule.Info {
			v.Steps = append(v.Steps, Step{Code: r.Code, Severity: s, Title: r.Title, Text: r.Detail, Value: r.SuggestedValue,
				Due: v.due(r.Code)})
		}
	}
	return v
}

// severityOf returns the severity of a recommendation whose finding is not in the report.
var severityOf = map[rule.Priority]rule.Severity{rule.High: rule.Error, rule.Medium: rule.Warning, rule.Low: rule.Info}

// Answer returns the view of a report without a verdict. The headline states the answer in a sentence.
func Answer(subject, headline string) *View {
	return &View{Subject: subject, Headline: headline, Brief: headline}
}

// Judged adds findings, those of optional improvements to Better.
func (v *View) Judged(findings []rule.Finding) {
	for _, f := range findings {
		if f.Severity == rule.Info {
			v.Better = append(v.Better, f)
			continue
		}
		v.Findings = append(v.Findings, f)
	}
}

// Advise turns the advice of the findings into steps, for a report without recommendations.
func (v *View) Advise() {
	for _, f := range v.Findings {
		if f.Advice != "" && !slices.ContainsFunc(v.Steps, func(s Step) bool { return s.Text == f.Advice }) {
			v.Steps = append(v.Steps, Step{Code: f.Code, Severity: f.Severity, Title: f.Title, Text: f.Advice, Due: f.Due})
		}
	}
}

// Fact adds a fact, unless its value is empty. The fact is marked with the gravest of the findings that have
// one of the codes, or a code that begins with one of them and a dot.
func (v *View) Fact(label, value string, codes ...rule.Code) {
	if value == "" || len(v.Facts) == MaxFacts {
		return
	}
	f := Fact{Label: label, Value: value}
	f.Code, f.Mark = v.about(codes)
	v.Facts = append(v.Facts, f)
}

// about returns the gravest finding that one of the codes names.
func (v *View) about(codes []rule.Code) (rule.Code, Mark) {
	for _, f := range slices.Concat(v.Findings, v.Better) {
		for _, c := range codes {
			if f.Code == c || strings.HasPrefix(string(f.Code), string(c)+".") {
				return f.Code, MarkOf(f.Severity)
			}
		}
	}
	return "", None
}

func (v *View) severity(code rule.Code) rule.Severity {
	for _, f := range slices.Concat(v.Findings, v.Better) {
		if f.Code == code {
			return f.Severity
		}
	}
	return -1
}

// due is when the first of the findings of a rule breaks something; zero if none does.
func (v *View) due(code rule.Code) (first time.Time) {
	for _, f := range v.Findings {
		if f.Code == code && !f.Due.IsZero() && (first.IsZero() || f.Due.Before(first)) {
			first = f.Due
		}
	}
	return first
}

// PublishAt sets the name and record type for steps with a value that begins with begins, such as "v=spf1".
// If begins is empty, it sets them for all values that have none yet, except complete lines of a zone file.
func (v *View) PublishAt(begins, name, kind string) {
	for i := range v.Steps {
		s := &v.Steps[i]
		if s.Value != "" && s.Name == "" && !strings.Contains(s.Value, " IN ") && strings.HasPrefix(s.Value, begins) {
			s.Name, s.Type = name, kind
		}
	}
}

// Mark returns the mark of the whole view: the severity of the gravest finding, or Good or Unknown.
func (v *View) Mark() Mark {
	worst := rule.Severity(-1)
	for _, f := range v.Findings {
		worst = max(worst, f.Severity)
	}
	switch {
	case worst > rule.Info:
		return MarkOf(worst)
	case v.State == rule.Bad:
		return Error
	case v.State == rule.Unknown:
		return Unknown
	case v.State == rule.Missing || v.Optional:
		return Optional
	case v.Partial:
		return Unknown
	}
	return Good
}

// A Record is the lookup of one record of a domain; RecordLookup of package diag implements it.
type Record interface {
	Subject() string                        // the domain of the record
	Owner() (name string, records []string) // where the record is published, and all records of the kind there
	Published() string                      // the record, or empty if there is not exactly one
}

// OfRecord returns the view of a report on one record of a domain. If begins are given, such as "v=spf1",
// suggested values with these prefixes are to be published at the name of the record, and the record is the
// first fact.
func OfRecord(l Record, j rule.Verdict, partial bool, begins ...string) *View {
	v := Of(l.Subject(), j, partial)
	v.Record = l.Published()
	owner, _ := l.Owner()
	for _, begin := range begins {
		v.PublishAt(begin, owner+".", "TXT")
		v.Fact("record", v.Record)
	}
	return v
}

// OfText returns the view of a report with findings but no [rule.Verdict].
func OfText(subject string, t rule.Text, findings []rule.Finding, partial bool) *View {
	v := Answer(subject, t.Headline)
	v.Sub, v.Partial = t.Sub, partial
	v.Judged(findings)
	v.Advise()
	return v
}

// BriefIf sets the brief to the non-empty parts if is is true.
func (v *View) BriefIf(is bool, parts ...string) {
	if is {
		v.Brief = Join(parts...)
	}
}

// A Kind is the relation between the rows of a drawing.
type Kind string

// The kinds of drawings.
const (
	Tree  Kind = "tree"  // a row belongs to the nearest row above it with a smaller depth
	Chain Kind = "chain" // a row leads to the next one
	Table Kind = "table" // rows are alike
	Bars  Kind = "bars"  // rows are alike, and have an amount
	// Sections are rows in groups: the first cell names the group.
	Sections Kind = "sections"
)

// A Drawing shows how the parts of a report are related. Whatever its kind, it is a list of rows, from which
// text, SVG, HTML and Markdown are written.
type Drawing struct {
	Kind    Kind     `json:"kind"`
	Title   string   `json:"title" doc:"what is drawn, in a few words"`
	Columns []string `json:"columns,omitempty" doc:"headings of the cells; none where the title says enough"`
	Rows    []Row    `json:"rows"`
	Full    int64    `json:"full,omitempty" doc:"amount of a bar of full length; the largest of the rows if absent"`

	of *View
}

// A Row is one row of a drawing: a node of a tree, a link of a chain, a line of a table, or a bar.
type Row struct {
	Cells  []string `json:"cells" doc:"the label, and the columns after it"`
	Depth  int      `json:"depth,omitempty" doc:"in a tree: how many levels below the root"`
	Mark   Mark     `json:"mark,omitempty" doc:"how it stands"`
	Note   string   `json:"note,omitempty" doc:"why it is marked, or what else is remarkable"`
	Amount int64    `json:"amount,omitempty" doc:"length of the bar"`
}

// A Standing is a mark and its reason.
type Standing struct {
	Mark Mark
	Note string
}

// MarkIf returns the standing if is is true, otherwise the zero Standing. With [cmp.Or], it selects the
// standing of the first true condition.
func MarkIf(is bool, m Mark, note string) Standing {
	if is {
		return Standing{m, note}
	}
	return Standing{}
}

// Rows returns a new drawing, which becomes that of the view once it has a row.
func (v *View) Rows(kind Kind, title string, columns ...string) *Drawing {
	return &Drawing{Kind: kind, Title: title, Columns: columns, of: v}
}

// Row adds a row with no mark.
func (d *Drawing) Row(cells ...string) *Row { return d.add(0, None, cells) }

// Marked adds a row with a mark and a note.
func (d *Drawing) Marked(m Mark, note string, cells ...string) { d.Node(0, m, note, cells...) }

// StatusRow adds a row with the mark and note of a standing.
func (d *Drawing) StatusRow(s Standing, cells ...string) { d.Marked(s.Mark, s.Note, cells...) }

// Node adds a row of a tree.
func (d *Drawing) Node(depth int, m Mark, note string, cells ...string) {
	d.add(depth, m, cells).Note = note
}

// Bar adds a row with an amount and a mark.
func (d *Drawing) Bar(amount int64, m Mark, cells ...string) {
	d.add(0, m, cells).Amount = amount
}

func (d *Drawing) add(depth int, m Mark, cells []string) *Row {
	if d.of != nil {
		d.of.Drawing = d
	}
	d.Rows = append(d.Rows, Row{Cells: cells, Depth: depth, Mark: m})
	return &d.Rows[len(d.Rows)-1]
}
