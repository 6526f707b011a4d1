package rule

import (
	"fmt"
	"github.com/diagkit/diagkit/diag/kit"
	"slices"
	"time"
)

// Severity says how much a finding matters.
type Severity int

// The severities, from the mildest.
const (
	Info     Severity = 0 // worth knowing; nothing to do
	Warning  Severity = 1 // works today, and should be better
	Error    Severity = 2 // broken in part
	Critical Severity = 3 // does not work at all
)

var severities = []string{"info", "warning", "error", "critical"}

func (s Severity) String() string {
	if s < Info || s > Critical {
		return fmt.Sprintf("severity(%d)", int(s))
	}
	return severities[s]
}

// Values lists the text forms.
func (Severity) Values() []string { return slices.Clone(severities) }

// MarshalText implements [encoding.TextMarshaler].
func (s Severity) MarshalText() ([]byte, error) {
	if s < Info || s > Critical {
		return nil, fmt.Errorf("unknown %v", s)
	}
	return []byte(severities[s]), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *Severity) UnmarshalText(text []byte) error {
	i := slices.Index(severities, string(text))
	if i < 0 {
		return fmt.Errorf("unknown severity %q", text)
	}
	*s = Severity(i)
	return nil
}

// State summarizes the outcome of a diagnostic in a word.
type State string

// The states. Unknown means that the servers did not answer; it is never scored as Missing.
const (
	Valid   State = "valid"
	Warned  State = "warning"
	Bad     State = "invalid"
	Missing State = "missing"
	Unknown State = "unknown"
)

// Values lists the states.
func (State) Values() []string { return kit.Values(Valid, Warned, Bad, Missing, Unknown) }

func (s State) known() bool { return slices.Contains(s.Values(), string(s)) }

// Band summarizes a score in a word: excellent, good, warning, critical or unknown.
type Band string

// The bands and where they begin.
const (
	Excellent    Band = "excellent" // 90 and more
	Good         Band = "good"      // 70 to 89
	Fair         Band = "warning"   // 40 to 69
	Poor         Band = "critical"  // below 40
	Undetermined Band = "unknown"   // no weight applied
)

// Values lists the bands.
func (Band) Values() []string { return kit.Values(Excellent, Good, Fair, Poor, Undetermined) }

// BandOf returns the band of a score from 0 to 100.
func BandOf(score int) Band {
	switch {
	case score >= 90:
		return Excellent
	case score >= 70:
		return Good
	case score >= 40:
		return Fair
	default:
		return Poor
	}
}

// A Code names a rule for machines, from the general to the particular:
// "mtasts.policy.max_age.short". A code is never renamed, never reused and never built at run time.
type Code string

// A Location is the part of a record's text to which a finding applies, in bytes.
type Location struct {
	Offset int `json:"offset" min:"0" doc:"first byte, from 0"`
	Length int `json:"length" min:"0" doc:"number of bytes"`
}

// A Place is one of several places to which a finding applies.
type Place struct {
	Target   string    `json:"target,omitempty" doc:"the tag, host or hop concerned"`
	Location *Location `json:"location,omitempty" doc:"where in the text of the record"`
}

// maxPlaces bounds the places that a finding lists: a reader has understood by then.
const maxPlaces = 20

// A Finding is a requirement that is not fulfilled. One cause gives one finding, however many places it
// affects.
type Finding struct {
	Code      Code      `json:"code" doc:"permanent name of the rule" example:"mtasts.policy.mode.testing"`
	Severity  Severity  `json:"severity" doc:"how much it matters"`
	Title     string    `json:"title" maxlen:"70" doc:"the fault in a few words"`
	Detail    string    `json:"detail" doc:"what was seen: a sentence that can be understood alone"`
	Advice    string    `json:"advice,omitempty" doc:"what to do"`
	Reference string    `json:"reference,omitempty" doc:"where the requirement is written: RFC and section"`
	Target    string    `json:"target,omitempty" doc:"the tag, host or hop concerned"`
	Location  *Location `json:"location,omitempty" doc:"where in the text of the record"`

	Due time.Time `json:"due,omitzero" doc:"when it breaks by itself if nobody acts; absent if it does not"`

	Places     []Place `json:"locations,omitempty" maxitems:"20" doc:"all places, if there are several; at most 20"`
	PlaceCount int     `json:"location_count,omitempty" min:"2" doc:"how many places there are, if there are several"`

	Optional bool `json:"-"` // whether the advice is optional; see Rule
}

// A Check is a requirement that was fulfilled.
type Check struct {
	Code  Code   `json:"code" doc:"permanent name of the rule"`
	Label string `json:"label" doc:"the requirement"`
}

// FactorStatus says what a group of rules contributed to the score.
type FactorStatus string

// The statuses of a score factor.
const (
	FactorPass          FactorStatus = "pass"
	FactorPartial       FactorStatus = "partial"
	FactorFail          FactorStatus = "fail"
	FactorNotApplicable FactorStatus = "not_applicable"
)

// Values lists the statuses.
func (FactorStatus) Values() []string {
	return kit.Values(FactorPass, FactorPartial, FactorFail, FactorNotApplicable)
}

// A Factor is the share of one named group of rules in the score.
type Factor struct {
	Code      Code         `json:"code" doc:"permanent name of the group" example:"policy"`
	Label     string       `json:"label" doc:"the group in words"`
	Points    int          `json:"points" min:"0" doc:"points earned"`
	MaxPoints int          `json:"max_points" min:"0" doc:"points that could be earned; 0 if no rule of the group applied"`
	Status    FactorStatus `json:"status" doc:"what the group contributed"`
	Detail    string       `json:"detail" doc:"the worst finding of the group, empty if there is none"`
}

// CategoryScore is the score of one factor.
type CategoryScore struct {
	Earned int `json:"earned" min:"0" doc:"points earned"`
	Max    int `json:"max" min:"0" doc:"points that could be earned"`
}

// Breakdown shows how a score was computed: earned points in percent of max, less the penalty. A penalty is
// the effect of a cap, or of faults that cost more than their points. Without a score, Breakdown is empty.
type Breakdown struct {
	Earned     int                      `json:"earned" min:"0" doc:"points earned"`
	Max        int                      `json:"max" min:"0" doc:"points of all rules that applied"`
	Penalty    int                      `json:"penalty" min:"0" max:"100" doc:"by how much the score is lower: a fault caps it, or costs more than its points"`
	Categories map[string]CategoryScore `json:"categories" doc:"points by code of the factor"`
}

// Priority ranks recommendations.
type Priority string

// The priorities: high fixes an error or worse, medium a warning, low the rest.
const (
	High   Priority = "high"
	Medium Priority = "medium"
	Low    Priority = "low"
)

// Values lists the priorities.
func (Priority) Values() []string { return kit.Values(High, Medium, Low) }

// A Recommendation is an action that fixes a finding.
type Recommendation struct {
	Code           Code     `json:"code" doc:"rule that it fulfills"`
	Priority       Priority `json:"priority" doc:"how urgent it is"`
	Title          string   `json:"title" maxlen:"70" doc:"the fault in a few words"`
	Detail         string   `json:"detail" doc:"what to do"`
	SuggestedValue string   `json:"suggested_value,omitempty" doc:"a value to publish as it is"`
}

// A Verdict is the outcome of the rules for the evidence. Reports embed it.
type Verdict struct {
	State           State            `json:"state" doc:"the outcome in a word; unknown: the servers did not say"`
	Score           *int             `json:"score,omitempty" min:"0" max:"100" doc:"percent of applicable points, capped by faults; absent where nothing can be scored"`
	Band            Band             `json:"score_band" doc:"the score in a word; unknown: there is none"`
	Headline        string           `json:"verdict_headline" maxlen:"70" doc:"the outcome in a plain sentence"`
	Sub             string           `json:"verdict_sub" doc:"the consequence and the next step"`
	Factors         []Factor         `json:"score_factors" doc:"what each group of rules contributed"`
	Breakdown       Breakdown        `json:"score_breakdown" doc:"how the score was computed"`
	Recommendations []Recommendation `json:"recommendations" doc:"what to do, the most urgent first"`
	Passed          []Check          `json:"passed_checks" doc:"requirements that were fulfilled"`
	Findings        []Finding        `json:"findings" doc:"requirements that were not fulfilled, the worst first"`
	Examined        []ScopePart      `json:"examined,omitempty" maxitems:"32" doc:"the parts of the subject, if there are several, and whether each was examined; those that were not come first"`
	ExaminedMore    int              `json:"examined_more,omitempty" min:"1" doc:"how many parts there are beside those listed"`

	scope     map[ScopeState]int // how many parts there are of each state
	fulfilled []Code             // passed, and what could have been ignorance
	open      []Code             // what a source that went unanswered decides
}

// Text returns headline and sub, for a report that does not include the whole verdict.
func (v Verdict) Text() Text { return Text{v.Headline, v.Sub} }

// Judgement returns the verdict itself. Through it, code reads the verdict of any report that embeds one.
func (v Verdict) Judgement() Verdict { return v }

// Open lists the rules that neither passed nor failed because a source went unanswered, in the order of the
// table. Rules that depend on them are not tested.
func (v Verdict) Open() []Code { return slices.Clone(v.open) }

// Fulfilled lists the rules that were fulfilled, in the order of the table: those of Passed, and those whose
// StateIfFailed is Unknown.
func (v Verdict) Fulfilled() []Code { return slices.Clone(v.fulfilled) }
