package record

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/mailauth/internal/taglist"
)

// Format is that of the record (section 4.3 of the draft): the tags of DKIM. A name in capitals is accepted and
// reported as a fault ([BadCase]): names are case-sensitive (RFC 6376 section 3.2), and receivers must not correct
// capitalization.
var Format = taglist.Format{
	Protocol: "BIMI", Version: "BIMI1", Readers: "Receivers", FoldNames: true,
	Tags: []taglist.Definition{
		{Name: "v", Description: "Version of the record"},
		{Name: "l", Description: "Address of the logo; empty to decline"},
		{Name: "a", Description: "Address of the certificate for the logo; empty if there is none"},
		{Name: "avp", Default: string(Brand), Description: "What mailboxes show if the sender has an avatar: brand (the " +
			"logo) or personal (the avatar)"},
		{Name: "lps", Description: "Beginnings of local parts that are selectors of their own; empty for all"},
	},
}

// An AvatarPreference is what mailboxes with an avatar of the sender should show.
type AvatarPreference string

// The preferences.
const (
	Brand    AvatarPreference = "brand"    // the logo
	Personal AvatarPreference = "personal" // the avatar
)

// Values lists the preferences.
func (AvatarPreference) Values() []string { return kit.Values(Brand, Personal) }

// The kinds of faults in the values of tags, in addition to those of [taglist].
const (
	NoLocation   taglist.Kind = "no l" // there is no tag l
	BadCase      taglist.Kind = "case" // a name of a tag in capitals
	badLocation  taglist.Kind = "l"
	badAuthority taglist.Kind = "a"
	BadAvatar    taglist.Kind = "avp" // harmless: receivers ignore the tag
	BadPrefix    taglist.Kind = "lps" // harmless: receivers ignore the prefix
)

// A Record is a parsed BIMI record. Its faults are in List.
type Record struct {
	List taglist.List
	// Location is the URI of the logo, and Authority that of the certificate, as written in l and a; empty if absent.
	Location, Authority URI
	// Declined reports whether the domain declines to have a logo shown: l and a are empty (section 4.3.1 of the
	// draft).
	Declined bool
	// AvatarPreference is the value of avp; brand if it is absent or not valid.
	AvatarPreference AvatarPreference
	// LocalPartSelectors reports whether there is a tag lps. Then the local part of the address is a selector if it
	// begins with one of the prefixes, or if lps lists no prefix.
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
				Kind: BadCase, Text: "the tag " + t.Name + " must be written " + name + ", in lower case", Offset: t.Offset,
				Length: len(t.Name),
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
		// A record with a repeated URI tag is invalid, not a declination.
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

// readAvatar reads avp. Receivers ignore values other than the two, in this letter case, or treat them as an error.
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

// maxPrefix is the maximum length of a DNS label (RFC 1035 section 2.3.4), and so of a prefix of one.
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

// A URI is the value of l or a.
type URI struct {
	Text    string // as written in the record
	URL     diag.URL
	Fault   URIFault // empty if receivers can use it, or without a URI
	Problem string   // the fault as a clause about the URI
}

// A URIFault is the reason that receivers do not use a URI.
type URIFault string

// The faults of a URI.
const (
	Insecure    URIFault = "http"      // http instead of https
	WrongFormat URIFault = "format"    // names a file that is not an SVG, or not a certificate
	Several     URIFault = "several"   // there is more than one
	Comma       URIFault = "comma"     // has a comma that is not encoded
	Malformed   URIFault = "malformed" // any other fault
)

// Usable reports whether there is a URI that receivers can use.
func (u URI) Usable() bool { return u.Text != "" && u.Fault == "" }

func (r *Record) readURI(kind taglist.Kind, t taglist.Tag, special func(diag.URL) string) URI {
	u := URI{Text: t.Value}
	if t.Value == "" {
		return u
	}
	if u.Fault, u.Problem = u.parse(); u.Fault == "" {
		if u.Problem = special(u.URL); u.Problem != "" {
			u.Fault = WrongFormat
		}
	}
	if u.Fault != "" {
		// A character that no value may have is part of this fault, not another one.
		r.List.Faults = slices.DeleteFunc(r.List.Faults, func(f taglist.Fault) bool {
			return f.Kind == taglist.BadValue && f.Offset >= t.ValueOffset && f.Offset < t.ValueOffset+len(t.Value)
		})
		r.List.Add(taglist.Fault{
			Kind: kind, Text: fmt.Sprintf("%q in %s %s", phrase.Quote(t.Value), strings.ToLower(t.Name), u.Problem),
			Offset: t.ValueOffset, Length: len(t.Value),
		})
	}
	return u
}

var schemeTwice = kit.Regexp(`(?i)^https?:/*https?:/`)

// parse reads a URI of https whose host is a fully qualified domain name (section 4.3 of the draft). The URL may be
// there in spite of a fault.
func (u *URI) parse() (fault URIFault, problem string) {
	scheme, rest, ok := strings.Cut(u.Text, ":")
	switch {
	case strings.ContainsAny(u.Text, "\"<>“”"):
		return Malformed, "has quotation marks or brackets, which do not belong to an address"
	case strings.Count(strings.ToLower(u.Text), "https://") > 1 && strings.Contains(u.Text, ","):
		return Several, "has several URIs: receivers take one only"
	case schemeTwice().MatchString(u.Text):
		return Malformed, "has more than one scheme in front"
	case !ok || strings.ContainsAny(scheme, "/.?#@ "):
		return Malformed, "has no https:// in front"
	case strings.EqualFold(scheme, "https") && !strings.HasPrefix(rest, "//"):
		return Malformed, "has no two slashes after https:"
	case strings.ContainsAny(u.Text, " \t"):
		return Malformed, "has a space, which is written %20 in a URI"
	case strings.ContainsFunc(u.Text, unicode.IsControl):
		return Malformed, "has a control character, which does not belong to an address"
	case strings.ContainsFunc(u.Text, func(c rune) bool { return c > 0x7f }):
		return Malformed, "has a character beyond ASCII: names of hosts are written in Punycode there, and the rest is " +
			"percent-encoded"
	}
	var err error
	u.URL, err = diag.ParseURL(u.Text)
	switch _, named := u.URL.Host().Domain(); {
	case strings.EqualFold(scheme, "http"):
		return Insecure, "uses http, but receivers fetch over https only"
	case !strings.EqualFold(scheme, "https"):
		return Malformed, fmt.Sprintf("has the scheme %q, but receivers fetch over https only", phrase.Quote(scheme))
	case err != nil:
		return Malformed, urlProblem(u.Text)
	case !named || !strings.Contains(u.URL.Host().Name(), "."):
		return Malformed, "does not name its host by a fully qualified domain name"
	case strings.Contains(u.Text, ","):
		return Comma, "has a comma, which is written %2C in a record"
	}
	return "", ""
}

func urlProblem(text string) string {
	u, err := url.Parse(text)
	switch {
	case len(text) > input.MaxURL:
		return fmt.Sprintf("is longer than %d bytes, the most that is read here", input.MaxURL)
	case err != nil:
		return "is not a URI"
	case u.User != nil:
		return "has a user name in it"
	case u.Host == "":
		return "has no host"
	}
	if _, err := diag.ParseHost(u.Hostname()); err != nil {
		return "does not name its host by a fully qualified domain name"
	}
	return "is not a URI"
}

// images are the suffixes of image formats that no receiver accepts: only SVG is in the registry (section 4.3.2 of the
// draft).
var images = []string{".png", ".jpg", ".jpeg", ".jfif", ".gif", ".webp", ".avif", ".bmp", ".ico", ".tif", ".tiff",
	".heic", ".eps", ".ai", ".pdf"}

var certificates = []string{".pem", ".crt", ".cer", ".der", ".p7b", ".p7c", ".pfx", ".p12"}

func suffix(u diag.URL) string {
	if u.IsZero() {
		return ""
	}
	return strings.ToLower(path.Ext(u.HTTP().Path))
}

func logoProblem(u diag.URL) string {
	switch suffix := suffix(u); {
	case slices.Contains(certificates, suffix):
		return "names a certificate, not a logo"
	case slices.Contains(images, suffix):
		return fmt.Sprintf("names a %s file: the logo must be SVG", strings.ToUpper(suffix[1:]))
	default:
		return ""
	}
}

func certificateProblem(u diag.URL) string {
	if suffix := suffix(u); suffix == ".svg" || suffix == ".svgz" || slices.Contains(images, suffix) {
		return "names an image, not a certificate"
	}
	return ""
}

// prefixProblem says why no local part begins with a prefix of lps: a clause, empty if one may.
func prefixProblem(prefix string) string {
	ldh := func(c rune) bool { return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' || c == '-' }
	switch {
	case prefix == "":
		return "there is a comma in lps without a prefix beside it"
	case strings.ContainsFunc(prefix, func(c rune) bool { return !ldh(c) }):
		return fmt.Sprintf("%q in lps has a character that is not a letter, digit or hyphen", phrase.Quote(prefix))
	case len(prefix) > maxPrefix:
		return fmt.Sprintf("%q in lps is longer than %d characters", phrase.Quote(prefix), maxPrefix)
	case prefix[0] == '-': // hyphens at both ends of the local part are removed first (section 4.5 of the draft)
		return fmt.Sprintf("%q in lps begins with a hyphen, as no selector does", phrase.Quote(prefix))
	default:
		return ""
	}
}
