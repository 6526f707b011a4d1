package spf

import (
	"net/netip"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag"
)

// suggest returns the record that should be published instead of what is: without the faults that can be
// corrected for certain, keeping every sender that passes today and adding those that are listed in
// vain. It is empty if there is nothing to correct, or if the right record cannot be known (CONTRACT 1.8).
func (e *evidence) suggest() string {
	text, lost := mend(e.intended())
	if text == "" {
		return ""
	}
	record, _ := Parse(text)
	c := correction{evidence: e, lost: lost, pasted: len(e.records) > 1 || len(e.records) == 1 && len(e.fragments) == 1}
	for i := range record.Terms {
		if !c.add(&record.Terms[i]) {
			return ""
		}
	}
	better := c.record()
	if better == "" || len(e.records) == 1 && better == e.tree.Root.Parsed.String() || !c.safe(better) {
		return ""
	}
	return better
}

// intended joins what was meant as one record.
func (e *evidence) intended() string {
	switch {
	case len(e.records) == 1 && len(e.fragments) < 2:
		return separated(e.records[0], e.strings) + " " + strings.Join(e.fragments, " ")
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

// A correction is a record in the making. Terms that had no effect so far stand behind those that had,
// so that whoever passes today is decided on before them.
type correction struct {
	*evidence
	pasted    bool // it was several records
	lost      bool // senders were meant that nobody knows
	pass      []Term
	late      []Term
	all       []Qualifier
	redirect  *Term
	modifiers []Term
}

// add takes a term over. It reports whether it is known what the term was meant to be.
func (c *correction) add(t *Term) bool {
	switch {
	case t.Name == All:
		c.all = append(c.all, t.Qualifier)
	case t.Kind == Mechanism && len(c.all) == 0:
		c.pass = append(c.pass, *t)
	case t.Kind == Mechanism:
		c.late = append(c.late, *t)
	case t.Name == Redirect && c.redirect == nil:
		c.redirect = t
	case t.Name == Redirect: // of the second of two records
		c.late = append(c.late, including(t.Value))
	case t.Unknown == "v":
		c.pasted = true
	case t.Name == "" && spelled(t.Unknown) != "":
		return c.addMisspelled(t)
	default:
		c.modifiers = append(c.modifiers, *t)
	}
	return true
}

// addMisspelled takes over a modifier that was meant as a mechanism or as redirect.
func (c *correction) addMisspelled(t *Term) bool {
	name := spelled(t.Unknown)
	switch {
	case name == All:
		return true // all=… never meant anything
	case name == Redirect && c.redirect == nil && c.pass == nil && c.late == nil:
		term := including(t.Value)
		term.Kind, term.Name, term.Qualifier, term.Raw = Modifier, Redirect, "", "redirect="+t.Value
		c.redirect = &term
		return true
	}
	text := string(name)
	if t.Value != "" {
		text += separator(name) + t.Value
	}
	record, faults := Parse(version + " " + text)
	if len(faults) > 0 || record.Terms[0].Kind != Mechanism || record.Terms[0].targetFault() != "" {
		return false
	}
	c.late = append(c.late, record.Terms[0])
	return true
}

// including is the term that includes a domain.
func including(domain string) Term {
	record, _ := Parse(version + " include:" + domain)
	return record.Terms[0]
}

// record writes the corrected record, or nothing if it is not known how it should be.
func (c *correction) record() string {
	if c.redirect != nil && (len(c.all) > 0 || c.pasted) && len(c.pass)+len(c.late)+len(c.open()) > 0 {
		if len(c.all) == 0 { // it is followed today, so it stands before what had no effect
			c.pass = append(c.pass, including(c.redirect.Value))
		} else {
			c.late = append(c.late, including(c.redirect.Value))
		}
		c.redirect = nil
	}
	if c.redirect != nil && len(c.late) > 0 {
		return "" // what is new could keep receivers from coming to the redirect
	}
	signed := func(t Term) bool { return t.Qualifier != QualifierPass }
	if len(c.open()) > 0 { // whom these would refuse passes today
		c.late = slices.DeleteFunc(c.late, signed)
	}
	terms := c.flattened(c.withoutVoids(unique(slices.Concat(c.pass, c.late))))
	if c.pasted && slices.ContainsFunc(terms, signed) {
		return "" // the order of several records is not known
	}
	for i := range terms {
		normalize(&terms[i])
	}
	lift(terms)
	better := &Record{Terms: terms}
	if c.redirect != nil {
		better.Terms = append(better.Terms, *c.redirect)
	} else {
		if !slices.ContainsFunc(terms, c.sends) && (len(c.open()) > 0 || c.ending() != QualifierFail) {
			return "" // nobody is listed, and the senders are not known
		}
		better.Terms = append(better.Terms, Term{Kind: Mechanism, Name: All, Qualifier: c.ending(), Valid: true})
	}
	better.Terms = append(better.Terms, c.modifiers...)
	return better.String()
}

// open lists the alls by which everybody passes.
func (c *correction) open() []Qualifier {
	return slices.DeleteFunc(slices.Clone(c.all), func(q Qualifier) bool { return q != QualifierPass })
}

// sends reports whether a term may let a host pass.
func (c *correction) sends(t Term) bool {
	r := c.resolved(&t)
	return t.Qualifier == QualifierPass && (r == nil || c.mayPass(r) || !r.matches().IsEmpty())
}

// ending is the sign of all: - where the record says nothing else, and otherwise ~, which refuses nobody who
// is not refused today (RFC 7208 section 8.5).
func (c *correction) ending() Qualifier {
	if c.lost || len(c.all) == 0 || slices.ContainsFunc(c.all, func(q Qualifier) bool { return q != QualifierFail }) {
		return qualifierSoftfail
	}
	return QualifierFail
}

// unique leaves out mechanisms that stand before already: the first match decides.
func unique(terms []Term) []Term {
	seen := map[string]bool{}
	return slices.DeleteFunc(terms, func(t Term) bool {
		key := unsigned(&t)
		twice := seen[key]
		seen[key] = true
		return twice
	})
}

// unsigned is the canonical form of a mechanism without its sign, by which it is compared with others.
func unsigned(t *Term) string { return strings.ToLower(strings.TrimLeft(t.String(), "+-~?")) }

// withoutVoids leaves out terms that can match nobody, unless nobody would be left, and includes that another one
// holds, that lead back, or that have no record. Those were meant for somebody: a service, if its name is off by a slip.
func (c *correction) withoutVoids(terms []Term) []Term {
	if c.offline || len(c.records) != 1 {
		return terms
	}
	var left []Term
	lost := false
	for _, t := range terms {
		r := c.resolved(&t)
		bare := r != nil && t.Name == Include && r.Child.State == NodeNone
		switch {
		case bare && r.Child.near != "":
			left = append(left, including(r.Child.near))
		case bare:
			lost = true
		case r == nil || !r.Void && c.redundant(r, true) == nil && (t.Name != Include || r.Child.State != NodeLoop):
			left = append(left, t)
		}
	}
	if !slices.ContainsFunc(left, c.sends) {
		return terms
	}
	c.lost = c.lost || lost
	return unique(left)
}

// flattened writes networks in the place of includes where receivers give up before the end of the record: of includes
// that no service changes without notice, if there is room for them.
func (c *correction) flattened(terms []Term) []Term {
	if c.offline || len(c.records) != 1 || c.tree.Root.CumulativeLookups <= MaxLookups || !c.allPass() {
		return terms
	}
	var passed Set
	left := slices.DeleteFunc(slices.Clone(terms), func(t Term) bool {
		r := c.resolved(&t)
		if r == nil || !plainInclude(r) || !r.Child.fixed() {
			return false
		}
		passed = passed.Union(r.Child.passing())
		return true
	})
	text := version
	for _, p := range slices.Concat(passed.Prefixes4(), passed.Prefixes6()) {
		text += " " + networkTerm(p)
	}
	flat, _ := Parse(text)
	left = append(flat.Terms, left...)
	if len((&Record{Terms: left}).String()) > longRecord {
		return terms
	}
	return left
}

// fixed reports whether the networks of a record are known, whatever the mail, and belong to no known service.
func (n *Node) fixed() bool {
	varies := func(c *Node) bool { return !c.fixed() }
	return n.State == NodeFound && providerOf(n.Domain) == "" && !n.dynamic() && !n.breaks() &&
		!slices.ContainsFunc(n.Children, varies)
}

// resolved returns what the DNS says of a mechanism of the record, or nil.
func (e *evidence) resolved(t *Term) *ResolvedTerm {
	for i := range e.tree.Root.Terms {
		if r := &e.tree.Root.Terms[i]; r.Reached && r.Kind == Mechanism && unsigned(r.Term) == unsigned(t) {
			return r
		}
	}
	return nil
}

// normalize writes a network as it should be: beginning at its first address, and IPv4 as ip4.
func normalize(t *Term) {
	if !t.Network.IsValid() {
		return
	}
	p := t.Network.Masked()
	if a := p.Addr(); a.Is4In6() && p.Bits() >= 96 && t.Qualifier == QualifierPass { // it never matched
		p = netip.PrefixFrom(a.Unmap(), p.Bits()-96)
	}
	if p == t.Network {
		return
	}
	record, _ := Parse(version + " " + strings.TrimPrefix(string(t.Qualifier), "+") + networkTerm(p))
	*t = record.Terms[0]
}

// lift moves networks that pass before those with another sign that cover them.
func lift(terms []Term) {
	for i := range terms {
		t := terms[i]
		if !t.Network.IsValid() || t.Qualifier != QualifierPass {
			continue
		}
		j := slices.IndexFunc(terms[:i], func(s Term) bool {
			return s.Network.IsValid() && s.Qualifier != QualifierPass && s.Network.Bits() <= t.Network.Bits() &&
				s.Network.Contains(t.Network.Addr())
		})
		if j >= 0 {
			copy(terms[j+1:i+1], terms[j:i])
			terms[j] = t
		}
	}
}

// safe reports whether a record can be published as it is: it has no error of its own, and, as far as
// that was looked up, keeps to the limits and leads nowhere where evaluations break.
func (c *correction) safe(text string) bool {
	if len(text) > MaxRecordLength {
		return false
	}
	alone := outline(ValidateRequest{Record: text, Domain: c.domain})
	for _, f := range rules().Judge(alone, nil).Findings {
		if f.Severity >= diag.Error {
			return false
		}
	}
	if c.offline || len(c.records) != 1 {
		return true
	}
	lookups, voids := 0, 0
	for i := range alone.tree.Root.Terms {
		t := alone.tree.Root.Terms[i].Term
		if (t.Name == Include || t.Name == Redirect) && strings.EqualFold(strings.TrimSuffix(t.Value, "."), c.domain.String()) {
			return false // a loop
		}
		r := c.resolved(t)
		if r == nil && t.Name == Redirect {
			r = c.redirected()
		}
		if r == nil {
			lookups += t.cost() + c.beyond(t)
			continue
		}
		if r.Everyone && r.Name != All || r.MXCount > MaxMX || r.Child != nil && r.Child.breaks() {
			return false
		}
		if lookups += r.Lookups(); r.Void {
			voids++
		}
	}
	return lookups <= MaxLookups && voids <= MaxVoids
}

// beyond counts the DNS lookups in the record of a service whose name takes the place of a slip.
func (c *correction) beyond(t *Term) int {
	for _, n := range c.tree.Root.Children {
		if n.near != "" && n.near == t.Value {
			return n.nearCost
		}
	}
	return 0
}

// redirected returns the redirect of the record, if receivers follow it.
func (e *evidence) redirected() *ResolvedTerm {
	for i := range e.tree.Root.Terms {
		if r := &e.tree.Root.Terms[i]; r.Reached && r.Name == Redirect {
			return r
		}
	}
	return nil
}

// breaks reports whether a record, or one that it leads to, makes evaluations end in permerror, or lets everybody pass.
func (n *Node) breaks() bool {
	everyone := func(t ResolvedTerm) bool { return t.Everyone && t.Reached && t.Qualifier == QualifierPass }
	return n.broken() || slices.ContainsFunc(n.Terms, everyone) || slices.ContainsFunc(n.Children, (*Node).breaks)
}

// valid returns a text if it is a record without errors.
func valid(text string) string {
	if _, faults := Parse(text); len(faults) > 0 || !utf8.ValidString(text) {
		return ""
	}
	return text
}

// separated puts blanks between the character-strings of a record where they are missing: where the
// second looks like the beginning of a term.
func separated(record string, list []string) string {
	for i := len(list) - 1; i > 0; i-- {
		offset := len(strings.Join(list[:i], ""))
		if torn(record, offset, list[i]) {
			record = record[:offset] + " " + record[offset:]
		}
	}
	return record
}

// torn reports whether no blank stands between two character-strings of which the second begins with a term.
func torn(record string, offset int, second string) bool {
	return offset > 0 && second != "" && second[0] != ' ' && record[offset-1] != ' ' && beginsTerm(second)
}

// beginsTerm reports whether a text begins as a whole term does.
func beginsTerm(s string) bool {
	record, faults := Parse(version + " " + firstTerm(s))
	if len(faults) > 0 || len(record.Terms) != 1 {
		return false
	}
	t := &record.Terms[0]
	return t.Kind == Mechanism && (t.Value != "" || t.Name == All) || t.Name == Redirect || t.Name == Exp
}

func firstTerm(s string) string {
	first, _, _ := strings.Cut(s, " ")
	return first
}

// redundant returns another include of the record that lets every host pass that one lets pass, or nil. If
// held is set it must include the same record.
func (e *evidence) redundant(t *ResolvedTerm, held bool) *ResolvedTerm {
	if !plainInclude(t) || t.Child.dynamic() {
		return nil
	}
	passed := t.Child.passing()
	for i := range e.tree.Root.Terms {
		other := &e.tree.Root.Terms[i]
		if other == t || !plainInclude(other) || strings.EqualFold(other.Target, t.Target) ||
			other.Child.holds(t.Child) != held || !held && t.Child.holds(other.Child) || passed.IsEmpty() ||
			!passed.Minus(other.Child.passing()).IsEmpty() {
			continue
		}
		if same := passed.Equal(other.Child.passing()); (!same || held || other.Offset < t.Offset) && e.allPass() {
			return other
		}
	}
	return nil
}

// plainInclude reports whether a term includes a record that was found, with the sign +.
func plainInclude(t *ResolvedTerm) bool {
	return t.Name == Include && t.Reached && t.Child != nil && t.Child.State == NodeFound && t.Qualifier == QualifierPass
}

// holds reports whether a record includes another, directly or not.
func (n *Node) holds(other *Node) bool {
	return slices.ContainsFunc(n.Children, func(c *Node) bool {
		return c.Via == viaInclude && strings.EqualFold(c.Domain, other.Domain) || c.holds(other)
	})
}

// allPass reports whether all mechanisms of the record have the sign +, but for all.
func (e *evidence) allPass() bool {
	return !slices.ContainsFunc(e.tree.Root.Terms, func(t ResolvedTerm) bool {
		return t.Kind == Mechanism && t.Name != All && t.Qualifier != QualifierPass
	})
}

// dynamic reports whether what a record means depends on the mail.
func (n *Node) dynamic() bool {
	depends := func(t ResolvedTerm) bool { return t.Reached && t.Dynamic && t.Name.Counted() }
	return slices.ContainsFunc(n.Terms, depends) || slices.ContainsFunc(n.Children, (*Node).dynamic)
}
