package dnssec

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A model is a zone of which everything is known.
type model struct {
	apex  name
	nodes map[name]types // those with records
}

// exists reports whether a name is there, be it because of a name below it.
func (m model) exists(n name) bool {
	for owner := range m.nodes {
		if owner.within(n) {
			return true
		}
	}
	return false
}

// covered reports whether a wildcard matches a name that does not exist.
func (m model) covered(n name) bool {
	for !m.exists(n) {
		n = n.parent()
	}
	return m.exists(n.wildcard())
}

// hidden reports whether a name lies below a delegation, where the zone has no say.
func (m model) hidden(n name) bool {
	for n != m.apex {
		if n = n.parent(); n != m.apex && m.nodes[n].has(dns.TypeNS) {
			return true
		}
	}
	return false
}

// nsec makes the chain of the zone.
func (m model) nsec() []nsec {
	var owners []name
	for n := range m.nodes {
		if !m.hidden(n) {
			owners = append(owners, n)
		}
	}
	slices.SortFunc(owners, compare)
	var chain []nsec
	for i, n := range owners {
		chain = append(chain, nsec{n, owners[(i+1)%len(owners)], m.nodes[n]})
	}
	return chain
}

// hashed makes the chain of hashes, in which the names that exist only because of others take part.
func (m model) hashed(v *engine) hashed {
	h := hashed{v: v, zone: m.apex, salt: "x", iterations: 1, hashes: map[name]string{}}
	byHash := map[string]types{}
	for n := range m.nodes {
		for up := n; !m.hidden(n); up = up.parent() {
			if hash := hashName(up, h.salt, h.iterations); byHash[hash] == nil {
				byHash[hash] = append(types{}, m.nodes[up]...)
			}
			if up == m.apex {
				break
			}
		}
	}
	var list []string
	for hash := range byHash {
		list = append(list, hash)
	}
	slices.Sort(list)
	for i, hash := range list {
		h.records = append(h.records, nsec3{hash: hash, next: list[(i+1)%len(list)], types: byHash[hash]})
	}
	return h
}

// newModel makes a zone up.
func newModel(r *rand.Rand) model {
	m := model{apex: must("zone."), nodes: map[name]types{must("zone."): {dns.TypeNS, dns.TypeSOA}}}
	for range r.IntN(8) {
		kinds := []types{{dns.TypeA}, {dns.TypeA, dns.TypeTXT}, {dns.TypeCNAME}, {dns.TypeNS}, {dns.TypeNS, dns.TypeDS}}
		m.nodes[randomName(r, "zone.")] = kinds[r.IntN(len(kinds))]
	}
	return m
}

func randomName(r *rand.Rand, zone string) name {
	s := zone
	for range 1 + r.IntN(3) {
		s = []string{"a", "b", "c", "*", `\000`, "zz"}[r.IntN(6)] + "." + s
	}
	return must(s)
}

func must(s string) name {
	n, ok := parseName(s)
	if !ok {
		panic(s)
	}
	return n
}

// FuzzDenials makes zones up and asks for names that are there and names that are not. No choice of
// the zone's own records ever proves what is not so; all of them together prove all that is.
func FuzzDenials(f *testing.F) {
	for seed := range uint64(200) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		m := newModel(r)
		for _, withHashes := range []bool{false, true} {
			v := &engine{}
			whole := &denials{hashed: hashed{v: v, zone: m.apex, hashes: map[name]string{}}}
			if withHashes {
				whole.hashed = m.hashed(v)
			} else {
				whole.nsec = m.nsec()
			}
			part := *whole
			part.nsec = slices.DeleteFunc(slices.Clone(whole.nsec), func(nsec) bool { return r.IntN(3) == 0 })
			part.records = slices.DeleteFunc(slices.Clone(whole.records), func(nsec3) bool { return r.IntN(3) == 0 })
			part.hashes = map[name]string{}
			for range 20 {
				m.compare(t, whole, &part, randomName(r, "zone."))
			}
		}
	})
}

// compare holds what the records prove of a name against what is so.
func (m model) compare(t *testing.T, whole, part *denials, n name) {
	if m.hidden(n) {
		if part.nxdomain(n).status == diag.Secure || part.nodata(n, dns.TypeA).status == diag.Secure {
			t.Fatalf("%s lies below a delegation of %v", n, m.nodes)
		}
		return
	}
	missing := !m.exists(n) && !m.covered(n)
	if got := part.nxdomain(n).status == diag.Secure; got && !missing {
		t.Fatalf("%s is denied by a part of %v", n, m.nodes)
	}
	if got := whole.nxdomain(n).status == diag.Secure; got != missing {
		t.Fatalf("%s is denied: %t, in %v", n, got, m.nodes)
	}
	for _, rrtype := range []uint16{dns.TypeA, dns.TypeDS} {
		if part.nodata(n, rrtype).status == diag.Secure && m.has(n, rrtype) {
			t.Fatalf("%s %s is denied by a part of %v", dns.Type(rrtype), n, m.nodes)
		}
		// The child zone is authoritative at a delegation, except for the DS record.
		elsewhere := m.nodes[m.source(n)].has(dns.TypeNS) && rrtype != dns.TypeDS && m.source(n) != m.apex
		if got := whole.nodata(n, rrtype).status == diag.Secure; got != (!missing && !elsewhere && !m.has(n, rrtype)) {
			t.Fatalf("%s %s is denied: %t, in %v", dns.Type(rrtype), n, got, m.nodes)
		}
	}
	kind, _ := part.delegation(n)
	unsigned := m.nodes[n].has(dns.TypeNS) && !m.nodes[n].has(dns.TypeDS)
	if kind == insecureDelegation && !unsigned || (kind == noDelegation || kind == noName) && m.nodes[n].has(dns.TypeNS) ||
		kind == noName && m.exists(n) {
		t.Fatalf("the delegation of %s is %d in a part of %v", n, kind, m.nodes)
	}
	if kind, why := whole.delegation(n); !m.nodes[n].has(dns.TypeDS) && kind == notProven {
		t.Fatalf("nothing is proven of the delegation of %s in %v: %v", n, m.nodes, why)
	}
}

// has reports whether a question for a name and type has an answer, be it an alias, in the zone.
func (m model) has(n name, rrtype uint16) bool {
	t := m.nodes[m.source(n)]
	return t.has(rrtype) || t.has(dns.TypeCNAME)
}

// source returns the name whose records answer for a name: itself, or a wildcard.
func (m model) source(n name) name {
	if m.exists(n) {
		return n
	}
	for !m.exists(n) {
		n = n.parent()
	}
	return n.wildcard()
}

func TestCovers(t *testing.T) {
	cases := []struct {
		owner, next, name string
		types             types
		want              bool
	}{
		{"a.zone.", "c.zone.", "b.zone.", nil, true},
		{"a.zone.", "c.zone.", "a.zone.", nil, false},
		{"a.zone.", "c.zone.", "c.zone.", nil, false},
		{"a.zone.", "c.zone.", "d.zone.", nil, false},
		{"a.zone.", "c.zone.", "x.b.zone.", nil, true},
		{"a.zone.", "c.zone.", "x.a.zone.", nil, true},
		{"a.zone.", "c.zone.", "x.a.zone.", types{dns.TypeNS}, false},
		{"a.zone.", "c.zone.", "x.a.zone.", types{dns.TypeNS, dns.TypeSOA}, true},
		{"a.zone.", "c.zone.", "x.a.zone.", types{dns.TypeDNAME}, false},
		{"a.zone.", "c.zone.", "b.zone.", types{dns.TypeNS}, true},
		{"x.zone.", "zone.", "y.zone.", nil, true},
		{"x.zone.", "zone.", "w.zone.", nil, false},
		{"zone.", "zone.", "y.zone.", types{dns.TypeNS, dns.TypeSOA}, true},
		{"zone.", "zone.", "zone.", types{dns.TypeNS, dns.TypeSOA}, false},
		{"A.zone.", "C.zone.", "b.zone.", nil, true},
	}
	for _, c := range cases {
		r := nsec{must(c.owner), must(c.next), c.types}
		assert.Equal(t, c.want, r.covers(must(c.name)), "%s to %s, %s", c.owner, c.next, c.name)
	}
}

// A hash that lies between two others is denied, also beyond the end of the chain.
func TestHashedCovers(t *testing.T) {
	v := &engine{}
	n := must("a.zone.")
	hash := hashName(n, "", 0)
	cases := []struct {
		from, to string
		want     bool
	}{
		{beside(hash, -1), beside(hash, 1), true},
		{hash, beside(hash, 1), false},
		{beside(hash, -1), hash, false},
		{beside(hash, 1), beside(hash, 2), false},
		{beside(hash, 1), beside(hash, -1), false},
		{beside(hash, -1), beside(hash, -2), true},
		{beside(hash, 2), beside(hash, 1), true},
		{hash, hash, false},
		{beside(hash, 1), beside(hash, 1), true},
	}
	for i, c := range cases {
		h := hashed{v: v, zone: must("zone."), hashes: map[name]string{}, records: []nsec3{{hash: c.from, next: c.to}}}
		_, got := h.cover(n)
		assert.Equal(t, c.want, got, "case %d", i)
	}
}

// Records that cannot be understood, or whose parameters differ from those of the first, do not count.
func TestHashedAdd(t *testing.T) {
	const hash = "0p9mhaveqvm6t7vbl5lop2u3t2rp3tom"
	lines := map[string]int{
		hash + ".zone. NSEC3 1 0 0 - " + hash + " A":                     1,
		hash + ".zone. NSEC3 1 1 0 - " + hash + " A":                     1,
		hash + ".zone. NSEC3 1 2 0 - " + hash + " A":                     0,
		hash + ".zone. NSEC3 2 0 0 - " + hash + " A":                     0,
		hash + ".zone. NSEC3 1 0 151 - " + hash + " A":                   0,
		hash + ".b.zone. NSEC3 1 0 0 - " + hash + " A":                   0,
		"short.zone. NSEC3 1 0 0 - " + hash + " A":                       0,
		hash + ".zone. NSEC3 1 0 0 - " + hash[:16] + " A":                0,
		strings.ToUpper(hash) + ".zone. NSEC3 1 0 5 aabb " + hash + " A": 1,
	}
	for line, want := range lines {
		h := hashed{v: new(engine), zone: must("zone.")}
		record := rrs([]string{line})[0].(*dns.NSEC3)
		h.add(must(record.Hdr.Name), record)
		assert.Len(t, h.records, want, line)
	}
	h := hashed{v: new(engine), zone: must("zone.")}
	for _, parameters := range []string{"0 -", "1 -", "0 aa", "0 -"} {
		record := rrs([]string{fmt.Sprintf("%s.zone. NSEC3 1 0 %s %s A", hash, parameters, hash)})[0].(*dns.NSEC3)
		h.add(must(record.Hdr.Name), record)
	}
	require.Len(t, h.records, 2)
}
