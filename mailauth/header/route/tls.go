package route

import (
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
)

// The protocols that say with their name whether they were encrypted (RFC 3848 section 2, RFC 6531 section 4.3, and
// what servers write besides). LMTP and what is no SMTP mostly stays within one host, and is in neither list.
var (
	encryptedProtocols = diag.Words(`ESMTPS ESMTPSA SMTPS SMTPSA LMTPS LMTPSA HTTPS UTF8SMTPS UTF8SMTPSA UTF8LMTPS
		UTF8LMTPSA ASMTPS XESMTPS`)
	plainProtocols = diag.Words("SMTP ESMTP ESMTPA SMTPA UTF8SMTP UTF8SMTPA ASMTP")
)

// Encryption is what a field Received says of TLS.
type Encryption struct {
	TLS        *bool // whether the hop was encrypted; nil if the field does not tell
	TLSVersion string
	TLSCipher  string
}

func (e *Encryption) detect(with string, comments []string) {
	for _, c := range comments {
		if isTLSComment(c) {
			e.TLS = new(true)
			e.details(c)
		}
	}
	protocol := strings.ToUpper(with)
	// Cisco has "ESMTP/TLS/ECDHE-RSA-AES256-GCM-SHA384".
	if name, rest, ok := strings.Cut(protocol, "/TLS"); ok && strings.HasSuffix(name, "SMTP") {
		e.TLS, e.TLSCipher = new(true), strings.Trim(rest, "/")
		return
	}
	protocol, _, _ = strings.Cut(protocol, " ")
	switch {
	case e.TLS != nil:
	case encryptedProtocols()[protocol]:
		e.TLS = new(true)
	case plainProtocols()[protocol], microsoft(with):
		e.TLS = new(false)
	}
}

// microsoft reports whether a protocol is that of Exchange and Microsoft 365.
func microsoft(with string) bool {
	return strings.HasPrefix(strings.ToLower(with), "microsoft smtp server")
}

// isTLSComment reports whether a comment describes an encrypted connection: "using TLSv1.3 with cipher …",
// "version=TLS1_3 cipher=…", "TLS1.3", "AUTH: LOGIN x, TLS: TLSv1/SSLv3,256bits,AES256-SHA", "Using TLS".
func isTLSComment(c string) bool {
	c = strings.ToLower(c)
	begins := func(mark string) bool { return strings.HasPrefix(c, mark) }
	if begins("no client certificate") || begins("client did not present") {
		return false
	}
	marks := []string{"using tls", "using ssl", "version=tls", "version=ssl", "tls: ", "tls="}
	return slices.ContainsFunc(marks, func(mark string) bool { return strings.Contains(c, mark) }) ||
		begins("tls") && len(c) <= len("TLSv1.3") || begins("tlsv1") || begins("tls1.")
}

// details reads version and cipher from a comment.
func (e *Encryption) details(c string) {
	words := strings.FieldsFunc(c, func(ch rune) bool { return ch == ' ' || ch == ',' || ch == ';' })
	// Exim of old has "TLS1.2:ECDHE_RSA_AES_256_GCM_SHA384:256", also behind X= or "TLSv1.2:".
	if parts := strings.Split(c, ":"); len(words) == 1 && len(parts) > 1 && strings.HasPrefix(strings.ToLower(parts[0]), "tls") {
		e.TLSVersion, e.TLSCipher = tlsVersion(parts[0]), parts[1]
		return
	}
	for i, w := range words {
		lower := strings.ToLower(w)
		switch {
		case strings.HasPrefix(lower, "version="):
			e.TLSVersion = tlsVersion(w[len("version="):])
		case strings.HasPrefix(lower, "cipher="):
			e.TLSCipher = strings.Trim(w[len("cipher="):], `"`)
		case lower == "cipher" && i+1 < len(words):
			e.TLSCipher = words[i+1]
		case e.TLSVersion == "" && isTLSVersion(lower):
			e.TLSVersion = tlsVersion(w)
		}
	}
}

func isTLSVersion(w string) bool {
	return strings.HasPrefix(w, "tlsv1") || strings.HasPrefix(w, "sslv") || strings.HasPrefix(w, "tls1")
}

// tlsVersion writes the version of TLS in one way: TLSv1.3 for TLS1_3, TLS1.3 and TLSv1.3.
func tlsVersion(s string) string {
	s, _, _ = strings.Cut(strings.Trim(s, `"`), "/") // as in TLSv1/SSLv3, the family of OpenSSL
	v := strings.ReplaceAll(s, "_", ".")
	digits := strings.TrimLeft(v, "TLSVtlsv")
	switch {
	case digits == "" || len(digits) > 3:
		return s
	case digits == "1":
		digits = "1.0"
	}
	if strings.HasPrefix(strings.ToUpper(v), "SSL") {
		return "SSLv" + strings.TrimSuffix(digits, ".0")
	}
	return "TLSv" + digits
}

// WeakTLS reports whether the version of TLS is one that must not be used any more (RFC 8996, RFC 7568).
func (e *Encryption) WeakTLS() bool {
	return strings.HasPrefix(e.TLSVersion, "SSL") || e.TLSVersion == "TLSv1.0" || e.TLSVersion == "TLSv1.1"
}
