package watch

import (
	"cmp"
	"slices"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/resolve"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/httpapi/target"
)

// news is what a run has to tell.
type news struct {
	changes []changed
	worse   []Finding
	better  []Finding
	counts  map[diag.Code]int // of what has flapped: how often
	expire  []expiry
	end     Reason // the domain is gone
	back    Reason // and is there again
}

// changed is a change of records that is to be told.
type changed struct {
	Change
	seen  time.Time // first
	flips int       // if it has flapped: how often
}

// weigh compares a run with what is known, as far as no further question is needed. It returns the records whose new
// values another resolver is to confirm.
func (s *state) weigh(o *observation, regular bool) (n *news, open []Change) {
	n = &news{counts: map[diag.Code]int{}}
	known := slices.ContainsFunc(o.parts, func(p part) bool { return p.known })
	s.weighEnd(o, n, known)
	if regular {
		s.Unknown = o.unknown()
		if !known && o.end == "" && s.End == "" {
			s.doubt(domainEnding, string(Unreachable), "", o.at) // which is asked about
		}
	}
	if o.end != "" || s.End != "" {
		return n, nil
	}
	if o.registrar != "" {
		s.Registrar = o.registrar
	}
	for _, p := range o.parts {
		if !p.known {
			continue
		}
		open = append(open, s.weighRecords(&p, o.at)...)
		s.weighFindings(&p, o, n)
		if !slices.Contains(s.Seen, p.name) {
			s.Seen = append(s.Seen, p.name)
		}
	}
	s.weighFacts(o)
	s.weighExpiries(o, n)
	if o.score != nil && regular {
		s.Score = o.score
	}
	return n, open
}

// weighEnd looks at whether the domain is still there.
func (s *state) weighEnd(o *observation, n *news, known bool) {
	s.Doubts = slices.DeleteFunc(s.Doubts, func(d *doubt) bool {
		contrary := o.end != Reason(d.Key) && (known && d.asked() || o.answered(d.Check))
		return d.Topic == domainEnding && contrary
	})
	switch {
	case o.end != "" && s.End == "":
		check := ""
		if o.end == Lapsed {
			check = o.ended
		}
		d := s.doubt(domainEnding, string(o.end), check, o.at)
		d.says(o.at, false)
		s.endIfSure(d, n)
	case o.end == "" && s.End != "" && known && (s.End != Lapsed || o.registered):
		n.back, s.End = s.End, ""
		s.Snapshot, s.Seen, s.Told, s.Doubts = Snapshot{}, nil, nil, nil // known anew
	}
}

// endIfSure believes that the domain is gone.
func (s *state) endIfSure(d *doubt, n *news) {
	if d.sure() {
		n.end, s.End, s.Doubts = Reason(d.Key), Reason(d.Key), nil
	}
}

// answered reports whether all parts of a check are known.
func (o *observation) answered(check string) bool {
	asked := false
	for _, p := range o.parts {
		if p.check == check {
			if asked = true; !p.known {
				return false
			}
		}
	}
	return asked
}

// weighRecords returns the sets of records that have other values, or are new.
func (s *state) weighRecords(p *part, at time.Time) (open []Change) {
	seen := slices.Contains(s.Seen, p.name)
	for _, r := range p.records {
		s.settle(recordGone, r.key())
		i := slices.IndexFunc(s.Records, func(old Record) bool { return old.key() == r.key() })
		switch {
		case i >= 0 && slices.Equal(s.Records[i].Values, r.Values):
		case i >= 0:
			open = append(open, Change{r.Name, r.Type, r.Begins, r.Part, s.Records[i].Values, r.Values})
		case seen:
			open = append(open, Change{r.Name, r.Type, r.Begins, r.Part, []string{}, r.Values})
		case len(s.Records) < maxSets:
			s.Records = append(s.Records, r)
		}
	}
	if !p.whole {
		return open
	}
	for _, old := range s.Records {
		there := slices.ContainsFunc(p.records, func(r Record) bool { return r.key() == old.key() })
		if old.Part == p.name && !there {
			s.doubt(recordGone, old.key(), "", at).says(at, false)
		}
	}
	return open
}

// take believes in the new values of records, or in their end, and tells them unless they flap.
func (s *state) take(c Change, first, at time.Time, n *news) {
	key := Record{Name: c.Name, Type: c.Type, Begins: c.Begins}.key()
	s.Records = slices.DeleteFunc(s.Records, func(r Record) bool { return r.key() == key })
	if len(c.New) > 0 && len(s.Records) < maxSets {
		s.Records = append(s.Records, Record{c.Name, c.Type, c.Begins, c.Part, c.New, at})
	}
	most := mostTold
	if t := s.Told[recordKey+key]; t != nil && slices.Equal(t.Old, c.New) {
		most = 1 // it is what it was
	}
	if s.mayTell(recordKey+key, at, most) {
		n.changes = append(n.changes, changed{c, first, 0})
		s.Told[recordKey+key].Old, s.Told[recordKey+key].New = c.Old, c.New
	}
}

// What was told is named by what it is of. Of records that change to ever other values, so many changes are told a day;
// of faults that come and go, one of each.
const (
	recordKey = "r "
	faultKey  = "f "
	mostTold  = 3
	mostFault = 2
)

// weighFindings looks for faults that are new, and for those that are no more.
func (s *state) weighFindings(p *part, o *observation, n *news) {
	seen := slices.Contains(s.Seen, p.name)
	for _, f := range p.findings {
		s.settle(faultGone, string(f.Code))
		i := slices.IndexFunc(s.Findings, func(old Finding) bool { return old.Code == f.Code })
		if i >= 0 && f.Severity <= s.Findings[i].Severity {
			s.Findings[i].Severity, s.Findings[i].Target = f.Severity, f.Target
			s.settle(faultThere, string(f.Code))
			continue
		}
		doubtful := seen && f.Severity > diag.Info && !expiring(f.Code)
		if doubtful {
			d := s.doubt(faultThere, string(f.Code), p.check, o.at)
			if d.says(o.at, false); !d.sure() {
				continue
			}
			s.settle(faultThere, string(f.Code))
			f.Since = d.First
		}
		s.Findings = slices.DeleteFunc(s.Findings, func(old Finding) bool { return old.Code == f.Code })
		if len(s.Findings) < maxFindings {
			s.Findings = append(s.Findings, f)
		}
		if doubtful && s.mayTell(faultKey+string(f.Code), o.at, mostFault) {
			n.worse = append(n.worse, f)
		}
	}
	if !p.whole {
		return
	}
	there := func(code diag.Code) bool {
		return slices.ContainsFunc(o.parts, func(p part) bool {
			return slices.ContainsFunc(p.findings, func(f Finding) bool { return f.Code == code })
		})
	}
	s.Doubts = slices.DeleteFunc(s.Doubts, func(d *doubt) bool {
		return d.Topic == faultThere && d.Check == p.check && !there(diag.Code(d.Key)) && o.whole(d.Check)
	})
	for _, f := range slices.Clone(s.Findings) {
		if f.Part != p.name || there(f.Code) {
			continue
		}
		doubtful := f.Severity > diag.Info && !expiring(f.Code)
		if doubtful {
			d := s.doubt(faultGone, string(f.Code), p.check, o.at)
			if d.says(o.at, false); !d.sure() {
				continue
			}
			s.settle(faultGone, string(f.Code))
		}
		s.Findings = slices.DeleteFunc(s.Findings, func(old Finding) bool { return old.Code == f.Code })
		if doubtful && s.mayTell(faultKey+string(f.Code), o.at, mostFault) {
			n.better = append(n.better, f)
		}
	}
}

// whole reports whether all parts of a check have answered in full.
func (o *observation) whole(check string) bool {
	return !slices.ContainsFunc(o.parts, func(p part) bool { return p.check == check && !p.whole })
}

// weighFacts takes the facts of the checks that have answered.
func (s *state) weighFacts(o *observation) {
	s.Facts = slices.DeleteFunc(s.Facts, func(f Fact) bool {
		return slices.ContainsFunc(o.facts, func(g Fact) bool { return g.Part == f.Part })
	})
	s.Facts = append(s.Facts, o.facts...)
	s.Facts = s.Facts[:min(len(s.Facts), maxFacts)]
	addressed := slices.ContainsFunc(s.Records, func(r Record) bool { return r.Type == "A" || r.Type == "AAAA" })
	if o.siteless && !addressed { // there is no site any more: what was wrong with it is not put right
		s.Findings = slices.DeleteFunc(s.Findings, func(f Finding) bool { return slices.Contains(sites, f.Part) })
	}
}

// sites are the checks of a web site.
var sites = []string{"tls", "hsts", "headers", "redirects"}

// reply counts what a resolver says of a doubt.
func (s *state) reply(d *doubt, p target.Part, other bool, at time.Time, n *news) {
	r, ok := p.Report.(*resolve.Report)
	const silence = "SERVFAIL" // of the servers that are asked: an answer where that is the question
	if !ok || r.Rcode != noError && r.Rcode != nxdomain && (d.Topic != domainEnding || r.Rcode != silence) {
		if d.mute(at, other); d.lost() {
			s.settle(d.Topic, d.Key)
		}
		return
	}
	if d.Topic == domainEnding {
		end := map[string]Reason{nxdomain: NoDomain, silence: Unreachable}[r.Rcode]
		if end != Reason(d.Key) {
			s.settle(d.Topic, d.Key)
		}
		if end != "" {
			d = s.doubt(domainEnding, string(end), "", at)
			d.says(at, other)
			s.endIfSure(d, n)
		}
		return
	}
	i := slices.IndexFunc(s.Records, func(r Record) bool { return r.key() == d.Key })
	if i < 0 || len(setOf(s.Records[i].Name, s.Records[i].Type, s.Records[i].Begins, valuesOf(r))) > 0 {
		s.settle(d.Topic, d.Key)
		return
	}
	if d.says(at, other); d.sure() {
		s.settle(d.Topic, d.Key)
		old := s.Records[i]
		s.take(Change{old.Name, old.Type, old.Begins, old.Part, old.Values, []string{}}, d.First, at, n)
	}
}

// renew tells again of what has flapped for a day.
func (s *state) renew(at time.Time, n *news) {
	for key, flips := range s.flapped(at) {
		kind, key := key[:len(recordKey)], key[len(recordKey):]
		switch kind {
		case recordKey:
			t := s.Told[recordKey+key]
			c := Change{Old: t.New, New: []string{}}
			c.Name, c.Type, c.Begins = splitKey(key)
			if i := slices.IndexFunc(s.Records, func(r Record) bool { return r.key() == key }); i >= 0 {
				c.New, c.Part = s.Records[i].Values, s.Records[i].Part
			}
			if slices.Equal(c.Old, c.New) {
				c.Old = t.Old
			}
			t.Old, t.New = c.Old, c.New
			n.changes = append(n.changes, changed{c, at, flips})
		case faultKey:
			n.counts[diag.Code(key)] = flips
			if i := slices.IndexFunc(s.Findings, func(f Finding) bool { return string(f.Code) == key }); i >= 0 {
				n.worse = append(n.worse, s.Findings[i])
			} else {
				n.better = append(n.better, Finding{Code: diag.Code(key)})
			}
		}
	}
	slices.SortFunc(n.changes, func(a, b changed) int { return cmp.Compare(a.key(), b.key()) })
}

// close brings the snapshot into its form after a run.
func (s *state) close(at time.Time) {
	s.sort()
	s.At = at
	switch s.Mark = s.counts().markOf(); {
	case s.End != "":
		s.Mark = view.Critical
	case s.Mark == view.Good && len(s.Seen) == 0:
		s.Mark = view.Unknown
	}
}
