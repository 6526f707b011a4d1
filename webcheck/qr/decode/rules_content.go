package decode

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"unicode"

	"github.com/diagkit/diagkit/diag"
)

var contentRules = diag.Rules[*evidence]{
	each("qr.content.empty", diag.Warning, "", "Code is empty", "Each code holds a text",
		"Create the code again, with the text that it is to hold.",
		func(c *Code) string { return iff(c.Text == "", "holds no text") }),
	each("qr.content.malformed", diag.Warning, "",
		"Text is malformed", "Texts of a known form have all that the form needs",
		"Create the code again: phones show an error, or the bare text.",
		func(c *Code) string { return iff(c.fault != "", "is meant as "+nouns[c.ContentType]+" but "+c.fault) }),
	each("qr.content.charset", diag.Warning, iso+"section 7.4.2",
		"Character set must be guessed", "Bytes are UTF-8, or the code names their character set",
		"Write the text as UTF-8, announced by ECI 26: readers guess differently.",
		func(c *Code) string {
			return iff(!c.IsUTF8 && c.ECI == nil && slices.Contains(c.Modes, "byte"), "holds bytes that are no UTF-8, and names no character set")
		}),
	each("qr.content.invisible", diag.Warning, "",
		"Invisible characters in the text", "Texts have no characters that hide or reorder others",
		"Do not trust how the text looks: examine it character by character.",
		func(c *Code) string {
			for _, r := range c.Text {
				if unicode.Is(unicode.Bidi_Control, r) || r == 0x200b || r == 0x2060 || r == 0xfeff || r < 0x20 && !strings.ContainsRune("\r\n\t\x1c\x1d\x1e\x04", r) {
					return fmt.Sprintf("holds the invisible character U+%04X", r)
				}
			}
			return ""
		}),
	each("qr.url.scheme", diag.Error, "", "URL that runs a program", "URLs lead to pages, not to programs or files",
		"Do not open it.",
		parsedAs(URL, func(p *Parsed) string {
			return iff(isRisky(p.Scheme), "holds a URL with the scheme "+diag.Quote(p.Scheme)+", which runs a program or opens a file")
		})),
	each("qr.url.userinfo", diag.Error, "RFC 9110 section 4.2.4",
		"URL hides its host behind a user name", "URLs have no user name",
		"Do not open it; examine it with phishing/check.",
		parsedAs(URL, func(p *Parsed) string {
			return iff(p.userinfo, "holds a URL with a user name before its real host, "+diag.Quote(p.Host))
		})),
	each("qr.url.lookalike", diag.Warning, "UTS #39 section 4",
		"Host can be taken for another", "Hosts of URLs cannot be taken for others",
		"Examine the URL with phishing/check before you open it.",
		parsedAs(URL, func(p *Parsed) string {
			what := lookalike(p.Host)
			return iff(what != "", "leads to "+diag.Quote(p.Host)+", which "+what)
		})),
	each("qr.url.address", diag.Warning, "", "URL leads to an IP address", "URLs lead to named hosts",
		"Use a domain name; if the code is not yours, examine the URL with phishing/check before you open it.",
		parsedAs(URL, func(p *Parsed) string {
			_, err := netip.ParseAddr(strings.Trim(p.Host, "[]"))
			return iff(err == nil, "leads to the IP address "+diag.Quote(p.Host))
		})),
	each("qr.url.http", diag.Warning, "RFC 9110 section 4.2.2", "URL without encryption", "URLs are https",
		"Create the code again with https: a printed code cannot be corrected by a redirect that an attacker answers first.",
		parsedAs(URL, func(p *Parsed) string {
			return iff(p.Scheme == "http", "leads to "+diag.Quote(p.Host)+" by http, without encryption")
		})),
	each("qr.url.shortener", diag.Info, "", "URL of a link shortener", "URLs show where they lead",
		"Examine where it ends with url/check. For codes of your own, use a redirect on your own domain: it stays under your control.",
		parsedAs(URL, func(p *Parsed) string {
			return iff(slices.Contains(shorteners, strings.TrimPrefix(p.Host, "www.")), "leads to "+diag.Quote(p.Host)+", which hides where the link ends")
		})),
	each("qr.wifi.open", diag.Warning, "",
		"Wi-Fi network is not protected", "Wi-Fi networks are protected by WPA2 or WPA3",
		"Protect the network with WPA2 or WPA3: on open networks and with WEP, anyone nearby can read the traffic.",
		parsedAs(wiFi, func(p *Parsed) string {
			return iff(p.Security == "nopass" || p.Security == "WEP", "joins the Wi-Fi network "+diag.Quote(p.SSID)+" without encryption that protects")
		})),
	each("qr.wifi.password", diag.Info, "",
		"Wi-Fi password can be read by anyone who sees the code", "No code holds a Wi-Fi password",
		"Use it for a guest network only, and change the password if a picture of the code gets out.",
		parsedAs(wiFi, func(p *Parsed) string {
			return iff(p.Password != "", "holds the password of the Wi-Fi network "+diag.Quote(p.SSID)+" in plain text")
		})),
	each("qr.otp.secret", diag.Warning, "",
		"Second factor can be copied by anyone who sees the code", "No code holds the secret of a one-time password",
		"Treat the image as a password: delete it, and enrol anew if anyone else has seen it.",
		parsedAs(otp, func(p *Parsed) string { return "holds the secret of " + p.account() + " in plain text" })),
}

// nouns are the content types as a sentence calls them.
var nouns = map[ContentType]string{
	URL: "a URL", wiFi: "a Wi-Fi network", vCard: "a contact", email: "a mail", tel: "a telephone number", sms: "a message",
	geo: "a place", otp: "an account of an authenticator", plain: "a text",
}

func parsedAs(kind ContentType, fails func(*Parsed) string) func(*Code) string {
	return func(c *Code) string {
		if c.ContentType != kind || c.Parsed == nil {
			return ""
		}
		return fails(c.Parsed)
	}
}

func (p *Parsed) account() string {
	switch {
	case p.OTPType == "migration":
		return "several accounts"
	case p.Issuer != "":
		return "an account with " + diag.Quote(p.Issuer)
	}
	return "an account"
}
