package dane

import (
	"crypto/x509"
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/internal/smtp"
	"github.com/miekg/dns"
)

// A fault is the first problem, in the order in which a sender meets them, that keeps DANE from protecting a host.
type fault string

// The faults. Of those from unusable on the sender knows that DANE applies.
const (
	none           fault = ""
	addressUnknown fault = "address unknown" // the lookup of its addresses failed
	noAddress      fault = "no address"
	statusUnknown  fault = "status unknown" // whether the answers are secure is unknown
	bogus          fault = "bogus"
	tlsaUnknown    fault = "tlsa unknown" // the lookup of its TLSA records failed
	absent         fault = "absent"       // it has no TLSA records
	// its addresses are not signed, and the lookup failed, which then does not matter
	unasked     fault = "unasked"
	unsigned    fault = "unsigned"    // it has some, and its addresses or they themselves are not signed
	unusable    fault = "unusable"    // senders can use none of the records
	unverified  fault = "unverified"  // no connection was requested
	unreachable fault = "unreachable" // the connection failed before STARTTLS
	noStartTLS  fault = "no starttls"
	badStartTLS fault = "bad starttls"
	mismatch    fault = "mismatch"
	wrongName   fault = "name"
	outOfDate   fault = "dates"
	badChain    fault = "chain"
)

func (e *evidence) digest() {
	for i := range e.hosts {
		h := &e.hosts[i]
		for j := range h.servers {
			h.servers[j].compare(h, e)
		}
		h.fault = h.judge(e)
	}
}

// compare matches the records against what the server presented. Those that senders cannot use are compared as well,
// for the report, but do not affect the outcome.
func (s *server) compare(h *host, e *evidence) {
	all := Verify(h.records, Peer{Chain: s.chain, Names: e.references(h), Now: e.now, Roots: new(x509.CertPool)})
	for i, r := range h.records {
		if !r.UsableForSMTP() {
			all.Matches[i].Err = &MatchError{Reason: Unusable, Text: "senders of mail do not use the record"}
		}
	}
	s.result = all
}

// references are the names of which the certificate of a host must cover one: the TLSA base domain, and if the records
// that led there are signed, the domain and that of which it is an alias (RFC 7672 section 3.2.2).
func (e *evidence) references(h *host) []string {
	names := []string{h.base}
	if e.namesDNSSEC == diag.Insecure {
		return names
	}
	known := []string{e.domain.String()}
	if n := len(e.mail.MX.Aliases); n > 0 && e.source != fromSRV {
		known = append(known, strings.TrimSuffix(e.mail.MX.Aliases[n-1], "."))
	}
	for _, name := range known {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func (h *host) judge(e *evidence) fault {
	switch status := weaker(h.baseStatus, h.tlsaStatus); {
	case h.baseStatus == diag.Bogus || h.baseStatus == diag.Secure && h.tlsaStatus == diag.Bogus:
		return bogus
	case h.Err() != nil && (len(h.Addresses.All()) == 0 || h.baseStatus != diag.Insecure):
		return addressUnknown // also of one kind: senders cannot tell whether DANE applies
	case len(h.Addresses.All()) == 0:
		return noAddress
	case h.baseStatus == diag.Insecure && h.tlsa.Err() != nil:
		return unasked // RFC 7672 section 2.2.2
	case h.tlsa.Err() != nil:
		return tlsaUnknown
	case !h.tlsa.Exists():
		return absent
	case status == diag.Indeterminate:
		return statusUnknown
	case status != diag.Secure:
		return unsigned
	case len(h.usable()) == 0:
		if s := h.server(); s != nil && s.fault() == noStartTLS { // TLS is demanded all the same (RFC 7672 section 2.2)
			return noStartTLS
		}
		return unusable
	case !e.verify:
		return unverified
	}
	if s := h.server(); s != nil {
		return s.fault()
	}
	return unreachable
}

func (s *server) fault() fault {
	switch {
	case len(s.chain) > 0:
	case s.err == nil:
		return unreachable
	case s.err.Kind == smtp.NotOffered:
		return noStartTLS
	case s.err.Step == smtp.StepTLS && s.err.Kind != smtp.TimedOut, s.rejected():
		return badStartTLS
	default:
		return unreachable
	}
	err := s.result.Err()
	if err == nil {
		return none
	}
	if found, ok := map[Reason]fault{WrongName: wrongName, OutOfDate: outOfDate, BadChain: badChain}[err.Reason]; ok {
		return found
	}
	return mismatch
}

// server returns the server that decides about a host: the first with a known fault, else one that was reached.
func (h *host) server() *server {
	var reached, unreached *server
	for i := range h.servers {
		switch s := &h.servers[i]; s.fault() {
		case unreachable:
			unreached = s
		case none:
			reached = s
		default:
			return s
		}
	}
	if reached != nil {
		return reached
	}
	return unreached
}

func (h *host) usable() []Record {
	return slices.DeleteFunc(slices.Clone(h.records), func(r Record) bool { return !r.UsableForSMTP() })
}

// applies reports whether senders that know DANE hold the host against its TLSA records, once they know its name.
func (h *host) applies() bool {
	switch h.fault {
	case none, unusable, unverified, unreachable, noStartTLS, badStartTLS, mismatch, wrongName, outOfDate, badChain:
		return true
	default:
		return false
	}
}

func (h *host) broken() bool {
	switch h.fault {
	case bogus, noStartTLS, badStartTLS, mismatch, wrongName, outOfDate, badChain:
		return true
	default:
		return false
	}
}

func (e *evidence) status(h *host) Status {
	switch {
	case h.broken() || h.fault == unusable:
		return Failed
	case h.fault == unasked, h.fault == absent && (h.baseStatus == diag.Insecure || e.namesDNSSEC == diag.Insecure):
		return Insecure
	case h.fault == absent:
		return Missing
	case h.fault == unsigned || e.namesDNSSEC == diag.Insecure && h.applies():
		return Insecure
	case h.fault == none && e.namesDNSSEC == diag.Secure:
		return Pass
	default:
		return Unverified
	}
}

func (e *evidence) reason(h *host) string {
	name := e.recordName(h.base)
	switch h.fault {
	case addressUnknown:
		return fmt.Sprintf("the address lookup of %s failed: %s", h.Name, diag.Reason(h.Err()))
	case noAddress:
		return h.Name + " has no address"
	case tlsaUnknown:
		return fmt.Sprintf("the TLSA lookup of %s failed: %s", name, diag.Reason(h.tlsa.Err()))
	case bogus:
		return "DNSSEC validation of " + h.weakest(name) + " fails"
	case statusUnknown:
		return "the DNSSEC status of " + h.weakest(name) + " could not be determined"
	case unsigned:
		return h.weakest(name) + " are not signed with DNSSEC"
	case absent:
		if h.baseStatus == diag.Insecure {
			return "there are no TLSA records, and the address records of " + h.Name + " are not signed"
		}
		return "there are no TLSA records, and the " + string(e.source) + " of " + e.domain.String() + " are not signed"
	case unasked:
		return "the address records of " + h.Name + " are not signed, so that senders do not ask for TLSA records"
	case unusable:
		return "none of the TLSA records can be used for SMTP"
	case unverified:
		return "no connection was requested"
	case none:
		return "the " + string(e.source) + " of " + e.domain.String() + " are not signed"
	}
	s := h.server()
	switch {
	case s == nil:
		return "no connection was made"
	case s.err != nil && len(s.chain) == 0:
		return s.err.Error()
	case h.fault == mismatch:
		return "none of the TLSA records matches the certificate"
	default:
		return s.result.Err().Error()
	}
}

// weakest names the records of a host whose DNSSEC status is that of the whole.
func (h *host) weakest(name string) string {
	switch {
	case h.baseStatus == h.tlsaStatus:
		return "the address records of " + h.Name + " and its TLSA records"
	case h.baseStatus == weaker(h.baseStatus, h.tlsaStatus):
		return "the address records of " + h.Name
	default:
		return "the TLSA records at " + name
	}
}

func (e *evidence) hostsWith(faults ...fault) (list []*host) {
	for i := range e.hosts {
		if slices.Contains(faults, e.hosts[i].fault) {
			list = append(list, &e.hosts[i])
		}
	}
	return list
}

func (e *evidence) published() bool {
	return slices.ContainsFunc(e.hosts, func(h host) bool { return h.tlsa.Exists() })
}

func (e *evidence) misplaced() []*dns.TLSA {
	if slices.ContainsFunc(e.hosts, func(h host) bool { return strings.EqualFold(h.base, e.domain.String()) }) {
		return nil
	}
	return e.own.Records
}

func (e *evidence) partial() bool {
	unknown := e.hostsWith(addressUnknown, statusUnknown, tlsaUnknown, unasked, unreachable)
	_, known := e.mail.Receives()
	return len(unknown) > 0 || e.namesDNSSEC == diag.Indeterminate || e.port == portMail && !known ||
		e.port != portMail && e.srv.Err() != nil || len(e.unreached()) > 0
}

func (e *evidence) unreached() (list []string) {
	for _, h := range e.hosts {
		for _, s := range h.servers {
			if s.fault() == unreachable && h.fault != unreachable && h.applies() {
				list = append(list, fmt.Sprintf("%s (%s)", s.ip, h.Name))
			}
		}
	}
	return list
}
