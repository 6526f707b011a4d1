package decode

import (
	"cmp"
	"encoding/base32"
	"net/url"
	"strconv"
	"strings"

	"github.com/diagkit/diagkit/diag/kit"
)

// A fieldList is the content of texts of the form "S:name;T:WPA;;": names with values, in their order.
type fieldList []field

// A field has a name in upper case. Its value may have parts of its own in raw, where escapes are still in place.
type field struct{ name, value, raw string }

// splitFields reads such a text. A backslash takes the next character as it is.
func splitFields(text string) fieldList {
	var list fieldList
	for _, part := range splitEscaped(text, ';') {
		nameAndValue := splitEscaped(part, ':')
		name := strings.ToUpper(strings.TrimSpace(unbackslashed(nameAndValue[0])))
		raw := strings.Join(nameAndValue[1:], ":")
		if name != "" && len(list) < 4*maxParts {
			list = append(list, field{name, unbackslashed(raw), raw})
		}
	}
	return list
}

// splitEscaped splits a text at each separator without a backslash before it. There is one part at least.
func splitEscaped(text string, separator byte) (parts []string) {
	begin := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case separator:
			parts = append(parts, text[begin:i])
			begin = i + 1
		}
	}
	return append(parts, text[begin:])
}

// unbackslashed takes each character behind a backslash as it is.
func unbackslashed(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func (l fieldList) first(name string) string { return l.named(name).value }

func (l fieldList) named(name string) field {
	for _, f := range l {
		if f.name == name {
			return f
		}
	}
	return field{}
}

func (l fieldList) all(name string) (list []string) {
	for _, f := range l {
		if f.name == name && f.value != "" && len(list) < maxParts {
			list = append(list, f.value)
		}
	}
	return list
}

// parseWiFi reads a network (WPA3 Specification section 7, and the form of ZXing that it comes from).
func parseWiFi(rest string) (*Parsed, string) {
	fields := splitFields(rest)
	p := &Parsed{SSID: quoted(fields.first("S")), Password: quoted(fields.first("P")), Identity: fields.first("I")}
	hidden := strings.EqualFold(fields.first("H"), "true")
	p.Hidden = &hidden
	switch kind := strings.ToUpper(fields.first("T")); {
	case kind == "NOPASS", kind == "" && p.Password == "":
		p.Security = "nopass"
	case kind == "WEP":
		p.Security = "WEP"
	case kind == "WPA2-EAP", kind == "WPA-EAP", kind == "EAP":
		p.Security = "WPA2-EAP"
	case kind == "SAE", kind == "WPA3":
		p.Security = "WPA3"
	case kind == "", kind == "WPA", kind == "WPA2", kind == "WPA/WPA2", kind == "WPA2/WPA3", kind == "WPA/WPA2/WPA3":
		p.Security = "WPA"
	default:
		p.Security = "other"
	}
	switch {
	case p.SSID == "":
		return nil, "names no network (S:)"
	case p.Security == "WPA" && p.Password == "":
		return p, "has no password (P:) for a network that needs one"
	}
	return p, ""
}

// quoted removes the quotation marks that distinguish a name of hexadecimal digits from bytes.
func quoted(s string) string {
	if len(s) > 1 && s[0] == '"' && s[len(s)-1] == '"' {
		return s[1 : len(s)-1]
	}
	return s
}

// parseCard reads MECARD and BIZCARD, the contacts of Japanese phones.
func parseCard(scheme, rest string) (*Parsed, string) {
	fields := splitFields(rest)
	p := &Parsed{
		Organization: cmp.Or(fields.first("ORG"), fields.first("C")), Emails: fields.all("EMAIL"), Numbers: fields.all("TEL"),
		URLs: fields.all("URL"), Addresses: fields.all("ADR"), Note: fields.first("NOTE"), Title: fields.first("TITLE"),
	}
	if strings.EqualFold(scheme, "mecard") { // "family,given"
		parts := kit.Map(splitEscaped(fields.named("N").raw, ','), unbackslashed)
		p.Name = words(append(parts[1:], parts[0])...)
	} else {
		p.Name = words(fields.first("N"), fields.first("X"))
		p.Title, p.Addresses, p.Numbers = fields.first("T"), fields.all("A"), append(fields.all("B"), fields.all("M")...)
		p.Emails = fields.all("E")
	}
	if p.Name == "" && p.Organization == "" && len(p.Numbers)+len(p.Emails) == 0 {
		return nil, "has no name"
	}
	return p, ""
}

// words joins what is not empty by single spaces.
func words(parts ...string) string {
	return strings.Join(strings.Fields(strings.Join(parts, " ")), " ")
}

// parseMatmsg reads the mail of Japanese phones.
func parseMatmsg(rest string) (*Parsed, string) {
	fields := splitFields(rest)
	p := &Parsed{Emails: fields.all("TO"), Subject: fields.first("SUB"), Body: fields.first("BODY")}
	if len(p.Emails) == 0 {
		return p, "names no recipient"
	}
	return p, ""
}

// parseOTP reads an account of an authenticator, in the form of Google Authenticator that all of them read.
func parseOTP(text string) (*Parsed, string) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, "is not a URI"
	}
	if strings.EqualFold(u.Scheme, "otpauth-migration") {
		return &Parsed{OTPType: "migration"}, ""
	}
	q := u.Query()
	p := &Parsed{
		OTPType: strings.ToLower(u.Host), Secret: strings.ToUpper(strings.ReplaceAll(q.Get("secret"), " ", "")),
		Issuer:    q.Get("issuer"),
		Algorithm: strings.ToUpper(cmp.Or(q.Get("algorithm"), "SHA1")), Digits: 6,
	}
	p.Account = strings.TrimPrefix(u.Path, "/")
	if issuer, account, ok := strings.Cut(p.Account, ":"); ok {
		p.Issuer, p.Account = cmp.Or(p.Issuer, issuer), strings.TrimSpace(account)
	}
	if n, err := strconv.Atoi(q.Get("digits")); err == nil {
		p.Digits = n
	}
	switch p.OTPType {
	case "totp":
		p.Period = 30
		if n, err := strconv.Atoi(q.Get("period")); err == nil && n > 0 {
			p.Period = n
		}
	case "hotp":
		if n, err := strconv.ParseInt(q.Get("counter"), 10, 64); err == nil {
			p.Counter = &n
		}
	default:
		return nil, "is neither totp nor hotp"
	}
	if _, err := base32.StdEncoding.WithPadding(base32.NoPadding).
		DecodeString(strings.TrimRight(p.Secret, "=")); err != nil || p.Secret == "" {
		return p, "has no secret in Base32"
	}
	if p.OTPType == "hotp" && p.Counter == nil {
		return p, "has no counter, which hotp needs"
	}
	return p, ""
}
