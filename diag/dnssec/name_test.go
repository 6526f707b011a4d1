package dnssec

import (
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The order of RFC 4034 section 6.1.
func TestCompare(t *testing.T) {
	ordered := []string{
		"example.", "a.example.", "yljkjljk.a.example.", "Z.a.example.", "zABC.a.EXAMPLE.", "z.example.",
		`\001.z.example.`, "*.z.example.", `\200.z.example.`,
	}
	for i, a := range ordered {
		for j, b := range ordered {
			got := compare(must(a), must(b))
			assert.Equal(t, i < j, got < 0, "%s, %s", a, b)
			assert.Equal(t, i == j, got == 0, "%s, %s", a, b)
		}
	}
}

func TestNames(t *testing.T) {
	n := must("*.Sub.Zone.test")
	assert.Equal(t, "*.sub.zone.test", n.String())
	assert.Equal(t, 4, n.labels())
	assert.Equal(t, 3, n.signedLabels())
	assert.True(t, n.isWildcard())
	assert.Equal(t, must("zone.test."), n.ancestor(2))
	assert.Equal(t, n, must("sub.zone.test.").wildcard())
	assert.True(t, n.within(n))
	assert.False(t, n.below(n))
	assert.True(t, n.within(root))
	assert.False(t, must("xbar.test.").within(must("bar.test.")))
	assert.Equal(t, must("zone.test."), common(n, must("b.zone.test.")))
	assert.Equal(t, root, common(must("a."), must("b.")))
	assert.Equal(t, root, root.parent())
	assert.Equal(t, ".", root.String())
	moved, ok := must("a.b.old.test.").replace(must("old.test."), must("new."))
	assert.True(t, ok)
	assert.Equal(t, must("a.b.new."), moved)
	_, ok = must("a.b.old.test.").replace(must("test."), must(strings.Repeat("abcdefg.", 31)))
	assert.False(t, ok)
	assert.Empty(t, must(strings.Repeat("a.", 127)).wildcard())
	for _, s := range []string{"a..b", ".a", strings.Repeat("a", 64), strings.Repeat("a.", 128)} {
		_, ok := parseName(s)
		assert.False(t, ok, s)
	}
}

// FuzzName holds names against the library's own reading of them.
func FuzzName(f *testing.F) {
	for _, s := range []string{"www.Example.com", ".", `a\.b.c.`, `\000\255.x`, "*.a", "a..b", `a\`} {
		f.Add(s, "example.com.")
	}
	f.Fuzz(func(t *testing.T, s, other string) {
		n, ok := parseName(s)
		if !ok {
			return
		}
		again, ok := parseName(n.fqdn())
		require.True(t, ok)
		require.Equal(t, n, again)
		require.Equal(t, dns.CountLabel(n.fqdn()), n.labels())
		m, ok := parseName(other)
		if !ok {
			return
		}
		require.Equal(t, compare(n, m) < 0, compare(m, n) > 0)
		require.Equal(t, n == m, compare(n, m) == 0)
		up := common(n, m)
		require.True(t, n.within(up) && m.within(up))
		if n.below(m) {
			require.Positive(t, compare(n, m))
			require.Equal(t, m, up)
		}
	})
}

// The keys of IANA are those that every distribution has.
func TestIANA(t *testing.T) {
	var tags []uint16
	for _, rr := range iana() {
		tags = append(tags, rr.(*dns.DS).KeyTag)
	}
	require.Equal(t, []uint16{20326, 38696}, tags)
}

func TestParseAnchors(t *testing.T) {
	key := ". 172800 IN DNSKEY 257 3 13 " + strings.Repeat("A", 86) + "=="
	cases := map[string]bool{
		"; nothing":                           false,
		"":                                    false,
		rootAnchors:                           true,
		key + " ; comment":                    true,
		"example. DS 1 13 2 " + wrongDigest:   true,
		"example. A 192.0.2.1":                false,
		"example. DS 1 13 2 XYZ":              false,
		strings.Replace(key, "257", "385", 1): false,
		strings.Replace(key, "257", "1", 1):   false,
		"$INCLUDE /etc/passwd":                false,
		"$GENERATE 1-100000000 $ DS 1 13 2 " + wrongDigest: false,
		strings.Repeat(rootAnchors, 10000):                 false,
	}
	for text, want := range cases {
		anchors, err := ParseAnchors(text)
		assert.Equal(t, want, err == nil, "%.60s: %v", text, err)
		assert.Equal(t, want, len(anchors) > 0)
	}
}

func FuzzParseAnchors(f *testing.F) {
	f.Add(rootAnchors)
	f.Fuzz(func(t *testing.T, text string) {
		anchors, err := ParseAnchors(text)
		require.Equal(t, err == nil, len(anchors) > 0)
		require.False(t, slices.ContainsFunc(anchors, func(rr dns.RR) bool { return !isAnchor(rr) }))
	})
}
