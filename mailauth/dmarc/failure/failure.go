package failure

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/mailauth/message"
)

// A Report is about one message. Missing values are zero.
type Report struct {
	Type      string // what it is about, such as auth-failure or abuse (RFC 5965 section 7.3, RFC 6591 section 3.1)
	Failure   string // what failed, such as dmarc or bodyhash (RFC 6591 section 3.3, RFC 9991 section 4)
	UserAgent string // that made the report
	Version   string // of the format
	Arrival   time.Time
	SourceIP  netip.Addr // from which the message came
	Delivery  string     // what was done with the message, such as delivered or reject (RFC 6591 section 3.2.2)
	Incidents int64      // similar messages that the report represents; 1 if it does not say

	ReportedDomain string // that the report is for
	OriginalFrom   string // MAIL FROM of the message, without brackets
	OriginalRcpt   []string
	EnvelopeID     string
	ReportingMTA   string
	ReportedURIs   []string
	// AlignedBy are the mechanisms that authenticated an aligned domain, of dkim and spf (Identity-Alignment,
	// RFC 9991 section 4). HasAlignment reports whether the report has the field.
	AlignedBy    []string
	HasAlignment bool

	AuthenticationResults []string // values of the fields of the report, not of the message
	DKIMDomain            string
	DKIMIdentity          string
	DKIMSelector          string
	DKIMKey               string // the record that the receiver saw (DKIM-Selector-DNS)
	SPFRecord             string // the same of SPF (SPF-DNS)

	Original Original
	// Redacted reports whether addresses seem to be replaced by other text (RFC 6590).
	Redacted bool
	// TextOnly reports whether there is no machine-readable part: all is read from the text for people.
	TextOnly bool
	// Deviations are the report's deviations from the RFCs: sentences without a full stop.
	Deviations []string
}

// Original is the message that the report is about, as far as it is attached.
type Original struct {
	Header  *message.Message // its fields, in order; nil if none are attached
	HasBody bool             // whether more than the header is attached
}

func (o *Original) value(name string) string {
	if o.Header == nil {
		return ""
	}
	return o.Header.Value(name)
}

// The words that the RFCs define.
var (
	types      = kit.Words("auth-failure abuse fraud not-spam virus other")
	failures   = kit.Words("dmarc spf bodyhash signature revoked adsp")
	deliveries = kit.Words("delivered spam policy reject other")
)

const authFailure = "auth-failure"

// The bounds of a report: one message, which is attached.
const (
	maxBytes      = 10 << 20 // as sent (CONTRACT 1.9)
	maxList       = 100      // values of one field that may be repeated
	maxDeviations = 20
)

// Parse parses the message that contains a report. The error says why it is not one.
func Parse(text []byte) (*Report, error) {
	if len(text) > maxBytes {
		return nil, fmt.Errorf("it is longer than %d bytes", maxBytes)
	}
	header := message.Split(text)
	if len(header.Fields) == 0 {
		return nil, errors.New("it is not a message: it has no header fields")
	}
	parts := message.Parts(text)
	r := &Report{Incidents: 1}
	feedback := slices.IndexFunc(parts, isFeedback)
	if feedback >= 0 {
		r.fields(message.Split(leadingText(parts[feedback].Body())))
		r.envelope(header)
	} else if !r.text(header, parts) {
		return nil, errors.New("it has neither a part of the type message/feedback-report " +
			"nor text with the address and the domain of a message that failed")
	}
	for i := range parts {
		if i != feedback && r.Original.Header == nil {
			r.attached(&parts[i])
		}
	}
	r.complete()
	return r, nil
}

// isFeedback finds the part for programs, also where its type was lost on the way.
func isFeedback(p message.Part) bool {
	if p.Type == "message/feedback-report" {
		return true
	}
	fields := message.Split(leadingText(p.Body()))
	return p.Type != "message/rfc822" && fields.Value("Feedback-Type") != "" && fields.Value("User-Agent") != ""
}

// leadingText removes the blank lines at the start of a part, which some programs add.
func leadingText(body []byte) []byte { return []byte(strings.TrimLeft(string(body), " \t\r\n")) }

// envelope notes where the message around the report departs from RFC 5965 section 2.
func (r *Report) envelope(header *message.Message) {
	t, params := message.MediaType(header.Value("Content-Type"))
	switch {
	case t != "multipart/report":
		r.deviates("The report is a message of the type %s, not multipart/report", t)
	case !strings.EqualFold(params["report-type"], "feedback-report"):
		r.deviates("The parameter report-type of Content-Type is not feedback-report")
	}
}

func (r *Report) attached(p *message.Part) {
	switch p.Type {
	case "message/rfc822", "text/rfc822-headers", "message/rfc822-headers", "message/global", "message/global-headers":
		m := message.Split(leadingText(p.Body()))
		if len(m.Fields) > 0 {
			r.Original = Original{m, len(bytes.TrimSpace(m.Body)) > 0}
		}
	}
}

// complete fills missing values from the attached message, and checks required ones.
func (r *Report) complete() {
	if r.Type == authFailure && r.Failure == "" {
		r.deviates("The report does not say which mechanism failed (Auth-Failure)")
	}
	if !r.SourceIP.IsValid() && r.Type == authFailure {
		r.deviates("The report does not say from which address the message came (Source-IP)")
	}
	if r.Type == authFailure && r.Failure == "dmarc" && !r.HasAlignment {
		r.deviates("The report does not say which identities were aligned (Identity-Alignment)")
	}
	if r.Original.Header == nil {
		r.deviates("The message that failed is not attached, nor is its header")
	}
	if r.ReportedDomain == "" {
		r.ReportedDomain = domainOf(r.Original.value("From"))
	}
	addresses := append([]string{r.OriginalFrom, r.Original.value("To")}, r.OriginalRcpt...)
	r.Redacted = slices.ContainsFunc(addresses, redacted)
}
