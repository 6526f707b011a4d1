package hsts

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// The bounds of the file of a list. That of Chromium had 20 MB and 150,000 entries in 2025.
const (
	maxListBytes = 64 << 20
	maxEntries   = 1_000_000
	maxVersion   = 100 // characters
	maxName      = 253 // of a domain
)

// forceHTTPS is the mode of entries that are about HSTS; others pin keys.
const forceHTTPS = "force-https"

// ParseList reads a preload list. It takes Chromium's net/http/transport_security_state_static.json as it is,
// with its comments, also in the base64 in which chromium.googlesource.com serves it, and a form of our own,
// which begins with a version and may say of an entry that it is pending:
//
//	{"version": "2026-11-01", "source": "…", "entries": [
//	  {"name": "example.com", "include_subdomains": true, "policy": "bulk-1-year", "status": "preloaded"}
//	]}
//
// Chromium's file names no version: then it is the beginning of the SHA-256 of the file. A member that stands
// twice and a domain that stands twice are refused, and in our own form also a member that is unknown. An empty
// object is the list that has no version and no entries, and of which nothing is claimed.
func ParseList(data []byte) (*List, error) {
	if len(data) > maxListBytes {
		return nil, fmt.Errorf("the file is longer than %d bytes", maxListBytes)
	}
	text := io.Reader(bytes.NewReader(data))
	if head := bytes.TrimSpace(data[:min(len(data), 64)]); len(head) > 0 && 'A' <= head[0] && head[0] <= 'Z' {
		text = base64.NewDecoder(base64.StdEncoding, text)
	}
	p := listParser{json: json.NewDecoder(&uncommented{r: bufio.NewReader(text)})}
	if err := p.file(); err != nil {
		return nil, fmt.Errorf("reading the preload list: %w", err)
	}
	if p.version == "" && p.complete {
		p.version = fmt.Sprintf("sha256:%.6x", sha256.Sum256(data))
	}
	list, err := p.entries.list(p.version)
	if err != nil {
		return nil, fmt.Errorf("reading the preload list: %w", err)
	}
	return list, nil
}

// A listParser reads a file token by token, so that it never is in memory as a tree.
type listParser struct {
	json     *json.Decoder
	own      bool // the file is of our own form
	complete bool // there are entries, if only none
	version  string
	entries  builder
	count    int
}

var (
	errNoEntries = errors.New("it has no entries")
	errTrailing  = errors.New("something follows the list")
	errTwice     = errors.New("a member stands twice")
)

func (p *listParser) file() error {
	first := true
	err := p.object(func(name string) error {
		p.own = p.own || first && name == "version"
		first = false
		switch {
		case name == "entries":
			p.complete = true
			return p.list()
		case name == "version" && p.own:
			p.json.DisallowUnknownFields()
			err := p.json.Decode(&p.version)
			if err == nil && (p.version == "" || len(p.version) > maxVersion) {
				err = fmt.Errorf("the version must have 1 to %d characters", maxVersion)
			}
			return err
		case p.own && name != "source":
			return fmt.Errorf("unknown member %.40q", name)
		default:
			return p.json.Decode(new(json.RawMessage)) // Chromium: sets of pinned keys
		}
	})
	if err != nil {
		return err
	}
	if !p.complete && !first {
		return errNoEntries
	}
	if _, err := p.json.Token(); err != io.EOF {
		return errTrailing
	}
	return nil
}

// object reads an object. Each member's value is read by the function.
func (p *listParser) object(member func(name string) error) error {
	if err := p.expect('{'); err != nil {
		return err
	}
	var seen []string
	for p.json.More() {
		token, err := p.json.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string) // of an object the decoder takes nothing else
		if slices.Contains(seen, name) {
			return fmt.Errorf("the member %.40q stands twice", name)
		}
		if seen = append(seen, name); len(seen) > 20 {
			return errors.New("an object has more than 20 members")
		}
		if err := member(name); err != nil {
			return err
		}
	}
	return p.expect('}')
}

func (p *listParser) expect(want json.Delim) error {
	token, err := p.json.Token()
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err == nil && token != want {
		err = fmt.Errorf("%.40q is where %q should be", fmt.Sprint(token), want.String())
	}
	return err
}

func (p *listParser) list() error {
	if err := p.expect('['); err != nil {
		return err
	}
	for p.json.More() {
		p.count++
		if err := p.entry(); err != nil {
			return fmt.Errorf("entry %d: %w", p.count, err)
		}
	}
	return p.expect(']')
}

// A fileEntry is an entry as a file has it.
type fileEntry struct {
	Name              once[string] `json:"name"`
	IncludeSubdomains once[bool]   `json:"include_subdomains"`
	Policy            once[Policy] `json:"policy"`
	Mode              once[string] `json:"mode"`
	Status            once[Status] `json:"status"`
}

// once is a member that must not stand twice.
type once[T any] struct {
	value T
	times int
}

// UnmarshalJSON implements [json.Unmarshaler].
func (o *once[T]) UnmarshalJSON(text []byte) error {
	if o.times++; o.times > 1 {
		return errTwice
	}
	return json.Unmarshal(text, &o.value)
}

// entry reads an entry, and keeps it if it is about HSTS.
func (p *listParser) entry() error {
	var f fileEntry
	if err := p.json.Decode(&f); err != nil {
		return err
	}
	name, policy, status := strings.ToLower(f.Name.value), f.Policy.value, f.Status.value
	switch {
	case !isName(name):
		return fmt.Errorf("%.100q is not a domain", name)
	case f.Status.times > 0 && status != preloaded && status != pending:
		return fmt.Errorf("the status %.40q is neither preloaded nor pending", status)
	case p.own && !slices.Contains(policies, policy):
		return fmt.Errorf("unknown policy %.40q", policy)
	case f.Mode.value != forceHTTPS && (!p.own || f.Mode.times > 0):
		return nil
	}
	return p.entries.add(Entry{name, f.IncludeSubdomains.value, policy, status == pending})
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

// An uncommented reader leaves out comments of JavaScript, which Chromium's file has, outside of strings.
type uncommented struct {
	r        *bufio.Reader
	inString bool
	escaped  bool
}

// Read implements [io.Reader].
func (u *uncommented) Read(b []byte) (int, error) {
	for n := range b {
		c, err := u.r.ReadByte()
		if err == nil && c == '/' && !u.inString {
			c, err = u.comment()
		}
		if err != nil {
			return n, err
		}
		switch {
		case u.escaped:
			u.escaped = false
		case c == '\\':
			u.escaped = u.inString
		case c == '"':
			u.inString = !u.inString
		}
		b[n] = c
	}
	return len(b), nil
}

// comment skips a comment of whose slash was read, and returns what stands in its place.
func (u *uncommented) comment() (byte, error) {
	next, err := u.r.ReadByte()
	if err != nil {
		return '/', nil
	}
	if next != '/' && next != '*' {
		return '/', u.r.UnreadByte()
	}
	for last := byte(0); ; {
		c, err := u.r.ReadByte()
		if err != nil || next == '/' && c == '\n' || next == '*' && last == '*' && c == '/' {
			return ' ', err
		}
		last = c
	}
}
