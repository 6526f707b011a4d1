package watch_test

import (
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/httpapi/target"
	"github.com/diagkit/diagkit/httpapi/watch"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/budget"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// report returns the report of the last run.
func (w *world) report() *target.Digest {
	w.Helper()
	d, err := w.watches.Report(w.Context(), w.account.ID, watch.ID(diag.MustDomain("example.com")))
	require.NoError(w, err)
	return d
}

func codesOf(d *target.Digest) []diag.Code {
	return kit.Map(d.Findings, func(f target.DigestFinding) diag.Code { return f.Code })
}

// What a regular run has found is kept with its advice, in one record that goes with the watch.
func TestReport(t *testing.T) {
	w := newWorld(t)
	v := w.create(watch.Settings{Checks: []string{"dmarc/lookup", "mta-sts/lookup"}})
	_, err := w.watches.Report(t.Context(), w.account.ID, v.ID)
	require.ErrorIs(t, err, metering.ErrNotFound)
	w.advance(0)
	d := w.report()
	assert.Equal(t, w.clock.Now(), d.At)
	assert.Equal(t, []diag.Code{"mtasts.record.missing"}, codesOf(d))
	require.NotEmpty(t, d.Steps)
	assert.Equal(t, "https://mta-sts.example.com/.well-known/mta-sts.txt", d.Steps[0].Name)
	assert.True(t, strings.HasPrefix(d.Steps[0].Value, "version: STSv1"))
	assert.Equal(t, []string{"mta-sts/lookup", "dmarc/lookup"}, kit.Map(d.Parts, func(p target.DigestPart) string { return p.Name }))
	assert.Equal(t, target.Mail, d.Parts[0].Group)

	records := func() int {
		list, err := metering.Collect(w.store.Records(t.Context(), metering.RecordFilter{Kind: "watch_report", Account: w.account.ID}))
		require.NoError(t, err)
		return len(list)
	}
	w.advance(2 * day)
	assert.Equal(t, w.clock.Now(), w.report().At)
	assert.Equal(t, 1, records())
	require.NoError(t, w.watches.Remove(t.Context(), w.account.ID, v.ID))
	assert.Equal(t, 0, records())
}

// A fault of one run that the next answers do not confirm is taken out of the report, with its step.
func TestReportOfUnconfirmedFault(t *testing.T) {
	w := started(t, watch.Settings{Checks: []string{"dmarc/lookup"}})
	assert.Empty(t, codesOf(w.report()))
	w.replace("_dmarc.example.com.", dns.TypeTXT, "")
	w.advance(2 * day)
	at := w.clock.Now()
	assert.Equal(t, []diag.Code{"dmarc.record.missing"}, codesOf(w.report()))
	assert.NotEmpty(t, w.report().Steps)
	w.net.Zone(`_dmarc.example.com. TXT "v=DMARC1; p=reject; rua=mailto:dmarc@example.com"`)
	w.advance(differences)
	d := w.report()
	assert.Equal(t, at, d.At)
	assert.Empty(t, codesOf(d))
	assert.Empty(t, d.Steps)
	assert.Empty(t, d.Headline)
	assert.Zero(t, d.Counts)
}

// The reports of all watches of an account are what the budget says: a record of the store for each.
func TestReportBudget(t *testing.T) {
	most := budget.Of(budget.Watches).Account * metering.MaxRecordBytes
	assert.Equal(t, most, budget.Of(budget.Digests).Account)
	assert.LessOrEqual(t, 2*target.MaxDigest, metering.MaxRecordBytes)
}

// A watch knows what it does not check.
func TestUnwatched(t *testing.T) {
	w := watch.Watch{Domain: "example.com", Settings: watch.Settings{Checks: []string{"mail", "dns"}}}
	assert.Equal(t, []string{"tls", "hsts", "headers", "redirects"}, w.Unwatched())
	w.Checks = []string{"mail", "dns", "web"}
	assert.Empty(t, w.Unwatched())
	w.Checks = []string{"spf/lookup", "mail/domain-check", "rdap/lookup", "domain/dns-check", "http/hsts-check"}
	assert.Equal(t, []string{"reputation", "tls", "headers", "redirects"}, w.Unwatched())
}
