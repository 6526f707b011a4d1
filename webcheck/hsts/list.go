package hsts

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
)

// File is the name of the file with the preload list in Env.Data; see [diag.List]. Without it, whether a
// domain is listed is unknown, unless its whole top-level domain is.
const File = "hsts-preload.json"

// NoList returns a preload list file without a list.
func NoList() []byte { return []byte("{}\n") }

// A Policy names the requirements under which an entry was added to the preload list.
type Policy string

// The policies of Chromium's list.
const (
	NoPolicy              Policy = ""
	TestPolicy            Policy = "test"
	GooglePolicy          Policy = "google"
	CustomPolicy          Policy = "custom"
	BulkLegacy            Policy = "bulk-legacy"             // added before Chrome 50
	Bulk18Weeks           Policy = "bulk-18-weeks"           // Chrome 50 to 63
	Bulk1Year             Policy = "bulk-1-year"             // since then
	PublicSuffix          Policy = "public-suffix"           // a suffix, at the wish of its owner
	PublicSuffixRequested Policy = "public-suffix-requested" // a domain below it, at the wish of the owner of the suffix
)

var policies = []Policy{NoPolicy, TestPolicy, GooglePolicy, CustomPolicy, BulkLegacy, Bulk18Weeks, Bulk1Year,
	PublicSuffix, PublicSuffixRequested}

// bulk reports whether such entries were submitted at hstspreload.org, where they have to keep to the requirements.
func (p Policy) bulk() bool { return p == BulkLegacy || p == Bulk18Weeks || p == Bulk1Year }

// Status is the state of a domain on the preload list: preloaded, pending, unknown or not_listed.
type Status string

const (
	Preloaded     Status = "preloaded"
	Pending       Status = "pending"    // accepted for a coming version of the list
	UnknownStatus Status = "unknown"    // there is no list to look it up in
	NotListed     Status = "not_listed" // it is not on the list
)

// Values lists the statuses.
func (Status) Values() []string { return kit.Values(Preloaded, Pending, UnknownStatus, NotListed) }

// An Entry is an entry of the preload list.
type Entry struct {
	Name              string
	IncludeSubdomains bool
	Policy            Policy
	Pending           bool
}

// Status returns the status that the entry gives a domain.
func (e Entry) Status() Status {
	if e.Pending {
		return Pending
	}
	return Preloaded
}

// A List is a preload list. It may be used by several goroutines concurrently. 150,000 names take about 4 MB.
type List struct {
	// Version is the version stated in the file, or a hash of the file. It is empty if there is no list other
	// than the built-in top-level domains; a domain that is not found may then still be listed.
	Version string

	source string // of the entries that are built in

	names   string   // of all entries, in order
	ends    []uint32 // where each ends in names
	details []uint8  // bits below
}

// The bits of details; the rest is the index of the policy.
const (
	withSubdomains uint8 = 1 << 7
	pendingEntry   uint8 = 1 << 6
)

// PreloadList returns the list in the file [File] of the environment, or the built-in top-level domains if
// there is no file. The error names the file.
func PreloadList(env *diag.Env) (*List, error) {
	list, err := diag.List(env, File, builtIn, ParseList)
	if err == nil && list.Version == "" { // as if there were no file
		return builtIn(), nil
	}
	return list, err
}

// topLevel are the top-level domains that are preloaded as a whole, with all names below them: the entries with one
// label and the policy public-suffix of Chromium's net/http/transport_security_state_static.json, at the commit of
// topLevelSource. Registries announce new ones, and none has been taken back.
var topLevel = []string{"android", "app", "bank", "chrome", "dev", "foo", "gle", "gmail", "google", "hangout",
	"insurance",
	"meet", "new", "page", "play", "search", "youtube"}

const topLevelSource = "chromium 007cea8, top-level domains"

var builtIn = sync.OnceValue(func() *List {
	list, err := newList("", kit.Map(topLevel, func(name string) Entry {
		return Entry{Name: name, IncludeSubdomains: true, Policy: PublicSuffix}
	}))
	if err != nil { // a duplicate name above: a test reads the list
		return &List{}
	}
	list.source = topLevelSource
	return list
})

// Len returns the number of entries.
func (l *List) Len() int { return len(l.ends) }

// Entry returns an entry by its index.
func (l *List) Entry(i int) Entry {
	d := l.details[i]
	return Entry{l.name(i), d&withSubdomains != 0, policies[d&^(withSubdomains|pendingEntry)], d&pendingEntry != 0}
}

func (l *List) name(i int) string {
	begin := uint32(0)
	if i > 0 {
		begin = l.ends[i-1]
	}
	return l.names[begin:l.ends[i]]
}

// Lookup returns the entry that applies to a domain: its own, or that of the closest parent domain with
// IncludeSubdomains. The domain is in lower case and has no final dot.
func (l *List) Lookup(domain string) (Entry, bool) {
	for name, below := domain, false; ; below = true {
		if i, ok := sort.Find(l.Len(), func(i int) int { return strings.Compare(name, l.name(i)) }); ok {
			if e := l.Entry(i); !below || e.IncludeSubdomains {
				return e, true
			}
		}
		_, rest, ok := strings.Cut(name, ".")
		if !ok {
			return Entry{}, false
		}
		name = rest
	}
}

// newList keeps entries compactly, in order. An entry is not listed twice.
func newList(version string, entries []Entry) (*List, error) {
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	l := &List{Version: version, ends: make([]uint32, 0, len(entries)), details: make([]uint8, 0, len(entries))}
	var names strings.Builder
	for i, e := range entries {
		if i > 0 && e.Name == entries[i-1].Name {
			return nil, errors.New(e.Name + " appears twice")
		}
		d := uint8(max(0, slices.Index(policies, e.Policy))) // a policy unknown to this version counts as none
		if e.IncludeSubdomains {
			d |= withSubdomains
		}
		if e.Pending {
			d |= pendingEntry
		}
		names.WriteString(e.Name)
		l.ends, l.details = append(l.ends, uint32(names.Len())), append(l.details, d)
	}
	l.names = names.String()
	return l, nil
}

// The bounds of the file of a list. That of Chromium had 20 MB and 150,000 entries in 2025.
const (
	maxListBytes = 64 << 20
	maxEntries   = 1_000_000
	maxVersion   = 100 // characters
	maxName      = 253 // of a domain
)

// forceHTTPS is the mode of entries that are about HSTS; others pin keys.
const forceHTTPS = "force-https"

// ParseList parses a preload list. It accepts Chromium's net/http/transport_security_state_static.json, with
// its comments or in Base64 as chromium.googlesource.com serves it, and a format of this package, which
// begins with a version and may mark an entry as pending:
//
//	{"version": "2026-11-01", "source": "…", "entries": [
//	  {"name": "example.com", "include_subdomains": true, "policy": "bulk-1-year", "status": "preloaded"}
//	]}
//
// Chromium's file has no version; the beginning of its SHA-256 is used instead. Duplicate members and
// duplicate domains are errors, as are unknown members in the format of this package. An empty object is a
// list without version and entries.
func ParseList(data []byte) (*List, error) {
	list, err := parseList(data)
	if err != nil {
		return nil, fmt.Errorf("reading the preload list: %w", err)
	}
	return list, nil
}

// A listFile is a list as a file has it. Only our own form has a version.
type listFile struct {
	Version *string     `json:"version"`
	Source  string      `json:"source"`
	Entries []fileEntry `json:"entries"`
}

// A fileEntry is an entry as a file has it.
type fileEntry struct {
	Name              string  `json:"name"`
	IncludeSubdomains bool    `json:"include_subdomains"`
	Policy            Policy  `json:"policy"`
	Mode              *string `json:"mode"`
	Status            *Status `json:"status"`
}

func parseList(data []byte) (*List, error) {
	if len(data) > maxListBytes {
		return nil, fmt.Errorf("the file is longer than %d bytes", maxListBytes)
	}
	text := bytes.TrimSpace(data)
	if len(text) > 0 && 'A' <= text[0] && text[0] <= 'Z' {
		decoded, err := base64.StdEncoding.DecodeString(string(text))
		if err != nil {
			return nil, err
		}
		text = decoded
	}
	text = withoutComments(text)
	if bytes.Equal(bytes.TrimSpace(text), []byte("{}")) {
		return &List{}, nil
	}
	var head struct{ Version *string }
	var f listFile
	if err := diag.DecodeList(text, &head, false); err != nil {
		return nil, err
	}
	if err := diag.DecodeList(text, &f, head.Version != nil); err != nil {
		return nil, err
	}
	switch {
	case f.Entries == nil:
		return nil, errors.New("it has no entries")
	case len(f.Entries) > maxEntries:
		return nil, fmt.Errorf("there are more than %d entries", maxEntries)
	case f.Version == nil:
		f.Version = new(fmt.Sprintf("sha256:%.6x", sha256.Sum256(data)))
	case *f.Version == "" || len(*f.Version) > maxVersion:
		return nil, fmt.Errorf("the version must have 1 to %d characters", maxVersion)
	}
	var entries []Entry
	for i, e := range f.Entries {
		status := kit.OrZero(e.Status)
		switch own, name := head.Version != nil, strings.ToLower(e.Name); {
		case !isName(name):
			return nil, fmt.Errorf("entry %d: %.100q is not a domain", i+1, name)
		case e.Status != nil && status != Preloaded && status != Pending:
			return nil, fmt.Errorf("entry %d: the status %.40q is neither preloaded nor pending", i+1, status)
		case own && !slices.Contains(policies, e.Policy):
			return nil, fmt.Errorf("entry %d: unknown policy %.40q", i+1, e.Policy)
		case kit.OrZero(e.Mode) == forceHTTPS || own && e.Mode == nil: // in our own form entries are about HSTS
			entries = append(entries, Entry{name, e.IncludeSubdomains, e.Policy, status == Pending})
		}
	}
	return newList(*f.Version, entries)
}

// isName reports whether a name can be that of an entry: labels of letters, digits, hyphens and underscores.
func isName(s string) bool {
	if len(s) > maxName {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return true
}

// comments are strings, which stay, and comments of JavaScript, which Chromium's file has.
var comments = kit.Regexp(`"(?:[^"\\]|\\.)*"|//[^\n]*|/\*(?s:.*?)\*/`)

func withoutComments(text []byte) []byte {
	return comments().ReplaceAllFunc(text, func(found []byte) []byte {
		if found[0] == '"' {
			return found
		}
		return []byte{' '}
	})
}
