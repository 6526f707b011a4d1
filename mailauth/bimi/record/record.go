package record

import (
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/taglist"
)

// Format is that of the record (section 4.3 of the draft): the tags of DKIM. A name in capitals is read, and is a fault
// ([BadCase]): names are case-sensitive (RFC 6376 section 3.2), and receivers must not correct capitalization.
var Format = taglist.Format{
	Protocol: "BIMI", Version: "BIMI1", Readers: "Receivers", FoldNames: true,
	Tags: []taglist.Definition{
		{Name: "v", Description: "Version of the record"},
		{Name: "l", Description: "Address of the logo; empty to decline"},
		{Name: "a", Description: "Address of the certificate for the logo; empty if there is none"},
		{Name: "avp", Default: string(Brand), Description: "What mailboxes show if the sender has an avatar: brand (the logo) or personal (the avatar)"},
		{Name: "lps", Description: "Beginnings of local parts that are selectors of their own; empty for all"},
	},
}

// An AvatarPreference says what mailboxes that have an avatar of the sender are to show.
type AvatarPreference string

// The preferences.
const (
	Brand    AvatarPreference = "brand"    // the logo
	Personal AvatarPreference = "personal" // the avatar
)

// Values lists the preferences.
func (AvatarPreference) Values() []string { return diag.Values(Brand, Personal) }

// The kinds of faults in the values of tags, beside those of [taglist].
const (
	NoLocation   taglist.Kind = "no l"
	BadCase      taglist.Kind = "case"
	badLocation  taglist.Kind = "l"
	badAuthority taglist.Kind = "a"
	BadAvatar    taglist.Kind = "avp" // harmless: receivers ignore the tag
	BadPrefix    taglist.Kind = "lps" // harmless: receivers ignore the prefix
)

// A Record is what a domain says about its logo. Its faults are in List.
type Record struct {
	List taglist.List
	// Location is the URI of the logo, and Authority that of the certificate, as they stand in l and a; empty if absent.
	Location, Authority URI
	// Declined says that the domain wants no logo to be shown: l and a are empty (section 4.3.1 of the draft).
	Declined bool
	// AvatarPreference is what avp says, brand if it is absent or not valid.
	AvatarPreference AvatarPreference
	// LocalPartSelectors says that there is a tag lps. Then the part of the address before the @ is a selector if it
	// begins with one of the prefixes, or if there is none.
	LocalPartSelectors bool
	Prefixes           []string
}

// Parse reads the text of a record, whatever is wrong with it.
func Parse(text string) Record { return Read(Format.Parse(text)) }

// Read reads the tags of a list of [Format], such as that of a [taglist.Found].
func Read(l taglist.List) Record {
	r := Record{List: l, AvatarPreference: Brand}
	r.readNames()
	r.readURIs()
	r.readAvatar()
	r.readPrefixes()
	return r
}

// Errors lists what keeps receivers from using the record, as clauses; nil if they can use it.
func (r *Record) Errors() []string { return r.List.Errors() }

// Valid reports whether receivers can use the record.
func (r *Record) Valid() bool { return len(r.Errors()) == 0 }

// Has reports whether the record has a tag.
func (r *Record) Has(name string) bool {
	_, ok := r.List.Tag(name)
	return ok
}

func (r *Record) readNames() {
	for _, t := range r.List.Tags {
		name := strings.ToLower(t.Name)
		known := slices.ContainsFunc(Format.Tags, func(d taglist.Definition) bool { return d.Name == name })
		if known && t.Name != name {
			r.List.Add(taglist.Fault{
				Kind: BadCase, Text: "the tag " + t.Name + " must be written " + name + ", in lower case", Offset: t.Offset, Length: len(t.Name),
			})
		}
	}
}

func (r *Record) readURIs() {
	l, located := r.List.Tag("l")
	a, _ := r.List.Tag("a")
	r.Location, r.Authority = URI{Text: l.Value}, URI{Text: a.Value}
	switch {
	case !located:
		r.List.Add(taglist.Fault{Kind: NoLocation, Text: "the record has no l", Length: len(r.List.Text)})
	case l.Value == "" && a.Value == "":
		// A repeated tag with an address makes the record invalid, and no declination.
		r.Declined = !slices.ContainsFunc(r.List.Tags, func(t taglist.Tag) bool {
			return t.Value != "" && (strings.EqualFold(t.Name, "l") || strings.EqualFold(t.Name, "a"))
		})
		return
	case l.Value == "":
		r.List.Add(taglist.Fault{
			Kind: NoLocation, Text: "l is empty although a names a certificate", Offset: l.Offset, Length: l.Length,
		})
	}
	r.Location = r.readURI(badLocation, l, logoProblem)
	r.Authority = r.readURI(badAuthority, a, certificateProblem)
}

// readAvatar reads avp. Receivers ignore another value than the two, in this letter case, and may take it for an error.
func (r *Record) readAvatar() {
	t, ok := r.List.Tag("avp")
	switch p := AvatarPreference(t.Value); {
	case !ok:
	case p == Brand || p == Personal:
		r.AvatarPreference = p
	default:
		r.List.Add(taglist.Fault{
			Kind: BadAvatar, Text: "avp is neither brand nor personal", Offset: t.Offset, Length: t.Length, Harmless: true,
		})
	}
}

// maxPrefix is how long a label of the DNS is (RFC 1035 section 2.3.4), and so a prefix of one.
const maxPrefix = 63

// readPrefixes reads lps (section 4.3 of the draft).
func (r *Record) readPrefixes() {
	t, ok := r.List.Tag("lps")
	if r.LocalPartSelectors = ok; !ok || t.Value == "" {
		return
	}
	at := t.ValueOffset
	for part := range strings.SplitSeq(t.Value, ",") {
		prefix := strings.Trim(part, " \t\r\n")
		if why := prefixProblem(prefix); why != "" {
			offset := at + strings.Index(part, prefix)
			r.List.Add(taglist.Fault{Kind: BadPrefix, Text: why, Offset: offset, Length: len(prefix), Harmless: true})
		} else {
			r.Prefixes = append(r.Prefixes, prefix)
		}
		at += len(part) + 1
	}
}
