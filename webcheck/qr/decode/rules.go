package decode

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/webcheck/internal/scan"
)

const iso = "ISO/IEC 18004:2015 "

var rules = append(imageRules, contentRules...)

var imageRules = rule.Rules[*evidence]{
	{
		Code: "qr.image.unreadable", Severity: diag.Error,
		Title: "Image cannot be read", Requirement: "The image can be read",
		Advice: "Send a PNG, JPEG, GIF, WebP or BMP file that opens in a browser.",
		Fails: func(e *evidence) rule.Failures {
			if e.broken == nil {
				return nil
			}
			why := e.broken.Error()
			return rule.Fail("%s%s.", strings.ToUpper(why[:1]), why[1:])
		},
	},
	{
		Code: "qr.code.missing", Severity: diag.Warning, StateIfFailed: diag.Missing,
		DependsOn: []diag.Code{"qr.image.unreadable"}, Ref: iso + "section 6.3",
		Title: "No QR code found", Requirement: "The image holds a QR code",
		Advice: "Crop the image to the code with a light margin around it, and make sure that it is sharp, evenly lit and " +
			"at least 3 pixels a module. Micro QR, Data Matrix, Aztec and bar codes are not read.",
		Fails: missing,
	},
	{
		Code: "qr.code.more", Severity: diag.Info, DependsOn: []diag.Code{"qr.code.missing"},
		Title: "More codes than asked for", Requirement: "All codes that were found are in the reply",
		Advice: "Raise max_codes, or cut the image into parts where 50 are not enough.",
		Fails: func(e *evidence) rule.Failures {
			if e.total > maxCodes {
				return rule.Fail("The image holds more than %d codes, and the reply has %d of "+
					"them.", maxCodes, len(e.codes))
			}
			return rule.FailIf(e.total > len(e.codes), "The image holds %d codes, and the reply has the first %d of "+
				"them.", e.total,
				len(e.codes))
		},
	},
	{
		Code: "qr.search.limit", Severity: diag.Warning, DependsOn: []diag.Code{"qr.image.unreadable"},
		Title: "Search ended at its limit; codes may be missing", Requirement: "All of the image was searched",
		Advice: "Cut the image into parts, and send them one by one.",
		Fails: func(e *evidence) rule.Failures {
			return rule.FailIf(e.cut, "The image has more patterns that may belong to codes than are tried.")
		},
	},
	{
		Code: "qr.image.animated", Severity: diag.Warning, DependsOn: []diag.Code{"qr.image.unreadable"},
		Title: "Only the first frame of the animation was read", Requirement: "The image has one frame",
		Advice: "Send the other frames as images of their own if they show codes.",
		Fails: func(e *evidence) rule.Failures {
			return rule.FailIf(e.animated, "The image is an animation; the codes of its further frames are not in the reply.")
		},
	},
	each("qr.code.damaged", diag.Warning, iso+"section 7.5",
		"Code is close to unreadable", "Less than half of the error correction is used up",
		"Print the code again, larger or with more contrast, and keep logos and folds away from it; if it is a photo, "+
			"take a sharper one.",
		func(c *Code) string {
			if c.ErrorsCorrected == 0 || 2*c.ErrorsCorrected <= c.ErrorsCorrigible {
				return ""
			}
			return fmt.Sprintf("needed %d of the %d corrections that its error correction allows", c.ErrorsCorrected,
				c.ErrorsCorrigible)
		}),
	each("qr.code.quiet", diag.Warning, iso+"section 6.3.8",
		"Quiet zone is missing", "A light margin surrounds each code",
		"Leave 4 modules free on all sides of the code: without them many readers do not find it.",
		func(c *Code) string {
			if c.symbol == nil || c.symbol.Quiet >= 2 {
				return ""
			}
			return fmt.Sprintf("has a light margin of %d modules on one side", int(c.symbol.Quiet))
		}),
	each("qr.code.inverted", diag.Warning, iso+"section 6.2",
		"Code is inverted", "Modules are dark on a light background",
		"Print dark modules on a light background: some readers support nothing else.",
		func(c *Code) string { return view.TextIf(c.Inverted, "has light modules on a dark background") }),
	each("qr.code.mirrored", diag.Warning, iso+"section 6.2", "Code is mirrored", "No code is a mirror image",
		"Turn the image over: some readers do not know mirrored codes.",
		func(c *Code) string { return view.TextIf(c.Mirrored, "is a mirror image") }),
	{
		Code: "qr.append.incomplete", Severity: diag.Warning, DependsOn: []diag.Code{"qr.code.missing"},
		Ref:         iso + "section 8",
		Title:       "Part of a text that is spread over several codes",
		Requirement: "All parts of texts that are spread over several codes are there",
		Advice:      "Send an image that shows all parts, and join their texts in the order of their numbers.",
		Fails:       incomplete,
	},
}

// each makes a rule of a property of one code. What fails completes a sentence that begins with the code; empty is
// fulfilled.
func each(code diag.Code, severity diag.Severity, ref, title, requirement, advice string,
	fails func(*Code) string) rule.Rule[*evidence] {
	r := rule.Rule[*evidence]{
		Code: code, Severity: severity, DependsOn: []diag.Code{"qr.code.missing"}, Ref: ref, Title: title,
		Requirement: requirement, Advice: advice,
	}
	r.Fails = func(e *evidence) (all rule.Failures) {
		for i, c := range e.codes {
			if text := fails(c); text != "" {
				all = append(all, rule.Fail("%s %s.", e.name(i), text).About(target(i))...)
			}
		}
		if len(all) < 2 {
			return all
		}
		return all.Together("%s The same holds for %s.", all[0].Detail, phrase.Count(len(all)-1, "more code"))
	}
	return r
}

// name is how a sentence calls a code.
func (e *evidence) name(i int) string {
	if len(e.codes) == 1 {
		return "The code"
	}
	return "Code " + strconv.Itoa(i+1)
}

func target(i int) string { return "codes[" + strconv.Itoa(i) + "]" }

// incomplete names the parts that are missing of each text that is spread over several codes.
func incomplete(e *evidence) (all rule.Failures) {
	type text struct{ parts, parity int }
	have := map[text]map[int]bool{}
	for i, c := range e.codes {
		if c.Append == nil {
			continue
		}
		of := text{c.Append.Parts, c.Append.Parity}
		if have[of] == nil {
			have[of] = map[int]bool{}
			for _, other := range e.codes {
				if a := other.Append; a != nil && a.Parts == of.parts && a.Parity == of.parity {
					have[of][a.Part] = true
				}
			}
			var missing []string
			for part := 1; part <= of.parts; part++ {
				if !have[of][part] {
					missing = append(missing, strconv.Itoa(part))
				}
			}
			if len(missing) > 0 {
				all = append(all, rule.Fail("%s is part %d of %d; missing: %s.", e.name(i), c.Append.Part, of.parts,
					strings.Join(missing, ", ")).About(target(i))...)
			}
		}
	}
	return all
}

// missing fails for an image without a code, and names one of another kind.
func missing(e *evidence) rule.Failures {
	if len(e.codes) > 0 {
		return nil
	}
	if e.foreign == "" {
		return rule.Fail("In %d by %d pixels there is no QR code that can be read.", e.image.Width, e.image.Height)
	}
	failed := rule.Fail("The image shows %s, which is not supported, and no QR code that can be read.", e.foreignCode())
	failed[0].Advice = "Read it with a scanner that supports " + string(e.foreign) +
		". If it is your own, create a QR code with the same text: that is what phones read."
	return failed
}

// foreignCode is how a sentence calls a code of another kind.
func (e *evidence) foreignCode() string {
	article := "a "
	if e.foreign == scan.Aztec || e.foreign == scan.RMQR {
		article = "an "
	}
	return article + string(e.foreign) + " code"
}

// texts chooses what the verdict says in words: a code of another kind is named first.
func (e *evidence) texts() rule.Texts {
	if e.foreign == "" {
		return texts
	}
	named := maps.Clone(texts)
	named["qr.code.missing"] = diag.Text{
		Headline: "This is " + e.foreignCode() + ", which is not supported",
		Sub:      missing(e)[0].Advice,
	}
	return named
}

// texts are the verdicts in words, where title and advice of the gravest finding do not say it better.
var texts = rule.Texts{
	"valid": {Headline: "QR code read", Sub: "No fault was found in what was read of the image."},
}

var contentRules = rule.Rules[*evidence]{
	each("qr.content.empty", diag.Warning, "", "Code is empty", "Each code holds a text",
		"Create the code again, with the text that it is to hold.",
		func(c *Code) string { return view.TextIf(c.Text == "", "holds no text") }),
	each("qr.content.malformed", diag.Warning, "",
		"Text is malformed", "Texts of a known form have all that the form needs",
		"Create the code again: phones show an error, or the bare text.",
		func(c *Code) string {
			return view.TextIf(c.fault != "", "is meant as "+nouns[c.ContentType]+" but "+c.fault)
		}),
	each("qr.content.charset", diag.Warning, iso+"section 7.4.2",
		"Character set must be guessed", "Bytes are UTF-8, or the code names their character set",
		"Write the text as UTF-8, announced by ECI 26: readers guess differently.",
		func(c *Code) string {
			return view.TextIf(!c.IsUTF8 && c.ECI == nil && slices.Contains(c.Modes, "byte"),
				"holds bytes that are not UTF-8, and names no character set")
		}),
	each("qr.content.invisible", diag.Warning, "",
		"Invisible characters in the text", "Texts have no characters that hide or reorder others",
		"Do not trust how the text looks: examine it character by character.",
		func(c *Code) string {
			for _, r := range c.Text {
				if unicode.Is(unicode.Bidi_Control, r) || r == 0x200b || r == 0x2060 || r == 0xfeff ||
					r < 0x20 && !strings.ContainsRune("\r\n\t\x1c\x1d\x1e\x04", r) {
					return fmt.Sprintf("holds the invisible character U+%04X", r)
				}
			}
			return ""
		}),
	each("qr.url.scheme", diag.Error, "", "URL that runs a program", "URLs lead to pages, not to programs or files",
		"Do not open it.",
		parsedAs(URL, func(p *Parsed) string {
			return view.TextIf(isRisky(p.Scheme), "holds a URL with the scheme "+phrase.Quote(p.Scheme)+
				", which runs a program or opens a file")
		})),
	each("qr.url.userinfo", diag.Error, "RFC 9110 section 4.2.4",
		"URL hides its host behind a user name", "URLs have no user name",
		"Do not open it; examine it with phishing/check.",
		parsedAs(URL, func(p *Parsed) string {
			return view.TextIf(p.userinfo, "holds a URL with a user name before its real host, "+phrase.Quote(p.Host))
		})),
	each("qr.url.lookalike", diag.Warning, "UTS #39 section 4",
		"Host can be taken for another", "Hosts of URLs cannot be taken for others",
		"Examine the URL with phishing/check before you open it.",
		parsedAs(URL, func(p *Parsed) string {
			what := lookalike(p.Host)
			return view.TextIf(what != "", "leads to "+phrase.Quote(p.Host)+", which "+what)
		})),
	each("qr.url.address", diag.Warning, "", "URL leads to an IP address", "URLs lead to named hosts",
		"Use a domain name; if the code is not yours, examine the URL with phishing/check before you open it.",
		parsedAs(URL, func(p *Parsed) string {
			_, err := netip.ParseAddr(strings.Trim(p.Host, "[]"))
			return view.TextIf(err == nil, "leads to the IP address "+phrase.Quote(p.Host))
		})),
	each("qr.url.http", diag.Warning, "RFC 9110 section 4.2.2", "URL without encryption", "URLs are https",
		"Create the code again with https: a printed code cannot be corrected by a redirect that an attacker answers first.",
		parsedAs(URL, func(p *Parsed) string {
			return view.TextIf(p.Scheme == "http", "leads to "+phrase.Quote(p.Host)+" by http, without encryption")
		})),
	each("qr.url.shortener", diag.Info, "", "URL of a link shortener", "URLs show where they lead",
		"Examine where it ends with url/check. For codes of your own, use a redirect on your own domain: "+
			"it stays under your control.",
		parsedAs(URL, func(p *Parsed) string {
			return view.TextIf(slices.Contains(shorteners, strings.TrimPrefix(p.Host, "www.")), "leads to "+phrase.Quote(p.Host)+
				", which hides where the link ends")
		})),
	each("qr.wifi.open", diag.Warning, "",
		"Wi-Fi network is not protected", "Wi-Fi networks are protected by WPA2 or WPA3",
		"Protect the network with WPA2 or WPA3: on open networks and with WEP, anyone nearby can read the traffic.",
		parsedAs(WiFi, func(p *Parsed) string {
			return view.TextIf(p.Security == "nopass" || p.Security == "WEP", "joins the Wi-Fi network "+phrase.Quote(p.SSID)+
				" without encryption that protects")
		})),
	each("qr.wifi.password", diag.Info, "",
		"Wi-Fi password can be read by anyone who sees the code", "No code holds a Wi-Fi password",
		"Use it for a guest network only, and change the password if a picture of the code gets out.",
		parsedAs(WiFi, func(p *Parsed) string {
			return view.TextIf(
				p.Password != "",
				"holds the password of the Wi-Fi network "+phrase.Quote(p.SSID)+" in plain text",
			)
		})),
	each("qr.otp.secret", diag.Warning, "",
		"Second factor can be copied by anyone who sees the code", "No code holds the secret of a one-time password",
		"Treat the image as a password: delete it, and enrol anew if anyone else has seen it.",
		parsedAs(OTP, func(p *Parsed) string { return "holds the secret of " + p.account() + " in plain text" })),
}

// nouns are the content types as a sentence calls them.
var nouns = map[ContentType]string{
	URL: "a URL", WiFi: "a Wi-Fi network", VCard: "a contact", Email: "a mail", Tel: "a telephone number",
	SMS: "a message",
	Geo: "a place", OTP: "an account of an authenticator", Text: "a text",
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
		return "an account with " + phrase.Quote(p.Issuer)
	}
	return "an account"
}
