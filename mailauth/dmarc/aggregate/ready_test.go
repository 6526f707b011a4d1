package aggregate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/stretchr/testify/require"
)

// No domain is called ready, and nobody a forger, on grounds that also fit the domain's own mail.
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
	require.Equal(t, reasonNothing, a.Sources[0].Reason, "a domain that is not set up yet")
	require.Equal(t, unclear, analyze(t, feedbackXML(pReject, first)).Sources[0].Classification)
	signed := rowXML("198.51.100.5 900 none fail fail example.com", "dkim example.com s1 fail", "spf example.com fail")
	require.Equal(t, reasonBroken, analyze(t, feedbackXML(pNone, signed)).Sources[0].Reason, "nothing to tell the selector by")
	server := rowXML("198.51.100.5 900 none pass fail example.com", "dkim example.com s1 pass", "spf example.com softfail")
	require.Equal(t, reasonDKIM, analyze(t, feedbackXML(pNone, server)).Sources[0].Reason, "the only source is no forwarder")
}

// What was rejected is not told as delivered, whatever the policy was.
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

// Names in letters beyond ASCII are those that stand in the DNS.
func TestInternationalNames(t *testing.T) {
	a := analyze(t, feedbackWith(testMetadata, `<domain>xn--bcher-kva.example</domain><p>none</p>`,
		rowXML("192.0.2.1 10 none pass pass Bücher.example", "dkim xn--bcher-kva.example s pass", "spf BÜCHER.example pass")))
	require.Equal(t, legitimate, a.Sources[0].Classification)
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
		for _, f := range analyze(t, feedbackXML(pNone, records...)).Findings {
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

func codesOf(a *Analysis) []diag.Code {
	var codes []diag.Code
	for _, f := range a.Findings {
		codes = append(codes, f.Code)
	}
	return codes
}
