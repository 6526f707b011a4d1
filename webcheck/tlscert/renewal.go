package tlscert

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/miekg/dns"
)

// add takes what a record authorizes, if it can be read.
func (c *CAA) add(record *dns.CAA) {
	tag := strings.ToLower(record.Tag)
	a, err := pki.ParseCAA(record.Value)
	if tag != tagIssue && tag != tagIssueWild || err != nil {
		return
	}
	one := CAAAllowed{Property: tag, Domain: a.Domain}
	for _, p := range a.Parameters {
		switch p.Tag {
		case "validationmethods": // RFC 8657 section 4
			one.Methods = strings.Split(p.Value, ",")
		case "accounturi": // RFC 8657 section 3
			one.AccountURI = p.Value
		}
	}
	c.Allows = append(c.Allows, one)
}

// unwild is the name at which the records of a name of a certificate are looked up (RFC 8659 section 3).
func unwild(name string) string { return strings.ToLower(strings.TrimPrefix(name, "*.")) }

// lookupOtherNames looks up the records of names of the certificate beside that of the host.
func (e *evidence) lookupOtherNames(ctx context.Context, env *diag.Env) {
	chain, _ := parseChain(e.served)
	if len(chain) == 0 {
		return
	}
	var names []string
	for _, n := range chain[0].DNSNames[:min(len(chain[0].DNSNames), pki.MaxNames)] {
		if n = unwild(n); n == e.name || slices.Contains(names, n) {
			continue
		}
		if _, err := diag.ParseDomain(n); err == nil {
			names = append(names, n)
		}
	}
	e.moreNames = max(0, len(names)-maxOtherNames)
	names = names[:len(names)-e.moreNames]
	e.otherCAA = make([]caa, len(names))
	var g diag.Group
	for i, n := range names {
		g.Go(func() { e.otherCAA[i] = lookupCAA(ctx, env, n) })
	}
	g.Wait()
}

// uncheckedNames reports how many names of a certificate were not checked for records.
func (x *examination) uncheckedNames() (parts []diag.ScopePart) {
	for _, e := range x.parts {
		p := diag.ScopePart{Part: "CAA of " + phrase.Count(e.moreNames, "more name"), State: diag.LeftOut,
			Reason: fmt.Sprintf("at most %d are looked up", maxOtherNames)}
		if e.moreNames > 0 && !slices.Contains(parts, p) {
			parts = append(parts, p)
		}
	}
	return parts
}

// caaFault is why the records of a name are not known; nil if all are that were asked for.
func (e *evidence) caaFault() error {
	for _, c := range append([]caa{e.caa}, e.otherCAA...) {
		if c.err != nil {
			return c.err
		}
	}
	return nil
}

// A renewal is a name that the next certificate is to have.
type renewal struct {
	name     string
	wildcard bool
	*caa     // its records in the DNS
}

// renewals are the names of the certificate whose records are known, and that of the host, if no wildcard covers it.
func (e *evidence) renewals() (list []renewal) {
	add := func(name string, c *caa) {
		if c.queried && c.err == nil && !slices.ContainsFunc(list, func(r renewal) bool { return r.name == name }) {
			list = append(list, renewal{name, strings.HasPrefix(name, "*."), c})
		}
	}
	names := e.leaf().DNSNames
	if _, parent, _ := strings.Cut(e.name, "."); !slices.ContainsFunc(names, func(n string) bool {
		return strings.EqualFold(n, "*."+parent)
	}) {
		add(e.name, &e.caa)
	}
	for _, n := range names[:min(len(names), pki.MaxNames)] {
		n = strings.ToLower(n)
		if unwild(n) == e.name {
			add(n, &e.caa)
		}
		if i := slices.IndexFunc(e.otherCAA, func(c caa) bool { return c.name == unwild(n) }); i >= 0 {
			add(n, &e.otherCAA[i])
		}
	}
	return list
}

// judge says whether the records allow an issuer, by its names in CAA, and whether that is known.
func (r *renewal) judge(own []string) (yes, known bool) {
	domains, found := r.relevant(r.wildcard)
	switch {
	case len(r.unknownCritical()) > 0, found && len(domains) == 0:
		return false, true
	case !found:
		return true, true
	case len(own) == 0:
		return false, false
	}
	return slices.ContainsFunc(domains, func(d string) bool { return slices.Contains(own, d) }), true
}

// allowed says whether the records allow the issuer to certify all names of the certificate again, and whether that
// is known.
func (e *evidence) allowed() (yes, known bool) {
	if e.tls == nil {
		return false, false
	}
	_, own := e.organization()
	list := e.renewals()
	yes, known = true, len(list) > 0
	for _, r := range list {
		ok, told := r.judge(own)
		if told && !ok {
			return false, true
		}
		yes, known = yes && ok, known && told
	}
	return yes && known, known
}

// unrenewable reports which names the issuer may not certify again, one failure for all with the same records.
func (e *evidence) unrenewable() (list rule.Failures) {
	issuer, own := e.organization()
	type group struct {
		first renewal
		names []string
	}
	var groups []group
	for _, r := range e.renewals() {
		if yes, known := r.judge(own); yes || !known {
			continue
		}
		i := slices.IndexFunc(groups, func(g group) bool { return g.first.refusal(issuer) == r.refusal(issuer) })
		if i < 0 {
			i, groups = len(groups), append(groups, group{first: r})
		}
		groups[i].names = append(groups[i].names, r.name)
	}
	for _, g := range groups {
		f := rule.Failure{Detail: fmt.Sprintf("%s; it stays valid, but renewal will fail for %s.", g.first.refusal(issuer),
			phrase.Series(g.names, maxShownNames))}
		if g.first.wildcard && g.first.has(tagIssueWild) {
			f.Advice = "Add an issuewild record for the authority before the next renewal, " +
				"or renew with names that have no wildcard."
		}
		list = append(list, f)
	}
	return list
}

// refusal says whom the records of a name allow instead of the issuer.
func (r *renewal) refusal(issuer string) string {
	kind := ""
	if r.has(tagIssueWild) {
		kind = map[bool]string{true: " wildcard certificates", false: " certificates without wildcards"}[r.wildcard]
	}
	domains, _ := r.relevant(r.wildcard)
	other, _ := r.relevant(!r.wildcard)
	switch {
	case len(r.unknownCritical()) > 0 || len(domains)+len(other) == 0:
		return fmt.Sprintf("The CAA records of %s forbid every authority to issue, including %s, "+
			"which issued this certificate",
			r.domain, phrase.Quote(issuer))
	case len(domains) == 0:
		return fmt.Sprintf("The CAA records of %s let no authority issue%s (%s), and so not %s, "+
			"which issued this certificate",
			r.domain, kind, r.property(r.wildcard), phrase.Quote(issuer))
	}
	return fmt.Sprintf("The CAA records of %s allow %s to issue%s, and not %s, which issued this certificate", r.domain,
		phrase.Quote(strings.Join(domains, ", ")), kind, phrase.Quote(issuer))
}
