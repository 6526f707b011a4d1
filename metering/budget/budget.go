// Package budget bounds what accounts, networks and people can cause on a server: what is held in memory, how many
// connections are open, how often something happens, and what is kept.
//
// All bounds are in one table ([Table]), and all code reads its numbers from there ([Of]). A full bound refuses its
// owner, or drops the owner's oldest; it never affects others. There are four mechanisms, each for one kind of bound:
//
//   - [Pool]: what requests hold at the moment, with a share for each account and each key. What does not fit waits.
//   - [metering.NetworkCount]: what unauthenticated clients hold at the moment, with a share for each network (/32 and
//     /24, /64, /56 and /48). What does not fit is refused.
//   - [metering.IPLimiter] and [NameLimiter]: events within a time, for each network and each name.
//   - [metering.RecordCache]: what a store keeps for an account. The oldest goes.
//
// A server makes one [Budget], from which all of its parts draw:
//
//	b := budget.New(budget.Config{Memory: 1 << 30})
//	api := httpapi.New(httpapi.Config{Gate: gate, Budget: b})
//	pages := dashboard.New(dashboard.Config{Store: store, API: api, Budget: b})
package budget

import (
	"cmp"
	"crypto/sha256"
	"net/netip"
	"runtime"
	"time"

	"github.com/diagkit/diagkit/metering"
)

// Config says how large a server is. The zero value is a server of the default size.
type Config struct {
	// Memory bounds the bytes that diagnostics hold together; a quarter more is for the bodies of requests, and as
	// much for forms and tool calls. 0 means DefaultMemory.
	Memory int64
	// Running bounds the diagnostics that run at once, with those that wait for memory. 0 means the number of the
	// table.
	Running int
	// Processors is the number of processors. 0 means GOMAXPROCS.
	Processors int
	// Connections bounds the open connections, of which a network has its share. 0 means the number of the table.
	Connections int
}

// A Budget holds the shared bounds of one server. Make one with [New].
type Budget struct {
	// What requests hold.
	Work, Bodies, Forms, Processors *Pool
	// What strangers hold.
	Letters, LetterQueue, PublicRuns                                              *metering.NetworkCount
	Connections, Requests, LetterConnections, CallbackConnections, DNSConnections *metering.NetworkCount
	// What happens in a time.
	SignIns, Visits, SignInMailsFrom, Callbacks *metering.IPLimiter
	LetterAddresses, PublicChecks               *metering.IPLimiter
	SignInMailsTo, Invitations                  *NameLimiter // by mail address; by account
	ChangesOfAccount, ChangesOfMember           *NameLimiter // by account; by account and mail address
}

// New returns an unused budget.
func New(c Config) *Budget {
	memory := cmp.Or(c.Memory, DefaultMemory)
	processors := int64(cmp.Or(c.Processors, runtime.GOMAXPROCS(0)))
	percent := Of(Processors)
	b := &Budget{
		Work: memoryPool(Work, memory), Bodies: memoryPool(Bodies, memory), Forms: memoryPool(Forms, memory),
		Processors: &Pool{
			All: processors, Account: max(1, processors*percent.Account/100), Key: max(1, processors*percent.Key/100),
		},
		Letters: networks(Letters), LetterQueue: networks(LetterQueue), PublicRuns: networks(PublicRuns),
		Connections: networks(Connections), Requests: networks(Requests), LetterConnections: networks(LetterConnections),
		CallbackConnections: networks(CallbackConnections), DNSConnections: networks(DNSConnections),
		SignIns: events(SignIns), Visits: events(Visits), SignInMailsFrom: events(SignInMails),
		Callbacks: events(Callbacks), LetterAddresses: events(LetterAddresses),
		PublicChecks:     events(PublicChecks),
		SignInMailsTo:    names(Of(SignInMails).Person, Of(SignInMails).Window),
		Invitations:      OfAccounts(SignInMails),
		ChangesOfAccount: OfAccounts(Changes),
		ChangesOfMember:  names(Of(Changes).Person, Of(Changes).Window),
	}
	b.Work.Leases = cmp.Or(c.Running, int(Of(Running).All))
	b.Bodies.Leases, b.Forms.Leases = int(Of(Reading).All), int(Of(Reading).All)
	if row := Of(Connections); c.Connections > 0 { // of few, too, a network has the same share
		b.Connections.All = c.Connections
		b.Connections.Each = max(1, min(c.Connections*int(row.Network)/int(row.All), b.Connections.Each))
	}
	return b
}

// memoryPool returns a pool of memory whose size is in proportion to that of all diagnostics.
func memoryPool(id ID, memory int64) *Pool {
	row, most := Of(id), Of(Work)
	all := int64(float64(memory) / DefaultMemory * float64(row.All))
	share := func(part, most int64) int64 { return min(int64(float64(all)*float64(part)/float64(row.All)), most) }
	return &Pool{All: all, Account: share(row.Account, most.Account), Key: share(row.Key, most.Key)}
}

func networks(id ID) *metering.NetworkCount {
	return &metering.NetworkCount{All: int(Of(id).All), Each: int(Of(id).Network)}
}

func events(id ID) *metering.IPLimiter {
	return &metering.IPLimiter{Limit: int(Of(id).Network), Window: Of(id).Window}
}

// A NameLimiter bounds events within a time for each name, such as a mail address or an account. It must not be
// copied.
type NameLimiter struct{ limiter metering.IPLimiter }

// OfAccounts limits each account by a bound of the table.
func OfAccounts(id ID) *NameLimiter { return names(Of(id).Account, Of(id).Window) }

func names(limit int64, window time.Duration) *NameLimiter {
	return &NameLimiter{metering.IPLimiter{Limit: int(limit), Window: window}}
}

// Take takes one token of the name.
func (l *NameLimiter) Take(name string, now time.Time) metering.Decision {
	return l.limiter.Take(hashed(name), now)
}

// Refund returns the token of the last Take.
func (l *NameLimiter) Refund(name string, now time.Time) { l.limiter.Refund(hashed(name), now) }

// hashed returns a name in the form of an IPv6 address. That two names share a network of 48 bits is as good as
// impossible.
func hashed(name string) netip.Addr {
	hash := sha256.Sum256([]byte(name))
	return netip.AddrFrom16([16]byte(hash[:16]))
}
