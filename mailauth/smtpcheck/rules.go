package smtpcheck

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/internal/reception"
)

var rules = sync.OnceValue(func() rule.Rules[*evidence] {
	return slices.Concat(domainRules.With(rule.Rule[*evidence]{Category: factorReach, Reads: []rule.Source{fromNames}}),
		hostRules.Reading(fromNames, fromAddresses), reachRules, asRules(serverRules))
})

const (
	fromNames     rule.Source = "names"     // the names of the mail servers
	fromAddresses rule.Source = "addresses" // of the mail servers
	fromSessions  rule.Source = "sessions"  // with each of them
	fromPTR       rule.Source = "ptr"       // the names of their addresses
	fromInjection rule.Source = "injection" // of a command behind STARTTLS
)

// Unanswered lists the sources that the DNS and the servers did not answer, and skipped servers.
func (e *evidence) Unanswered() []rule.Source {
	none := func(is func(*server) bool) bool { return !slices.ContainsFunc(e.servers, is) }
	failing := func(h host) bool { return h.Err() != nil && !missing(h) }
	return rule.Unanswered(map[rule.Source]bool{
		fromNames:     !e.byDomain() || e.mail.Unknown() == "",
		fromAddresses: !hasHosts(e) || !slices.ContainsFunc(e.mail.List, failing),
		fromSessions: e.mail.Surplus == 0 &&
			none(func(s *server) bool { return s.outcome.isInconclusive() || s.cutShort() }),
		fromInjection: none((*server).injectionUnknown),
		fromPTR:       none(func(s *server) bool { return s.ptr.err != nil || s.ptr.unsure }),
	})
}

var serverRules = slices.Concat(sessionRules, helloRules, encryptionRules, certificateRules, authRules, relayRules,
	ptrRules)

type host = reception.Host

// A serverRule is a requirement on each server. Servers of one host with the same fault share a finding.
type serverRule struct {
	rule.Rule[*evidence]
	on      func(*server) bool   // the servers that it applies to
	fault   func(*server) string // the fault, as words that follow the name of the server; empty: no fault
	failure func(*server, *rule.Failure)
	once    bool // it is about a fault that makes a server unusable: reported once if all servers have it
}

// onServers makes a rule about the servers that a condition selects.
func onServers(applies func(*server) bool, r rule.Rule[*evidence], fault func(*server) string) serverRule {
	return serverRule{Rule: r, on: applies, fault: fault}
}

// withDetails adds details about the fault of a server.
func (r serverRule) withDetails(failure func(*server, *rule.Failure)) serverRule {
	r.failure = failure
	return r
}

// mergedIfAll makes a rule about faults that make servers unusable, which one rule reports if all servers are unusable.
func (r serverRule) mergedIfAll() serverRule {
	r.once = true
	return r
}

func textIf(fault bool, words string) string {
	if fault {
		return words
	}
	return ""
}

func asRules(list []serverRule) rule.Rules[*evidence] {
	rules := make(rule.Rules[*evidence], 0, len(list))
	for _, r := range list {
		one := r.Rule
		one.HoldsWhenUnanswered = true
		if len(one.Reads) == 0 {
			one.Reads = []rule.Source{fromNames, fromAddresses, fromSessions}
		}
		one.When = func(e *evidence) bool {
			return !e.noMailService && !e.stranded && slices.ContainsFunc(e.servers, r.applies)
		}
		one.Fails = func(e *evidence) rule.Failures { return r.failures(e) }
		rules = append(rules, one)
	}
	return rules
}

func (r *serverRule) applies(s *server) bool { return r.on(s) && !(r.once && s.reportedOnce) }

func (r *serverRule) of(s *server) string {
	if !r.applies(s) {
		return ""
	}
	return r.fault(s)
}

func (r *serverRule) failures(e *evidence) (list rule.Failures) {
	type key struct{ host, fault string }
	index, places := map[key]int{}, map[key][]*server{}
	for _, s := range e.servers {
		fault := r.of(s)
		if fault == "" {
			continue
		}
		k := key{s.host, fault}
		if _, known := index[k]; !known {
			index[k] = len(list)
			f := rule.Failure{Target: s.host}
			if r.failure != nil {
				r.failure(s, &f)
			}
			list = append(list, f)
		}
		places[k] = append(places[k], s)
		list[index[k]].Detail = fmt.Sprintf("%s %s.", e.label(places[k]), fault)
	}
	return list
}

// label names servers of one host in a sentence, with ports if more than one was requested.
func (e *evidence) label(servers []*server) string {
	var addresses []string
	for _, s := range servers {
		text := s.addr.Addr().String()
		if len(e.req.Ports) > 1 {
			text = s.addr.String()
		} else if s.byAddress() {
			continue
		}
		addresses = append(addresses, text)
	}
	if len(addresses) == 0 {
		return servers[0].host
	}
	return fmt.Sprintf("%s (%s)", servers[0].host, joined(addresses))
}

func (e *evidence) about(s *server, findings []diag.Finding) []diag.Finding {
	list := []diag.Finding{}
	for _, f := range findings {
		same := func(r serverRule) bool { return r.Code == f.Code }
		here := func(p diag.Place) bool { return p.Target == s.host }
		if (f.Target == s.host || slices.ContainsFunc(f.Places, here)) && !slices.ContainsFunc(serverRules, same) {
			list = append(list, f) // about the host as a whole
		}
		for _, r := range serverRules {
			fault := r.of(s)
			if r.Code == f.Code && f.Target == s.host && fault != "" && strings.HasSuffix(f.Detail, " "+fault+".") {
				list = append(list, f)
			}
		}
	}
	return list
}

var texts = rule.Texts{
	"valid": {Headline: "Mail servers are reachable and set up correctly",
		Sub: "Nothing is wrong with what could be tested. No message was sent, so that delivery to a mailbox was not " +
			"tested."},
	"smtp.mx.null": {Headline: "Null MX: the domain does not receive mail",
		Sub: "No mail server was contacted. Nothing is wrong if that is intended."},
	"smtp.relay.deferred": {Headline: "Mail servers work; the relay test was deferred, as by greylisting",
		Sub: "Nothing is wrong with the rest. Test again in 15 minutes to learn whether a server relays."},
}

var (
	factorReach       = rule.Category{Code: "reachability", Label: "Reachability"}
	factorProtocol    = rule.Category{Code: "protocol", Label: "Banner and EHLO"}
	factorTLS         = rule.Category{Code: "encryption", Label: "Encryption"}
	factorCertificate = rule.Category{Code: "certificate", Label: "Certificate"}
	factorAbuse       = rule.Category{Code: "abuse", Label: "Relaying and authentication"}
	factorNames       = rule.Category{Code: "names", Label: "Names and reverse DNS"}
)
