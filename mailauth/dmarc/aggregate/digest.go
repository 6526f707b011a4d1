package aggregate

import (
	"cmp"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/mailauth/internal/provider"
)

// A domain is ready to enforce its policy if the reports show enough of its own mail, and hardly anything would be
// lost.
const (
	// readyMessages is the minimum number of passing messages: fewer may miss a sender that writes once a week.
	readyMessages = 100
	// maxLostPercent is the maximum share of genuine mail that may be lost: forwarders and mailing lists break about as
	// much of any domain's mail.
	maxLostPercent = 1
	// maxUnknownPerMille is the maximum share of it from unlisted or unknown sources: more may be from a printer or an
	// invoicing system, of which each message matters.
	maxUnknownPerMille = 1
	// maxBlocking bounds the sources that are named. The losses of any others are not named, and so unknown.
	maxBlocking = 50
)

// maxStrayPercent is the share of the mail of a configured source that may fail without being worth fixing.
const maxStrayPercent = 2

type digest struct {
	classes            map[Class]*classSum // without mail in the name of others
	services           []ServiceTotal
	failingServices    []*sender // legitimate services that fail, the largest first
	ownSenders         []*sender // the largest failing legitimate sources that are not a known service, the worst first
	ownFailed          int64     // messages of all such sources, also those that are not listed
	strayFailures      int64     // messages that fail of sources that are set up
	namedMessages      int64     // messages in the name of the domain
	foreignDomains     counts[string]
	unlisted           counts[string] // failing addresses that are not a known service
	unexplained        counts[string] // unknown addresses
	spoofers           counts[string] // addresses
	forwarders         counts[string]
	gateways           counts[string] // that fail
	differingReceivers []*receiver    // whose handling differs from the policy, by messages
	atRisk             []*tally       // sources with mail that fails and is not proven to be forged
	enforcement        *Enforcement
}

type classSum struct {
	sources             int
	messages, pass      int64
	spf, dkim           int64
	delivered, affected int64 // of what failed: with disposition none; quarantined or rejected
}

func (s *classSum) failed() int64 { return s.messages - s.pass }

type sender struct {
	service        *provider.Service // nil: one address
	name           string
	sources        int
	messages       int64
	failed         int64
	affected       int64          // quarantined or rejected
	strictOnly     bool           // it fails by strict alignment alone
	foreignDomains counts[string] // domains that its mail is authenticated for
}

func (e *evidence) conclude() {
	e.classes = map[Class]*classSum{Legitimate: {}, Unlisted: {}, Forwarding: {}, Spoofing: {}, UnknownSource: {}}
	e.services = []ServiceTotal{}
	if e.report == nil {
		return
	}
	e.sums.surveyNetworks()
	e.markFollowers()
	e.differingReceivers = e.receivers()
	for _, s := range e.topSources {
		s.class, s.reason = e.sums.classify(s.tally)
		single := &sender{name: s.tally.name(), strictOnly: s.reason == ReasonRelated && e.sums.alignment.strict()}
		if single.merge(s.tally); s.class == Legitimate && s.service == nil && !single.isHealthy() {
			e.ownSenders = append(e.ownSenders, single)
		}
	}
	services := map[*provider.Service]*ServiceTotal{}
	senders := map[*provider.Service]*sender{}
	for t := range e.sums.tallies.all() {
		class, reason := e.sums.classify(t)
		if reason != ReasonForeignDomain {
			e.classes[class].add(t)
			e.namedMessages += t.messages
			e.countSource(t, class, reason)
		}
		if t.pass < t.messages && (class == Legitimate || reason == ReasonService) {
			e.countFailure(t, senders)
		}
		if class != Spoofing && reason != ReasonForeignDomain && t.pass < t.messages {
			e.atRisk = append(e.atRisk, t)
		}
		if t.service != nil {
			addService(services, t)
		}
	}
	for _, s := range services {
		e.services = append(e.services, *s)
	}
	slices.SortFunc(e.services, func(a, b ServiceTotal) int {
		return cmp.Or(cmp.Compare(b.MessageCount, a.MessageCount), strings.Compare(a.Service, b.Service))
	})
	e.listFailing(senders)
	e.sums.totals.SourceCount = e.sums.tallies.count
	e.summarizeEnforcement()
}

func (s *classSum) add(t *tally) {
	s.sources++
	s.messages, s.pass = s.messages+t.messages, s.pass+t.pass
	s.spf, s.dkim = s.spf+t.spf, s.dkim+t.dkim
	s.delivered, s.affected = s.delivered+t.delivered, s.affected+t.affected
}

func (e *evidence) countSource(t *tally, class Class, reason Reason) {
	failed := t.messages - t.pass
	switch {
	case class == Spoofing:
		e.spoofers.add(t.name(), failed)
	case class == Unlisted && reason != ReasonService:
		e.unlisted.add(t.name(), failed)
	case reason == ReasonUnauthenticated:
		e.unexplained.add(t.name(), failed)
	case class == Forwarding && t.service != nil:
		e.forwarders.add(t.service.Name, t.messages)
	case class == Forwarding:
		e.forwarders.add(t.name(), t.messages)
	case class == UnknownSource && reason == ReasonUnrelatedDomain:
		e.foreignDomains.add(t.foreignName(), failed)
	case class == UnknownSource && reason == ReasonGateway:
		e.gateways.add(t.service.Name, failed)
	}
}

func (e *evidence) countFailure(t *tally, senders map[*provider.Service]*sender) {
	if t.service == nil {
		single := &sender{}
		if single.merge(t); single.isHealthy() {
			e.strayFailures += single.failed
			return
		}
		e.ownFailed += single.failed
		return
	}
	s := senders[t.service]
	if s == nil {
		s = &sender{service: t.service, name: t.service.Name}
		senders[t.service] = s
	}
	s.merge(t)
}

func (s *sender) merge(t *tally) {
	s.sources++
	s.messages += t.messages
	s.failed += t.messages - t.pass
	s.affected += t.affected
	s.foreignDomains.add(t.foreignName(), t.messages-t.pass)
}

func (s *sender) isHealthy() bool { return isHealthy(s.failed, s.messages) }

func isHealthy(failed, messages int64) bool { return failed*100 <= messages*maxStrayPercent }

// listFailing lists the services that fail, the largest first. What passes at a service counts for it too.
func (e *evidence) listFailing(senders map[*provider.Service]*sender) {
	for t := range e.sums.tallies.all() {
		if t.service != nil && t.pass == t.messages && senders[t.service] != nil {
			senders[t.service].merge(t)
		}
	}
	for _, s := range senders {
		if s.isHealthy() {
			e.strayFailures += s.failed
		} else {
			e.failingServices = append(e.failingServices, s)
		}
	}
	for _, list := range [][]*sender{e.failingServices, e.ownSenders} {
		slices.SortFunc(list, func(a, b *sender) int {
			return cmp.Or(cmp.Compare(b.failed, a.failed), strings.Compare(a.name, b.name))
		})
	}
}

func addService(services map[*provider.Service]*ServiceTotal, t *tally) {
	s := services[t.service]
	if s == nil {
		s = &ServiceTotal{Service: t.service.Name, Category: t.service.Category}
		services[t.service] = s
	}
	s.MessageCount += t.messages
	s.PassCount += t.pass
	s.SourceCount++
}

func (e *evidence) summarizeEnforcement() {
	all := e.sums.totals
	if all.MessageCount == 0 {
		return
	}
	f := &Enforcement{
		LegitimateCount: e.classes[Legitimate].failed(), ForwardingCount: e.classes[Forwarding].failed(),
		UnlistedCount: e.classes[Unlisted].failed(), UnknownCount: e.classes[UnknownSource].failed(),
		SpoofingCount: e.classes[Spoofing].failed(),
	}
	f.MessageCountAtRisk = f.LegitimateCount + f.UnlistedCount + f.ForwardingCount + f.UnknownCount
	f.AffectedCount = f.MessageCountAtRisk + f.SpoofingCount
	f.AffectedPercent = percent(f.AffectedCount, all.MessageCount)
	slices.SortStableFunc(e.atRisk, func(a, b *tally) int {
		return cmp.Or(cmp.Compare(b.messages-b.pass, a.messages-a.pass), a.ip.Compare(b.ip))
	})
	f.BlockingSources = kit.Map(e.atRisk[:min(len(e.atRisk), maxBlocking)], (*tally).name)
	e.enforcement = f
	f.Ready, f.Readiness = e.examineReadiness(f)
}

// loneSource returns the only source that looks forged, if a single report has it: a server that the owner forgot, and
// that the SPF record therefore denies, looks the same.
func (e *evidence) loneSource() string {
	s := e.classes[Spoofing]
	if s.sources != 1 || len(e.spoofers.list) != 1 || len(e.reports) > 1 ||
		s.messages*1000 <= e.namedMessages*maxUnknownPerMille {
		return ""
	}
	return e.spoofers.list[0].key
}

func (e *evidence) incomplete() bool {
	r := e.report
	damaged := slices.ContainsFunc(r.Faults, func(f Fault) bool { return f.Kind == Damaged })
	return r.Truncated || r.Excess || damaged || r.Read < r.Records || len(e.unread) > 0
}

func (f *Enforcement) ready() bool { return f.Ready != nil && *f.Ready }
