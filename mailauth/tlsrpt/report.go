package tlsrpt

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/mailauth/message"
)

// PolicyType is the kind of policy that a sender applied (RFC 8460 section 4.4).
type PolicyType string

const (
	PolicySTS  PolicyType = "sts"             // MTA-STS (RFC 8461)
	PolicyTLSA PolicyType = "tlsa"            // DANE (RFC 7672)
	NoPolicy   PolicyType = "no-policy-found" // neither
)

func (t PolicyType) known() bool { return t == PolicySTS || t == PolicyTLSA || t == NoPolicy }

// A ResultType is a reason why sessions failed.
type ResultType string

// The registered types (IANA registry "STARTTLS Validation Result Types", RFC 8460 section 6.6).
const (
	StartTLSNotSupported    ResultType = "starttls-not-supported"
	CertificateHostMismatch ResultType = "certificate-host-mismatch"
	CertificateExpired      ResultType = "certificate-expired"
	CertificateNotTrusted   ResultType = "certificate-not-trusted"
	ValidationFailure       ResultType = "validation-failure"
	TLSAInvalid             ResultType = "tlsa-invalid"
	DNSSECInvalid           ResultType = "dnssec-invalid"
	DANERequired            ResultType = "dane-required"
	STSPolicyFetchError     ResultType = "sts-policy-fetch-error"
	STSPolicyInvalid        ResultType = "sts-policy-invalid"
	STSWebPKIInvalid        ResultType = "sts-webpki-invalid"
)

var resultTypes = []ResultType{StartTLSNotSupported, CertificateHostMismatch, CertificateExpired, CertificateNotTrusted,
	ValidationFailure, TLSAInvalid, DNSSECInvalid, DANERequired, STSPolicyFetchError, STSPolicyInvalid,
	STSWebPKIInvalid}

// A Report holds the TLS results for the mail of one sender to one domain, usually for one day.
type Report struct {
	Organization string    // the reporting organization
	ContactInfo  string    // of the organization
	ID           string    // the organization's identifier of the report
	Begin, End   time.Time // of the reporting period; zero if unreadable
	Policies     []PolicyReport
	// Sessions of all policies together.
	Successful, Failed int64
	// Submitter and Domain are from the message that carried the report: its sender, and the domain it is about (RFC
	// 8460 section 5.3). They are empty for a report without a message.
	Submitter, Domain string
	// Faults are deviations from RFC 8460 and omitted parts: sentences without a period.
	Faults []string
	// More means that unread data follows the report, or is in other parts of the message.
	More bool
}

// A PolicyReport holds the results under one policy.
type PolicyReport struct {
	Type     PolicyType
	Strings  []string // the policy as the sender saw it: lines of MTA-STS, or records of TLSA
	Domain   string   // the domain of the policy
	MXHosts  []string // patterns of the mail servers concerned
	Failures []FailureDetail

	Successful, Failed int64 // sessions
}

// A FailureDetail is a number of sessions that failed for the same reason.
type FailureDetail struct {
	Result                ResultType
	SendingIP             netip.Addr // of the sender's mail server; zero if missing or unreadable
	ReceivingMXHostname   string
	ReceivingMXHELO       string
	ReceivingIP           netip.Addr
	Sessions              int64
	AdditionalInformation string
	ReasonCode            string // further text, such as an error of TLS
}

// add sums sessions; a sum that overflows int64 saturates.
func add(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// The bounds of a report. Those of the largest senders have some hundred kilobytes.
const (
	maxReportBytes   = 10 << 20 // as sent (CONTRACT 1.9)
	maxExpandedBytes = 32 << 20 // without gzip
	maxPolicies      = 10_000
	maxFailures      = 100_000 // of all policies together
	maxFaults        = 100     // listed; a text with more is not a report
	maxAttached      = 3       // messages within messages
	maxExpanded      = 5       // parts of a message that are expanded: each may take all of MaxExpandedBytes
)

// ParseReport reads a report (RFC 8460 section 4.4): JSON, compressed with gzip or not, or the message that carried
// it. A fault in one place does not affect the rest: see [Report.Faults]. An error says why the text is not a report
// at all.
func ParseReport(data []byte) (*Report, error) {
	if len(data) > maxReportBytes {
		return nil, fmt.Errorf("it is longer than %d bytes", maxReportBytes)
	}
	if looksLikeReport(data) {
		return parseBody(data)
	}
	expanded := 0
	return parseMessage(data, 0, &expanded)
}

func looksLikeReport(data []byte) bool {
	return isGzip(data) || bytes.HasPrefix(trim(data), []byte("{"))
}

func isGzip(data []byte) bool { return bytes.HasPrefix(data, []byte{0x1f, 0x8b}) }

// trim removes what may precede JSON: white space, and a byte order mark against RFC 8259 section 8.1.
func trim(data []byte) []byte { return bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff"))) }

func parseBody(data []byte) (*Report, error) {
	if !isGzip(data) {
		return parseJSON(data)
	}
	zr, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("its gzip header cannot be read: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(zr, maxExpandedBytes+1))
	if len(text) > maxExpandedBytes {
		return nil, fmt.Errorf("it expands to more than %d bytes", maxExpandedBytes)
	}
	r, jsonErr := parseJSON(text)
	switch {
	case jsonErr != nil && err != nil:
		return nil, fmt.Errorf("its gzip data is damaged: %w", err)
	case err != nil:
		r.Faults = append(r.Faults, "The gzip data is damaged: what comes after the damage is missing")
	}
	return r, jsonErr
}

// parseMessage looks for a report in the parts of a message. Some senders name its type differently, or not at
// all, so its contents decide.
func parseMessage(data []byte, depth int, expanded *int) (*Report, error) {
	m := message.Split(data)
	if len(m.Fields) == 0 {
		return nil, errors.New("it is neither JSON nor gzip nor a message: " + guess(data))
	}
	refusal := errors.New("no part of the message is JSON or gzip")
	var found *Report
	for _, p := range message.Parts(data) {
		body := p.Body()
		if found != nil {
			found.More = found.More || looksLikeReport(body)
			continue
		}
		var r *Report
		var err error
		if isGzip(body) {
			if *expanded++; *expanded > maxExpanded {
				return nil, fmt.Errorf("it has more than %d compressed parts, and the first are no reports", maxExpanded)
			}
		}
		switch {
		case looksLikeReport(body):
			r, err = parseBody(body)
		case p.Type == "message/rfc822" && depth < maxAttached:
			r, err = parseMessage(body, depth+1, expanded)
		default:
			continue
		}
		if err != nil {
			refusal = err
			continue
		}
		r.Submitter = cmp.Or(r.Submitter, m.Value("TLS-Report-Submitter"))
		r.Domain = cmp.Or(r.Domain, m.Value("TLS-Report-Domain"))
		if !strings.HasPrefix(p.Type, "application/tlsrpt") && p.Type != "message/rfc822" {
			r.fault("The report has the media type %s, not application/tlsrpt+json or +gzip", quote(p.Type))
		}
		found = r
	}
	if found != nil {
		return found, nil
	}
	return nil, refusal
}

func guess(data []byte) string {
	switch text := trim(data); {
	case len(text) == 0:
		return "it is empty"
	case text[0] == '<':
		return "it looks like XML, as aggregate reports of DMARC are"
	case bytes.HasPrefix(data, []byte("PK\x03\x04")):
		return "it is a ZIP archive, in which reports of TLSRPT do not come"
	default:
		return "it has no header fields"
	}
}

func (r *Report) fault(format string, args ...any) {
	if len(r.Faults) < maxFaults {
		r.Faults = append(r.Faults, fmt.Sprintf(format, args...))
	}
}

func quote(s string) string { return strconv.Quote(phrase.Quote(s)) }
