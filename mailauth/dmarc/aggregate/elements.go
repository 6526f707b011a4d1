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
	fault   Kind // the fault of its presence, if any
}

type leaf struct {
	path       string                 // as Faults name it
	target     func(*builder) *string // nil if read keeps the text
	read       func(b *builder, l *leaf, text []byte)
	vocabulary *vocabulary
}

func subsection(s *section) child { return child{section: s} }

func (c child) withFault(odd Kind) child { c.fault = odd; return c }

func textLeaf(target func(*builder) *string) child {
	return child{leaf: &leaf{target: target, read: (*builder).readText}}
}

func domainLeaf(target func(*builder) *string) child {
	return child{leaf: &leaf{target: target, read: (*builder).readDomain}}
}

func wordLeaf(w *vocabulary, target func(*builder) *string) child {
	return child{leaf: &leaf{target: target, read: (*builder).readWord, vocabulary: w}}
}

func customLeaf(read func(*builder, *leaf, []byte)) child { return child{leaf: &leaf{read: read}} }

// newSection returns a section. The leaves that belong to it take their paths from it.
func newSection(name string, open func(*builder) bool, closed func(*builder), children map[string]child) *section {
	for key, c := range children {
		if c.leaf != nil && c.fault == "" {
			c.leaf.path = strings.TrimPrefix(name+"/"+key, "feedback/")
		}
	}
	return &section{name, children, open, closed}
}

// The elements of RFC 7489 appendix C and RFC 9990 section 3.1, and those of drafts.
var (
	top      = &section{children: map[string]child{"feedback": subsection(feedback)}} // of what has another root
	feedback = newSection("feedback", (*builder).openFeedback, (*builder).closeFeedback, map[string]child{
		"version":          textLeaf(func(b *builder) *string { return &b.report.Metadata.SchemaVersion }),
		"report_metadata":  subsection(metadata),
		"policy_published": subsection(policyPublished),
		"record":           subsection(record),
		"extensions":       subsection(extensions),
		"extension":        subsection(extension).withFault(FaultMisplaced),
	})

	metadata = newSection("report_metadata", (*builder).openMetadata, nil, map[string]child{
		"org_name":           textLeaf(func(b *builder) *string { return &b.report.Metadata.Organization }),
		"email":              textLeaf(func(b *builder) *string { return &b.report.Metadata.Email }),
		"extra_contact_info": textLeaf(func(b *builder) *string { return &b.report.Metadata.ExtraContact }),
		"report_id":          textLeaf(func(b *builder) *string { return &b.report.Metadata.ReportID }),
		"generator":          textLeaf(func(b *builder) *string { return &b.report.Metadata.Generator }),
		"error":              errorText,
		"errors":             errorText.withFault(FaultOldName),
		"date_range":         subsection(dateRange),
		"begin":              rangeBegin.withFault(FaultMisplaced),
		"end":                rangeEnd.withFault(FaultMisplaced),
	})

	dateRange = newSection("report_metadata/date_range", nil, nil, map[string]child{
		"begin": rangeBegin,
		"end":   rangeEnd,
	})
	errorText  = customLeaf((*builder).readError)
	rangeBegin = customLeaf((*builder).readBegin)
	rangeEnd   = customLeaf((*builder).readEnd)

	policyPublished = newSection("policy_published", (*builder).openPolicy, (*builder).closePolicy, map[string]child{
		"domain":            domainLeaf(func(b *builder) *string { return &b.report.Policy.Domain }),
		"p":                 wordLeaf(policies, func(b *builder) *string { return &b.report.Policy.Policy }),
		"sp":                wordLeaf(policies, func(b *builder) *string { return &b.report.Policy.Subdomain }),
		"np":                wordLeaf(policies, func(b *builder) *string { return &b.report.Policy.Nonexistent }),
		"adkim":             wordLeaf(alignments, func(b *builder) *string { return &b.report.Policy.DKIMAlignment }),
		"aspf":              wordLeaf(alignments, func(b *builder) *string { return &b.report.Policy.SPFAlignment }),
		"pct":               customLeaf((*builder).readPercentage),
		"testing":           testMode,
		"t":                 testMode.withFault(FaultOldName),
		"fo":                textLeaf(func(b *builder) *string { return &b.report.Policy.FailureOptions }),
		"discovery_method":  wordLeaf(discoveries, func(b *builder) *string { return &b.report.Policy.DiscoveryMethod }),
		"version_published": textLeaf(func(b *builder) *string { return &b.report.Policy.Version }),
	})

	testMode = wordLeaf(yesNo, func(b *builder) *string { return &b.report.Policy.Testing })

	record = newSection("record", (*builder).openRecord, (*builder).closeRecord, map[string]child{
		"row":          subsection(row),
		"identifiers":  subsection(identifiers),
		"identities":   subsection(identifiers).withFault(FaultOldName),
		"auth_results": subsection(authResults),
		"auth_result":  subsection(authResults).withFault(FaultOldName),
		"dkim":         subsection(authDKIM).withFault(FaultMisplaced),
		"spf":          subsection(authSPF).withFault(FaultMisplaced),
		"extensions":   subsection(extensions),
		"extension":    subsection(extension).withFault(FaultMisplaced),
	})

	row = newSection("row", nil, nil, map[string]child{
		"source_ip":        customLeaf((*builder).readAddress),
		"count":            customLeaf((*builder).readCount),
		"policy_evaluated": subsection(evaluated),
		"dkim":             evaluatedDKIM.withFault(FaultMisplaced),
		"spf":              evaluatedSPF.withFault(FaultMisplaced),
	})

	evaluated = newSection("policy_evaluated", nil, nil, map[string]child{
		"disposition": disposition,
		"dkim":        evaluatedDKIM,
		"spf":         evaluatedSPF,
		"reason":      subsection(reason),
		"reasons":     subsection(reason).withFault(FaultOldName),
	})
	disposition   = wordLeaf(dispositions, func(b *builder) *string { return (*string)(&b.rec.Disposition) })
	evaluatedDKIM = wordLeaf(evaluations, func(b *builder) *string { return (*string)(&b.rec.DKIM) })
	evaluatedSPF  = wordLeaf(evaluations, func(b *builder) *string { return (*string)(&b.rec.SPF) })

	reason = newSection("policy_evaluated/reason", (*builder).openReason, (*builder).closeReason, map[string]child{
		"type":    wordLeaf(overrides, func(b *builder) *string { return (*string)(&last(b.rec.Overrides).Type) }),
		"comment": textLeaf(func(b *builder) *string { return &last(b.rec.Overrides).Comment }),
	})

	identifiers = newSection("identifiers", nil, nil, map[string]child{
		"header_from":   headerFrom,
		"envelope_from": envelopeFrom,
		"envelope_to":   envelopeTo,
	})
	headerFrom   = domainLeaf(func(b *builder) *string { return &b.rec.HeaderFrom })
	envelopeFrom = domainLeaf(func(b *builder) *string { return &b.rec.EnvelopeFrom })
	envelopeTo   = domainLeaf(func(b *builder) *string { return &b.rec.EnvelopeTo })

	authResults = newSection("auth_results", nil, nil, map[string]child{
		"dkim": subsection(authDKIM),
		"spf":  subsection(authSPF),
	})

	authDKIM = newSection("auth_results/dkim", (*builder).openDKIM, (*builder).closeDKIM, map[string]child{
		"domain":       domainLeaf(func(b *builder) *string { return &last(b.rec.DKIMAuth).Domain }),
		"selector":     textLeaf(func(b *builder) *string { return &last(b.rec.DKIMAuth).Selector }),
		"result":       wordLeaf(dkimResults, func(b *builder) *string { return (*string)(&last(b.rec.DKIMAuth).Result) }),
		"human_result": textLeaf(func(b *builder) *string { return &last(b.rec.DKIMAuth).HumanResult }),
	})

	authSPF = newSection("auth_results/spf", (*builder).openSPF, (*builder).closeSPF, map[string]child{
		"domain":       domainLeaf(func(b *builder) *string { return &last(b.rec.SPFAuth).Domain }),
		"scope":        wordLeaf(scopes, func(b *builder) *string { return (*string)(&last(b.rec.SPFAuth).Scope) }),
		"result":       wordLeaf(spfResults, func(b *builder) *string { return (*string)(&last(b.rec.SPFAuth).Result) }),
		"human_result": textLeaf(func(b *builder) *string { return &last(b.rec.SPFAuth).HumanResult }),
	})

	extensions = newSection("extensions", nil, nil, map[string]child{"extension": subsection(extension)})
	extension  = &section{name: "extensions/extension", open: (*builder).openExtension}

	// opaque is an element whose contents are not read: an extension, or an unknown one.
	opaque = &section{}
)

// Elements with a single meaning are read wherever they are. Those of the first list also end elements that cannot
// contain them, whose end tags are missing.
var (
	outermost = map[string]child{
		"report_metadata": subsection(metadata), "policy_published": subsection(policyPublished),
		"record": subsection(record),
	}
	inRecord = map[string]child{
		"row": subsection(row), "policy_evaluated": subsection(evaluated),
		"identifiers": subsection(identifiers), "auth_results": subsection(authResults),
		"source_ip": row.children["source_ip"], "count": row.children["count"], "disposition": disposition,
		"reason": subsection(reason), "header_from": headerFrom, "envelope_from": envelopeFrom, "envelope_to": envelopeTo,
	}
	outsideRecord = map[string]child{
		"date_range": subsection(dateRange), "org_name": metadata.children["org_name"], "email": metadata.children["email"],
		"report_id": metadata.children["report_id"], "adkim": policyPublished.children["adkim"],
		"aspf": policyPublished.children["aspf"], "pct": policyPublished.children["pct"],
	}
)

// A Kind is the kind of a fault in a report.
type Kind string

// The kinds of faults. Of those that lose something, what could be read before and after is kept.
const (
	// Records or values are lost.
	FaultTruncated   Kind = "truncated"    // the file ends before the report does
	FaultBadCount    Kind = "bad_count"    // the record is left out: its count is missing, negative or no number
	FaultBadAddress  Kind = "bad_address"  // the record is kept without an address: source_ip is not one
	FaultBadValue    Kind = "bad_value"    // the value is undefined, or of another type
	FaultTooLong     Kind = "too_long"     // the text is cut to MaxText bytes
	FaultTooMany     Kind = "too_many"     // more of an element than is kept
	FaultMissing     Kind = "missing"      // a required element is absent or empty
	FaultRepeated    Kind = "repeated"     // an element that may be there once; the first counts
	FaultMalformed   Kind = "malformed"    // not well-formed XML: tags that do not match, an unescaped & or <
	FaultBadEntity   Kind = "bad_entity"   // an entity that XML does not define; never expanded
	FaultBadEncoding Kind = "bad_encoding" // bytes that are not in the encoding that is declared, or in UTF-8 without one
	FaultBadChar     Kind = "bad_char"     // a control character that XML forbids
	Damaged          Kind = "damaged"      // the archive around the XML is broken: a check sum, or its end is missing
	// Nothing is lost.
	FaultDoctype   Kind = "doctype"   // a document type declaration; skipped
	FaultOddValue  Kind = "odd_value" // a value in another form than defined, and clear: "Pass", "3.0", a date in words
	FaultEmpty     Kind = "empty"     // an element that must not be empty, and can be ignored: a reason without type
	FaultUnknown   Kind = "unknown"   // an element that no version of the format has; skipped
	FaultMisplaced Kind = "misplaced" // an element that belongs elsewhere; read all the same
	FaultOldName   Kind = "old_name"  // a name of a draft
)

const (
	// maxFaults bounds the Faults of a report: each has a kind and element of its own.
	maxFaults = 100
	// maxFileFaults bounds those of all reports of a file that tell the element; likewise the errors and the
	// extensions.
	maxFileFaults = 2000
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
