package aggregate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/stretchr/testify/require"
)

// No domain is called ready, and no source forged, on evidence that also fits the domain's own mail.
func TestNotReadyWhereOwnMailMayFail(t *testing.T) {
	for name, row := range map[string]string{
		"a gateway, perhaps on the way out": rowXML("198.51.100.5 900 none fail fail example.com", "dkim example.com s1 fail", "spf mx0a.pphosted.com pass"),
		"an SPF record with an error":       rowXML("198.51.100.5 900 none fail fail example.com", "spf example.com permerror"),
		"a key that is missing":             rowXML("198.51.100.5 900 none fail fail example.com", "dkim example.com s2 permerror", "spf example.com fail"),
		"a result that is not defined":      rowXML("198.51.100.5 900 none fail fail example.com", "dkim example.com s2 broken", "spf example.com fail"),
		"a server name in the domain":       rowXML("198.51.100.5 900 none fail fail example.com", "helo mx.example.com pass"),
	} {
		for _, policy := range []string{pNone, pReject} {
			a := analyze(t, feedbackXML(policy, own, row))
			require.False(t, a.Enforcement.ready(), name)
			require.Zero(t, a.Enforcement.SpoofingCount, name)
			require.NotContains(t, codesOf(a), diag.Code("dmarc.report.evaluation.contradiction"), name)
			require.NotContains(t, codesOf(a), diag.Code("dmarc.report.results.missing"), name)
		}
	}
	first := rowXML("198.51.100.5 900 none fail fail example.com", "spf example.com softfail")
	a := analyze(t, feedbackXML(pNone, first))
	require.Equal(t, ReasonUnauthenticated, a.Sources[0].Reason, "a domain that is not set up yet")
	require.Equal(t, UnknownSource, analyze(t, feedbackXML(pReject, first)).Sources[0].Classification)
	signed := rowXML("198.51.100.5 900 none fail fail example.com", "dkim example.com s1 fail", "spf example.com fail")
	require.Equal(t, ReasonBrokenSignature, analyze(t, feedbackXML(pNone, signed)).Sources[0].Reason, "nothing to tell the selector by")
	server := rowXML("198.51.100.5 900 none pass fail example.com", "dkim example.com s1 pass", "spf example.com softfail")
	require.Equal(t, ReasonDKIM, analyze(t, feedbackXML(pNone, server)).Sources[0].Reason, "the only source is no forwarder")
}

// Rejected mail is not reported as delivered, whatever the policy was.
func TestStoppedWithoutPolicy(t *testing.T) {
	codes := codesOf(analyze(t, feedbackXML(pNone, own, rowXML("203.0.113.9 10 reject fail fail example.com", "spf example.com fail"))))
	require.NotContains(t, codes, diag.Code("dmarc.report.spoofing.delivered"))
}

// Mail that fails by strict alignment alone is not lacking in an SPF record.
func TestStrictAlignmentAdvice(t *testing.T) {
	a := analyze(t, feedbackXML(`<adkim>s</adkim><aspf>s</aspf><p>none</p>`, own,
		rowXML("192.0.2.77 10 none fail fail news.example.com", "dkim example.com s1 pass", "spf bounce.example.com pass")))
	require.Contains(t, codesOf(a), diag.Code("dmarc.report.alignment.strict"))
	require.NotContains(t, codesOf(a), diag.Code("dmarc.report.sender.failing"))
	require.Equal(t, "Strict alignment fails mail that relaxed alignment would pass", a.Headline)
	require.False(t, a.Enforcement.ready())
}

// Names beyond ASCII are equivalent to their DNS form.
func TestInternationalNames(t *testing.T) {
	a := analyze(t, feedbackWith(testMetadata, `<domain>xn--bcher-kva.example</domain><p>none</p>`,
		rowXML("192.0.2.1 10 none pass pass Bücher.example", "dkim xn--bcher-kva.example s pass", "spf BÜCHER.example pass")))
	require.Equal(t, Legitimate, a.Sources[0].Classification)
	require.Equal(t, []string{"xn--bcher-kva.example"}, a.Sources[0].HeaderFrom)
	require.Equal(t, "xn--bcher-kva.example", a.Sources[0].SPF[0].Domain)
	require.NotContains(t, codesOf(a), diag.Code("dmarc.report.domain.foreign"))
}

// Converting names takes long, so that a report of nothing else must not have all of them converted.
func TestInternationalNamesAreBounded(t *testing.T) {
	records := make([]string, maxIDN+1)
	for i := range records {
		records[i] = rowXML(fmt.Sprintf("192.0.2.%d 1 none pass pass ü%d.example", i%250, i))
	}
	var names []string
	_, err := Read([]byte(feedbackXML(pNone, records...)), func(r *Record) error {
		names = append(names, r.HeaderFrom)
		return nil
	})
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(names[maxIDN-1], "xn--"), names[maxIDN-1])
	require.Equal(t, fmt.Sprintf("ü%d.example", maxIDN), names[maxIDN])
}

func TestPercent(t *testing.T) {
	for whole := int64(1); whole <= 200; whole++ {
		for part := range whole + 1 {
			got := percent(part, whole)
			require.Equal(t, part == 0, got == 0)
			require.Equal(t, part == whole, got == 100)
			require.Equal(t, part*10_000/whole, int64(got*100+0.5), "%d of %d", part, whole)
		}
	}
	require.Equal(t, 99.99, percent(999_999, 1_000_000))
	require.Equal(t, 0.01, percent(1, 1_000_000))
	require.Equal(t, 99.99, percent(200_000*maxCount-1, 200_000*maxCount))
}

// A stricter policy is advised in steps, and with the mail that it loses.
func TestReadinessAdvice(t *testing.T) {
	advice := func(records ...string) string {
		for _, f := range analyze(t, monthXML(records...)).Findings {
			if f.Code == "dmarc.report.policy.none" {
				return f.Advice
			}
		}
		return ""
	}
	require.Contains(t, advice(own), "publish p=quarantine, and p=reject later")
	list := rowXML("198.51.100.1 5 none fail fail example.com", "reason mailing_list", "spf list.example pass")
	require.Contains(t, advice(own, list), "do not go beyond p=quarantine")
	require.NotContains(t, advice(own), "mailing lists")
}

// monthXML is a month of reports of two receivers: the newest has the records, the others mail of the server.
func monthXML(records ...string) string {
	file := dayXML("a.example", 0, published, records...)
	for i := 1; i < readyDays; i++ {
		file += dayXML("b.example", -i, published, own)
	}
	return file
}

// A domain is called ready once the reports cover a month, the interval of every sender, and two receivers.
func TestReadiness(t *testing.T) {
	billing := rowXML("198.51.100.40 30 none pass pass example.com", "dkim example.com b1 pass", "spf example.com pass")
	// days writes one report each, with billing on some of them; the second receiver reports on the given ones.
	days := func(from, to int, second func(int) bool, bills ...int) string {
		file := ""
		for i := from; i <= to; i++ {
			rows := []string{own}
			if slices.Contains(bills, i) {
				rows = append(rows, billing)
			}
			file += dayXML("a.example", i, published, rows...)
			if second(i) {
				file += dayXML("b.example", i, published, own)
			}
		}
		return file
	}
	never, always := func(int) bool { return false }, func(int) bool { return true }
	for _, tt := range []struct {
		name, file, because, notBefore string
		ready                          *bool
		days, needed                   int
	}{
		{"one day, one receiver", days(0, 0, never), "days receivers", "2026-01-31", nil, 1, 30},
		{"one day, two receivers", days(0, 0, always), "days", "2026-01-31", nil, 1, 30},
		{"13 days", days(-12, 0, always, -5), "days", "2026-01-19", nil, 13, 30},
		{"29 days", days(-28, 0, always), "days", "2026-01-03", nil, 29, 30},
		{"a month", days(-29, 0, always), "", "", new(true), 30, 30},
		{"a month of one receiver", days(-29, 0, never), "receivers", "", nil, 30, 30},
		{"a month of one receiver, by two names", days(-29, 0, never) + strings.ReplaceAll(days(0, 0, never), "a.example", "A.example"),
			"receivers", "", nil, 30, 30},
		{"a second receiver once", days(-29, 0, func(i int) bool { return i == -3 }), "", "", new(true), 30, 30},
		{"without weekends", func() string {
			file := ""
			for week := -35; week < 0; week += 7 {
				file += days(week, week+4, always)
			}
			return file
		}(), "", "", new(true), 33, 30},
		{"two days a month apart", days(-30, -30, always) + days(0, 0, always), "days", "2026-01-31", nil, 1, 30},
		{"once a week", days(-28, -28, always) + days(-21, -21, always) + days(-14, -14, always) + days(-7, -7, always) + days(0, 0, always),
			"days", "2026-01-31", nil, 1, 30},
		{"a monthly sender", days(-34, 0, always, -33, -2), "", "", new(true), 35, 31},
		{"a sender that wrote once", days(-34, 0, always, -10), "", "", new(true), 35, 30},
		{"a rare sender before a gap", days(-60, -60, always, -60) + days(-34, 0, always, -2), "days", "2026-01-25", nil, 35, 58},
		{"long ago", days(-100, -65, always), "outdated", "", nil, 36, 30},
		{"in the future", days(2, 40, always), "days receivers", "", nil, 0, 30},
		{"without time", strings.NewReplacer("<begin>", "<x>", "</begin>", "</x>").Replace(days(-29, 0, always)), "days receivers", "", nil, 0, 30},
		{"a report of years", strings.Replace(days(0, 0, always), "<begin>1767225600", "<begin>1567225600", 1), "days receivers", "2026-01-31", nil, 1, 30},
		{"mail at risk", days(-29, 0, always) + dayXML("c.example", 0, published, mailchimp), "mail_at_risk senders_failing", "", new(false), 30, 30},
		{"mail at risk on one day", dayXML("c.example", 0, published, own, mailchimp), "mail_at_risk senders_failing days receivers", "2026-01-31", new(false), 1, 30},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := analyze(t, tt.file)
			r := a.Enforcement.Readiness
			require.Equal(t, tt.ready, a.Enforcement.Ready)
			require.Equal(t, tt.because, strings.Join(kit.Map(r.Because, func(b Blocker) string { return string(b.Code) }), " "))
			require.Equal(t, tt.days, r.Days)
			require.Equal(t, tt.needed, r.DaysNeeded)
			require.Equal(t, tt.notBefore == "", r.NotBefore.IsZero(), r.NotBefore)
			if tt.notBefore != "" {
				require.Equal(t, tt.notBefore, formatDate(r.NotBefore))
			}
			for _, f := range a.Findings {
				if f.Code == "dmarc.report.policy.none" && tt.ready == nil {
					require.Contains(t, f.Detail, r.Because[0].Text)
					require.Contains(t, f.Detail+f.Advice, cmp.Or(tt.notBefore, "Collect"))
				}
			}
		})
	}
}

func codesOf(a *Analysis) []diag.Code {
	var codes []diag.Code
	for _, f := range a.Findings {
		codes = append(codes, f.Code)
	}
	return codes
}
