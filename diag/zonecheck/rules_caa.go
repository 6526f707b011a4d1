package zonecheck

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/internal/survey"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/miekg/dns"
)

// caaCritical is the only flag of a CAA record: authorities that do not know the property must not issue (RFC 8659
// section 4.1).
const caaCritical = 128

// caaRules are about the CAA records at the apex, which decide about the next certificate and not about the present
// one.
var caaRules = rule.Rules[*evidence]{{
	Code: "zone.caa", Severity: diag.Warning, Weight: 1, Ref: "RFC 8659 section 4.1",
	Title: "Critical CAA property that no authority knows", Requirement: "Authorities know every critical CAA property",
	Advice: "Correct the tag of the record, or clear its critical flag (128): until then no authority issues " +
		"certificates.",
	Fails: eachCAA(func(_ *evidence, r *dns.CAA) (text, advice string) {
		if r.Flag&caaCritical == 0 || knownCAA(r.Tag) {
			return "", ""
		}
		text = "is critical, and no authority knows the property " + phrase.Quote(r.Tag)
		if meant := meantCAA(r.Tag); meant != "" {
			text, advice = text+", which probably means "+meant, "Write "+meant+" in place of "+phrase.Quote(r.Tag)+"."
		}
		return text + ": no authority may issue certificates for the domain", advice
	}),
}, {
	Code: "zone.caa.tag", Severity: diag.Warning, Weight: 1, Ref: "RFC 8659 section 4.1",
	Title: "CAA record with a misspelled tag", Requirement: "The tags of the CAA records are spelled as registered",
	Advice: "Correct the tag of the CAA record.", Fails: eachCAA((*evidence).misspeltCAA),
}, {
	Code: "zone.caa.issuer", Severity: diag.Warning, Weight: 1, Ref: "RFC 8659 section 4.2",
	Title: "CAA record that authorizes nobody by mistake", Requirement: "The CAA records name their authorities " +
		"correctly",
	Advice: "Write the domain of the authority alone, such as letsencrypt.org, and parameters as name=value after a " +
		"semicolon.",
	Fails: eachCAA((*evidence).unusableIssuer),
}, {
	Code: "zone.caa.iodef", Severity: diag.Warning, Weight: 1, Ref: "RFC 8659 section 4.4",
	Title: "CAA reports have no usable address", Requirement: "The CAA property iodef has a mailto: or https: URL",
	Advice: "Write the address for reports as a URL, such as mailto:security@example.com or https://example.com/reports.",
	Fails: eachCAA(func(_ *evidence, r *dns.CAA) (text, advice string) {
		if !strings.EqualFold(r.Tag, "iodef") || reportURL(r.Value) {
			return "", ""
		}
		return "has no mailto: or https: URL: authorities cannot report requests that they refuse", ""
	}),
}, {
	Code: "zone.caa.flags", Severity: diag.Warning, Weight: 1, Ref: "RFC 8659 section 4.1",
	Title: "CAA record with an undefined flag", Requirement: "The CAA records have the flags 0 or 128",
	Advice: "Write 128 if authorities that do not know the property must not issue, and 0 otherwise.",
	Fails: eachCAA(func(_ *evidence, r *dns.CAA) (text, advice string) {
		if r.Flag&^caaCritical == 0 {
			return "", ""
		}
		return fmt.Sprintf("has the flags %d, of which only 128 (critical) is defined: authorities ignore the others",
			r.Flag), ""
	}),
}, {
	Code: "zone.caa.unknown", Severity: diag.Info, Ref: "RFC 8659 section 4.1",
	Title: "CAA property that is not registered", Requirement: "The CAA properties are registered",
	Advice: "Remove the record unless an authority that you use reads it.",
	Fails: eachCAA(func(_ *evidence, r *dns.CAA) (text, advice string) {
		if knownCAA(r.Tag) || r.Flag&caaCritical != 0 || meantCAA(r.Tag) != "" {
			return "", ""
		}
		return "has a property that is not registered: authorities ignore it", ""
	}),
}}.With(rule.Rule[*evidence]{When: hasType(dns.TypeCAA)})

// caa returns the CAA records at the apex.
func (e *evidence) caa() []*dns.CAA {
	r := e.at(e.Zone, dns.TypeCAA)
	if !r.OK() {
		return nil
	}
	return survey.Set[*dns.CAA](r.Msg.Answer, e.Zone)
}

// eachCAA makes the test of a rule from a function on each record, which returns a clause that continues a sentence,
// and advice if it is more specific than the rule's.
func eachCAA(fault func(*evidence, *dns.CAA) (text, advice string)) func(*evidence) rule.Failures {
	return func(e *evidence) rule.Failures {
		return rule.FailEach(e.caa(), func(r *dns.CAA) rule.Failures {
			text, advice := fault(e, r)
			if text == "" {
				return nil
			}
			f := rule.Fail("The CAA record %s of %s %s.", caaText(r), e.Domain, text).About(phrase.Quote(r.Tag))
			f[0].Advice, f[0].Suggested = advice, e.correctedCAA()
			return f
		})
	}
}

// caaText is a record in presentation form.
func caaText(r *dns.CAA) string {
	return fmt.Sprintf("%d %s %q", r.Flag, r.Tag, phrase.Clip(r.Value, maxCAAValue))
}

// maxCAAValue bounds the value of a record that a sentence quotes, in bytes.
const maxCAAValue = 100

func knownCAA(tag string) bool { return slices.Contains(pki.CAATags(), strings.ToLower(tag)) }

// leastTag is the length of a tag from which two letters may be wrong, or a part may be missing.
const leastTag = 5

// meantCAA returns the registered tag that an unregistered one is probably a misspelling of; empty if it resembles
// none.
func meantCAA(tag string) (meant string) {
	tag = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1 // a hyphen, an underscore
	}, strings.ToLower(tag))
	nearest := 3
	for _, known := range pki.CAATags() {
		if d := phrase.Distance(tag, known); d < nearest && (d < 2 || len(known) >= leastTag) {
			meant, nearest = known, d
		}
	}
	if meant != "" {
		return meant
	}
	for _, known := range pki.CAATags() {
		begins := len(known) >= leastTag && strings.HasPrefix(tag, known) ||
			len(tag) >= leastTag && strings.HasPrefix(known, tag)
		if begins && len(known) > len(meant) {
			meant = known
		}
	}
	return meant
}

// authorizes are the properties that authorize issuers, with their scope.
var authorizes = map[string]string{
	"issue": "certificates", "issuewild": "wildcard certificates", "issuemail": "S/MIME certificates",
	"issuevmc": "mark certificates",
}

func (e *evidence) hasCAA(tag string) bool {
	return slices.ContainsFunc(e.caa(), func(r *dns.CAA) bool { return strings.EqualFold(r.Tag, tag) })
}

// misspeltCAA describes the effect of a tag that no authority supports.
func (e *evidence) misspeltCAA(r *dns.CAA) (text, advice string) {
	meant := meantCAA(r.Tag)
	if meant == "" || knownCAA(r.Tag) || r.Flag&caaCritical != 0 {
		return "", ""
	}
	text = "has the tag " + phrase.Quote(r.Tag) + ", which no authority knows, in place of " + meant + ": it is ignored"
	advice = "Write " + meant + " in place of " + phrase.Quote(r.Tag) + "."
	what := authorizes[meant]
	switch {
	case what == "":
		return text, advice
	case e.hasCAA(meant):
		text += ", and authorizes nobody"
	case meant == "issuewild" && e.hasCAA("issue"):
		text += ", and the property issue decides about wildcard certificates"
	default:
		text += ", and any authority may issue " + what + " for the domain"
	}
	return text, strings.TrimSuffix(advice, ".") + ", after you have listed every authority that you use: from then on " +
		"no other may issue " + what + "."
}

// unusableIssuer describes why a property authorizes no authority, and which may issue then.
func (e *evidence) unusableIssuer(r *dns.CAA) (text, advice string) {
	tag := strings.ToLower(r.Tag)
	what, domain := authorizes[tag], ""
	if what == "" {
		return "", ""
	}
	var err error
	if domain, err = pki.CAAIssuer(r.Value); err == nil && (domain == "" || strings.Contains(domain, ".")) {
		return "", ""
	}
	text = "authorizes nobody, since its value "
	if err != nil {
		text += err.Error()
	} else {
		text += "is not the whole domain of an authority"
	}
	usable := func(r *dns.CAA) bool {
		domain, err := pki.CAAIssuer(r.Value)
		return strings.EqualFold(r.Tag, tag) && err == nil && strings.Contains(domain, ".")
	}
	if !slices.ContainsFunc(e.caa(), usable) {
		text += ": no authority may issue " + what + " for the domain"
	}
	if value, ok := correctedIssuer(r.Value); ok {
		advice = fmt.Sprintf("Write %s %q: the domain of the authority alone.", tag, value)
	}
	return text, advice
}

// correctedIssuer is the value that was meant by one that is not a domain name: that of a known authority.
func correctedIssuer(value string) (string, bool) {
	domain, parameters, has := strings.Cut(value, ";")
	if _, scheme, found := strings.Cut(domain, "://"); found {
		domain = scheme
	}
	domain = strings.Trim(strings.ToLower(domain), " \t\"'<>")
	domain, _, _ = strings.Cut(domain, "/")
	domain = strings.Trim(domain[strings.LastIndexByte(domain, '@')+1:], ".")
	if !pki.KnownIssuer(domain) {
		domain = strings.TrimPrefix(domain, "www.")
	}
	if has {
		value = domain + ";" + parameters
	} else {
		value = domain
	}
	_, err := pki.CAAIssuer(value)
	return value, err == nil && pki.KnownIssuer(domain)
}

// reportURL reports whether reports can be sent to a URL (RFC 8659 section 4.4).
func reportURL(value string) bool {
	u, err := url.Parse(value)
	if err != nil {
		return false
	}
	switch u.Scheme {
	case "mailto":
		address, _, _ := strings.Cut(u.Opaque, "?")
		return strings.Contains(address, "@")
	case "http", "https":
		return u.Host != ""
	}
	return false
}

// correctedCAA returns the whole set of CAA records as intended, as in a zone file; empty if that is unknown. It is
// never stricter than the set in force: it activates no property that had no effect (CONTRACT 1.8).
func (e *evidence) correctedCAA() string {
	var lines []string
	for _, r := range e.caa() {
		right := *r
		right.Flag &= caaCritical
		tag := strings.ToLower(r.Tag)
		if !knownCAA(tag) {
			if right.Tag = meantCAA(tag); right.Tag == "" || authorizes[right.Tag] != "" && r.Flag&caaCritical == 0 {
				return ""
			}
		}
		if strings.EqualFold(right.Tag, "iodef") && !reportURL(r.Value) {
			if right.Value = "mailto:" + r.Value; !strings.Contains(r.Value, "@") || !reportURL(right.Value) {
				return ""
			}
		}
		if text, _ := e.unusableIssuer(&right); text != "" {
			value, ok := correctedIssuer(r.Value)
			if !ok {
				return ""
			}
			right.Value = value
		}
		lines = append(lines, e.Zone+" IN CAA "+strings.TrimPrefix(right.String(), right.Hdr.String()))
	}
	return strings.Join(lines, "\n")
}
