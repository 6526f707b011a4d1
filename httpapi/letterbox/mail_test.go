package letterbox

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/memory"
	"github.com/diagkit/diagkit/metering/notify"
	"github.com/stretchr/testify/require"
)

// analyzedAs has messages analyzed unchanged, without the page of a letter.
func (p *post) analyzedAs(t *testing.T, send func(*notify.MailServer, string)) {
	t.Helper()
	p.t = t
	_, to := p.address()
	s, err := notify.ParseMailServer("submission://mail.example.org", "diagd@example.org")
	require.NoError(t, err)
	s.DKIM, s.TLS, s.Clock = &notify.MailSigner{Domain: "example.org", Selector: "s1", Key: signingKey}, &tls.Config{InsecureSkipVerify: true}, p.Clock
	s.Unsubscribe = "https://diag.example.com/unsubscribe/"
	s.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", p.addr)
	}
	send(s, to)
	p.pending.Wait()
	l := p.letters[localOf(to)]
	require.Equal(t, analyzed, l.State)
	text := pageText("<main" + l.Report)
	require.Contains(t, text, "authentic likely")
	require.Contains(t, text, "dkim pass for example.org")
	require.Contains(t, text, "dmarc pass, p=reject")
	require.NotContains(t, text, "Findings", "what the server sends has no finding of severity warning or above")
	require.NotContains(t, text, "Could be better", "%s", text)
}

// The mail that the server sends passes the checks that it makes of the mail of others: sign-in links, and events.
func TestOwnMail(t *testing.T) {
	p := newPost(t)
	t.Run("text", func(t *testing.T) {
		p.analyzedAs(t, func(s *notify.MailServer, to string) {
			long := strings.Repeat("long ", 1000) + "zażółć gęślą jaźń\n.\nFrom here\n"
			require.NoError(t, s.Send(t.Context(), to, "Zażółć: =?utf-8?q?x?=\r\nBcc: x@example.com "+strings.Repeat("y", 300), long))
		})
	})
	t.Run("event", func(t *testing.T) {
		p.analyzedAs(t, func(s *notify.MailServer, to string) {
			store := memory.New(memory.Config{Clock: p.Clock})
			defer store.Close()
			account, err := metering.Admin{Store: store, Clock: p.Clock}.CreateAccount(t.Context(), "Example", "free")
			require.NoError(t, err)
			channels := notify.Channels{Store: store, Clock: p.Clock}
			_, _, err = channels.Create(t.Context(), notify.ChannelRequest{Account: account.ID, Name: "ops", Kind: "email", Target: to})
			require.NoError(t, err)
			questions, err := channels.Deliveries(t.Context(), account.ID, "", 0) // to the address, which has not confirmed
			require.NoError(t, err)
			require.Len(t, questions, 1)
			worker := &notify.Worker{Store: store, Client: http.DefaultClient, Mail: s, Clock: p.Clock}
			require.NoError(t, worker.Flush(t.Context()))
			d, err := channels.Delivery(t.Context(), account.ID, questions[0].ID)
			require.NoError(t, err)
			require.Equal(t, notify.Delivered, d.State)
		})
	})
}
