package target

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"encoding/pem"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/mailauth/tlsrpt"
)

// Content finds out what is in a file: a message, a DMARC or TLS report, a signing request, a certificate, an image or
// a record. The error says which there are.
func Content(data []byte) (Target, error) {
	text := strings.TrimSpace(strings.TrimPrefix(string(data), "\ufeff"))
	inside := expanded(data)
	encoded := func() string { return base64.StdEncoding.EncodeToString(data) }
	file := func(check, field, value string) (Target, error) {
		return Target{Kind: File, check: check, fields: map[string]any{field: value}}, nil
	}
	block, _ := pem.Decode([]byte(text + "\n"))
	kind := cmp.Or(block, &pem.Block{}).Type // RFC 7468 section 2
	_, noRequest := x509.ParseCertificateRequest(data)
	cert, noCertificate := x509.ParseCertificate(data)
	if kind == "CERTIFICATE" {
		cert, _ = x509.ParseCertificate(block.Bytes)
	}
	switch {
	case len(data) == 0:
		return Target{}, diag.Invalid("target", "the file is empty")
	case strings.HasPrefix(http.DetectContentType(data), "image/"):
		return file("http/qr/decode", "image_base64", encoded())
	case strings.HasSuffix(kind, "CERTIFICATE REQUEST"):
		return file("certificates/csr/parse", "csr", text)
	case cert != nil && !slices.ContainsFunc(cert.UnknownExtKeyUsage, oidMark.Equal):
		return certificate(pki.Describe(cert, time.Now())), nil
	case kind == "CERTIFICATE":
		return file("certificats/bimi/parse", "pem", text)
	case strings.HasSuffix(kind, "PRIVATE KEY"):
		return Target{}, diag.Invalid("target", "the file holds a private key, which belongs to nobody else: "+
			"give the request or the certificate")
	case noRequest == nil:
		return file("certificates/csr/parse", "csr", encoded())
	case noCertificate == nil:
		return file("certificats/bimi/parse", "pem", encoded())
	case bytes.HasPrefix(inside, []byte("{")):
		return report(data)
	case bytes.HasPrefix(data, []byte("PK\x03\x04")), bytes.Contains(inside, []byte("<feedback")):
		return file("dmarc/report/analyze", "content_base64", encoded())
	}
	if t, ok := record(text); ok {
		return t, nil
	}
	if field().MatchString(text) && utf8.ValidString(text[:min(len(text), 1)]) {
		if !message().MatchString(text) { // a header alone
			return file("mail/header-audit", "headers", strings.ToValidUTF8(text, "\ufffd")+"\n")
		}
		return file("mail/header-analyze", "message_base64", encoded())
	}
	return Target{}, diag.Invalid("target", "the file is none of: a message, a DMARC or TLS report, "+
		"a certificate or signing request, an image with a QR code, the text of a record")
}

var (
	field   = diag.Regexp(`^(?:From |[!-9;-~]{1,100}:)`) // RFC 5322 section 3.6.8, and the line before it in an mbox
	message = diag.Regexp(`\r?\n\r?\n`)
)

// expanded is the beginning of the text, without gzip.
func expanded(data []byte) []byte {
	const enough = 4096
	if zr, err := gzip.NewReader(bytes.NewReader(data)); err == nil {
		data, _ = io.ReadAll(io.LimitReader(zr, enough)) // what is cut off is still a beginning
	}
	return bytes.TrimSpace(data[:min(len(data), enough)])
}

// oidMark is the purpose of mark certificates, id-kp-BrandIndicatorforMessageIdentification.
var oidMark = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 3, 31}

// certificate reads one that is no mark certificate, for which there is no operation. Whether it is trusted depends on
// where it is installed.
func certificate(c pki.Certificate) Target {
	v := view.Answer(cmp.Or(c.Subject.Short(), c.SAN.Short(1), "certificate"), "The certificate expires in "+c.Remaining())
	v.Sub = "Nothing was verified. Whether clients trust it is checked where it is served: diag tls HOST."
	v.Optional = true // no praise
	if c.Expired {
		v.Headline = "The certificate has expired"
		v.Judged([]diag.Finding{{Code: "certificate.expired", Severity: diag.Error, Title: v.Headline,
			Detail:    "It expired on " + c.NotAfter.UTC().Format(time.DateOnly) + ".",
			Reference: "RFC 5280 section 4.1.2.5", Advice: "Renew the certificate and automate renewal."}})
		v.Advise()
	}
	v.Brief = v.Headline
	v.Fact("names", c.SAN.Short(4))
	v.Fact("issuer", c.Issuer.Maker())
	v.Fact("valid from", c.NotBefore.UTC().Format(time.DateOnly))
	v.Fact("expires", c.Remaining(), "certificate.expired")
	v.Fact("key", c.PublicKey.Short())
	return Target{Kind: File, read: v}
}

// report reads a TLS report, for which there is no operation.
func report(data []byte) (Target, error) {
	r, err := tlsrpt.ParseReport(data)
	if err != nil {
		return Target{}, diag.Invalid("target", "the file is JSON, and no TLS report: %v", err)
	}
	return Target{Kind: File, read: r.View()}, nil
}
