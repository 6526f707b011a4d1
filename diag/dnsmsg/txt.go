package dnsmsg

import (
	"strings"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/miekg/dns"
)

// MaxTXTString is the maximum length of a character-string in bytes (RFC 1035 section 3.3).
const MaxTXTString = 255

// TXT returns the text of a TXT record: its character-strings joined without a separator, as bytes
// (RFC 7208 section 3.3).
func TXT(r *dns.TXT) string {
	if len(r.Txt) == 1 {
		return unescape(r.Txt[0])
	}
	return strings.Join(TXTStrings(r), "")
}

// TXTStrings returns the character-strings of a TXT record as bytes.
func TXTStrings(r *dns.TXT) []string {
	list := make([]string, len(r.Txt))
	for i, s := range r.Txt {
		list[i] = unescape(s)
	}
	return list
}

// SplitTXT returns the character-strings of a pasted text: the quoted strings, if it is written as in a zone
// file (RFC 1035 section 5.1), otherwise the text itself, cut into strings of at most [MaxTXTString] bytes.
// There is at least one.
func SplitTXT(text string) []string {
	if quoted := unquote(strings.TrimSpace(text)); quoted != nil {
		return quoted
	}
	var list []string
	for len(text) > MaxTXTString {
		list, text = append(list, text[:MaxTXTString]), text[MaxTXTString:]
	}
	return append(list, text)
}

// zoneLine begins a TXT record in a zone file whose strings are in quotes: a name, perhaps a TTL and a class, the type.
var zoneLine = kit.Regexp(`(?i)^\s*[^\s"]+\s+(?:[0-9]+[smhdw]?\s+)?(?:IN\s+)?(?:[0-9]+[smhdw]?\s+)?TXT\s*[("]`)

// PastedTXT is [SplitTXT] for a text that may also be a complete TXT record of a zone file, as key generators
// write it; line reports whether it is.
func PastedTXT(text string) (parts []string, line bool) {
	if zoneLine().MatchString(text) {
		zone := dns.NewZoneParser(strings.NewReader(strings.TrimSpace(text)+"\n"), ".", "") // which includes no files
		zone.SetDefaultTTL(0)
		if rr, _ := zone.Next(); rr != nil {
			if r, ok := rr.(*dns.TXT); ok && zone.Err() == nil {
				return TXTStrings(r), true
			}
		}
	}
	return SplitTXT(text), false
}

// unquote returns the strings of a text that is nothing but strings in quotes, else nil.
func unquote(text string) []string {
	var list []string
	for text != "" {
		if text[0] != '"' {
			return nil
		}
		end := 1
		for end < len(text) && text[end] != '"' {
			if text[end] == '\\' {
				end++
			}
			end++
		}
		if end >= len(text) {
			return nil
		}
		list = append(list, unescape(text[1:end]))
		text = strings.TrimSpace(text[end+1:])
	}
	return list
}

// unescape undoes the presentation format of the DNS library (RFC 1035 section 5.1).
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		if d := s[i+1:]; len(d) >= 3 && areDigits(d[:3]) {
			b.WriteByte((d[0]-'0')*100 + (d[1]-'0')*10 + d[2] - '0')
			i += 3
			continue
		}
		i++
		b.WriteByte(s[i])
	}
	return b.String()
}

func areDigits(s string) bool { return strings.Trim(s, "0123456789") == "" }
