package watch

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/resolve"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/httpapi/target"
	"github.com/diagkit/diagkit/metering"
)

// A comparison is of the known state with the observation of a run. It is made in three steps: weigh applies what
// needs no other answer, and suspects the rest; reply adds the answers of resolvers; conclude accepts what is
// confirmed.
type comparison struct {
	*state
	*catalogue
	seen    *observation
	domain  string
	at      time.Time
	digest  *target.Digest // of a regular run
	notices []notice
}

func (c *comparison) evaluate(regular bool) {
	o := c.seen
	known := slices.ContainsFunc(o.parts, func(p part) bool { return p.isKnown })
	c.evaluateEnd(known)
	if regular {
		c.Unknown = o.unknown()
		parts, idle := o.answered()
		c.Answered, c.All = covered(parts)
		c.Nothing, c.Siteless = len(parts) > 0 && idle == len(parts), o.hasNoSite
		if !known && o.end == "" && c.End == "" {
			c.addSuspicion(domainKey, string(Unreachable), "", c.at) // without counting it: the DNS is queried
		}
	}
	if o.end != "" || c.End != "" {
		return
	}
	if o.registrar != "" {
		c.Registrar = o.registrar
	}
	for _, p := range o.parts {
		if !p.isKnown {
			continue
		}
		c.evaluateRecords(&p)
		c.evaluateFindings(&p)
		if p.isComplete && !slices.Contains(c.Seen, p.name) {
			c.Seen = append(c.Seen, p.name)
		}
	}
	for key, p := range c.Suspicions {
		if p.Value == present && o.fault(key) == nil && o.all(p.Check, func(p part) bool { return p.isComplete }) {
			c.removeSuspicion(key)
		}
	}
	c.evaluateFacts()
	c.evaluateExpiries()
	if o.score != nil && regular {
		c.Score = o.score
	}
}

// evaluateEnd checks whether the domain still exists.
func (c *comparison) evaluateEnd(known bool) {
	o := c.seen
	if p := c.Suspicions[domainKey]; p != nil && o.end != Reason(p.Value) &&
		(known && p.needsQueries() || o.all(p.Check, func(p part) bool { return p.isKnown })) {
		c.removeSuspicion(domainKey)
	}
	switch {
	case o.end != "" && c.End == "":
		check := ""
		if o.end == Lapsed {
			check = o.ended
		}
		c.addSuspicion(domainKey, string(o.end), check, c.at).addAnswer(c.at, false)
	case o.end == "" && c.End != "" && known && (c.End != Lapsed || o.registered):
		c.addEvent(metering.EventDomainRecovered, "back", data{Reason: c.End})
		c.End, c.Snapshot, c.Seen, c.Suspicions = "", Snapshot{}, nil, nil // known anew
	}
}

// evaluateRecords finds the sets of records that have other values, are new or are gone.
func (c *comparison) evaluateRecords(p *part) {
	for _, r := range p.records {
		old := find(c.Records, r.key())
		switch {
		case old != nil && slices.Equal(old.Values, r.Values):
			c.removeSuspicion(r.key())
		case old != nil || slices.Contains(c.Seen, p.name):
			d := c.addSuspicion(r.key(), present, "", c.at)
			d.addAnswer(c.at, false)
			d.Record = &r
		case len(c.Records) < maxSets:
			c.Records = append(c.Records, r)
		}
	}
	for _, old := range c.Records {
		if p.isComplete && old.Part == p.name && find(p.records, old.key()) == nil {
			c.addSuspicion(old.key(), absent, "", c.at).addAnswer(c.at, false)
		}
	}
}

// evaluateFindings looks for faults that are new or graver, and for those that are no more.
func (c *comparison) evaluateFindings(p *part) {
	for _, f := range p.findings {
		old := find(c.Findings, f.key())
		switch {
		case old != nil && f.Severity <= old.Severity:
			old.Severity, old.Target = f.Severity, f.Target
			c.removeSuspicion(f.key())
		case f.isNotified() && (slices.Contains(c.Seen, p.name) || c.isSuspected(f.key())):
			c.addSuspicion(f.key(), present, p.check, c.at).addAnswer(c.at, false)
		default:
			c.removeSuspicion(f.key())
			c.put(f)
		}
	}
	for _, f := range slices.Clone(c.Findings) {
		switch {
		case !p.isComplete || f.Part != p.name || c.seen.fault(f.key()) != nil:
		case f.isNotified() && slices.Contains(c.Seen, p.name):
			c.addSuspicion(f.key(), absent, p.check, c.at).addAnswer(c.at, false)
		default:
			c.removeSuspicion(f.key())
			c.Findings = removeKey(c.Findings, f.key())
		}
	}
}

// isSuspected reports whether a fault was seen before, and is not believed yet.
func (c *comparison) isSuspected(key string) bool {
	p := c.Suspicions[key]
	return p != nil && p.Value == present
}

// isNotified reports whether the finding causes an event. Expiries have events of their own.
func (f Finding) isNotified() bool {
	return f.Severity > diag.Info && !slices.Contains(expiring, property(f.Code))
}

// put adds a finding to the known state.
func (c *comparison) put(f Finding) {
	if c.Findings = removeKey(c.Findings, f.key()); len(c.Findings) < maxFindings {
		c.Findings = append(c.Findings, f)
	}
}

func (c *comparison) evaluateFacts() {
	o := c.seen
	c.Facts = slices.DeleteFunc(c.Facts, func(f Fact) bool {
		return slices.ContainsFunc(o.facts, func(g Fact) bool { return g.Part == f.Part })
	})
	c.Facts = append(c.Facts, o.facts...)
	c.Facts = c.Facts[:min(len(c.Facts), maxFacts)]
	addressed := slices.ContainsFunc(c.Records, func(r Record) bool { return r.Type == "A" || r.Type == "AAAA" })
	if o.hasNoSite && !addressed { // the site is gone: its faults are not resolved
		c.Findings = slices.DeleteFunc(c.Findings, func(f Finding) bool { return slices.Contains(sites, f.Part) })
	}
}

// sites are the checks of a web site.
var sites = []string{"tls", "hsts", "headers", "redirects"}

// questions returns the keys of what to ask resolvers; the rest waits for the next run.
func (c *comparison) questions() (keys []string) {
	for key, p := range c.Suspicions {
		if p.isQueryDue(c.at) && len(keys) < maxQuestions {
			keys = append(keys, key)
		}
	}
	return keys
}

// question returns the set of records that a question is about.
func (c *comparison) question(key string) Set {
	if r := cmp.Or(find(c.Records, key), c.Suspicions[key].Record); r != nil {
		return r.Set
	}
	return Set{Name: c.domain, Type: "NS"}
}

// reply counts a resolver's answer about a doubt; nil if it did not answer.
func (c *comparison) reply(key string, r *resolve.Report) {
	p := c.Suspicions[key]
	other, ending, value := p.usesSecondResolver(), key == domainKey, absent
	if r != nil && isAnswer(r.Rcode) {
		if set := setOf(c.question(key), valuesOf(r)); len(set) > 0 {
			value = present
			if old := find(c.Records, key); old != nil && slices.Equal(old.Values, set[0].Values) {
				value = ""
			}
		}
	}
	switch {
	case r == nil || !isAnswer(r.Rcode) && !ending: // that all servers fail is an answer where that is the question
		p.addSilence(c.at)
	case ending && r.Rcode == noError:
		c.removeSuspicion(key)
	case ending:
		end := map[string]Reason{nxdomain: NoDomain, servfail: Unreachable}[r.Rcode]
		c.addSuspicion(key, string(end), "", c.at).addAnswer(c.at, other)
	case value == p.Value:
		p.addAnswer(c.at, other)
	default:
		c.removeSuspicion(key)
	}
}

// acceptChange accepts the new values of records, or their removal, and reports them unless they flap.
func (c *comparison) acceptChange(p *suspicion, ch Change, first time.Time) {
	if c.Records = removeKey(c.Records, ch.key()); len(ch.New) > 0 && len(c.Records) < maxSets {
		c.Records = append(c.Records, Record{ch.Set, ch.New, c.at})
	}
	most := maxNotified
	if p.Change != nil && slices.Equal(p.Change.Old, ch.New) {
		most = 1 // it is back to the known value
	}
	if p.mayNotify(c.at, most) {
		c.addChangeEvent(p, ch, first, 0)
	}
}

// conclude accepts what is confirmed, reports what has flapped for a day, and brings the state into its form.
func (c *comparison) conclude() {
	if p := c.Suspicions[domainKey]; p != nil && p.isConfirmed() {
		c.End, c.Suspicions = Reason(p.Value), nil
		who := fixedByRegistrar
		if c.End == Unreachable {
			who = fixedByDNS
		}
		c.addEvent(metering.EventDomainUnreachable, "", data{Reason: c.End, FixedBy: c.fixedBy(who, "")})
	}
	for _, key := range slices.Sorted(maps.Keys(c.Suspicions)) {
		p := c.Suspicions[key]
		if p.isConfirmed() {
			c.confirm(key, p)
		}
		flips := p.countFlips(c.at)
		known := find(c.Findings, key)
		switch {
		case flips == 0:
		case p.Change != nil:
			ch := change(p.Change.Set, nil, find(c.Records, key))
			if ch.Old = p.Change.New; slices.Equal(ch.Old, ch.New) {
				ch.Old = p.Change.Old
			}
			c.addChangeEvent(p, ch, c.at, flips)
		case known != nil:
			c.addFaultEvent(metering.EventDomainWorsened, *known, flips)
		default:
			c.addFaultEvent(metering.EventDomainRecovered, Finding{Code: diag.Code(key)}, flips)
		}
		if p.isStale(c.at) {
			delete(c.Suspicions, key)
		}
	}
	c.sort()
	c.At = c.at
	switch {
	case c.End != "":
		c.Mark = view.Critical
	case len(c.Findings) > 0 && c.Findings[0].Severity > diag.Info: // the gravest comes first
		c.Mark = view.MarkOf(c.Findings[0].Severity)
	case len(c.Seen) == 0:
		c.Mark = view.Unknown
	case c.Nothing:
		c.Mark = view.Optional
	default:
		c.Mark = view.Good
	}
}

// confirm adds a suspicion of records or of a fault to the known state.
func (c *comparison) confirm(key string, p *suspicion) {
	d := p.doubt
	p.doubt = doubt{}
	if old := find(c.Records, key); old != nil || d.Record != nil {
		c.acceptChange(p, change(cmp.Or(d.Record, old).Set, old, d.Record), d.First)
	} else if f := c.seen.fault(key); f != nil && d.Value == present {
		f.Since = d.First
		c.put(*f)
		if p.mayNotify(c.at, maxNotified) {
			c.addFaultEvent(metering.EventDomainWorsened, *f, 0)
		}
	} else if f := find(c.Findings, key); f != nil && d.Value == absent {
		if p.mayNotify(c.at, maxNotified) {
			c.addFaultEvent(metering.EventDomainRecovered, *f, 0)
		}
		c.Findings = removeKey(c.Findings, key)
	}
}

// What expires.
const (
	registration = "registration"
	certificate  = "certificate"
)

// An expiry is the time at which something expires, and which notice of it was sent.
type expiry struct {
	What string    `json:"what"`
	At   time.Time `json:"at"`
	From time.Time `json:"from"`
	Told int       `json:"told,omitempty"` // the smallest of ahead that was reported
}

func (e expiry) key() string { return e.What }

// noticeDays is how many days before an expiry it is reported.
var noticeDays = []int{30, 14, 7, 3, 1}

const day = 24 * time.Hour

// due returns the smallest number of days that has been reached and not reported; 0 if there is none. Nothing is
// reported before two thirds of a lifetime have passed, after which certificates are renewed automatically.
func (e *expiry) due(now time.Time) (days int) {
	left := e.At.Sub(now)
	if left <= 0 || now.Before(e.From.Add(e.At.Sub(e.From)/3*2)) {
		return 0
	}
	for _, n := range noticeDays {
		if left <= time.Duration(n)*day && (e.Told == 0 || n < e.Told) {
			days = n
		}
	}
	return days
}

// evaluateExpiries takes the expiries that a run has observed, and reports those that are near: of several steps that
// have passed, only the last.
func (c *comparison) evaluateExpiries() {
	for _, e := range c.seen.expiries {
		if old := find(c.Expiries, e.What); old == nil || !old.At.Equal(e.At) {
			c.Expiries = append(removeKey(c.Expiries, e.What), e)
		}
	}
	slices.SortFunc(c.Expiries, func(a, b expiry) int { return a.At.Compare(b.At) })
	who := map[string]string{registration: fixedByRegistrar, certificate: fixedByWebHost}
	for i := range c.Expiries {
		e := &c.Expiries[i]
		if days := e.due(c.at); days > 0 {
			e.Told = days
			c.addEvent(metering.EventDomainExpiresSoon, e.What, data{Expiring: e.What, ExpiresAt: e.At, Days: days,
				FixedBy: c.fixedBy(who[e.What], "")})
		}
	}
}
