package target

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/tlsrpt"
)

// Content finds out what is in a file: a message, a DMARC or TLS report, a signing request, a certificate, an image or a
// record. The error says which there are.
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
	_, noCertificate := x509.ParseCertificate(data)
	switch {
	case len(data) == 0:
		return Target{}, diag.Invalid("target", "the file is empty")
	case strings.HasPrefix(http.DetectContentType(data), "image/"):
		return file("http/qr/decode", "image_base64", encoded())
	case strings.HasSuffix(kind, "CERTIFICATE REQUEST"):
		return file("certificates/csr/parse", "csr", text)
	case kind == "CERTIFICATE":
		return file("certificats/bimi/parse", "pem", text)
	case strings.HasSuffix(kind, "PRIVATE KEY"):
		return Target{}, diag.Invalid("target", "the file holds a private key, which belongs to nobody else: give the request or the certificate")
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
	return Target{}, diag.Invalid("target", "the file is none of: a message, a DMARC or TLS report, a certificate or signing request,"+
		" an image with a QR code, the text of a record")
}

var (
	field   = diag.Regexp(`^(?:From |[!-9;-~]{1,100}:)`) // RFC 5322 section 3.6.8, and the line before a message in an mbox
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

// report reads a TLS report, for which there is no operation.
func report(data []byte) (Target, error) {
	r, err := tlsrpt.ParseReport(data)
	if err != nil {
		return Target{}, diag.Invalid("target", "the file is JSON, and no TLS report: %v", err)
	}
	return Target{Kind: File, read: r.View()}, nil
}
