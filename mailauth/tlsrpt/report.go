package tlsrpt

import (
	"math"
	"net/netip"
	"slices"
	"time"
)

// PolicyType is what kind of policy a sender applied (RFC 8460 section 4.4).
type PolicyType string

// The types of policies.
const (
	policySTS  PolicyType = "sts"             // MTA-STS (RFC 8461)
	policyTLSA PolicyType = "tlsa"            // DANE (RFC 7672)
	noPolicy   PolicyType = "no-policy-found" // neither
)

// Known reports whether RFC 8460 defines the type.
func (t PolicyType) Known() bool { return t == policySTS || t == policyTLSA || t == noPolicy }

// A ResultType is why sessions failed.
type ResultType string

// The registered types (IANA registry "STARTTLS Validation Result Types", RFC 8460 section 6.6).
const (
	startTLSNotSupported    ResultType = "starttls-not-supported"
	certificateHostMismatch ResultType = "certificate-host-mismatch"
	certificateExpired      ResultType = "certificate-expired"
	certificateNotTrusted   ResultType = "certificate-not-trusted"
	validationFailure       ResultType = "validation-failure"
	tlsaInvalid             ResultType = "tlsa-invalid"
	dnssecInvalid           ResultType = "dnssec-invalid"
	daneRequired            ResultType = "dane-required"
	stsPolicyFetchError     ResultType = "sts-policy-fetch-error"
	stsPolicyInvalid        ResultType = "sts-policy-invalid"
	stsWebPKIInvalid        ResultType = "sts-webpki-invalid"
)

var resultTypes = []ResultType{startTLSNotSupported, certificateHostMismatch, certificateExpired, certificateNotTrusted,
	validationFailure, tlsaInvalid, dnssecInvalid, daneRequired, stsPolicyFetchError, stsPolicyInvalid,
	stsWebPKIInvalid}

// Known reports whether the type is registered.
func (t ResultType) Known() bool { return slices.Contains(resultTypes, t) }

// A Report says how TLS went for the mail of one sender to one domain, mostly of one day.
type Report struct {
	Organization string    // that reports
	ContactInfo  string    // of the organization
	ID           string    // by which the organization knows the report
	Begin, End   time.Time // of the time that the report is about; zero if it cannot be read
	Policies     []PolicyReport
	// Sessions of all policies together.
	Successful, Failed int64
	// Submitter and Domain are those of the message that brought the report: who sends it, and about which
	// domain (RFC 8460 section 5.3). They are empty for a report without a message.
	Submitter, Domain string
	// Faults are deviations from RFC 8460, and what had to be left out: sentences without a full stop.
	Faults []string
}

// A PolicyReport is what happened under one policy.
type PolicyReport struct {
	Type     PolicyType
	Strings  []string // the policy as the sender saw it: lines of MTA-STS, or records of TLSA
	Domain   string   // whose policy it is
	MXHosts  []string // patterns of the mail servers concerned
	Failures []FailureDetail

	Successful, Failed int64 // sessions
}

// A FailureDetail is a number of sessions that failed for the same reason.
type FailureDetail struct {
	Result                ResultType
	SendingIP             netip.Addr // of the sender's mail server; zero if it is missing or cannot be read
	ReceivingMXHostname   string
	ReceivingMXHELO       string
	ReceivingIP           netip.Addr
	Sessions              int64
	AdditionalInformation string
	ReasonCode            string // further text, such as an error of TLS
}

// add sums sessions; a sum that no int64 can hold stays the greatest.
func add(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func (r *Report) sum() {
	r.Successful, r.Failed = 0, 0
	for _, p := range r.Policies {
		r.Successful, r.Failed = add(r.Successful, p.Successful), add(r.Failed, p.Failed)
	}
}
