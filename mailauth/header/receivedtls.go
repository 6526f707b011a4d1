package header

import "strings"

// encryption finds out whether the message was handed over with TLS.
func (r *received) encryption() {
	for _, c := range r.comments {
		if isTLSComment(c) {
			r.tls = tlsYes
			r.tlsDetails(c)
		}
	}
	protocol := strings.ToUpper(r.with)
	// Cisco has "ESMTP/TLS/ECDHE-RSA-AES256-GCM-SHA384".
	if name, rest, ok := strings.Cut(protocol, "/TLS"); ok && strings.HasSuffix(name, "SMTP") {
		r.tls, r.tlsCipher = tlsYes, strings.Trim(rest, "/")
		return
	}
	protocol, _, _ = strings.Cut(protocol, " ")
	if r.tls == tlsUnknown {
		switch {
		case encryptedProtocols[protocol]:
			r.tls = tlsYes
		case plainProtocols[protocol], strings.HasPrefix(strings.ToLower(r.with), "microsoft smtp server"):
			r.tls = tlsNo
		}
	}
}

// The protocols that say with their name whether they were encrypted (RFC 3848 section 2, RFC 6531 section 4.3, and
// what servers write besides). LMTP and what is no SMTP mostly stays within one host, and is in neither list.
var (
	encryptedProtocols = map[string]bool{
		"ESMTPS": true, "ESMTPSA": true, "SMTPS": true, "SMTPSA": true, "LMTPS": true, "LMTPSA": true, "HTTPS": true,
		"UTF8SMTPS": true, "UTF8SMTPSA": true, "UTF8LMTPS": true, "UTF8LMTPSA": true, "ASMTPS": true, "XESMTPS": true,
	}
	plainProtocols = map[string]bool{"SMTP": true, "ESMTP": true, "ESMTPA": true, "SMTPA": true, "UTF8SMTP": true,
		"UTF8SMTPA": true, "ASMTP": true}
)

// isTLSComment reports whether a comment describes an encrypted connection: "using TLSv1.3 with cipher …",
// "version=TLS1_3 cipher=…", "TLS1.3", "AUTH: LOGIN x, TLS: TLSv1/SSLv3,256bits,AES256-SHA", "Using TLS".
func isTLSComment(c string) bool {
	lower := strings.ToLower(c)
	if strings.HasPrefix(lower, "no client certificate") || strings.HasPrefix(lower, "client did not present") {
		return false
	}
	for _, mark := range []string{"using tls", "using ssl", "version=tls", "version=ssl", "tls: ", "tls="} {
		if strings.Contains(lower, mark) {
			return true
		}
	}
	return strings.HasPrefix(lower, "tls") && len(lower) <= len("TLSv1.3") || strings.HasPrefix(lower,
		"tlsv1") || strings.HasPrefix(lower, "tls1.")
}

// tlsDetails reads version and cipher from a comment.
func (r *received) tlsDetails(c string) {
	words := strings.FieldsFunc(c, func(ch rune) bool { return ch == ' ' || ch == ',' || ch == ';' })
	// Exim of old has "TLS1.2:ECDHE_RSA_AES_256_GCM_SHA384:256", also behind X= or "TLSv1.2:".
	if parts := strings.Split(c, ":"); len(words) == 1 && len(parts) > 1 && strings.HasPrefix(strings.ToLower(parts[0]), "tls") {
		r.tlsVersion, r.tlsCipher = tlsVersion(parts[0]), parts[1]
		return
	}
	for i, w := range words {
		lower := strings.ToLower(w)
		switch {
		case strings.HasPrefix(lower, "version="):
			r.tlsVersion = tlsVersion(w[len("version="):])
		case strings.HasPrefix(lower, "cipher="):
			r.tlsCipher = strings.Trim(w[len("cipher="):], `"`)
		case lower == "cipher" && i+1 < len(words):
			r.tlsCipher = words[i+1]
		case r.tlsVersion == "" && isTLSVersion(lower):
			r.tlsVersion = tlsVersion(w)
		}
	}
}

// isTLSVersion reports whether a word in lower case names a version of TLS.
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

// weakTLS reports whether a version of TLS is one that must not be used any more (RFC 8996, RFC 7568).
func weakTLS(version string) bool {
	return strings.HasPrefix(version, "SSL") || version == "TLSv1.0" || version == "TLSv1.1"
}
