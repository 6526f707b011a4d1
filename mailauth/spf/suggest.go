package spf

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
)

// suggest stores the record that should be published in the evidence, unless relevant facts are unknown.
func (e *evidence) suggest() {
	if open := e.Unanswered(); len(open) == 0 || slices.Equal(open, []rule.Source{fromType99}) {
		e.suggested = e.corrected()
	}
}

// corrected returns the record that should replace the published one: without the faults that can be corrected for
// certain, keeping every sender that passes today and adding those that are listed without effect. It is empty if
// there is nothing to correct, or if the right record is unknown (CONTRACT 1.8).
func (e *evidence) corrected() string {
	text, lost := correctRecord(e.intended())
	if text == "" || e.separated != nil &&
		(!e.separated.complete() || slices.ContainsFunc(e.separated.Nodes(), (*Node).isUnsure)) {
		return ""
	}
	record, _ := eval.Parse(text)
	c := correction{evidence: e, sendersUnknown: lost,
		pasted: len(e.records) > 1 || len(e.records) == 1 && len(e.fragments) == 1}
	for i := range record.Terms {
		if !c.add(&record.Terms[i]) {
			return ""
		}
	}
	better := c.write()
	if better == "" || len(e.records) == 1 && better == e.tree.Root.Parsed.String() || !c.isPublishable(better) {
		return ""
	}
	return better
}

func (e *evidence) intended() string {
	switch {
	case len(e.records) == 1 && len(e.fragments) < 2:
		return separated(e.records[0], e.missingSpaces) + " " + strings.Join(e.fragments, " ")
	case len(e.records) > 1 && len(e.fragments) == 0:
		return strings.Join(slices.Sorted(slices.Values(e.records)), " ") // servers give them in any order
	case len(e.records) == 0 && len(e.strays) == 1:
		return e.strays[0]
	case len(e.records)+len(e.strays) == 0 && len(e.elsewhere) == 1:
		return e.elsewhere[0].record
	default:
		return ""
	}
}

// A correction is a record under construction. Terms without effect so far come after those with effect, so that they
// do not change the result of hosts that pass today.
type correction struct {
	*evidence
	pasted         bool // it consists of several records
	sendersUnknown bool // some intended senders are unknown
	pass           []eval.Term
	late           []eval.Term
	all            []eval.Qualifier
	redirect       *eval.Term
	modifiers      []eval.Term
}

// add adds a term. It reports whether the intent of the term is known.
func (c *correction) add(t *eval.Term) bool {
	switch {
	case t.Name == eval.All:
		c.all = append(c.all, t.Qualifier)
	case t.Kind == eval.Mechanism && len(c.all) == 0:
		c.pass = append(c.pass, *t)
	case t.Kind == eval.Mechanism:
		c.late = append(c.late, *t)
	case t.Name == eval.Redirect && c.redirect == nil:
		c.redirect = t
	case t.Name == eval.Redirect: // of the second of two records
		c.late = append(c.late, including(t.Value))
	case t.Unknown == "v":
		c.pasted = true
	case t.Name == "" && correctName(t.Unknown) != "":
		return c.addMisspelled(t)
	default:
		c.modifiers = append(c.modifiers, *t)
	}
	return true
}

// addMisspelled adds a modifier that was meant as a mechanism or as redirect.
func (c *correction) addMisspelled(t *eval.Term) bool {
	name := correctName(t.Unknown)
	switch {
	case name == eval.All:
		return true // all=… never had an effect
	case name == eval.Redirect && c.redirect == nil && c.pass == nil && c.late == nil:
		term := including(t.Value)
		term.Kind, term.Name, term.Qualifier, term.Raw = eval.Modifier, eval.Redirect, "", "redirect="+t.Value
		c.redirect = &term
		return true
	}
	text := string(name)
	if t.Value != "" {
		text += separator(name) + t.Value
	}
	record, faults := eval.Parse(version + " " + text)
	if len(faults) > 0 || record.Terms[0].Kind != eval.Mechanism || termFault(&record.Terms[0]) != "" {
		return false
	}
	c.late = append(c.late, record.Terms[0])
	return true
}

func including(domain string) eval.Term {
	record, _ := eval.Parse(version + " include:" + domain)
	return record.Terms[0]
}

func (c *correction) write() string {
	if c.redirect != nil && (len(c.all) > 0 || c.pasted) &&
		(len(c.pass)+len(c.late) > 0 || len(c.all) > 0 && c.ending() != eval.QualifierFail) { // it may end in -all
		if len(c.all) == 0 { // it is followed today, so it precedes terms without effect
			c.pass = append(c.pass, including(c.redirect.Value))
		} else {
			c.late = append(c.late, including(c.redirect.Value))
		}
		c.redirect = nil
	}
	if c.redirect != nil && len(c.late) > 0 {
		return "" // new terms could keep receivers from reaching the redirect
	}
	signed := func(t eval.Term) bool { return t.Qualifier != eval.QualifierPass }
	if len(c.openAlls()) > 0 { // hosts that these would refuse pass today
		c.late = slices.DeleteFunc(c.late, signed)
	}
	terms := c.flattened(c.withoutVoids(unique(slices.Concat(c.pass, c.late))))
	if c.pasted && slices.ContainsFunc(terms, signed) {
		return "" // the order of several records is unknown
	}
	for i := range terms {
		normalize(&terms[i])
	}
	lift(terms)
	better := &eval.Record{Terms: terms}
	if c.redirect != nil {
		better.Terms = append(better.Terms, *c.redirect)
	} else {
		if !slices.ContainsFunc(terms, c.sends) && (len(c.openAlls()) > 0 || c.ending() != eval.QualifierFail) {
			return "" // no sender is listed, and the senders are unknown
		}
		better.Terms = append(better.Terms,
			eval.Term{Kind: eval.Mechanism, Name: eval.All, Qualifier: c.ending(), Valid: true})
	}
	better.Terms = append(better.Terms, c.modifiers...)
	return better.String()
}

func (c *correction) openAlls() []eval.Qualifier {
	return slices.DeleteFunc(slices.Clone(c.all), func(q eval.Qualifier) bool { return q != eval.QualifierPass })
}

func (c *correction) sends(t eval.Term) bool {
	r := c.resolved(&t)
	return t.Qualifier == eval.QualifierPass && (r == nil || c.mayPass(r) || !r.matches().IsEmpty())
}

// ending returns the sign of all: - unless the record specifies another, and otherwise ~, which refuses no host that
// is accepted today (RFC 7208 section 8.5).
func (c *correction) ending() eval.Qualifier {
	if c.sendersUnknown || len(c.all) == 0 ||
		slices.ContainsFunc(c.all, func(q eval.Qualifier) bool { return q != eval.QualifierFail }) {
		return eval.QualifierSoftfail
	}
	return eval.QualifierFail
}

// unique drops repeated mechanisms: the first match decides.
func unique(terms []eval.Term) []eval.Term {
	seen := map[string]bool{}
	return slices.DeleteFunc(terms, func(t eval.Term) bool {
		key := unsigned(&t)
		twice := seen[key]
		seen[key] = true
		return twice
	})
}

// withoutVoids drops terms that match no host, unless no sender would remain, and includes that another one contains,
// that loop, or that have no record. An include without a record is replaced by a service whose name differs by one
// typo.
func (c *correction) withoutVoids(terms []eval.Term) []eval.Term {
	if !c.walked() {
		return terms
	}
	var left []eval.Term
	lost := false
	for _, t := range terms {
		r := c.resolved(&t)
		bare := r != nil && t.Name == eval.Include && r.Child.State == NodeNone
		switch {
		case bare && r.Child.near != "":
			left = append(left, including(r.Child.near))
		case bare:
			lost = true
		case r == nil || !r.Void && c.redundant(r, true) == nil && (t.Name != eval.Include || r.Child.State != NodeLoop):
			left = append(left, t)
		case r.Void && c.fails():
			lost = true // it was meant for a host, and today no host is refused
		}
	}
	if !slices.ContainsFunc(left, c.sends) {
		return terms
	}
	c.sendersUnknown = c.sendersUnknown || lost
	return unique(left)
}

// fails reports whether some evaluations certainly end in permerror before they reach all.
func (c *correction) fails() bool {
	root := c.tree.Root
	return root.breaks() || root.CumulativeLookups > eval.MaxLookups || len(c.tree.voids(void)) > eval.MaxVoids
}

// flattened replaces includes with networks if receivers stop before the end of the record: only includes that no
// service changes without notice, and only if there is room.
func (c *correction) flattened(terms []eval.Term) []eval.Term {
	if c.offline || len(c.records) != 1 || c.tree.Root.CumulativeLookups <= eval.MaxLookups || !c.allPass() {
		return terms
	}
	var passed Set
	left := slices.DeleteFunc(slices.Clone(terms), func(t eval.Term) bool {
		r := c.resolved(&t)
		if r == nil || !plainInclude(r) || !r.Child.isFixed() {
			return false
		}
		passed = passed.Union(r.Child.passing())
		return true
	})
	text := version
	for _, p := range passed.Prefixes() {
		text += " " + NetworkTerm(p)
	}
	flat, _ := eval.Parse(text)
	left = append(flat.Terms, left...)
	if len((&eval.Record{Terms: left}).String()) > longRecord {
		return terms
	}
	return left
}

// isFixed reports whether the networks of a record are known, independent of the message, and belong to no known
// service.
func (n *Node) isFixed() bool {
	varies := func(c *Node) bool { return !c.isFixed() }
	return n.State == NodeFound && providerOf(n.Domain) == "" && !n.dynamic() && !n.breaks() &&
		!slices.ContainsFunc(n.Children, varies)
}

// normalize puts a network into canonical form: beginning at its first address, and IPv4 as ip4.
func normalize(t *eval.Term) {
	if !t.Network.IsValid() {
		return
	}
	p := t.Network.Masked()
	if a := p.Addr(); a.Is4In6() && p.Bits() >= 96 && t.Qualifier == eval.QualifierPass { // it never matched
		p = netip.PrefixFrom(a.Unmap(), p.Bits()-96)
	}
	if p == t.Network {
		return
	}
	record, _ := eval.Parse(version + " " + strings.TrimPrefix(string(t.Qualifier), "+") + NetworkTerm(p))
	*t = record.Terms[0]
}

// lift moves networks that pass before those with another sign that cover them.
func lift(terms []eval.Term) {
	for i := range terms {
		t := terms[i]
		if !t.Network.IsValid() || t.Qualifier != eval.QualifierPass {
			continue
		}
		j := slices.IndexFunc(terms[:i], func(s eval.Term) bool {
			return s.Network.IsValid() && s.Qualifier != eval.QualifierPass && s.Network.Bits() <= t.Network.Bits() &&
				s.Network.Contains(t.Network.Addr())
		})
		if j >= 0 {
			copy(terms[j+1:i+1], terms[j:i])
			terms[j] = t
		}
	}
}

// walked reports whether the targets of the terms of the text were looked up.
func (c *correction) walked() bool { return !c.offline && (len(c.records) == 1 || c.separated != nil) }

// isPublishable reports whether a record can be published as it is: it has no findings and, as far as looked up,
// stays within the limits and refers to no record that breaks evaluations.
func (c *correction) isPublishable(text string) bool {
	if len(text) > eval.MaxRecordLength {
		return false
	}
	alone := newOffline(text, c.domain, netip.Addr{})
	for _, f := range rules().Judge(alone, nil).Findings {
		if f.Severity > diag.Info {
			return false
		}
	}
	if !c.walked() {
		return true
	}
	lookups, voids := 0, 0
	for _, one := range alone.tree.Root.Terms {
		t := one.Term
		if (t.Name == eval.Include || t.Name == eval.Redirect) &&
			strings.EqualFold(strings.TrimSuffix(t.Value, "."), c.domain.String()) {
			return false // a loop
		}
		r := c.resolved(t)
		if r == nil && t.Name == eval.Redirect {
			if r = c.tree.Root.Modifier(eval.Redirect); r == nil && c.separated != nil {
				r = c.separated.Root.Modifier(eval.Redirect)
			}
		}
		if r == nil {
			if t.Name == eval.Include && c.missing() {
				return false // it may be the intended target of an include without a record, and lack a record as well
			}
			lookups += t.Cost() + c.extraLookups(t)
			continue
		}
		if r.Everyone && r.Name != eval.All || r.MXCount > eval.MaxMX || r.Child != nil && r.Child.breaks() {
			return false
		}
		if lookups += r.Lookups(); r.Void {
			voids++
		}
	}
	return lookups <= eval.MaxLookups && voids <= eval.MaxVoids
}

// missing reports whether the record includes a domain without a record whose right name is unknown.
func (c *correction) missing() bool {
	return slices.ContainsFunc(c.tree.Root.Children, func(n *Node) bool { return n.State == NodeNone && n.near == "" })
}

// extraLookups counts the DNS lookups in the record of a service whose name replaces a misspelled one.
func (c *correction) extraLookups(t *eval.Term) int {
	for _, n := range c.tree.Root.Children {
		if n.near != "" && n.near == t.Value {
			return n.nearCost
		}
	}
	return 0
}
