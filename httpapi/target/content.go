package target

import (
	"bytes"
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
	switch kind := pemKind(text); {
	case len(data) == 0:
		return Target{}, diag.Invalid("target", "the file is empty")
	case isImage(data):
		return file("http/qr/decode", "image_base64", encoded())
	case strings.HasSuffix(kind, "CERTIFICATE REQUEST"):
		return file("certificates/csr/parse", "csr", text)
	case kind == "CERTIFICATE":
		return file("certificats/bimi/parse", "pem", text)
	case strings.HasSuffix(kind, "PRIVATE KEY"):
		return Target{}, diag.Invalid("target", "the file holds a private key, which belongs to nobody else: give the request or the certificate")
	case isDER(data, func(d []byte) error { _, err := x509.ParseCertificateRequest(d); return err }):
		return file("certificates/csr/parse", "csr", encoded())
	case isDER(data, func(d []byte) error { _, err := x509.ParseCertificate(d); return err }):
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

// pemKind is the label of a PEM block (RFC 7468 section 2), or nothing.
func pemKind(text string) string {
	if block, _ := pem.Decode([]byte(text + "\n")); block != nil {
		return block.Type
	}
	return ""
}

func isDER(data []byte, parse func([]byte) error) bool {
	return len(data) > 2 && data[0] == 0x30 && parse(data) == nil
}

// isImage reports whether the first bytes are those of an image.
func isImage(data []byte) bool { return strings.HasPrefix(http.DetectContentType(data), "image/") }

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
