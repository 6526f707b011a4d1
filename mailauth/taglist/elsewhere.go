package taglist

import (
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/miekg/dns"
)

// Elsewhere is what TXT records tell about the mistakes that people make with the name of a record: they publish it at
// another one, put another record there, or have a wildcard that answers in its place.
type Elsewhere struct {
	Wildcard string  // a text at the name that comes from a wildcard; empty if none does
	Places   []Place // records at names where no reader looks
	Unknown  string  // why not all names are known, for a sentence; empty if the servers answered for all of them
}

// A Place is a name at which a record was found, and at which no reader looks.
type Place struct {
	Name   string
	Record string
}

// maxPlaces bounds the records at wrong names, of which a reader needs one.
const maxPlaces = 5

// Look sorts the texts at the name of the record, those of the wildcard of the domain, and those at names where
// records are published by mistake. What a wildcard answers for every name stands at none of them.
func (f Format) Look(found *Found, at, wildcard diag.Answer[*dns.TXT], others []diag.Answer[*dns.TXT]) Elsewhere {
	var e Elsewhere
	for _, a := range append([]diag.Answer[*dns.TXT]{wildcard}, others...) {
		if err := a.Err(); err != nil && e.Unknown == "" {
			e.Unknown = fmt.Sprintf("the TXT lookup of %s failed: %s", strings.TrimSuffix(a.Name, "."), diag.Reason(err))
		}
	}
	everywhere := map[string]bool{}
	for _, r := range wildcard.Records {
		everywhere[diag.TXT(r)] = true
	}
	for _, r := range at.Records {
		text := diag.TXT(r)
		stray := slices.ContainsFunc(found.Strays, func(s Stray) bool { return s.Text == text })
		if !f.Is(text) && !stray && everywhere[text] {
			e.Wildcard = text
		}
	}
	for _, a := range others {
		for _, r := range a.Records {
			text := diag.TXT(r)
			if f.Is(text) && !everywhere[text] && len(e.Places) < maxPlaces {
				e.Places = append(e.Places, Place{strings.TrimSuffix(a.Name, "."), text})
			}
		}
	}
	return e
}

// Sources are the texts that make up what the owner meant: the records, else what was probably meant as one, else a
// record at a wrong name.
func (found *Found) Sources(e *Elsewhere) (texts []string) {
	switch {
	case len(found.Records) == 1:
		return []string{found.Parted()}
	case len(found.Records) > 1:
		return found.Records
	case len(found.Strays) == 0 && len(e.Places) > 0:
		return []string{e.Places[0].Record}
	}
	for _, s := range found.Strays {
		texts = append(texts, s.Text)
	}
	return texts
}

// A Finder makes the rules about records that are not where readers look. Like its [Kit] it fills in what the rule
// that it is given leaves empty. When a rule applies depends on what a missing record means, which the rule has to say.
type Finder[E any] struct {
	Kit[E]
	Label     string // of the name of the record, such as "_smtp._tls"
	Name      func(E) string
	At        func(E) *diag.Answer[*dns.TXT]
	Elsewhere func(E) *Elsewhere
}

// Placed reports whether there is a record, or one at a wrong name: there is something to say about its location.
func (k Finder[E]) Placed(e E) bool { return len(k.Found(e).Records)+len(k.Elsewhere(e).Places) > 0 }

// Aliased reports whether there is a record, or an alias that leads to none.
func (k Finder[E]) Aliased(e E) bool { return len(k.Found(e).Records)+len(k.At(e).Aliases) > 0 }

// Location finds records at wrong names where there is none at the right one.
func (k Finder[E]) Location(r diag.Rule[E]) diag.Rule[E] {
	protocol := k.Format.Protocol
	return k.fill(r, diag.Rule[E]{
		Title:       protocol + " record is published at the wrong name",
		Requirement: "The " + protocol + " record is published at " + k.Label,
		Advice: "Publish the record at " + k.Label + " below the domain, and remove the other: " + k.readers() +
			" look nowhere else.",
		Fails: func(e E) diag.Failures {
			if len(k.Found(e).Records) > 0 {
				return nil
			}
			return k.suggesting(e, diag.FailEach(k.Elsewhere(e).Places, func(p Place) diag.Failures {
				return diag.Fail("The record %q is published at %s, which is the wrong place: %s look at %s.",
					diag.Quote(p.Record), p.Name, k.readers(), k.Name(e)).About(p.Name)
			}))
		},
	})
}

// Alias finds that the name of the record is an alias of one that has none.
func (k Finder[E]) Alias(r diag.Rule[E]) diag.Rule[E] {
	protocol := k.Format.Protocol
	return k.fill(r, diag.Rule[E]{
		Title:       "CNAME at " + k.Label + " leads to no " + protocol + " record",
		Requirement: "If " + k.Label + " is an alias, it leads to the " + protocol + " record",
		Ref:         "RFC 1034 section 3.6.2",
		Advice: "Have the record published at the target of the CNAME, or replace the CNAME with a TXT record: a name " +
			"cannot have both.",
		Fails: func(e E) diag.Failures {
			at := k.At(e)
			if len(k.Found(e).Records) > 0 || len(at.Aliases) == 0 {
				return nil
			}
			what := "has no " + protocol + " record"
			if at.NXDomain() {
				what = "does not exist"
			}
			target := strings.TrimSuffix(at.Aliases[len(at.Aliases)-1], ".")
			return diag.Fail("%s is an alias (CNAME) of %s, which %s.", k.Name(e), target, what)
		},
	})
}

// Wildcard finds texts of other kinds that a wildcard puts at the name.
func (k Finder[E]) Wildcard(r diag.Rule[E]) diag.Rule[E] {
	protocol := k.Format.Protocol
	return k.fill(r, diag.Rule[E]{
		Title:       "Wildcard TXT record answers at " + k.Label,
		Requirement: "No wildcard TXT record of another kind answers at " + k.Label, Ref: "RFC 4592 section 2.2.1",
		Advice: "Publish the record at " + k.Label + ", which takes the place of the wildcard there, or remove the " +
			"wildcard.",
		Fails: func(e E) diag.Failures {
			text := k.Elsewhere(e).Wildcard
			domain := strings.TrimPrefix(k.Name(e), k.Label+".")
			return diag.FailIf(text != "", "The wildcard *.%s answers at %s with %q, which is no %s record.",
				domain, k.Name(e), diag.Quote(text), protocol)
		},
	})
}
