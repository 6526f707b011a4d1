package nameserver

import (
	"context"
	"fmt"
	"hash/fnv"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
)

// A version is the content served from a point in time.
type version struct {
	from time.Time
	*snapshot
}

// history is the name server of a zone over time, and all the rest of the DNS.
type history struct {
	*rapid.T
	now      time.Time
	server   *Server
	versions []version
	ttl      time.Duration
	outages  int
	lag      time.Duration     // of secondaries
	denied   time.Duration     // for how long resolvers infer the absence of names that they have not queried (RFC 8198)
	static   map[string]string // TXT records elsewhere

	head   string
	seed   int // of the contents of caches
	mu     sync.Mutex
	chosen *snapshot // that the last question for the head was answered from
	fixed  *snapshot // if set, all questions are answered from it
}

// refresh makes the server read the changes.
func (h *history) refresh() {
	require.NoError(h, h.server.Refresh(context.Background()))
	if s := h.server.current.Load(); len(h.versions) == 0 || h.versions[len(h.versions)-1].snapshot != s {
		h.versions = append(h.versions, version{h.now, s})
	}
}

// wait lets time pass, in which the server polls the store now and then, or not at all for an hour at most.
func (h *history) wait(d time.Duration, outage bool) {
	if outage && d <= time.Hour && h.outages < maxOutages {
		h.now = h.now.Add(d)
		h.outages++
		d = 0
	}
	for end := h.now.Add(d); h.now.Before(end); h.refresh() {
		h.now = h.now.Add(min(time.Minute, end.Sub(h.now)))
	}
	h.refresh()
}

// maxOutages of the store, of an hour each, are shorter than parts are kept.
const maxOutages = 4

// cached lists the versions that were served at some time in the last lifetime, by secondaries too, the present one
// last.
func (h *history) cached() (list []*snapshot) { return h.since(h.ttl + h.lag) }

// since lists the versions that were served at some time since then.
func (h *history) since(d time.Duration) (list []*snapshot) {
	for i, v := range h.versions {
		if i == len(h.versions)-1 || h.versions[i+1].from.After(h.now.Add(-d)) {
			list = append(list, v.snapshot)
		}
	}
	return list
}

// Exchange answers like a resolver whose cache holds any answer that it may have received within a TTL, or queries
// the server. The absence of a name is not cached before a record refers to the name.
func (h *history) Exchange(_ context.Context, q *dns.Msg) (*dns.Msg, error) {
	name := dns.CanonicalName(q.Question[0].Name)
	if text, ok := h.static[name]; ok {
		m := new(dns.Msg).SetReply(q)
		m.Answer = []dns.RR{&dns.TXT{Hdr: header(name, dns.TypeTXT, 60), Txt: split(text)}}
		return m, nil
	}
	if !strings.HasSuffix(name, ".spf.example.net.") {
		return new(dns.Msg).SetRcode(q, dns.RcodeNameError), nil
	}
	if h.fixed != nil {
		return h.fixed.answer(q, false), nil
	}
	choices := []*dns.Msg{}
	from := []*snapshot{}
	absent := h.since(h.lag + h.denied)
	for _, s := range h.cached() {
		if m := s.answer(q, false); len(m.Answer) > 0 || slices.Contains(absent, s) {
			choices, from = append(choices, m), append(from, s)
		}
	}
	sum := fnv.New32a() // queries are concurrent, and not in an order that could be drawn
	fmt.Fprint(sum, name, h.seed)
	i := int(sum.Sum32()>>8) % len(choices)
	if name == h.head {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.chosen = from[i]
	}
	return choices[i], nil
}

// evaluate evaluates the record of a domain that leads to the head, for a sender.
func (h *history) evaluate(domain string, ip netip.Addr) *eval.Result {
	env := &diag.Env{Resolver: h, Clock: func() time.Time { return h.now }}
	r, err := eval.Check(context.Background(), env, eval.Request{
		IP: ip, Sender: "user@example.com", HELO: "mail.example.com", Domain: domain,
	})
	require.NoError(h, err)
	return r
}

// sender is the i-th of the hosts that may be senders. No two of them are in one network.
func sender(i int) netip.Addr {
	if i%5 == 4 {
		return netip.MustParseAddr(fmt.Sprintf("2001:db8:%x::1", i))
	}
	return netip.AddrFrom4([4]byte{10, byte(i / 200), byte(i % 200), 1})
}

// many is more senders than fit into records.
const many = 320

// draw makes up the record of a service.
func (h *history) draw() string {
	from := rapid.IntRange(0, many).Draw(h.T, "from")
	to := from + rapid.SampledFrom([]int{100, many, 60, 3, 200, 30, 1, 0}).Draw(h.T, "count")
	refused := rapid.IntRange(0, 2*many).Draw(h.T, "refused")
	var b strings.Builder
	b.WriteString("v=spf1")
	for i := from; i < to; i++ {
		ip := sender(i % many)
		kind := map[bool]string{true: " ip4:", false: " ip6:"}[ip.Is4()]
		if i == refused {
			kind = " -" + kind[1:]
		}
		b.WriteString(kind + ip.String())
	}
	return b.String() + rapid.SampledFrom([]string{" -all", " ~all", ""}).Draw(h.T, "end")
}
