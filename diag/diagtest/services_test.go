package diagtest_test

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/emersion/go-smtp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func dialSMTP(t *testing.T, world *diagtest.World, port uint16) net.Conn {
	t.Helper()
	c, err := world.Env().DialHost(t.Context(), "mx.example.com", port, diag.SMTPPorts)
	require.NoError(t, err)
	return c
}

func clientTLS(world *diagtest.World) *tls.Config {
	return &tls.Config{ServerName: "mx.example.com", RootCAs: world.Roots(), Time: world.Now}
}

func TestSMTPTakesMail(t *testing.T) {
	world := diagtest.NewWorld(t)
	server := world.SMTP(diagtest.SMTP{Host: "mx.example.com", Extensions: []string{"SIZE 1000", "8BITMIME"}})
	c, err := smtp.NewClientStartTLS(dialSMTP(t, world, 25), clientTLS(world))
	require.NoError(t, err)
	defer c.Close()
	size, ok := c.MaxMessageSize()
	assert.True(t, ok)
	assert.Equal(t, 1000, size)
	again, _ := c.Extension("STARTTLS")
	assert.False(t, again)
	require.NoError(t, c.SendMail("a@example.net", []string{"b@example.com", "c@example.com"},
		strings.NewReader("Subject: hello\r\n\r\n.dot\r\n")))
	require.NoError(t, c.Quit())
	assert.Equal(t, []diagtest.Mail{{
		From: "a@example.net", To: []string{"b@example.com", "c@example.com"},
		Data: "Subject: hello\r\n\r\n.dot\r\n", TLS: true,
	}}, server.Mails())
	assert.Contains(t, server.Commands(), "STARTTLS")
}

func TestSMTPTellsMoreOverTLS(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.SMTP(diagtest.SMTP{Host: "mx.example.com", Extensions: []string{"8BITMIME"}, Encrypted: []string{"AUTH PLAIN"}})
	before := smtp.NewClient(dialSMTP(t, world, 25))
	defer before.Close()
	after, err := smtp.NewClientStartTLS(dialSMTP(t, world, 25), clientTLS(world))
	require.NoError(t, err)
	defer after.Close()
	for _, c := range []struct {
		client      *smtp.Client
		eight, auth bool
	}{{before, true, false}, {after, false, true}} {
		eight, _ := c.client.Extension("8BITMIME")
		auth, _ := c.client.Extension("AUTH")
		assert.Equal(t, c.eight, eight)
		assert.Equal(t, c.auth, auth)
	}
}

func TestSMTPOverTLSFromTheStart(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.SMTP(diagtest.SMTP{Host: "mx.example.com", Implicit: true})
	c := smtp.NewClient(tls.Client(dialSMTP(t, world, 465), clientTLS(world)))
	defer c.Close()
	require.NoError(t, c.Hello("client.example"))
	offered, _ := c.Extension("STARTTLS")
	assert.False(t, offered)
}

func TestSMTPCertificate(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.SMTP(diagtest.SMTP{Host: "mx.example.com", Cert: diagtest.CertExpired})
	c, err := smtp.NewClientStartTLS(dialSMTP(t, world, 25), clientTLS(world))
	if err == nil { // the handshake comes with the next command
		err = c.Hello("client.example")
		c.Close()
	}
	assert.ErrorContains(t, err, "expired")
}

func TestSMTPScript(t *testing.T) {
	replies := map[string]string{
		"CONNECT":        "220-two\n220 lines",
		"STARTTLS":       "454 no key",
		"rcpt":           "250 fine",
		"RCPT TO:<root@": "550 no such user",
		"VRFY":           diagtest.HangUp,
		"DATA.":          "451 try later",
	}
	world := diagtest.NewWorld(t)
	server := world.SMTP(diagtest.SMTP{Host: "mx.example.com", Replies: replies})
	c := dialSMTP(t, world, 25)
	defer c.Close()
	io.WriteString(c, "EHLO x\r\nSTARTTLS\r\nMAIL FROM:<>\r\nRCPT TO:<Root@example.com>\r\n"+
		"RCPT TO:<a@example.com>\r\nDATA\r\nhello\r\n.\r\nEXPN\r\nVRFY a\r\nNOOP\r\n")
	b, err := io.ReadAll(c)
	require.NoError(t, err)
	assert.Equal(t, "220-two\r\n220 lines\r\n250-mx.example.com\r\n250 STARTTLS\r\n454 no key\r\n250 ok\r\n"+
		"550 no such user\r\n250 fine\r\n354 go ahead\r\n451 try later\r\n500 unknown command\r\n", string(b))
	assert.Empty(t, server.Mails())
}

func TestSlowAndSilentSMTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := diagtest.NewWorld(t)
		world.SMTP(diagtest.SMTP{
			Host:    "mx.example.com",
			Delays:  map[string]time.Duration{"CONNECT": 40 * time.Second},
			Replies: map[string]string{"EHLO": diagtest.NoReply},
		})
		c := dialSMTP(t, world, 25)
		defer c.Close()
		begin := time.Now()
		buffer := make([]byte, 100)
		n, err := c.Read(buffer)
		require.NoError(t, err)
		assert.Equal(t, "220 mx.example.com ESMTP\r\n", string(buffer[:n]))
		assert.Equal(t, 40*time.Second, time.Since(begin))
		io.WriteString(c, "EHLO x\r\n")
		c.SetDeadline(time.Now().Add(time.Minute))
		_, err = c.Read(buffer)
		assert.ErrorContains(t, err, "timeout")
	})
}

func whois(ctx context.Context, world *diagtest.World, query string) (string, error) {
	c, err := world.Env().DialHost(ctx, "whois.example.com", 43, diag.WhoisPorts)
	if err != nil {
		return "", err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Second))
	io.WriteString(c, query+"\r\n")
	b, err := io.ReadAll(c)
	return string(b), err
}

func TestWhois(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := diagtest.NewWorld(t)
		server := world.Whois("whois.example.com", map[string]string{
			"example.com":        "Domain: example.com\nStatus: ok\n",
			"domain example.net": "exact\n",
			"hang.example":       diagtest.NoReply,
			"hangup.example":     diagtest.HangUp,
		})
		tests := []struct{ query, want string }{
			{"EXAMPLE.com", "Domain: example.com\r\nStatus: ok\r\n"},
			{"-T dn example.com", "Domain: example.com\r\nStatus: ok\r\n"},
			{"domain example.net", "exact\r\n"},
			{"example.org", "No match.\r\n"},
			{"hangup.example", ""},
		}
		for _, tt := range tests {
			text, err := whois(t.Context(), world, tt.query)
			require.NoError(t, err)
			assert.Equal(t, tt.want, text, tt.query)
		}
		_, err := whois(t.Context(), world, "hang.example")
		assert.ErrorContains(t, err, "timeout")
		assert.Len(t, server.Queries(), 6)
	})
}

func TestRDAP(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.RDAP("rdap.example.com", map[string]string{
		"/domain/example.com": `{"ldhName": "example.com"}`,
		"/domain/example.net": "https://rdap.example.com/domain/EXAMPLE.com",
		"/domain/busy.com":    `{"errorCode": 429, "title": "Too Many Requests"}`,
	})
	tests := []struct {
		path string
		code int
		want string
	}{
		{"/domain/example.com", 200, `{"ldhName": "example.com"}`},
		{"/domain/example.net", 200, `{"ldhName": "example.com"}`},
		{"/domain/busy.com", 429, `{"errorCode": 429, "title": "Too Many Requests"}`},
		{"/domain/example.org", 404, `{"errorCode": 404, "title": "Not Found"}`},
	}
	for _, tt := range tests {
		code, body, err := get(t.Context(), t, world.Env(), "https://rdap.example.com"+tt.path)
		require.NoError(t, err)
		assert.Equal(t, tt.code, code, tt.path)
		assert.Equal(t, tt.want, body, tt.path)
	}
}
