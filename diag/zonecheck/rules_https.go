package zonecheck

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/internal/survey"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/miekg/dns"
)

// httpsRules are about the HTTPS records of the domain and of www. Browsers connect without them where they are of no
// use (RFC 9460 section 3), later or less privately.
var httpsRules = rule.Rules[*evidence]{{
	Code: "zone.https", Severity: diag.Warning, Weight: 1, Reads: []rule.Source{recordsHTTPS, content},
	Ref:   "RFC 9460 section 2.4",
	Title: "Faulty HTTPS record", Requirement: "The HTTPS records are valid",
	Advice: "Correct the record: browsers ignore it, or cannot connect.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailEach(e.services(), func(s service) rule.Failures {
			return slices.Concat(rule.FailEach(s.records, paramFaults), s.modeFaults())
		})
	},
}, {
	Code: "zone.https.none", Severity: diag.Warning, Weight: 1, Ref: "RFC 9460 section 2.5.1",
	Title:       "HTTPS record says that there is no service",
	Requirement: "No HTTPS record denies a service that has an address",
	Advice:      "Remove the record. To describe the service at the name itself, write priority 1 in place of 0.",
	Fails: eachService(func(e *evidence, owner string, r *dns.HTTPS) string {
		ips, _ := e.addressesAt(owner)
		return view.TextIf(r.Priority == 0 && r.Target == "." && len(ips) > 0, fmt.Sprintf("says that no HTTPS service "+
			"exists, although %s has the address %s", survey.BareName(owner), series(ips)))
	}),
}, {
	Code: "zone.https.loop", Severity: diag.Warning, Weight: 1, Ref: "RFC 9460 section 3",
	Title: "HTTPS records in alias mode form a loop", Requirement: "No HTTPS record leads back to itself",
	Advice: "Replace one of the records with one in service mode (priority 1), or remove it.",
	Fails: eachService(func(e *evidence, owner string, r *dns.HTTPS) string {
		loop, _ := e.followService(owner, r)
		return view.TextIf(loop, "leads into a loop of records in alias mode: browsers ignore it")
	}),
}, {
	Code: "zone.https.target", Severity: diag.Warning, Weight: 1, Ref: "RFC 9460 section 3",
	Title:       "HTTPS record leads to a name without an address",
	Requirement: "The targets of the HTTPS records have addresses",
	Advice:      "Point the HTTPS record to a host with an address, or remove it.",
	Fails: eachService(func(e *evidence, owner string, r *dns.HTTPS) string {
		_, end := e.followService(owner, r)
		if end == "" || e.lacksDot(targetOf(r)) {
			return ""
		}
		why := e.addressless(end)
		return view.TextIf(why != "", "leads to "+phrase.Quote(survey.BareName(end))+", which "+why)
	}),
}, {
	Code: "zone.https.hint", Severity: diag.Warning, Weight: 1, Ref: "RFC 9460 section 7.3",
	Title:       "HTTPS record with a wrong address hint",
	Requirement: "The hints of the HTTPS records are addresses of their targets",
	Advice: "Update ipv4hint and ipv6hint, or remove them: clients may connect to a hint before they know the " +
		"addresses.",
	When: func(e *evidence) bool {
		return slices.ContainsFunc(e.services(), func(s service) bool {
			return slices.ContainsFunc(s.records, func(r *dns.HTTPS) bool { return len(hintsOf(r)) > 0 })
		})
	},
	Fails: eachService((*evidence).wrongHint),
}}.With(rule.Rule[*evidence]{When: func(e *evidence) bool { return len(e.services()) > 0 }})

// A service holds the HTTPS records of a name.
type service struct {
	owner   string // absolute
	records []*dns.HTTPS
}

// services are those of the domain and of www.
func (e *evidence) services() (list []service) {
	for _, owner := range []string{e.Zone, "www." + e.Zone} {
		if r := e.at(owner, dns.TypeHTTPS); r.OK() {
			if records := survey.Set[*dns.HTTPS](r.Msg.Answer, owner); len(records) > 0 {
				list = append(list, service{owner, records})
			}
		}
	}
	return list
}

// eachService makes the test of a rule from a function on each HTTPS record, which returns a clause that continues a
// sentence.
func eachService(fault func(e *evidence, owner string, r *dns.HTTPS) string) func(*evidence) rule.Failures {
	return func(e *evidence) rule.Failures {
		return rule.FailEach(e.services(), func(s service) rule.Failures {
			return rule.FailEach(s.records, func(r *dns.HTTPS) rule.Failures {
				text := fault(e, s.owner, r)
				return rule.FailIf(text != "", "%s %s.", httpsText(r), text).About(survey.BareName(s.owner) + " HTTPS")
			})
		})
	}
}

// httpsText names a record.
func httpsText(r *dns.HTTPS) string {
	return fmt.Sprintf("The HTTPS record %s of %s", phrase.Quote(strings.TrimPrefix(r.String(), r.Hdr.String())),
		survey.BareName(r.Hdr.Name))
}

// modeFaults says what is wrong with the records of a name together.
func (s service) modeFaults() rule.Failures {
	alias := func(r *dns.HTTPS) bool { return r.Priority == 0 }
	n := view.CountIf(s.records, alias)
	if n == 0 || n == len(s.records) {
		return nil
	}
	f := rule.Fail("%s has HTTPS records in alias mode (priority 0) and in service mode: browsers ignore the latter.",
		survey.BareName(s.owner)).About(survey.BareName(s.owner) + " HTTPS")
	f[0].Advice = "Remove the HTTPS record in alias mode, or those in service mode."
	return f
}

// paramFaults says what is wrong with the parameters of a record.
func paramFaults(r *dns.HTTPS) (list rule.Failures) {
	fail := func(wrong bool, text, advice string) {
		f := rule.FailIf(wrong, "%s %s.", httpsText(r), text).About(survey.BareName(r.Hdr.Name) + " HTTPS")
		for i := range f {
			f[i].Advice = advice
		}
		list = append(list, f...)
	}
	keys := map[dns.SVCBKey]bool{}
	for _, v := range r.Value {
		keys[v.Key()] = true
	}
	if r.Priority == 0 { // RFC 9460 section 2.4.2
		fail(len(keys) > 0, "is in alias mode, where parameters are ignored",
			"Remove the parameters, or write priority 1 if the record describes the service.")
		return list
	}
	for _, v := range r.Value {
		mandatory, ok := v.(*dns.SVCBMandatory)
		if !ok {
			continue
		}
		for i, k := range mandatory.Code { // RFC 9460 section 8
			fail(k == dns.SVCB_MANDATORY, "lists mandatory as mandatory: browsers ignore it",
				"Remove mandatory from its own list.")
			fail(!keys[k], "says that "+k.String()+" is mandatory, and lacks it: browsers ignore it",
				"Add the parameter "+k.String()+", or remove it from the list of those that are mandatory.")
			fail(slices.Contains(mandatory.Code[:i], k), "lists "+k.String()+" twice as mandatory: browsers ignore it",
				"List each parameter once as mandatory.")
		}
	}
	fail(keys[dns.SVCB_NO_DEFAULT_ALPN] && !keys[dns.SVCB_ALPN], // RFC 9460 section 7.1.1
		"has no-default-alpn without alpn, so that no protocol is left: browsers ignore it",
		"Add the parameter alpn with the protocols of the server, or remove no-default-alpn.")
	return list
}

// followService follows an HTTPS record to the name at which browsers look for addresses: end is empty if other
// records describe the service, or if that is not known.
func (e *evidence) followService(owner string, r *dns.HTTPS) (loop bool, end string) {
	target := targetOf(r)
	if r.Priority != 0 {
		if target == "" {
			target = owner
		}
		return false, target
	}
	seen := map[string]bool{owner: true}
	for target != "" {
		if seen[target] {
			return true, ""
		}
		answer, asked := e.Services[target]
		if !asked || answer.Err() != nil {
			return false, ""
		}
		for _, name := range append([]string{target}, answer.Aliases...) {
			if name = dns.CanonicalName(name); seen[name] {
				return true, ""
			}
			seen[name] = true
		}
		if len(answer.Records) == 0 {
			return false, target
		}
		i := slices.IndexFunc(answer.Records, func(r *dns.HTTPS) bool { return r.Priority == 0 })
		if i < 0 {
			return false, ""
		}
		target = targetOf(answer.Records[i])
	}
	return false, ""
}

// servicesUnknown reports whether a lookup of where HTTPS records lead brought nothing.
func (e *evidence) servicesUnknown() bool {
	for target, answer := range e.Services {
		if answer.Err() != nil || e.lookupFailed(target) {
			return true
		}
	}
	return slices.ContainsFunc(e.services(), func(s service) bool {
		return slices.ContainsFunc(s.records, func(r *dns.HTTPS) bool { return e.lookupFailed(targetOf(r)) })
	})
}

// addressless says why a name has no address, in a clause; nothing if it has one, or that is not known.
func (e *evidence) addressless(name string) string {
	switch ips, known := e.addressesAt(name); {
	case misread(name, e.Zone) != "" && !e.exists(name):
		return misread(name, e.Zone)
	case len(ips) > 0:
		return ""
	case e.denied(name):
		return "does not exist"
	case known.V4 && known.V6:
		return "has no address"
	}
	return ""
}

// kinds are the address families of a name that are known.
type kinds struct{ V4, V6 bool }

func (k kinds) of(ip netip.Addr) bool { return ip.Is4() && k.V4 || ip.Is6() && k.V6 }

// addressesAt lists the addresses of a name: those that servers of the zone returned for the domain and www, or that
// were looked up.
func (e *evidence) addressesAt(name string) (ips []netip.Addr, known kinds) {
	www := "www." + e.Zone
	switch h, asked := e.Hosts[name]; {
	case name == e.Zone:
		return e.addressesOf(name), kinds{determined(survey.ProbeA)(e), determined(survey.ProbeAAAA)(e)}
	case name == www:
		return e.addressesOf(name), kinds{determined(survey.ProbeWWW)(e), e.at(www, dns.TypeAAAA).Settled()}
	case asked:
		return h.All(), kinds{h.V4.Err() == nil, h.V6.Err() == nil}
	}
	return nil, known
}

// hintsOf lists the addresses that a record gives in advance.
func hintsOf(r *dns.HTTPS) (list []netip.Addr) {
	for _, v := range r.Value {
		var hints []net.IP
		switch hint := v.(type) {
		case *dns.SVCBIPv4Hint:
			hints = hint.Hint
		case *dns.SVCBIPv6Hint:
			hints = hint.Hint
		}
		for _, ip := range hints {
			if a, ok := netip.AddrFromSlice(ip); ok {
				list = append(list, a.Unmap())
			}
		}
	}
	return list
}

// wrongHint says which hints are no addresses of the target. Servers that return some of many addresses at a time, or
// those near the client, may leave one out: then nothing follows from it. Elsewhere a hint is wrong if all of its kind
// are.
func (e *evidence) wrongHint(owner string, r *dns.HTTPS) string {
	_, end := e.followService(owner, r)
	if r.Priority == 0 || end == "" {
		return ""
	}
	ips, known := e.addressesAt(end)
	var wrong []netip.Addr
	for _, v6 := range []bool{false, true} {
		other := func(ip netip.Addr) bool { return ip.Is6() != v6 }
		hints, own := slices.DeleteFunc(hintsOf(r), other), slices.DeleteFunc(slices.Clone(ips), other)
		strange := slices.DeleteFunc(slices.Clone(hints), func(ip netip.Addr) bool { return slices.Contains(own, ip) })
		for _, ip := range strange {
			elsewhere := !dns.IsSubDomain(e.Zone, end) && len(strange) == len(hints)
			if !e.Public(ip) || known.of(ip) && (elsewhere || e.steady(end)) {
				wrong = append(wrong, ip)
			}
		}
	}
	if len(wrong) == 0 {
		return ""
	}
	text := "has the hint " + series(wrong) + ", which is not an address of " + survey.BareName(end)
	if len(wrong) > 1 {
		text = "has the hints " + series(wrong) + ", which are not addresses of " + survey.BareName(end)
	}
	if i := slices.IndexFunc(wrong, func(ip netip.Addr) bool { return !e.Public(ip) }); i >= 0 {
		text += "; " + wrong[i].String() + " is not a public address"
	}
	return text
}

// steady reports whether a name of the zone has the same addresses at all servers and for all clients, as far as these
// were asked.
func (e *evidence) steady(name string) bool {
	switch {
	case name == e.Zone:
		tailored := func(ad *survey.Address) bool {
			subnet, ok := option[*dns.EDNS0_SUBNET](ad.Replies[survey.ProbeSubnet])
			return ok && subnet.SourceScope > 0
		}
		return !slices.ContainsFunc(e.serving, tailored) &&
			len(e.differing(survey.ProbeA, dns.TypeA))+len(e.differing(survey.ProbeAAAA, dns.TypeAAAA)) == 0
	case name == "www."+e.Zone:
		return len(e.comparing("", e.wwwRecords)) == 0
	default:
		return dns.IsSubDomain(e.Zone, name)
	}
}

func series(ips []netip.Addr) string {
	return phrase.Series(kit.Map(ips, netip.Addr.String), maxNamed)
}
