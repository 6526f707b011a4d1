package dkim

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"mime/quotedprintable"
	"strings"
)

// The bounds of the search for an explanation of a changed body. Footers of mailing lists have up to a dozen lines,
// and a few more with legal notices.
const (
	maxFooterLines = 100
	maxBannerLines = 20
	maxTried       = 256 << 10 // bytes of a body that is hashed again and again, or decoded
)

type explanation struct {
	cause Cause
	text  string
}

func (c *Checker) explainBody(s *Signature) (Cause, string) {
	size := c.bodies.sizes[s.Body]
	switch {
	case s.Length != nil && *s.Length > size: // RFC 6376 section 3.5
		return BodyCutOff, fmt.Sprintf("The body was cut off: it has %d bytes, and the signature covers %d (l=).",
			size, *s.Length)
	case s.Length != nil:
		return BodyChanged, fmt.Sprintf(
			"The body was changed after signing, within the first %d bytes that the signature covers.", *s.Length)
	}
	form := s.bodyForm()
	if c.explanations[form] == nil {
		c.explanations[form] = c.tryBodies(form, size)
	}
	if found, ok := c.explanations[form][string(s.BodyHash)]; ok {
		return found.cause, found.text
	}
	return BodyChanged, "The body was changed after signing: its hash is not the one in the signature (bh=)."
}

// tryBodies returns the hashes of what the body may have been before one of the usual changes.
func (c *Checker) tryBodies(form bodyForm, size int64) map[string]explanation {
	stories := map[string]explanation{}
	try := func(canonical Canonicalization, body []byte, cause Cause, format string, args ...any) {
		h := form.hash.New()
		canonical.WriteBody(h, body)
		if sum := string(h.Sum(nil)); stories[sum].cause == "" {
			stories[sum] = explanation{cause, fmt.Sprintf(format, args...)}
		}
	}
	try(form.canonical, nil, EmptyBody,
		"The body hash (bh=) is that of an empty body: the signer did not see the body.")
	if form.canonical == Simple {
		try(Relaxed, c.body, WhiteSpace,
			"White space in the body was changed after signing, which c=%s does not tolerate.", Simple)
	} else {
		try(Simple, c.body, WrongCanonicalization,
			"The signer canonicalized the body as %s, although c= says %s.", Simple, Relaxed)
	}
	c.tryFooters(form, size, stories)
	if len(c.body) > maxTried {
		return stories
	}
	rest := c.body
	for range maxBannerLines {
		if _, rest = cutLine(rest); len(rest) == 0 {
			break
		}
		try(form.canonical, rest, BannerAdded,
			"A banner of %d bytes was added at the top of the body after signing: without it the body is as signed.",
			len(c.body)-len(rest))
	}
	if decoded, encoding := c.decoded(); decoded != nil {
		try(form.canonical, decoded, BodyReencoded,
			"The body was encoded as %s after signing: decoded it is as signed.", encoding)
	}
	if bytes.Contains(c.body, []byte("\n>From ")) { // RFC 4155
		try(form.canonical, bytes.ReplaceAll(c.body, []byte("\n>From "), []byte("\nFrom ")), MailboxQuoted,
			"A mailbox file has changed the body: without the > before lines that begin with From it is as signed.")
	}
	return stories
}

// tryFooters adds the hashes of the body without its last lines: all in one pass.
func (c *Checker) tryFooters(form bodyForm, size int64, stories map[string]explanation) {
	var ends lineEnds
	form.canonical.WriteBody(&ends, c.body)
	var shorter bodyHashes
	for _, at := range ends.last {
		if at > 0 && at < size {
			shorter.request(form, at)
		}
	}
	shorter.compute(c.body)
	for length, sum := range shorter.sums[form] {
		if length != whole && stories[string(sum)].cause == "" {
			stories[string(sum)] = explanation{FooterAdded, fmt.Sprintf(
				"A footer of %d bytes was added to the body after signing: without it the body is as signed.", size-length)}
		}
	}
}

// lineEnds remembers where the last lines of what is written to it end.
type lineEnds struct {
	written int64
	last    [maxFooterLines]int64
	next    int
}

func (l *lineEnds) Write(p []byte) (int, error) {
	for at := 0; ; {
		n := bytes.IndexByte(p[at:], '\n')
		if n < 0 {
			break
		}
		at += n + 1
		l.last[l.next] = l.written + int64(at)
		l.next = (l.next + 1) % maxFooterLines
	}
	l.written += int64(len(p))
	return len(p), nil
}

// decoded undoes the transfer encoding of the body: servers apply one if the next hop does not accept 8-bit text (RFC
// 6152).
func (c *Checker) decoded() (body []byte, encoding string) {
	for _, i := range c.header.byName["content-transfer-encoding"] {
		encoding = strings.ToLower(c.header.fields[i].Value())
	}
	var r io.Reader
	switch encoding {
	case "quoted-printable":
		r = quotedprintable.NewReader(bytes.NewReader(c.body))
	case "base64":
		r = base64.NewDecoder(base64.StdEncoding, bytes.NewReader(c.body))
	default:
		return nil, ""
	}
	body, err := io.ReadAll(r)
	if err != nil {
		return nil, ""
	}
	return body, encoding
}
