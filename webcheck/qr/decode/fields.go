package decode

import (
	"cmp"
	"encoding/base32"
	"net/url"
	"strconv"
	"strings"
)

// A fieldList is what stands in texts of the form "S:name;T:WPA;;": names with values, in their order.
type fieldList []struct{ name, value string }

// splitFields reads such a text. A backslash takes the next character as it is.
func splitFields(text string) fieldList {
	var list fieldList
	var name, value strings.Builder
	inValue := false
	flush := func() {
		if name.Len() > 0 && len(list) < 4*maxParts {
			list = append(list, struct{ name, value string }{strings.ToUpper(strings.TrimSpace(name.String())), value.String()})
		}
		name.Reset()
		value.Reset()
		inValue = false
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		part := &name
		if inValue {
			part = &value
		}
		switch {
		case c == '\\' && i+1 < len(text):
			i++
			part.WriteByte(text[i])
		case c == ';':
			flush()
		case c == ':' && !inValue:
			inValue = true
		default:
			part.WriteByte(c)
		}
	}
	flush()
	return list
}

func (l fieldList) first(name string) string {
	for _, f := range l {
		if f.name == name {
			return f.value
		}
	}
	return ""
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

// quoted takes away the quotation marks that tell a name of hexadecimal digits from bytes.
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
		family, given, _ := strings.Cut(fields.first("N"), ",")
		p.Name = strings.TrimSpace(given + " " + family)
	} else {
		p.Name = strings.TrimSpace(fields.first("N") + " " + fields.first("X"))
		p.Title, p.Addresses, p.Numbers = fields.first("T"), fields.all("A"), append(fields.all("B"), fields.all("M")...)
		p.Emails = fields.all("E")
	}
	if p.Name == "" && p.Organization == "" && len(p.Numbers)+len(p.Emails) == 0 {
		return nil, "names nobody"
	}
	return p, ""
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

// parseVCard reads a contact (RFC 6350, and RFC 2426 before it).
func parseVCard(text string) (*Parsed, string) {
	text = strings.NewReplacer("\r\n ", "", "\n ", "", "\r\n\t", "", "\n\t", "", "\r\n", "\n", "\r", "\n").Replace(text)
	p := &Parsed{}
	ended := false
	for line := range strings.SplitSeq(text, "\n") {
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		name, _, _ = strings.Cut(strings.ToUpper(strings.TrimSpace(name)), ";")
		if at := strings.LastIndexByte(name, '.'); at >= 0 {
			name = name[at+1:] // the name of a group stands before it
		}
		ended = ended || name == "END"
		p.property(name, strings.TrimSpace(value))
	}
	if p.Name == "" && p.Organization == "" && len(p.Numbers)+len(p.Emails) == 0 {
		return nil, "names nobody"
	}
	if !ended {
		return p, "does not end with END:VCARD"
	}
	return p, ""
}

func (p *Parsed) property(name, value string) {
	add := func(list *[]string) {
		if value != "" && len(*list) < maxParts {
			*list = append(*list, vcardText(value, " "))
		}
	}
	switch name {
	case "FN":
		p.Name = vcardText(value, " ")
	case "N":
		if p.Name == "" { // family; given; additional; prefix; suffix
			parts := append(strings.Split(value, ";"), "", "", "", "")
			p.Name = strings.Join(strings.Fields(vcardText(parts[3]+" "+parts[1]+" "+parts[2]+" "+parts[0]+" "+parts[4], " ")), " ")
		}
	case "ORG":
		p.Organization = vcardText(value, ", ")
	case "TITLE", "ROLE":
		p.Title = cmp.Or(p.Title, vcardText(value, " "))
	case "EMAIL":
		add(&p.Emails)
	case "TEL":
		value = strings.TrimPrefix(value, "tel:")
		add(&p.Numbers)
	case "URL":
		add(&p.URLs)
	case "ADR":
		value = strings.Trim(strings.Join(strings.FieldsFunc(value, func(r rune) bool { return r == ';' }), ", "), ", ")
		add(&p.Addresses)
	case "NOTE":
		p.Note = vcardText(value, ";")
	}
}

// vcardText undoes the escapes of RFC 6350 section 3.4; semicolons separate parts.
func vcardText(s, separator string) string {
	return strings.Trim(strings.NewReplacer(`\n`, "\n", `\N`, "\n", `\,`, ",", `\;`, ";", `\\`, `\`, ";", separator).Replace(s), " ,")
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
	p := &Parsed{OTPType: strings.ToLower(u.Host), Secret: strings.ToUpper(strings.ReplaceAll(q.Get("secret"), " ", "")), Issuer: q.Get("issuer"),
		Algorithm: strings.ToUpper(cmp.Or(q.Get("algorithm"), "SHA1")), Digits: 6}
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
	if _, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.TrimRight(p.Secret, "=")); err != nil || p.Secret == "" {
		return p, "has no secret in Base32"
	}
	if p.OTPType == "hotp" && p.Counter == nil {
		return p, "has no counter, which hotp needs"
	}
	return p, ""
}
