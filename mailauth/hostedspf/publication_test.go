package hostedspf

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/spf"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
)

// manyNetworks is a world with a source record that leads to n networks, which do not touch.
func manyNetworks(t testing.TB, n int) (w *diagtest.World, source string) {
	w, source = diagtest.NewWorld(t), "v=spf1 -ip4:10.0.0.7"
	for i := 0; i < n; i += 400 {
		text := "v=spf1"
		for j := i; j < min(i+400, n); j++ {
			text += fmt.Sprintf(" ip4:10.%d.%d.0/25", j/256, j%256)
		}
		w.Zone(fmt.Sprintf("n%d.example. TXT", i) + quoted(text+" -all"))
		source += fmt.Sprintf(" include:n%d.example", i)
	}
	return w, source + " ip6:2001:db8:7::/48 ~all"
}

// Items that fit into records stay in records; the others become sets, if the name server serves the zone.
func TestCapacity(t *testing.T) {
	const usual = "k3v2mzq4twk7y.spf.example.net" // as Create names it
	long := strings.Repeat("label.", 26) + "example.net"
	tests := []struct {
		networks           int
		include            string
		plainly, withSets  bool
		records, sets, dns int
	}{
		{10, usual, true, true, 1, 0, 1},
		{150, usual, true, true, 7, 0, 7},
		{185, usual, true, true, 9, 0, 9},
		{200, usual, false, true, 1, 1, 2},
		{750, usual, false, true, 1, 1, 2},
		{90, long, false, true, 1, 1, 2},
		{200, strings.Repeat("label.", 28) + "example.site", false, false, 0, 0, 0}, // %{i} of IPv6 would be too long
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.networks, len(tt.include)), func(t *testing.T) {
			w, source := manyNetworks(t, tt.networks)
			req := FlattenRequest{Domain: domain, SourceRecord: source, IncludeHost: diag.MustName(tt.include)}
			report, err := Flatten(t.Context(), w.Env(), req)
			require.NoError(t, err)
			require.Equal(t, tt.plainly, report.Published != nil, "%d: %s", tt.networks, report.Error)
			if !tt.plainly {
				require.Contains(t, report.Error, "does not serve "+tt.include)
			}
			req.Answered = true
			report, err = Flatten(t.Context(), w.Env(), req)
			require.NoError(t, err)
			require.Equal(t, tt.withSets, report.Published != nil, report.Error)
			if !tt.withSets {
				require.NotContains(t, report.Error, "does not serve")
				return
			}
			p := report.Published
			require.Equal(t, []int{tt.records, tt.sets, tt.dns}, []int{len(p.Records), len(p.Sets), p.LookupsAfter})
			require.Equal(t, []int{tt.networks + 6, 1}, []int{p.IP4Count, p.IP6Count}) // a /25 without an address is 7
			require.LessOrEqual(t, answerSize(t, p.Records[0]), 512)
		})
	}
}

// A set beside kept terms is a term of its own, as long as receivers accept its void lookup.
func TestSetsBesideKeptTerms(t *testing.T) {
	const macro = "exists:%{i}.k.example"
	w, source := manyNetworks(t, 300)
	tests := []struct {
		name, record string
		sets         int // 0: it does not fit
	}{
		{"before", strings.Replace(source, "v=spf1", "v=spf1 "+macro, 1), 1},
		{"after", strings.Replace(source, " ~all", " "+macro+" ~all", 1), 1},
		{"one too many", strings.Replace(source, " ~all", " "+macro+" -"+macro+" ~all", 1), 0},
		{"two signs", source[:len(source)-len(" ~all")] + " ?ip4:192.0.2.0/24 -ip4:198.51.100.0/24 ~all", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			report, err := Flatten(t.Context(), w.Env(), FlattenRequest{
				Domain: domain, SourceRecord: tt.record, IncludeHost: diag.MustName(host), Answered: true,
			})
			require.NoError(t, err)
			if tt.sets == 0 {
				require.Nil(t, report.Published)
				return
			}
			require.Len(t, report.Published.Sets, tt.sets)
			for _, ip := range []string{"10.0.0.7", "10.0.0.8", "10.1.43.0", "10.0.1.128", "192.0.2.1", "198.51.100.9",
				"203.0.113.1", "2001:db8:7::1", "2001:db8:8::1"} {
				address := netip.MustParseAddr(ip)
				w, _ := manyNetworks(t, 300)
				w.Zone("example.com. TXT" + quoted(tt.record))
				publish(w, report.Published.Records)
				answerFor(w, report.Published.Sets, address)
				want := check(t, w, address, domain.String(), eval.MaxTerms)
				got := check(t, w, address, host, eval.MaxLookups)
				require.Equal(t, want.Outcome, got.Outcome, "%s: %s", ip, got.Reason)
			}
		})
	}
}

// answerFor lets a world answer for an address as the name server does.
func answerFor(w *diagtest.World, sets []Part, ip netip.Addr) {
	for _, s := range sets {
		if spf.SetOf(s.Networks...).Contains(ip) {
			text := ip.String()
			if ip.Is6() {
				text = strings.Join(strings.Split(strings.ReplaceAll(ip.StringExpanded(), ":", ""), ""), ".")
			}
			w.Zone(text + "." + s.Name + ". A 127.0.0.2")
		}
	}
}
