package httpapi

import (
	"bufio"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"
)

const describedWorld = `{
	"zone": "example.com. 300 IN SOA ns1.example.com. h.example.com. 1 7200 900 1209600 300\nexample.com. 300 IN NS ns1.example.com.\nns1.example.com. 300 IN A 192.0.2.53\nexample.com. 300 IN A 192.0.2.80\nmx1.example.com. 300 IN A 192.0.2.25\nmx2.example.com. 300 IN A 192.0.2.26\nmx3.example.com. 300 IN A 192.0.2.27\n_25._tcp.mx1.example.com. 300 IN TLSA 3 1 1 {{sha256-spki:mx1.example.com}}\n_26._tcp.mx1.example.com. 300 IN TLSA 3 0 1 {{sha256-cert:mx1.example.com}}\n_27._tcp.mx1.example.com. 300 IN TLSA 2 0 1 {{sha256-issuer:mx1.example.com}}\nexample.org. 300 IN A 192.0.2.81\n",
	"signed": ["example.com."], "servfail": ["*.broken.example.", "txt.example.com."], "silent": ["silent.example."],
	"https": {"example.com": {"not_after": "2026-11-05T00:00:00Z", "routes": {
		"/": {"status": 200, "headers": {"Set-Cookie": ["a=1", "b=2"]}, "body": "hello", "delay_ms": 2000},
		"/bytes": {"status": 200, "body_base64": "AAE="}}}},
	"http": {"example.com": {"routes": {"/": {"status": 301, "headers": {"Location": "https://example.com/"}}}}},
	"smtp": {"mx1.example.com": {"banner": "220 hello", "extensions": ["SIZE 1", "STARTTLS"], "auth_before_tls": ["PLAIN"], "rcpt": "550 no"},
		"mx2.example.com": {"refused": true}, "mx3.example.com": {"silent": true}}}`

// The world of a scenario matches its file.
func TestScenarioWorld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var described scenarioWorld
		require.NoError(t, json.Unmarshal([]byte(describedWorld), &described))
		w := described.build(t)
		require.Equal(t, scenarioStart, w.Now())
		checkScenarioDNS(t, w)
		checkScenarioSites(t, w)
		checkScenarioMail(t, w)
	})
}

func checkScenarioDNS(t *testing.T, w *diagtest.World) {
	ask := func(name string, qtype uint16) *dns.Msg {
		q := new(dns.Msg).SetQuestion(name, qtype)
		q.SetEdns0(1232, true)
		m, err := w.Exchange(t.Context(), q)
		require.NoError(t, err)
		return m
	}
	require.True(t, ask("example.com.", dns.TypeA).AuthenticatedData)
	require.False(t, ask("example.org.", dns.TypeA).AuthenticatedData)
	require.Equal(t, dns.RcodeServerFailure, ask("x.broken.example.", dns.TypeTXT).Rcode)
	require.Equal(t, dns.RcodeNameError, ask("other.example.com.", dns.TypeTXT).Rcode)
	c, err := w.Dial(t.Context(), "tcp", "192.0.2.53:53")
	require.NoError(t, err)
	server := &dns.Conn{Conn: c}
	defer server.Close()
	require.NoError(t, server.WriteMsg(new(dns.Msg).SetQuestion("txt.example.com.", dns.TypeTXT)))
	m, err := server.ReadMsg()
	require.NoError(t, err)
	require.Equal(t, dns.RcodeServerFailure, m.Rcode, "name servers are in the same trouble")
	_, err = w.Exchange(t.Context(), new(dns.Msg).SetQuestion("silent.example.", dns.TypeA))
	require.Error(t, err)
}

func checkScenarioSites(t *testing.T, w *diagtest.World) {
	client := &http.Client{
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: w.Roots(), Time: w.Now},
			DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return w.Dial(ctx, network, "192.0.2.80:443")
			}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	defer client.CloseIdleConnections()
	began := w.Now()
	r, err := client.Get("https://example.com/")
	require.NoError(t, err)
	body, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	r.Body.Close()
	require.Equal(t, "hello", string(body))
	require.Equal(t, []string{"a=1", "b=2"}, r.Header["Set-Cookie"])
	require.Empty(t, r.Header["Content-Type"], "none that the file does not name")
	require.Equal(t, 2*time.Second, w.Now().Sub(began))
	require.Equal(t, time.Date(2026, 11, 5, 0, 0, 0, 0, time.UTC), r.TLS.PeerCertificates[0].NotAfter)
	r, err = client.Get("https://example.com/bytes")
	require.NoError(t, err)
	body, err = io.ReadAll(r.Body)
	require.NoError(t, err)
	r.Body.Close()
	require.Equal(t, []byte{0, 1}, body)
	r, err = client.Get("https://example.com/nothing")
	require.NoError(t, err)
	r.Body.Close()
	require.Equal(t, 404, r.StatusCode)
}

func checkScenarioMail(t *testing.T, w *diagtest.World) {
	dial := func(host string) (net.Conn, error) { return w.Env().DialHost(t.Context(), host, 25, diag.SMTPPorts) }
	_, err := dial("mx2.example.com")
	require.ErrorContains(t, err, "refused")
	silent, err := dial("mx3.example.com")
	require.NoError(t, err)
	require.NoError(t, silent.SetReadDeadline(time.Now().Add(time.Minute)))
	_, err = silent.Read(make([]byte, 1))
	require.ErrorContains(t, err, "timeout")
	silent.Close()

	c, err := dial("mx1.example.com")
	require.NoError(t, err)
	defer c.Close()
	in := bufio.NewReader(c)
	say := func(line string) (reply string) {
		if line != "" {
			_, err := io.WriteString(c, line+"\r\n")
			require.NoError(t, err)
		}
		for more := true; more; {
			text, err := in.ReadString('\n')
			require.NoError(t, err)
			reply, more = reply+strings.TrimSpace(text)+"|", len(text) > 3 && text[3] == '-'
		}
		return reply
	}
	require.Equal(t, "220 hello|", say(""))
	require.Equal(t, "250-mx1.example.com|250-SIZE 1|250-AUTH PLAIN|250 STARTTLS|", say("EHLO x"))
	require.Equal(t, "250 ok|", say("MAIL FROM:<a@example.net>"))
	require.Equal(t, "550 no|", say("RCPT TO:<b@example.com>"))
	say("STARTTLS")
	secure := tls.Client(c, &tls.Config{ServerName: "mx1.example.com", RootCAs: w.Roots(), Time: w.Now})
	require.NoError(t, secure.Handshake())
	chain := secure.ConnectionState().PeerCertificates
	for name, hashed := range map[string][]byte{
		"_25._tcp.mx1.example.com.": chain[0].RawSubjectPublicKeyInfo, "_26._tcp.mx1.example.com.": chain[0].Raw, "_27._tcp.mx1.example.com.": chain[1].Raw,
	} {
		m, err := w.Exchange(t.Context(), new(dns.Msg).SetQuestion(name, dns.TypeTLSA))
		require.NoError(t, err)
		sum := sha256.Sum256(hashed)
		require.Equal(t, hex.EncodeToString(sum[:]), m.Answer[0].(*dns.TLSA).Certificate)
	}
}
