package watch

import (
	"cmp"
	"slices"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
)

// A Snapshot is the known state of a domain after a run. What did not answer keeps its earlier state.
type Snapshot struct {
	At       time.Time `json:"at"`
	Mark     view.Mark `json:"mark"`
	Score    *int      `json:"score,omitempty"`
	Facts    []Fact    `json:"facts,omitempty"`
	Findings []Finding `json:"findings,omitempty"` // the worst first
	Records  []Record  `json:"records,omitempty"`  // by name and type
	Unknown  []string  `json:"unknown,omitempty"`  // parts that did not answer
	Coverage
}

// A Coverage counts the checks on which the state is based, and of how many.
type Coverage struct {
	Answered int  `json:"checks_answered,omitempty"`  // in the last regular run
	All      int  `json:"checks_all,omitempty"`       // whether the watch makes them or not
	Nothing  bool `json:"nothing_examined,omitempty"` // the checks that answered had nothing to examine
	Siteless bool `json:"without_website,omitempty"`  // because there is no web site
}

// A Fact is a key fact of a part of the checks.
type Fact struct {
	Part  string    `json:"part"`
	Label string    `json:"label"`
	Value string    `json:"value"`
	Code  diag.Code `json:"code,omitempty"` // of the finding that speaks of it
	Mark  view.Mark `json:"mark,omitempty"`
}

func (f Fact) key() string { return f.Part + " " + f.Label }

// A Finding is one of a part of the checks. [Title] describes it in words.
type Finding struct {
	Code     diag.Code     `json:"code"`
	Severity diag.Severity `json:"severity"`
	Part     string        `json:"part,omitempty"`
	Target   string        `json:"target,omitempty"` // the host or tag concerned
	Since    time.Time     `json:"since,omitzero"`   // the first run that has seen it
}

func (f Finding) key() string { return string(f.Code) }

// A Set is a set of records in the DNS: all of a name and type, or of TXT records those that begin alike.
type Set struct {
	Name   string `json:"name"`
	Type   string `json:"type"`
	Begins string `json:"begins,omitempty"` // of TXT: "v=spf1" and the like
	Part   string `json:"part,omitempty"`
}

func (s Set) key() string { return s.Name + " " + s.Type + " " + s.Begins }

// Label returns the common name of the set: SPF, not TXT.
func (s Set) Label() string { return cmp.Or(labels[s.Begins], s.Type) }

var labels = map[string]string{
	"v=spf1": "SPF", "v=DMARC1": "DMARC", "v=DKIM1": "DKIM", "v=STSv1": "MTA-STS",
	"v=TLSRPTv1": "TLS-RPT", "v=BIMI1": "BIMI",
}

// A Record is a set of records with its values.
type Record struct {
	Set
	Values []string  `json:"values"`
	Since  time.Time `json:"since"` // the first run that has seen these values
}

// A Change is a set of records before and after.
type Change struct {
	Set
	Old []string `json:"old"`
	New []string `json:"new"`
}

// A Difference is what one snapshot has and another has not.
type Difference struct {
	Appeared []Finding `json:"appeared,omitempty"` // or have become graver or milder
	Gone     []Finding `json:"gone,omitempty"`
	Changed  []Change  `json:"changed,omitempty"` // records
	Facts    []Fact    `json:"facts,omitempty"`   // their current values; no value: it is gone
}

// What a snapshot lists has a name there.
type keyed interface{ key() string }

// find returns the element with a key in a list, or nil.
func find[T keyed](list []T, key string) *T {
	for i := range list {
		if list[i].key() == key {
			return &list[i]
		}
	}
	return nil
}

// removeKey returns a list of its own that omits the element with a key.
func removeKey[T keyed](list []T, key string) []T {
	return slices.DeleteFunc(slices.Clone(list), func(v T) bool { return v.key() == key })
}

// differences returns what of b differs in a, and what of a is not in b.
func differences[T keyed](a, b []T, same func(old, now T) bool) (changed, gone []T) {
	for _, v := range b {
		if old := find(a, v.key()); old == nil || !same(*old, v) {
			changed = append(changed, v)
		}
	}
	for _, v := range a {
		if find(b, v.key()) == nil {
			gone = append(gone, v)
		}
	}
	return changed, gone
}

// Diff compares the known states at two times.
func Diff(a, b *Snapshot) (d Difference) {
	d.Appeared, d.Gone = differences(
		a.Findings,
		b.Findings,
		func(old, now Finding) bool { return old.Severity == now.Severity },
	)
	same := func(old, now Record) bool { return slices.Equal(old.Values, now.Values) }
	records, gone := differences(a.Records, b.Records, same)
	for _, r := range slices.Concat(records, gone) {
		d.Changed = append(d.Changed, change(r.Set, find(a.Records, r.key()), find(b.Records, r.key())))
	}
	facts, lost := differences(a.Facts, b.Facts, func(old, now Fact) bool { return old == now })
	d.Facts = facts
	for _, f := range lost {
		d.Facts = append(d.Facts, Fact{Part: f.Part, Label: f.Label})
	}
	return d
}

// change is that of a set of records, of which there may be none before or after.
func change(set Set, before, after *Record) Change {
	c := Change{set, []string{}, []string{}}
	if before != nil {
		c.Old = before.Values
	}
	if after != nil {
		c.New = after.Values
	}
	return c
}

// apply turns the snapshot into the one after a run.
func (s *Snapshot) apply(r Run) {
	s.At, s.Mark, s.Score, s.Unknown = r.At, r.Mark, r.Score, r.Unknown
	for _, f := range slices.Concat(r.Appeared, r.Gone) {
		s.Findings = removeKey(s.Findings, f.key())
	}
	s.Findings = append(s.Findings, r.Appeared...)
	for _, c := range r.Changed {
		if s.Records = removeKey(s.Records, c.key()); len(c.New) > 0 {
			s.Records = append(s.Records, Record{c.Set, c.New, r.At})
		}
	}
	for _, f := range r.Facts {
		if old := find(s.Facts, f.key()); old != nil {
			*old = f // in its place
		} else {
			s.Facts = append(s.Facts, f)
		}
	}
	s.Facts = slices.DeleteFunc(s.Facts, func(f Fact) bool { return f.Value == "" })
	s.sort()
}

func (s Snapshot) clone() Snapshot {
	s.Findings, s.Records, s.Facts = slices.Clone(s.Findings), slices.Clone(s.Records), slices.Clone(s.Facts)
	return s
}

// sort brings a snapshot into the order of a reader.
func (s *Snapshot) sort() {
	slices.SortFunc(s.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.Severity, a.Severity), cmp.Compare(a.Code, b.Code))
	})
	slices.SortFunc(s.Records, func(a, b Record) int { return cmp.Compare(a.key(), b.key()) })
	slices.SortStableFunc(s.Facts, func(a, b Fact) int { return cmp.Compare(a.Part, b.Part) })
}
