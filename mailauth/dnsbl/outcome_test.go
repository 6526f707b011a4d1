package dnsbl

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/stretchr/testify/require"
)

// answersOf are the replies that a fuzz test chooses from.
var answersOf = []reply{
	{},
	{addrs: []netip.Addr{netip.MustParseAddr("127.0.0.2")}},
	{addrs: []netip.Addr{netip.MustParseAddr("127.0.0.10"), netip.MustParseAddr("127.0.0.4")}},
	{addrs: []netip.Addr{netip.MustParseAddr("127.255.255.254")}},
	{addrs: []netip.Addr{netip.MustParseAddr("127.0.0.1")}},
	{addrs: []netip.Addr{netip.MustParseAddr("127.0.0.2"), netip.MustParseAddr("127.255.255.255")}},
	{addrs: []netip.Addr{netip.MustParseAddr("203.0.113.80")}},
	{fault: TimedOut, why: noResponse},
	{fault: Failed, why: "SERVFAIL"},
	{fault: Refused, why: "REFUSED"},
}

// An address is listed only by a list that leaves another one out, and clean only on a list that has one.
func FuzzWeigh(f *testing.F) {
	for i := range answersOf {
		f.Add(uint8(1), uint8(1), uint8(0), uint8(i), uint8(i), uint8(0))
	}
	f.Fuzz(func(t *testing.T, address, listed, unlisted, listed4, unlisted4, which uint8) {
		pick := func(n uint8) reply { return answersOf[int(n)%len(answersOf)] }
		l := Lists()[int(which)%len(Lists())]
		for _, two := range []bool{false, true} {
			p := &probe{list: l, address: pick(address), listed: []reply{pick(listed)}, unlisted: []reply{pick(unlisted)}}
			if two {
				p.listed, p.unlisted = append(p.listed, pick(listed4)), append(p.unlisted, pick(unlisted4))
			}
			p.outcome = p.conclude()
			o := &p.outcome
			require.Equal(t, o.measured(), o.why == "")
			require.True(t, o.measured() || strings.TrimSpace(o.why) != "")
			has, lacks := l.survey(p.listed), l.survey(p.unlisted)
			switch o.status {
			case Listed:
				require.Equal(t, present, l.read(p.address.addrs).kind)
				require.True(t, !lacks.present && (lacks.absent || lacks.informational))
			case Clean:
				require.Less(t, l.read(p.address.addrs).kind, present)
				require.Empty(t, p.address.fault)
				require.True(t, has.present || has.informational)
				require.False(t, lacks.present)
			}
			e := &evidence{ip: diag.MustIP(ip4), probes: []*probe{p}}
			holds(t, e.report())
		}
	})
}

func TestReasonsOfStrangers(t *testing.T) {
	w := working(t)
	w.Zone(entries("zen.spamhaus.org", "127.0.0.2") +
		rev + `zen.spamhaus.org. TXT "\027[31mred\010\009 line \226\128\174evil\255" "` + strings.Repeat("x", 250) + `" "` + strings.Repeat("y", 250) + `"` + "\n")
	r, err := Check(t.Context(), w.Env(), Request{IP: diag.MustIP(ip4)})
	require.NoError(t, err)
	reason := r.Results[0].Reason
	require.LessOrEqual(t, len(reason), maxReason+len("…"))
	require.True(t, strings.HasPrefix(reason, "[31mred line evil\uFFFDxxx"), "%q", reason)
}
