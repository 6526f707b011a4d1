package diagtest_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func say(text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, text) })
}

func TestCertificates(t *testing.T) {
	tests := []struct {
		cert diagtest.Cert
		want string // part of the error
	}{
		{diagtest.CertExpired, "certificate has expired or is not yet valid: current time 2026-01-01T00:00:00Z is after"},
		{diagtest.CertNotYetValid, "is before"},
		{diagtest.CertWrongName, "certificate is valid for wrong.example, not www.example.com"},
		{diagtest.CertSelfSigned, "certificate signed by unknown authority"},
		{diagtest.CertUnknownAuthority, "certificate signed by unknown authority"},
		{diagtest.CertMissingIntermediate, "certificate signed by unknown authority"},
	}
	for _, tt := range tests {
		t.Run(string(tt.cert), func(t *testing.T) {
			world := diagtest.NewWorld(t)
			world.Site(diagtest.Site{Host: "www.example.com", Cert: tt.cert})
			_, _, err := get(t.Context(), t, world.Env(), "https://www.example.com/")
			assert.ErrorContains(t, err, tt.want)
		})
	}
}

func TestGoodCertificateIsServedWithItsChain(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.HTTPS("www.example.com", nil)
	c, err := world.Env().DialHost(t.Context(), "www.example.com", 443, diag.WebPorts)
	require.NoError(t, err)
	client := tls.Client(c, &tls.Config{ServerName: "www.example.com", RootCAs: world.Roots(), Time: world.Now})
	defer client.Close()
	require.NoError(t, client.HandshakeContext(t.Context()))
	root, intermediate := world.Authorities()
	require.Len(t, client.ConnectionState().VerifiedChains, 1)
	assert.Equal(t, []*x509.Certificate{intermediate, root}, client.ConnectionState().VerifiedChains[0][1:])
	assert.Len(t, client.ConnectionState().PeerCertificates, 2)
}

func TestCertificateExpiresWithTheClock(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.HTTPS("www.example.com", nil)
	_, _, err := get(t.Context(), t, world.Env(), "https://www.example.com/")
	require.NoError(t, err)
	world.Advance(90 * 24 * time.Hour)
	_, _, err = get(t.Context(), t, world.Env(), "https://www.example.com/")
	assert.ErrorContains(t, err, "expired")
}

func TestSites(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.Zone(`
		shared.example.com.  A      192.0.2.80
		other.example.com.   A      192.0.2.80
		alias.example.com.   CNAME  target.example.net.
		both.example.com.    A      192.0.2.81
		both.example.com.    AAAA   2001:db8::81
	`)
	world.HTTPS("shared.example.com", say("shared"))
	world.HTTPS("other.example.com", say("other"))
	world.HTTPS("alias.example.com", say("alias"))
	world.HTTPS("both.example.com", say("both"))
	world.HTTPS("port.example.com:8443", say("port"))
	world.HTTPS("192.0.2.200", say("address"))
	world.HTTP("plain.example.com", say("plain"))
	world.Site(diagtest.Site{Host: "six.example.com", IPv6: true, Handler: say("six")})
	tests := []struct{ url, want string }{
		{"https://shared.example.com/", "shared"},
		{"https://other.example.com/", "other"},
		{"https://alias.example.com/", "alias"},
		{"https://both.example.com/", "both"},
		{"https://port.example.com:8443/", "port"},
		{"https://192.0.2.200/", "address"},
		{"http://plain.example.com/", "plain"},
		{"https://six.example.com/", "six"},
	}
	for _, tt := range tests {
		t.Run(tt.url, func(t *testing.T) {
			code, body, err := get(t.Context(), t, world.Env(), tt.url)
			require.NoError(t, err)
			assert.Equal(t, 200, code)
			assert.Equal(t, tt.want, body)
		})
	}
	a := diag.LookupAddresses(t.Context(), world.Env(), "six.example.com")
	assert.Len(t, a.V6.Records, 1)
	assert.Empty(t, a.V4.Records)
	target := diag.Lookup[*dns.A](t.Context(), world.Env(), "alias.example.com")
	assert.Equal(t, []string{"target.example.net."}, target.Aliases)
	assert.Len(t, target.Records, 1)
}

func TestHTTP2IsOffered(t *testing.T) {
	world := diagtest.NewWorld(t)
	proto := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Proto) })
	world.HTTPS("two.example.com", proto)
	world.Site(diagtest.Site{Host: "one.example.com", Handler: proto, HTTP1: true})
	for host, want := range map[string]string{"two.example.com": "HTTP/2.0", "one.example.com": "HTTP/1.1"} {
		_, body, err := get(t.Context(), t, world.Env(), "https://"+host)
		require.NoError(t, err)
		assert.Equal(t, want, body)
	}
}

func TestGuardStaysAwake(t *testing.T) {
	world := diagtest.NewWorld(t)
	for _, ip := range []string{"127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "fe80::1", "fd00::1"} {
		world.HTTP(ip, say("secret"))
		_, err := world.Env().DialHost(t.Context(), ip, 80, diag.WebPorts)
		var blocked *diag.BlockedError
		assert.ErrorAs(t, err, &blocked, ip)
	}
	assert.Empty(t, world.Connections())
	for _, ip := range []string{"192.0.2.9", "198.51.100.9", "203.0.113.9", "2001:db8::9"} {
		_, err := world.Env().DialHost(t.Context(), ip, 80, diag.WebPorts)
		assert.ErrorIs(t, err, syscall.ECONNREFUSED, ip)
	}
	assert.Len(t, world.Connections(), 4)
}

func TestBehaviours(t *testing.T) {
	tests := []struct {
		behaviour diagtest.Behaviour
		want      error
		took      time.Duration
	}{
		{diagtest.Serves, nil, 0},
		{diagtest.Refuses, syscall.ECONNREFUSED, 0},
		{diagtest.Resets, syscall.ECONNRESET, 0},
		{diagtest.Hangs, context.DeadlineExceeded, 10 * time.Second},
		{diagtest.Unreachable, context.DeadlineExceeded, 10 * time.Second},
	}
	for _, tt := range tests {
		t.Run("it "+string(tt.behaviour), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				world := diagtest.NewWorld(t)
				world.HTTP("www.example.com", say("hello"))
				world.Behave("www.example.com:80", tt.behaviour)
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				begin := time.Now()
				_, _, err := get(ctx, t, world.Env(), "http://www.example.com/")
				assert.ErrorIs(t, err, tt.want)
				assert.Equal(t, tt.took, time.Since(begin))
			})
		})
	}
}

func TestPortThatClosesAtOnce(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.Behave("mx.example.com:25", diagtest.Closes)
	c, err := world.Env().DialHost(t.Context(), "mx.example.com", 25, diag.SMTPPorts)
	require.NoError(t, err)
	defer c.Close()
	_, err = c.Read(make([]byte, 1))
	assert.Equal(t, io.EOF, err)
}

func TestDrip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := diagtest.NewWorld(t)
		world.Serve("drip.example.com:43", func(c net.Conn) { io.WriteString(c, "12345") })
		world.Drip("drip.example.com:43", time.Second)
		c, err := world.Env().DialHost(t.Context(), "drip.example.com", 43, diag.WhoisPorts)
		require.NoError(t, err)
		defer c.Close()
		begin := time.Now()
		b, err := io.ReadAll(c)
		require.NoError(t, err)
		assert.Equal(t, "12345", string(b))
		assert.Equal(t, 5*time.Second, time.Since(begin))
	})
}

func TestEndlessBodyWaitsForItsReader(t *testing.T) {
	world := diagtest.NewWorld(t)
	written := make(chan int, 1)
	world.Serve("endless.example.com:80", func(c net.Conn) {
		total := 0
		for {
			n, err := io.WriteString(c, strings.Repeat("x", 4096))
			if total += n; err != nil {
				written <- total
				return
			}
		}
	})
	c, err := world.Env().DialHost(t.Context(), "endless.example.com", 80, diag.WebPorts)
	require.NoError(t, err)
	_, err = io.ReadFull(c, make([]byte, 1<<20))
	require.NoError(t, err)
	c.Close()
	assert.Less(t, <-written, 2<<20)
}

func TestHalfClose(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.Serve("echo.example.com:25", func(c net.Conn) {
		b, _ := io.ReadAll(c)
		io.WriteString(c, "got "+string(b))
	})
	c, err := world.Env().DialHost(t.Context(), "echo.example.com", 25, diag.SMTPPorts)
	require.NoError(t, err)
	defer c.Close()
	io.WriteString(c, "all of it")
	require.NoError(t, c.(interface{ CloseWrite() error }).CloseWrite())
	b, err := io.ReadAll(c)
	require.NoError(t, err)
	assert.Equal(t, "got all of it", string(b))
	_, err = io.WriteString(c, "more")
	assert.ErrorIs(t, err, syscall.EPIPE)
	assert.IsType(t, &net.TCPAddr{}, c.RemoteAddr())
	assert.Equal(t, "203.0.113.254", c.LocalAddr().(*net.TCPAddr).IP.String())
}

func TestDatagramsKeepTheirBounds(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.ServePackets("echo.example.com:53", func(packet []byte) [][]byte {
		return [][]byte{packet, []byte("and another")}
	})
	c, err := world.Dial(t.Context(), "udp", "192.0.2.1:53")
	require.NoError(t, err)
	defer c.Close()
	c.Write([]byte("one"))
	buffer := make([]byte, 100)
	for _, want := range []string{"one", "and another"} {
		n, err := c.Read(buffer)
		require.NoError(t, err)
		assert.Equal(t, want, string(buffer[:n]))
	}
	c.Write([]byte("too long"))
	n, err := c.Read(buffer[:3])
	require.NoError(t, err)
	assert.Equal(t, "too", string(buffer[:n]))
	n, _ = c.Read(buffer)
	assert.Equal(t, "and another", string(buffer[:n]))
	assert.IsType(t, &net.UDPAddr{}, c.RemoteAddr())
}

func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := diagtest.NewWorld(t)
		world.Behave("hang.example.com:25", diagtest.Hangs)
		c, err := world.Env().DialHost(t.Context(), "hang.example.com", 25, diag.SMTPPorts)
		require.NoError(t, err)
		defer c.Close()
		begin := time.Now()

		c.SetReadDeadline(begin.Add(time.Minute))
		_, err = bufio.NewReader(c).ReadByte()
		assert.ErrorContains(t, err, "i/o timeout")
		assert.Equal(t, time.Minute, time.Since(begin))

		c.SetReadDeadline(time.Time{})
		go func() {
			time.Sleep(time.Hour) // of the bubble
			c.SetReadDeadline(time.Now())
		}()
		_, err = c.Read(make([]byte, 1))
		assert.ErrorContains(t, err, "i/o timeout")
		assert.Equal(t, time.Hour+time.Minute, time.Since(begin))
	})
}

func TestPanicOfAHandlerFailsTheTest(t *testing.T) {
	r := &recorder{TB: t}
	world := diagtest.NewWorld(r)
	world.HTTP("www.example.com", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("oops") }))
	_, _, err := get(t.Context(), t, world.Env(), "http://www.example.com/")
	assert.Error(t, err)
	world.Close()
	require.Len(t, r.failures, 1)
	assert.Contains(t, r.failures[0], "oops")
}

func TestDeadlineHoldsAlthoughThereIsData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := diagtest.NewWorld(t)
		world.Serve("mx.example.com:25", func(c net.Conn) {
			io.WriteString(c, "220 hello")
			io.Copy(io.Discard, c)
		})
		c, err := world.Env().DialHost(t.Context(), "mx.example.com", 25, diag.SMTPPorts)
		require.NoError(t, err)
		defer c.Close()
		synctest.Wait()
		c.SetDeadline(time.Now().Add(-time.Second))
		_, err = c.Read(make([]byte, 1))
		assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
		_, err = c.Write([]byte("EHLO"))
		assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
		c.SetDeadline(time.Time{})
		_, err = c.Read(make([]byte, 1))
		assert.NoError(t, err)
	})
}

func TestWriterWaitsForTheReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := diagtest.NewWorld(t)
		done := make(chan bool)
		world.Serve("mx.example.com:25", func(net.Conn) { <-done })
		c, err := world.Env().DialHost(t.Context(), "mx.example.com", 25, diag.SMTPPorts)
		require.NoError(t, err)
		c.SetWriteDeadline(time.Now().Add(time.Minute))
		begin := time.Now()
		n, err := c.Write(make([]byte, 1<<20))
		assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
		assert.Equal(t, time.Minute, time.Since(begin))
		assert.Equal(t, 256<<10, n)
		c.Close()
		close(done)
	})
}
