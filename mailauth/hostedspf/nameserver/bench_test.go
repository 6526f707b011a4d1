package nameserver

import (
	"net"
	"testing"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

// A sink accepts answers like a socket.
type sink struct {
	dns.ResponseWriter
	size int
}

var sinkAddr = &net.UDPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 53}

func (*sink) RemoteAddr() net.Addr { return sinkAddr }

func (s *sink) WriteMsg(m *dns.Msg) error {
	wire, err := m.Pack()
	s.size = len(wire)
	return err
}

func (s *sink) Write(wire []byte) (int, error) { s.size = len(wire); return len(wire), nil }

// BenchmarkServe is a question from wire to wire.
func BenchmarkServe(b *testing.B) {
	key, err := NewSigningKey(testZone().Name)
	require.NoError(b, err)
	p := newProfile(1, "v=spf1 include:_1.h1.spf.example.net ip4:192.0.2.0/24 -all")
	s, err := New(b.Context(), Config{Zone: testZone(), Store: newStore(b, p), Rate: -1, Signing: []SigningKey{key}})
	require.NoError(b, err)
	for _, test := range []struct {
		name string
		q    *dns.Msg
	}{
		{"TXT", new(dns.Msg).SetQuestion("h1.spf.example.net.", dns.TypeTXT).SetEdns0(1232, false)},
		{"case", new(dns.Msg).SetQuestion("H1.sPF.example.net.", dns.TypeTXT).SetEdns0(1232, false)},
		{"none", new(dns.Msg).SetQuestion("none.spf.example.net.", dns.TypeTXT).SetEdns0(1232, false)},
		{"signed", new(dns.Msg).SetQuestion("h1.spf.example.net.", dns.TypeTXT).SetEdns0(1232, true)},
		{"proof", new(dns.Msg).SetQuestion("h1.spf.example.net.", dns.TypeMX).SetEdns0(1232, true)},
	} {
		wire, err := test.q.Pack()
		require.NoError(b, err)
		b.Run(test.name, func(b *testing.B) {
			b.ReportAllocs()
			var w sink
			for b.Loop() {
				q := new(dns.Msg)
				if err := q.Unpack(wire); err != nil {
					b.Fatal(err)
				}
				s.ServeDNS(&w, q)
			}
			b.ReportMetric(float64(w.size), "bytes")
		})
	}
}
