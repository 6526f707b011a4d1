package eval

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// testTime is the start time of a world.
var testTime = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func TestCheck(t *testing.T) {
	w := zoneWith(t, "v=spf1 include:%{h}.x.example ip4:192.0.2.1 exists:%{l}.%{o}.x.example ptr:trusted.example -all "+
		"exp=why.example.com", `
		why.example.com. TXT "%{c} at %{r}: %{s}"
		mail.example.org.x.example. TXT "v=spf1 ip4:192.0.2.2 -all"
		joe.example.com.x.example. A 127.0.0.2
		example.org. TXT "v=spf1 ip4:192.0.2.9 ?all"
		mail.example.org. TXT "v=spf1 a -all"
		mail.example.org. A 192.0.2.7
		8.2.0.192.in-addr.arpa. PTR h.trusted.example.
		8.2.0.192.in-addr.arpa. PTR h.elsewhere.example.
		h.trusted.example. A 192.0.2.8`)
	w.Break("broken.example", dns.RcodeServerFailure)
	tests := []struct {
		name string
		req  Request
		want string // outcome, matched term and domain, explanation
	}{
		{"network", Request{Sender: "a@example.com", HELO: "mail.example.org", IP: ip("192.0.2.1")},
			"pass ip4:192.0.2.1 example.com "},
		{"mapped", Request{Sender: "a@example.com", HELO: "mail.example.org", IP: ip("::ffff:192.0.2.1")},
			"pass ip4:192.0.2.1 example.com "},
		{"include with HELO", Request{Sender: "a@example.com", HELO: "mail.example.org", IP: ip("192.0.2.2")},
			"pass ip4:192.0.2.2 mail.example.org.x.example "},
		{"local part", Request{Sender: "joe@example.com", HELO: "mail.example.org", IP: ip("192.0.2.3")},
			"pass exists:%{l}.%{o}.x.example example.com "},
		{"host name", Request{Sender: "a@example.com", HELO: "mail.example.org", IP: ip("192.0.2.8")},
			"pass ptr:trusted.example example.com "},
		{"fail", Request{
			Sender: "a@b@example.com", HELO: "mail.example.org", IP: ip("192.0.2.9"), Receiver: "mx.example",
		}, "fail -all example.com 192.0.2.9 at mx.example: a@b@example.com"},
		{"fail with a sender beyond ASCII", Request{
			Sender: "\u00fc@example.com", HELO: "mail.example.org", IP: ip("192.0.2.9"), Receiver: "mx.example",
		}, "fail -all example.com "},
		{"unknown HELO", Request{Sender: "a@example.com", HELO: "other.example.org", IP: ip("192.0.2.1")},
			"permerror   "},
		{"bounce", Request{HELO: "mail.example.org", IP: ip("192.0.2.7")}, "pass a mail.example.org "},
		{"other domain", Request{Domain: "example.org", Sender: "a@example.com", IP: ip("192.0.2.9")},
			"pass ip4:192.0.2.9 example.org "},
		{"no record", Request{Sender: "a@h.trusted.example", IP: ip("192.0.2.9")}, "none   "},
		{"no domain", Request{Sender: "a@[192.0.2.1]", IP: ip("192.0.2.9")}, "none   "},
		{"nothing", Request{IP: ip("192.0.2.9")}, "none   "},
		{"no answer", Request{Sender: "a@broken.example", IP: ip("192.0.2.9")}, "temperror   "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := Check(t.Context(), w.Env(), tt.req)
			require.NoError(t, err)
			got := fmt.Sprintf("%s %s %s %s", r.Outcome, r.MatchedTerm, r.MatchedDomain, r.Explanation)
			require.Equal(t, tt.want, got, r.Reason)
			noResult := r.Outcome == None || r.Outcome == Temperror || r.Outcome == Permerror
			require.Equal(t, noResult, r.Reason != "")
		})
	}
}

// U-labels are the same as A-labels, and terms that need a local part beyond ASCII never match (RFC 8616
// section 4).
func TestCheckEAI(t *testing.T) {
	w := zoneWith(t, "v=spf1 exists:%{l}.l.example exists:%{s}.s.example include:%{h}.x.example -all", `
		xn--mller-kva.example. TXT "v=spf1 ip4:192.0.2.1 -all"
		xn--mller-kva.example.x.example. TXT "v=spf1 ip4:192.0.2.2 -all"
		*.l.example. A 127.0.0.2
		*.s.example. A 127.0.0.2`)
	tests := []struct {
		name         string
		sender, helo string
		ip           string
		want         Outcome
	}{
		{"A-label", "u@xn--mller-kva.example", "mail.example.org", "192.0.2.1", Pass},
		{"U-label", "u@m\u00fcller.example", "mail.example.org", "192.0.2.1", Pass},
		{"U-label in capitals", "u@M\u00dcLLER.Example", "mail.example.org", "192.0.2.1", Pass},
		{"U-label of combining characters", "u@mu\u0308ller.example", "mail.example.org", "192.0.2.1", Pass},
		{"HELO as A-label", "", "xn--mller-kva.example", "192.0.2.1", Pass},
		{"HELO as U-label", "", "m\u00fcller.example", "192.0.2.1", Pass},
		{"HELO as U-label in a macro", "\u00fc@example.com", "m\u00fcller.example", "192.0.2.2", Pass},
		{"local part in ASCII", "u@example.com", "m\u00fcller.example", "192.0.2.3", Pass},
		{"local part beyond ASCII", "\u00fc@example.com", "m\u00fcller.example", "192.0.2.3", Fail},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := Check(t.Context(), w.Env(), Request{Sender: tt.sender, HELO: tt.helo, IP: ip(tt.ip)})
			require.NoError(t, err)
			require.Equal(t, tt.want, r.Outcome, r.Reason)
		})
	}
}

// The PTR lookup of the macro p counts, too (RFC 7208 section 4.6.4): with nine terms it makes ten, and a tenth term
// is too many.
func TestPTRMacroCounts(t *testing.T) {
	for terms, want := range map[int]Outcome{8: Pass, 9: Permerror} {
		record := "v=spf1 exists:%{p}.x.example" + strings.Repeat(" a:a.example.com", terms) + " +all"
		w := zoneWith(t, record, "a.example.com. A 192.0.2.1\nx.example. A 192.0.2.1\nunknown.x.example. TXT x")
		r, err := Check(t.Context(), w.Env(), Request{Sender: "u@example.com", IP: ip("192.0.2.9")})
		require.NoError(t, err)
		require.Equal(t, want, r.Outcome, "%d: %s", terms, r.Reason)
		require.Equal(t, 2+terms, r.DNSLookups)
	}
}

func ip(s string) netip.Addr { return netip.MustParseAddr(s) }

// If the first record decides, nothing else is queried.
func TestCheckAsksLittle(t *testing.T) {
	w := zoneWith(t, "v=spf1 ip4:192.0.2.0/24 include:good.example.net -all", hosts)
	_, err := Check(t.Context(), w.Env(), Request{IP: ip("192.0.2.1"), Sender: "a@example.com"})
	require.NoError(t, err)
	require.Equal(t, 1, w.Asked("", 0))
}

func TestCheckErrors(t *testing.T) {
	w := zoneWith(t, "v=spf1 -all", "")
	var input *diag.InputError
	_, err := Check(t.Context(), w.Env(), Request{Sender: "a@example.com"})
	require.ErrorAs(t, err, &input)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Check(ctx, w.Env(), Request{IP: ip("192.0.2.1"), Sender: "a@example.com"})
	require.ErrorIs(t, err, context.Canceled)
}

// Silent servers cost only the timeout, and speculative queries do not outlive the answer.
func TestCheckPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := zoneWith(t, "v=spf1 a:slow.example.com a:silent.example.com -all", "slow.example.com. A 192.0.2.1")
		w.Silence("silent.example.com")
		w.Delay("slow.example.com", time.Second)
		begin := time.Now()
		r, err := Check(t.Context(), w.Env(), Request{IP: ip("192.0.2.1"), Sender: "a@example.com"})
		require.NoError(t, err)
		require.Equal(t, Pass, r.Outcome)
		require.Equal(t, time.Second, time.Since(begin))
		begin = time.Now()
		r, err = Check(t.Context(), w.Env(), Request{IP: ip("192.0.2.2"), Sender: "a@example.com"})
		require.NoError(t, err)
		require.Equal(t, Temperror, r.Outcome)
		require.LessOrEqual(t, time.Since(begin), Timeout)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		r, err = Check(ctx, w.Env(), Request{IP: ip("192.0.2.2"), Sender: "a@example.com"})
		require.NoError(t, err)
		require.Equal(t, Temperror, r.Outcome)
	})
}

// The limits of RFC 7208 section 4.6.4.
func TestCheckLimits(t *testing.T) {
	tests := []struct {
		name, record, zone string
		want               Outcome
		lookups, voids     int
	}{
		{"redirect to itself", "v=spf1 redirect=example.com", "", Permerror, 11, 0},
		{"include of itself", "v=spf1 include:example.com -all", "", Permerror, 11, 0},
		{"two records in a circle", "v=spf1 include:loop.example.net -all", "", Permerror, 11, 0},
		{"ten", "v=spf1" + strings.Repeat(" a:a.example.com", 10) + " ?all", "", Neutral, 10, 0},
		{"eleven", "v=spf1" + strings.Repeat(" a:a.example.com", 11) + " ?all", "", Permerror, 11, 0},
		{"two voids", "v=spf1 a:x.example.com mx:x.example.com ?all", "", Neutral, 2, 2},
		{"three voids", "v=spf1 a:x.example.com mx:x.example.com exists:x.example.com ?all", "", Permerror, 3, 3},
		{"void of the other family", "v=spf1 a:six.example.com a:six.example.com a:six.example.com ?all",
			"six.example.com. AAAA 2001:db8::1", Permerror, 3, 3},
		{"explanation does not count", "v=spf1 a:x.example.com mx:x.example.com -all exp=x.example.com", "", Fail, 2, 2},
		{"eleven MX hosts", "v=spf1 mx:many.example.net ?all", manyMX(5) + "many.example.net. MX 99 b.example.com.",
			Permerror, 1, 0},
		{"ten MX hosts", "v=spf1 mx:many.example.net ?all", manyMX(5), Neutral, 1, 0},
		{"name too long", "v=spf1 a:" + longName + " ?all", "", Neutral, 1, 0},
		{"include too long", "v=spf1 include:" + longName + " ?all", "", Permerror, 1, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := zoneWith(t, tt.record, hosts+tt.zone)
			r, err := Check(t.Context(), w.Env(), Request{IP: ip("203.0.113.1"), Sender: "a@example.com"})
			require.NoError(t, err)
			require.Equal(t, tt.want, r.Outcome, r.Reason)
			require.Equal(t, tt.lookups, r.DNSLookups)
			require.Equal(t, tt.voids, r.VoidLookups)
		})
	}
}

const longName = "a123456789012345678901234567890123456789012345678901234567890123.example.com"

// Two hundred host names of a client cost as much as ten.
func TestCheckManyNames(t *testing.T) {
	zone := ""
	for i := range 200 {
		zone += fmt.Sprintf("1.113.0.203.in-addr.arpa. PTR h%d.example.net.\n", i)
	}
	w := zoneWith(t, "v=spf1 ptr exists:%{p}.example.net -all", zone)
	_, err := Check(t.Context(), w.Env(), Request{IP: ip("203.0.113.1"), Sender: "a@example.com"})
	require.NoError(t, err)
	require.LessOrEqual(t, w.Asked("", dns.TypeA), maxPTR+1)
}

// A resolver that panics does not leave callers waiting.
func TestPanic(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.Zone(hosts)
	require.Panics(t, func() {
		_, _ = Check(t.Context(), &diag.Env{Resolver: panics{w}}, Request{IP: ip("192.0.2.1"), Sender: "a@example.com"})
	})
}

type panics struct{ *diagtest.World }

func (p panics) Exchange(ctx context.Context, q *dns.Msg) (*dns.Msg, error) {
	if q.Question[0].Qtype == dns.TypeTXT {
		panic("hostile answer")
	}
	return p.World.Exchange(ctx, q)
}

// Speculative queries have ended when Check returns, even if the resolver is slow to give up.
func TestCheckLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := zoneWith(t, "v=spf1 a:a.example.com include:silent.example.net -all", hosts)
		w.Silence("silent.example.net")
		w.Delay("a.example.com", time.Second)
		w.Delay("example.com", time.Millisecond) // so that speculative queries start
		slow := &lingering{World: w}
		r, err := Check(t.Context(), &diag.Env{Resolver: slow}, Request{IP: ip("192.0.2.26"), Sender: "a@example.com"})
		require.NoError(t, err)
		require.Equal(t, Pass, r.Outcome)
		require.Equal(t, 1, w.Asked("silent.example.net", dns.TypeTXT))
		require.Zero(t, slow.busy.Load())
	})
}

// lingering is a resolver that notices late that its caller has given up.
type lingering struct {
	*diagtest.World
	busy atomic.Int64
}

func (l *lingering) Exchange(ctx context.Context, q *dns.Msg) (*dns.Msg, error) {
	l.busy.Add(1)
	defer l.busy.Add(-1)
	m, err := l.World.Exchange(ctx, q)
	if ctx.Err() != nil {
		<-time.After(time.Second)
	}
	return m, err
}

// zoneWith makes a world of the zone in which example.com also has the record.
func zoneWith(t testing.TB, record, zone string) *diagtest.World {
	w := diagtest.NewWorld(t)
	w.Zone(zone)
	if record != "" {
		w.Zone("example.com. TXT " + quoted(record))
	}
	return w
}

// quoted formats a text as character-strings of a master file.
func quoted(text string) string {
	var b strings.Builder
	for i := 0; i == 0 || i < len(text); i += 255 {
		b.WriteString(" \"")
		for _, c := range []byte(text[i:min(i+255, len(text))]) {
			if c < ' ' || c > '~' || c == '"' || c == '\\' {
				fmt.Fprintf(&b, "\\%03d", c)
			} else {
				b.WriteByte(c)
			}
		}
		b.WriteByte('"')
	}
	return b.String()
}

// hosts are names that records of the tests lead to.
const hosts = `
mx.example.com.        A    192.0.2.25
mx.example.com.        AAAA 2001:db8::25
a.example.com.         A    192.0.2.26
b.example.com.         A    192.0.2.27
c.example.com.         A    192.0.2.28
good.example.net.      TXT  "v=spf1 ip4:198.51.100.0/24 -all"
soft.example.net.      TXT  "v=spf1 ip4:198.51.100.0/25 ~all"
open.example.net.      TXT  "v=spf1 +all"
broken.example.net.    TXT  "v=spf1 ipv4:192.0.2.1 -all"
two.example.net.       TXT  "v=spf1 -all"
two.example.net.       TXT  "v=spf1 ~all"
bare.example.net.      TXT  "hello"
bare.example.net.      A    192.0.2.29
noall.example.net.     TXT  "v=spf1 a:mx.example.com"
loop.example.net.      TXT  "v=spf1 include:example.com -all"
round.example.net.     TXT  "v=spf1 redirect=example.com"
ptr.example.net.       TXT  "v=spf1 ptr -all"
dup.example.net.       TXT  "v=spf1 include:good.example.net -all"
why.example.net.       TXT  "%{i} is not one of %{d}'s hosts"
whys.example.net.      TXT  "one"
whys.example.net.      TXT  "two"
badwhy.example.net.    TXT  "%{x}"
null.example.net.      MX   0 .
eleven.example.net.    TXT  "v=spf1 a:a.example.com a:b.example.com a:c.example.com a:mx.example.com" (
	" a:a.example.com/31"
	" a:b.example.com/31 a:c.example.com/31 a:a.example.com/30 a:b.example.com/30 a:mx.example.com/30 -all" )
`

func manyMX(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "many.example.net. MX %d mx.example.com.\nmany.example.net. MX %d a.example.com.\n", i, i)
	}
	return b.String()
}

// maxQuestionsOfCheck bounds the queries of an evaluation: for the first record, for ten terms with ten hosts each,
// for the host names of the client, and for an explanation; and speculative ones.
const maxQuestionsOfCheck = 1 + MaxLookups*(1+MaxMX) + 1 + maxPTR + 1 + maxAhead
