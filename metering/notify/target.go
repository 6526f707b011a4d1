package notify

import (
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/diagkit/diagkit/metering"
)

// maxTarget bounds the URL of a channel, in bytes. RFC 9110 section 4.1 asks all to take 8000, and many take 2048.
const maxTarget = 2048

// maxAddress bounds a mail address (RFC 5321 section 4.5.3.1.3, less the angle brackets).
const maxAddress = 254

// The forms of Telegram: a chat by number or by the name of a channel, and the token of a bot.
var (
	telegramChat  = regexp.MustCompile(`^(-?[0-9]{1,19}|@[A-Za-z][A-Za-z0-9_]{3,31})$`)
	telegramToken = regexp.MustCompile(`^[0-9]{5,20}:[A-Za-z0-9_-]{30,64}$`)
)

// checkTarget refuses a target that a kind cannot reach. No error repeats it: it may hold a secret.
func (c Channels) checkTarget(k Kind, target string) error {
	switch k {
	case Webhook, slack, teams:
		return c.checkURL(target)
	case telegram:
		if !telegramChat.MatchString(target) {
			return &metering.FieldError{Field: "target", Reason: "must be the number of a chat, or @ and the name of a channel"}
		}
	case email:
		if !isMailAddress(target) {
			return &metering.FieldError{Field: "target", Reason: "must be a mail address, without a name"}
		}
	default:
		return &metering.FieldError{Field: "kind", Reason: "must be webhook, slack, teams, telegram or email"}
	}
	return nil
}

func (c Channels) checkURL(target string) error {
	fault := func(reason string) error { return &metering.FieldError{Field: "target", Reason: reason} }
	u, err := url.Parse(target)
	switch {
	case err != nil || len(target) > maxTarget || !ascii(target):
		return fault("must be a URL in ASCII of at most " + strconv.Itoa(maxTarget) + " bytes")
	case u.Scheme != "https" && (u.Scheme != "http" || !c.AllowHTTP):
		return fault("must begin with https://")
	case u.User != nil:
		return fault("must not hold a user or password")
	case u.Hostname() == "" || u.Opaque != "":
		return fault("must name a host")
	case u.Fragment != "" || strings.HasSuffix(target, "#"):
		return fault("must not have a fragment")
	}
	port := map[string]uint16{"https": 443, "http": 80}[u.Scheme]
	if text := u.Port(); text != "" {
		n, err := strconv.ParseUint(text, 10, 16)
		if err != nil {
			return fault("must have a port of 1 to 65535")
		}
		port = uint16(n)
	}
	ports := c.Ports
	if ports == nil {
		ports = []uint16{80, 443, 8080, 8443}
	}
	if !slices.Contains(ports, port) {
		return fault("must not have port " + strconv.Itoa(int(port)) + ", which is not allowed (--allow-ports)")
	}
	return nil
}

// ascii reports whether a text is printable ASCII without blanks.
func ascii(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}
