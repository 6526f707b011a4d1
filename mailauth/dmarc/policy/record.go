package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/mailauth/internal/taglist"
)

// Format is that of the record (RFC 9989 section 4.8). The tags that RFC 9989 removed are among those it
// knows: pct, rf and ri.
var Format = taglist.Format{
	Protocol: "DMARC", Version: "DMARC1", Readers: "Receivers", FoldNames: true,
	Tags: []taglist.Definition{
		{Name: "v", Description: "Version of the record"},
		{Name: "p", Description: "Policy for mail of the domain that fails DMARC: none, quarantine or reject"},
		{Name: "sp", Description: "Policy for subdomains; that of p if absent"},
		{Name: "np", Description: "Policy for subdomains that do not exist; that of sp if absent"},
		{Name: "adkim", Default: "r", Description: "Alignment of DKIM: r (relaxed) or s (strict)"},
		{Name: "aspf", Default: "r", Description: "Alignment of SPF: r (relaxed) or s (strict)"},
		{Name: "rua", Description: "Addresses that receive aggregate reports"},
		{Name: "ruf", Description: "Addresses that receive failure reports"},
		{Name: "fo", Default: "0", Description: "When failure reports are sent: 0, 1, d and s"},
		{Name: "psd", Default: "u", Description: "Whether the domain is a public suffix: y, n, or u for undeclared"},
		{Name: "t", Default: "n", Description: "Testing: y asks receivers to apply the policy one level lower"},
		{Name: "pct", Description: "Share of the mail to which the policy applies, in percent; removed by RFC 9989"},
		{Name: "rf", Description: "Formats of failure reports; removed by RFC 9989"},
		{Name: "ri", Description: "Seconds between aggregate reports; removed by RFC 9989"},
	},
}

// The kinds of faults in the values of tags, in addition to those of [taglist].
const (
	BadPolicy    taglist.Kind = "policy"    // p, sp or np
	BadAlignment taglist.Kind = "alignment" // adkim or aspf
	BadFlag      taglist.Kind = "flag"      // psd or t
	BadOption    taglist.Kind = "option"    // fo
	Contradicted taglist.Kind = "0 and 1"   // fo, harmless
	BadURI       taglist.Kind = "uri"       // rua or ruf
	EmptyURI     taglist.Kind = "empty uri" // of rua or ruf, harmless: two commas, or one at the end
	sizeLimit    taglist.Kind = "size"      // of rua or ruf, harmless
	BadRemoved   taglist.Kind = "removed"   // pct, rf or ri, harmless
)

// A Policy is the requested handling of mail that fails DMARC.
type Policy string

// The policies, from the mildest.
const (
	None       Policy = "none"
	Quarantine Policy = "quarantine"
	Reject     Policy = "reject"
)

// Values lists the policies, from the mildest.
func (Policy) Values() []string { return kit.Values(None, Quarantine, Reject) }

// Level orders policies by strictness: 0 is none, or no policy at all.
func (p Policy) Level() int { return max(0, slices.Index(p.Values(), string(p))) }

// Lowered returns the policy that receivers apply under t=y, and to the rest of the mail under pct: one level below
// (RFC 9989 section 4.7, RFC 7489 section 6.6.4).
func (p Policy) Lowered() Policy {
	if p.Level() == 0 {
		return p
	}
	return Policy(p.Values()[p.Level()-1])
}

// An Alignment is the required match of the authenticated domain with that of the From field.
type Alignment string

// The alignments.
const (
	Relaxed Alignment = "relaxed" // the same organizational domain
	Strict  Alignment = "strict"  // the same domain
)

// Values lists the alignments.
func (Alignment) Values() []string { return kit.Values(Relaxed, Strict) }

// A PSD declares whether the domain of the record is a public suffix.
type PSD string

// The declarations.
const (
	IsPSD      PSD = "y"
	NotPSD     PSD = "n" // the domain is an organizational domain
	Undeclared PSD = "u"
)

// Values lists the declarations.
func (PSD) Values() []string { return kit.Values(IsPSD, NotPSD, Undeclared) }

// The defaults of tags that RFC 9989 removed (RFC 7489 section 6.3).
const (
	DefaultPercentage     = 100
	defaultReportFormat   = "afrf"
	defaultReportInterval = 86400
)

// A Record is a policy record, read tag by tag. The value of an absent or invalid tag is its default; of a repeated
// tag the first counts. [Record.Reading] says whether receivers use the record at all.
type Record struct {
	List taglist.List // tags and faults, with their positions

	Policy                     Policy // empty if p is absent or not valid
	SubdomainPolicy            Policy // empty if sp is absent or not valid
	NonexistentSubdomainPolicy Policy // empty if np is absent or not valid

	PSD     PSD
	Testing bool // t=y

	DKIMAlignment  Alignment
	SPFAlignment   Alignment
	FailureOptions []string // 0, 1, d or s, in order
	AggregateURIs  []URI    // rua, in order, also those that are not valid; without empty ones
	FailureURIs    []URI    // ruf

	Percentage     int // 0 to 100
	ReportFormats  []string
	ReportInterval uint32 // in seconds
}

// Parse reads the text of a record, whatever is wrong with it.
func Parse(text string) Record { return Read(Format.Parse(text)) }

// Read reads the tags of a list of [Format], such as that of a [taglist.Found].
func Read(l taglist.List) Record {
	r := Record{List: l}
	p := parser{&r.List}
	r.Policy = p.policy("p")
	r.SubdomainPolicy = p.policy("sp")
	r.NonexistentSubdomainPolicy = p.policy("np")
	r.DKIMAlignment = p.alignment("adkim")
	r.SPFAlignment = p.alignment("aspf")
	r.AggregateURIs = p.uris("rua")
	r.FailureURIs = p.uris("ruf")
	r.FailureOptions = p.options()
	r.PSD = PSD(p.oneOf("psd", BadFlag, string(Undeclared), Undeclared.Values()...))
	r.Testing = p.oneOf("t", BadFlag, "n", "y", "n") == "y"
	r.Percentage = p.number("pct", DefaultPercentage, 100)
	r.ReportFormats = p.formats()
	r.ReportInterval = uint32(p.number("ri", defaultReportInterval, 1<<32-1))
	return r
}

// Has reports whether the record has a tag.
func (r *Record) Has(name string) bool {
	_, ok := r.List.Tag(name)
	return ok
}

// Is reports whether the text is a DMARC record at all: it begins with the version, in this letter case
// (RFC 9989 section 4.8).
func (r *Record) Is() bool { return Format.Is(r.List.Text) }

// Repeated lists the names of tags that appear twice, in lower case.
func (r *Record) Repeated() []string {
	var list []string
	for _, t := range r.List.Tags {
		if name := strings.ToLower(t.Name); t.Repeated && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// Reported reports whether rua has a valid URI.
func (r *Record) Reported() bool { return slices.ContainsFunc(r.AggregateURIs, URI.Valid) }

type parser struct{ list *taglist.List }

func (p parser) bad(t taglist.Tag, k taglist.Kind, format string, args ...any) {
	p.list.Add(taglist.Fault{
		Kind: k, Text: fmt.Sprintf(format, args...), Offset: t.ValueOffset, Length: len(t.Value),
		Harmless: k == BadRemoved || k == Contradicted,
	})
}

// oneOf reads a value that is one of a few words. Their letter case does not matter (RFC 5234 section 2.3).
func (p parser) oneOf(name string, k taglist.Kind, without string, words ...string) string {
	t, ok := p.list.Tag(name)
	if !ok {
		return without
	}
	value := strings.ToLower(t.Value)
	if slices.Contains(words, value) {
		return value
	}
	text := fmt.Sprintf("the value %q of %s is not %s", phrase.Quote(t.Value), t.Name, either(words))
	if meant := phrase.Nearest(t.Value, words...); meant != "" {
		text += fmt.Sprintf("; %q is probably meant", meant)
	} else if len(words[0]) == 1 && value != "" && slices.Contains(words, value[:1]) {
		text += fmt.Sprintf("; %q is probably meant", value[:1])
	}
	p.bad(t, k, "%s", text)
	return without
}

// either lists words for a sentence: "none, quarantine or reject".
func either(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

func (p parser) policy(name string) Policy {
	return Policy(p.oneOf(name, BadPolicy, "", None.Values()...))
}

func (p parser) alignment(name string) Alignment {
	if p.oneOf(name, BadAlignment, "r", "r", "s") == "s" {
		return Strict
	}
	return Relaxed
}

// options reads fo, of which 0 and 1 exclude each other (RFC 9989 section 4.7).
func (p parser) options() []string {
	t, ok := p.list.Tag("fo")
	if !ok {
		return []string{"0"}
	}
	var list []string
	for _, o := range parts(t.Value) {
		o = strings.ToLower(o)
		if !slices.Contains([]string{"0", "1", "d", "s"}, o) {
			p.bad(t, BadOption, "the option %q of %s is not 0, 1, d or s", phrase.Quote(o), t.Name)
			return []string{"0"}
		}
		if !slices.Contains(list, o) {
			list = append(list, o)
		}
	}
	if slices.Contains(list, "0") && slices.Contains(list, "1") {
		p.bad(t, Contradicted, "the options 0 and 1 of %s exclude each other", t.Name)
	}
	return list
}

// number reads the decimal number of a tag that RFC 9989 removed.
func (p parser) number(name string, without, most int64) int {
	t, ok := p.list.Tag(name)
	if !ok {
		return int(without)
	}
	n, err := strconv.ParseUint(t.Value, 10, 63)
	if err != nil || int64(n) > most {
		p.bad(t, BadRemoved, "the value %q of %s is not a number from 0 to %d", phrase.Quote(t.Value), t.Name, most)
		return int(without)
	}
	return int(n)
}

// formats reads rf, which is a list of keywords (RFC 7489 section 6.4, RFC 5321 section 4.1.2).
func (p parser) formats() []string {
	t, ok := p.list.Tag("rf")
	if !ok {
		return []string{defaultReportFormat}
	}
	list := parts(strings.ToLower(t.Value))
	for _, f := range list {
		if f == "" || strings.Trim(f, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || strings.HasSuffix(f, "-") {
			p.bad(t, BadRemoved, "%q of %s is not the name of a report format", phrase.Quote(f), t.Name)
			return []string{defaultReportFormat}
		}
	}
	return list
}

func parts(value string) []string {
	return kit.Map(strings.Split(value, ":"), func(s string) string { return strings.Trim(s, white) })
}

const white = " \t\r\n"
