package policy

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// published are records by domain.
type published map[string][]string

// get is one query of a receiver, with what it discards (RFC 9989 section 4.10, steps 2 and 6).
func (p published) get(domain string) (record *Record, stop bool) {
	var kept []Record
	for _, text := range p[domain] {
		if r := Parse(text); r.Is() {
			kept = append(kept, r)
		}
	}
	if len(kept) != 1 {
		return nil, false
	}
	return &kept[0], kept[0].PSD != Undeclared
}

// sequential is a tree walk as RFC 9989 section 4.10 writes it down, one query after the other.
func (p published) sequential(start string) (queries []string, found map[string]*Record) {
	found = map[string]*Record{}
	target := start
	for first := true; target != ""; first = false {
		queries = append(queries, "_dmarc."+target)
		record, stop := p.get(target)
		if record != nil {
			found[target] = record
		}
		if stop {
			break
		}
		labels := strings.Split(target, ".")
		if first && len(labels) >= 8 {
			target = strings.Join(labels[len(labels)-7:], ".")
		} else {
			target = strings.Join(labels[1:], ".")
		}
	}
	return queries, found
}

// organizational selects the organizational domain as RFC 9989 section 4.10.2 writes it down.
func organizational(start string, found map[string]*Record) string {
	var domains []string
	for d := range found {
		domains = append(domains, d)
	}
	slices.SortFunc(domains, func(a, b string) int { return len(b) - len(a) }) // from the longest to the shortest
	for _, d := range domains {
		switch {
		case found[d].PSD == NotPSD:
			return d
		case found[d].PSD == IsPSD && d != start:
			labels := strings.Split(start, ".")
			return strings.Join(labels[len(labels)-strings.Count(d, ".")-2:], ".")
		}
	}
	if len(domains) > 0 {
		return domains[len(domains)-1]
	}
	return start
}

// A walk built from concurrent queries is the same as that of a receiver that queries step by step.
func TestWalkIsSequential(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	texts := []string{"v=DMARC1; p=none", "v=DMARC1; p=reject; psd=n", "v=DMARC1; p=reject; psd=y", "v=spf1 -all",
		"v=dmarc1; p=none", "v=DMARC1; psd=u", "v = DMARC1; PSD=Y"}
	stops := 0
	for range 5000 {
		labels := strings.Split("a.b.c.d.e.f.g.h.i.j.k.l", ".")[:1+random.IntN(12)]
		start := strings.Join(labels, ".")
		p, w := published{}, lookups{answers: map[string]diag.Answer[*dns.TXT]{}}
		for i := range labels {
			domain := strings.Join(labels[i:], ".")
			var answer diag.Answer[*dns.TXT]
			for range max(0, random.IntN(6)-3) {
				text := texts[random.IntN(len(texts))]
				p[domain] = append(p[domain], text)
				answer.Records = append(answer.Records, &dns.TXT{Txt: []string{text}})
			}
			w.answers[domain] = answer
		}
		queries, found := p.sequential(start)
		walk := w.walk(start)
		require.Equal(t, queries, walk.Queries(), "%v", p)
		org, err := walk.organizational()
		require.NoError(t, err)
		require.Equal(t, organizational(start, found), org, "%s: %v", start, p)
		if walk.stop() != nil {
			stops++
		}
	}
	require.Greater(t, stops, 500)
}

// Whatever a server that fails keeps back, what is called certain holds.
func TestCertainty(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	random := rand.New(rand.NewPCG(7, 8))
	texts := []string{"v=DMARC1; p=none", "v=DMARC1; p=reject; psd=n", "v=DMARC1; p=quarantine; psd=y", "v=spf1 -all"}
	certain := 0
	for range 400 {
		domains := []string{"a.b.example.com", "b.example.com", "example.com", "com"}
		hidden := domains[random.IntN(len(domains))]
		whole, cut := diagtest.NewWorld(t), diagtest.NewWorld(t)
		for _, d := range domains {
			for range max(0, random.IntN(5)-2) {
				line := "_dmarc." + d + ". TXT \"" + texts[random.IntN(len(texts))] + "\"\n"
				whole.Zone(line)
				cut.Zone(line)
			}
		}
		cut.Break("_dmarc."+hidden, dns.RcodeServerFailure)
		from := diag.MustName(domains[0])
		truth, err := Discover(t.Context(), whole.Env(), from)
		require.NoError(t, err)
		seen, err := Discover(t.Context(), cut.Env(), from)
		require.NoError(t, err)
		for _, pair := range [][2]*View{{&truth.Tree, &seen.Tree}, {&truth.List, &seen.List}} {
			if pair[1].PolicyErr == nil {
				certain++
				require.Equal(t, pair[0].PolicyDomain(), pair[1].PolicyDomain())
				require.Equal(t, pair[0].Origin, pair[1].Origin)
			}
			if pair[1].OrganizationalErr == nil {
				require.Equal(t, pair[0].Organizational, pair[1].Organizational)
			}
		}
	}
	require.Greater(t, certain, 100)
}
