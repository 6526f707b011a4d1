package diag

import (
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/miekg/dns"
)

// DNSSECStatus is what is known of the authenticity of an answer (RFC 4035 section 4.3).
type DNSSECStatus string

// The statuses.
const (
	Secure        DNSSECStatus = "secure"
	Insecure      DNSSECStatus = "insecure"
	Bogus         DNSSECStatus = "bogus"
	Indeterminate DNSSECStatus = "indeterminate"
)

// Values lists the statuses.
func (DNSSECStatus) Values() []string { return kit.Values(Secure, Insecure, Bogus, Indeterminate) }

// DNSSEC returns the resolver's verdict on the authenticity of the answer: secure if it set the AD bit, bogus if it
// reported that, else indeterminate, because a resolver that does not validate looks the same as an unsigned zone.
func (a Answer[R]) DNSSEC() DNSSECStatus { return dnssecStatus(a.Authentic, a.Rcode, a.Extended) }

// MessageDNSSEC is [Answer.DNSSEC] for a whole message.
func MessageDNSSEC(m *dns.Msg) DNSSECStatus {
	return dnssecStatus(m.AuthenticatedData, m.Rcode, dnsmsg.ExtendedErrors(m))
}

func dnssecStatus(authentic bool, rcode int, extended []dns.EDNS0_EDE) DNSSECStatus {
	if authentic && (rcode == dns.RcodeSuccess || rcode == dns.RcodeNameError) {
		return Secure
	}
	for _, e := range extended {
		// DNSSEC Bogus, Signature Expired to NSEC Missing (RFC 8914 sections 4.7 to 4.13).
		if rcode == dns.RcodeServerFailure && dns.ExtendedErrorCodeDNSBogus <= e.InfoCode &&
			e.InfoCode <= dns.ExtendedErrorCodeNSECMissing {
			return Bogus
		}
	}
	return Indeterminate
}
