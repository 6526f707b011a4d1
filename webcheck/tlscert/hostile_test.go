//go:build !race

package tlscert

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/webcheck/internal/probe"
	"github.com/diagkit/diagkit/webcheck/tlscert/tlscerttest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// weight is the memory that httpapi reserves for a check.
const weight = 32 << 20

// What servers can make a check hold stays within its weight: long certificates, all suites, endless issuers.
func TestHostileMemory(t *testing.T) {
	if !diagtest.InOwnProcess(t) {
		return
	}
	a := newAuthorities(t)
	w := diagtest.NewWorld(t)
	w.SetTime(start)
	w.Zone(zone)
	names := []string{host}
	for i := range 1700 {
		names = append(names, fmt.Sprintf("%s%d.example.com", strings.Repeat("x", 50), i))
	}
	cert, _ := a.public.issue(t, leaf(func(c *x509.Certificate) {
		c.DNSNames, c.IssuingCertificateURL = names, []string{"http://ca.example.net/"}
		c.CRLDistributionPoints, c.OCSPServer = []string{"http://list.example.net/"}, []string{"http://ca.example.net/"}
	}))
	server := tlscerttest.Server{Suites: map[probe.Version][]uint16{}, DHBits: 8192, Groups: []probe.Group{23, 24, 25, 26,
		27, 28, 29}}
	for _, s := range probe.Suites() {
		v := probe.TLS12
		if s.TLS13() {
			v = probe.TLS13
		}
		server.Suites[v] = append(server.Suites[v], s.ID)
	}
	server.Chain = [][]byte{cert.Raw, a.public.cert.Raw}
	list := a.public.longList(t)
	w.Serve("192.0.2.10:443", server.Serve)
	w.HTTP("ca.example.net", http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		for range 100 {
			rw.Write(make([]byte, 1<<20))
		}
	}))
	w.HTTP("list.example.net", http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { rw.Write(list) }))
	began := time.Now()
	var r *Report
	var text []byte
	held := diagtest.LiveBytes(weight, func() {
		var err error
		r, err = Check(t.Context(), w.Env(), Request{Host: MustHost(host)})
		assert.NoError(t, err)
		text, err = json.Marshal(r)
		assert.NoError(t, err)
	})
	took := time.Since(began)
	require.LessOrEqual(t, held, int64(weight))
	t.Logf("%d KiB, of them %d of JSON, %d suites, %v", held>>10, len(text)>>10, len(r.CipherSuites), took)
}

// What a check holds at any time stays within its weight, whatever handshakes bring: as many suites, versions
// and certificates as there can be, all at once.
func TestHostilePeak(t *testing.T) {
	if !diagtest.InOwnProcess(t) {
		return
	}
	a := newAuthorities(t)
	cert, _ := a.public.issue(t, leaf(func(c *x509.Certificate) {
		for i := range 900 {
			c.DNSNames = append(c.DNSNames, fmt.Sprintf("%s%d.example.com", strings.Repeat("x", 50), i))
		}
	}))
	server := tlscerttest.Server{Suites: map[probe.Version][]uint16{}, DHBits: 8192, SSL2: true, Compress: true,
		ClientOrder: true,
		Groups:      []probe.Group{23, 24, 25, 26, 27, 28, 29}, Chain: [][]byte{cert.Raw, cert.Raw, cert.Raw,
			cert.Raw}[:128<<10/len(cert.Raw)]}
	for _, s := range probe.Suites() {
		for _, v := range probe.Versions() {
			if s.TLS13() == (v == probe.TLS13) {
				server.Suites[v] = append(server.Suites[v], s.ID)
			}
		}
	}
	w := diagtest.NewWorld(t)
	w.SetTime(start)
	w.Zone(zone)
	w.Serve("192.0.2.10:443", server.Serve)
	var r *Report
	peak := diagtest.LiveBytes(weight, func() {
		var err error
		r, err = Check(t.Context(), w.Env(), Request{Host: MustHost(host)})
		assert.NoError(t, err)
	})
	t.Logf("%d KiB at most, %d suites", peak>>10, len(r.CipherSuites))
	require.LessOrEqual(t, peak, int64(weight))
}

// Servers that send rubbish without end, or drip, are left in time, and the reply says that nothing is known.
func TestHostileServers(t *testing.T) {
	a := newAuthorities(t)
	endless := func(piece string) func(net.Conn) {
		return func(conn net.Conn) {
			go io.Copy(io.Discard, conn)
			for {
				if _, err := io.WriteString(conn, piece); err != nil {
					return
				}
			}
		}
	}
	for name, serve := range map[string]func(net.Conn){
		"zeroes": endless(strings.Repeat("\x00", 1000)), "empty records": endless("\x16\x03\x03\x00\x00"),
		"warnings":       endless("\x15\x03\x03\x00\x02\x01\x70"),
		"a huge message": endless("\x16\x03\x03\x40\x00\x02\xff\xff\xff" + strings.Repeat("\x00", 1<<14-4)),
		"HTTP":           endless("HTTP/1.1 400 Bad Request\r\n\r\n"),
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			r := check(t, a, "", nil, func(s setup) { s.w.Serve("192.0.2.10:443", serve) })
			require.Zero(t, r.Certificate)
			require.NotZero(t, r.Error)
			require.Nil(t, r.Score)
			require.Less(t, time.Since(began), time.Minute)
		})
	}
}

// Eight addresses, each with its own long certificate for each type of key, hold no more than one may.
func TestHostileAddresses(t *testing.T) {
	if !diagtest.InOwnProcess(t) {
		return
	}
	a := newAuthorities(t)
	w := diagtest.NewWorld(t)
	w.SetTime(start)
	openLists(w)
	for i := range maxAddresses {
		addr := fmt.Sprintf("192.0.2.%d", i+10)
		w.Zone("example.com. A " + addr + "\n")
		long := func(c *x509.Certificate) {
			c.NotAfter = c.NotAfter.AddDate(0, 0, -i)
			for n := range 450 {
				c.DNSNames = append(c.DNSNames, fmt.Sprintf("%s%d.example.com", strings.Repeat("x", 50), n))
			}
		}
		cert, key := a.public.issue(t, leaf(long))
		chain := func(c *x509.Certificate) [][]byte {
			return slices.Concat([][]byte{c.Raw, a.public.cert.Raw}, [][]byte{c.Raw})
		}
		config := &tls.Config{Time: w.Now, Certificates: []tls.Certificate{{PrivateKey: key, Certificate: chain(cert)},
			{PrivateKey: rsaKey(), Certificate: chain(a.public.issueFor(t, leaf(long), rsaKey()))}}}
		w.Serve(addr+":443", func(conn net.Conn) {
			defer conn.Close()
			tls.Server(conn, config).Handshake()
			io.Copy(io.Discard, conn)
		})
	}
	w.Env().Roots = x509.NewCertPool()
	w.Env().Roots.AddCert(a.root.cert)
	var r *Report
	peak := diagtest.LiveBytes(weight, func() {
		var err error
		r, err = Check(t.Context(), w.Env(), Request{Host: MustHost(host), Detail: Full})
		assert.NoError(t, err)
	})
	t.Logf("%d KiB at most, %d certificates", peak>>10, len(r.Certificates))
	require.LessOrEqual(t, peak, int64(weight))
}
