package tlscert

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/webcheck/internal/probe"
)

const installAdvice = "Install the renewed certificate on every server that an address of the host leads to, reload " +
	"each, and include all of them in the renewal."

// installing makes rules about the end of a certificate advise what is missing where a newer one is in use elsewhere.
func installing(rules rule.Rules[*evidence]) rule.Rules[*evidence] {
	for i := range rules {
		fails := rules[i].Fails
		rules[i].Fails = func(e *evidence) rule.Failures {
			list := fails(e)
			for i := range list {
				if e.replacement() != nil {
					list[i].Advice = installAdvice
				}
			}
			return list
		}
	}
	return rules
}

// differenceRules are about addresses of one host that are not set up alike. Other rules report the
// address at fault; these say that the others are not.
var differenceRules = rule.Rules[*evidence]{{
	Code: "tls.address.renewal", Severity: diag.Warning, Weight: 3, Category: factorCertificate, When: several,
	Ref:         "RFC 1034 section 3.6.1",
	Title:       "Renewed certificate is not installed at every address",
	Requirement: "Every address has the renewed certificate",
	Advice:      installAdvice,
	Fails:       func(e *evidence) rule.Failures { return e.whole.unrenewed() },
}, {
	Code: "tls.address.certificate", Severity: diag.Info, When: several, DependsOn: []diag.Code{"tls.address.renewal"},
	Ref:         "RFC 1034 section 3.6.1",
	Title:       "Addresses present certificates of different age",
	Requirement: "The certificates at all addresses expire at about the same time",
	Advice:      "Check that each server renews its certificate by itself, or install the same one everywhere.",
	Fails:       func(e *evidence) rule.Failures { return e.whole.differentAge() },
}, {
	Code: "tls.address.chain", Severity: diag.Info, When: several, Ref: "RFC 8446 section 4.4.2",
	Title: "Addresses send different intermediate certificates", Requirement: "Every address sends the same intermediates",
	Advice: "Install the same chain file everywhere: " +
		"clients may accept the certificate at one address and not at another.",
	Fails: func(e *evidence) rule.Failures {
		return e.whole.differing("the certificates that they send with the same one of the server", e.whole.sharing(),
			func(e *evidence) string {
				return cmp.Or(phrase.Series(kit.Map(e.tls.Peers[1:], subject), maxNamed), "none")
			})
	},
}}

// scanDifferenceRules are about what the scan found.
var scanDifferenceRules = rule.Rules[*evidence]{{
	Code: "tls.address.version", Severity: diag.Warning, Weight: 2, Category: factorProtocol, When: several,
	Ref:   "RFC 9325 section 3.1.1",
	Title: "Addresses support different TLS versions", Requirement: "Every address supports the same TLS versions",
	Advice: "Give every server the same TLS settings: " +
		"what clients can use depends on the address that they happen to take.",
	Fails: func(e *evidence) rule.Failures {
		return e.whole.differing("protocol versions", e.whole.scanned(), func(e *evidence) string {
			var list []string
			for _, v := range e.scan.Versions { // other rules report older ones, with the addresses
				if v.Supported == probe.Yes && v.Version >= probe.TLS12 {
					list = append(list, v.Version.String())
				}
			}
			return cmp.Or(phrase.Series(list, len(list)), "neither TLS 1.2 nor TLS 1.3")
		})
	},
}, {
	Code: "tls.address.suite", Severity: diag.Info, When: several, DependsOn: []diag.Code{"tls.address.version"},
	Ref:   "RFC 9325 section 4.2",
	Title: "Addresses accept different cipher suites", Requirement: "Every address accepts the same cipher suites",
	Advice: "Give every server the same TLS settings.",
	Fails:  func(e *evidence) rule.Failures { return e.whole.differentSuites() },
}, {
	Code: "tls.address.protocol", Severity: diag.Info, When: several, Ref: "RFC 7301 section 3.2",
	Title:       "Addresses support different application protocols",
	Requirement: "Every address supports the same application protocols",
	Advice:      "Enable the same application protocols, such as HTTP/2, on every server.",
	Fails: func(e *evidence) rule.Failures {
		return e.whole.differing("application protocols", e.whole.scanned(), func(e *evidence) string {
			list := slices.Clone(e.scan.ALPN)
			if e.alpn != "" && !slices.Contains(list, e.alpn) {
				list = append(list, e.alpn)
			}
			slices.Sort(list)
			if len(list) == 0 {
				return "none"
			}
			return phrase.Series(list, len(list))
		})
	},
}}

// speaking returns the evidence of usual clients at each address that answered.
func (x *examination) speaking() (list []*evidence) {
	for _, p := range x.places {
		if p.main != nil && slices.Contains(x.parts, p.main) {
			list = append(list, p.main)
		}
	}
	return list
}

// sharing are those with the certificate of the first one.
func (x *examination) sharing() []*evidence {
	first := x.parts[0].leaf()
	return slices.DeleteFunc(x.speaking(), func(e *evidence) bool {
		return first == nil || e.leaf() == nil || !same(e.leaf(), first)
	})
}

// scanned are those of which all versions and suites are known.
func (x *examination) scanned() []*evidence {
	return slices.DeleteFunc(x.speaking(), func(e *evidence) bool {
		return e.scan == nil || e.scan.Partial || !e.scan.Any() || e.failed(fetch.Timeout)
	})
}

// differing fails if the descriptions of some parts differ; parts without one are left out.
func (x *examination) differing(what string, parts []*evidence, say func(*evidence) string) rule.Failures {
	values, at := x.grouped(parts, say)
	if len(values) < 2 {
		return nil
	}
	return rule.Fail("The addresses of %s differ in %s: %s.", x.parts[0].req.Host.Name(), what,
		strings.Join(kit.Map(values, func(v string) string { return v + " at " + phrase.Series(at[v], maxNamed) }), "; "))
}

// grouped lists the descriptions of some parts, and the addresses by description.
func (x *examination) grouped(parts []*evidence, say func(*evidence) string) (values []string, at map[string][]string) {
	at = map[string][]string{}
	for _, e := range parts {
		v := say(e)
		if v == "" {
			continue
		}
		if at[v] == nil {
			values = append(values, v)
		}
		at[v] = append(at[v], e.addr.Addr().String())
	}
	return values, at
}

// maxDifferences bounds the suites in a sentence.
const maxDifferences = 3

func (x *examination) differentSuites() rule.Failures {
	scans := x.scanned()
	values, at := x.grouped(scans, func(e *evidence) string {
		ids := kit.Map(e.scan.Suites, func(s probe.SuiteResult) string { return fmt.Sprint(s.Version, s.Name) })
		slices.Sort(ids)
		return strings.Join(ids, ",")
	})
	if len(values) < 2 {
		return nil
	}
	var all []string
	lists := kit.Map(values, func(v string) []string {
		e := scans[slices.IndexFunc(scans, func(e *evidence) bool { return at[v][0] == e.addr.Addr().String() })]
		names := e.suites(anySuite)
		all = append(all, names...)
		return names
	})
	slices.Sort(all)
	all = slices.Compact(all)
	clauses := kit.Map(lists, func(names []string) string {
		missing := slices.DeleteFunc(slices.Clone(all), func(n string) bool { return slices.Contains(names, n) })
		if len(missing) == 0 {
			return "all of them"
		}
		return "all but " + phrase.Series(missing, maxDifferences)
	})
	for i, v := range values {
		clauses[i] += " at " + phrase.Series(at[v], maxNamed)
	}
	return rule.Fail("The addresses of %s accept %s together: %s.", x.parts[0].req.Host.Name(),
		phrase.Count(len(all), "cipher suite"), strings.Join(clauses, "; "))
}

// due reports whether a certificate is in the last third of its life, in which ACME clients renew.
func (e *evidence) due() bool {
	leaf := e.leaf()
	return leaf.NotAfter.Sub(e.now) < life(leaf)/3
}

// newest is the part with the certificate of a type of key that was issued last, of those that clients accept.
func (x *examination) newest(kind string) (newest *evidence) {
	for _, e := range x.parts {
		if e.leaf() != nil && e.kind() == kind && e.tls.Err() == nil && !e.due() &&
			(newest == nil || e.leaf().NotBefore.After(newest.leaf().NotBefore)) {
			newest = e
		}
	}
	return newest
}

// replacement is a part at another address that has a newer certificate, if that of this one needs renewal.
func (e *evidence) replacement() *evidence {
	if !several(e) || e.leaf() == nil || !e.due() {
		return nil
	}
	newer := e.whole.newest(e.kind())
	if newer == nil || newer.addr == e.addr || !newer.leaf().NotBefore.After(e.leaf().NotBefore) {
		return nil
	}
	return newer
}

// unrenewed fails for each address with a certificate that needs renewal or has expired, where another one has a
// newer certificate already.
func (x *examination) unrenewed() (list rule.Failures) {
	for _, e := range x.parts {
		newer := e.replacement()
		if newer == nil {
			continue
		}
		f := rule.Failure{Target: e.addr.Addr().String(), Due: e.leaf().NotAfter}
		verb := "expires"
		if e.now.After(e.leaf().NotAfter) {
			verb, f.Due = "expired", time.Time{}
		}
		f.Detail = fmt.Sprintf("%s presents an old certificate, which %s on %s; that at %s is valid until %s.", e.addr.Addr(),
			verb, e.leaf().NotAfter.UTC().Format(time.DateOnly), newer.addr.Addr(),
			newer.leaf().NotAfter.UTC().Format(time.DateOnly))
		list = append(list, f)
	}
	return list.Joined()
}

// sameAge is by how much certificates may differ that were made in one go.
const sameAge = 7 * day

// differentAge fails if certificates of one type of key end at quite different times.
func (x *examination) differentAge() rule.Failures {
	first, last := map[string]time.Time{}, map[string]time.Time{}
	for _, e := range x.parts {
		if e.leaf() == nil || e.now.After(e.leaf().NotAfter) {
			continue
		}
		kind, ends := e.kind(), e.leaf().NotAfter
		if first[kind].IsZero() || ends.Before(first[kind]) {
			first[kind] = ends
		}
		if ends.After(last[kind]) {
			last[kind] = ends
		}
	}
	for _, e := range x.parts {
		if kind := e.kind(); kind != "" && last[kind].Sub(first[kind]) > sameAge {
			return rule.Fail("The certificates with %s keys at the addresses of %s expire between %s and %s.", kind,
				e.req.Host.Name(), first[kind].UTC().Format(time.DateOnly), last[kind].UTC().Format(time.DateOnly))
		}
	}
	return nil
}
