package decode

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/diagkit/diagkit/diag"
)

// contentRules examine what codes say.
var contentRules = diag.Rules[*evidence]{
	each("qr.content.empty", diag.Warning, func(c *Code) string {
		return iff(c.Text == "", "holds no text")
	}, diag.Rule[*evidence]{
		Title: "Code is empty", Requirement: "Each code holds a text",
		Advice: "Make the code anew, with the text that it is to hold.",
	}),
	each("qr.content.malformed", diag.Warning, func(c *Code) string {
		return iff(c.fault != "", "is meant as "+nouns[c.ContentType]+" but "+c.fault)
	}, diag.Rule[*evidence]{
		Title: "Text is malformed", Requirement: "Texts of a known form have all that the form needs",
		Advice: "Make the code anew: phones show an error, or the bare text.",
	}),
	each("qr.content.charset", diag.Warning, func(c *Code) string {
		return iff(!c.IsUTF8 && c.ECI == nil && c.hasBytes(), "holds bytes that are no UTF-8, and names no character set")
	}, diag.Rule[*evidence]{
		Title: "Character set must be guessed", Requirement: "Bytes are UTF-8, or the code names their character set",
		Ref: iso + "section 7.4.2", Advice: "Write the text as UTF-8, announced by ECI 26: readers guess differently.",
	}),
	each("qr.content.invisible", diag.Warning, func(c *Code) string {
		for _, r := range c.Text {
			if unicode.Is(unicode.Bidi_Control, r) || r == 0x200b || r == 0x2060 || r == 0xfeff || r < 0x20 && !strings.ContainsRune("\r\n\t\x1c\x1d\x1e\x04", r) {
				return fmt.Sprintf("holds the invisible character U+%04X", r)
			}
		}
		return ""
	}, diag.Rule[*evidence]{
		Title: "Invisible characters in the text", Requirement: "Texts have no characters that hide or reorder others",
		Advice: "Do not trust how the text looks: examine it character by character.",
	}),
	each("qr.url.scheme", diag.Error, func(c *Code) string {
		return iff(c.is(URL) && isRisky(c.Parsed.Scheme), "holds a URL with the scheme "+c.scheme()+", which runs a program or opens a file")
	}, diag.Rule[*evidence]{
		Title: "URL that runs a program", Requirement: "URLs lead to pages, not to programs or files",
		Advice: "Do not open it.",
	}),
	each("qr.url.userinfo", diag.Error, func(c *Code) string {
		return iff(c.is(URL) && c.Parsed.userinfo, "holds a URL with a user name before its real host, "+c.host())
	}, diag.Rule[*evidence]{
		Title: "URL hides its host behind a user name", Requirement: "URLs have no user name",
		Ref: "RFC 9110 section 4.2.4", Advice: "Do not open it; examine it with phishing/check.",
	}),
	each("qr.url.lookalike", diag.Warning, func(c *Code) string {
		if !c.is(URL) {
			return ""
		}
		what := lookalike(c.Parsed.Host)
		return iff(what != "", "leads to "+c.host()+", which "+what)
	}, diag.Rule[*evidence]{
		Title: "Host can be taken for another", Requirement: "Hosts of URLs cannot be taken for others",
		Ref: "UTS #39 section 4", Advice: "Examine the URL with phishing/check before you open it.",
	}),
	each("qr.url.address", diag.Warning, func(c *Code) string {
		return iff(c.is(URL) && isAddress(c.Parsed.Host), "leads to the IP address "+c.host())
	}, diag.Rule[*evidence]{
		Title: "URL leads to an IP address", Requirement: "URLs lead to named hosts",
		Advice: "Use a domain name; if the code is not yours, examine the URL with phishing/check before you open it.",
	}),
	each("qr.url.http", diag.Warning, func(c *Code) string {
		return iff(c.is(URL) && c.Parsed.Scheme == "http", "leads to "+c.host()+" by http, without encryption")
	}, diag.Rule[*evidence]{
		Title: "URL without encryption", Requirement: "URLs are https", Ref: "RFC 9110 section 4.2.2",
		Advice: "Make the code anew with https: a printed code cannot be corrected by a redirect that an attacker answers first.",
	}),
	each("qr.url.shortener", diag.Info, func(c *Code) string {
		return iff(c.is(URL) && isShortener(c.Parsed.Host), "leads to "+c.host()+", which hides where the link ends")
	}, diag.Rule[*evidence]{
		Title: "URL of a link shortener", Requirement: "URLs show where they lead",
		Advice: "Examine where it ends with url/check. For codes of your own, use a redirect on your own domain: it stays under your control.",
	}),
	each("qr.wifi.open", diag.Warning, func(c *Code) string {
		return iff(c.is(wiFi) && (c.Parsed.Security == "nopass" || c.Parsed.Security == "WEP"), "joins the Wi-Fi network "+diag.Quote(c.ssid())+
			" without encryption that protects")
	}, diag.Rule[*evidence]{
		Title: "Wi-Fi network is not protected", Requirement: "Wi-Fi networks are protected by WPA2 or WPA3",
		Advice: "Protect the network with WPA2 or WPA3: on open networks and with WEP everybody nearby can read along.",
	}),
	each("qr.wifi.password", diag.Info, func(c *Code) string {
		return iff(c.is(wiFi) && c.Parsed.Password != "", "holds the password of the Wi-Fi network "+diag.Quote(c.ssid())+" in plain text")
	}, diag.Rule[*evidence]{
		Title: "Wi-Fi password can be read by all who see the code", Requirement: "No code holds a Wi-Fi password",
		Advice: "Use it for a guest network only, and change the password when a picture of the code has got out.",
	}),
	each("qr.otp.secret", diag.Warning, func(c *Code) string {
		return iff(c.is(otp), "holds the secret of "+c.account()+" in plain text")
	}, diag.Rule[*evidence]{
		Title:       "Second factor can be copied by all who see the code",
		Requirement: "No code holds the secret of a one-time password",
		Advice:      "Treat the image as a password: delete it, and enrol anew if anybody else has had it.",
	}),
}

// nouns are the content types as a sentence calls them.
var nouns = map[ContentType]string{
	URL: "a URL", wiFi: "a Wi-Fi network", vCard: "a contact", email: "a mail", tel: "a telephone number", sms: "a message",
	geo: "a place", otp: "an account of an authenticator", plain: "a text",
}

// is reports whether a code was read as something of a kind.
func (c *Code) is(kind ContentType) bool { return c.ContentType == kind && c.Parsed != nil }

func (c *Code) scheme() string {
	if c.Parsed == nil {
		return ""
	}
	return diag.Quote(c.Parsed.Scheme)
}

func (c *Code) host() string {
	if c.Parsed == nil {
		return ""
	}
	return diag.Quote(c.Parsed.Host)
}

func (c *Code) ssid() string {
	if c.Parsed == nil {
		return ""
	}
	return c.Parsed.SSID
}

func (c *Code) account() string {
	switch {
	case c.Parsed == nil || c.Parsed.OTPType == "migration":
		return "several accounts"
	case c.Parsed.Issuer != "":
		return "an account with " + diag.Quote(c.Parsed.Issuer)
	}
	return "an account"
}

// hasBytes reports whether a part of the text is in byte mode.
func (c *Code) hasBytes() bool {
	for _, m := range c.Modes {
		if m == "byte" {
			return true
		}
	}
	return false
}
