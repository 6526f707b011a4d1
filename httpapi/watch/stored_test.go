package watch

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/memory"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A parsed stored body can be used and stored again; otherwise the parser returns an error.
func FuzzStored(f *testing.F) {
	f.Add([]byte(`{"domain":"example.com","checks":["mail"],"every":86400000000000,"budget_credits":0,"spent_credits":5,` +
		`"claim":{"token":"x","until":"2026-01-15T12:00:00Z","held":9}}`))
	f.Add([]byte(`{"domain":"xn--a","every":3600000000001,"reason":"expired"}`))
	f.Add([]byte(`{"at":"2026-01-15T12:00:00Z","mark":"good","findings":[{"code":"a.b","severity":"error","part":"spf"}],` +
		`"records":[{"name":"a","type":"TXT","values":["x"]}],"suspicions":{"a TXT ":{"value":"gone","count":3,"other":1},"a.b":{"value":"gone","check":"mail","count":2},` +
		`"c.d":{"value":"there","check":"mail","count":3},"domain":{"value":"expired","check":"x"},"e":{"flips":3},"f":null}}`))
	f.Add([]byte(`{"base":{},"runs":[{"at":"2026-01-15T12:00:00Z","credits":3,"changed":[{"name":"a","type":"A","old":null,"new":["1"]}]}]}`))
	w := New(Config{Store: memory.New(memory.Config{})})
	at := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, body []byte) {
		r := metering.Record{Account: "acc_x", ID: "wat_x", Body: body, At: at, Due: at}
		if doc, err := parse(r); err == nil {
			w.view(r, doc)
			for _, after := range []time.Time{at, {}, at.AddDate(100, 0, 0)} {
				if slot := doc.slot(&r, after); !slot.After(after) || slot.Sub(after) > 2*MaxEvery {
					t.Errorf("after %v comes %v", after, slot)
				}
			}
			again, err := write(r, doc)
			require.NoError(t, err)
			_, err = parse(again)
			require.NoError(t, err)
		}
		if s, err := read[state](r); err == nil {
			s.keepChecks(commonCatalogue().checks("example.com", []string{"mail"}))
			o := &observation{parts: []part{{name: "spf", check: "mail", isKnown: true, isComplete: true}}}
			c := &comparison{state: s, catalogue: commonCatalogue(), seen: o, domain: "example.com", at: at}
			c.evaluate(true)
			for _, key := range c.questions() {
				c.reply(key, nil)
			}
			c.conclude()
			c.text()
			if again, err := s.record(r); err == nil && len(body) < metering.MaxRecordBytes/8 {
				_, err = read[state](again)
				require.NoError(t, err)
			}
		}
		if c, err := read[historyPart](r); err == nil {
			for _, run := range c.Runs {
				c.Base.apply(run)
			}
		}
	})
}

// Whatever a domain publishes, its stored state fits into a record of the store.
func TestBoundsOfWhatIsKept(t *testing.T) {
	at := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	o := &observation{}
	for i := range 40 {
		p := part{name: strings.Repeat("p", i+1), check: "mail", isKnown: true, isComplete: true}
		for j := range 20 {
			name := strings.Repeat("n", 60) + string(rune('a'+i)) + string(rune('a'+j))
			p.records = append(p.records, Record{Set: Set{Name: name, Type: "TXT"}, Values: bounded([]string{strings.Repeat("<\x01", 4000)})})
			p.findings = append(p.findings, Finding{Code: diag.Code("family." + name), Severity: diag.Error, Target: strings.Repeat("t\x00", 300)})
			if len(o.facts) < maxFacts {
				o.facts = append(o.facts, Fact{name, "label", clip(strings.Repeat("\x02", 900)), "code", "error"})
			}
		}
		p.normalize(at)
		o.parts = append(o.parts, p)
	}
	s := &state{}
	c := &comparison{state: s, catalogue: commonCatalogue(), seen: o, domain: "example.com", at: at}
	c.evaluate(true)
	c.conclude()
	body, err := json.Marshal(s)
	require.NoError(t, err)
	assert.LessOrEqual(t, len(s.Records), maxSets)
	assert.LessOrEqual(t, len(s.Findings), maxFindings)
	t.Log(len(body), "bytes")
	r, err := s.record(metering.Record{ID: "wat_x"})
	require.NoError(t, err)
	assert.LessOrEqual(t, len(r.Body), metering.MaxRecordBytes)
}

// Slots are spread over the interval, and come once in each.
func TestSlots(t *testing.T) {
	at := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	hours := map[int]int{}
	for i := range 2400 {
		r := &metering.Record{Account: "acc_x", ID: ID(diag.MustDomain(strings.Repeat("a", i%60+1) + string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + ".example"))}
		doc := &document{Settings: Settings{Every: DefaultEvery}}
		first := doc.slot(r, at)
		hours[first.Hour()]++
		require.Equal(t, first.Add(DefaultEvery), doc.slot(r, first.Add(time.Minute)))
		require.Equal(t, first.Add(DefaultEvery), doc.slot(r, first.Add(13*time.Hour)), "one that was late does not move the others")
	}
	for h := range 24 {
		assert.InDelta(t, 100, hours[h], 70, "hour %d", h)
	}
}
