package hostedspf

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
)

// networks makes words of n addresses that do not touch, with the sign.
func networks(sign eval.Qualifier, from, n int) []word {
	var list []word
	for i := from; i < from+n; i++ {
		list = append(list, word{qualifier: sign, text: fmt.Sprintf("ip4:192.%d.%d.1", i/256, i%256)})
	}
	return list
}

func TestPack(t *testing.T) {
	long := strings.Repeat("label.", 25) + "example.net" // 161 bytes
	pass, fail := eval.QualifierPass, eval.QualifierFail
	alternating := []word{}
	for i := range 60 {
		alternating = append(alternating, networks([]eval.Qualifier{pass, fail}[i%2], i, 1)...)
	}
	tests := []struct {
		name  string
		host  string
		words []word
		want  int // records; 0 if they do not fit
	}{
		{"nothing", host, nil, 1},
		{"one record", host, networks(pass, 0, 28), 1},
		{"one too many", host, networks(pass, 0, 29), 2},
		{"what is left stays in the first", host, networks(pass, 0, 50), 2},
		{"three", host, networks(pass, 0, 70), 3},
		{"as many as fit", host, networks(pass, 0, 225), 9},
		{"too many", host, networks(pass, 0, 260), 0},
		{"a sign in between", host, slices.Concat(networks(pass, 0, 40), networks(fail, 40, 1), networks(pass, 41, 40)), 3},
		{"signs in turn", host, alternating, 3},
		{"a long host", long, networks(pass, 0, 60), 8},
		{"a long host, too many", long, networks(pass, 0, 240), 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			records, lookups := pack(tt.host, tt.words, []string{"-all", "exp=why.example.com"})
			require.Equal(t, tt.want, lookups)
			require.Len(t, records, tt.want)
			for i, r := range records {
				require.Less(t, r.LengthBytes, 450)
				require.Len(t, r.Value, r.LengthBytes)
				_, faults := eval.Parse(r.Value)
				require.Empty(t, faults)
				require.LessOrEqual(t, answerSize(t, r), 512)
				if i == 0 {
					require.Equal(t, tt.host, r.Name)
				} else {
					require.Equal(t, partName(tt.host, r.Value), r.Name)
				}
			}
		})
	}
}

// answerSize is the size of the answer to a question for the record, without EDNS.
func answerSize(t require.TestingT, r Record) int {
	m := new(dns.Msg)
	m.SetQuestion(dns.Fqdn(r.Name), dns.TypeTXT)
	m.Response, m.Compress = true, true
	txt := &dns.TXT{Hdr: dns.RR_Header{Name: dns.Fqdn(r.Name), Rrtype: dns.TypeTXT, Class: dns.ClassINET, Ttl: 300}}
	for rest := r.Value; rest != ""; rest = rest[min(255, len(rest)):] {
		txt.Txt = append(txt.Txt, rest[:min(255, len(rest))])
	}
	m.Answer = []dns.RR{txt}
	wire, err := m.Pack()
	require.NoError(t, err)
	return len(wire)
}

// However words are divided, they keep their meaning and order, and their cost is as reported.
func TestPackKeepsMeaning(t *testing.T) {
	divided := 0
	rapid.Check(t, func(r *rapid.T) {
		var words []word
		for len(words) < rapid.IntRange(0, 220).Draw(r, "words") {
			sign := rapid.SampledFrom([]eval.Qualifier{"+", "+", "+", "-", "~", "?"}).Draw(r, "sign")
			for range rapid.IntRange(1, 60).Draw(r, "run") {
				a := netip.AddrFrom4([4]byte{198, 51, 100, byte(rapid.IntRange(0, 255).Draw(r, "address"))})
				words = append(words, word{qualifier: sign, text: "ip4:" + a.String()})
			}
		}
		name := rapid.SampledFrom([]string{"f.example", host, strings.Repeat("label.", 15) + "example.net",
			strings.Repeat("label.", 28) + "example"}).Draw(r, "host")
		ending := rapid.SampledFrom([][]string{{"-all"}, {"~all", "exp=why.example"}, {"redirect=to.example"},
			nil}).Draw(r, "end")
		records, lookups := pack(name, words, ending)
		if lookups == 0 {
			require.Greater(r, len(words), 20, "so few fit in any case")
			return
		}
		if len(records) > 1 {
			divided++
		}
		w, err := diagtest.New(diagtest.Config{Zone: `to.example. TXT "v=spf1 ip4:198.51.100.7 ?all"`})
		require.NoError(r, err)
		defer w.Close()
		for _, record := range records {
			require.Less(r, len(record.Value), 450)
			require.LessOrEqual(r, answerSize(r, record), 512)
			w.Zone(record.Name + ". TXT" + quoted(record.Value))
		}
		w.Zone("whole.example. TXT" + quoted(join(words, ending)))
		require.NoError(r, w.Err())
		for range 12 {
			ip := netip.AddrFrom4([4]byte{198, 51, 100, byte(rapid.IntRange(0, 255).Draw(r, "client"))})
			want := check(r, w, ip, "whole.example", eval.MaxTerms)
			got := check(r, w, ip, name, 0)
			require.Equal(r, want.Outcome, got.Outcome, "%s\n%v", ip, records)
			require.LessOrEqual(r, got.DNSLookups, want.DNSLookups+lookups-1)
		}
	})
	t.Logf("%d sets were divided", divided)
	require.Positive(t, divided)
}

// With alternating signs, the first record does not hold everything, and continues in another.
func TestPackContinues(t *testing.T) {
	words := []word{}
	for i := range 60 {
		words = append(words, networks([]eval.Qualifier{"+", "-"}[i%2], i, 1)...)
	}
	records, lookups := pack(host, words, []string{"~all", "exp=why.example.com"})
	require.Equal(t, 3, lookups)
	require.Contains(t, records[0].Value, " redirect="+records[1].Name+" exp=why.example.com")
	require.Contains(t, records[1].Value, " redirect="+records[2].Name+" exp=why.example.com")
	require.True(t, strings.HasSuffix(records[2].Value, " ~all exp=why.example.com"))
}
