package resolve

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
)

const ptr = "1.2.0.192.in-addr.arpa. 300 PTR "

func manyNamesZone(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "4.3.2.1.in-addr.arpa. 300 PTR h%d.example.com.\nh%d.example.com. 300 A 1.2.3.4\n", i, i)
	}
	return b.String()
}

func TestReverseRules(t *testing.T) {
	const special = "reverse.address.special"
	cases := []struct {
		name   string
		zone   string
		broken string // a name for which the servers fail
		ip     string
		want   []diag.Code
	}{
		{"fine", "4.3.2.1.in-addr.arpa. PTR mx.example.com.\nmx.example.com. A 1.2.3.4", "", "1.2.3.4", nil},
		{"IPv6", "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.a.2.ip6.arpa. PTR mx.example.com.\n" +
			"mx.example.com. AAAA 2a00::1\nmx.example.com. A 1.2.3.4", "", "2a00::1", nil},
		{"no name", "", "", "192.0.2.1", []diag.Code{"reverse.ptr.missing", special}},
		{"no record", "1.2.0.192.in-addr.arpa. TXT x", "", "192.0.2.1", []diag.Code{"reverse.ptr.missing", special}},
		{"no answer", "", "1.2.0.192.in-addr.arpa", "192.0.2.1", []diag.Code{"reverse.ptr.unanswered", special}},
		{"not confirmed", ptr + "mx.example.com.\nmx.example.com. A 192.0.2.2", "", "192.0.2.1",
			[]diag.Code{"reverse.forward.unconfirmed", special}},
		{"host name without address", ptr + "mx.example.com.", "", "192.0.2.1",
			[]diag.Code{"reverse.forward.unconfirmed", special}},
		{"host name not answered for", ptr + "mx.example.com.", "mx.example.com", "192.0.2.1",
			[]diag.Code{"reverse.forward.unanswered", special}},
		{"one of two confirmed", ptr + "a.example.com.\n" + ptr + "b.example.com.\nb.example.com. A 192.0.2.1", "",
			"192.0.2.1", []diag.Code{"reverse.forward.partial", special}},
		{"twice the same", ptr + "a.example.com.\n" + ptr + "A.example.com.\na.example.com. A 192.0.2.1", "",
			"192.0.2.1", []diag.Code{special}},
		{"ten names", manyNamesZone(10), "", "1.2.3.4", nil},
		{"eleven names", manyNamesZone(11), "", "1.2.3.4", []diag.Code{"reverse.ptr.many"}},
		{"21 names", manyNamesZone(21), "", "1.2.3.4", []diag.Code{"reverse.ptr.many"}},
		{"alias", "1.2.0.192.in-addr.arpa. CNAME 1.0/25.2.0.192.in-addr.arpa.\n" +
			"1.0/25.2.0.192.in-addr.arpa. PTR mx.example.com.\nmx.example.com. A 192.0.2.1", "", "192.0.2.1",
			[]diag.Code{special}},
		{"no host name", ptr + "mail_1.example.com.", "", "192.0.2.1",
			[]diag.Code{"reverse.hostname.invalid", "reverse.forward.unconfirmed", special}},
		{"root", ptr + ".", "", "192.0.2.1",
			[]diag.Code{"reverse.hostname.invalid", "reverse.forward.unconfirmed", special}},
		{"generic", ptr + "192-0-2-1.dsl.example.com.\n192-0-2-1.dsl.example.com. A 192.0.2.1", "", "192.0.2.1",
			[]diag.Code{"reverse.hostname.generic", special}},
	}
	var verdicts []diag.Verdict
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			world := diagtest.NewWorld(t)
			world.Zone(c.zone)
			world.Break(c.broken, dns.RcodeServerFailure)
			e, err := fetchReverse(t.Context(), world.Env(), ReverseRequest{IP: diag.MustIP(c.ip)})
			if err != nil {
				t.Fatal(err)
			}
			v := reverseRules.Judge(e, reverseTexts)
			verdicts = append(verdicts, v)
			if got := diagtest.Codes(v); len(got)+len(c.want) > 0 && !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %v; want %v", got, c.want)
			}
		})
	}
	diagtest.CoverRules(t, reverseRules, verdicts)
	if !reflect.DeepEqual((*ReverseReport)(nil).Rules(), reverseRules.Describe()) {
		t.Error("Rules does not describe the rules")
	}
}

func TestReverseReport(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.Zone(ptr + "mx.example.com.\n" + ptr + "gone.example.com.\nmx.example.com. A 192.0.2.1\nmx.example.com. A 192.0.2.9")
	r, err := Reverse(t.Context(), world.Env(), ReverseRequest{IP: diag.MustIP("192.0.2.1")})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	diagtest.Golden(t, "testdata/reverse.golden", append(text, '\n'))
}

func TestReverseTakesTwoRoundTrips(t *testing.T) {
	cases := []struct {
		name   string
		verify *bool
		want   int
	}{
		{"verified", nil, 2},
		{"not verified", new(false), 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				world := diagtest.NewWorld(t)
				world.Latency(10 * time.Millisecond)
				world.Zone(manyNamesZone(30))
				got := world.RoundTrips(func() {
					r, err := Reverse(t.Context(), world.Env(), ReverseRequest{diag.MustIP("1.2.3.4"), c.verify})
					if err != nil || r.LatencyMS != int64(10*c.want) || len(r.Hostnames) != 30 {
						t.Errorf("got %+v, %v", r, err)
					}
				})
				if asked := len(world.Queries()); got != c.want || asked > 1+maxForward {
					t.Errorf("%d round trips with %d questions; want %d", got, asked, c.want)
				}
			})
		})
	}
}

func TestReverseNotVerified(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.Zone(ptr + "mx.example.com.")
	r, err := Reverse(t.Context(), world.Env(), ReverseRequest{diag.MustIP("192.0.2.1"), new(false)})
	if err != nil {
		t.Fatal(err)
	}
	codes := diagtest.CodesOf(r.Findings)
	if r.ForwardConfirmed || len(r.Forward) != 0 || !reflect.DeepEqual(codes, []diag.Code{"reverse.address.special"}) {
		t.Errorf("got %+v", r)
	}
}

func TestReverseFaults(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	cases := []struct {
		name string
		ctx  context.Context
		ip   diag.IP
		want func(error) bool
	}{
		{"no address", t.Context(), diag.IP{}, inputError("ip")},
		{"silence", t.Context(), diag.MustIP("192.0.2.1"), is(diag.ErrUnavailable)},
		{"context", ended, diag.MustIP("192.0.2.1"), is(context.Canceled)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			world := diagtest.NewWorld(t)
			world.Silence("1.2.0.192.in-addr.arpa")
			if r, err := Reverse(c.ctx, world.Env(), ReverseRequest{IP: c.ip}); r != nil || !c.want(err) {
				t.Errorf("got %v, %v", r, err)
			}
		})
	}
}

func TestReverseEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := diagtest.NewWorld(t)
		world.Zone(ptr + "mx.example.com.")
		world.Delay("mx.example.com", time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if r, err := Reverse(ctx, world.Env(), ReverseRequest{IP: diag.MustIP("192.0.2.1")}); r != nil || !is(context.DeadlineExceeded)(err) {
			t.Errorf("got %v, %v", r, err)
		}
	})
}

func TestGeneric(t *testing.T) {
	cases := []struct {
		host, ip string
		want     bool
	}{
		{"mail.example.com", "192.0.2.1", false},
		{"mx1.example.com", "192.0.2.1", false},
		{"192.0.2.1.example.com", "192.0.2.1", true},
		{"1-2-0-192.example.com", "192.0.2.1", true},
		{"ip-192-0-2-1.example.com", "192.0.2.1", true},
		{"h192x0x2x1.example.com", "192.0.2.1", true},
		{"192000002001.example.com", "192.0.2.1", true},
		{"c0000201.example.com", "192.0.2.1", true},
		{"192-0-2-2.example.com", "192.0.2.1", false},
		{"dyn17.example.com", "192.0.2.1", true},
		{"host.pool-3.example.com", "192.0.2.1", true},
		{"dynamite.example.com", "192.0.2.1", false},
		{"static-2-1.example.com", "192.0.2.1", false},
		{"mail.example.com", "2001:db8::1", false},
		{"0.0.0.0.example.com", "2001:db8::1", false},
		{"2001-db8-0-0-1234-5678-9abc-def0.example.com", "2001:db8::1234:5678:9abc:def0", true},
		{"123456789abcdef0.example.com", "2001:db8::1234:5678:9abc:def0", true},
		{"0.f.e.d.c.b.a.9.8.7.6.5.4.3.2.1.example.com", "2001:db8::1234:5678:9abc:def0", true},
		{"1234-5678-9abc-def1.example.com", "2001:db8::1234:5678:9abc:def0", false},
	}
	for _, c := range cases {
		if _, got := generic(c.host+".", diag.MustIP(c.ip)); got != c.want {
			t.Errorf("%s for %s: %t; want %t", c.host, c.ip, got, c.want)
		}
	}
}
