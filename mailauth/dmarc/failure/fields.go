package failure

import (
	"bytes"
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/mailauth/message"
)

func (r *Report) fields(h *message.Message) {
	r.Type = strings.ToLower(h.Value("Feedback-Type"))
	r.Failure = strings.ToLower(h.Value("Auth-Failure"))
	r.UserAgent, r.Version = h.Value("User-Agent"), h.Value("Version")
	r.SourceIP = r.address(h.Value("Source-IP"))
	r.Delivery = strings.ToLower(h.Value("Delivery-Result"))
	r.ReportedDomain = canonicalDomain(h.Value("Reported-Domain"))
	r.OriginalFrom = addrSpec(h.Value("Original-Mail-From"))
	r.OriginalRcpt = kit.Map(some(h.Values("Original-Rcpt-To")), addrSpec)
	r.EnvelopeID = h.Value("Original-Envelope-Id")
	_, mta, ok := strings.Cut(h.Value("Reporting-MTA"), ";") // RFC 3464 section 2.2.2: "dns; name"
	if r.ReportingMTA = strings.TrimSpace(mta); !ok {
		r.ReportingMTA = h.Value("Reporting-MTA")
	}
	r.ReportedURIs = some(h.Values("Reported-URI"))
	r.AuthenticationResults = some(h.Values("Authentication-Results"))
	r.DKIMDomain, r.DKIMIdentity = canonicalDomain(h.Value("DKIM-Domain")), h.Value("DKIM-Identity")
	r.DKIMSelector, r.DKIMKey = h.Value("DKIM-Selector"), h.Value("DKIM-Selector-DNS")
	r.SPFRecord = h.Value("SPF-DNS")
	r.arrival(h)
	r.alignment(h)
	r.incidents(h.Value("Incidents"))
	r.checkFields()
}

func (r *Report) checkFields() {
	for _, f := range []struct {
		known        bool
		field, value string
	}{
		{types()[r.Type], "Feedback-Type", r.Type},
		{r.Failure == "" || failures()[r.Failure], "Auth-Failure", r.Failure},
		{r.Delivery == "" || deliveries()[r.Delivery], "Delivery-Result", r.Delivery},
		{r.Version == "1", "Version", r.Version}, // RFC 5965 section 3.1
	} {
		switch {
		case f.known:
		case f.value == "":
			r.deviates("The field %s is missing", f.field)
		default:
			r.deviates("The field %s has the value %s, which the RFCs do not define", f.field, quote(f.value))
		}
	}
	if r.UserAgent == "" {
		r.deviates("The field User-Agent is missing")
	}
}

// arrival reads the arrival time of the message; Received-Date is its name in the drafts of RFC 5965.
func (r *Report) arrival(h *message.Message) {
	value := cmp.Or(h.Value("Arrival-Date"), h.Value("Received-Date"))
	if value == "" {
		return
	}
	var ok bool
	if r.Arrival, ok = date(value); !ok {
		r.deviates("The arrival date %s is not a date of RFC 5322", quote(value))
	}
}

// date reads a date of RFC 5322, and of how else it is written.
func date(value string) (time.Time, bool) {
	d, err := message.ParseDate(value)
	return d.Time.UTC(), err == nil
}

// alignment reads "none" or the mechanisms, separated by commas, or by other characters in some programs.
func (r *Report) alignment(h *message.Message) {
	value := strings.ToLower(h.Value("Identity-Alignment"))
	if value == "" {
		return
	}
	r.HasAlignment = true
	for word := range strings.FieldsFuncSeq(value, func(c rune) bool { return strings.ContainsRune(" ,;-/\t", c) }) {
		switch {
		case word == "spf" || word == "dkim":
			r.align(word, "yes")
		case word != "none":
			r.deviates("The field Identity-Alignment names %s, which is neither dkim nor spf nor none", quote(word))
		}
	}
	if strings.ContainsAny(value, ";-/") {
		r.deviates("The field Identity-Alignment has the value %s, not a list with commas", quote(value))
	}
}

func (r *Report) incidents(value string) {
	if value == "" {
		return
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < 1 {
		r.deviates("The field Incidents has the value %s, which is not a number", quote(value))
		return
	}
	r.Incidents = n
}

func (r *Report) address(value string) netip.Addr {
	if value == "" {
		return netip.Addr{}
	}
	text, _, _ := strings.Cut(value, "(") // a comment, in which OpenDMARC names the host
	text = strings.Trim(text, "[] \t")
	if len(text) > 5 && strings.EqualFold(text[:5], "IPv6:") { // RFC 5321 section 4.1.3
		text = text[5:]
	}
	ip, err := netip.ParseAddr(text)
	if err != nil {
		r.deviates("The field Source-IP has the value %s, which is not an IP address", quote(value))
	}
	return ip.Unmap().WithZone("")
}

func some(values []string) []string { return values[:min(len(values), maxList)] }

func addrSpec(path string) string {
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(path), "<"), ">")
}

// canonicalDomain returns a domain as the other packages write it; other text is unchanged.
func canonicalDomain(s string) string {
	if name, err := diag.ParseName(s); err == nil && s != "" {
		return name.String()
	}
	return strings.ToLower(s)
}

func domainOf(field string) string {
	list := message.ParseAddresses(field)
	if len(list) == 0 {
		return ""
	}
	return canonicalDomain(list[0].Domain)
}

// redacted reports whether an address looks like one that was replaced: by a word, by signs, or by the digest that
// RFC 6590 section 3 proposes.
func redacted(address string) bool {
	_, spec, ok := strings.Cut(address, "<")
	if !ok {
		spec = address
	}
	local, _, _ := strings.Cut(strings.Trim(spec, "<> "), "@")
	lower := strings.ToLower(local)
	switch {
	case local == "":
		return false
	case strings.Contains(lower, "redacted"), len(local) > 2 && strings.Trim(lower, "x*.-_") == "":
		return true
	default:
		const digest = 27 // SHA-1 in base64, without padding; in base16 it is longer
		return len(local) >= digest && strings.ContainsAny(local, "0123456789") &&
			strings.Trim(lower, "abcdefghijklmnopqrstuvwxyz0123456789+/=") == ""
	}
}

// maxText bounds how much of the text for people is read: what it says about the message is at its beginning.
const maxText = 256 << 10

// received finds the phrase of RFC 5965 appendix B.1, which most programs have kept.
var received = kit.Regexp(`received\s+from(?:\s+IP)?\s+([0-9A-Fa-f.:]+)\s+on\s+([^\r\n]+)`)

// labels are the words that programs write before values, and their meanings, in lines "Label: value".
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

// text reads a report without a machine-readable part. It reports true only if the text names both address and domain,
// or contains a copy of the header; other messages are not reports.
func (r *Report) text(header *message.Message, parts []message.Part) bool {
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
	t, _ := message.MediaType(header.Value("Content-Type"))
	if !r.SourceIP.IsValid() || r.ReportedDomain == "" || !speaks && t != "multipart/report" {
		return false
	}
	r.Type, r.TextOnly = authFailure, true
	if strings.Contains(subject, "dmarc") {
		r.Failure = "dmarc"
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
		begins := strings.ToLower(strings.TrimSpace(string(line)))
		if strings.HasPrefix(begins, "---") && strings.Contains(begins, "header") { // a copy of the header follows
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

func (r *Report) align(mechanism, value string) {
	r.HasAlignment = true
	aligned := slices.Contains([]string{"yes", "pass", "aligned"}, strings.ToLower(value))
	if aligned && !slices.Contains(r.AlignedBy, mechanism) {
		r.AlignedBy = append(r.AlignedBy, mechanism)
	}
}

func (r *Report) disposition(value string) {
	switch v := strings.ToLower(value); {
	case strings.Contains(v, "reject"):
		r.Delivery = "reject"
	case strings.Contains(v, "quarantine"):
		r.Delivery = "spam"
	case strings.Contains(v, "accept"):
		r.Delivery = "delivered"
	}
}

func (r *Report) deviates(format string, args ...any) {
	if len(r.Deviations) < maxDeviations {
		r.Deviations = append(r.Deviations, fmt.Sprintf(format, args...))
	}
}

func quote(s string) string { return fmt.Sprintf("%q", phrase.Quote(s)) }
