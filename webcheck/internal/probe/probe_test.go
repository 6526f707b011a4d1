package probe_test

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/webcheck/internal/probe"
	"github.com/diagkit/diagkit/webcheck/tlscert/tlscerttest"
	"github.com/stretchr/testify/require"
)

// dialer connects to a server in memory.
func dialer(serve func(net.Conn)) probe.Dialer {
	return func(context.Context) (net.Conn, error) {
		here, there := net.Pipe()
		go serve(there)
		return here, nil
	}
}

// Suites for tests.
const (
	rsaCBC    = 0x002F // TLS_RSA_WITH_AES_128_CBC_SHA
	rsaRC4    = 0x0005 // TLS_RSA_WITH_RC4_128_SHA
	rsaNULL   = 0x003B // TLS_RSA_WITH_NULL_SHA256
	dheCBC    = 0x0033 // TLS_DHE_RSA_WITH_AES_128_CBC_SHA
	ecdheGCM  = 0xC02F // TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256
	ecdheCBC  = 0xC013 // TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA
	tls13GCM  = 0x1301 // TLS_AES_128_GCM_SHA256
	tls13CCM8 = 0x1305 // TLS_AES_128_CCM_8_SHA256
)

// everything is a server with all versions.
var everything = tlscerttest.Server{
	Suites: map[probe.Version][]uint16{
		probe.SSL3: {rsaRC4}, probe.TLS10: {rsaCBC}, probe.TLS11: {ecdheCBC, rsaCBC},
		probe.TLS12: {ecdheGCM, dheCBC, rsaCBC, rsaNULL}, probe.TLS13: {tls13CCM8, tls13GCM},
	},
	Groups: []probe.Group{31, probe.X25519MLKEM768, 26, 23}, DHBits: 1023, Chain: [][]byte{{1}, {2, 3}},
	Staple: []byte{4},
	ALPN:   []string{"http/1.1", "h2"}, Fallback: true, SSL2: true, Compress: true,
}

func TestScan(t *testing.T) {
	r := probe.Scan(t.Context(), dialer(everything.Serve), probe.Config{ServerName: "example.com", ALPN: []string{"h2",
		"http/1.1"}})
	for _, v := range r.Versions {
		require.Equal(t, probe.Yes, v.Supported, v.Version.String())
	}
	var suites []uint16
	for _, s := range r.Suites {
		suites = append(suites, s.ID)
	}
	// Common suites, those without forward secrecy and rare ones are tried apart.
	require.Equal(t, []uint16{tls13CCM8, tls13GCM, ecdheGCM, dheCBC, rsaCBC, rsaNULL, ecdheCBC, rsaCBC, rsaCBC, rsaRC4},
		suites)
	require.Equal(t, 1023, r.Suites[3].DHBits)
	require.Equal(t, []probe.GroupResult{
		{Group: 31, Version: probe.TLS13}, {Group: probe.X25519MLKEM768, Version: probe.TLS13}, {Group: 23,
			Version: probe.TLS13},
		{Group: 26, Version: probe.TLS12}, {Group: 23, Version: probe.TLS12},
	}, r.Groups)
	require.Equal(t, []string{"http/1.1", "h2"}, r.ALPN)
	require.Equal(t, everything.Chain, r.Old.Chain)
	require.Equal(t, everything.Staple, r.Old.Staple)
	require.True(t, r.Old.SecureRenegotiation && r.Old.MasterSecret && r.Old.SessionTicket && !r.Old.Heartbeat)
	require.Equal(t, []probe.Answer{probe.Yes, probe.Yes, probe.Yes}, []probe.Answer{r.ServerOrder, r.FallbackSCSV,
		r.Compression})
	require.False(t, r.Partial || r.NotTLS)
}

func TestScanOfLittle(t *testing.T) {
	little := tlscerttest.Server{
		Suites: map[probe.Version][]uint16{probe.TLS11: {rsaCBC}, probe.TLS12: {rsaCBC, dheCBC}}, DHBits: 2048,
		ClientOrder: true, Bare: true, Mute: true,
	}
	r := probe.Scan(t.Context(), dialer(little.Serve), probe.Config{ALPN: []string{"h2"}})
	require.Equal(t, probe.No, r.Supported(probe.SSL2))
	require.Equal(t, probe.No, r.Supported(probe.SSL3))
	require.Equal(t, probe.No, r.Supported(probe.TLS10))
	require.Equal(t, probe.No, r.Supported(probe.TLS13))
	require.Len(t, r.Suites, 3)
	require.Empty(t, r.Groups)
	require.Empty(t, r.ALPN)
	require.False(t, r.Old.SecureRenegotiation)
	require.Equal(t, []probe.Answer{probe.No, probe.No, probe.No}, []probe.Answer{r.ServerOrder, r.FallbackSCSV,
		r.Compression})
}

// Protocols other than TLS, silence, and a server that stops answering are distinguished.
func TestScanOfStrangers(t *testing.T) {
	plain := func(conn net.Conn) {
		go io.Copy(io.Discard, conn)
		conn.Write([]byte("220 mail.example.com ESMTP\r\n"))
		conn.Close()
	}
	r := probe.Scan(t.Context(), dialer(plain), probe.Config{})
	require.True(t, r.NotTLS)
	require.False(t, r.Any() || r.Partial)

	r = probe.Scan(t.Context(), dialer(func(conn net.Conn) { conn.Close() }), probe.Config{})
	require.False(t, r.Any() || r.Partial || r.NotTLS)

	r = probe.Scan(t.Context(), func(context.Context) (net.Conn, error) { return nil, errors.New("unreachable") },
		probe.Config{})
	require.True(t, r.Partial)
	require.Equal(t, probe.Unknown, r.Supported(probe.TLS12))

	count := 0
	limited := func(ctx context.Context) (net.Conn, error) {
		if count++; count > 12 {
			return dialer(func(conn net.Conn) { conn.Close() })(ctx)
		}
		return dialer(everything.Serve)(ctx)
	}
	serial := make(chan struct{}, 1)
	r = probe.Scan(t.Context(), func(ctx context.Context) (net.Conn, error) {
		serial <- struct{}{}
		defer func() { <-serial }()
		return limited(ctx)
	}, probe.Config{})
	require.True(t, r.Partial, "the server stopped to answer")
	for _, v := range r.Versions {
		require.NotEqual(t, probe.No, v.Supported, "a closed connection says nothing any more about %s", v.Version)
	}
}

// A silent server costs a bounded time.
func TestScanOfSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 13*time.Second)
		defer cancel()
		began := time.Now()
		r := probe.Scan(ctx, dialer(func(conn net.Conn) { io.Copy(io.Discard, conn) }), probe.Config{})
		require.True(t, r.Partial)
		require.LessOrEqual(t, time.Since(began), 13*time.Second)
		synctest.Wait()
	})
}

// Servers that send without end, or very slowly, are left.
func TestAskHostile(t *testing.T) {
	record := func(kind byte, size int) []byte {
		return append([]byte{kind, 3, 3, byte(size >> 8), byte(size)}, make([]byte, size)...)
	}
	endless := func(piece []byte) func(net.Conn) {
		return func(conn net.Conn) {
			go io.Copy(io.Discard, conn)
			for {
				if _, err := conn.Write(piece); err != nil {
					return
				}
			}
		}
	}
	huge := record(22, 1<<14)
	copy(huge[5:], []byte{2, 0xff, 0xff, 0xff})
	tests := []struct {
		name  string
		serve func(net.Conn)
	}{
		{"a message of 16 MiB", endless(huge)},
		{"empty records", endless(record(22, 0))},
		{"changes of the cipher", endless(record(20, 1))},
		{"warnings", endless([]byte{21, 3, 3, 0, 2, 1, 112})},
		{"a record of 64 KiB", endless(record(22, 1<<16-1))},
		{"messages that mean nothing", endless(append([]byte{22, 3, 3, 0, 4}, 0, 0, 0, 0))},
		{"a byte now and then", func(conn net.Conn) {
			go io.Copy(io.Discard, conn)
			for _, b := range huge {
				time.Sleep(300 * time.Millisecond)
				if _, err := conn.Write([]byte{b}); err != nil {
					return
				}
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				here, there := net.Pipe()
				go tt.serve(there)
				began := time.Now()
				_, err := probe.Ask(t.Context(), here, probe.Hello{Version: probe.TLS12, Suites: []uint16{rsaCBC}})
				require.Error(t, err)
				require.LessOrEqual(t, time.Since(began), 6*time.Second)
				here.Close()
				time.Sleep(time.Second) // until the server notices
			})
		})
	}
}

func TestSuites(t *testing.T) {
	seen := map[uint16]bool{}
	for _, s := range probe.Suites() {
		require.False(t, seen[s.ID], s.Name)
		seen[s.ID] = true
		require.Contains(t, probe.Strength("").Values(), string(s.Strength()), s.Name)
	}
	require.Greater(t, len(seen), 340)
	for id, want := range map[uint16]probe.Strength{
		tls13GCM: probe.Strong, ecdheGCM: probe.Strong, 0xCCA8: probe.Strong, ecdheCBC: probe.Acceptable,
		dheCBC: probe.Acceptable,
		rsaCBC: probe.Weak, 0x009C: probe.Weak, 0xC012: probe.Weak, rsaRC4: probe.Insecure, rsaNULL: probe.Insecure,
		0x0034: probe.Insecure, 0x0003: probe.Insecure, 0xC0B4: probe.Insecure, 0xFFFE: probe.Insecure,
	} {
		require.Equal(t, want, probe.SuiteOf(id).Strength(), probe.SuiteOf(id).Name)
	}
	require.Equal(t, "0xFFFE", probe.SuiteOf(0xFFFE).Name)
}

// The replies of servers are read without a panic, and chains are within their bounds.
func FuzzReply(f *testing.F) {
	for v := range everything.Suites {
		here, there := net.Pipe()
		go everything.Serve(there)
		f.Add(uint16(v), answerTo(f, here, v))
	}
	f.Add(uint16(probe.TLS12), []byte{22, 3, 3, 0, 4, 2, 0, 0, 0})
	f.Add(uint16(probe.SSL2), []byte{0x80, 14, 4, 0, 1, 0, 2, 0, 0, 0, 3, 0, 0, 1, 0, 0x80})
	f.Fuzz(func(t *testing.T, v uint16, data []byte) {
		here, there := net.Pipe()
		go io.Copy(io.Discard, there)
		go func() {
			there.Write(data)
			there.Close()
		}()
		defer here.Close()
		reply, err := probe.Ask(t.Context(), here, probe.Hello{Version: probe.Version(v), Suites: []uint16{ecdheGCM}})
		if (reply == nil) != (err != nil) {
			t.Fatalf("reply %v beside the error %v", reply, err)
		}
		if reply != nil && (len(reply.Chain) > probe.MaxChain || reply.DHBits < 0 || reply.DHBits > 8*1<<16) {
			t.Fatalf("out of bounds: %d certificates, %d bits", len(reply.Chain), reply.DHBits)
		}
	})
}

// answerTo returns the bytes that a server sends to a hello.
func answerTo(f *testing.F, conn net.Conn, v probe.Version) []byte {
	c := &recorder{Conn: conn}
	_, err := probe.Ask(f.Context(), c, probe.Hello{Version: v, Suites: everything.Suites[v], Groups: []probe.Group{23}})
	require.NoError(f, err)
	conn.Close()
	return c.read
}

// A recorder keeps what was read.
type recorder struct {
	net.Conn
	read []byte
}

func (r *recorder) Read(b []byte) (int, error) {
	n, err := r.Conn.Read(b)
	r.read = append(r.read, b[:n]...)
	return n, err
}
