package aggregate

// A section is an element that has elements below it, with what they mean.
type section struct {
	name     string
	children map[string]child
	open     func(*builder) bool // called before the first child; false if the section is not to be read
	closed   func(*builder)
}

// A child is what an element means below another: a section or a leaf.
type child struct {
	section *section
	leaf    *leaf
	odd     Kind // what is odd about its being there, if anything
}

// A leaf is an element that holds a text.
type leaf struct {
	path   string                 // as Faults name it
	target func(*builder) *string // nil if read keeps the text
	read   func(b *builder, l *leaf, text []byte)
	words  *words
}

func sub(s *section) child { return child{section: s} }

// name is that of a section; empty for a leaf.
func (c child) name() string {
	if c.section == nil {
		return ""
	}
	return c.section.name
}

func (c child) but(odd Kind) child { c.odd = odd; return c }

// text is a leaf that is kept as it stands.
func text(path string, target func(*builder) *string) child {
	return child{leaf: &leaf{path: path, target: target, read: (*builder).readText}}
}

// domain is a leaf that is the name of a domain.
func domain(path string, target func(*builder) *string) child {
	return child{leaf: &leaf{path: path, target: target, read: (*builder).readDomain}}
}

// word is a leaf that is one of a few words.
func word(path string, w *words, target func(*builder) *string) child {
	return child{leaf: &leaf{path: path, target: target, read: (*builder).readWord, words: w}}
}

func custom(path string, read func(*builder, *leaf, []byte)) child {
	return child{leaf: &leaf{path: path, read: read}}
}

// The elements of RFC 7489 appendix C and RFC 9990 section 3.1, and those of drafts.
var (
	top      = &section{children: map[string]child{"feedback": sub(feedback)}} // of what has another root
	feedback = &section{name: "feedback", open: (*builder).openFeedback, closed: (*builder).closeFeedback,
		children: map[string]child{
			"version":          text("version", func(b *builder) *string { return &b.report.Version }),
			"report_metadata":  sub(metadata),
			"policy_published": sub(policyPublished),
			"record":           sub(record),
			"extensions":       sub(extensions),
			"extension":        sub(extension).but(Misplaced),
		}}

	metadata = &section{name: "report_metadata", children: map[string]child{
		"org_name":           text("report_metadata/org_name", func(b *builder) *string { return &b.report.Metadata.Organization }),
		"email":              text("report_metadata/email", func(b *builder) *string { return &b.report.Metadata.Email }),
		"extra_contact_info": text("report_metadata/extra_contact_info", func(b *builder) *string { return &b.report.Metadata.ExtraContact }),
		"report_id":          text("report_metadata/report_id", func(b *builder) *string { return &b.report.Metadata.ReportID }),
		"generator":          text("report_metadata/generator", func(b *builder) *string { return &b.report.Metadata.Generator }),
		"error":              custom("report_metadata/error", (*builder).readError),
		"errors":             custom("report_metadata/error", (*builder).readError).but(OldName),
		"date_range":         sub(dateRange),
		"begin":              custom("report_metadata/date_range/begin", (*builder).readBegin).but(Misplaced),
		"end":                custom("report_metadata/date_range/end", (*builder).readEnd).but(Misplaced),
	}, open: (*builder).openMetadata}

	dateRange = &section{name: "report_metadata/date_range", children: map[string]child{
		"begin": custom("report_metadata/date_range/begin", (*builder).readBegin),
		"end":   custom("report_metadata/date_range/end", (*builder).readEnd),
	}}

	policyPublished = &section{name: "policy_published", children: map[string]child{
		"domain":            domain("policy_published/domain", func(b *builder) *string { return &b.report.Policy.Domain }),
		"p":                 word("policy_published/p", policies, func(b *builder) *string { return &b.report.Policy.Policy }),
		"sp":                word("policy_published/sp", policies, func(b *builder) *string { return &b.report.Policy.Subdomain }),
		"np":                word("policy_published/np", policies, func(b *builder) *string { return &b.report.Policy.Nonexistent }),
		"adkim":             word("policy_published/adkim", alignments, func(b *builder) *string { return &b.report.Policy.DKIMAlignment }),
		"aspf":              word("policy_published/aspf", alignments, func(b *builder) *string { return &b.report.Policy.SPFAlignment }),
		"pct":               custom("policy_published/pct", (*builder).readPercentage),
		"testing":           word("policy_published/testing", yesNo, func(b *builder) *string { return &b.report.Policy.Testing }),
		"t":                 word("policy_published/testing", yesNo, func(b *builder) *string { return &b.report.Policy.Testing }).but(OldName),
		"fo":                text("policy_published/fo", func(b *builder) *string { return &b.report.Policy.FailureOptions }),
		"discovery_method":  word("policy_published/discovery_method", discoveries, func(b *builder) *string { return &b.report.Policy.DiscoveryMethod }),
		"version_published": text("policy_published/version_published", func(b *builder) *string { return &b.report.Policy.Version }),
	}, open: (*builder).openPolicy}

	record = &section{name: "record", open: (*builder).openRecord, closed: (*builder).closeRecord,
		children: map[string]child{
			"row":          sub(row),
			"identifiers":  sub(identifiers),
			"identities":   sub(identifiers).but(OldName),
			"auth_results": sub(authResults),
			"auth_result":  sub(authResults).but(OldName),
			"dkim":         sub(authDKIM).but(Misplaced),
			"spf":          sub(authSPF).but(Misplaced),
			"extensions":   sub(extensions),
			"extension":    sub(extension).but(Misplaced),
		}}

	row = &section{name: "row", children: map[string]child{
		"source_ip":        custom("row/source_ip", (*builder).readAddress),
		"count":            custom("row/count", (*builder).readCount),
		"policy_evaluated": sub(evaluated),
		"dkim":             evaluatedDKIM.but(Misplaced),
		"spf":              evaluatedSPF.but(Misplaced),
	}}

	evaluated = &section{name: "policy_evaluated", children: map[string]child{
		"disposition": disposition,
		"dkim":        evaluatedDKIM,
		"spf":         evaluatedSPF,
		"reason":      sub(reason),
		"reasons":     sub(reason).but(OldName),
	}}
	disposition   = word("policy_evaluated/disposition", dispositions, func(b *builder) *string { return (*string)(&b.rec.Disposition) })
	evaluatedDKIM = word("policy_evaluated/dkim", evaluations, func(b *builder) *string { return (*string)(&b.rec.DKIM) })
	evaluatedSPF  = word("policy_evaluated/spf", evaluations, func(b *builder) *string { return (*string)(&b.rec.SPF) })

	reason = &section{name: "policy_evaluated/reason", open: (*builder).openReason, closed: (*builder).closeReason,
		children: map[string]child{
			"type":    word("policy_evaluated/reason/type", overrides, func(b *builder) *string { return (*string)(&last(b.rec.Overrides).Type) }),
			"comment": text("policy_evaluated/reason/comment", func(b *builder) *string { return &last(b.rec.Overrides).Comment }),
		}}

	identifiers = &section{name: "identifiers", children: map[string]child{
		"header_from":   headerFrom,
		"envelope_from": envelopeFrom,
		"envelope_to":   envelopeTo,
	}}
	headerFrom   = domain("identifiers/header_from", func(b *builder) *string { return &b.rec.HeaderFrom })
	envelopeFrom = domain("identifiers/envelope_from", func(b *builder) *string { return &b.rec.EnvelopeFrom })
	envelopeTo   = domain("identifiers/envelope_to", func(b *builder) *string { return &b.rec.EnvelopeTo })

	authResults = &section{name: "auth_results", children: map[string]child{
		"dkim": sub(authDKIM),
		"spf":  sub(authSPF),
	}}

	authDKIM = &section{name: "auth_results/dkim", open: (*builder).openDKIM, closed: (*builder).closeDKIM,
		children: map[string]child{
			"domain":       domain("auth_results/dkim/domain", func(b *builder) *string { return &last(b.rec.DKIMAuth).Domain }),
			"selector":     text("auth_results/dkim/selector", func(b *builder) *string { return &last(b.rec.DKIMAuth).Selector }),
			"result":       word("auth_results/dkim/result", dkimResults, func(b *builder) *string { return (*string)(&last(b.rec.DKIMAuth).Result) }),
			"human_result": text("auth_results/dkim/human_result", func(b *builder) *string { return &last(b.rec.DKIMAuth).HumanResult }),
		}}

	authSPF = &section{name: "auth_results/spf", open: (*builder).openSPF, closed: (*builder).closeSPF,
		children: map[string]child{
			"domain":       domain("auth_results/spf/domain", func(b *builder) *string { return &last(b.rec.SPFAuth).Domain }),
			"scope":        word("auth_results/spf/scope", scopes, func(b *builder) *string { return (*string)(&last(b.rec.SPFAuth).Scope) }),
			"result":       word("auth_results/spf/result", spfResults, func(b *builder) *string { return (*string)(&last(b.rec.SPFAuth).Result) }),
			"human_result": text("auth_results/spf/human_result", func(b *builder) *string { return &last(b.rec.SPFAuth).HumanResult }),
		}}

	extensions = &section{name: "extensions", children: map[string]child{"extension": sub(extension)}}
	extension  = &section{name: "extensions/extension", open: (*builder).openExtension}

	// opaque is an element whose contents are not read: an extension, or one that is not known.
	opaque = &section{}
)

// The elements that can mean one thing only are read wherever they are. Those of the first list also end
// what they cannot be in: the end tag of that is missing.
var (
	outermost = map[string]child{
		"report_metadata": sub(metadata), "policy_published": sub(policyPublished), "record": sub(record),
	}
	inRecord = map[string]child{
		"row": sub(row), "policy_evaluated": sub(evaluated), "identifiers": sub(identifiers), "auth_results": sub(authResults),
		"source_ip": row.children["source_ip"], "count": row.children["count"], "disposition": disposition,
		"reason": sub(reason), "header_from": headerFrom, "envelope_from": envelopeFrom, "envelope_to": envelopeTo,
	}
	outsideRecord = map[string]child{
		"date_range": sub(dateRange), "org_name": metadata.children["org_name"], "email": metadata.children["email"],
		"report_id": metadata.children["report_id"], "adkim": policyPublished.children["adkim"],
		"aspf": policyPublished.children["aspf"], "pct": policyPublished.children["pct"],
	}
)
