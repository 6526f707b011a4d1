package aggregate

import (
	"strings"

	"github.com/diagkit/diagkit/diag/phrase"
)

// A section is an element that has elements below it, with what they mean.
type section struct {
	name     string
	children map[string]child
	open     func(*builder) bool // called before the first child; false if the section is not to be read
	closed   func(*builder)
}

// A child is the meaning of an element below another: a section or a leaf.
type child struct {
	section *section
	leaf    *leaf
	odd     Kind // the fault of its presence, if any
}

type leaf struct {
	path   string                 // as Faults name it
	target func(*builder) *string // nil if read keeps the text
	read   func(b *builder, l *leaf, text []byte)
	words  *words
}

func sub(s *section) child { return child{section: s} }

func (c child) but(odd Kind) child { c.odd = odd; return c }

func text(target func(*builder) *string) child {
	return child{leaf: &leaf{target: target, read: (*builder).readText}}
}

func domain(target func(*builder) *string) child {
	return child{leaf: &leaf{target: target, read: (*builder).readDomain}}
}

func word(w *words, target func(*builder) *string) child {
	return child{leaf: &leaf{target: target, read: (*builder).readWord, words: w}}
}

func custom(read func(*builder, *leaf, []byte)) child { return child{leaf: &leaf{read: read}} }

// newSection returns a section. The leaves that belong to it take their paths from it.
func newSection(name string, open func(*builder) bool, closed func(*builder), children map[string]child) *section {
	for key, c := range children {
		if c.leaf != nil && c.odd == "" {
			c.leaf.path = strings.TrimPrefix(name+"/"+key, "feedback/")
		}
	}
	return &section{name, children, open, closed}
}

// The elements of RFC 7489 appendix C and RFC 9990 section 3.1, and those of drafts.
var (
	top      = &section{children: map[string]child{"feedback": sub(feedback)}} // of what has another root
	feedback = newSection("feedback", (*builder).openFeedback, (*builder).closeFeedback, map[string]child{
		"version":          text(func(b *builder) *string { return &b.report.Metadata.SchemaVersion }),
		"report_metadata":  sub(metadata),
		"policy_published": sub(policyPublished),
		"record":           sub(record),
		"extensions":       sub(extensions),
		"extension":        sub(extension).but(misplaced),
	})

	metadata = newSection("report_metadata", (*builder).openMetadata, nil, map[string]child{
		"org_name":           text(func(b *builder) *string { return &b.report.Metadata.Organization }),
		"email":              text(func(b *builder) *string { return &b.report.Metadata.Email }),
		"extra_contact_info": text(func(b *builder) *string { return &b.report.Metadata.ExtraContact }),
		"report_id":          text(func(b *builder) *string { return &b.report.Metadata.ReportID }),
		"generator":          text(func(b *builder) *string { return &b.report.Metadata.Generator }),
		"error":              errorText,
		"errors":             errorText.but(oldName),
		"date_range":         sub(dateRange),
		"begin":              rangeBegin.but(misplaced),
		"end":                rangeEnd.but(misplaced),
	})

	dateRange = newSection("report_metadata/date_range", nil, nil, map[string]child{
		"begin": rangeBegin,
		"end":   rangeEnd,
	})
	errorText  = custom((*builder).readError)
	rangeBegin = custom((*builder).readBegin)
	rangeEnd   = custom((*builder).readEnd)

	policyPublished = newSection("policy_published", (*builder).openPolicy, (*builder).closePolicy, map[string]child{
		"domain":            domain(func(b *builder) *string { return &b.report.Policy.Domain }),
		"p":                 word(policies, func(b *builder) *string { return &b.report.Policy.Policy }),
		"sp":                word(policies, func(b *builder) *string { return &b.report.Policy.Subdomain }),
		"np":                word(policies, func(b *builder) *string { return &b.report.Policy.Nonexistent }),
		"adkim":             word(alignments, func(b *builder) *string { return &b.report.Policy.DKIMAlignment }),
		"aspf":              word(alignments, func(b *builder) *string { return &b.report.Policy.SPFAlignment }),
		"pct":               custom((*builder).readPercentage),
		"testing":           testMode,
		"t":                 testMode.but(oldName),
		"fo":                text(func(b *builder) *string { return &b.report.Policy.FailureOptions }),
		"discovery_method":  word(discoveries, func(b *builder) *string { return &b.report.Policy.DiscoveryMethod }),
		"version_published": text(func(b *builder) *string { return &b.report.Policy.Version }),
	})

	testMode = word(yesNo, func(b *builder) *string { return &b.report.Policy.Testing })

	record = newSection("record", (*builder).openRecord, (*builder).closeRecord, map[string]child{
		"row":          sub(row),
		"identifiers":  sub(identifiers),
		"identities":   sub(identifiers).but(oldName),
		"auth_results": sub(authResults),
		"auth_result":  sub(authResults).but(oldName),
		"dkim":         sub(authDKIM).but(misplaced),
		"spf":          sub(authSPF).but(misplaced),
		"extensions":   sub(extensions),
		"extension":    sub(extension).but(misplaced),
	})

	row = newSection("row", nil, nil, map[string]child{
		"source_ip":        custom((*builder).readAddress),
		"count":            custom((*builder).readCount),
		"policy_evaluated": sub(evaluated),
		"dkim":             evaluatedDKIM.but(misplaced),
		"spf":              evaluatedSPF.but(misplaced),
	})

	evaluated = newSection("policy_evaluated", nil, nil, map[string]child{
		"disposition": disposition,
		"dkim":        evaluatedDKIM,
		"spf":         evaluatedSPF,
		"reason":      sub(reason),
		"reasons":     sub(reason).but(oldName),
	})
	disposition   = word(dispositions, func(b *builder) *string { return (*string)(&b.rec.Disposition) })
	evaluatedDKIM = word(evaluations, func(b *builder) *string { return (*string)(&b.rec.DKIM) })
	evaluatedSPF  = word(evaluations, func(b *builder) *string { return (*string)(&b.rec.SPF) })

	reason = newSection("policy_evaluated/reason", (*builder).openReason, (*builder).closeReason, map[string]child{
		"type":    word(overrides, func(b *builder) *string { return (*string)(&last(b.rec.Overrides).Type) }),
		"comment": text(func(b *builder) *string { return &last(b.rec.Overrides).Comment }),
	})

	identifiers = newSection("identifiers", nil, nil, map[string]child{
		"header_from":   headerFrom,
		"envelope_from": envelopeFrom,
		"envelope_to":   envelopeTo,
	})
	headerFrom   = domain(func(b *builder) *string { return &b.rec.HeaderFrom })
	envelopeFrom = domain(func(b *builder) *string { return &b.rec.EnvelopeFrom })
	envelopeTo   = domain(func(b *builder) *string { return &b.rec.EnvelopeTo })

	authResults = newSection("auth_results", nil, nil, map[string]child{
		"dkim": sub(authDKIM),
		"spf":  sub(authSPF),
	})

	authDKIM = newSection("auth_results/dkim", (*builder).openDKIM, (*builder).closeDKIM, map[string]child{
		"domain":       domain(func(b *builder) *string { return &last(b.rec.DKIMAuth).Domain }),
		"selector":     text(func(b *builder) *string { return &last(b.rec.DKIMAuth).Selector }),
		"result":       word(dkimResults, func(b *builder) *string { return (*string)(&last(b.rec.DKIMAuth).Result) }),
		"human_result": text(func(b *builder) *string { return &last(b.rec.DKIMAuth).HumanResult }),
	})

	authSPF = newSection("auth_results/spf", (*builder).openSPF, (*builder).closeSPF, map[string]child{
		"domain":       domain(func(b *builder) *string { return &last(b.rec.SPFAuth).Domain }),
		"scope":        word(scopes, func(b *builder) *string { return (*string)(&last(b.rec.SPFAuth).Scope) }),
		"result":       word(spfResults, func(b *builder) *string { return (*string)(&last(b.rec.SPFAuth).Result) }),
		"human_result": text(func(b *builder) *string { return &last(b.rec.SPFAuth).HumanResult }),
	})

	extensions = newSection("extensions", nil, nil, map[string]child{"extension": sub(extension)})
	extension  = &section{name: "extensions/extension", open: (*builder).openExtension}

	// opaque is an element whose contents are not read: an extension, or an unknown one.
	opaque = &section{}
)

// Elements with a single meaning are read wherever they are. Those of the first list also end elements that cannot
// contain them, whose end tags are missing.
var (
	outermost = map[string]child{
		"report_metadata": sub(metadata), "policy_published": sub(policyPublished), "record": sub(record),
	}
	inRecord = map[string]child{
		"row": sub(row), "policy_evaluated": sub(evaluated),
		"identifiers": sub(identifiers), "auth_results": sub(authResults),
		"source_ip": row.children["source_ip"], "count": row.children["count"], "disposition": disposition,
		"reason": sub(reason), "header_from": headerFrom, "envelope_from": envelopeFrom, "envelope_to": envelopeTo,
	}
	outsideRecord = map[string]child{
		"date_range": sub(dateRange), "org_name": metadata.children["org_name"], "email": metadata.children["email"],
		"report_id": metadata.children["report_id"], "adkim": policyPublished.children["adkim"],
		"aspf": policyPublished.children["aspf"], "pct": policyPublished.children["pct"],
	}
)

// A Kind is the kind of a fault in a report.
type Kind string

// The kinds of faults. Of those that lose something, what could be read before and after is kept.
const (
	// Records or values are lost.
	truncated   Kind = "truncated"    // the file ends before the report does
	badCount    Kind = "bad_count"    // the record is left out: its count is missing, negative or no number
	badAddress  Kind = "bad_address"  // the record is kept without an address: source_ip is not one
	badValue    Kind = "bad_value"    // the value is undefined, or of another type
	tooLong     Kind = "too_long"     // the text is cut to MaxText bytes
	tooMany     Kind = "too_many"     // more of an element than is kept
	missing     Kind = "missing"      // a required element is absent or empty
	repeated    Kind = "repeated"     // an element that may be there once; the first counts
	malformed   Kind = "malformed"    // not well-formed XML: tags that do not match, an unescaped & or <
	badEntity   Kind = "bad_entity"   // an entity that XML does not define; never expanded
	badEncoding Kind = "bad_encoding" // bytes that are not in the encoding that is declared, or in UTF-8 without one
	badChar     Kind = "bad_char"     // a control character that XML forbids
	Damaged     Kind = "damaged"      // the archive around the XML is broken: a check sum, or its end is missing
	// Nothing is lost.
	doctype   Kind = "doctype"   // a document type declaration; skipped
	oddValue  Kind = "odd_value" // a value in another form than defined, and clear: "Pass", "3.0", a date in words
	empty     Kind = "empty"     // an element that must not be empty, and can be ignored: a reason without type
	unknown   Kind = "unknown"   // an element that no version of the format has; skipped
	misplaced Kind = "misplaced" // an element that belongs elsewhere; read all the same
	oldName   Kind = "old_name"  // a name of a draft
)

const (
	// maxFaults bounds the Faults of a report: each has a kind and element of its own.
	maxFaults = 100
	// maxTold bounds those of all reports of a file that tell the element; likewise the errors and the extensions.
	maxTold = 2000
	// maxValue bounds the value that a Place shows, in bytes.
	maxValue = 60
)

const maxPlaces = 5

// A Fault is a deviation in a report, which occurs once or many times.
type Fault struct {
	Kind    Kind
	Element string  // the element concerned, below its section: "row/count", "auth_results/dkim/result"; may be empty
	Count   int     // how often it was met
	Places  []Place // the first 5 of them
}

// A Place is the location of a Fault.
type Place struct {
	Record int    // number of the record, from 1; 0 outside of records
	Line   int    // of the XML, from 1
	Offset int64  // in the XML, in bytes
	Value  string // the text there, shortened; may be empty
}

type faultKey struct {
	kind    Kind
	element string
}

func shorten(value []byte) string {
	return strings.Join(strings.Fields(phrase.Clip(string(value), maxValue)), " ")
}
