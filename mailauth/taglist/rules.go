package taglist

import (
	"cmp"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
)

// A Kit makes the rules that the records of all formats share, for evidence of type E. Each is given as a
// literal with its code, its severity and whatever else is particular about it; the kit fills in what the
// literal leaves empty. No rule applies where no record was found.
type Kit[E any] struct {
	Format  Format
	Ref     string         // the section with the syntax
	Found   func(E) *Found // never nil
	Suggest func(E) string // a record to publish instead, empty if there is none; nil means that there never is
}

// Stray finds texts that were probably meant as records beside one that is.
func (k Kit[E]) Stray(r diag.Rule[E]) diag.Rule[E] {
	return k.fill(r, diag.Rule[E]{
		Title:       "Another TXT record looks like a broken " + k.Format.Protocol + " record",
		Requirement: "No other TXT record looks like " + k.Format.Protocol,
		Advice:      "Remove the malformed record: " + k.readers() + " ignore it.", Fails: k.strays,
	})
}

// Version finds texts that were probably meant as records where there is no record.
func (k Kit[E]) Version(r diag.Rule[E]) diag.Rule[E] {
	return k.fill(r, diag.Rule[E]{
		Title:       k.Format.Protocol + " record does not begin with v=" + k.Format.Version,
		Requirement: "The " + k.Format.Protocol + " record begins with v=" + k.Format.Version,
		Advice: "Begin the record with exactly v=" + k.Format.Version + "; in this letter case: " + k.readers() +
			" ignore all others.",
		When: func(e E) bool { return len(k.Found(e).Records)+len(k.Found(e).Strays) > 0 },
		Fails: func(e E) diag.Failures {
			if len(k.Found(e).Records) > 0 {
				return nil
			}
			return k.strays(e)
		},
	})
}

// Multiple finds more than one record.
func (k Kit[E]) Multiple(r diag.Rule[E]) diag.Rule[E] {
	return k.fill(r, diag.Rule[E]{
		Title:       "More than one " + k.Format.Protocol + " record",
		Requirement: "There is only one " + k.Format.Protocol + " record",
		Advice:      "Remove all records but one: with several, " + k.readers() + " behave as if there were none.",
		Fails: func(e E) diag.Failures {
			n := len(k.Found(e).Records)
			return diag.FailIf(n > 1, "There are %d records that begin with v=%s.", n, k.Format.Version)
		},
	})
}

// Syntax finds faults of the kinds, or of those of syntax.
func (k Kit[E]) Syntax(r diag.Rule[E], kinds ...Kind) diag.Rule[E] {
	if len(kinds) == 0 {
		kinds = syntax
	}
	return k.fill(r, diag.Rule[E]{
		Title:       "Syntax error in the " + k.Format.Protocol + " record",
		Requirement: "The " + k.Format.Protocol + " record has a valid syntax",
		Advice:      "Write each " + k.Format.noun() + " as name=value, and a semicolon between two of them.", When: k.One,
		Fails: k.Faults(kinds...),
	})
}

// Repeated finds tags that appear twice.
func (k Kit[E]) Repeated(r diag.Rule[E]) diag.Rule[E] {
	noun := k.Format.noun()
	advice := "Remove the second one: a record in which a tag appears twice is not valid."
	if k.Format.Fields {
		advice = "Remove the second one: " + k.readers() + " use the first."
	}
	return k.fill(r, diag.Rule[E]{
		Title:       strings.ToUpper(noun[:1]) + noun[1:] + " of the record appears twice",
		Requirement: "No " + noun + " of the record appears twice", Advice: advice, When: k.One,
		Fails: k.Faults(Repeated),
	})
}

// Unknown finds tags that the protocol does not define.
func (k Kit[E]) Unknown(r diag.Rule[E]) diag.Rule[E] {
	noun := k.Format.noun()
	return k.fill(r, diag.Rule[E]{
		Title:       "Unknown " + noun + " in the " + k.Format.Protocol + " record",
		Requirement: "Every " + noun + " of the record is one that " + k.Format.Protocol + " defines",
		Advice:      "Check the spelling: " + k.readers() + " ignore a " + noun + " that they do not know.", When: k.One,
		Fails: k.Faults(Unknown),
	})
}

// Joined finds character-strings that join to something else than was meant.
func (k Kit[E]) Joined(r diag.Rule[E]) diag.Rule[E] {
	return k.fill(r, diag.Rule[E]{
		Title:       "No semicolon between two strings of the record",
		Requirement: "The character-strings of the record join without breaking tags",
		Advice:      "Add a semicolon at the end of the first string: strings are joined without anything between them.",
		When:        k.One, Fails: func(e E) diag.Failures { return k.suggesting(e, k.Found(e).joints()) },
	})
}

// Long finds character-strings of more than 255 bytes, which a text may have that is not yet published.
func (k Kit[E]) Long(r diag.Rule[E]) diag.Rule[E] {
	return k.fill(r, diag.Rule[E]{
		Title:       "Character-string longer than 255 bytes",
		Requirement: "Every character-string of the record has at most 255 bytes",
		Advice:      "Split the record into strings of at most 255 bytes.", When: k.One,
		Fails: func(e E) diag.Failures { return k.Found(e).long() },
	})
}

// Line finds that the text is a line of a zone file, of which only the strings in quotes are the record.
func (k Kit[E]) Line(r diag.Rule[E]) diag.Rule[E] {
	return k.fill(r, diag.Rule[E]{
		Title: LineTitle, Requirement: LineRequirement, Advice: LineAdvice, Ref: "RFC 1035 section 5.1", When: k.One,
		Fails: func(e E) diag.Failures { return diag.FailIf(k.Found(e).Line, LineDetail) },
	})
}

// The words about a text that is a line of a zone file.
const (
	LineTitle       = "Text is a line of a zone file, not only the record"
	LineRequirement = "The text is only the record"
	LineAdvice      = "Enter only the text in quotes where a form asks for the value of the record; the whole line belongs " +
		"in a zone file."
	LineDetail = "The text is a line of a zone file with a name and a type. The strings in quotes were read as the record."
)

// Faults returns the faults of the kinds, for rules of the protocol's own.
func (k Kit[E]) Faults(kinds ...Kind) func(E) diag.Failures {
	return func(e E) diag.Failures {
		var list diag.Failures
		for _, f := range k.Found(e).List.Faults {
			if slices.Contains(kinds, f.Kind) {
				list = append(list, diag.Failure{
					Detail: diag.Sentence(f.Text), Location: &diag.Location{Offset: f.Offset, Length: f.Length},
				})
			}
		}
		return k.suggesting(e, list)
	}
}

// One reports whether there is exactly one record.
func (k Kit[E]) One(e E) bool { return len(k.Found(e).Records) == 1 }

func (k Kit[E]) strays(e E) diag.Failures {
	return k.suggesting(e, diag.FailEach(k.Found(e).Strays, func(s Stray) diag.Failures {
		f := diag.Fail("%s ignore the TXT record %q: %s.", k.Format.Readers, diag.Quote(s.Text), s.Why)
		if kind := OtherKind(s.Text); kind != "" && s.Why == "it is "+kind {
			f[0].Advice = "Enter the " + k.Format.Protocol + " record instead: this is " + kind + "."
		}
		return f
	}))
}

func (k Kit[E]) suggesting(e E, list diag.Failures) diag.Failures {
	if k.Suggest == nil || len(list) == 0 {
		return list
	}
	return list.Suggesting(k.Suggest(e))
}

func (k Kit[E]) readers() string { return strings.ToLower(k.Format.Readers) }

func (k Kit[E]) fill(r, usual diag.Rule[E]) diag.Rule[E] {
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
