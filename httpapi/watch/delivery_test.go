package watch_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/httpapi/watch"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/notify"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A change in the DNS is at the receiver within a minute of the run that could see it: one request, signed, with the old
// and the new value. Channels that are not named, or take other events, hear nothing.
func TestSignedEvent(t *testing.T) {
	type hook struct {
		path   string
		header http.Header
		body   []byte
	}
	var got []hook
	receiver := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, hook{r.URL.Path, r.Header, body})
	}))
	defer receiver.Close()
	w := newWorld(t)
	channels := notify.Channels{Store: w.store, Clock: w.clock.Now}
	create := func(name string, categories ...metering.EventCategory) (notify.Channel, notify.Secret) {
		target := "https://hooks.example/" + name
		c, secret, err := channels.Create(t.Context(), notify.ChannelRequest{Account: w.account.ID, Name: name, Kind: notify.Webhook,
			Target: target, Categories: categories})
		require.NoError(t, err)
		return c, secret
	}
	named, secret := create("named", metering.SPFEvents)
	create("all")
	create("keys", metering.KeyEvents)
	worker := &notify.Worker{Store: w.store, Clock: w.clock.Now, Client: &http.Client{Transport: redirected{receiver}}}
	w.watches.Wake = worker.Wake
	one := w.create(watch.Settings{Checks: []string{"spf/lookup"}, Channels: []string{named.ID}})
	w.advance(0)

	changed := w.clock.Now()
	w.replace("example.com.", dns.TypeTXT, spfB)
	w.advance(20 * time.Second)
	_, err := w.watches.RunNow(t.Context(), w.account.ID, one.ID)
	require.NoError(t, err)
	w.advance(20 * time.Second)
	require.NoError(t, worker.Flush(t.Context()))
	require.LessOrEqual(t, w.clock.Now().Sub(changed), time.Minute)
	require.Len(t, got, 1)
	assert.Equal(t, "/named", got[0].path)
	require.NoError(t, notify.Verify(got[0].header, got[0].body, w.clock.Now(), secret))
	var body notify.Body
	require.NoError(t, json.Unmarshal(got[0].body, &body))
	assert.Equal(t, metering.EventDomainRecordChanged, body.EventType)
	assert.Equal(t, metering.DomainEvents, body.Category)
	var data map[string]any
	require.NoError(t, json.Unmarshal(body.Data, &data))
	assert.Equal(t, []any{"v=spf1 ip4:192.0.2.25 -all"}, data["old"])
	assert.Equal(t, []any{"v=spf1 ip4:192.0.2.26 -all"}, data["new"])
	assert.Equal(t, "example.com", data["name"])
	assert.Equal(t, "TXT", data["type"])
	assert.Equal(t, "https://diag.example/dashboard/domains/example.com", data["url"])
	assert.Equal(t, "the DNS of example.com", data["mend"])

	_, err = w.watches.Set(t.Context(), w.account.ID, one.ID, func(s *watch.Settings) { s.Channels = nil })
	require.NoError(t, err)
	w.replace("example.com.", dns.TypeTXT, spfC)
	w.advance(2 * day)
	require.NoError(t, worker.Flush(t.Context()))
	require.Len(t, got, 2)
	assert.Equal(t, "/all", got[1].path)
}

// redirected sends every request to one server.
type redirected struct{ to *httptest.Server }

func (r redirected) RoundTrip(q *http.Request) (*http.Response, error) {
	q = q.Clone(q.Context())
	q.URL.Host = strings.TrimPrefix(r.to.URL, "https://")
	return r.to.Client().Transport.RoundTrip(q)
}
