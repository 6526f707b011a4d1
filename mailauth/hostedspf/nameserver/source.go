package nameserver

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
)

const (
	// Poll is how often the store is asked whether anything has changed, as long as reading it all takes
	// less than a tenth of that.
	Poll = time.Second

	// maxPoll bounds the time between two looks, however long they take.
	maxPoll = time.Minute

	// pollShare says how many times as long as a look took is the wait for the next one at least: a store
	// with very many profiles changes all the time, and must not be read all the time.
	pollShare = 10

	// pollTimeout bounds one look at the store.
	pollTimeout = 30 * time.Second

	// pageProfiles is how many profiles are read at once.
	pageProfiles = 500

	// maxPublished bounds the records that are served: some hundred megabytes. What is beyond is logged.
	maxPublished = 1 << 20
)

// source is what is known of the store. It belongs to whoever refreshes.
type source struct {
	busy    chan struct{} // holds a token while nobody refreshes
	known   bool
	version int64
	read    atomic.Int64 // when it was last known what is published, in microseconds since 1970
}

// Refresh reads the store and serves what is published now, if anything has changed. On an error the last
// snapshot stays.
func (s *Server) Refresh(ctx context.Context) error {
	select {
	case <-s.source.busy:
		defer func() { s.source.busy <- struct{}{} }()
	case <-ctx.Done():
		return ctx.Err()
	}
	began := s.config.Clock() // what changes from here on may be missed
	version, err := s.config.Store.Version(ctx)
	if err != nil {
		return fmt.Errorf("reading what is published: %w", err)
	}
	if s.source.known && version == s.source.version {
		s.source.read.Store(began.UnixMicro())
		return nil
	}
	records, err := s.read(ctx)
	if err != nil {
		return fmt.Errorf("reading what is published: %w", err)
	}
	// The version of the store rises with every change on every node, so that all name servers of a zone
	// show the same number. It was read first: what changed meanwhile is a change yet to be seen.
	s.current.Store(s.config.Zone.build(records, uint32(version)+1))
	s.source.known, s.source.version = true, version
	s.source.read.Store(began.UnixMicro())
	return nil
}

// Updated is when it was last known that what is served is what is published. If that is more than some
// seconds ago, the store fails.
func (s *Server) Updated() time.Time { return time.UnixMicro(s.source.read.Load()) }

// read reads all profiles, oldest first.
func (s *Server) read(ctx context.Context) ([]published, error) {
	records, seen := []published{}, map[string]string{}
	q := hostedspf.ProfileQuery{Owner: hostedspf.AnyOwner, Limit: pageProfiles}
	for {
		page, err := s.config.Store.Profiles(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, p := range page.Profiles {
			records = s.collect(records, seen, p)
			q.After = hostedspf.Position{Time: p.CreatedAt, ID: p.ID}
		}
		if len(page.Profiles) < pageProfiles {
			return records, nil
		}
	}
}

// collect adds the records of a profile that lie in the zone. Two records of SPF at one name would make
// both void (RFC 7208 section 4.5): the older profile keeps the name.
func (s *Server) collect(records []published, seen map[string]string, p hostedspf.Profile) []published {
	ttl := s.config.Zone.ttl(time.Duration(p.IntervalSeconds) * time.Second)
	for _, r := range p.Records {
		n, err := diag.ParseName(r.Name)
		if err != nil || !s.config.Zone.within(n.FQDN()) {
			continue // published elsewhere
		}
		name := n.FQDN()
		if by, taken := seen[name]; taken || len(records) >= maxPublished {
			s.config.Log.Warn("a record of hosted SPF is not served", "name", name, "profile", p.ID, "served_for", by)
			continue
		}
		seen[name] = p.ID
		records = append(records, published{name, r.Value, ttl})
	}
	return records
}

// follow refreshes until the context ends. While the store fails, it says so once.
func (s *Server) follow(ctx context.Context) {
	next := time.NewTimer(Poll)
	defer next.Stop()
	for failing := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
		began := time.Now()
		looking, cancel := context.WithTimeout(ctx, pollTimeout)
		err := s.Refresh(looking)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !failing:
			s.config.Log.Warn("the name server goes on with what it knows", "error", err)
		case err == nil && failing:
			s.config.Log.Info("the name server reads the store again")
		}
		failing = err != nil
		next.Reset(min(max(Poll, pollShare*time.Since(began)), maxPoll))
	}
}
