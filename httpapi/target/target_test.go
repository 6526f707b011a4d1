package target

import (
	"archive/zip"
	"compress/gzip"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// what describes the target in short: its kind, its text, and the only check of it.
func what(t Target) string {
	return strings.TrimSpace(strings.Join([]string{string(t.Kind), t.Text, t.check}, " "))
}

func TestParse(t *testing.T) {
	for word, want := range map[string]string{
		"example.com":                  "domain example.com",
		" example.com. ":               "domain example.com.",
		"bücher.example":               "domain bücher.example",
		"bob@example.com":              "domain example.com",
		"example.com/shop":             "domain example.com",
		"http://example.com":           "url http://example.com",
		"https://example.com:8443/a?b": "url https://example.com:8443/a?b",
		"192.0.2.1":                    "address 192.0.2.1",
		"2001:db8::1":                  "address 2001:db8::1",
		"192.0.2.0/24":                 "network 192.0.2.0/24 ip/netmask",
		"v=spf1 -all":                  "record v=spf1 -all spf/validate",
		`"v=spf1 " "-all"`:             "record v=spf1 -all spf/validate",
		"V=DMARC1; p=none":             "record V=DMARC1; p=none dmarc/validate",
		"v = DKIM1; p=":                "record v = DKIM1; p= dkim/validate",
		"v=BIMI1; l=":                  "record v=BIMI1; l= bimi/validate",
		"v=STSv1; id=1":                "record v=STSv1; id=1",
		"v=TLSRPTv1; rua=":             "record v=TLSRPTv1; rua=",
		`_dmarc.example.com. TXT "v=DMARC1; p=none"`: "record v=DMARC1; p=none dmarc/validate",
	} {
		got, err := Parse(word)
		require.NoError(t, err, word)
		assert.Equal(t, want, what(got), word)
	}
	for _, word := range []string{
		"", "com", "ftp://example.com", "https://", "fe80::1%eth0", "exa mple.com", "a..b", "v=spf9", "@",
	} {
		_, err := Parse(word)
		var input *diag.InputError
		assert.ErrorAs(t, err, &input, word)
	}
}

func TestRead(t *testing.T) {
	for word, state := range map[string]diag.State{
		"v=STSv1; id=20260101T000000": diag.Valid, "v=STSv1; id=no-good": diag.Bad,
		"v=TLSRPTv1; rua=mailto:tls@example.com": diag.Valid, "v=TLSRPTv1; rua=tls@example.com": diag.Bad,
	} {
		got, err := Parse(word)
		require.NoError(t, err)
		require.NotNil(t, got.Read(), word)
		assert.Equal(t, state, got.Read().State, word)
		assert.Contains(t, []string{"MTA-STS record", "TLSRPT record"}, got.Read().Subject)
		_, _, one := got.One()
		assert.False(t, one)
	}
}

func TestContent(t *testing.T) {
	file := func(name string) string {
		data, err := os.ReadFile("../../examples/demo/" + name)
		require.NoError(t, err)
		return string(data)
	}
	for name, test := range map[string]struct{ data, check, field string }{
		"aggregate report":    {file("report.xml"), "dmarc/report/analyze", "content_base64"},
		"zipped":              {"PK\x03\x04…", "dmarc/report/analyze", "content_base64"},
		"image":               {file("code.png"), "http/qr/decode", "image_base64"},
		"signing request":     {file("request.pem"), "certificates/csr/parse", "csr"},
		"certificate":         {file("mark.pem"), "certificats/bimi/parse", "pem"},
		"message":             {"From: a@example.com\r\nTo: b@example.com\r\n\r\nHello\r\n", "mail/header-analyze", "message_base64"},
		"message of an mbox":  {"From a@example.com Sun Nov  1\nFrom: a@example.com\n\nHello\n", "mail/header-analyze", "message_base64"},
		"header":              {"From: a@example.com\nTo: b@example.com\n", "mail/header-audit", "headers"},
		"record":              {"v=spf1 mx -all\n", "spf/validate", "record"},
		"record after a mark": {"\ufeffv=spf1 mx -all\n", "spf/validate", "record"},
	} {
		got, err := Content([]byte(test.data))
		require.NoError(t, err, name)
		check, fields, ok := got.One()
		assert.True(t, ok, name)
		assert.Equal(t, test.check, check, name)
		assert.Contains(t, fields, test.field, name)
	}
	for name, data := range map[string]string{
		"in a message": carrier("application/gzip", zipped(file("report.xml"))), "in a message, as it is": carrier("text/xml", file("report.xml")),
		"in a message, zipped":           carrier("application/octet-stream", archived(t, file("report.xml"))),
		"in a message that is passed on": forwarded(carrier("application/gzip", zipped(file("report.xml")))),
		"in a message with a picture":    strings.Replace(carrier("application/gzip", zipped(file("report.xml"))), "--b--", "--b\r\nContent-Type: image/png\r\n\r\nx\r\n--b--", 1),
		"in a mailbox":                   "From x Sat Oct 31\n" + carrier("image/png", "x") + "\nFrom x Sat Oct 31\n" + carrier("application/gzip", zipped(file("report.xml"))),
		"in a tar":                       "x" + strings.Repeat("\x00", 256) + "ustar" + strings.Repeat("\x00", 300),
	} {
		got, err := Content([]byte(data))
		require.NoError(t, err, name)
		check, fields, _ := got.One()
		assert.Equal(t, "dmarc/report/analyze", check, name)
		assert.Contains(t, fields, "content_base64", name)
		assert.Equal(t, strings.HasPrefix(name, "in a m"), got.Note != "", name)
	}
	tls := `{"organization-name": "x", "report-id": "7", "policies": [{"policy": {"policy-type": "no-policy-found",
		"policy-domain": "example.com"}, "summary": {"total-successful-session-count": 5}}]}`
	for name, data := range map[string]string{
		"JSON": tls, "gzip": zipped(tls), "message": carrier("application/tlsrpt+gzip", zipped(tls)),
		"message with another type": carrier("application/octet-stream", tls), "forwarded": forwarded(carrier("application/tlsrpt+json", tls)),
	} {
		got, err := Content([]byte(data))
		require.NoError(t, err, name)
		require.NotNil(t, got.Read(), name)
		assert.Equal(t, "7", got.Read().Subject, name)
	}
	for name, data := range map[string]string{
		"another attachment":     carrier("image/png", "\x89PNG\r\n\x1a\n"),
		"a report among others":  strings.NewReplacer("--b--", "--b\r\nContent-Type: image/png\r\n\r\nx\r\n--b--", "Report Domain: ", "Look: ").Replace(carrier("application/gzip", zipped(file("report.xml")))),
		"another archive":        carrier("application/zip", archived(t, "hello")),
		"JSON that is no report": carrier("application/json", "{}"),
	} {
		got, err := Content([]byte(data))
		require.NoError(t, err, name)
		check, _, _ := got.One()
		assert.Equal(t, "mail/header-analyze", check, name)
		assert.Empty(t, got.Note)
	}
	for name, data := range map[string]string{
		"empty": "", "text": "hello", "JSON": "{}", "key": "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
	} {
		_, err := Content([]byte(data))
		var input *diag.InputError
		assert.ErrorAs(t, err, &input, name)
	}
}

// carrier is a message with an attachment, as receivers send reports.
func carrier(media, body string) string {
	return "From: r@receiver.example\r\nSubject: Report Domain: example.com Submitter: receiver.example\r\nMIME-Version: 1.0\r\n" +
		"Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nThis is a report.\r\n--b\r\nContent-Type: " + media +
		"\r\nContent-Transfer-Encoding: base64\r\n\r\n" + base64.StdEncoding.EncodeToString([]byte(body)) + "\r\n--b--\r\n"
}

func forwarded(message string) string {
	return "From: b@example.com\r\nSubject: Fwd: what is this?\r\nContent-Type: multipart/mixed; boundary=f\r\n\r\n--f\r\n\r\nSee below.\r\n" +
		"--f\r\nContent-Type: message/rfc822\r\n\r\n" + message + "\r\n--f--\r\n"
}

func zipped(text string) string {
	var b strings.Builder
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.String()
}

func archived(t *testing.T, text string) string {
	var b strings.Builder
	w := zip.NewWriter(&b)
	f, err := w.Create("a.xml")
	require.NoError(t, err)
	_, err = f.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.String()
}

// A certificate of a website is no mark certificate: it is read without a verdict, but for its end.
func TestCertificate(t *testing.T) {
	for remaining, codes := range map[time.Duration][]diag.Code{time.Hour: {}, -time.Hour: {"certificate.expired"}} {
		public, private, err := ed25519.GenerateKey(nil)
		require.NoError(t, err)
		c := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"www.example.com"},
			NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(remaining)}
		der, err := x509.CreateCertificate(nil, c, c, public, private)
		require.NoError(t, err)
		for _, data := range [][]byte{der, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})} {
			got, err := Content(data)
			require.NoError(t, err)
			v := got.Read()
			require.NotNil(t, v)
			assert.Equal(t, "www.example.com", v.Subject)
			assert.NotEqual(t, view.Good, v.Mark())
			assert.Equal(t, codes, kit.Map(v.Findings, func(f diag.Finding) diag.Code { return f.Code }))
			assert.Contains(t, v.Facts, view.Fact{Label: "key", Value: "Ed25519"})
		}
	}
}

// Steps about one fact of a website are merged, those about two certificates name them.
func TestDistinct(t *testing.T) {
	const renew = "Renew the certificate and automate renewal."
	steps := distinct(kit.Map([]view.Step{
		{Code: "tls.certificate.expired", Text: renew}, {Code: "hsts.certificate.expired", Text: "Renew it."},
		{Code: "mtasts.policy.certificate.expired", Text: renew}, {Code: "smtp.certificate.expired", Text: renew},
		{Code: "tls.chain.untrusted", Text: "a"}, {Code: "headers.site.certificate.untrusted", Text: "b"},
		{Code: "x.y.missing", Text: "Do it. Now."}, {Code: "z.y.missing", Text: "Do it."}, {Code: "u.y.missing", Text: "c"},
	}, named))
	assert.Equal(t, []string{"Renew the certificate of the website and automate renewal.",
		"Renew the certificate of the policy host and automate renewal.",
		"Renew the certificate of the mail server and automate renewal.", "a", "Do it. Now.", "c",
	}, kit.Map(steps, func(s view.Step) string { return s.Text }))
}

// Every word is a target or refused, and endpoints accept the requests of a target.
func FuzzParse(f *testing.F) {
	for _, word := range []string{
		"example.com", "a@example.com", "https://example.com/", "192.0.2.1", "192.0.2.0/24", "v=spf1 -all", "v=STSv1;",
	} {
		f.Add(word)
	}
	f.Fuzz(func(t *testing.T, word string) {
		got, err := Parse(word)
		taken(t, got, err)
	})
}

func FuzzContent(f *testing.F) {
	for _, data := range []string{"From: a\n\nb", "{", "PK\x03\x04", "v=DMARC1", "<feedback>", carrier("application/gzip", zipped("<feedback><record/></feedback>")), "\x1f\x8b\x08", "0\x82\x01\x01"} {
		f.Add([]byte(data))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := Content(data)
		taken(t, got, err)
		if _, fields, ok := got.One(); ok {
			for name, value := range fields {
				if strings.HasSuffix(name, "_base64") {
					decoded, err := base64.StdEncoding.DecodeString(value.(string))
					require.NoError(t, err)
					require.Equal(t, data, decoded)
				}
			}
		}
	})
}

func taken(t *testing.T, got Target, err error) {
	if err != nil {
		require.Equal(t, Target{}, got)
		return
	}
	if got.Read() != nil {
		require.NotEmpty(t, got.Read().Headline)
		return
	}
	checks := got.Checks(Options{})
	require.NotEmpty(t, checks)
	for _, c := range checks {
		require.True(t, json.Valid(c.Body))
		ep := c.Endpoint
		if c.lead != nil {
			ep = *c.lead
		}
		_, _, err := ep.Target(c.Body)
		require.NoError(t, err)
	}
}

// The groups that are wanted, which together are all.
func TestChecks(t *testing.T) {
	domain, err := Parse("example.com")
	require.NoError(t, err)
	all := domain.Checks(Options{})
	sum := 0
	for _, group := range []string{Mail, DNS, Web} {
		some := domain.Checks(Options{Only: []string{group}})
		assert.NotEmpty(t, some)
		for _, c := range some {
			assert.Equal(t, group, c.Group)
		}
		sum += len(some)
	}
	assert.Len(t, all, sum)
	quiet := domain.Checks(Options{NoSMTP: true})
	assert.Contains(t, string(quiet[0].Body), `"include_smtp":false`)
}

// Effects refer to existing rules: a misspelt code would have none.
func TestEffects(t *testing.T) {
	var codes []diag.Code
	for _, ep := range httpapi.Endpoints() {
		for _, r := range ep.Rules() {
			codes = append(codes, r.Code)
		}
	}
	for _, e := range effects {
		assert.Contains(t, topics, e.topic)
		for _, code := range e.codes {
			assert.Contains(t, codes, code, "%s: there is no such rule", e.text)
		}
	}
}
