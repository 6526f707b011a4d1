package spf

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// chain returns a chain of includes that ends in a record with the term.
func chain(depth int, term string) string {
	var b strings.Builder
	for i := range depth {
		name := fmt.Sprintf("r%d.example.net.", i)
		if i == 0 {
			name = "example.com."
		}
		fmt.Fprintf(&b, "%s TXT \"v=spf1 include:r%d.example.net -all\"\n", name, i+1)
	}
	if depth == 0 {
		return "example.com. TXT \"v=spf1 " + term + " -all\"\n"
	}
	return b.String() + fmt.Sprintf("r%d.example.net. TXT \"v=spf1 %s -all\"\n", depth, term)
}

// A tree d levels deep needs d + 1 round trips, and one or two more if its last record names hosts. The number of
// terms does not matter, nor whether an address is tested.
func TestRoundTrips(t *testing.T) {
	tests := []struct {
		name  string
		depth int
		term  string
		want  int
	}{
		{"record alone", 0, "ip4:192.0.2.1", 1},
		{"hosts in the record", 0, "a:a.example.com a:b.example.com a:c.example.com exists:x.example.com", 2},
		{"MX hosts in the record", 0, "a:a.example.com mx:mx.example.net", 3},
		{"one level", 1, "ip4:192.0.2.1", 2},
		{"three levels", 3, "ip4:192.0.2.1", 4},
		{"three levels and hosts", 3, "a:a.example.com a:b.example.com", 5},
		{"three levels and MX hosts", 3, "mx:mx.example.net a:b.example.com", 6},
		{"six levels", 6, "ip4:192.0.2.1", 7},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			setup := func(w *diagtest.World) { w.Zone(chain(tt.depth, tt.term) + deepHosts) }
			require.Equal(t, tt.want, diagtest.RoundTrips(t, setup, func(ctx context.Context, env *diag.Env) {
				r, err := Lookup(ctx, env, request)
				require.NoError(t, err)
				require.False(t, r.Partial)
			}))
			require.Equal(t, tt.want, diagtest.RoundTrips(t, setup, func(ctx context.Context, env *diag.Env) {
				r, err := Lookup(ctx, env, LookupRequest{Domain: request.Domain, IP: diag.MustIP("203.0.113.1")})
				require.NoError(t, err)
				require.Equal(t, eval.Fail, r.IPTest.Result)
			}))
		})
	}
	require.Equal(t, 4, diagtest.RoundTrips(t, func(w *diagtest.World) { w.Zone(deepTree + deepHosts) },
		func(ctx context.Context, env *diag.Env) {
			tree, err := Walk(ctx, env, testDomain, "")
			require.NoError(t, err)
			require.Equal(t, 10, tree.Root.CumulativeLookups)
		}))
}

func TestWalk(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.Zone(deepTree + deepHosts)
	const record = "v=spf1 -ip4:192.0.2.200 mx:mx.example.net/30 include:two.example.net a:%{l}.example.com " +
		"redirect=one.example.net"
	tree, err := Walk(t.Context(), w.Env(), testDomain, record)
	require.NoError(t, err)
	require.Equal(t, 0, w.Asked("example.com", dns.TypeTXT))
	require.True(t, tree.complete())
	require.Equal(t, 11, tree.Root.CumulativeLookups)
	require.Equal(t, 4, tree.Root.DNSLookups)

	terms := tree.Root.Terms
	require.Equal(t, prefixes("192.0.2.4/30"), terms[1].Networks)
	require.Equal(t, "mail.example.net", terms[1].Hosts[0].Name)
	require.Equal(t, tree.Root.Children[0], terms[2].Child)
	require.True(t, terms[3].Dynamic)
	require.Equal(t, "%{l}.example.com", terms[3].Target)
	require.Equal(t, ViaRedirect, terms[4].Child.Via)
	// 192.0.2.200 is taken out of 192.0.2.128/25, which two.example.net includes.
	require.Equal(t, prefixes("192.0.2.2/31", "192.0.2.4/30", "192.0.2.128/26", "192.0.2.192/29", "192.0.2.201/32",
		"192.0.2.202/31", "192.0.2.204/30", "192.0.2.208/28", "192.0.2.224/27", "198.51.100.0/24"),
		tree.authorized().Prefixes())

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Walk(ctx, w.Env(), testDomain, record)
	require.ErrorIs(t, err, context.Canceled)
}

// The tree agrees with an evaluation of each address, for trees that do not depend on the message.
func TestAuthorizedAgrees(t *testing.T) {
	records := []string{
		"v=spf1 -ip4:192.0.2.3 a:c.example.com include:two.example.net -all",
		"v=spf1 ?ip4:192.0.2.128/26 include:one.example.net include:two.example.net ~all",
		"v=spf1 -include:two.example.net ip4:192.0.2.0/24 -all",
		"v=spf1 ip4:192.0.2.0/26 redirect=one.example.net",
		"v=spf1 exists:nowhere.example.com -ip4:198.51.100.0/25 redirect=one.example.net",
		"v=spf1 -a:a.example.com/25 +all",
		"v=spf1 exists:a.example.com -all",
	}
	for _, record := range records {
		t.Run(record, func(t *testing.T) {
			w := diagtest.NewWorld(t)
			w.Zone(strings.Replace(deepTree, "example.com.     TXT", "unused.example. TXT", 1) + deepHosts)
			w.Zone("example.com. TXT " + quoted(record))
			tree, err := Walk(t.Context(), w.Env(), testDomain, "")
			require.NoError(t, err)
			authorized := tree.authorized()
			for _, net := range []string{"192.0.2.%d", "198.51.100.%d"} {
				for i := 0; i < 256; i += 5 {
					address := ip(fmt.Sprintf(net, i))
					r, err := eval.Check(t.Context(), w.Env(), eval.Request{IP: address, Sender: "a@example.com"})
					require.NoError(t, err)
					require.Equal(t, r.Outcome == eval.Pass, authorized.Contains(address), "%s: %+v", address, r)
				}
			}
		})
	}
}

// The walk of an endless tree ends, and the report says so.
func TestHostileTrees(t *testing.T) {
	wide := func(fan int) string { // each record includes many others
		var b strings.Builder
		for range fan {
			b.WriteString(" include:x.%{d}")
		}
		return b.String()
	}
	tests := []struct {
		name, zone string
		codes      string // some that must be present
	}{
		{"endless chain", `*.example.com. TXT "v=spf1 include:x.%{d} -all"` + "\n" +
			`example.com. TXT "v=spf1 include:x.%{d} -all"`, "spf.tree.large spf.lookups.exceeded"},
		{"endless tree", "*.example.com. TXT " + quoted("v=spf1"+wide(12)+" -all") +
			"\nexample.com. TXT " + quoted("v=spf1"+wide(12)+" -all"), "spf.tree.large spf.lookups.exceeded"},
		{"bush of MX hosts", "example.com. TXT " + quoted(func() string {
			var b strings.Builder
			for i := range 90 {
				fmt.Fprintf(&b, " mx:m%d.example.net", i)
			}
			return "v=spf1" + b.String() + " -all"
		}()) + "\n*.example.net. MX 10 mx.example.com.\n*.example.net. MX 20 x.example.com.",
			"spf.lookups.exceeded"},
		{"long records", longRecords(), "spf.tree.large"},
		{"circle of many", `
			example.com. TXT "v=spf1 include:b.example.com include:c.example.com -all"
			b.example.com. TXT "v=spf1 include:c.example.com include:example.com -all"
			c.example.com. TXT "v=spf1 include:b.example.com redirect=example.com"`, "spf.include.loop spf.redirect.loop"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := diagtest.NewWorld(t)
			w.Zone(tt.zone)
			r, err := Lookup(t.Context(), w.Env(), LookupRequest{Domain: request.Domain, IP: diag.MustIP("203.0.113.1")})
			require.NoError(t, err)
			for _, code := range strings.Fields(tt.codes) {
				require.Contains(t, diagtest.Codes(r.Verdict), diag.Code(code))
			}
			require.False(t, r.Valid && r.DNSLookups.Exceeded)
			require.LessOrEqual(t, w.Asked("", 0), MaxQuestions+maxQuestionsOfCheck+3)
			requireShallow(t, r.Tree)
			text, err := json.Marshal(r)
			require.NoError(t, err)
			require.Less(t, len(text), 2<<20)
		})
	}
}

// longRecords returns a zone with few records that are too long to be examined.
func longRecords() string {
	long := strings.Repeat(" ip4:192.0.2.1 -ip4:192.0.2.2", 280)
	var includes strings.Builder
	for c := 'a'; c <= 'j'; c++ {
		fmt.Fprintf(&includes, " include:%c.example.com", c)
	}
	return "*.example.com. TXT " + quoted("v=spf1"+long+" -all") + "\nexample.com. TXT " +
		quoted("v=spf1"+includes.String()+" -all")
}

// requireShallow requires that nodes below the deepest examined level have no record.
func requireShallow(t *testing.T, n *NodeReport) {
	require.True(t, n.Depth <= maxDepth || n.Depth == maxDepth+1 && n.Error == tooLarge, "depth %d", n.Depth)
	for _, c := range n.Children {
		requireShallow(t, c)
	}
}

// The number of addresses of a host that are evaluated is bounded.
func TestManyAddresses(t *testing.T) {
	var zone strings.Builder
	for i := range eval.MaxAddresses + 100 {
		fmt.Fprintf(&zone, "a.example.com. A 192.0.%d.%d\n", i/100, 2*(i%100))
	}
	r := lookup(t, zoneWith(t, "v=spf1 a:a.example.com -all", zone.String()))
	require.Equal(t, int64(eval.MaxAddresses), r.Authorized.IP4AddressCount)
	require.Len(t, r.Authorized.IP4, maxNetworks)
}

// maxQuestionsOfCheck bounds the queries of an evaluation: for the first record, for ten terms with ten hosts each,
// for the host names of the client, and for an explanation; and speculative ones.
const maxQuestionsOfCheck = 1 + eval.MaxLookups*(1+eval.MaxMX) + 1 + 10 + 1 + 60

// A silent server does not keep the rest of the tree from being examined.
func TestLookupPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := zoneWith(t, "v=spf1 include:silent.example.net include:dup.example.net -all", hosts)
		w.Silence("silent.example.net")
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		begin := time.Now()
		r, err := Lookup(ctx, w.Env(), request)
		require.NoError(t, err)
		require.LessOrEqual(t, time.Since(begin), eval.Timeout)
		require.True(t, r.Partial)
		require.Equal(t, "198.51.100.0/24", r.Authorized.IP4[0].String())
		require.Equal(t, 3, r.DNSLookups.Count)
	})
}

func TestLookupUnavailable(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.Silence("*.")
	_, err := Lookup(t.Context(), w.Env(), request)
	require.ErrorIs(t, err, diag.ErrUnavailable)

	// A single answer of any kind makes the lookup available.
	w.Zone("_spf.example.com. TXT \"hello\"")
	w.Fault("_spf.example.com", dns.TypeTXT, diagtest.Fault{Secure: true})
	r, err := Lookup(t.Context(), w.Env(), request)
	require.NoError(t, err)
	require.Equal(t, diag.Unknown, r.State)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Lookup(ctx, w.Env(), request)
	require.ErrorIs(t, err, context.Canceled)

	for _, req := range []LookupRequest{
		{},
		{Domain: request.Domain, Sender: strings.Repeat("a", 400)},
		{Domain: request.Domain, Sender: "a\r\n@example.com"},
		{Domain: request.Domain, Sender: "a@"},
	} {
		var input *diag.InputError
		_, err = Lookup(t.Context(), w.Env(), req)
		require.ErrorAs(t, err, &input)
	}
	for _, record := range []string{"", strings.Repeat("a", eval.MaxRecordLength+1)} {
		var input *diag.InputError
		_, err = Validate(ValidateRequest{Record: record})
		require.ErrorAs(t, err, &input)
	}
}

// The same for random zones: if the evaluation ends without an error, the set holds exactly the hosts that pass.
func TestAuthorizedAgreesAtRandom(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	random := rand.New(rand.NewPCG(7, 8))
	name := func() string { return fmt.Sprintf("n%d.example", random.IntN(8)) }
	term := func() string {
		sign := []string{"", "", "", "-", "~", "?"}[random.IntN(6)]
		switch random.IntN(7) {
		case 0:
			return sign + "a:" + name() + fmt.Sprintf("/%d", 26+random.IntN(7))
		case 1:
			return sign + "mx:" + name()
		case 2, 3:
			return sign + "include:" + name()
		case 4:
			return sign + "exists:" + name()
		default:
			return sign + fmt.Sprintf("ip4:192.0.2.%d/%d", random.IntN(256), 24+random.IntN(9))
		}
	}
	compared := 0
	for range 400 {
		zone := records{}
		for i := range 8 {
			text := version
			for range random.IntN(4) {
				text += " " + term()
			}
			text += []string{" -all", " ~all", "", " redirect=" + name()}[random.IntN(4)]
			list := [][2]any{{"TXT", []any{text}}}
			if random.IntN(3) > 0 {
				list = append(list, [2]any{"A", fmt.Sprintf("192.0.2.%d", random.IntN(256))})
			}
			if random.IntN(2) > 0 {
				list = append(list, [2]any{"MX", []any{1.0, name()}})
			}
			zone[fmt.Sprintf("n%d.example", i)] = list
		}
		env := &diag.Env{Resolver: zone}
		tree, err := Walk(t.Context(), env, diag.MustDomain("n0.example"), "")
		require.NoError(t, err)
		authorized := tree.authorized()
		for range 20 {
			address := ip(fmt.Sprintf("192.0.2.%d", random.IntN(256)))
			r, err := eval.Check(t.Context(), env, eval.Request{IP: address, Sender: "a@n0.example"})
			require.NoError(t, err)
			if r.Outcome != eval.Permerror {
				compared++
				require.Equal(t, r.Outcome == eval.Pass, authorized.Contains(address), "%s in %v: %+v", address, zone, r)
			}
		}
	}
	t.Logf("compared: %d", compared)
	require.Greater(t, compared, 1000)
}
