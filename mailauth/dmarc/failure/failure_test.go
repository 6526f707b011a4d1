package failure

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// complete is a report as RFC 9991 wants it.
const complete = `From: dmarc-noreply@receiver.example
To: ruf@example.com
Subject: FW: Offer
Content-Type: multipart/report; report-type=feedback-report; boundary=b

--b
Content-Type: text/plain

This is an authentication failure report for a message received from 192.0.2.1.
--b
Content-Type: message/feedback-report

Feedback-Type: auth-failure
User-Agent: Receiver/1.0
Version: 1
Auth-Failure: dmarc
Identity-Alignment: none
Delivery-Result: reject
Source-IP: 192.0.2.1
Original-Mail-From: <a@example.com>
Original-Rcpt-To: <redacted@receiver.example>
Arrival-Date: Sun, 1 Nov 2026 10:00:00 +0100
Reported-Domain: Example.COM
Reporting-MTA: dns; mx.receiver.example
Incidents: 3
DKIM-Domain: example.com
DKIM-Selector: s1
SPF-DNS: txt : example.com : "v=spf1 -all"
Authentication-Results: mx.receiver.example; dmarc=fail
    header.from=example.com

--b
Content-Type: text/rfc822-headers

From: A <a@example.com>
To: b@receiver.example
Subject: Offer
--b--
`

func TestParse(t *testing.T) {
	r, err := Parse([]byte(complete))
	require.NoError(t, err)
	require.Len(t, r.Original.Header.Fields, 3)
	require.False(t, r.Original.HasBody)
	r.Original = Original{}
	require.Equal(t, &Report{
		Type: authFailure, Failure: "dmarc", UserAgent: "Receiver/1.0", Version: "1",
		Arrival:  time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC),
		SourceIP: netip.MustParseAddr("192.0.2.1"), Delivery: "reject", Incidents: 3,
		ReportedDomain: "example.com", OriginalFrom: "a@example.com",
		OriginalRcpt: []string{"redacted@receiver.example"}, ReportingMTA: "mx.receiver.example",
		HasAlignment: true, AuthenticationResults: []string{"mx.receiver.example; dmarc=fail    header.from=example.com"},
		DKIMDomain: "example.com", DKIMSelector: "s1", SPFRecord: `txt : example.com : "v=spf1 -all"`, Redacted: true,
	}, r)
}

func TestParseDeviations(t *testing.T) {
	tests := []struct {
		name, old, replacement, want string
	}{
		{"no failure", "Auth-Failure: dmarc\n", "", "does not say which mechanism failed"},
		{"no address", "Source-IP: 192.0.2.1\n", "", "does not say from which address"},
		{"no alignment", "Identity-Alignment: none\n", "", "which identities were aligned"},
		{"alignment without commas", "Alignment: none", "Alignment: spf-dkim", "not a list with commas"},
		{"alignment of another kind", "Alignment: none", "Alignment: arc", "neither dkim nor spf nor none"},
		{"result of a program's own", "reject", "smg-policy-action", `"smg-policy-action", which the RFCs`},
		{"other version", "Version: 1", "Version: 1.0", `Version has the value "1.0"`},
		{"no version", "Version: 1\n", "", "The field Version is missing"},
		{"no user agent", "User-Agent: Receiver/1.0\n", "", "The field User-Agent is missing"},
		{"no address at all", "Source-IP: 192.0.2.1", "Source-IP: mx", "which is not an IP address"},
		{"bad date", "Sun, 1 Nov 2026", "yesterday", "is not a date of RFC 5322"},
		{"bad count", "Incidents: 3", "Incidents: many", "which is not a number"},
		{"other type", "multipart/report; report-type=feedback-report", "multipart/mixed", "multipart/mixed, not"},
		{"no report-type", "report-type=feedback-report; ", "", "The parameter report-type"},
		{"nothing attached", "text/rfc822-headers", "text/html", "is not attached"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Contains(t, complete, tt.old)
			r, err := Parse([]byte(strings.Replace(complete, tt.old, tt.replacement, 1)))
			require.NoError(t, err)
			require.Contains(t, strings.Join(r.Deviations, "\n"), tt.want)
		})
	}
	r, err := Parse([]byte(strings.Replace(complete, "Source-IP: 192.0.2.1", "Source-IP: 192.0.2.7 (mx.example.com)", 1)))
	require.NoError(t, err)
	require.Equal(t, "192.0.2.7", r.SourceIP.String(), "RFC 5965 section 3.2 allows a comment")
	require.Empty(t, r.Deviations)
	r, err = Parse([]byte(strings.Replace(complete, "message/feedback-report", "text/plain", 1)))
	require.NoError(t, err)
	require.Equal(t, "dmarc", r.Failure)
	require.False(t, r.TextOnly)
}

func TestParseText(t *testing.T) {
	const text = "Subject: DMARC failure report\n\nAn email message received from IP 2001:db8::1 on " +
		"Thu, 8 Mar 2005 14:00:00 EDT.\n 1. Sender Domain: Example.com\n SPF Alignment: yes\n" +
		" DKIM alignment: no\nDMARC Results: p=reject, Reject\n---- the headers ----\n\nFrom: a@example.com\n"
	r, err := Parse([]byte(text))
	require.NoError(t, err)
	require.True(t, r.TextOnly)
	require.Equal(t, "2001:db8::1", r.SourceIP.String())
	require.Equal(t, time.Date(2005, 3, 8, 18, 0, 0, 0, time.UTC), r.Arrival)
	require.Equal(t, "example.com", r.ReportedDomain)
	require.Equal(t, []string{"spf"}, r.AlignedBy)
	require.Equal(t, "reject", r.Delivery)
	require.Equal(t, "a@example.com", r.Original.Header.Value("from"))
}

func TestParseRefuses(t *testing.T) {
	tests := []struct {
		name, text, why string
	}{
		{"empty", "", "it is not a message"},
		{"XML", "<feedback/>", "it is not a message"},
		{"a message", "Subject: DMARC report\n\nhello", "neither a part"},
		{"a letter about an address", "Subject: hello\n\nSource IP: 192.0.2.1\nDomain: example.com\n", "neither a part"},
		{"too long", strings.Repeat(" ", maxBytes+1), "longer than"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse([]byte(tt.text))
			require.ErrorContains(t, err, tt.why)
		})
	}
}

func TestRedacted(t *testing.T) {
	for address, want := range map[string]bool{
		"redacted@163.com": true, "R <xxxx@example.com>": true, "***@example.com": true, "": false, "<>": false,
		"2jmj7l5rSw0yVb/vlWAYkK/YBwk=@example.com": true, "alice@example.com": false, "x@example.com": false,
		"customer-relations-international@example.com": false,
	} {
		require.Equal(t, want, redacted(address), address)
	}
}

// TestConformanceFailureReports reads real reports and those of RFC 5965 and RFC 6591: each yields its subject, the
// source address and the domain.
func TestConformanceFailureReports(t *testing.T) {
	files := diagtest.Suite(t, "mail/failure-reports")
	textOnly := 0
	for _, file := range files {
		message, err := os.ReadFile(file)
		require.NoError(t, err)
		r, err := Parse(message)
		if err != nil {
			t.Errorf("%s: %v", filepath.Base(file), err)
			continue
		}
		if r.Type == "" || !r.SourceIP.IsValid() || r.ReportedDomain == "" || r.Arrival.IsZero() ||
			r.Original.Header.Value("From") == "" {
			t.Errorf("%s: %+v", filepath.Base(file), r)
		}
		if r.TextOnly {
			textOnly++
		}
		t.Logf("%.30s: %s %s from %s for %s, %s, aligned %v, deviations %q", filepath.Base(file), r.Type, r.Failure,
			r.SourceIP, r.ReportedDomain, r.Delivery, r.AlignedBy, r.Deviations)
	}
	t.Logf("failure-reports: %d files, %d of them text only", len(files), textOnly)
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(complete))
	f.Add([]byte("Subject: DMARC\n\nreceived from IP 192.0.2.1 on x\nDomain: a\n--- headers\nFrom: a@b\n"))
	f.Fuzz(func(t *testing.T, message []byte) {
		r, err := Parse(message)
		if (r == nil) == (err == nil) {
			t.Fatalf("both %+v and %v", r, err)
		}
		if err == nil && (r.Incidents < 1 || len(r.Deviations) > maxDeviations || len(r.AlignedBy) > 2) {
			t.Errorf("%+v", r)
		}
	})
}
