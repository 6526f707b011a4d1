package compose

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/resolve"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/internal/provider"
	"github.com/diagkit/diagkit/mailauth/internal/reception"
	"github.com/diagkit/diagkit/mailauth/spf"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
	"github.com/miekg/dns"
)

// A ReverseName is the host name of an address that sends mail.
type ReverseName struct {
	Address          netip.Addr `json:"address" doc:"the address"`
	Hostnames        []string   `json:"hostnames" doc:"its names in reverse DNS"`
	ForwardConfirmed *bool      `json:"forward_confirmed,omitempty" doc:"whether one of them leads back to the address; absent if the servers did not say"`
}

// LookupReverse looks up the names of addresses concurrently, and whether they are forward-confirmed: two round trips.
func LookupReverse(ctx context.Context, env *diag.Env, addresses []netip.Addr) []ReverseName {
	list := make([]ReverseName, len(addresses))
	var g diag.Group
	for i, addr := range addresses {
		g.Go(func() {
			list[i] = ReverseName{Address: addr, Hostnames: []string{}}
			r, err := resolve.Reverse(ctx, env, resolve.ReverseRequest{IP: diag.IP{Addr: addr}})
			if err != nil {
				return
			}
			list[i].Hostnames = r.Hostnames
			list[i].ForwardConfirmed = forwardConfirmed(r)
		})
	}
	g.Wait()
	return list
}

// forwardConfirmed reports whether a name is forward-confirmed; nil if the servers did not answer.
func forwardConfirmed(r *resolve.ReverseReport) *bool {
	answered := func(rcode string) bool {
		return rcode == dns.RcodeToString[dns.RcodeSuccess] || rcode == dns.RcodeToString[dns.RcodeNameError]
	}
	unanswered := func(f resolve.Forward) bool {
		_, err := diag.ParseDomain(f.Hostname)  // an invalid host name was not looked up, and is not confirmed
		return err == nil && !answered(f.Rcode) // silence has no code
	}
	if !r.ForwardConfirmed && (!answered(r.Rcode) || slices.ContainsFunc(r.Forward, unanswered)) {
		return nil
	}
	return new(r.ForwardConfirmed)
}

// ReverseUnknown reports whether the reverse DNS of an address was not answered.
func ReverseUnknown(list []ReverseName) bool {
	return slices.ContainsFunc(list, func(n ReverseName) bool { return n.ForwardConfirmed == nil })
}

// ReverseRules makes the rules about the names of addresses that send mail, for the table of a composite. A failure at
// one address is final, even if others are unknown.
func ReverseRules[E any](names func(E) []ReverseName) rule.Rules[E] {
	hasNames := func(e E) bool { return len(names(e)) > 0 }
	each := func(all string, fails func(ReverseName) rule.Failures) func(E) rule.Failures {
		return func(e E) rule.Failures {
			list := rule.FailEach(names(e), fails)
			return list.Together(all, len(list))
		}
	}
	return rule.Rules[E]{{
		Code: "check.ptr.unknown", Severity: diag.Info, StateIfFailed: diag.Unknown, Ref: "RFC 1912 section 2.1",
		Title:       "Reverse DNS of a sending address could not be looked up",
		Requirement: "The name servers answer for the reverse DNS of every sending address",
		Advice:      "Check the name servers of the reverse zone: receivers that get no answer defer mail.",
		When:        hasNames,
		Fails: each("Whether %d sending addresses have names that lead back to them is not known.",
			func(n ReverseName) rule.Failures {
				return rule.FailIf(n.ForwardConfirmed == nil, "Whether %s has a name in reverse DNS that leads back to it is not "+
					"known.",
					n.Address).About(n.Address.String())
			}),
	}, {
		Code: "check.ptr.missing", Severity: diag.Warning, HoldsWhenUnanswered: true, Ref: "RFC 1912 section 2.1",
		Title: "Sending address has no name in reverse DNS", Requirement: "Every sending address has a name in reverse DNS",
		Advice: "Have the operator of the address publish a PTR record with the name of the mail server, and give that " +
			"name the address: Gmail and Yahoo refuse mail from addresses without one.",
		When: hasNames, Fails: each("%d sending addresses have no PTR record.", func(n ReverseName) rule.Failures {
			return rule.FailIf(n.ForwardConfirmed != nil && len(n.Hostnames) == 0, "%s has no PTR record.", n.Address).
				About(n.Address.String())
		}),
	}, {
		Code: "check.ptr.unconfirmed", Severity: diag.Warning, HoldsWhenUnanswered: true, Ref: "RFC 1912 section 2.1",
		Title:       "Name in reverse DNS does not lead back to the address",
		Requirement: "The name in reverse DNS of every sending address leads back to it",
		Advice: "Publish an address record for the name with this address, or have the PTR record name a host that has " +
			"it: Gmail and Yahoo ask that both agree.",
		When: hasNames,
		Fails: each("%d sending addresses have names that do not have these addresses.", func(n ReverseName) rule.Failures {
			return rule.FailIf(n.ForwardConfirmed != nil && !*n.ForwardConfirmed && len(n.Hostnames) > 0,
				"%s has the name %s, which does not have this address.", n.Address,
				listNames(n.Hostnames)).About(n.Address.String())
		}),
	}}
}

const maxNames = 3

func listNames(list []string) string {
	if more := len(list) - maxNames; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:maxNames], ", "), more)
	}
	return strings.Join(list, ", ")
}

// MaxAddresses bounds the sending addresses that are examined.
const MaxAddresses = 5

// SendingAddresses returns the known sending addresses of a domain, at most [MaxAddresses]: single hosts that its SPF
// record names, and its mail servers if the record names them. Addresses of services are left to the services. It
// waits for the record alone, not for its includes.
func SendingAddresses(ctx context.Context, env *diag.Env, domain diag.Domain) []netip.Addr {
	var text string
	for _, r := range diag.Lookup[*dns.TXT](ctx, env, domain.FQDN()).Records {
		if t := dnsmsg.TXT(r); eval.IsRecord(t) {
			text = t
		}
	}
	record, faults := eval.Parse(text)
	if text == "" || len(faults) > 0 {
		return nil
	}
	var list []netip.Addr
	add := func(addr netip.Addr) {
		addr = addr.Unmap()
		if len(list) < MaxAddresses && env.Public(addr) && !slices.Contains(list, addr) {
			list = append(list, addr)
		}
	}
	servers := false
	for _, t := range record.Terms {
		switch {
		case t.Kind != eval.Mechanism || t.Qualifier != eval.QualifierPass:
		case t.Network.IsValid() && t.Network.IsSingleIP():
			add(t.Network.Addr())
		case t.Name == eval.MX && t.Value == "" && t.Lengths == "":
			servers = true
		}
	}
	if !servers {
		return list
	}
	hosts := reception.LookupHosts(ctx, env, domain.Name(), MaxAddresses)
	for _, h := range hosts.List {
		for _, addr := range h.Addresses.All() {
			add(addr)
		}
	}
	return list
}

// SendsNoMail reports whether the domain says that it sends no mail: its SPF record is valid and authorizes no host
// (RFC 7208 section 10.1.2).
func SendsNoMail(p *Part[spf.LookupReport]) bool {
	if p.Result == nil || !p.Result.Valid || !p.Result.Found {
		return false
	}
	r := p.Result
	has := func(code diag.Code) bool {
		return slices.ContainsFunc(r.Findings, func(f diag.Finding) bool { return f.Code == code })
	}
	alone := len(r.Terms) == 1 && r.AllQualifier == eval.QualifierFail
	return (alone || has("spf.none.form")) && !has("spf.senders.none")
}

// Parked reports whether the records of the domain show no use for mail: it receives none, and has no SPF record.
func Parked(p *Part[spf.LookupReport]) bool {
	return slices.ContainsFunc(p.Findings, func(f diag.Finding) bool { return f.Code == "spf.record.missing.no_mail" })
}

// Sends reports whether the domain seems to send mail, whether it receives any or not: it has an SPF record that does
// not deny that, or a key to sign with.
func Sends(p *Part[spf.LookupReport], keys []*DKIMPart) bool {
	return p.Result != nil && p.Result.Found && !SendsNoMail(p) || hasWorkingKey(keys)
}

func hasWorkingKey(keys []*DKIMPart) bool {
	return slices.ContainsFunc(keys, func(k *DKIMPart) bool { return k.Works() })
}

// CheckContradiction reports whether SPF authorizes no host although there is a key to sign with, and adds that to the
// SPF part. Whether the domain sends mail is then unknown.
func CheckContradiction(p *Part[spf.LookupReport], keys []*DKIMPart) bool {
	doubt := SendsNoMail(p) && hasWorkingKey(keys)
	p.Add(Judge(senderRules, doubt, senderTexts))
	return doubt
}

var senderRules = rule.Rules[bool]{{
	Code: "check.spf.mute", Severity: diag.Warning, Ref: "RFC 7208 section 10.1.2",
	Title:       "SPF lets nobody send, but there is a DKIM key",
	Requirement: "SPF lets someone send where there is a DKIM key",
	Advice: "List every host and service that sends mail of the domain in its SPF record. If nobody sends any, revoke " +
		"the DKIM key: an empty p= tells verifiers that it is out of use.",
	Fails: func(doubt bool) rule.Failures {
		return rule.FailIf(doubt, "The SPF record says that no host sends mail of the domain, and a DKIM key is there to "+
			"sign it with.")
	},
}}

var senderTexts = rule.Texts{"valid": {Headline: "SPF and DKIM agree", Sub: "The SPF record shows no fault."}}

// CheckMailboxes reports with the SPF part if the service that hosts the mailboxes of the domain, by its MX hosts, may
// not send for it: neither its SPF record nor a DKIM key is for that service. It does so only if all of this is known:
// the caller named no selectors, so the common ones were tried, and the record names services and single networks,
// which cannot include those of the service.
func (d *Domain) CheckMailboxes(hosts []string) {
	e := &mailboxEvidence{domain: d.keys.domain.String()}
	for i, host := range hosts {
		s := provider.ByMX(host)
		if s == nil || i > 0 && s != e.service {
			return
		}
		e.service = s
	}
	if e.service == nil || !d.keys.examined(e.service.Selectors) || !listsServices(d.SPF) {
		return
	}
	e.signs = slices.ContainsFunc(d.keys.search.Found, func(s diag.Selector) bool {
		return slices.Contains(e.service.Selectors, s.String())
	})
	e.listed = slices.ContainsFunc(d.SPF.Result.Providers, func(p spf.Provider) bool {
		return provider.BySPF(p.Domain) == e.service
	})
	d.SPF.Add(Judge(mailboxRules, e, senderTexts))
}

// examined reports whether all these selectors were answered.
func (k *Keys) examined(selectors []string) bool {
	if k.err != nil || k.search == nil || k.search.Open || k.search.Wildcard && !k.search.WildcardRevoked {
		return false
	}
	return !slices.ContainsFunc(selectors, func(name string) bool {
		s := diag.MustSelector(name)
		return !slices.Contains(k.tried, s) || slices.Contains(k.search.Failed, s)
	})
}

// Networks of at least this many bits are those of a sender's own machines. Records that list the networks of a service
// instead of including its record have larger ones.
const (
	ownBits4 = 24
	ownBits6 = 48
)

// listsServices reports whether a record is valid and authorizes only known services and own networks.
func listsServices(p *Part[spf.LookupReport]) bool {
	r := p.Result
	if r == nil || !r.Found || !r.Valid || r.Partial || r.Passes() != spf.Some || r.Redirect != "" {
		return false
	}
	return !slices.ContainsFunc(r.Terms, func(t spf.TermReport) bool {
		switch t.Mechanism {
		case eval.Include:
			return provider.BySPF(t.Value) == nil
		case eval.IP4:
			return t.PrefixV4 != nil && *t.PrefixV4 < ownBits4
		case eval.IP6:
			return t.PrefixV6 != nil && *t.PrefixV6 < ownBits6
		case eval.A, eval.All, "":
			return t.PrefixV4 != nil || t.PrefixV6 != nil
		default:
			return true
		}
	})
}

type mailboxEvidence struct {
	domain        string
	service       *provider.Service
	listed, signs bool
}

var mailboxRules = rule.Rules[*mailboxEvidence]{{
	Code: "check.spf.mailboxes", Severity: diag.Warning, Ref: "RFC 9989 section 4.4",
	Title:       "Neither SPF nor DKIM covers the mail service in the MX records",
	Requirement: "SPF or DKIM covers the service that has the mailboxes",
	Fails: func(e *mailboxEvidence) rule.Failures {
		if e.listed || e.signs {
			return nil
		}
		f := rule.Fail("The MX records of %s name %s. Its SPF record does not list that service, and there is no key at "+
			"the DKIM selectors of it (%s): mail that is sent from mailboxes there fails DMARC.", e.domain, e.service.Name,
			strings.Join(e.service.Selectors, ", "))
		f[0].Advice = fmt.Sprintf("If mail is sent through %s, add include:%s to the SPF record and set up DKIM: %s If all "+
			"mail leaves through other services, leave it.", e.service.Name, e.service.SPF[0], lowerFirst(e.service.Sign))
		return f
	},
}}

// signingServices returns the services that an SPF record authorizes and that can sign with the domain of a customer.
func signingServices(p *Part[spf.LookupReport]) (list []*provider.Service) {
	if p.Result == nil {
		return nil
	}
	for _, known := range p.Result.Providers {
		if s := provider.BySPF(known.Domain); s != nil && s.Sign != "" && !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}
