package probe_test

import (
	"maps"
	"testing"

	"github.com/diagkit/diagkit/webcheck/internal/probe"
	"github.com/diagkit/diagkit/webcheck/tlscert/tlscerttest"
	"github.com/stretchr/testify/require"
)

// Another server's protocol support is distinguished by any difference that a rule or a client would notice.
func TestAlike(t *testing.T) {
	usual := func(change func(*tlscerttest.Server)) tlscerttest.Server {
		s := tlscerttest.Server{
			Suites: map[probe.Version][]uint16{probe.TLS12: {0xC02F, 0xC030, 0xC013, 0x009C}, probe.TLS13: {0x1302, 0x1301}},
			Groups: []probe.Group{29, 23}, ALPN: []string{"h2", "http/1.1"}, DHBits: 2048,
		}
		s.Suites = maps.Clone(s.Suites)
		if change != nil {
			change(&s)
		}
		return s
	}
	config := probe.Config{ServerName: "example.com", ALPN: []string{"h2", "http/1.1"}}
	first := probe.Scan(t.Context(), dialer(usual(nil).Serve), config)
	for name, tt := range map[string]struct {
		change func(*tlscerttest.Server)
		alike  bool
	}{
		"the same":             {nil, true},
		"no TLS 1.3":           {func(s *tlscerttest.Server) { delete(s.Suites, probe.TLS13) }, false},
		"TLS 1.0":              {func(s *tlscerttest.Server) { s.Suites[probe.TLS10] = []uint16{0xC013} }, false},
		"TLS 1.1":              {func(s *tlscerttest.Server) { s.Suites[probe.TLS11] = []uint16{0xC013} }, false},
		"SSLv3":                {func(s *tlscerttest.Server) { s.Suites[probe.SSL3] = []uint16{0xC013} }, false},
		"SSLv2":                {func(s *tlscerttest.Server) { s.SSL2 = true }, false},
		"RC4":                  {func(s *tlscerttest.Server) { s.Suites[probe.TLS12] = append(s.Suites[probe.TLS12], 0x0005) }, false},
		"without RSA":          {func(s *tlscerttest.Server) { s.Suites[probe.TLS12] = s.Suites[probe.TLS12][:3] }, false},
		"another preference":   {func(s *tlscerttest.Server) { s.Suites[probe.TLS13] = []uint16{0x1301, 0x1302} }, false},
		"another group":        {func(s *tlscerttest.Server) { s.Groups = []probe.Group{23, 29} }, false},
		"no HTTP/2":            {func(s *tlscerttest.Server) { s.ALPN = []string{"http/1.1"} }, false},
		"no secure extensions": {func(s *tlscerttest.Server) { s.Bare = true }, false},
		"refuses everything":   {func(s *tlscerttest.Server) { s.Suites = nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tt.alike, probe.Alike(t.Context(), dialer(usual(tt.change).Serve), config, first))
		})
	}
}
