package probe_test

import (
	"net"
	"testing"
	"testing/synctest"

	"github.com/diagkit/diagkit/webcheck/internal/probe"
	"github.com/diagkit/diagkit/webcheck/tlscert/tlscerttest"
	"github.com/stretchr/testify/require"
)

// usual is a server of today, and older one of a few years ago.
var (
	usual = tlscerttest.Server{Suites: map[probe.Version][]uint16{
		probe.TLS12: {ecdheGCM}, probe.TLS13: {tls13GCM}}, Groups: []probe.Group{29, 23}, ALPN: []string{"h2"}}
	older = tlscerttest.Server{Suites: map[probe.Version][]uint16{probe.TLS12: {ecdheGCM}}, Groups: []probe.Group{23}}
)

// What a server cannot take is found, whether it closes the connection or says nothing.
func TestTolerance(t *testing.T) {
	for _, tt := range []struct {
		name   string
		server tlscerttest.Server
		box    tlscerttest.Middlebox
		want   []probe.Property // nil: it takes everything
	}{
		{"nothing in between", usual, tlscerttest.Middlebox{}, nil},
		{"an older server", older, tlscerttest.Middlebox{}, nil},
		{"TLS 1.0", tlscerttest.Server{Suites: map[probe.Version][]uint16{probe.TLS10: {rsaCBC}}}, tlscerttest.Middlebox{}, nil},
		{"a limit of 1000 octets", usual, tlscerttest.Middlebox{MaxOctets: 1000}, []probe.Property{probe.Large}},
		{"a limit of 1000 octets, older", older, tlscerttest.Middlebox{MaxOctets: 1000}, []probe.Property{probe.Large}},
		{"one segment", usual, tlscerttest.Middlebox{OneSegment: true}, []probe.Property{probe.Large}},
		{"ALPN", usual, tlscerttest.Middlebox{Dropped: []probe.Property{probe.Protocols}}, []probe.Property{probe.Protocols}},
		{"TLS 1.3", older, tlscerttest.Middlebox{Dropped: []probe.Property{probe.NewVersion}},
			[]probe.Property{probe.NewVersion}},
		{"GREASE", usual, tlscerttest.Middlebox{Dropped: []probe.Property{probe.Reserved}}, []probe.Property{probe.Reserved}},
		{"extensions", usual, tlscerttest.Middlebox{Dropped: []probe.Property{probe.Extensions}},
			[]probe.Property{probe.Extensions}},
		{"key share", usual, tlscerttest.Middlebox{Dropped: []probe.Property{probe.KeyShare}},
			[]probe.Property{probe.KeyShare}},
		{"key share, older", older, tlscerttest.Middlebox{Dropped: []probe.Property{probe.KeyShare}},
			[]probe.Property{probe.KeyShare}},
		{"size and TLS 1.3", older, tlscerttest.Middlebox{MaxOctets: 800, Dropped: []probe.Property{probe.NewVersion}},
			[]probe.Property{probe.Large, probe.NewVersion}},
		{"ALPN and GREASE", usual, tlscerttest.Middlebox{Dropped: []probe.Property{probe.Protocols, probe.Reserved}},
			[]probe.Property{probe.Reserved, probe.Protocols}},
	} {
		for _, silent := range []bool{false, true} {
			if silent && tt.box.Dropped != nil && tt.want[len(tt.want)-1] == probe.Protocols {
				continue // the whole scan meets silence, before which comes [probe.Knock]
			}
			t.Run(tt.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					tt.box.Silent, tt.box.Server = silent, tt.server.Serve
					r := probe.Scan(t.Context(), dialer(tt.box.Serve), probe.Config{ServerName: "example.com",
						ALPN: []string{"h2", "http/1.1"}})
					require.True(t, r.Any())
					require.LessOrEqual(t, r.Connections, 60)
					var got []probe.Property
					for _, i := range r.Intolerances {
						got = append(got, i.Property)
						require.NotEmpty(t, i.Reaction)
						require.Equal(t, probe.No, r.Tolerates(i.Property))
					}
					require.Equal(t, tt.want, got, "%+v", r.Intolerances)
					require.Equal(t, tt.want == nil, r.Browser == probe.Yes)
				})
			})
		}
	}
}

// It is measured how large a ClientHello may be, and whether it may be divided.
func TestLargeHello(t *testing.T) {
	for name, tt := range map[string]struct {
		box  tlscerttest.Middlebox
		want probe.Intolerance
	}{
		"a limit": {tlscerttest.Middlebox{MaxOctets: 1000}, probe.Intolerance{Answered: 1000, Failed: 1400}},
		"one segment": {tlscerttest.Middlebox{OneSegment: true},
			probe.Intolerance{Answered: 1400, Failed: 1500, InSegments: true}},
		"one record": {tlscerttest.Middlebox{MaxOctets: 600, OneRecord: true},
			probe.Intolerance{Answered: 517, Failed: 700, InRecords: true}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tt.box.Server = usual.Serve
				r := probe.Scan(t.Context(), dialer(tt.box.Serve), probe.Config{ServerName: "example.com"})
				require.Len(t, r.Intolerances, 1)
				got := r.Intolerances[0]
				tt.want.Property, tt.want.Reaction = probe.Large, "the server closed the connection"
				require.Equal(t, tt.want, got)
			})
		})
	}
}

// A server that is silent to a large ClientHello is distinguished from one that is silent to all.
func TestKnock(t *testing.T) {
	config := probe.Config{ServerName: "example.com", ALPN: []string{"h2"}}
	for name, tt := range map[string]struct {
		serve    func(net.Conn)
		answered bool
		alpn     []string
	}{
		"all":       {usual.Serve, true, config.ALPN},
		"an alert":  {tlscerttest.Server{}.Serve, true, config.ALPN},
		"old":       {older.Serve, true, config.ALPN},
		"none":      {tlscerttest.Middlebox{MaxOctets: 1, Silent: true}.Serve, false, config.ALPN},
		"small":     {tlscerttest.Middlebox{MaxOctets: 600, Silent: true, Server: usual.Serve}.Serve, true, config.ALPN},
		"no ALPN":   {noALPN.Serve, true, nil},
		"closed it": {func(conn net.Conn) { conn.Close() }, true, config.ALPN},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got, ok := probe.Knock(t.Context(), dialer(tt.serve), config)
				require.Equal(t, tt.answered, ok)
				require.Equal(t, tt.alpn, got.ALPN)
				if tt.alpn == nil {
					r := probe.Scan(t.Context(), dialer(tt.serve), got)
					require.Equal(t, probe.No, r.Tolerates(probe.Protocols))
				}
			})
		})
	}
}

var noALPN = tlscerttest.Middlebox{Dropped: []probe.Property{probe.Protocols}, Silent: true, Server: usual.Serve}
