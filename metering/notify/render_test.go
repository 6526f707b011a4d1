package notify

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"net/mail"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/metering"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var occurred = time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)

// samples are the data of each type as emitted.
func samples(t *testing.T) map[metering.EventType]any {
	const account = "acc_4v2q6jz3w7x5y2n6m4k3h2g7fa"
	key := facts{
		Account: account, KeyID: "key_4v2q6jz3w7x5y2n6m4k3h2g7fa", KeyName: "ci <prod> & *co*", KeyPrefix: "svc_live_abcdefgh",
		Environment: metering.Live,
	}
	rotated, revoked, limited, soon := key, key, key, key
	rotated.NewKeyID, rotated.NewPrefix = "key_zzzq6jz3w7x5y2n6m4k3h2g7fa", "svc_live_zyxwvuts"
	ended := rotated
	rotated.GraceUntil = new(occurred.Add(24 * time.Hour))
	revoked.Revoked = metering.RevokedLeak
	limited.Plan, limited.PerMinute = "pack", 60
	withdrawn := key
	withdrawn.Endpoint, withdrawn.Deprecated = "POST /certificates/csr/parse", "mail:read"
	soon.ExpiresAt = new(occurred.Add(7 * 24 * time.Hour))
	usage := usageFacts{
		Account: account, Period: metering.Period{Year: 2026, Month: 1}, Plan: "pack", Used: 40_000, Limit: 50_000,
		Currency: "EUR", Percent: 80,
	}
	refused, over := usage, usage
	refused.Percent, refused.Used, refused.Requested = 0, 49_999, 2
	over.Percent, over.Used, over.Overage, over.Cost, over.Budget = 0, 58_001, 8_001, 800, new(int64(1000))
	budget, spent := over, over
	budget.Percent = 80
	spent.Used, spent.Overage, spent.Cost = 60_000, 10_000, 1000
	spf := facts{
		Account: account, ProfileID: "spf_mn4zq2vtw6k7y3cx5hbd2jfgla", Domain: "example.com",
		IncludeHost: "k3v2.spf.example.net",
	}
	changed, failed := changeFacts{spf, 2, 0}, spf
	changed.Resolution = "res_1"
	failed.Resolution, failed.Error = "res_2", "the name servers of example.net did not answer"
	channel := facts{Account: account, ChannelID: "chn_4v2q6jz3w7x5y2n6m4k3h2g7fa", ChannelName: "ops", Kind: Webhook}
	gone := channel
	gone.Reason = "the receiver answered 410 Gone"
	domain := facts{Account: account, Domain: "example.com", domainFacts: domainFacts{
		WatchID: "wat_upsziryuw2zobj3pcnefb7xvta", URL: "https://diag.example/dashboard/domains/example.com",
		FixedBy: "the DNS of example.com (ns1.example.net)",
	}}
	worse, better, record, ending, lost := domain, domain, domain, domain, domain
	worse.Findings = []domainFault{{"spf.all.pass", "error", "Everybody may send"}, {"dmarc.policy.none", "warning", "p=none"}}
	better.Findings, better.Flips = worse.Findings[:1], 4
	record.Record, record.Type, record.Label, record.FirstSeen = "example.com", "TXT", "SPF", new(occurred)
	record.Old, record.New = []string{"v=spf1 mx -all"}, []string{"v=spf1 <mx> *all*"}
	ending.Expiring, ending.DaysLeft, ending.ExpiresAt = "registration", 14, new(occurred.Add(14*24*time.Hour))
	lost.Reason = "nxdomain"
	all := map[metering.EventType]any{
		metering.EventDomainWorsened: worse, metering.EventDomainRecovered: better,
		metering.EventDomainRecordChanged: record, metering.EventDomainExpiresSoon: ending,
		metering.EventDomainUnreachable: lost,
		metering.EventKeyCreated:        key, metering.EventKeyRotated: rotated, metering.EventKeyGraceEnded: ended,
		metering.EventKeyRevoked: revoked, metering.EventKeyExpiresSoon: soon, metering.EventKeyExpired: soon,
		metering.EventKeyDeprecated:  withdrawn,
		metering.EventUsageThreshold: usage, metering.EventQuotaExceeded: refused, metering.EventOverageStarted: over,
		metering.EventBudgetThreshold: budget, metering.EventBudgetReached: spent, metering.EventRateLimited: limited,
		metering.EventSPFCreated: spf, metering.EventSPFChanged: changed, metering.EventSPFFailed: failed,
		metering.EventSPFRecovered: spf, metering.EventSPFRemoved: spf,
		metering.EventChannelTest: channel, metering.EventChannelConfirm: channel, metering.EventChannelDisabled: gone,
	}
	for t, data := range billingSamples(newWorld(t)) {
		all[t] = data
	}
	return all
}

// sample is an attempt at a delivery of an event to a kind of channel.
func sample(t *testing.T, event metering.EventType, k Kind, data any) *message {
	t.Helper()
	record, err := metering.Event{
		ID: metering.EventID(event, "sample"), Type: event, Account: "acc_4v2q6jz3w7x5y2n6m4k3h2g7fa",
		At: occurred, Data: data,
	}.Record()
	require.NoError(t, err)
	e, err := metering.ParseEvent(record)
	require.NoError(t, err)
	targets := map[Kind]string{Telegram: "-1001234", Email: "ops@example.com"}
	return &message{
		channel: &channelDoc{Kind: k, Target: targets[k]}, event: e, at: occurred,
		delivery: &Delivery{ID: "dlv_4v2q6jz3w7x5y2n6m4k3h2g7fa", CreatedAt: occurred, Attempts: []Attempt{{At: occurred}}},
	}
}

// Each type has its own text in each kind of channel. The files are read in review like code.
func TestRendering(t *testing.T) {
	samples := samples(t)
	for _, event := range metering.EventTypes() {
		t.Run(string(event), func(t *testing.T) {
			data, ok := samples[event]
			require.True(t, ok)
			var b strings.Builder
			for _, k := range Kinds() {
				m := sample(t, event, k, data)
				text, err := map[Kind]func() ([]byte, error){
					Webhook: m.body, Slack: m.slack, Teams: m.teams, Telegram: m.telegram,
					Email: func() ([]byte, error) { return m.mailed() },
				}[k]()
				require.NoError(t, err)
				if k != Email {
					var pretty bytes.Buffer
					require.NoError(t, json.Indent(&pretty, text, "", "  "))
					text = pretty.Bytes()
				}
				fmt.Fprintf(&b, "=== %s ===\n%s\n", k, strings.ReplaceAll(strings.TrimSpace(string(text)), "\r\n", "\n"))
			}
			diagtest.Golden(t, filepath.Join("testdata", string(event)+".txt"), []byte(b.String()))
		})
	}
}

// Texts stay within the limits of the services, and have complete sentences, whatever customers and servers wrote.
func TestRenderingOfAnything(t *testing.T) {
	long := strings.Repeat("<&*_[x](https://evil.example)`~=?utf-8?q?a?=\r\nBcc: x@example.com ", 40)
	hostile := facts{
		KeyID: "key_x", KeyName: long, ProfileName: long, Domain: "example.com", Error: long, ChannelName: long, Reason: long,
		domainFacts: domainFacts{WatchID: long, URL: long, FixedBy: long, Record: long, Type: long, Label: long, Old: []string{long},
			New: []string{long}, FirstSeen: new(occurred), Flips: 1 << 40, Findings: []domainFault{{long, long, long}}, Expiring: long},
		Revoked: metering.RevokedManual, Used: 1 << 60, Limit: 1 << 60, Budget: 1 << 60, Cost: 1 << 60,
	}
	for _, event := range metering.EventTypes() {
		for _, data := range []any{hostile, facts{}, nil, map[string]any{}} {
			m := sample(t, event, Email, data)
			s, err := describe(m.event)
			require.NoError(t, err)
			assert.LessOrEqual(t, utf8.RuneCountInString(s.Title), maxSlackHeader)
			assert.LessOrEqual(t, len(s.Facts), maxSlackFields)
			assert.Regexp(t, `(?s)^[A-Z0-9].*\.$`, s.Text)
			assert.NotRegexp(t, `\.$`, s.Title)
			if s.Action != "" {
				assert.Regexp(t, `(?s)^[A-Z].*\.$`, s.Action)
			}
			for _, write := range []func() ([]byte, error){m.slack, m.teams, m.telegram, m.body} {
				text, err := write()
				require.NoError(t, err)
				assert.True(t, json.Valid(text))
			}
			assertMail(t, m, s)
			assertTelegram(t, m)
			text, err := m.slack()
			require.NoError(t, err)
			var slack struct{ Blocks []slackBlock }
			require.NoError(t, json.Unmarshal(text, &slack))
			for _, b := range slack.Blocks {
				if b.Text != nil && b.Text.Type == "mrkdwn" {
					assert.NotContains(t, b.Text.Text, "<")
					assert.LessOrEqual(t, utf8.RuneCountInString(b.Text.Text), 3000)
				}
				for _, f := range b.Fields {
					assert.LessOrEqual(t, utf8.RuneCountInString(f.Text), 2000)
				}
			}
		}
	}
}

// assertMail holds a message to RFC 5322: no line is too long, no field is injected, and it says what it should.
func assertMail(t *testing.T, m *message, s summary) {
	t.Helper()
	text, err := m.mailed()
	require.NoError(t, err)
	for line := range strings.SplitSeq(string(text), "\r\n") {
		assert.LessOrEqual(t, len(line), 78+20)
		assert.NotContains(t, line, "\n")
	}
	parsed, err := mail.ReadMessage(bytes.NewReader(text))
	require.NoError(t, err)
	assert.Len(t, parsed.Header, 11)
	assert.NotContains(t, parsed.Header, "Bcc")
	assert.Equal(t, "<dlv_4v2q6jz3w7x5y2n6m4k3h2g7fa@example.net>", parsed.Header.Get("Message-ID"))
	assert.Equal(t, "auto-generated", parsed.Header.Get("Auto-Submitted"))
	_, err = parsed.Header.Date()
	require.NoError(t, err)
	subject, err := new(mime.WordDecoder).DecodeHeader(parsed.Header.Get("Subject"))
	require.NoError(t, err)
	assert.Equal(t, strings.ReplaceAll(cut(s.Title, maxSubject), "=?", "= ?"), subject)
	body, err := io.ReadAll(quotedprintable.NewReader(parsed.Body))
	require.NoError(t, err)
	assert.Equal(t, m.plain(s), strings.ReplaceAll(string(body), "\r\n", "\n"))
}

// assertTelegram holds a message to the tags that we write.
func assertTelegram(t *testing.T, m *message) {
	t.Helper()
	text, err := m.telegram()
	require.NoError(t, err)
	var sent struct{ Text string }
	require.NoError(t, json.Unmarshal(text, &sent))
	tags := strings.NewReplacer("<b>", "", "</b>", "", "<i>", "", "</i>", "", "<code>", "", "</code>", "")
	bare := tags.Replace(sent.Text)
	assert.NotContains(t, bare, "<")
	assert.LessOrEqual(t, utf8.RuneCountInString(bare), 4096)
}

func TestNumber(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000", -100: "-100",
	} {
		assert.Equal(t, want, number(n))
	}
	assert.Equal(t, "EUR 1,234.05", (&facts{}).money(123405))
}

func TestJudge(t *testing.T) {
	tests := []struct {
		kind   Kind
		status int
		body   string
		want   verdict
		after  time.Duration
	}{
		{Slack, 200, "ok", accepted, 0},
		{Slack, 200, `{"ok":true}`, accepted, 0},
		{Slack, 200, `{"success":true}`, accepted, 0},
		{Slack, 200, "<html>log in</html>", retry, 0},
		{Slack, 400, "invalid_payload", refused, 0},
		{Slack, 404, "no_service", refused, 0},
		{Slack, 410, "channel_is_archived", gone, 0},
		{Slack, 429, "rate_limited", retry, 0},
		{Teams, 202, "", accepted, 0},
		{Teams, 200, "1", accepted, 0},
		{Teams, 200, "Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error 429",
			retry, 0},
		{Teams, 400, `{"error":{"code":"WorkflowTriggerIsNotEnabled"}}`, refused, 0},
		{Telegram, 200, `{"ok":true,"result":{}}`, accepted, 0},
		{Telegram, 429, `{"ok":false,"error_code":429,"parameters":{"retry_after":35}}`, retry, 35 * time.Second},
		{Telegram, 429, `{"ok":false,"error_code":429,"parameters":{"retry_after":-1}}`, retry, 0},
		{Telegram, 429, `{"ok":false,"error_code":429,"parameters":{"retry_after":9223372036854775807}}`,
			retry, maxRetryAfter},
		{Telegram, 403, `{"ok":false,"error_code":403,"description":"Forbidden: bot was blocked by the user"}`, refused, 0},
		{Telegram, 200, `{"ok":false,"error_code":400}`, refused, 0},
		{Telegram, 200, `{"ok":false}`, retry, 0},
		{Telegram, 200, "<html>", retry, 0},
		{Telegram, 502, "<html>", retry, 0},
	}
	for _, tt := range tests {
		r := result{verdict: verdictOf(tt.status), status: tt.status}
		r.judge(tt.kind, []byte(tt.body))
		assert.Equal(t, tt.want, r.verdict, "%s %d %s", tt.kind, tt.status, tt.body)
		assert.Equal(t, tt.after, r.after, "%s %d %s", tt.kind, tt.status, tt.body)
	}
}

func FuzzJudge(f *testing.F) {
	f.Add(200, `{"ok":true}`)
	f.Add(429, `{"ok":false,"error_code":429,"parameters":{"retry_after":35}}`)
	f.Fuzz(func(t *testing.T, status int, body string) {
		for _, k := range Kinds() {
			r := result{verdict: verdictOf(status), status: status}
			before := r.verdict
			r.judge(k, []byte(body))
			if r.after < 0 || r.after > maxRetryAfter || before != accepted && r.verdict != before {
				t.Errorf("%s: %+v", k, r)
			}
			if text := printable([]byte(body)); strings.ContainsAny(text, "\r\n\x00") || !utf8.ValidString(text) {
				t.Errorf("%q", text)
			}
		}
	})
}

// inWords describes facts as those of an event.
func inWords(t *testing.T, event metering.EventType, f facts) summary {
	t.Helper()
	s, err := describe(metering.Event{Type: event, Data: f})
	require.NoError(t, err)
	return s
}

func TestNothingToPay(t *testing.T) {
	f := facts{Used: 5, Period: &metering.Period{Year: 2026, Month: 1}, Currency: "EUR"}
	assert.Equal(t, "Your account used 5 credits in January 2026. There is nothing to pay.", inWords(t, metering.EventPeriodClosed, f).Text)
	f.Total = 250
	assert.Equal(t, "Your account used 5 credits in January 2026. The invoice total is EUR 2.50.", inWords(t, metering.EventPeriodClosed, f).Text)
}

// Only the last decline suspends; before it, and where nothing is known of the payment, there is another attempt or a
// person.
func TestWhatAFailedPaymentLeadsTo(t *testing.T) {
	f := facts{Period: &metering.Period{Year: 2026, Month: 1}, Currency: "EUR", Total: 2900, Amount: 2000}
	f.Error = "no funds"
	assert.Equal(t, "The payment of EUR 20.00 for January 2026 failed.", inWords(t, metering.EventPaymentFailed, f).Text)
	assert.Contains(t, inWords(t, metering.EventPaymentFailed, f).Action, "suspended")
	assert.Contains(t, inWords(t, metering.EventPaymentFailed, f).Facts, fact{"Credited", "EUR 9.00"})
	f.NextAttempt = new(time.Time)
	assert.NotContains(t, inWords(t, metering.EventPaymentFailed, f).Action, "suspended")
	f.NextAttempt, f.Error = nil, ""
	assert.NotContains(t, inWords(t, metering.EventPaymentFailed, f).Action, "suspended")
}

// Webhooks receive zeros of use and budgets like any other number.
func TestZeroIsTold(t *testing.T) {
	w := newWorld(t)
	w.set(func(a *metering.Account) { a.OverageEnabled, a.OverageBudgetCents = true, new(int64) })
	w.channel("a")
	_, secret := w.key(nil)
	require.Error(t, w.charge(secret, 60_000))
	for _, r := range w.pump() {
		if b := r.body(t); b.EventType == metering.EventQuotaExceeded {
			assert.JSONEq(t, `{"account": "`+string(w.account.ID)+`", "period": "2026-01", "plan": "pack",
				"used_credits": 0, "limit_credits": 50000, "requested_credits": 60000, "overage_credits": 0,
				"overage_cents": 0, "budget_cents": 0, "currency": "EUR"}`, string(b.Data))
			return
		}
	}
	t.Error("nothing was told")
}

// mailed is the message as it is submitted.
func (m *message) mailed() ([]byte, error) {
	l, err := m.letter("")
	if err != nil {
		return nil, err
	}
	return l.write("diagd@example.net", nil)
}
