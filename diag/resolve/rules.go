package resolve

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

const (
	longChain = 8          // aliases; some resolvers give up after as many
	lowTTL    = 60         // seconds; below, resolvers ask again all the time
	highTTL   = 7 * 86_400 // seconds; what RFC 8767 section 4 advises resolvers to cap the time at
)

func succeeded(e *evidence) bool { return e.reply.Rcode == dns.RcodeSuccess }
func known(e *evidence) bool     { return succeeded(e) || e.reply.Rcode == dns.RcodeNameError }
func aliased(e *evidence) bool   { return len(e.chain) > 0 }
func found(e *evidence) bool     { return len(e.records) > 0 }

// rcodeText names the rcode with the reasons that the server gave beside it.
func rcodeText(m *dns.Msg) string {
	a := diag.Answer[*dns.A]{Rcode: m.Rcode, Extended: diag.ExtendedErrors(m)}
	if err := a.Err(); err != nil {
		return err.Error() + "."
	}
	return ""
}

var rules = slices.Concat(answerRules, walkRules)

var answerRules = diag.Rules[*evidence]{
	{
		Code: "resolve.rcode.servfail", Severity: diag.Error, StateIfFailed: diag.Unknown,
		Requirement: "The resolver could find out the answer",
		Ref:         "RFC 1035 section 4.1.1",
		Advice:      "Check that the name servers of the zone answer, and that its DNSSEC signatures are valid.",
		When:        func(e *evidence) bool { return diag.MessageDNSSEC(e.reply) != diag.Bogus && !unreached(e) },
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.reply.Rcode == dns.RcodeServerFailure, "%s", rcodeText(e.reply))
		},
	},
	{
		Code: "resolve.rcode.refused", Severity: diag.Error, StateIfFailed: diag.Unknown,
		Requirement: "The resolver is willing to answer",
		Ref:         "RFC 1035 section 4.1.1, RFC 8914 section 4.19",
		Advice:      "Ask another resolver: this one does not serve you, or does not want to answer for this name.",
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.reply.Rcode == dns.RcodeRefused, "%s", rcodeText(e.reply))
		},
	},
	{
		Code: "resolve.rcode.other", Severity: diag.Error, StateIfFailed: diag.Unknown,
		Requirement: "The resolver understood the question",
		Ref:         "RFC 6895 section 2.3",
		Advice:      "Ask another resolver: this one does not handle questions of this kind.",
		Fails: func(e *evidence) diag.Failures {
			usual := known(e) || e.reply.Rcode == dns.RcodeServerFailure || e.reply.Rcode == dns.RcodeRefused
			return diag.FailIf(!usual, "%s", rcodeText(e.reply))
		},
	},
	{
		Code: "resolve.dnssec.bogus", Severity: diag.Error,
		Requirement: "The answer is not forged, as far as DNSSEC can tell",
		Ref:         "RFC 4035 section 5.5, RFC 8914 section 4.7",
		Advice:      "Renew the signatures of the zone, and compare its keys with the DS records in the parent zone.",
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(diag.MessageDNSSEC(e.reply) == diag.Bogus, "%s", rcodeText(e.reply))
		},
	},
	{
		Code: "resolve.dnssec.unproven", Severity: diag.Info,
		Requirement: "The resolver vouches for the answer with DNSSEC",
		Ref:         "RFC 4035 section 3.2.3",
		Advice:      "Sign the zone; if it is signed, ask a resolver that validates.",
		When:        func(e *evidence) bool { return e.request.DNSSEC && known(e) && e.request.Resolver != Authoritative },
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(!e.reply.AuthenticatedData, "The reply does not have the flag AD.")
		},
	},
	{
		Code: "resolve.rcode.nxdomain", Severity: diag.Warning,
		Requirement: "The name exists",
		Ref:         "RFC 8020 section 2",
		Advice:      "Check the spelling; if it is right, add records for the name to its zone.",
		When:        func(e *evidence) bool { return known(e) && !aliased(e) },
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.reply.Rcode == dns.RcodeNameError, "There is no name %s.", e.request.Name)
		},
	},
	{
		Code: "resolve.records.nodata", Severity: diag.Info,
		Requirement: "The name has records of the type",
		Ref:         "RFC 2308 section 2.2",
		When:        succeeded,
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(!found(e) && loopOf(e) == "", "The name exists, and has no record of type %s.", e.request.Type)
		},
	},
	{
		Code: "resolve.cname.dangling", Severity: diag.Warning,
		Requirement: "The alias leads to a name that exists",
		Ref:         "RFC 1034 section 3.6.2",
		Advice:      "Remove the CNAME record, or point it to a name that exists: who registers the target owns the name.",
		When:        func(e *evidence) bool { return known(e) && aliased(e) },
		Fails: func(e *evidence) diag.Failures {
			last := nameText(e.chain[len(e.chain)-1].Target)
			return target(last, e.reply.Rcode == dns.RcodeNameError, "There is no name %s.", last)
		},
	},
	{
		Code: "resolve.cname.loop", Severity: diag.Error,
		Requirement: "The aliases lead to an end",
		Ref:         "RFC 1034 section 3.6.2",
		Advice:      "Point one of the CNAME records to a name that is no alias.",
		When:        func(e *evidence) bool { return aliased(e) || loopOf(e) != "" },
		Fails: func(e *evidence) diag.Failures {
			again := loopOf(e)
			return target(again, again != "", "Following the aliases leads to %s again.", again)
		},
	},
	{
		Code: "resolve.cname.long", Severity: diag.Warning,
		Requirement: "The chain of aliases is short enough for every resolver",
		Ref:         "RFC 1034 section 5.2.2",
		Advice:      "Point the first CNAME record straight to the last name.",
		When:        func(e *evidence) bool { return aliased(e) && loopOf(e) == "" },
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(len(e.chain) > longChain, "There are %d aliases; some resolvers follow only %d.",
				len(e.chain), longChain)
		},
	},
	{
		Code: "resolve.address.private", Severity: diag.Warning,
		Requirement: "The addresses can be reached from the Internet",
		Ref:         "RFC 1918 section 5, RFC 6890 section 2.2.2",
		Advice:      "Keep private addresses in an internal zone: outside they reach other hosts, or none.",
		When:        hasAddresses,
		Fails:       privateAddresses,
	},
	{
		Code: "resolve.ttl.low", Severity: diag.Info,
		Requirement: "The records may be kept for a minute or more",
		Ref:         "RFC 1034 section 3.6",
		Advice:      "Unless the answer came from a cache and counts down, raise the TTL once no change is near.",
		When:        found,
		Fails: func(e *evidence) diag.Failures {
			ttl := shortest(e)
			return diag.FailIf(ttl < lowTTL, "The TTL is %d seconds.", ttl)
		},
	},
	{
		Code: "resolve.ttl.high", Severity: diag.Info,
		Requirement: "The records are kept for a week at most",
		Ref:         "RFC 8767 section 4",
		Advice:      "Lower the TTL: until it has passed, resolvers go on with the old records after a change.",
		When:        found,
		Fails: func(e *evidence) diag.Failures {
			ttl := shortest(e)
			return diag.FailIf(ttl > highTTL, "The TTL is %d seconds.", ttl)
		},
	},
	{
		Code: "resolve.ttl.differs", Severity: diag.Info,
		Requirement: "All records of the set have the same TTL",
		Ref:         "RFC 2181 section 5.2",
		Advice:      "Give all records of the name and type one TTL: resolvers take the lowest.",
		When:        found,
		Fails: func(e *evidence) diag.Failures {
			lowest, highest := e.records[0].Header().Ttl, uint32(0)
			for _, rr := range e.records {
				lowest, highest = min(lowest, rr.Header().Ttl), max(highest, rr.Header().Ttl)
			}
			return diag.FailIf(lowest != highest, "The TTLs are from %d to %d seconds.", lowest, highest)
		},
	},
	{
		Code: "resolve.reply.unrelated", Severity: diag.Info,
		Requirement: "The answer holds only what was asked for",
		Ref:         "RFC 2181 section 5.4.1",
		When:        known,
		Fails: func(e *evidence) diag.Failures {
			n := unrelated(e)
			return diag.FailIf(n > 0, "%d records of the answer belong to other names or types.", n)
		},
	},
	{
		Code: "resolve.reply.truncated", Severity: diag.Warning,
		Requirement: "The reply is complete",
		Ref:         "RFC 7766 section 5",
		Advice:      "Allow DNS over TCP to the resolver: larger answers need it.",
		Fails: func(e *evidence) diag.Failures {
			return diag.FailIf(e.reply.Truncated, "The reply is cut off (TC), over TCP too.")
		},
	},
	{
		Code: "resolve.reply.explained", Severity: diag.Info,
		Requirement: "The resolver had nothing to add to its answer",
		Ref:         "RFC 8914 section 3",
		When:        known,
		Fails:       explanations,
	},
	{
		Code: "resolve.records.cut", Severity: diag.Info,
		Requirement: "All records are listed",
		Fails: func(e *evidence) diag.Failures {
			var failures diag.Failures
			for name, section := range sections(e.reply) {
				failures = append(failures, target(name, len(section) > maxRecords,
					"There are %d records, of which %d are listed.", len(section), maxRecords)...)
			}
			return failures
		},
	},
}

// target is diag.FailIf with a target.
func target(name string, condition bool, format string, args ...any) diag.Failures {
	if !condition {
		return nil
	}
	return diag.Failures{{Detail: fmt.Sprintf(format, args...), Target: name}}
}

// sections yields the sections of a message that reports list.
func sections(m *dns.Msg) func(yield func(string, []dns.RR) bool) {
	return func(yield func(string, []dns.RR) bool) {
		_ = yield("answers", m.Answer) && yield("authority", m.Ns) && yield("additional", m.Extra)
	}
}

// loopOf returns the name to which the aliases come back, or nothing.
func loopOf(e *evidence) string {
	if found(e) {
		return ""
	}
	end := dns.CanonicalName(e.request.Name.FQDN())
	seen := []string{end}
	for _, alias := range e.chain {
		end = dns.CanonicalName(alias.Target)
		seen = append(seen, end)
	}
	for _, rr := range e.reply.Answer {
		alias, ok := rr.(*dns.CNAME)
		if !ok || dns.CanonicalName(alias.Hdr.Name) != end {
			continue
		}
		if target := dns.CanonicalName(alias.Target); slices.Contains(seen, target) {
			return nameText(target)
		}
	}
	return ""
}

func hasAddresses(e *evidence) bool {
	return found(e) && (e.request.Type == Type(dns.TypeA) || e.request.Type == Type(dns.TypeAAAA))
}

func privateAddresses(e *evidence) diag.Failures {
	var failures diag.Failures
	for _, rr := range e.records {
		var ip netip.Addr
		switch r := rr.(type) {
		case *dns.A:
			ip, _ = netip.AddrFromSlice(r.A.To4())
		case *dns.AAAA:
			ip, _ = netip.AddrFromSlice(r.AAAA)
		}
		if purpose := purposeOf(ip); purpose != "" && purpose != forDocumentation {
			failures = append(failures, target(ip.String(), true, "%s is %s.", ip, purpose)...)
		}
	}
	return failures[:min(len(failures), maxFailures)]
}

// maxFailures bounds what one rule has to say about each of many records.
const maxFailures = 20

// shortest is the lowest TTL of the records and of the aliases that led to them: so long the answer
// as a whole may be kept.
func shortest(e *evidence) uint32 {
	ttl := e.records[0].Header().Ttl
	for _, rr := range e.records {
		ttl = min(ttl, rr.Header().Ttl)
	}
	for _, alias := range e.chain {
		ttl = min(ttl, alias.Hdr.Ttl)
	}
	return ttl
}

// unrelated counts the records in the answer that neither are what was asked for nor lead or belong
// to it: signatures and DNAME records (RFC 6672 section 3) do.
func unrelated(e *evidence) int {
	owners := map[string]bool{dns.CanonicalName(e.request.Name.FQDN()): true}
	for _, alias := range e.chain {
		owners[dns.CanonicalName(alias.Target)] = true
	}
	wanted := []uint16{uint16(e.request.Type), dns.TypeCNAME, dns.TypeRRSIG}
	n := 0
	for _, rr := range e.reply.Answer {
		h := rr.Header()
		related := owners[dns.CanonicalName(h.Name)] && slices.Contains(wanted, h.Rrtype)
		if !related && h.Rrtype != dns.TypeDNAME && !signsDNAME(rr) {
			n++
		}
	}
	return n
}

func signsDNAME(rr dns.RR) bool {
	sig, ok := rr.(*dns.RRSIG)
	return ok && sig.TypeCovered == dns.TypeDNAME
}

// explanations lists the extended errors of a reply that is no failure, such as that it is stale or
// was filtered (RFC 8914 section 4).
func explanations(e *evidence) diag.Failures {
	var failures diag.Failures
	for _, x := range diag.ExtendedErrors(e.reply) {
		name, ok := dns.ExtendedErrorCodeToString[x.InfoCode]
		if !ok {
			name = fmt.Sprintf("Extended error %d", x.InfoCode)
		}
		if x.ExtraText != "" {
			name += fmt.Sprintf(": %.200q", strings.ToValidUTF8(x.ExtraText, "\uFFFD"))
		}
		failures = append(failures, target("", true, "%s.", name)...)
	}
	return failures[:min(len(failures), maxFailures)]
}
