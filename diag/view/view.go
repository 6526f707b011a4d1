// Package view defines the presentation of reports. Every report has a method View, which adds the facts that people
// look for first to the verdict; [Of] begins it:
//
//	func (r *Report) View() *view.View {
//		v := view.Of(r.Domain.String(), r.Verdict)
//		v.Fact("lookups", fmt.Sprintf("%d of 10", r.DNSLookups.Count), "spf.lookups.exceeded")
//		return v
//	}
//
// A view is data alone: diag/view/render writes it for terminals, tickets and pages, and all presentations of a
// report use its view only. It has few parts, so that all reports are read alike: the subject, the verdict, at most
// [MaxFacts] facts, at most one drawing, the steps to take, the findings, and what could be better.
package view

import (
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/rule"
)

// MaxFacts bounds the facts of a view: what does not fit belongs in the drawing, or stays in the report.
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
	Foot     string         `json:"-"` // what else to say at the end: how much was examined
	Optional bool           `json:"optional,omitempty" doc:"whether nothing is wrong if there is nothing"`
}

// A Fact is a label and a value.
type Fact struct {
	Label string    `json:"label"`
	Value string    `json:"value"`
	Code  rule.Code `json:"code,omitempty" doc:"the finding that speaks of it, if one does"`
	Mark  Mark      `json:"mark,omitempty" doc:"how grave that is"`
}

// A Step is something to do. With a value it is something to publish.
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

	Merged []rule.Code `json:"-"` // the codes of the steps that [Step.With] has merged into it
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

// Values lists them.
func (Who) Values() []string {
	return kit.Values(Zone, NameServer, MailServer, WebServer, Sender, Network, Registrar)
}

// A Mark is a status: a severity, or one of the words below.
type Mark string

// The marks. None says nothing, which is not praise.
const (
	None     Mark = ""
	Good     Mark = "good"
	Info     Mark = "info"
	Warning  Mark = "warning"
	Error    Mark = "error"
	Critical Mark = "critical"
	Unknown  Mark = "unknown"  // it could not be learned
	Optional Mark = "optional" // it is not there, and need not be
)

// MarkOf is the mark of a severity.
func MarkOf(s rule.Severity) Mark { return Mark(s.String()) }

// Of begins the view of a report with a verdict. It is partial if something could not be learned.
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

// Answer begins the view of a report that judges nothing: the headline is the answer in a sentence.
func Answer(subject, headline string) *View {
	return &View{Subject: subject, Headline: headline, Brief: headline}
}

// Judged adds findings, apart from what only could be better.
func (v *View) Judged(findings []rule.Finding) {
	for _, f := range findings {
		if f.Severity == rule.Info {
			v.Better = append(v.Better, f)
			continue
		}
		v.Findings = append(v.Findings, f)
	}
}

// Advise makes steps of the advice of the findings, for a report without recommendations.
func (v *View) Advise() {
	for _, f := range v.Findings {
		if f.Advice != "" && !slices.ContainsFunc(v.Steps, func(s Step) bool { return s.Text == f.Advice }) {
			v.Steps = append(v.Steps, Step{Code: f.Code, Severity: f.Severity, Title: f.Title, Text: f.Advice, Due: f.Due})
		}
	}
}

// Fact adds a fact, unless its value is empty. It is marked if one of the codes, or a code that begins with one of them
// and a dot, is among the findings: the gravest counts.
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

// PublishAt says where values belong that begin as given, such as "v=spf1": the name and type of their record. Without
// a beginning it is where all belong that have no place yet, but for whole lines of a zone, which name theirs.
func (v *View) PublishAt(begins, name, kind string) {
	for i := range v.Steps {
		s := &v.Steps[i]
		if s.Value != "" && s.Name == "" && !strings.Contains(s.Value, " IN ") && strings.HasPrefix(s.Value, begins) {
			s.Name, s.Type = name, kind
		}
	}
}

// Mark is that of the whole: the severity of the gravest finding, or whether anything was learned.
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

// A Record is the lookup of one record of a domain, as RecordLookup of package diag.
type Record interface {
	Subject() string                        // the domain
	Owner() (name string, records []string) // where the record belongs
	Published() string                      // the record; empty if there is not exactly one
}

// OfRecord begins the view of a report on one record of a domain. With the beginnings of records, values that begin so
// belong at its name, and the record is the first fact.
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

// OfText begins the view of a report that has findings, and no verdict but its words.
func OfText(subject string, t rule.Text, findings []rule.Finding, partial bool) *View {
	v := Answer(subject, t.Headline)
	v.Sub, v.Partial = t.Sub, partial
	v.Judged(findings)
	v.Advise()
	return v
}

// BriefIf sets the brief to the parts that are not empty, if so.
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

// A Drawing shows how the parts of a report belong together. It is one list of rows whatever its kind, so that
// characters, SVG, HTML and Markdown are made from the same.
type Drawing struct {
	Kind    Kind     `json:"kind"`
	Title   string   `json:"title" doc:"what is drawn, in a few words"`
	Columns []string `json:"columns,omitempty" doc:"headings of the cells; none where the title says enough"`
	Rows    []Row    `json:"rows"`
	Full    int64    `json:"full,omitempty" doc:"amount of a bar of full length; the largest of the rows if absent"`

	of *View
}

// A Row is a node, a link, a line or a bar.
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

// MarkIf is the standing if so, and none if not. With cmp.Or it makes the first case that holds an expression.
func MarkIf(is bool, m Mark, note string) Standing {
	if is {
		return Standing{m, note}
	}
	return Standing{}
}

// Rows begins a drawing. It is that of the view once it has a row.
func (v *View) Rows(kind Kind, title string, columns ...string) *Drawing {
	return &Drawing{Kind: kind, Title: title, Columns: columns, of: v}
}

// Row adds a row with no mark.
func (d *Drawing) Row(cells ...string) *Row { return d.add(0, None, cells) }

// Marked adds a row with a mark and a note.
func (d *Drawing) Marked(m Mark, note string, cells ...string) { d.Node(0, m, note, cells...) }

// StatusRow adds a row with a standing.
func (d *Drawing) StatusRow(s Standing, cells ...string) { d.Marked(s.Mark, s.Note, cells...) }

// Node adds a row of a tree.
func (d *Drawing) Node(depth int, m Mark, note string, cells ...string) {
	d.add(depth, m, cells).Note = note
}

// Bar adds a row with an amount.
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
