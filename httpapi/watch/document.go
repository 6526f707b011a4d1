package watch

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/metering"
)

// A document is a watch as it is stored: short, since the list of an account reads thousands. Instants are seconds of
// Unix.
type document struct {
	Domain   string   `json:"d"`
	Checks   []string `json:"c,omitempty"`
	Every    int64    `json:"e,omitempty"` // seconds
	Budget   int64    `json:"b,omitempty"` // 0: the default
	Channels []string `json:"h,omitempty"`

	Claim   claim  `json:"l,omitzero"`
	Next    int64  `json:"q,omitempty"` // the next regular run, where Due may be that of one that confirms
	Pending bool   `json:"y,omitempty"` // whether something is to be confirmed
	Wait    string `json:"w,omitempty"` // a Reason
	End     string `json:"x,omitempty"` // a Reason
	Month   int64  `json:"m,omitempty"` // in which Spent was
	Spent   int64  `json:"p,omitempty"`

	Mark    string    `json:"k,omitempty"`
	Score   *int      `json:"o,omitempty"`
	Counts  severity  `json:"n,omitzero"`
	Worst   diag.Code `json:"f,omitempty"`
	Unknown int       `json:"u,omitempty"`
	Changed int64     `json:"a,omitempty"`
	Change  string    `json:"g,omitempty"`
	Expires int64     `json:"z,omitempty"`
	Expiry  string    `json:"i,omitempty"`
	Last    int64     `json:"r,omitempty"`
}

// A claim is a run under way: whoever knows its token may write what came of it.
type claim struct {
	Token string `json:"t"`
	Until int64  `json:"u"`
	Held  int64  `json:"h,omitempty"` // of Spent, what the run may cost; what a dead node has spent stays so
}

// severity counts findings from Info to Critical.
type severity [diag.Critical + 1]int

func (n severity) counts() Counts {
	return Counts{n[diag.Critical], n[diag.Error], n[diag.Warning], n[diag.Info]}
}

// The bounds of what a document holds.
const (
	maxChecks = 32
	maxChange = 120 // characters
)

// parse reads a stored watch.
func parse(r metering.Record) (*document, error) {
	doc := &document{}
	if err := json.Unmarshal(r.Body, doc); err != nil {
		return nil, fmt.Errorf("reading watch %s: %w", r.ID, err)
	}
	if err := doc.check(); err != nil {
		return nil, fmt.Errorf("reading watch %s: %w", r.ID, err)
	}
	return doc, nil
}

// check refuses what no watch has written, on which arithmetic would go wrong.
func (doc *document) check() error {
	every := time.Duration(doc.Every) * time.Second
	switch {
	case doc.Domain == "" || strings.ContainsFunc(doc.Domain, func(c rune) bool { return c <= ' ' || c > '~' }):
		return fmt.Errorf("the domain %q", doc.Domain)
	case doc.Every < 1 || doc.Every > int64(MaxEvery/time.Second) || every < MinEvery:
		return fmt.Errorf("an interval of %d seconds", doc.Every)
	case len(doc.Checks) > maxChecks || len(doc.Channels) > maxChannels:
		return fmt.Errorf("%d checks and %d channels", len(doc.Checks), len(doc.Channels))
	case doc.Budget < 0 || doc.Spent < 0 || doc.Claim.Held < 0 || doc.Claim.Held > doc.Spent:
		return fmt.Errorf("%d credits spent and %d held of %d", doc.Spent, doc.Claim.Held, doc.Budget)
	}
	return nil
}

// encode writes a body without escapes for HTML, which take room.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

// record is the document in the place of the record that it was read from.
func (doc *document) record(r metering.Record) (metering.Record, error) {
	body, err := encode(doc)
	if err != nil {
		return r, fmt.Errorf("writing watch %s: %w", r.ID, err)
	}
	r.Body = body
	return r, nil
}

func (doc *document) settings() Settings {
	return Settings{
		Checks: append([]string{}, doc.Checks...), Every: doc.every(), Budget: doc.budget(),
		Channels: append([]string{}, doc.Channels...),
	}
}

func (doc *document) every() time.Duration { return time.Duration(doc.Every) * time.Second }

// longMonth is what a budget must last for.
const longMonth = 31 * 24 * time.Hour

// budget is what the watch may spend in a month: what was chosen, or its runs and a quarter more.
func (doc *document) budget() int64 {
	runs := int64((longMonth + doc.every() - 1) / doc.every())
	return cmp.Or(doc.Budget, doc.cost()*(runs+(runs+3)/4))
}

// cost is the most that a run costs.
func (doc *document) cost() int64 { return priceOf(doc.Checks) }

// claimed reports whether the watch is running.
func (doc *document) claimed(now time.Time) bool { return now.Unix() < doc.Claim.Until }

// slot is when a watch is to run after an instant. Each has its place in the interval, by its account and domain, so
// that those of a day are spread over it. The first after a run is at least a quarter of the interval away.
func (doc *document) slot(r *metering.Record, after time.Time) time.Time {
	every := doc.Every
	if doc.End == string(NoDomain) || doc.End == string(Lapsed) {
		every = int64(MaxEvery / time.Second)
	}
	place := seconds(doc.place(r, time.Duration(every)*time.Second))
	earliest := after.Unix() + every/4
	behind := (earliest - place) % every
	if behind < 0 {
		behind += every
	}
	return time.Unix(earliest+(every-behind)%every, 0).UTC()
}

// place is that of a watch in a time over which all are spread, in whole seconds.
func (doc *document) place(r *metering.Record, within time.Duration) time.Duration {
	hash := sha256.Sum256([]byte(string(r.Account) + "/" + r.ID))
	return time.Duration(int64(binary.BigEndian.Uint64(hash[:8])>>1)%seconds(within)) * time.Second
}

// seconds is a duration as it is stored.
func seconds(d time.Duration) int64 { return int64(d / time.Second) }

// instant is a stored time; 0 is none.
func instant(unix int64) time.Time {
	if unix == 0 {
		return time.Time{}
	}
	return time.Unix(unix, 0).UTC()
}

// markOf is the mark of findings.
func (n severity) markOf() view.Mark {
	for s := diag.Critical; s > diag.Info; s-- {
		if n[s] > 0 {
			return view.MarkOf(s)
		}
	}
	return view.Good
}
