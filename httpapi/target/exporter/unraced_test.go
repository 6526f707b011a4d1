//go:build !race || nightly

package exporter_test

// The race detector makes these many times slower, and their only concurrency is covered by other tests.

import (
	"context"
	"maps"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/examples/demo/internet"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/target/exporter"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A silent domain keeps its values, and silence adds no fault; expiries are reported.
func TestSilenceChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := time.Date(2026, time.November, 1, 12, 0, 0, 0, time.UTC)
		time.Sleep(time.Until(at))
		world, err := internet.New(at)
		require.NoError(t, err)
		defer world.Close()
		var quiet atomic.Bool
		local := func(ctx context.Context, ep httpapi.Endpoint, body []byte) (*httpapi.Result, error) {
			if quiet.Load() {
				return nil, errSilent
			}
			return ep.Run(ctx, world.Env().Cached(), body)
		}
		list := "good.example\nhopeless.example\nsilent.example"
		b := start(t, list, local, exporter.Config{Interval: time.Hour, Clock: world.Now})
		time.Sleep(3 * time.Minute)
		values := []string{"diag_check_s", "diag_find", "diag_expiry_timestamp", "diag_expiry_start",
			"diag_check_learned"}
		shown := func(target string, more ...string) scraped {
			all := scraped{}
			for _, v := range append(more, values[:4]...) {
				maps.Copy(all, b.scrape(t, "/probe?target="+target).with(v))
			}
			return all
		}
		good, hopeless := shown("good.example"), shown("hopeless.example")
		first := b.scrape(t, "/metrics").with(values[4])
		for _, sample := range []string{
			`diag_check_state{target="good.example",check="mail",state="valid"}`,
			`diag_finding{target="hopeless.example",check="spf",code="spf.all.pass",severity="critical"}`,
			`diag_findings{target="hopeless.example",check="spf",severity="critical"}`,
			`diag_check_state{target="hopeless.example",check="dkim/default",state="invalid"}`,
		} {
			require.Equal(t, 1.0, b.scrape(t, "/metrics")[sample], sample)
		}
		for of, want := range map[string]int{
			`kind="registration",subject="good.example"`: 399, `kind="certificate",subject="good.example:443"`: 60,
			`kind="certificate",subject="mx1.good.example:25"`: 60, `kind="mark_certificate",subject="good.example"`: 333,
			`kind="signature",subject="good.example"`: 29,
		} {
			until := b.scrape(t, "/metrics")[`diag_expiry_timestamp_seconds{target="good.example",`+of+`}`]
			assert.InDelta(t, want, time.Until(time.Unix(int64(until), 0)).Hours()/24, 10, of)
		}
		require.Equal(t, 0.0, b.scrape(t, "/metrics")[`diag_check_known{target="silent.example",check="mail"}`])
		require.Empty(t, shown("silent.example").with(`check="mail"`), "what was never learned is absent")
		require.Empty(t, shown("silent.example").with(`check="spf"`), "silence is no fault")

		// One name after another is silent: no finding appears or disappears, no date is lost.
		for _, name := range []string{"", "_dmarc.", "_mta-sts.", "_smtp._tls.", "mx.", "mx1.", "www.", "default._domainkey."} {
			world.Silence(name + "good.example")
			world.Silence(name + "hopeless.example")
			time.Sleep(2 * time.Hour)
			found := shown("hopeless.example").with("diag_finding{")
			delete(found, `diag_finding{target="hopeless.example",check="dnssec",`+
				`code="dnssec.resolver.differs",severity="warning"}`)
			require.Equal(t, hopeless.with("diag_finding{"), found, name) // a resolver reveals less than servers
			require.Equal(t, good.with("diag_expiry_timestamp"), shown("good.example").with("diag_expiry_timestamp"), name)
			require.NotEmpty(t, b.scrape(t, "/metrics").with("diag_check_known"), name)
			for _, name := range []string{name + "good.example", name + "hopeless.example"} {
				world.Fault(name, 0, diagtest.Fault{})
			}
		}
		time.Sleep(2 * time.Hour)
		require.Equal(t, good, shown("good.example"))

		quiet.Store(true)
		before := b.scrape(t, "/metrics").with(values[4])
		time.Sleep(5 * time.Hour)
		page := b.scrape(t, "/metrics")
		require.Equal(t, good, shown("good.example"))
		require.Equal(t, hopeless, shown("hopeless.example"))
		require.Equal(t, before, page.with(values[4]), "its age is told")
		require.NotEqual(t, first, before)
		for k, v := range page.with("diag_check_known") {
			require.Zero(t, v, k)
		}
		require.Equal(t, 0.0, page[`diag_run_success{target="good.example"}`])
		quiet.Store(false)
		time.Sleep(2 * time.Hour)
		require.Equal(t, good, shown("good.example"))
		require.Equal(t, 1.0, b.scrape(t, "/metrics")[`diag_check_known{target="good.example",check="mail"}`])
	})
}
