package watch

import (
	"cmp"
	"slices"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
)

// A Snapshot is what was known of a domain after a run. What did not answer is as it was known before.
type Snapshot struct {
	At       time.Time `json:"at"`
	Mark     view.Mark `json:"mark"`
	Score    *int      `json:"score,omitempty"`
	Facts    []Fact    `json:"facts,omitempty"`
	Findings []Finding `json:"findings,omitempty"` // the worst first
	Records  []Record  `json:"records,omitempty"`  // by name and type
	Unknown  []string  `json:"unknown,omitempty"`  // parts that did not answer
}

// A Fact is a key fact of a part of the checks.
type Fact struct {
	Part  string    `json:"part"`
	Label string    `json:"label"`
	Value string    `json:"value"`
	Code  diag.Code `json:"code,omitempty"` // of the finding that speaks of it
	Mark  view.Mark `json:"mark,omitempty"`
}

// A Finding is one of a part of the checks. [Title] says it in words.
type Finding struct {
	Code     diag.Code     `json:"code"`
	Severity diag.Severity `json:"severity"`
	Part     string        `json:"part"`
	Target   string        `json:"target,omitempty"` // the host or tag concerned
	Since    time.Time     `json:"since"`            // the first run that has seen it
}

// A Record is a set of records in the DNS: all of a name and type, or of TXT records those that begin alike.
type Record struct {
	Name   string    `json:"name"`
	Type   string    `json:"type"`
	Begins string    `json:"begins,omitempty"` // of TXT: "v=spf1" and the like
	Part   string    `json:"part"`
	Values []string  `json:"values"`
	Since  time.Time `json:"since"` // the first run that has seen these values
}

// key names the set within a snapshot.
func (r Record) key() string { return r.Name + " " + r.Type + " " + r.Begins }

// Label is what people call the set: SPF, not TXT.
func (r Record) Label() string { return cmp.Or(labels[r.Begins], r.Type) }

var labels = map[string]string{
	"v=spf1": "SPF", "v=DMARC1": "DMARC", "v=DKIM1": "DKIM", "v=STSv1": "MTA-STS",
	"v=TLSRPTv1": "TLS-RPT", "v=BIMI1": "BIMI",
}

// A Change is a set of records before and after.
type Change struct {
	Name   string   `json:"name"`
	Type   string   `json:"type"`
	Begins string   `json:"begins,omitempty"`
	Part   string   `json:"part,omitempty"`
	Old    []string `json:"old"`
	New    []string `json:"new"`
}

// Label is what people call the set.
func (c Change) Label() string { return Record{Type: c.Type, Begins: c.Begins}.Label() }

func (c Change) key() string { return Record{Name: c.Name, Type: c.Type, Begins: c.Begins}.key() }

// A Difference is what one snapshot has and another has not.
type Difference struct {
	Appeared []Finding `json:"appeared,omitempty"` // or have become graver or milder
	Gone     []Finding `json:"gone,omitempty"`
	Changed  []Change  `json:"changed,omitempty"` // records
	Facts    []Fact    `json:"facts,omitempty"`   // as they are now; without a value: there is none any more
}

// Diff compares what was known at two times.
func Diff(a, b *Snapshot) (d Difference) {
	was := index(a.Findings, func(f Finding) string { return string(f.Code) })
	is := index(b.Findings, func(f Finding) string { return string(f.Code) })
	for _, f := range b.Findings {
		if old, ok := was[string(f.Code)]; !ok || old.Severity != f.Severity {
			d.Appeared = append(d.Appeared, f)
		}
	}
	for _, f := range a.Findings {
		if _, ok := is[string(f.Code)]; !ok {
			d.Gone = append(d.Gone, f)
		}
	}
	before, after := index(a.Records, Record.key), index(b.Records, Record.key)
	for _, r := range b.Records {
		if old := before[r.key()]; !slices.Equal(old.Values, r.Values) {
			d.Changed = append(d.Changed, Change{r.Name, r.Type, r.Begins, r.Part, old.Values, r.Values})
		}
	}
	for _, r := range a.Records {
		if _, ok := after[r.key()]; !ok {
			d.Changed = append(d.Changed, Change{r.Name, r.Type, r.Begins, r.Part, r.Values, nil})
		}
	}
	facts, now := index(a.Facts, Fact.key), index(b.Facts, Fact.key)
	for _, f := range b.Facts {
		if facts[f.key()] != f {
			d.Facts = append(d.Facts, f)
		}
	}
	for _, f := range a.Facts {
		if _, ok := now[f.key()]; !ok {
			d.Facts = append(d.Facts, Fact{Part: f.Part, Label: f.Label})
		}
	}
	return d
}

func (f Fact) key() string { return f.Part + " " + f.Label }

// with is the snapshot after a difference.
func (s *Snapshot) with(d Difference, at time.Time) {
	gone := index(d.Gone, func(f Finding) string { return string(f.Code) })
	for _, f := range d.Appeared {
		gone[string(f.Code)] = f
	}
	s.Findings = slices.DeleteFunc(slices.Clone(s.Findings), func(f Finding) bool {
		_, ok := gone[string(f.Code)]
		return ok
	})
	s.Findings = append(s.Findings, d.Appeared...)
	changed := index(d.Changed, Change.key)
	s.Records = slices.DeleteFunc(slices.Clone(s.Records), func(r Record) bool { _, ok := changed[r.key()]; return ok })
	for _, c := range d.Changed {
		if len(c.New) > 0 {
			s.Records = append(s.Records, Record{c.Name, c.Type, c.Begins, c.Part, c.New, at})
		}
	}
	facts := slices.Clone(s.Facts)
	for _, f := range d.Facts {
		if i := slices.IndexFunc(facts, func(g Fact) bool { return g.key() == f.key() }); i >= 0 {
			facts[i] = f
		} else {
			facts = append(facts, f)
		}
	}
	s.Facts = slices.DeleteFunc(facts, func(f Fact) bool { return f.Value == "" })
	s.sort()
}

// sort brings a snapshot into the order of a reader.
func (s *Snapshot) sort() {
	slices.SortFunc(s.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.Severity, a.Severity), cmp.Compare(a.Code, b.Code))
	})
	slices.SortFunc(s.Records, func(a, b Record) int { return cmp.Compare(a.key(), b.key()) })
	slices.SortStableFunc(s.Facts, func(a, b Fact) int { return cmp.Compare(a.Part, b.Part) })
}

// counts are the findings by severity.
func (s *Snapshot) counts() (n severity) {
	for _, f := range s.Findings {
		n[f.Severity]++
	}
	return n
}

func index[T any](list []T, key func(T) string) map[string]T {
	m := make(map[string]T, len(list))
	for _, v := range list {
		m[key(v)] = v
	}
	return m
}
