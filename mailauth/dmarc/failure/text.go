package failure

import (
	"bytes"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/message"
	"github.com/diagkit/diagkit/mailauth/mime"
)

// maxText bounds how much of the text for people is read: what it says of the message stands at its beginning.
const maxText = 256 << 10

// received finds the phrase of RFC 5965 appendix B.1, which most programs have kept.
var received = diag.Regexp(`received\s+from(?:\s+IP)?\s+([0-9A-Fa-f.:]+)\s+on\s+([^\r\n]+)`)

// labels are the words that programs write before values, and what they mean. "Label: value" stands on a line.
var labels = map[string]func(*Report, string){
	"sender domain":                  func(r *Report, v string) { r.ReportedDomain = canonicalDomain(v) },
	"domain":                         func(r *Report, v string) { r.ReportedDomain = canonicalDomain(v) },
	"reported domain":                func(r *Report, v string) { r.ReportedDomain = canonicalDomain(v) },
	"header from":                    func(r *Report, v string) { r.ReportedDomain = canonicalDomain(v) },
	"sender ip address":              func(r *Report, v string) { r.SourceIP = r.address(v) },
	"source ip":                      func(r *Report, v string) { r.SourceIP = r.address(v) },
	"sender ip":                      func(r *Report, v string) { r.SourceIP = r.address(v) },
	"received date":                  func(r *Report, v string) { r.Arrival, _ = date(v) },
	"arrival date":                   func(r *Report, v string) { r.Arrival, _ = date(v) },
	"spf alignment":                  func(r *Report, v string) { r.align("spf", v) },
	"dkim alignment":                 func(r *Report, v string) { r.align("dkim", v) },
	"dmarc results":                  func(r *Report, v string) { r.disposition(v) },
	"dkim-authenticated identifiers": func(r *Report, v string) { r.DKIMDomain = canonicalDomain(strings.Trim(v, "; ")) },
	"original mail from":             func(r *Report, v string) { r.OriginalFrom = addrSpec(v) },
	"envelope from":                  func(r *Report, v string) { r.OriginalFrom = addrSpec(v) },
}

// text reads a report that has no part for programs. It takes it for one only if the text names both address and
// domain, or a copy of the header is in it; all other messages are none.
func (r *Report) text(header *message.Message, parts []mime.Part) bool {
	for i := range parts {
		if p := &parts[i]; p.Type == "text/plain" {
			body := p.Body()
			r.readText(body[:min(len(body), maxText)])
		}
		if r.Original.Header == nil {
			r.attached(&parts[i])
		}
	}
	if r.ReportedDomain == "" {
		r.ReportedDomain = domainOf(r.Original.value("From"))
	}
	subject := strings.ToLower(header.Value("Subject"))
	speaks := strings.Contains(subject, "dmarc") || strings.Contains(subject, "failure report") ||
		strings.Contains(subject, "forensic")
	t, _ := mime.MediaType(header.Value("Content-Type"))
	if !r.SourceIP.IsValid() || r.ReportedDomain == "" || !speaks && t != "multipart/report" {
		return false
	}
	r.Type, r.TextOnly = authFailure, true
	if strings.Contains(subject, "dmarc") {
		r.Failure = dmarc
	}
	r.deviates("The report has no part of the type message/feedback-report: all is read from its text")
	return true
}

func (r *Report) readText(body []byte) {
	if m := received().FindSubmatch(body); m != nil {
		r.SourceIP = r.address(string(m[1]))
		r.Arrival, _ = date(strings.TrimRight(string(m[2]), ". \t\r"))
	}
	for rest := body; len(rest) > 0; {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
		if isCopy(line) {
			r.Original = Original{Header: message.Split(leadingText(rest))}
			return
		}
		label, value, ok := strings.Cut(string(line), ":")
		label = strings.ToLower(strings.TrimLeft(strings.TrimSpace(label), "0123456789.-* "))
		if read := labels[label]; ok && read != nil {
			read(r, strings.TrimSpace(value))
		}
	}
}

func isCopy(line []byte) bool {
	text := strings.ToLower(strings.TrimSpace(string(line)))
	return strings.HasPrefix(text, "---") && strings.Contains(text, "header")
}

func (r *Report) align(mechanism, value string) {
	r.HasAlignment = true
	if v := strings.ToLower(value); v == "yes" || v == "pass" || v == "aligned" {
		r.AlignedBy = slices.DeleteFunc(r.AlignedBy, func(s string) bool { return s == mechanism })
		r.AlignedBy = append(r.AlignedBy, mechanism)
	}
}

// disposition reads "policy, what was done", as Exim's users write it.
func (r *Report) disposition(value string) {
	switch v := strings.ToLower(value); {
	case strings.Contains(v, "reject"):
		r.Delivery = rejected
	case strings.Contains(v, "quarantine"):
		r.Delivery = deliveredSpam
	case strings.Contains(v, "accept"):
		r.Delivery = delivered
	}
}
