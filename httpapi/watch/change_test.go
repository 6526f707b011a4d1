package watch_test

import (
	"crypto/tls"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/httpapi/watch"
	"github.com/diagkit/diagkit/metering"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// cheap are checks of a few credits.
var cheap = watch.Settings{Checks: []string{"spf/lookup", "dmarc/lookup"}}

const (
	day         = 24 * time.Hour
	differences = 5 * time.Minute
	spfA        = `example.com. TXT "v=spf1 ip4:192.0.2.25 -all"`
	spfB        = `example.com. TXT "v=spf1 ip4:192.0.2.26 -all"`
	spfC        = `example.com. TXT "v=spf1 ip4:192.0.2.27 -all"`
	spfBad      = `example.com. TXT "v=spf1 +all"`

	dmarc    = `_dmarc.example.com. TXT "v=DMARC1; p=reject; rua=mailto:dmarc@example.com"`
	dmarcBad = `_dmarc.example.com. TXT "v=DMARC1; p=reject; rua=mailto:dmarc@example.com; pct=150"`
)

// started is a world whose watch has run once.
func started(t *testing.T, s watch.Settings, change ...func(*watch.Config)) *world {
	w := newWorld(t, change...)
	w.create(s)
	w.advance(0)
	require.Empty(t, w.told(), "the first run is what others are compared with")
	return w
}

// confirm advances some minutes, in each of which the watch may run.
func (w *world) confirm() {
	w.Helper()
	for range 6 {
		w.advance(differences)
	}
}

// of are the events of a type.
func (w *world) of(t metering.EventType) []told {
	return slices.DeleteFunc(w.told(), func(e told) bool { return e.Event != t })
}

// events returns the types of the events.
func (w *world) events() []metering.EventType {
	return kit.Map(w.told(), func(e told) metering.EventType { return e.Event })
}

// A changed value is reported immediately, with who can fix it.
func TestChangedRecord(t *testing.T) {
	w := started(t, watch.Settings{Checks: []string{"spf/lookup", "dns"}})
	w.replace("example.com.", dns.TypeTXT, spfB)
	w.advance(2 * day)
	require.Len(t, w.told(), 1)
	e := w.told()[0]
	assert.Equal(t, metering.EventDomainRecordChanged, e.Event)
	assert.Equal(t, "SPF", e.Label)
	assert.Equal(t, []string{"v=spf1 ip4:192.0.2.25 -all"}, e.Old)
	assert.Equal(t, []string{"v=spf1 ip4:192.0.2.26 -all"}, e.New)
	assert.Equal(t, w.clock.Now(), e.Seen)
	assert.Equal(t, "the DNS of example.com (ns1.provider.example, ns2.provider.example)", e.Mend)
	assert.Equal(t, "https://diag.example/dashboard/domains/example.com", e.URL)
	one := w.get()
	assert.Equal(t, "SPF changed", one.Change)
	assert.Equal(t, w.clock.Now(), one.Changed)

	w.net.Zone(`example.com. NS ns3.provider.example.
ns3.provider.example. A 203.0.113.53`)
	w.net.ServeZones() // the new server too: any of them may be queried
	w.advance(2 * day)
	require.Len(t, w.told(), 2)
	assert.Equal(t, "NS", w.told()[1].Label)
	assert.Len(t, w.told()[1].New, 3)

	runs, err := w.watches.History(t.Context(), w.account.ID, one.ID, time.Time{})
	require.NoError(t, err)
	require.Len(t, runs, 3)
	require.Len(t, runs[0].Changed, 1)
	assert.Equal(t, "SPF", runs[1].Changed[0].Label())
	first, err := w.watches.At(t.Context(), w.account.ID, one.ID, w.clock.Now().Add(-3*day))
	require.NoError(t, err)
	last, err := w.watches.At(t.Context(), w.account.ID, one.ID, w.clock.Now())
	require.NoError(t, err)
	d := watch.Diff(first, last)
	assert.Equal(t, []string{"NS", "SPF"}, kit.Map(d.Changed, watch.Change.Label))
	now, err := w.watches.Now(t.Context(), w.account.ID, one.ID)
	require.NoError(t, err)
	assert.Equal(t, watch.Difference{}, watch.Diff(now, last), "the history comes to what is known")
	assert.Equal(t, now.Mark, last.Mark)
	assert.Equal(t, now.Unknown, last.Unknown)
}

// An absence is reported after three answers, five minutes apart, of which one is of the authoritative servers.
func TestGoneRecord(t *testing.T) {
	w := started(t, cheap)
	spent := w.get().Spent
	w.replace("_dmarc.example.com.", dns.TypeTXT, "")
	w.advance(2 * day)
	began := w.clock.Now()
	assert.Empty(t, w.told(), "one answer is none")
	assert.False(t, w.get().NextRun.After(began.Add(differences)))
	w.advance(differences)
	assert.Empty(t, w.told(), "nor are two")
	w.advance(differences)
	changed := w.of(metering.EventDomainRecordChanged)
	require.Len(t, changed, 1)
	assert.Equal(t, "DMARC", changed[0].Label)
	assert.Empty(t, changed[0].New)
	assert.Equal(t, began, changed[0].Seen)
	assert.Equal(t, began.Add(2*differences), changed[0].At)
	w.confirm()
	assert.Len(t, w.told(), 2)
	assert.Less(t, w.get().Spent, spent+2*10, "only what is in doubt is asked again")
	worse := w.of(metering.EventDomainWorsened)[0]
	assert.Equal(t, "dmarc.record.missing", worse.Findings[0].Code)
	assert.NotEmpty(t, worse.Findings[0].Title)
	assert.Equal(t, "the DNS of example.com", worse.Mend)

	w.net.Zone(`_dmarc.example.com. TXT "v=DMARC1; p=reject; rua=mailto:dmarc@example.com"`)
	w.advance(2 * day)
	w.confirm()
	assert.Len(t, w.of(metering.EventDomainRecordChanged), 2)
	assert.Len(t, w.of(metering.EventDomainRecovered), 1)
	assert.Equal(t, view.Good, w.get().Mark)
}

// Without a second resolver, three answers of the first suffice.
func TestGoneWithoutSecondResolver(t *testing.T) {
	w := started(t, cheap)
	w.replace("_dmarc.example.com.", dns.TypeTXT, "")
	w.net.Server("ns1.provider.example", "").Configure(diagtest.ServerConfig{NoUDP: true, NoTCP: true})
	w.net.Server("ns2.provider.example", "").Configure(diagtest.ServerConfig{NoUDP: true, NoTCP: true})
	w.advance(2 * day)
	w.confirm()
	assert.Contains(t, w.events(), metering.EventDomainRecordChanged)
}

// Silence is not a change: it is counted, and the known state stays.
func TestSilence(t *testing.T) {
	w := started(t, cheap)
	before := w.get()
	for _, f := range []diagtest.Fault{{Silent: true}, {Rcode: dns.RcodeRefused}} {
		w.net.Fault("example.com.", 0, f)
		w.net.Fault("_dmarc.example.com.", 0, f)
		w.advance(2 * day)
		w.confirm()
		w.confirm()
		assert.Empty(t, w.told())
		one := w.get()
		assert.Equal(t, 2, one.Unknown)
		assert.Equal(t, before.Mark, one.Mark)
		assert.Equal(t, before.Counts, one.Counts)
	}
	w.net.Fault("example.com.", 0, diagtest.Fault{})
	w.net.Fault("_dmarc.example.com.", 0, diagtest.Fault{})
	w.advance(2 * day)
	assert.Zero(t, w.get().Unknown)
	assert.Empty(t, w.told())
}

// A resolver with false answers causes no event.
func TestLyingResolver(t *testing.T) {
	for name, lie := range map[string]diagtest.Fault{
		"another value": {Answers: []string{spfBad}},
		"no record":     {Answers: []string{`example.com. A 192.0.2.80`}},
		"no domain":     {Rcode: dns.RcodeNameError},
	} {
		w := started(t, cheap)
		w.net.Fault("example.com.", dns.TypeTXT, lie)
		w.net.Fault("_dmarc.example.com.", dns.TypeTXT, diagtest.Fault{Rcode: dns.RcodeNameError})
		w.advance(2 * day)
		w.net.Fault("example.com.", dns.TypeTXT, diagtest.Fault{})
		w.net.Fault("_dmarc.example.com.", dns.TypeTXT, diagtest.Fault{})
		w.confirm()
		w.advance(day)
		assert.Empty(t, w.told(), name)
	}
}

// What flaps is one event, and a day later one more with how often it did.
func TestFlappingRecord(t *testing.T) {
	w := started(t, watch.Settings{Checks: []string{"spf/lookup"}, Every: time.Hour, Budget: 10_000})
	turn := func(n int) {
		for i := range n {
			w.replace("example.com.", dns.TypeTXT, []string{spfB, spfA}[i%2])
			w.advance(2 * time.Hour)
		}
	}
	turn(10)
	require.Len(t, w.told(), 1)
	turn(4)
	require.Len(t, w.told(), 2)
	assert.GreaterOrEqual(t, w.told()[1].Flips, 9)
	w.replace("example.com.", dns.TypeTXT, spfA)
	w.advance(2 * day)
	require.Len(t, w.told(), 3, "how it ended is told, too")
	assert.Equal(t, []string{"v=spf1 ip4:192.0.2.25 -all"}, w.told()[2].New)
	w.advance(3 * day)
	require.Len(t, w.told(), 3)

	w.replace("example.com.", dns.TypeTXT, spfC)
	w.advance(2 * time.Hour)
	require.Len(t, w.told(), 4)
	assert.Zero(t, w.told()[3].Flips)
}

// A fault that comes and goes is reported and resolved once a day.
func TestFlappingFault(t *testing.T) {
	w := started(t, watch.Settings{Checks: []string{"spf/lookup"}, Every: time.Hour, Budget: 100_000})
	faults := func() (list []metering.EventType) {
		for _, e := range w.events() {
			if e != metering.EventDomainRecordChanged {
				list = append(list, e)
			}
		}
		return list
	}
	for i := range 6 {
		w.replace("example.com.", dns.TypeTXT, []string{spfBad, spfA}[i%2])
		w.advance(2 * time.Hour)
		w.confirm()
	}
	assert.Equal(t, []metering.EventType{metering.EventDomainWorsened, metering.EventDomainRecovered}, faults())
	w.advance(2 * day)
	require.Len(t, faults(), 3)
	all := w.told()
	assert.GreaterOrEqual(t, all[len(all)-1].Flips, 3)
}

// The end of a domain is reported once, and the domain is then checked once a week. When it is back, its state is
// learned anew.
func TestEndOfADomain(t *testing.T) {
	w := started(t, cheap)
	exist := func(f diagtest.Fault) {
		for _, name := range []string{"example.com.", "_dmarc.example.com."} {
			w.net.FaultEverywhere(name, 0, f)
		}
	}
	exist(diagtest.Fault{Rcode: dns.RcodeNameError})
	w.advance(2 * day)
	assert.Empty(t, w.told())
	w.confirm()
	require.Len(t, w.told(), 1)
	e := w.told()[0]
	assert.Equal(t, metering.EventDomainUnreachable, e.Event)
	assert.Equal(t, watch.NoDomain, e.Reason)
	assert.Equal(t, "the registrar of example.com", e.Mend)
	one := w.get()
	assert.Equal(t, watch.Ended, one.State)
	assert.Equal(t, watch.NoDomain, one.Reason)
	for range 12 {
		w.advance(day)
		w.confirm()
	}
	assert.Len(t, w.told(), 1)
	runs, err := w.watches.History(t.Context(), w.account.ID, one.ID, w.clock.Now().Add(-12*day))
	require.NoError(t, err)
	assert.LessOrEqual(t, len(runs), 4)

	exist(diagtest.Fault{})
	w.advance(8 * day)
	require.Len(t, w.told(), 2)
	assert.Equal(t, metering.EventDomainRecovered, w.told()[1].Event)
	assert.Equal(t, watch.OK, w.get().State)
	w.replace("example.com.", dns.TypeTXT, spfB)
	w.advance(2 * day)
	assert.Len(t, w.told(), 3)
}

// If no name server answers, resolvers say so, and that is reported.
func TestUnreachableDomain(t *testing.T) {
	w := started(t, cheap)
	down := func(f diagtest.Fault) {
		for _, name := range []string{"example.com.", "_dmarc.example.com."} {
			w.net.FaultEverywhere(name, 0, f)
		}
	}
	down(diagtest.Fault{Rcode: dns.RcodeServerFailure})
	w.advance(2 * day)
	w.confirm()
	require.Len(t, w.told(), 1)
	assert.Equal(t, watch.Unreachable, w.told()[0].Reason)
	down(diagtest.Fault{})
	w.advance(2 * day)
	assert.Equal(t, []metering.EventType{metering.EventDomainUnreachable, metering.EventDomainRecovered}, w.events())
}

// Expiries are reported at each step once, and not before two thirds of a lifetime have passed.
func TestExpiry(t *testing.T) {
	w := newWorld(t)
	serve := func(lifetime time.Duration) {
		spec := diagtest.CertSpec{Names: []string{"example.com"}, NotBefore: w.clock.Now(), NotAfter: w.clock.Now().Add(lifetime)}
		w.net.Site(diagtest.Site{Host: "example.com", TLS: &tls.Config{Certificates: []tls.Certificate{w.net.Certificate(spec)}}})
	}
	serve(90 * day)
	w.create(watch.Settings{Checks: []string{"web"}, Every: time.Hour, Budget: 10_000}) // so that each day has a run
	days := func(steps ...time.Duration) (list []int) {
		for _, n := range steps {
			w.advance(n * day)
		}
		for _, e := range w.told() {
			if e.Event == metering.EventDomainExpiresSoon {
				list = append(list, e.Days)
			}
		}
		return list
	}
	assert.Empty(t, days(0, 58))
	assert.Equal(t, "certificate", w.get().Expiry)
	assert.Equal(t, []int{30, 14, 7, 3, 1}, days(2, 1, 16, 6, 2, 2, 1, 1))
	e := w.told()[0]
	assert.Equal(t, "certificate", e.Expiring)
	assert.Equal(t, "the host example.com", e.Mend)
	serve(6 * day) // renewed by a machine every few days
	assert.Len(t, days(1, 2), 5)
	assert.Equal(t, []int{3, 1}, days(1, 1)[5:])
}

// The coverage of a state is reported: how many checks answered, of how many, and whether they examined anything.
func TestCoverage(t *testing.T) {
	w := started(t, cheap)
	assert.Equal(t, watch.Coverage{Answered: 2, All: 18}, w.get().Coverage)
	assert.Equal(t, view.Good, w.get().Mark)
	w.net.Break("_dmarc.example.com", dns.RcodeServerFailure)
	w.advance(2 * day)
	assert.Equal(t, watch.Coverage{Answered: 1, All: 18}, w.get().Coverage)

	everything := started(t, watch.Settings{})
	v := everything.get()
	assert.Equal(t, 18, v.All)
	assert.LessOrEqual(t, v.Answered+v.Unknown, 18)

	extra := started(t, watch.Settings{Checks: []string{"spf/lookup", "dmarcbis/check"}})
	assert.Equal(t, watch.Coverage{Answered: 2, All: 19}, extra.get().Coverage)
}

// A check that had nothing to examine does not count as praise.
func TestNothingExamined(t *testing.T) {
	w := newWorld(t)
	w.replace("example.com.", dns.TypeA, "")
	w.create(watch.Settings{Checks: []string{"http/hsts-check"}})
	w.advance(0)
	v := w.get()
	assert.Equal(t, watch.Coverage{Answered: 1, All: 18, Nothing: true, Siteless: true}, v.Coverage)
	assert.Equal(t, view.Optional, v.Mark)
	assert.Empty(t, w.told())

	group := newWorld(t)
	group.replace("example.com.", dns.TypeA, "")
	group.create(watch.Settings{Checks: []string{"web"}})
	group.advance(0)
	assert.True(t, group.get().Nothing)
	assert.Equal(t, view.Optional, group.get().Mark)
}

// judgedByOthers has the state of the watch be that of a build with other rules.
func (w *world) judgedByOthers() {
	for r, err := range w.store.Records(w.Context(), metering.RecordFilter{Kind: "watch_state"}) {
		require.NoError(w, err)
		state := map[string]any{}
		require.NoError(w, json.Unmarshal(r.Body, &state))
		require.NotEmpty(w, state["rules"])
		state["rules"] = "others"
		r.Body, err = json.Marshal(state)
		require.NoError(w, err)
		require.NoError(w, w.store.PutRecords(w.Context(), r))
	}
}

// The first run under other rules is the baseline of later ones: its findings are shown without notifications, also
// those that are gone.
func TestOtherRules(t *testing.T) {
	w := started(t, watch.Settings{Checks: []string{"dmarc/lookup", "mta-sts/lookup"}})
	w.replace("_dmarc.example.com.", dns.TypeTXT, dmarcBad)
	before := len(w.known().Findings)
	w.judgedByOthers()
	w.advance(2 * day)
	w.confirm()
	assert.Empty(t, w.of(metering.EventDomainWorsened))
	assert.Greater(t, len(w.known().Findings), before)
	assert.NotEmpty(t, w.of(metering.EventDomainRecordChanged), "which no rule has changed")

	w.replace("_dmarc.example.com.", dns.TypeTXT, dmarc)
	w.judgedByOthers()
	w.advance(2 * day)
	w.confirm()
	assert.Empty(t, w.of(metering.EventDomainRecovered))
	assert.Len(t, w.known().Findings, before)

	w.replace("_dmarc.example.com.", dns.TypeTXT, dmarcBad)
	w.advance(2 * day)
	w.confirm()
	assert.NotEmpty(t, w.of(metering.EventDomainWorsened), "under the same rules")
}

func (w *world) known() *watch.Snapshot {
	s, err := w.watches.Now(w.Context(), w.account.ID, watch.ID(diag.MustDomain("example.com")))
	require.NoError(w, err)
	return s
}
