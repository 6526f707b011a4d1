package markcert

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBuiltInRoots(t *testing.T) {
	for _, c := range DefaultRoots().Certificates {
		require.NoError(t, c.CheckSignatureFrom(c), name(c))
	}
	listed := map[string]bool{}
	for _, c := range DefaultRoots().Certificates {
		listed[fingerprint(c)] = true
	}
	for sum := range distrusted {
		require.True(t, listed[sum], "%s is distrusted and not among the roots", sum)
	}
}

func TestCovers(t *testing.T) {
	at := func(domain, organizational, selector string) Place { return Place{domain, organizational, selector} }
	for _, tt := range []struct {
		name  string
		names []string
		place Place
		want  bool
	}{
		{"same", []string{"Example.com."}, at("example.com", "example.com", "default"), true},
		{"other", []string{"example.net"}, at("example.com", "example.com", "default"), false},
		{"organizational", []string{"example.com"}, at("news.example.com", "example.com", "default"), true},
		{"below", []string{"news.example.com"}, at("example.com", "example.com", "default"), false},
		{"between", []string{"b.example.com"}, at("a.b.example.com", "example.com", "default"), false},
		{"selector", []string{"default._bimi.example.com"}, at("example.com", "example.com", "default"), true},
		{"other selector", []string{"default._bimi.example.com"}, at("example.com", "example.com", "s1"), false},
		{"any selector", []string{"s1._bimi.example.com"}, at("example.com", "example.com", ""), true},
		{"selector of another", []string{"s1._bimi.example.net"}, at("example.com", "example.com", ""), false},
		{"wildcard", []string{"*.example.com"}, at("news.example.com", "example.net", "default"), false},
		{"none", nil, at("example.com", "", ""), false},
	} {
		t.Run(tt.name, func(t *testing.T) { require.Equal(t, tt.want, Cover(tt.names).Covers(tt.place)) })
	}
}
