package taglist

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/miekg/dns"
)

// A Kit makes the rules that the records of all formats share, for evidence of type E. Each takes a literal with its
// code, its severity and further particulars; the kit fills in the fields that the literal leaves empty. Rules apply
// only if a record was found.
type Kit[E any] struct {
	Format  Format
	Ref     string         // the section with the syntax
	Found   func(E) *Found // never nil
	Suggest func(E) string // a record to publish instead; empty if unknown; nil means always unknown
}

// Stray finds texts that were probably meant as records beside a valid one.
func (k Kit[E]) Stray(r rule.Rule[E]) rule.Rule[E] {
	return k.fill(r, rule.Rule[E]{
		Title:       "Another TXT record looks like a broken " + k.Format.Protocol + " record",
		Requirement: "No other TXT record looks like " + k.Format.Protocol,
		Advice:      "Remove the malformed record: " + k.readers() + " ignore it.", Fails: k.strays,
	})
}

// Version finds texts that were probably meant as records if there is no record.
func (k Kit[E]) Version(r rule.Rule[E]) rule.Rule[E] {
	return k.fill(r, rule.Rule[E]{
		Title:       k.Format.Protocol + " record does not begin with v=" + k.Format.Version,
		Requirement: "The " + k.Format.Protocol + " record begins with v=" + k.Format.Version,
		Advice: "Begin the record with exactly v=" + k.Format.Version + "; in this letter case: " + k.readers() +
			" ignore all others.",
		When: func(e E) bool { return len(k.Found(e).Records)+len(k.Found(e).Strays) > 0 },
		Fails: func(e E) rule.Failures {
			if len(k.Found(e).Records) > 0 {
				return nil
			}
			return k.strays(e)
		},
	})
}

// Multiple finds more than one record.
func (k Kit[E]) Multiple(r rule.Rule[E]) rule.Rule[E] {
	return k.fill(r, rule.Rule[E]{
		Title:       "More than one " + k.Format.Protocol + " record",
		Requirement: "There is only one " + k.Format.Protocol + " record",
		Advice:      "Remove all records but one: with several, " + k.readers() + " behave as if there were none.",
		Fails: func(e E) rule.Failures {
			n := len(k.Found(e).Records)
			return rule.FailIf(n > 1, "There are %d records that begin with v=%s.", n, k.Format.Version)
		},
	})
}

// Syntax finds faults of the kinds, or of those of syntax.
func (k Kit[E]) Syntax(r rule.Rule[E], kinds ...Kind) rule.Rule[E] {
	if len(kinds) == 0 {
		kinds = syntax
	}
	return k.fill(r, rule.Rule[E]{
		Title:       "Syntax error in the " + k.Format.Protocol + " record",
		Requirement: "The " + k.Format.Protocol + " record has a valid syntax",
		Advice:      "Write each " + k.Format.noun() + " as name=value, and a semicolon between two of them.", When: k.HasOne,
		Fails: k.Faults(kinds...),
	})
}

// Repeated finds tags that appear twice.
func (k Kit[E]) Repeated(r rule.Rule[E]) rule.Rule[E] {
	noun := k.Format.noun()
	advice := "Remove the second one: a record in which a tag appears twice is not valid."
	if k.Format.Fields {
		advice = "Remove the second one: " + k.readers() + " use the first."
	}
	return k.fill(r, rule.Rule[E]{
		Title:       strings.ToUpper(noun[:1]) + noun[1:] + " of the record appears twice",
		Requirement: "No " + noun + " of the record appears twice", Advice: advice, When: k.HasOne,
		Fails: k.Faults(Repeated),
	})
}

// Unknown finds tags that the protocol does not define.
func (k Kit[E]) Unknown(r rule.Rule[E]) rule.Rule[E] {
	noun := k.Format.noun()
	return k.fill(r, rule.Rule[E]{
		Title:       "Unknown " + noun + " in the " + k.Format.Protocol + " record",
		Requirement: "Every " + noun + " of the record is one that " + k.Format.Protocol + " defines",
		Advice:      "Check the spelling: " + k.readers() + " ignore a " + noun + " that they do not know.", When: k.HasOne,
		Fails: k.Faults(Unknown),
	})
}

// Joined finds character-strings that join to an unintended text.
func (k Kit[E]) Joined(r rule.Rule[E]) rule.Rule[E] {
	return k.fill(r, rule.Rule[E]{
		Title:       "No semicolon between two strings of the record",
		Requirement: "The character-strings of the record join without breaking tags",
		Advice:      "Add a semicolon at the end of the first string: strings are joined without anything between them.",
		When:        k.HasOne, Fails: func(e E) rule.Failures { return k.suggesting(e, k.Found(e).joints()) },
	})
}

// Long finds character-strings of more than 255 bytes, which an unpublished text may have.
func (k Kit[E]) Long(r rule.Rule[E]) rule.Rule[E] {
	return k.fill(r, rule.Rule[E]{
		Title:       "Character-string longer than 255 bytes",
		Requirement: "Every character-string of the record has at most 255 bytes",
		Advice:      "Split the record into strings of at most 255 bytes.", When: k.HasOne,
		Fails: func(e E) rule.Failures { return k.Found(e).long() },
	})
}

// Line finds that the text is a line of a zone file, of which only the strings in quotes are the record.
func (k Kit[E]) Line(r rule.Rule[E]) rule.Rule[E] {
	return k.fill(r, rule.Rule[E]{
		Title: LineTitle, Requirement: LineRequirement, Advice: LineAdvice, Ref: "RFC 1035 section 5.1", When: k.HasOne,
		Fails: func(e E) rule.Failures { return rule.FailIf(k.Found(e).Line, LineDetail) },
	})
}

// The words about a text that is a line of a zone file.
const (
	LineTitle       = "Text is a line of a zone file, not only the record"
	LineRequirement = "The text is only the record"
	LineAdvice      = "Enter only the text in quotes where a form asks for the value of the record; the whole line " +
		"belongs in a zone file."
	LineDetail = "The text is a line of a zone file with a name and a type. The strings in quotes were read as the record."
)

// Faults returns the faults of the kinds, for rules of the protocol's own.
func (k Kit[E]) Faults(kinds ...Kind) func(E) rule.Failures {
	return func(e E) rule.Failures {
		var list rule.Failures
		for _, f := range k.Found(e).List.Faults {
			if slices.Contains(kinds, f.Kind) {
				list = append(list, rule.Failure{
					Detail: phrase.Sentence(f.Text), Location: &diag.Location{Offset: f.Offset, Length: f.Length},
				})
			}
		}
		return k.suggesting(e, list)
	}
}

// HasOne reports whether there is exactly one record.
func (k Kit[E]) HasOne(e E) bool { return len(k.Found(e).Records) == 1 }

func (k Kit[E]) strays(e E) rule.Failures {
	return k.suggesting(e, rule.FailEach(k.Found(e).Strays, func(s Stray) rule.Failures {
		f := rule.Fail("%s ignore the TXT record %q: %s.", k.Format.Readers, phrase.Quote(s.Text), s.Why)
		if kind := OtherKind(s.Text); kind != "" && s.Why == "it is "+kind {
			f[0].Advice = "Enter the " + k.Format.Protocol + " record instead: this is " + kind + "."
		}
		return f
	}))
}

func (k Kit[E]) suggesting(e E, list rule.Failures) rule.Failures {
	if k.Suggest == nil || len(list) == 0 {
		return list
	}
	return list.Suggesting(k.Suggest(e))
}

func (k Kit[E]) readers() string { return strings.ToLower(k.Format.Readers) }

func (k Kit[E]) fill(r, usual rule.Rule[E]) rule.Rule[E] {
	r.Title = cmp.Or(r.Title, usual.Title)
	r.Requirement = cmp.Or(r.Requirement, usual.Requirement)
	r.Advice = cmp.Or(r.Advice, usual.Advice)
	r.Ref = cmp.Or(r.Ref, usual.Ref, k.Ref)
	if r.When == nil {
		r.When = usual.When
	}
	if r.When == nil {
		r.When = func(e E) bool { return len(k.Found(e).Records) > 0 }
	}
	if r.Fails == nil {
		r.Fails = usual.Fails
	}
	return r
}

// Elsewhere holds TXT records that reveal common mistakes with the name of a record: it is published at another name,
// another record is published at its name, or a wildcard answers in its place.
type Elsewhere struct {
	Wildcard string // a text at the name that comes from a wildcard; empty without one
	// Alias is the target of a wildcard CNAME that answers at the name, which has no CNAME of its own; empty without
	// one.
	Alias   string
	Places  []Place // records at names that readers do not query
	Unknown string  // why some names are unknown, for use in a sentence; empty if the servers answered for all
}

// A Place is a name with a record that readers do not query.
type Place struct {
	Name   string
	Record string
}

// maxPlaces bounds the records at wrong names; one is enough for a finding.
const maxPlaces = 5

// Look classifies the texts at the name of the record, those of the wildcard of the domain, and those at names where
// records are published by mistake. Answers of a wildcard are not records at those names.
func (f Format) Look(found *Found, at, wildcard diag.Answer[*dns.TXT], others []diag.Answer[*dns.TXT]) Elsewhere {
	var e Elsewhere
	for _, a := range append([]diag.Answer[*dns.TXT]{wildcard}, others...) {
		if err := a.Err(); err != nil && e.Unknown == "" {
			e.Unknown = fmt.Sprintf("the TXT lookup of %s failed: %s", strings.TrimSuffix(a.Name, "."), diag.Reason(err))
		}
	}
	if len(at.Aliases) > 0 && len(wildcard.Aliases) > 0 && strings.EqualFold(at.Aliases[0], wildcard.Aliases[0]) {
		e.Alias = strings.TrimSuffix(at.Aliases[0], ".")
	}
	everywhere := map[string]bool{}
	for _, r := range wildcard.Records {
		everywhere[dnsmsg.TXT(r)] = true
	}
	for _, r := range at.Records {
		text := dnsmsg.TXT(r)
		stray := slices.ContainsFunc(found.Strays, func(s Stray) bool { return s.Text == text })
		if !f.Is(text) && !stray && everywhere[text] && e.Alias == "" {
			e.Wildcard = text
		}
	}
	for _, a := range others {
		for _, r := range a.Records {
			text := dnsmsg.TXT(r)
			if f.Is(text) && !everywhere[text] && len(e.Places) < maxPlaces {
				e.Places = append(e.Places, Place{strings.TrimSuffix(a.Name, "."), text})
			}
		}
	}
	return e
}

// Sources returns the texts that the owner meant as the record: the records, else texts probably meant as one, else a
// record at a wrong name.
func (found *Found) Sources(e *Elsewhere) []string {
	switch {
	case len(found.Records) == 1:
		return []string{found.Separated()}
	case len(found.Records) > 1:
		return found.Records
	case len(found.Strays) == 0 && len(e.Places) > 0:
		return []string{e.Places[0].Record}
	}
	return kit.Map(found.Strays, func(s Stray) string { return s.Text })
}

// A Finder makes the rules about records that are not where readers look for them. Like its [Kit] it fills in the
// empty fields of the given rule. When a rule applies depends on the meaning of a missing record, which the rule must
// define.
type Finder[E any] struct {
	Kit[E]
	Label     string // of the name of the record, such as "_smtp._tls"
	Name      func(E) string
	At        func(E) *diag.Answer[*dns.TXT]
	Elsewhere func(E) *Elsewhere
}

// Placed reports whether there is a record, or one at a wrong name: its location can be judged.
func (k Finder[E]) Placed(e E) bool { return len(k.Found(e).Records)+len(k.Elsewhere(e).Places) > 0 }

// Aliased reports whether there is a record, or an alias without one.
func (k Finder[E]) Aliased(e E) bool { return len(k.Found(e).Records)+len(k.Aliases(e)) > 0 }

// Aliases returns the targets of the alias at the name itself. A wildcard that answers there is not an alias at the
// name (RFC 4592 section 2.2.1).
func (k Finder[E]) Aliases(e E) []string {
	if k.Elsewhere(e).Alias != "" {
		return nil
	}
	return k.At(e).Aliases
}

// WildcardAliasText returns a text that the name has no record and only a wildcard alias answers there; empty
// without such an alias.
func (k Finder[E]) WildcardAliasText(e E) string {
	target := k.Elsewhere(e).Alias
	if target == "" {
		return ""
	}
	domain := strings.TrimPrefix(k.Name(e), k.Label+".")
	return fmt.Sprintf("There is no record at %s: only the wildcard *.%s answers there, with a CNAME to %s. A record at "+
		"the name itself takes precedence, and the wildcard can stay.", k.Name(e), domain, target)
}

// Location finds records at wrong names if the right one has no record.
func (k Finder[E]) Location(r rule.Rule[E]) rule.Rule[E] {
	protocol := k.Format.Protocol
	return k.fill(r, rule.Rule[E]{
		Title:       protocol + " record is published at the wrong name",
		Requirement: "The " + protocol + " record is published at " + k.Label,
		Advice: "Publish the record at " + k.Label + " below the domain, and remove the other: " + k.readers() +
			" look nowhere else.",
		Fails: func(e E) rule.Failures {
			if len(k.Found(e).Records) > 0 {
				return nil
			}
			return k.suggesting(e, rule.FailEach(k.Elsewhere(e).Places, func(p Place) rule.Failures {
				return rule.Fail("The record %q is published at %s, which is the wrong place: %s query %s.",
					phrase.Quote(p.Record), p.Name, k.readers(), k.Name(e)).About(p.Name)
			}))
		},
	})
}

// Alias finds that the name of the record is an alias of a name without a record.
func (k Finder[E]) Alias(r rule.Rule[E]) rule.Rule[E] {
	protocol := k.Format.Protocol
	return k.fill(r, rule.Rule[E]{
		Title:       "CNAME at " + k.Label + " leads to no " + protocol + " record",
		Requirement: "If " + k.Label + " is an alias, it leads to the " + protocol + " record",
		Ref:         "RFC 1034 section 3.6.2",
		Advice: "Have the record published at the target of the CNAME, or replace the CNAME with a TXT record: a name " +
			"cannot have both.",
		Fails: func(e E) rule.Failures {
			at, aliases := k.At(e), k.Aliases(e)
			if len(k.Found(e).Records) > 0 || len(aliases) == 0 {
				return nil
			}
			what := "has no " + protocol + " record"
			if at.NXDomain() {
				what = "does not exist"
			}
			target := strings.TrimSuffix(aliases[len(aliases)-1], ".")
			return rule.Fail("%s is an alias (CNAME) of %s, which %s.", k.Name(e), target, what)
		},
	})
}

// Wildcard finds texts of other kinds that a wildcard returns at the name.
func (k Finder[E]) Wildcard(r rule.Rule[E]) rule.Rule[E] {
	protocol := k.Format.Protocol
	return k.fill(r, rule.Rule[E]{
		Title:       "Wildcard TXT record answers at " + k.Label,
		Requirement: "No wildcard TXT record of another kind answers at " + k.Label, Ref: "RFC 4592 section 2.2.1",
		Advice: "Publish the record at " + k.Label + ": it takes precedence over the wildcard, which can stay.",
		Fails: func(e E) rule.Failures {
			text := k.Elsewhere(e).Wildcard
			domain := strings.TrimPrefix(k.Name(e), k.Label+".")
			return rule.FailIf(text != "", "The wildcard *.%s answers at %s with %q, which is no %s record.",
				domain, k.Name(e), phrase.Quote(text), protocol)
		},
	})
}
