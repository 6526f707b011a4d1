package nameserver

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
)

const (
	// poll is how often the store is checked for changes, as long as reading all of it takes less than a tenth of
	// that.
	poll = time.Second
	// maxPoll bounds the time between two checks, however long they take.
	maxPoll = time.Minute
	// pollShare is the minimum ratio of the wait to the duration of the last check: a store with very many profiles
	// changes all the time, and must not be read all the time.
	pollShare = 10
	// pollTimeout bounds one check of the store.
	pollTimeout = 30 * time.Second
	// pageProfiles is how many profiles are read per page.
	pageProfiles = 500
	// maxPublished bounds the records that are served: some hundred megabytes. What is beyond is logged.
	maxPublished = 1 << 20
)

// source is the known state of the store. The refreshing goroutine owns it.
type source struct {
	busy    chan struct{} // holds a token while no refresh runs
	known   bool
	version int64
	content [sha256.Size]byte // of the served records
	next    time.Time         // when the served records change by themselves; zero if never
	outages []outage          // in which the store was not read, as long as they matter
	read    atomic.Int64      // when the published records were last known, in microseconds since 1970
}

// Refresh reads the store and serves the current records, if anything has changed. On an error the last snapshot
// remains.
func (s *Server) Refresh(ctx context.Context) error {
	select {
	case <-s.source.busy:
		defer func() { s.source.busy <- struct{}{} }()
	case <-ctx.Done():
		return ctx.Err()
	}
	began := s.config.Clock() // changes from here on may be missed
	version, err := s.config.Store.Version(ctx)
	if err != nil {
		return fmt.Errorf("reading what is published: %w", err)
	}
	s.source.resume(s.Updated(), began)
	ended := !s.source.next.IsZero() && !began.Before(s.source.next)
	if s.source.known && version == s.source.version && !ended {
		s.source.read.Store(began.UnixMicro())
		return nil
	}
	// The version was read first: changes made meanwhile are still to be read.
	records, next, err := s.read(ctx, began)
	if err != nil {
		return fmt.Errorf("reading what is published: %w", err)
	}
	content, next := s.digest(records, began, next)
	if !s.source.known || content != s.source.content {
		s.source.content = content
		s.current.Store(s.config.Zone.build(records, s.serial(began)).signedBy(s.signer))
		s.announce()
	}
	s.source.known, s.source.version, s.source.next = true, version, next
	s.source.read.Store(began.UnixMicro())
	return nil
}

// serial returns the serial number of the next snapshot: the time in seconds, so that it also rises over a restart,
// with any store (RFC 1912 section 2.2).
func (s *Server) serial(now time.Time) uint32 {
	serial := uint32(now.Unix())
	if last := s.current.Load(); last != nil && int32(serial-last.soa.Serial) <= 0 { // RFC 1982 section 3.2
		serial = last.soa.Serial + 1
	}
	return serial
}

// digest identifies the published records and when they change by themselves. For secondaries a signed zone changes
// each day, so that they never serve expired signatures.
func (s *Server) digest(records []published, now, next time.Time) (sum [sha256.Size]byte, changes time.Time) {
	h := sha256.New()
	for _, r := range records {
		fmt.Fprintf(h, "%q %q %d %v\n", r.name, r.value, r.ttl, r.networks)
	}
	if s.signer != nil {
		day := now.Truncate(resign)
		fmt.Fprintln(h, day.Unix())
		if end := day.Add(resign); next.IsZero() || end.Before(next) {
			next = end
		}
	}
	h.Sum(sum[:0])
	return sum, next
}

// Updated returns when the served records were last known to be the published ones. If that is more than a few seconds
// ago, the store is failing.
func (s *Server) Updated() time.Time { return time.UnixMicro(s.source.read.Load()) }

// head returns the first record of a profile to serve: with secondaries, new parts are served ahead of the record
// that names them. The previous records are in the store, so a restart changes nothing.
func (r *reading) head(p hostedspf.Profile) string {
	value := p.Records[0].Value
	if len(r.config.Secondaries) == 0 {
		return value
	}
	for _, old := range slices.Backward(p.Parts) { // the last to be replaced comes last
		if old.Name != p.IncludeHost.String() {
			continue
		}
		replaced := old.Until.Add(-hostedspf.Retention)
		ready := r.known(replaced).Add(r.lead())
		if !r.now.Before(ready) {
			break
		}
		r.until(ready)
		value = old.Value
	}
	return value
}

// maxGap is how long the store may go unread before that counts as an outage: longer than the interval between two
// checks.
const maxGap = 2 * time.Minute

// An outage is a time in which the store was not read.
type outage struct{ lost, found time.Time }

// resume records that the store is readable again, after an outage.
func (s *source) resume(last, now time.Time) {
	if s.known && now.Sub(last) > maxGap {
		s.outages = append(s.outages, outage{last, now})
	}
	s.outages = slices.DeleteFunc(s.outages, func(o outage) bool { return now.Sub(o.found) > 2*hostedspf.Retention })
}

// known returns from when on a record replaced in the store counts as replaced. During an outage everything is served
// unchanged, so records replaced then, or still served when it began, are replaced at its end.
func (r *reading) known(replaced time.Time) time.Time {
	for _, o := range r.source.outages {
		if replaced.Add(r.lead()).After(o.lost) && replaced.Before(o.found) {
			replaced = o.found
		}
	}
	return replaced
}

// until records the time at which a served record ends.
func (r *reading) until(end time.Time) {
	if r.next.IsZero() || end.Before(r.next) {
		r.next = end
	}
}

type reading struct {
	*Server
	now     time.Time
	records []published
	seen    map[string]string // the profile by name
	next    time.Time         // when the first thing that is served ends
}

// read reads all profiles, oldest first, and returns when their records change by themselves.
func (s *Server) read(ctx context.Context, now time.Time) ([]published, time.Time, error) {
	r := &reading{Server: s, now: now, seen: map[string]string{}}
	q := hostedspf.ProfileQuery{Owner: hostedspf.AnyOwner, Limit: pageProfiles}
	for {
		page, err := s.config.Store.Profiles(ctx, q)
		if err != nil {
			return nil, time.Time{}, err
		}
		for _, p := range page.Profiles {
			r.collect(p)
			q.After = hostedspf.Position{Time: p.CreatedAt, ID: p.ID}
		}
		if len(page.Profiles) < pageProfiles {
			return r.records, r.next, nil
		}
	}
}

// collect adds the records that a profile publishes in the zone, including the parts that are still served.
func (r *reading) collect(p hostedspf.Profile) {
	ttl := r.config.Zone.ttl(time.Duration(p.IntervalSeconds) * time.Second)
	for i, record := range p.Records {
		value := record.Value
		if i == 0 {
			value = r.head(p)
		}
		r.add(p.ID, record.Name, published{value: value, ttl: ttl})
	}
	for _, part := range p.Parts {
		end := part.Until
		if !end.IsZero() {
			end = r.known(end.Add(-hostedspf.Retention)).Add(hostedspf.Retention)
		}
		if !end.IsZero() && !r.now.Before(end) || part.Name == p.IncludeHost.String() {
			continue
		}
		added := r.add(p.ID, part.Name, published{value: part.Value, ttl: ttl, networks: part.Networks})
		if added && !end.IsZero() {
			r.until(end)
		}
		if part.Networks != nil && len(r.config.Secondaries) > 0 {
			r.config.Log.Warn("secondary name servers cannot answer for a set of addresses", "name", part.Name, "profile", p.ID)
		}
	}
}

// add adds something at a name, unless the name lies outside the zone or is taken. Two records of SPF at one name would
// make both void (RFC 7208 section 4.5): the older profile keeps the name.
func (r *reading) add(profile, name string, p published) bool {
	n, err := diag.ParseName(name)
	if err != nil || !r.config.Zone.within(n.FQDN()) {
		return false // published elsewhere
	}
	p.name = n.FQDN()
	if by, taken := r.seen[p.name]; taken || len(r.records) >= maxPublished {
		r.config.Log.Warn("a record of hosted SPF is not served", "name", p.name, "profile", profile, "served_for", by)
		return false
	}
	r.seen[p.name] = profile
	r.records = append(r.records, p)
	return true
}

// follow refreshes until the context ends. A failure of the store is logged once.
func (s *Server) follow(ctx context.Context) {
	next := time.NewTimer(poll)
	defer next.Stop()
	for failing := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
		began := time.Now()
		looking, cancel := context.WithTimeout(ctx, pollTimeout)
		err := s.contained(func() error { return s.Refresh(looking) })
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !failing:
			s.config.Log.Warn("the name server continues with what it has", "error", err)
		case err == nil && failing:
			s.config.Log.Info("the name server reads the store again")
		}
		failing = err != nil
		next.Reset(min(max(poll, pollShare*time.Since(began)), maxPoll))
	}
}
