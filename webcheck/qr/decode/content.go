package decode

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/diagkit/diagkit/diag/idn"
	"github.com/diagkit/diagkit/diag/kit"
)

// A ContentType is the type of a text as phones detect it: url, wifi, vcard, email, tel, sms, geo, otp or text.
type ContentType string

// The content types.
const (
	URL   ContentType = "url"
	WiFi  ContentType = "wifi"
	VCard ContentType = "vcard" // also MECARD and BIZCARD
	Email ContentType = "email"
	Tel   ContentType = "tel"
	SMS   ContentType = "sms"
	Geo   ContentType = "geo"
	OTP   ContentType = "otp"
	Text  ContentType = "text"
)

// Values lists the content types.
func (ContentType) Values() []string {
	return kit.Values(URL, WiFi, VCard, Email, Tel, SMS, Geo, OTP, Text)
}

// Parsed has the parts of a text. Which of them are set depends on the content type.
type Parsed struct {
	Scheme      string `json:"scheme,omitempty" doc:"of a URL, in lower case"`
	Host        string `json:"host,omitempty" doc:"of a URL, in lower case; internationalized names as A-labels"`
	HostUnicode string `json:"host_unicode,omitempty" doc:"of a URL, if it is an internationalized name"`
	Port        string `json:"port,omitempty" doc:"of a URL, if it names one"`

	SSID     string `json:"ssid,omitempty" doc:"name of a Wi-Fi network"`
	Security string `json:"security,omitempty" enum:"nopass WEP WPA WPA2-EAP WPA3 other" doc:"how a Wi-Fi network is secured; WPA covers WPA2 and WPA3 in transition"`
	Password string `json:"password,omitempty" doc:"of a Wi-Fi network"`
	Hidden   *bool  `json:"hidden,omitempty" doc:"whether a Wi-Fi network keeps its name to itself"`
	Identity string `json:"identity,omitempty" doc:"user of a Wi-Fi network with EAP"`

	Name         string   `json:"name,omitempty" doc:"of a contact"`
	Organization string   `json:"organization,omitempty" doc:"of a contact"`
	Title        string   `json:"title,omitempty" doc:"of a contact"`
	Emails       []string `json:"emails,omitempty" maxitems:"50" doc:"of a contact; the recipients of a mail"`
	Numbers      []string `json:"numbers,omitempty" maxitems:"50" doc:"telephone numbers of a contact, call or message"`
	URLs         []string `json:"urls,omitempty" maxitems:"50" doc:"of a contact"`
	Addresses    []string `json:"addresses,omitempty" maxitems:"50" doc:"postal addresses of a contact"`
	Note         string   `json:"note,omitempty" doc:"of a contact"`

	CC      []string `json:"cc,omitempty" maxitems:"50" doc:"recipients of a copy of a mail"`
	BCC     []string `json:"bcc,omitempty" maxitems:"50" doc:"hidden recipients of a mail"`
	Subject string   `json:"subject,omitempty" doc:"of a mail or message"`
	Body    string   `json:"body,omitempty" doc:"of a mail or message"`

	Latitude  *float64 `json:"latitude,omitempty" min:"-90" max:"90" doc:"of a place, in degrees"`
	Longitude *float64 `json:"longitude,omitempty" min:"-180" max:"180" doc:"of a place, in degrees"`
	Query     string   `json:"query,omitempty" doc:"what to look for at a place"`

	OTPType   string `json:"otp_type,omitempty" enum:"totp hotp migration" doc:"kind of one-time password: by time, by counter, or an export of several accounts"`
	Issuer    string `json:"issuer,omitempty" doc:"who gave the account"`
	Account   string `json:"account,omitempty" doc:"name of the account"`
	Secret    string `json:"secret,omitempty" doc:"shared secret in Base32"`
	Algorithm string `json:"algorithm,omitempty" doc:"hash of the one-time password"`
	Digits    int    `json:"digits,omitempty" doc:"length of the one-time password"`
	Period    int    `json:"period_seconds,omitempty" doc:"how long a one-time password by time is valid"`
	Counter   *int64 `json:"counter,omitempty" doc:"of a one-time password by counter"`

	userinfo bool // whether a URL has a user name
}

// maxParts bounds the lists in [Parsed].
const maxParts = 50

// parse reports what a text is, and its parts. A fault says why a text that begins as something special is no such
// thing.
func parse(text string) (kind ContentType, p *Parsed, fault string) {
	trimmed := strings.TrimSpace(text)
	scheme, rest, ok := strings.Cut(trimmed, ":")
	if !ok {
		return parseBare(trimmed)
	}
	switch strings.ToLower(scheme) {
	case "wifi":
		p, fault = parseWiFi(rest)
		return WiFi, p, fault
	case "begin":
		if strings.HasPrefix(strings.ToLower(rest), "vcard") {
			p, fault = parseVCard(trimmed)
			return VCard, p, fault
		}
	case "mecard", "bizcard":
		p, fault = parseCard(scheme, rest)
		return VCard, p, fault
	case "mailto":
		p, fault = parseMailto(rest)
		return Email, p, fault
	case "matmsg":
		p, fault = parseMatmsg(rest)
		return Email, p, fault
	case "tel":
		p, fault = parseTel(rest)
		return Tel, p, fault
	case "sms", "smsto", "mms", "mmsto":
		p, fault = parseSMS(rest)
		return SMS, p, fault
	case "geo":
		p, fault = parseGeo(rest)
		return Geo, p, fault
	case "otpauth", "otpauth-migration":
		p, fault = parseOTP(trimmed)
		return OTP, p, fault
	case "urlto": // URLTO:title:address, of old Japanese phones
		if _, address, ok := strings.Cut(rest, ":"); ok {
			return parse(address)
		}
	}
	return parseURL(trimmed)
}

// parseBare recognizes bare addresses.
func parseBare(text string) (ContentType, *Parsed, string) {
	if local, domain, ok := strings.Cut(text, "@"); ok && local != "" && strings.Contains(domain, ".") &&
		!strings.ContainsAny(text, " \t\r\n/?<>()") && strings.Count(text, "@") == 1 {
		return Email, &Parsed{Emails: []string{text}}, ""
	}
	if len(text) > 4 && strings.EqualFold(text[:4], "www.") && !strings.ContainsAny(text, " \t\r\n") {
		return parseURL("http://" + text)
	}
	return Text, nil, ""
}

func parseURL(text string) (ContentType, *Parsed, string) {
	if strings.ContainsAny(text, " \t\r\n") {
		return Text, nil, ""
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" {
		scheme, _, _ := strings.Cut(strings.ToLower(text), "://")
		if scheme == "http" || scheme == "https" {
			return URL, nil, "is not a URL that a browser can open"
		}
		return Text, nil, ""
	}
	if u.Host == "" && !isRisky(u.Scheme) && u.Scheme != "bitcoin" {
		if u.Scheme == "http" || u.Scheme == "https" {
			return URL, nil, "names no host"
		}
		return Text, nil, ""
	}
	p := &Parsed{Scheme: u.Scheme, Host: strings.ToLower(u.Hostname()), Port: u.Port(), userinfo: u.User != nil}
	p.Host, p.HostUnicode = hostForms(p.Host)
	return URL, p, ""
}

// isRisky reports schemes that run a program or open a file rather than a page.
func isRisky(scheme string) bool {
	switch scheme {
	case "javascript", "data", "file", "vbscript", "intent", "ms-msdt", "search-ms":
		return true
	}
	return false
}

// parseTel reads a telephone number (RFC 3966).
func parseTel(rest string) (*Parsed, string) {
	number, _, _ := strings.Cut(rest, ";")
	number = strings.TrimSpace(unescaped(number))
	if strings.Trim(number, "+0123456789-.() *#") != "" || !strings.ContainsAny(number, "0123456789*#") {
		return nil, "is not a telephone number"
	}
	return &Parsed{Numbers: []string{number}}, ""
}

// parseSMS reads a message, as RFC 5724 has it or as "number:body".
func parseSMS(rest string) (*Parsed, string) {
	to, query, isQuery := strings.Cut(rest, "?")
	p := &Parsed{}
	if isQuery {
		fields := fieldsOf(query)
		p.Body, p.Subject = fields["body"], fields["subject"]
	} else if before, body, ok := strings.Cut(rest, ":"); ok {
		to, p.Body = before, body
	}
	for _, one := range strings.Split(to, ",") {
		number, _, _ := strings.Cut(one, ";")
		if number = strings.TrimSpace(unescaped(number)); number != "" && len(p.Numbers) < maxParts {
			p.Numbers = append(p.Numbers, number)
		}
	}
	if len(p.Numbers) == 0 && p.Body == "" {
		return nil, "names no number"
	}
	return p, ""
}

// parseMailto reads a mail (RFC 6068).
func parseMailto(rest string) (*Parsed, string) {
	to, query, _ := strings.Cut(rest, "?")
	fields := fieldsOf(query)
	p := &Parsed{
		Subject: fields["subject"], Body: fields["body"], CC: addresses(fields["cc"]), BCC: addresses(fields["bcc"]),
	}
	for _, one := range strings.Split(to, ",") {
		p.Emails = append(p.Emails, addresses(unescaped(one))...)
	}
	p.Emails = append(p.Emails, addresses(fields["to"])...)
	p.Emails = p.Emails[:min(len(p.Emails), maxParts)]
	if len(p.Emails)+len(p.CC)+len(p.BCC) == 0 {
		return p, "names no recipient"
	}
	return p, ""
}

func addresses(text string) []string {
	var list []string
	for _, one := range strings.Split(text, ",") {
		if one = strings.TrimSpace(one); one != "" && len(list) < maxParts {
			list = append(list, one)
		}
	}
	return list
}

// fieldsOf reads a query. Unlike in forms a plus sign is a plus sign (RFC 6068 section 5).
func fieldsOf(query string) map[string]string {
	fields := map[string]string{}
	for _, pair := range strings.Split(query, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if name = strings.ToLower(unescaped(name)); fields[name] == "" {
			fields[name] = unescaped(value)
		}
	}
	return fields
}

// unescaped undoes percent-encoding, or leaves what is malformed.
func unescaped(s string) string {
	if out, err := url.PathUnescape(s); err == nil {
		return strings.ToValidUTF8(out, "\uFFFD")
	}
	return s
}

// parseGeo reads a place (RFC 5870).
func parseGeo(rest string) (*Parsed, string) {
	place, query, _ := strings.Cut(rest, "?")
	place, _, _ = strings.Cut(place, ";")
	parts := strings.Split(place, ",")
	if len(parts) < 2 || len(parts) > 3 {
		return nil, "needs a latitude and a longitude, separated by a comma"
	}
	latitude, err := strconv.ParseFloat(strings.TrimSpace(parts[0]), 64)
	longitude, err2 := strconv.ParseFloat(strings.TrimSpace(parts[1]), 64)
	if err != nil || err2 != nil || !(latitude >= -90 && latitude <= 90 && longitude >= -180 && longitude <= 180) {
		return nil, "needs a latitude from -90 to 90 and a longitude from -180 to 180"
	}
	return &Parsed{Latitude: &latitude, Longitude: &longitude, Query: fieldsOf(query)["q"]}, ""
}

// hostForms returns a host in ASCII, and in Unicode if that differs.
func hostForms(host string) (ascii, unicode string) {
	r, err := idn.Convert(idn.Request{Domain: host})
	if err != nil || r.ASCII == "" || !r.IsIDN {
		return host, ""
	}
	if r.Unicode != r.ASCII {
		unicode = r.Unicode
	}
	return r.ASCII, unicode
}

// lookalike returns what a host may be taken for: the plain label that one of its labels looks like, or how its scripts
// are mixed. Empty: nothing.
func lookalike(host string) string {
	if !strings.Contains(host, "xn--") {
		return ""
	}
	r, err := idn.Convert(idn.Request{Domain: host})
	if err != nil {
		return ""
	}
	for _, l := range r.Labels {
		switch {
		case l.ConfusableWith != "":
			return "looks like " + l.ConfusableWith
		case l.MixedScript:
			return "mixes the scripts " + strings.Join(l.Scripts, " and ")
		}
	}
	return ""
}

// shorteners are hosts whose links hide where they lead. They are those that the services themselves document,
// as of November 2026.
var shorteners = []string{"bit.ly", "bitly.com", "buff.ly", "cutt.ly", "dub.sh", "goo.gl", "is.gd", "j.mp", "lnkd.in",
	"ow.ly", "qr.ae", "qrco.de", "rb.gy", "rebrand.ly", "s.id", "shorturl.at", "t.co", "t.ly", "tiny.cc", "tinyurl.com",
	"v.gd", "youtu.be"}
