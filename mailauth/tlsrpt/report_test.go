package tlsrpt

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/stretchr/testify/require"
)

// daily is a valid report of RFC 8460.
const daily = `{"organization-name": "Company-X", "contact-info": "sts@company-x.example", "report-id": "1@x",
	"date-range": {"start-datetime": "2026-04-01T00:00:00Z", "end-datetime": "2026-04-01T23:59:59Z"},
	"policies": [{"policy": {"policy-type": "sts", "policy-string": ["version: STSv1", "mode: testing"],
		"policy-domain": "example.com", "mx-host": ["*.mail.example.com"]},
	  "summary": {"total-successful-session-count": 5326, "total-failure-session-count": 303},
	  "failure-details": [{"result-type": "certificate-expired", "sending-mta-ip": "2001:db8:abcd:12::1",
		"receiving-mx-hostname": "mx1.mail.example.com", "failed-session-count": 100},
	    {"result-type": "starttls-not-supported", "sending-mta-ip": "198.51.100.1", "receiving-ip": "203.0.113.56",
		"receiving-mx-hostname": "mx2.mail.example.com", "failed-session-count": 203,
		"additional-information": "https://example.com/info"}]}]}`

func zipped(text string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write([]byte(text))
	w.Close()
	return b.Bytes()
}

func TestParseReport(t *testing.T) {
	r, err := ParseReport([]byte(daily))
	require.NoError(t, err)
	require.Empty(t, r.Faults)
	require.Equal(t, "Company-X", r.Organization)
	require.Equal(t, time.Date(2026, 4, 1, 23, 59, 59, 0, time.UTC), r.End)
	require.Equal(t, []int64{5326, 303}, []int64{r.Successful, r.Failed})
	require.Len(t, r.Policies, 1)
	p := r.Policies[0]
	require.Equal(t, PolicySTS, p.Type)
	require.Equal(t, []string{"*.mail.example.com"}, p.MXHosts)
	require.Equal(t, CertificateExpired, p.Failures[0].Result)
	require.Equal(t, "2001:db8:abcd:12::1", p.Failures[0].SendingIP.String())
	require.Equal(t, int64(203), p.Failures[1].Sessions)

	same, err := ParseReport(zipped(daily))
	require.NoError(t, err)
	require.Equal(t, r, same)

	mail := "TLS-Report-Domain: example.com\nTLS-Report-Submitter: x.example\n" +
		"Content-Type: %s\nContent-Transfer-Encoding: base64\n\n" + base64.StdEncoding.EncodeToString(zipped(daily))
	r.Domain, r.Submitter = "example.com", "x.example"
	same, err = ParseReport(fmt.Appendf(nil, mail, "application/tlsrpt+gzip"))
	require.NoError(t, err)
	require.Equal(t, r, same)
	attached := "Subject: fwd\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: message/rfc822\n\n" + mail
	same, err = ParseReport(fmt.Appendf(nil, attached, "application/tlsrpt+gzip"))
	require.NoError(t, err)
	require.Equal(t, "example.com", same.Domain)
	for name, file := range map[string][]byte{
		"text": []byte(daily + "\n" + daily), "members": append(zipped(daily), zipped(daily)...),
		"parts": []byte(strings.ReplaceAll("Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: application/tlsrpt+json\n\nX\n"+
			"--b\nContent-Type: application/tlsrpt+json\n\nX\n--b--\n", "X", daily)),
	} {
		several, err := ParseReport(file)
		require.NoError(t, err, name)
		require.True(t, several.More, name)
		require.Equal(t, diag.Code("tlsrpt.report.more"), several.View().Findings[2].Code, name)
	}
	same, err = ParseReport(fmt.Appendf(nil, mail, "application/octet-stream"))
	require.NoError(t, err)
	require.Equal(t, []string{`The report has the media type "application/octet-stream", ` +
		`not application/tlsrpt+json or +gzip`}, same.Faults)
}

// A fault in one place does not affect the rest.
func TestParseReportFaults(t *testing.T) {
	const two = `{"policy": {"policy-type": "tlsa", "policy-domain": "example.net"}, "summary": {
		"total-successful-session-count": 7, "total-failure-session-count": 0}}`
	tests := []struct {
		name, old, replacement string
		fault                  string
		policies               int
	}{
		{"a policy of a wrong type", `"policies": [`, `"policies": [7, null, `, "Policy 1 is not an object", 1},
		{"a policy without members", `"policies": [`, `"policies": [{}, `, `Policy 1 has the type ""`, 2},
		{"broken off", `}]}]}`, `}]},` + two + `, {"po`, "what follows is left out", 2},
		{"member of a wrong type", `"policy": {`, `"policy": [], "other": {`, "policy is not an object", 1},
		{"text of a wrong type", `"1@x"`, `17`, "report-id is not a string", 1},
		{"count in quotes", "5326", `"5326"`, "", 1},
		{"count that is none", "5326", `-1`, "total-successful-session-count is", 1},
		{"counts that differ", "303", `304`, "counts 304 failed sessions, and its details 303", 1},
		{"one string for a list", `["*.mail.example.com"]`, `"*.mail.example.com"`, "", 1},
		{"unregistered result", "certificate-expired", "expired", `the result type "expired"`, 1},
		{"unknown policy", `"sts"`, `"stsv2"`, `the type "stsv2"`, 1},
		{"result in capitals", "certificate-expired", "Certificate-Expired", "", 1},
		{"address in brackets", `"198.51.100.1"`, `"[198.51.100.1]"`, "", 1},
		{"address that is none", `"198.51.100.1"`, `"mx"`, `sending-mta-ip is "mx", not an IP address`, 1},
		{"time without a zone", "2026-04-01T00:00:00Z", "2026-04-01T00:00:00", "", 1},
		{"time that is none", "2026-04-01T00:00:00Z", "yesterday", "start-datetime is", 1},
		{"end before the beginning", "2026-04-01T23", "2026-03-01T23", "before it begins", 1},
		{"no range", `"date-range"`, `"range"`, "start-datetime is", 1},
		{"failure of a wrong type", `"failure-details": [`, `"failure-details": ["x", `, "Failure 1 of policy 1", 1},
		{"no policies", `"policies": [`, `"policies": [], "others": [`, "has no policies", 0},
		{"policies of a wrong type", `"policies": [`, `"policies": 1, "others": [`, "is not an array", 0},
		{"byte order mark", `{"organization`, "\ufeff{\"organization", "", 1},
		{"further members", `{"organization`, `{"x": [{}], "organization`, "", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Contains(t, daily, tt.old)
			r, err := ParseReport([]byte(strings.Replace(daily, tt.old, tt.replacement, 1)))
			require.NoError(t, err)
			require.Len(t, r.Policies, tt.policies)
			if tt.fault == "" {
				require.Empty(t, r.Faults)
				return
			}
			require.Contains(t, strings.Join(r.Faults, "\n"), tt.fault)
		})
	}
	lone := strings.NewReplacer(`"policies": [`, `"policies": `, "]}]}", "]}}").Replace(daily)
	r, err := ParseReport([]byte(lone))
	require.NoError(t, err)
	require.Equal(t, int64(303), r.Failed)
	require.Equal(t, []string{"The member policies is an object, not an array"}, r.Faults)

	damaged := zipped(daily)
	damaged[len(damaged)-6] ^= 1 // of the checksum
	r, err = ParseReport(damaged)
	require.NoError(t, err)
	require.Equal(t, int64(303), r.Failed)
	require.Len(t, r.Faults, 1)
}

// A message of many compressed parts, each expanding to the maximum, takes the time of only a few.
func TestCompressedPartsAreBounded(t *testing.T) {
	part := "--b\r\nContent-Transfer-Encoding: base64\r\n\r\n" + base64.StdEncoding.EncodeToString(zipped("<feedback/>")) + "\r\n"
	_, err := ParseReport([]byte("Content-Type: multipart/mixed; boundary=b\r\n\r\n" + strings.Repeat(part, maxExpanded+1)))
	require.ErrorContains(t, err, "more than 5 compressed parts")
}

// TestConformanceReports reads real reports. Each is parsed, with all sessions that its details count.
func TestConformanceReports(t *testing.T) {
	files := diagtest.Suite(t, "mail/tlsrpt-reports")
	policies, sessions := 0, int64(0)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		r, err := ParseReport(text)
		if err != nil {
			t.Errorf("%s: %v", filepath.Base(file), err)
			continue
		}
		policies, sessions = policies+len(r.Policies), sessions+r.Successful+r.Failed
		if len(r.Policies) == 0 || r.Begin.IsZero() || r.ID == "" || r.Organization == "" {
			t.Errorf("%s: %+v", filepath.Base(file), r)
		}
		t.Logf("%s: %d policies, faults %q", filepath.Base(file), len(r.Policies), r.Faults)
	}
	t.Logf("tlsrpt-reports: %d files, %d policies, %d sessions", len(files), policies, sessions)
}

// Each type of result has its own fault and advice, and where no policy is enforced the mail was delivered.
func TestCauses(t *testing.T) {
	const one = `{"organization-name": "x", "report-id": "1", "date-range": {"start-datetime": "2026-04-01T00:00:00Z",
		"end-datetime": "2026-04-01T23:59:59Z"}, "policies": [{"policy": {"policy-type": "%s", "policy-string": [%s],
		"policy-domain": "example.com"}, "summary": {"total-successful-session-count": 5, "total-failure-session-count": 3},
		"failure-details": [{"result-type": "%s", "receiving-mx-hostname": "mx.example.com", "failed-session-count": 3}]}]}`
	const enforce, testing = `"version: STSv1", "mode: enforce", "mx: mx.example.com"`, `"version: STSv1\r\nmode: testing\r\n"`
	seen := map[string]bool{}
	for _, result := range resultTypes {
		r, err := ParseReport(fmt.Appendf(nil, one, "sts", testing, result))
		require.NoError(t, err)
		v := r.View()
		require.Len(t, v.Findings, 1, result)
		f := v.Findings[0]
		require.Equal(t, diag.Warning, f.Severity, result)
		require.LessOrEqual(t, len(f.Title), 70)
		require.False(t, seen[f.Advice] || seen[f.Title] || seen[string(f.Code)], "one of its own: %s", result)
		seen[f.Advice], seen[f.Title], seen[string(f.Code)] = true, true, true
		require.NotContains(t, f.Title+f.Detail+v.Sub, "could not encrypt")
		if result != DANERequired {
			require.Contains(t, f.Detail, "delivered", result)
			require.Contains(t, v.Sub, "delivered all the same", result)
		}
	}
	for _, tt := range []struct {
		kind, policy string
		result       ResultType
		severity     diag.Severity
		code, says   string
	}{
		{"sts", enforce, CertificateExpired, diag.Error, "tlsrpt.report.certificate.expired", "3 sessions to mx.example.com: the certificate had expired. The policy is enforced"},
		{"sts", testing, CertificateExpired, diag.Warning, "tlsrpt.report.certificate.expired", "testing mode: the mail was delivered"},
		{"sts", ``, CertificateExpired, diag.Warning, "tlsrpt.report.certificate.expired", "does not say whether the policy is enforced"},
		{"sts", `"mode: none"`, StartTLSNotSupported, diag.Warning, "tlsrpt.report.starttls.missing", "No policy requires TLS"},
		{"no-policy-found", ``, StartTLSNotSupported, diag.Warning, "tlsrpt.report.starttls.missing", "No policy requires TLS"},
		{"tlsa", `"3 1 1 00"`, TLSAInvalid, diag.Error, "tlsrpt.report.tlsa.invalid", "DANE requires TLS"},
		{"sts", ``, STSPolicyFetchError, diag.Warning, "tlsrpt.report.sts.fetch", "3 sessions: the MTA-STS policy could not be fetched. Mail is delivered, but as if there were no policy"},
		{"no-policy-found", ``, STSPolicyFetchError, diag.Warning, "tlsrpt.report.sts.fetch", "Mail is delivered"},
		{"sts", enforce, STSPolicyFetchError, diag.Warning, "tlsrpt.report.sts.fetch", "cached"},
		{"sts", enforce, "expired", diag.Error, "tlsrpt.report.failed", `The sender adds: "expired".`},
	} {
		r, err := ParseReport(fmt.Appendf(nil, one, tt.kind, tt.policy, tt.result))
		require.NoError(t, err)
		v := r.View()
		require.Len(t, v.Findings, 1)
		require.Equal(t, tt.severity, v.Findings[0].Severity, tt.says)
		require.Equal(t, diag.Code(tt.code), v.Findings[0].Code)
		require.Contains(t, v.Findings[0].Detail, tt.says)
		require.NotEmpty(t, v.Steps)
	}

	r, err := ParseReport([]byte(strings.Replace(daily, "303", "400", 1)))
	require.NoError(t, err)
	v := r.View()
	require.Equal(t, []diag.Code{"tlsrpt.report.starttls.missing", "tlsrpt.report.certificate.expired", "tlsrpt.report.failed"},
		kit.Map(v.Findings, func(f diag.Finding) diag.Code { return f.Code }))
	require.Contains(t, v.Findings[0].Detail, `The sender adds: "https://example.com/info".`)
	require.Contains(t, v.Findings[2].Detail, "97 sessions: the report does not say why")
}

func FuzzParseReport(f *testing.F) {
	f.Add([]byte(daily))
	f.Add(zipped(daily))
	f.Add([]byte("Content-Type: application/tlsrpt+json\n\n" + daily))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := ParseReport(text)
		if (r == nil) == (err == nil) {
			t.Fatalf("both %+v and %v", r, err)
		}
		if err != nil {
			return
		}
		require.Equal(t, r.Failed > 0 || len(r.causes()) > 0 || r.More, len(r.View().Findings) > 0)
		var good, bad int64
		for _, p := range r.Policies {
			good, bad = add(good, p.Successful), add(bad, p.Failed)
		}
		if good != r.Successful || bad != r.Failed || good < 0 || bad < 0 || len(r.Faults) > maxFaults+1 {
			t.Errorf("%+v", r)
		}
	})
}

// The headline counts the reported sessions, and is not positive for an empty report.
func TestReportHeadline(t *testing.T) {
	for want, r := range map[string]Report{
		"No session of a mail server is reported":         {},
		"The only session of a mail server was encrypted": {Successful: 1},
		"All 3 sessions of mail servers were encrypted":   {Successful: 3},
		"1 of 3 sessions of mail servers failed":          {Successful: 2, Failed: 1},
	} {
		v := r.View()
		require.Equal(t, want, v.Headline)
		require.Equal(t, want, v.Brief)
	}
}
