package failure

import (
	"net/netip"
	"time"

	"github.com/diagkit/diagkit/mailauth/message"
)

// A FeedbackType is what a report is about (RFC 5965 section 7.3, RFC 6591 section 3.1).
type FeedbackType string

// The registered types.
const (
	authFailure FeedbackType = "auth-failure" // a message failed authentication
	abuse       FeedbackType = "abuse"        // a recipient calls it unsolicited
	fraud       FeedbackType = "fraud"
	notSpam     FeedbackType = "not-spam"
	virus       FeedbackType = "virus"
	other       FeedbackType = "other"
)

// A Failure is the mechanism that failed (RFC 6591 section 3.3, RFC 9991 section 4).
type Failure string

// The registered failures.
const (
	dmarc     Failure = "dmarc"     // no aligned domain was authenticated
	spf       Failure = "spf"       // the address was not authorized
	bodyHash  Failure = "bodyhash"  // the body is not the one that was signed with DKIM
	signature Failure = "signature" // the signature of the header is wrong
	revoked   Failure = "revoked"   // the key was withdrawn
	adsp      Failure = "adsp"      // historic (RFC 5617)
)

// A Delivery is what became of the message (RFC 6591 section 3.2.2).
type Delivery string

// The registered results.
const (
	delivered      Delivery = "delivered"
	deliveredSpam  Delivery = "spam"
	policyAction   Delivery = "policy" // refused or set aside by policy
	rejected       Delivery = "reject"
	deliveredOther Delivery = "other"
)

// A Report is about one message. What a report does not say is zero.
type Report struct {
	Type      FeedbackType
	Failure   Failure
	UserAgent string // that made the report
	Version   string // of the format
	Arrival   time.Time
	SourceIP  netip.Addr // from which the message came
	Delivery  Delivery
	Incidents int64 // similar messages that the report stands for; 1 if it does not say

	ReportedDomain string // that the report is for
	OriginalFrom   string // MAIL FROM of the message, without brackets
	OriginalRcpt   []string
	EnvelopeID     string
	ReportingMTA   string
	ReportedURIs   []string
	// AlignedBy are the mechanisms that authenticated an aligned domain, of dkim and spf (Identity-Alignment,
	// RFC 9991 section 4). HasAlignment says that the report tells.
	AlignedBy    []string
	HasAlignment bool

	AuthenticationResults []string // values of the fields of the report, not of the message
	DKIMDomain            string
	DKIMIdentity          string
	DKIMSelector          string
	DKIMKey               string // the record that the receiver saw (DKIM-Selector-DNS)
	SPFRecord             string // the same of SPF (SPF-DNS)

	Original Original
	// Redacted says that addresses are replaced by other text (RFC 6590), as far as can be told.
	Redacted bool
	// TextOnly says that there is no part for programs: all is read from the text for people.
	TextOnly bool
	// Deviations are where the report departs from the RFCs: sentences without a full stop.
	Deviations []string
}

// Original is the message that the report is about, as far as it is attached.
type Original struct {
	Header  *message.Message // its fields, in order; nil if none are attached
	HasBody bool             // whether more than the header is attached
}

// value returns the value of the first field of a name; empty if there is none.
func (o *Original) value(name string) string {
	if o.Header == nil {
		return ""
	}
	return o.Header.Value(name)
}
