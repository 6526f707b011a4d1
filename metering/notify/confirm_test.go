package notify

import (
	"context"
	"errors"
	"net/http/httptest"
	"net/mail"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering"
)

// confirm answers the question to the address of a channel.
func (w *world) confirm(c Channel) Channel {
	w.Helper()
	d, err := w.channels.read(w.Context(), w.account.ID, c.ID)
	require.NoError(w, err)
	c, err = w.channels.Confirm(w.Context(), w.account.ID, c.ID, d.confirmCode())
	require.NoError(w, err)
	return c
}

// mailChannel creates a channel of mail.
func (w *world) mailChannel(target string) Channel {
	w.Helper()
	c, _, err := w.channels.Create(w.Context(), ChannelRequest{
		Account: w.account.ID, Name: `Your "invoice" is overdue`, Kind: Email, Target: target,
	})
	require.NoError(w, err)
	return c
}

// newPost returns a world whose mail goes to a test server.
func newPost(t *testing.T) (*world, *postOffice) {
	p, w := &postOffice{}, newWorld(t)
	w.worker.Mail = p.open(t, true, "user:p%40ss")
	w.worker.Mail.Confirm = "https://diag.example.com/confirm/"
	return w, p
}

// An address receives a question, and nothing else until it is answered by the link in it: by POST, and once.
func TestConfirm(t *testing.T) {
	w, p := newPost(t)
	c := w.mailChannel("ops@example.com")
	require.Equal(t, ChannelUnconfirmed, c.State)
	_, err := w.channels.Test(t.Context(), w.account.ID, c.ID)
	require.ErrorContains(t, err, "unconfirmed")
	w.tell(metering.EventDomainWorsened)
	w.pump()
	require.Len(t, p.messages, 1)
	m, err := mail.ReadMessage(strings.NewReader(p.messages[0]))
	require.NoError(t, err)
	require.NotContains(t, m.Header.Get("Subject"), "invoice")
	text := strings.ReplaceAll(p.messages[0], "=\r\n", "")
	require.Contains(t, text, `under the name "Your 'invoice' is overdue"`)
	link := regexp.MustCompile(`https://diag\.example\.com(/confirm/\S+)`).FindStringSubmatch(text)
	require.NotNil(t, link, text)

	ask := func(method, path string) (int, ChannelState) {
		rec := httptest.NewRecorder()
		Confirm{w.channels}.ServeHTTP(rec, httptest.NewRequest(method, path, nil))
		now, err := w.channels.Channel(t.Context(), w.account.ID, c.ID)
		require.NoError(t, err)
		return rec.Code, now.State
	}
	for _, step := range []struct {
		method, path string
		code         int
		state        ChannelState
	}{
		{"POST", "/confirm/" + c.ID + "/" + strings.Repeat("a", idLength), 404, ChannelUnconfirmed},
		{"POST", "/confirm/" + c.ID + "/", 404, ChannelUnconfirmed},
		{"GET", link[1], 200, ChannelUnconfirmed},
		{"POST", link[1], 200, ChannelActive},
		{"POST", link[1], 404, ChannelActive},
	} {
		code, state := ask(step.method, step.path)
		require.Equal(t, []any{step.code, step.state}, []any{code, state}, step.path)
	}
	w.clock.Advance(time.Minute)
	w.test(c)
	w.pump()
	require.Len(t, p.messages, 2)
	require.Equal(t, ChannelActive, w.mailChannel("OPS@example.com").State, "the address has confirmed")
}

// A confirmation request is valid for seven days, and a newer one replaces an older one.
func TestConfirmationEnds(t *testing.T) {
	w, _ := newPost(t)
	c := w.mailChannel("ops@example.com")
	d, err := w.channels.read(t.Context(), w.account.ID, c.ID)
	require.NoError(t, err)
	first := d.confirmCode()
	w.clock.Advance(confirmTime)
	_, err = w.channels.Confirm(t.Context(), w.account.ID, c.ID, first)
	require.ErrorContains(t, err, "too old")
	c, err = w.channels.Enable(t.Context(), w.account.ID, c.ID)
	require.NoError(t, err)
	require.Equal(t, ChannelUnconfirmed, c.State)
	_, err = w.channels.Confirm(t.Context(), w.account.ID, c.ID, first)
	require.ErrorContains(t, err, "not the one that was sent last")
	require.Equal(t, ChannelActive, w.confirm(c).State)
}

// A server without a public URL sends a code.
func TestConfirmByCode(t *testing.T) {
	w, p := newPost(t)
	w.worker.Mail.Confirm = ""
	c := w.mailChannel("ops@example.com")
	w.pump()
	require.Len(t, p.messages, 1)
	code := regexp.MustCompile(`(?m)^  ([a-z2-7]{26})\r?$`).FindStringSubmatch(p.messages[0])
	require.NotNil(t, code, p.messages[0])
	c, err := w.channels.Confirm(t.Context(), w.account.ID, c.ID, " "+strings.ToUpper(code[1])+" ")
	require.NoError(t, err)
	require.Equal(t, ChannelActive, c.State)
}

// After an opt-out, an address receives nothing from any channel of the account until it confirms again.
func TestOptOut(t *testing.T) {
	w, p := newPost(t)
	one := w.confirm(w.mailChannel("ops@example.com"))
	two := w.mailChannel("ops@example.com")
	require.Equal(t, ChannelActive, two.State)
	d, err := w.channels.read(t.Context(), w.account.ID, one.ID)
	require.NoError(t, err)
	rec := httptest.NewRecorder()
	Unsubscribe{w.channels}.ServeHTTP(rec, httptest.NewRequest("POST", "/unsubscribe/"+one.ID+"/"+d.unsubscribeKey(), nil))
	require.Equal(t, 200, rec.Code)
	list, err := w.channels.List(t.Context(), w.account.ID)
	require.NoError(t, err)
	for _, c := range list {
		require.Equal(t, c.Kind != Email, c.State == ChannelActive, c)
	}
	p.messages = nil
	two, err = w.channels.Enable(t.Context(), w.account.ID, two.ID)
	require.NoError(t, err)
	require.Equal(t, ChannelUnconfirmed, two.State)
	require.Equal(t, ChannelUnconfirmed, w.mailChannel("ops@example.com").State, "nor by a new channel")
	w.tell(metering.EventDomainRecovered)
	w.pump()
	for _, message := range p.messages {
		require.Contains(t, message, "Subject: Confirm notifications")
	}
	require.Equal(t, ChannelActive, w.confirm(two).State)
}

// An account sends five questions and tests an hour, and an address receives as many from all accounts together.
func TestFewMails(t *testing.T) {
	w, _ := newPost(t)
	c := w.confirm(w.mailChannel("ops@example.com")) // the first
	for range mailsToAddress - 1 {
		w.test(c)
	}
	_, err := w.channels.Test(t.Context(), w.account.ID, c.ID)
	require.ErrorContains(t, err, "within an hour")
	_, _, err = w.channels.Create(t.Context(), ChannelRequest{
		Account: w.account.ID, Name: "x", Kind: Email, Target: "stranger@example.com",
	})
	require.ErrorContains(t, err, "within an hour")
	other, err := w.admin.CreateAccount(t.Context(), "other", "free")
	require.NoError(t, err)
	_, _, err = w.channels.Create(t.Context(), ChannelRequest{
		Account: other.ID, Name: "x", Kind: Email, Target: "Ops@example.com",
	})
	require.ErrorContains(t, err, "within an hour")
	w.clock.Advance(mailWindow)
	w.test(c)
}

// Tests at once are counted one by one: none fails because another was first.
func TestMailsAtOnce(t *testing.T) {
	w, _ := newPost(t)
	c := w.confirm(w.mailChannel("ops@example.com")) // the first
	var sent, refused atomic.Int32
	var all sync.WaitGroup
	for range mailsToAddress {
		all.Go(func() {
			_, err := w.channels.Test(t.Context(), w.account.ID, c.ID)
			if _, ok := errors.AsType[*metering.FieldError](err); ok {
				refused.Add(1)
			} else if assert.NoError(t, err) {
				sent.Add(1)
			}
		})
	}
	all.Wait()
	require.Equal(t, [2]int32{int32(mailsToAddress) - 1, 1}, [2]int32{sent.Load(), refused.Load()})
}

// Channels that were active before confirmation existed stay confirmed, also after being disabled and enabled; so do
// those of an address by which a member has signed in. Those that their recipient ended do not.
func TestConfirmedBefore(t *testing.T) {
	w, _ := newPost(t)
	old := func(target string, state ChannelState, reason string) string {
		d := channelDoc{Name: "x", Kind: Email, Target: target, State: state, Reason: reason, CreatedAt: w.clock.Now(),
			record: metering.Record{Account: w.account.ID, Kind: channelKind, ID: newID(channelPrefix), At: w.clock.Now()}}
		require.NoError(t, w.store.PutRecords(t.Context(), d.put()))
		return d.record.ID
	}
	for _, step := range []struct {
		id   string
		want ChannelState
	}{
		{old("active@example.com", ChannelActive, ""), ChannelActive},
		{old("ended@example.com", ChannelDisabled, unsubscribed), ChannelUnconfirmed},
		{old("disabled@example.com", ChannelDisabled, "disabled in the dashboard"), ChannelUnconfirmed},
	} {
		_, err := w.channels.Disable(t.Context(), w.account.ID, step.id, "for a moment")
		if step.want != ChannelActive {
			err = nil // it stays as it was
		}
		require.NoError(t, err)
		c, err := w.channels.Enable(t.Context(), w.account.ID, step.id)
		require.NoError(t, err)
		require.Equal(t, step.want, c.State, c.Target)
	}
	require.NoError(t, metering.Audited(t.Context(), w.store, metering.Act{Account: w.account.ID, At: w.clock.Now(),
		Who: "member@example.com", What: "enter"}, func(_ context.Context) error { return nil }))
	require.Equal(t, ChannelActive, w.mailChannel("member@example.com").State)
	require.Equal(t, ChannelUnconfirmed, w.mailChannel("nobody@example.com").State)
}
