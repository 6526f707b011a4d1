// Package authres reads and writes what mail servers record about the authentication of a message: call [Parse] for
// Authentication-Results (RFC 8601, and its older forms in RFC 5451 and RFC 7001), [ParseARC] for
// ARC-Authentication-Results (RFC 8617 section 4.1.1), [ParseReceivedSPF] for Received-SPF (RFC 7208 section 9.1), and
// [Header.String] to write either of the first two.
//
// A server that checks a message puts one field in front of it, which names the server and lists, separated by
// semicolons, each method with its result and the properties that were checked:
//
//	Authentication-Results: mx.example.com;
//		spf=pass smtp.mailfrom=alice@example.org;
//		dkim=pass (2048-bit key; unprotected) header.d=example.org header.s=s1;
//		dmarc=pass (p=reject) header.from=example.org
//
// A property has a type (smtp, header, body, policy), a name and a value. Comments in parentheses may occur anywhere,
// and may contain semicolons. A reader must know which servers to trust: anyone can insert such a field, and only
// those of the receiver's own servers count (RFC 8601 section 5).
//
// In practice servers omit their name, write properties without a type, values without quotes and results of
// unregistered methods. All of that is read; deviations from the syntax are in Faults.
package authres

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/mailauth/message"
)

// A Header is one field Authentication-Results or ARC-Authentication-Results.
type Header struct {
	Instance   int    // of ARC-Authentication-Results; 0 in the other field
	AuthservID string // the server that checked; empty where it is left out, as by Microsoft 365
	Version    string // of the syntax; mostly empty, which means 1
	None       bool   // no check was done
	Results    []Result
	Properties []Property // those before any result, as old servers write them
	Faults     []string   // clauses that say how the field departs from the syntax
}

// A Result is the outcome of one method.
type Result struct {
	Method     string // in lower case, such as dkim
	Version    string // of the method; mostly empty, which means 1
	Value      string // in lower case, such as pass
	Reason     string // why, for people; Microsoft 365 has codes here
	Comments   []string
	Properties []Property
	Raw        string // as written, without white space around it
}

// A Property is a checked property of the message, such as header.d=example.org.
type Property struct {
	Type  string // in lower case: smtp, header, body, policy; empty where it is left out
	Name  string // in lower case
	Value string // without quotation marks
}

// Property returns the value of the first property that has one of these names, such as "header.d"; a name without a
// type matches a property written without one.
func (r *Result) Property(names ...string) string {
	for _, name := range names {
		typ, n, typed := strings.Cut(name, ".")
		if !typed {
			typ, n = "", name
		}
		for _, p := range r.Properties {
			if p.Type == typ && p.Name == n {
				return p.Value
			}
		}
	}
	return ""
}

// Note returns the value of a key in the comments, such as the p of "dmarc=pass (p=REJECT dis=NONE)".
func (r *Result) Note(key string) string {
	for _, c := range r.Comments {
		for _, word := range strings.FieldsFunc(c, func(r rune) bool { return r == ' ' || r == ';' || r == ',' }) {
			if k, v, ok := strings.Cut(word, "="); ok && strings.EqualFold(k, key) {
				return v
			}
		}
	}
	return ""
}

// Domain returns the domain that the result is about, in lower case: that of the signature for dkim, of the envelope
// for spf, of From for dmarc. It is empty if the field does not say.
func (r *Result) Domain() string {
	value := ""
	switch r.Method {
	case "dkim", "domainkeys", "bimi", "arc":
		value = r.Property("header.d", "header.i", "header.from", "header.sender", "d")
	case "spf", "sender-id":
		value = r.Property("smtp.mailfrom", "smtp.mail", "smtp.envelope-from", "smtp.from", "smtp.helo", "envelope.from")
	case "dmarc", "dkim-adsp", "compauth":
		value = r.Property("header.from", "header.d", "policy.domain", "d")
	}
	value = value[strings.LastIndexByte(value, '@')+1:]
	value = strings.ToLower(strings.Trim(strings.TrimSuffix(value, "."), "<>"))
	if value == "none" { // Microsoft 365 has header.d=none
		return ""
	}
	return value
}

var errEmpty = errors.New("the field has no value")

// Parse reads the value of a field Authentication-Results. What departs from the syntax is in Faults; the error
// says that the field has no value.
func Parse(value string) (*Header, error) {
	p := parser{scanner: scanner{s: value}, h: &Header{}}
	p.skip()
	if p.done() {
		return nil, errEmpty
	}
	p.authserv()
	p.results()
	if len(p.h.Results) == 0 && !p.h.None {
		p.fault("there is neither a result nor the word none")
	}
	return p.h, nil
}

// ParseARC reads the value of a field ARC-Authentication-Results, which begins with its instance.
func ParseARC(value string) (*Header, error) {
	first, rest, _ := strings.Cut(value, ";")
	text, _ := message.Comments(first)
	name, number, ok := strings.Cut(text, "=")
	instance, err := strconv.Atoi(strings.TrimSpace(number))
	if !ok || !strings.EqualFold(strings.TrimSpace(name), "i") || err != nil || instance < 0 {
		h, err := Parse(value)
		if err == nil {
			h.Faults = append(h.Faults, "the instance i= is missing at the beginning")
		}
		return h, err
	}
	h, err := Parse(rest)
	if err == nil {
		h.Instance = instance
	}
	return h, err
}

// methods are those that start a result even without a preceding semicolon: the registry of RFC 8601 section 2.7 and
// what large providers add.
var methods = []string{"arc", "auth", "bimi", "compauth", "dkim", "dkim-adsp", "dkim-atps", "dmarc", "dnswl",
	"domainkeys", "iprev", "rrvs", "sender-id", "smime", "spf", "vbr", "x-tls.subject", "x-google-dkim"}

type parser struct {
	scanner
	h *Header
}

func (p *parser) fault(text string) {
	if len(p.h.Faults) < maxFaults {
		p.h.Faults = append(p.h.Faults, text)
	}
}

// The bounds of the deviations reported of one field, and of what each quotes, in bytes.
const (
	maxFaults = 20
	maxQuoted = 40
)

func (p *parser) authserv() {
	begin := p.at
	id := p.value()
	p.skip()
	if p.peek() == '=' || strings.Contains(id, "=") { // a result follows instead
		p.at, p.comments = begin, nil
		p.fault("the authserv-id (the name of the server) is missing")
		return
	}
	p.h.AuthservID = id
	if c := p.peek(); c >= '0' && c <= '9' {
		p.h.Version = p.value()
		p.skip()
	}
	if p.peek() != ';' && !p.done() {
		p.fault("there is no semicolon after the authserv-id")
	}
}

// maxResults bounds the results and properties of one field; what follows is not read. Real fields have up to twenty.
const maxResults = 500

func (p *parser) results() {
	for !p.done() {
		if len(p.h.Results)+len(p.h.Properties) >= maxResults {
			p.fault("there are too many results, and only the first ones were read")
			return
		}
		if p.peek() == ';' {
			p.at++
			p.comments = nil
			p.skip()
			continue
		}
		p.result()
	}
}

func (p *parser) result() {
	begin := p.at
	var r *Result
	flush := func(end int) {
		if r != nil {
			r.Comments = append(r.Comments, p.comments...)
			r.Raw = strings.TrimSpace(p.s[begin:end])
			p.h.Results = append(p.h.Results, *r)
		}
		p.comments = nil
	}
	for p.skip(); !p.done() && p.peek() != ';'; p.skip() {
		at := p.at
		name, value, ok := p.pair()
		typ, property, typed := strings.Cut(name, ".")
		typed = typed && typ != "" && property != ""
		switch {
		case !ok && name == "none" && r == nil:
			p.h.None = true
		case !ok || name == "":
			p.fault(fmt.Sprintf("%q is neither a result nor a property", phrase.Clip(name, maxQuoted)))
		case r == nil && typed && !slices.Contains(methods, name):
			p.h.Properties = append(p.h.Properties, Property{typ, property, value})
		case r == nil || slices.Contains(methods, name):
			if len(p.h.Results) >= maxResults {
				p.at = len(p.s)
				break
			}
			if r != nil {
				p.fault("there is no semicolon before " + phrase.Clip(name, maxQuoted))
				flush(at)
				begin = at
			}
			r = &Result{Value: strings.ToLower(value)}
			r.Method, r.Version, _ = strings.Cut(name, "/")
			r.Method = strings.TrimSpace(r.Method)
		case name == "reason":
			r.Reason = value
		case len(r.Properties) >= maxResults:
		case typed:
			r.Properties = append(r.Properties, Property{typ, property, value})
		default:
			r.Properties = append(r.Properties, Property{"", name, value})
		}
	}
	flush(p.at)
}

// A ReceivedSPF is one field Received-SPF (RFC 7208 section 9.1).
type ReceivedSPF struct {
	Result   string // in lower case, such as softfail
	Comments []string
	Pairs    []Property // without types, in order
}

// Get returns the value of a key, such as "client-ip"; empty if it is not there.
func (r *ReceivedSPF) Get(key string) string {
	for _, p := range r.Pairs {
		if p.Name == key {
			return p.Value
		}
	}
	return ""
}

// ClientIP returns the address that was checked, if the field has it.
func (r *ReceivedSPF) ClientIP() (netip.Addr, bool) {
	ip, err := netip.ParseAddr(r.Get("client-ip"))
	return ip, err == nil
}

// Domain returns the domain that was checked, in lower case: that of envelope-from, or of helo with identity=helo.
// Servers that leave out envelope-from usually name the domain in their comment: "domain of alice@example.org
// designates …".
func (r *ReceivedSPF) Domain() string {
	from := strings.Trim(r.Get("envelope-from"), "<>")
	if strings.EqualFold(r.Get("identity"), "helo") {
		from = r.Get("helo")
	}
	for _, c := range r.Comments {
		if _, behind, ok := strings.Cut(c, "domain of "); ok && from == "" {
			from, _, _ = strings.Cut(behind, " ")
		}
	}
	if from == "" {
		from = r.Get("helo")
	}
	from = from[strings.LastIndexByte(from, '@')+1:]
	return strings.ToLower(strings.TrimSuffix(from, "."))
}

// ParseReceivedSPF reads the value of a field Received-SPF. Some servers omit the semicolons between the pairs. The
// error says that the field has no value.
func ParseReceivedSPF(value string) (*ReceivedSPF, error) {
	p := scanner{s: value}
	p.skip()
	r := &ReceivedSPF{Result: strings.ToLower(p.until(" \t\r\n(;="))}
	if r.Result == "" {
		return nil, errEmpty
	}
	for p.skip(); !p.done(); p.skip() {
		if p.peek() == ';' {
			p.at++
			continue
		}
		if name, value, ok := p.pair(); ok {
			r.Pairs = append(r.Pairs, Property{"", name, value})
		}
	}
	r.Comments = p.comments
	return r, nil
}
