package dkim

import (
	"crypto"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
)

func (s *Signature) readVersion() {
	v, ok := s.tag("v")
	s.Version = v.Value
	if ok && s.Version != "1" && s.Kind == DKIMSignature { // RFC 6376 section 3.5; RFC 8617 section 4.1.2 defines none
		s.fault(unsupported, v, "the version v=%s is not 1", phrase.Quote(v.Value))
	}
}

// algorithms are those that can be computed, also the one that must not be accepted any more (RFC 8301).
var algorithms = map[string]struct {
	key  KeyType
	hash crypto.Hash
}{
	"rsa-sha256":     {RSA, crypto.SHA256},
	"rsa-sha1":       {RSA, crypto.SHA1},
	"ed25519-sha256": {Ed25519, crypto.SHA256}, // RFC 8463 section 3
}

func (s *Signature) readAlgorithm() {
	a, ok := s.tag("a")
	s.Algorithm = a.Value
	known, supported := algorithms[a.Value]
	s.KeyType, s.Hash = known.key, known.hash
	if ok && !supported {
		s.fault(unsupported, a, "the algorithm a=%s is not rsa-sha256 or ed25519-sha256", phrase.Quote(a.Value))
	}
}

func (s *Signature) readCanonicalization() {
	c, ok := s.tag("c")
	if s.Kind == ARCSeal { // RFC 8617 section 5.1.1
		s.Header = Relaxed
		return
	}
	if !ok {
		if s.Kind == ARCMessage { // as the validation suite for RFC 8617 has it, which itself names no other default
			s.Header, s.Body = Relaxed, Relaxed
		}
		return
	}
	header, body, both := strings.Cut(c.Value, "/")
	if !both { // RFC 6376 section 3.5
		body = string(Simple)
	}
	s.Header, s.Body = Canonicalization(header), Canonicalization(body)
	if known := (Canonicalization).Values(""); !slices.Contains(known, header) || !slices.Contains(known, body) {
		s.fault(unsupported, c, "the canonicalization c=%s is not one of simple and relaxed", phrase.Quote(c.Value))
	}
}

func (s *Signature) readNames() {
	h, ok := s.tag("h")
	if s.Kind == ARCSeal {
		if ok { // RFC 8617 section 4.1.3
			s.fault(excluded, h, "an ARC-Seal must not have the tag h=")
		}
		return
	}
	for name := range strings.SplitSeq(h.Value, ":") {
		if name = strings.Trim(name, white); name != "" {
			s.Names = append(s.Names, name)
		}
	}
	has := func(field string) bool {
		return slices.ContainsFunc(s.Names, func(n string) bool { return strings.EqualFold(n, field) })
	}
	switch {
	case !ok:
	case len(s.Names) == 0:
		s.fault(badTag, h, "h= names no header field")
	case s.Kind == DKIMSignature && !has("From"): // RFC 6376 section 5.4
		s.fault(noFrom, h, "h= does not name From, which every signature must cover")
	case s.Kind == ARCMessage && has(string(ARCSeal)): // RFC 8617 section 4.1.2
		s.fault(excluded, h, "h= names ARC-Seal, which an ARC-Message-Signature must not cover")
	}
}

func (s *Signature) readKeyName() {
	d, ok := s.tag("d")
	selector, selected := s.tag("s")
	domain, err := diag.ParseDomain(d.Value)
	if ok && (err != nil || strings.HasSuffix(d.Value, ".")) {
		s.fault(badTag, d, "d=%s is not a domain", phrase.Quote(d.Value))
		return
	}
	s.Domain, s.Selector = domain, strings.ToLower(selector.Value)
	if !selected || !ok {
		return
	}
	name, err := diag.ParseName(s.Selector + "." + label + "." + domain.String()) // RFC 6376 section 3.6.2.1
	if err != nil || s.Selector == "" || strings.HasPrefix(s.Selector, "*") {
		s.fault(badTag, selector, "s=%s is not a selector", phrase.Quote(selector.Value))
		return
	}
	s.KeyName = name
	s.Selector, _, _ = strings.Cut(name.String(), "."+label+".")
}

func (s *Signature) readIdentity() {
	i, ok := s.tag("i")
	if s.Kind != DKIMSignature {
		n, err := strconv.Atoi(i.Value)
		if ok && (err != nil || n < 1 || i.Value[0] == '+') { // RFC 8617 section 4.2.1
			s.fault(badTag, i, "i=%s is not the number of an ARC set", phrase.Quote(i.Value))
			return
		}
		s.Instance = n
		return
	}
	if !ok {
		if !s.Domain.IsZero() {
			s.Identity = "@" + s.Domain.String() // RFC 6376 section 3.5
		}
		return
	}
	s.Identity = unquotePrintable(i.Value)
	at := strings.LastIndexByte(s.Identity, '@')
	domain, err := diag.ParseDomain(s.Identity[at+1:])
	switch {
	case at < 0, err != nil:
		s.fault(badTag, i, "i=%s is not an address or a domain after an @", phrase.Quote(i.Value))
	case s.Domain.IsZero():
	case domain != s.Domain && !strings.HasSuffix(domain.String(), "."+s.Domain.String()): // RFC 6376 section 3.5
		s.fault(mismatch, i, "the domain of i=%s is neither %s nor below it", phrase.Quote(s.Identity), s.Domain)
	}
}

// IdentityDomain returns the domain of i=; zero if it has none.
func (s *Signature) IdentityDomain() diag.Domain {
	d, err := diag.ParseDomain(s.Identity[strings.LastIndexByte(s.Identity, '@')+1:])
	if err != nil {
		return diag.Domain{}
	}
	return d
}

// unquotePrintable decodes DKIM-Quoted-Printable (RFC 6376 section 2.11): white space is ignored. Invalid escapes are
// kept as they are.
func unquotePrintable(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if strings.IndexByte(white, s[i]) >= 0 {
			continue
		}
		if s[i] == '=' && i+2 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(c))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// readLength reads l, which has up to 76 digits: more than any body has bytes (RFC 6376 section 3.5).
func (s *Signature) readLength() {
	l, ok := s.tag("l")
	if !ok || s.Kind == ARCSeal {
		return
	}
	if n, ok := number(l.Value); ok {
		s.Length = &n
	} else {
		s.fault(badTag, l, "l=%s is not a number of bytes", phrase.Quote(l.Value))
	}
}

// number reads an unsigned decimal number; one beyond 63 bits is the greatest.
func number(digits string) (int64, bool) {
	n, _ := strconv.ParseInt(digits, 10, 64) // the greatest, if it is out of range
	return n, digits != "" && strings.Trim(digits, "0123456789") == ""
}

// readMethods reads q. Unknown methods are ignored (RFC 6376 section 3.5); drafts called dns/txt dns.
func (s *Signature) readMethods() {
	q, ok := s.tag("q")
	if !ok || s.Kind != DKIMSignature {
		return
	}
	for method := range strings.SplitSeq(q.Value, ":") {
		s.Methods = append(s.Methods, strings.Trim(method, white))
	}
	if !slices.Contains(s.Methods, "dns/txt") && !slices.Contains(s.Methods, "dns") {
		s.fault(unsupported, q, "none of the methods of q=%s is dns/txt", phrase.Quote(q.Value))
	}
}

// latest is the last time that RFC 3339 can write.
var latest = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)

func (s *Signature) readTimes() {
	s.Time = s.readTime("t")
	if s.Kind != ARCSeal {
		s.Expires = s.readTime("x")
	}
}

func (s *Signature) readTime(name string) *time.Time {
	t, ok := s.tag(name)
	if !ok {
		return nil
	}
	seconds, ok := number(t.Value)
	if !ok {
		s.fault(badTag, t, "%s=%s is not a number of seconds", name, phrase.Quote(t.Value))
		return nil
	}
	return new(time.Unix(min(seconds, latest.Unix()), 0).UTC())
}

func (s *Signature) readState() {
	cv, ok := s.tag("cv")
	if s.Kind != ARCSeal || !ok {
		return
	}
	if slices.Contains([]string{"none", "pass", "fail"}, cv.Value) { // RFC 8617 section 4.1.3
		s.State = cv.Value
	} else {
		s.fault(badTag, cv, "cv=%s is not none, pass or fail", phrase.Quote(cv.Value))
	}
}

// readCopied reads z. It is for diagnosis only, so its faults are harmless (RFC 6376 section 3.5).
func (s *Signature) readCopied() {
	z, _ := s.tag("z")
	for part := range strings.SplitSeq(z.Value, "|") {
		if name, value, ok := strings.Cut(part, ":"); ok {
			s.Copied = append(s.Copied, Copied{strings.Trim(name, white), unquotePrintable(value)})
		}
	}
}

func (s *Signature) readBytes() {
	s.Bytes = s.readBase64("b")
	if s.Kind != ARCSeal {
		s.BodyHash = s.readBase64("bh")
	}
}

// readBase64 reads a tag in base64, which may be folded and lack its padding (RFC 6376 section 2.10).
func (s *Signature) readBase64(name string) []byte {
	t, ok := s.tag(name)
	if !ok {
		return nil
	}
	digits := strings.TrimSuffix(strings.TrimSuffix(unfold(t.Value), "="), "=")
	data, err := base64.RawStdEncoding.DecodeString(digits)
	switch {
	case digits == "":
		s.fault(badTag, t, "%s= is empty", name)
	case err != nil:
		s.fault(badTag, t, "%s= is not valid base64", name)
		return nil
	}
	return data
}

// unsigned returns the field, from its name on, as it was when it was signed: with an empty b= (RFC 6376 section
// 3.5).
func (s *Signature) unsigned(raw []byte) []byte {
	b, ok := s.tag("b")
	start := len(raw) - len(s.Value) // of the value
	if !ok || start < 0 {
		return raw
	}
	equals := strings.IndexByte(s.Value[b.Offset:], '=') + b.Offset + 1
	end := strings.IndexByte(s.Value[equals:], ';')
	if end < 0 {
		return raw[:start+equals]
	}
	return slices.Concat(raw[:start+equals], raw[start+equals+end:])
}
