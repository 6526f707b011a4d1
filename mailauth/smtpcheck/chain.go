package smtpcheck

import (
	"cmp"
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/rule"
)

// Mail goes from the name over its MX records, hosts and addresses to a port and a greeting. The first link that is
// broken for all servers is reported once, and later links are not.

// A Service is the state of SMTP service for a domain or host: whether one of its addresses greets on port 25.
type Service string

// The answers.
const (
	ServiceUnknown Service = "unknown" // no server or DNS answer, or port 25 or an address was not tested
	ServiceOffered Service = "offered" // an address speaks SMTP, even if it rejects this client
	ServiceRefused Service = "refused" // every address refuses: the connection, the client by 5xx in its banner, or SMTP
)

// Service returns whether an address of the name speaks SMTP on port 25. Silence is [ServiceUnknown], because the
// client's network may block the connection. So is a report that was read from JSON.
func (r *Report) Service() Service {
	return cmp.Or(r.service, ServiceUnknown)
}

func (e *evidence) service() Service {
	tested := slices.DeleteFunc(slices.Clone(e.servers), func(s *server) bool { return !s.forMail() })
	switch {
	case slices.ContainsFunc(tested, (*server).speaksSMTP):
		return ServiceOffered
	case len(tested) == 0 || e.skipped > 0 || e.mail.Surplus > 0 || e.isUndetermined() || !all(tested, (*server).refuses):
		return ServiceUnknown
	default:
		return ServiceRefused
	}
}

func all(list []*server, is func(*server) bool) bool {
	return !slices.ContainsFunc(list, func(s *server) bool { return !is(s) })
}

// speaksSMTP reports whether a server speaks SMTP: it greeted, or rejected or deferred this client.
func (s *server) speaksSMTP() bool {
	switch s.outcome {
	case usable, deferred, rejected, ehloRejected:
		return true
	default:
		return s.outcome == unknown && s.session != nil && s.session.Banner.OK()
	}
}

// refuses reports whether a server is known to accept no mail.
func (s *server) refuses() bool {
	switch s.outcome {
	case refused, private, serviceClosed, notSMTP:
		return true
	default:
		return false
	}
}

// hasNoMailService reports whether a domain without MX records has an address that does not speak SMTP: it
// probably has no mail service, and the state of its port is not a fault of a mail server.
func (e *evidence) hasNoMailService() bool {
	return e.mail.Implicit && e.mail.Unknown() == "" && len(e.mailServers()) > 0 &&
		!slices.ContainsFunc(e.servers, (*server).speaksSMTP)
}

// unused reports whether, in addition, all addresses are known to refuse mail.
func (e *evidence) unused() bool { return e.noMailService && all(e.mailServers(), (*server).refuses) }

// A link is the point in the DNS where the path to a mail server ends.
type link int

const (
	whole     link = iota // there is an address to connect to
	noHost                // the MX record names an IP address
	noName                // the host does not exist
	noAddress             // the host has no address
	notPublic             // none of its addresses is public
)

func (e *evidence) broken(h host) link {
	special := func(s *server) bool { return s.host == h.Name && s.outcome != private }
	ip, byIP := e.req.Host.IP()
	switch {
	case byIP && e.public(ip.Addr), !byIP && h.Err() != nil && !missing(h):
		return whole
	case !byIP && missing(h) && e.literal(h):
		return noHost
	case !byIP && missing(h) && nonexistent(h):
		return noName
	case !byIP && missing(h):
		return noAddress
	case !byIP && slices.ContainsFunc(h.Addresses.All(), e.public), slices.ContainsFunc(e.servers, special):
		return whole
	default:
		return notPublic
	}
}

// isStranded reports whether the DNS leads to no mail server: the path to each MX host ends in the DNS.
func (e *evidence) isStranded() bool {
	return len(e.mail.List) > 0 && e.mail.Surplus == 0 && !e.mail.Implicit && !e.hostNonexistent() &&
		!slices.ContainsFunc(e.mail.List, func(h host) bool { return e.broken(h) == whole })
}

// isDead reports whether no mail server accepts mail although the DNS leads to one, and no unknown remains that could
// change that.
func (e *evidence) isDead() bool {
	return e.isConclusive() && !e.anyMailServer((*server).usable)
}

// isConclusive reports whether it is known if one of the mail servers to which the DNS leads accepts mail.
func (e *evidence) isConclusive() bool {
	return len(e.servers) > 0 && !e.noMailService && !e.stranded &&
		(e.anyMailServer((*server).usable) || !e.isUndetermined() && e.mail.Surplus == 0)
}

// strandedRule makes a rule about mail that cannot be delivered for one reason in the DNS.
func strandedRule(at link, r rule.Rule[*evidence], say func(h host) string) rule.Rule[*evidence] {
	r.Severity, r.Weight, r.Category, r.Ref = diag.Critical, 1, factorReach, "RFC 5321 section 5.1"
	r.When = func(e *evidence) bool {
		ends := func(h host) bool { return e.broken(h) == at }
		return len(e.mail.List) > 0 && e.mail.Surplus == 0 && !e.mail.Implicit && !e.hostNonexistent() &&
			(!e.stranded || slices.ContainsFunc(e.mail.List, ends))
	}
	r.Fails = func(e *evidence) rule.Failures {
		if !e.stranded {
			return nil
		}
		return rule.FailEach(e.mail.List, func(h host) rule.Failures {
			return rule.FailIf(e.broken(h) == at, "%s", say(h)).About(h.Name)
		}).Joined()
	}
	return r
}

// deadAdvice is the advice if no mail server accepts mail and all fail in the same way.
var deadAdvice = map[outcome]string{
	refused: "Start the mail server, let it listen on the addresses of the MX hosts, and open its port in the " +
		"firewall for the whole Internet: until then no mail arrives.",
	serviceClosed: "Let the mail server accept connections from the Internet, or name another host in the MX record if " +
		"that one is not meant to receive mail: until then all mail is returned to its senders.",
	notSMTP: "Check which program listens on the port of the mail server, and whether a firewall or a limit closes " +
		"connections before the mail server sees them: until an SMTP banner comes no mail arrives.",
	ehloRejected: "Check the filters of the mail server that check the name in EHLO, and its log: a sender that " +
		"cannot introduce itself cannot deliver.",
	tlsFailed: "Check certificate, key and TLS versions in the configuration of the mail server, and its log: no client " +
		"gets beyond the TLS handshake.",
}

// undeliverable returns the failure that no mail server accepts mail, with advice for the common cause.
func (e *evidence) undeliverable() rule.Failures {
	list := e.mailServers()
	f := rule.Failure{Detail: "None of the mail servers can be used: " + joined(e.faultTexts()) + "."}
	if len(list) == 1 && len(e.mail.List) == 1 {
		f.Detail = "The only mail server cannot be used: " + joined(e.faultTexts()) + "."
	}
	for _, s := range list {
		if place := (diag.Place{Target: s.host}); !slices.Contains(f.Places, place) {
			f.Places = append(f.Places, place)
		}
	}
	if all(list, func(s *server) bool { return s.outcome == list[0].outcome }) {
		f.Advice = deadAdvice[list[0].outcome]
	}
	return rule.Failures{f}
}
