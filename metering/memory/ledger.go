package memory

import (
	"cmp"
	"context"
	"iter"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/internal/hold"
)

// chunkSize is the number of entries per chunk, so that a growing ledger is never copied.
const chunkSize = 1024

// ledger is everything that was settled.
type ledger struct {
	mu       sync.Mutex
	chunks   [][]metering.Entry
	seq      int64
	linked   int64 // up to which entries the chains go
	pruned   int64 // charges
	months   map[accountMonth]*month
	lastUsed map[metering.KeyID]time.Time
	replies  map[hold.ClaimID]hold.Record
	expiries []expiry
	next     int // of the expiries, to be checked
	bodies   hold.Bodies[metering.KeyID, hold.ClaimID]
	doubt    func() error
}

// month is a balance, with the highest ceiling under which one of its charges was granted, and the newest link of their
// chain.
type month struct {
	hold.Month
	peak  int64
	chain metering.Chain
}

type accountMonth struct {
	account metering.AccountID
	period  metering.Period
}

type expiry struct {
	id hold.ClaimID
	at time.Time
}

func (l *ledger) init() {
	l.months = make(map[accountMonth]*month)
	l.lastUsed = make(map[metering.KeyID]time.Time)
	l.replies = make(map[hold.ClaimID]hold.Record)
}

// charge writes charge, entry and kept reply in one step.
func (l *ledger) charge(t *metering.Ticket, s hold.Settling, out *metering.Outcome) {
	at := out.At.UTC().Truncate(time.Microsecond)
	var reply *metering.Reply
	if t.Idempotency != nil && out.Reply != nil {
		r := cloneReply(out.Reply.Kept())
		reply = &r
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seq++
	if l.seq%chunkSize == 1 {
		l.chunks = append(l.chunks, make([]metering.Entry, 0, chunkSize))
	}
	last := &l.chunks[len(l.chunks)-1]
	key := accountMonth{t.Account, s.Period}
	m := l.months[key]
	if m == nil {
		m = new(month)
		l.months[key] = m
	}
	m.Month = m.Plus(1, s.Parts)
	m.peak = max(m.peak, s.Ceiling)
	entry := s.Entry(t, at)
	entry.Seq = l.seq
	*last = append(*last, entry)
	if at.After(l.lastUsed[t.Key]) {
		l.lastUsed[t.Key] = at
	}
	if reply != nil {
		l.keep(t, *reply, at)
	}
}

// link adds a link for the charges of each month since the last one, before the ledger is read.
func (l *ledger) link() {
	groups := make(map[accountMonth][]metering.Entry)
	newest := make(map[accountMonth]*metering.Entry)
	for _, chunk := range l.chunks[min(l.linked/chunkSize, int64(len(l.chunks))):] {
		for i := range chunk {
			if e := &chunk[i]; e.Seq > l.linked {
				key := accountMonth{e.Account, e.Period}
				groups[key], newest[key] = append(groups[key], *e), e
			}
		}
	}
	for key, group := range groups {
		m := l.months[key]
		m.chain = m.chain.Link(group...)
		newest[key].Chain = new(m.chain)
	}
	l.linked = l.seq
}

// keep stores a reply, and drops the bodies that exceed the bound.
func (l *ledger) keep(t *metering.Ticket, reply metering.Reply, at time.Time) {
	id := hold.ClaimOf(&t.Op)
	expires := at.Add(metering.ReplayWindow)
	if l.doubt == nil || l.doubt() == nil {
		l.sweep(at)
	}
	l.replies[id] = hold.Record{RequestID: t.RequestID, Fingerprint: *t.Fingerprint, Expires: expires, Reply: reply}
	l.expiries = append(l.expiries, expiry{id, expires})
	for _, old := range l.bodies.Add(id.Line, id, len(reply.Body), at, expires, t.KeptBytes) {
		r := l.replies[old]
		r.Reply = metering.Reply{Form: metering.GoneReply}
		l.replies[old] = r
	}
}

// sweep checks the next two replies in turn, and drops them if they have expired, so that the store shrinks again. It
// relies on no order, which a clock that was set back would have broken.
func (l *ledger) sweep(now time.Time) {
	for range min(2, len(l.expiries)) {
		l.next %= len(l.expiries)
		e := l.expiries[l.next]
		if now.Before(e.at) {
			l.next++
			continue
		}
		last := len(l.expiries) - 1
		l.expiries[l.next] = l.expiries[last]
		l.expiries = l.expiries[:last]
		if l.replies[e.id].Expires.Equal(e.at) {
			delete(l.replies, e.id)
		}
		if last == 0 {
			return
		}
	}
}

// Entries implements [metering.Ledger].
func (s *Store) Entries(ctx context.Context, f metering.EntryFilter) iter.Seq2[metering.Entry, error] {
	return func(yield func(metering.Entry, error) bool) {
		yielded := 0
		for next := start(f); ; {
			if err := s.ready(ctx); err != nil {
				yield(metering.Entry{}, err)
				return
			}
			chunk := s.ledger.behind(next, f.Newest)
			if len(chunk) == 0 {
				return
			}
			for i := range chunk {
				e := &chunk[i]
				if f.Newest {
					e = &chunk[len(chunk)-1-i]
				}
				if f.Limit > 0 && yielded == f.Limit {
					return
				}
				if next = e.Seq; !f.Selects(e) {
					continue
				}
				if yielded++; !yield(*e, nil) {
					return
				}
			}
		}
	}
}

// start is the number behind which a list begins.
func start(f metering.EntryFilter) int64 {
	if f.Newest {
		return math.MaxInt64
	}
	return max(0, f.After)
}

// behind returns the entries after a sequence number up to the end of their chunk, or those before it from the
// beginning of theirs. Linked entries never change, so that the slice may be read without the lock.
func (l *ledger) behind(seq int64, backwards bool) []metering.Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.link()
	bySeq := func(e metering.Entry, seq int64) int { return cmp.Compare(e.Seq, seq) }
	if backwards {
		for i := min((seq-1)/chunkSize, int64(len(l.chunks))-1); i >= 0; i-- {
			if n, _ := slices.BinarySearchFunc(l.chunks[i], seq, bySeq); n > 0 {
				return l.chunks[i][:n]
			}
		}
		return nil
	}
	for i := seq / chunkSize; i < int64(len(l.chunks)); i++ {
		chunk := l.chunks[i]
		if first, _ := slices.BinarySearchFunc(chunk, seq+1, bySeq); first < len(chunk) {
			return chunk[first:]
		}
	}
	return nil
}

// Sums implements [metering.Ledger].
func (s *Store) Sums(ctx context.Context, f metering.EntryFilter) (metering.Sums, error) {
	sums := metering.NewSums(f.After)
	f.Newest, f.Limit = false, 0
	for e, err := range s.Entries(ctx, f) {
		if err != nil {
			return sums, err
		}
		sums.AddEntry(&e, f.Period)
	}
	return sums, nil
}

// Hours implements [metering.Ledger].
func (s *Store) Hours(
	ctx context.Context, account metering.AccountID, keys []metering.KeyID, since time.Time,
) (list []metering.HourSum, err error) {
	wanted := map[metering.KeyID]map[time.Time]int64{}
	for _, k := range keys {
		wanted[k] = map[time.Time]int64{}
	}
	for e, err := range s.Entries(ctx, metering.EntryFilter{Account: account}) {
		if err != nil {
			return nil, err
		}
		if hours := wanted[e.Key]; hours != nil && !e.At.Before(since) {
			hours[e.At.Truncate(time.Hour)] += e.Credits
		}
	}
	for key, hours := range wanted {
		for hour, credits := range hours {
			list = append(list, metering.HourSum{Key: key, Hour: hour, Credits: credits})
		}
	}
	return list, nil
}

// Audit implements [metering.Ledger].
func (s *Store) Audit(ctx context.Context) (metering.Audit, error) {
	versions, err := s.PlanVersions(ctx)
	if err != nil {
		return metering.Audit{}, err
	}
	keys, accounts := s.admin.known()
	auditor := metering.Auditor{Known: func(id metering.KeyID) bool { return keys[id] }}
	l := &s.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	l.link()
	for _, chunk := range l.chunks {
		for _, e := range chunk {
			auditor.Entry(e)
		}
	}
	for at, m := range l.months {
		auditor.Balance(metering.StoredBalance{
			Account: at.account, Period: at.period, Used: m.Used, Charges: m.Charges,
			Overage: m.Overage, Micros: m.Micros, Peak: m.peak, Chain: m.chain,
		})
	}
	if n := len(versions); n > 0 {
		auditor.Plans(versions, int64(n), versions[n-1].Chain)
	}
	return auditor.Finish(accounts), nil
}

// Balances implements [metering.Monthly].
func (s *Store) Balances(ctx context.Context, p metering.Period) iter.Seq2[metering.MonthBalance, error] {
	return func(yield func(metering.MonthBalance, error) bool) {
		if err := s.ready(ctx); err != nil {
			yield(metering.MonthBalance{}, err)
			return
		}
		held := s.book.Held(p)
		settled := map[metering.AccountID]hold.Month{}
		s.ledger.mu.Lock()
		for at, m := range s.ledger.months {
			if at.period == p {
				settled[at.account] = m.Month
			}
		}
		s.ledger.mu.Unlock()
		hold.Balances(p, settled, held, yield)
	}
}

// Settle implements [metering.Ledger].
func (s *Store) Settle(ctx context.Context, t metering.Ticket, out metering.Outcome) (metering.Balance, error) {
	if err := s.ready(ctx); err != nil {
		return metering.Balance{}, err
	}
	settling, err := s.book.Settle(t)
	if err != nil {
		return metering.Balance{}, err
	}
	s.ledger.charge(&t, settling, &out)
	return settling.Done(), nil
}
