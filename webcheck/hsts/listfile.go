package hsts

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag"
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
	var entries builder
	for i, e := range f.Entries {
		if err := entries.take(e, head.Version != nil); err != nil {
			return nil, fmt.Errorf("entry %d: %w", i+1, err)
		}
	}
	return entries.list(*f.Version)
}

// take keeps an entry if it is about HSTS. In a file of our own form every entry is, unless it says otherwise.
func (b *builder) take(e fileEntry, own bool) error {
	name, status := strings.ToLower(e.Name), diag.OrZero(e.Status)
	switch {
	case !isName(name):
		return fmt.Errorf("%.100q is not a domain", name)
	case e.Status != nil && status != preloaded && status != pending:
		return fmt.Errorf("the status %.40q is neither preloaded nor pending", status)
	case own && !slices.Contains(policies, e.Policy):
		return fmt.Errorf("unknown policy %.40q", e.Policy)
	case diag.OrZero(e.Mode) != forceHTTPS && (!own || e.Mode != nil):
		return nil
	}
	b.add(Entry{name, e.IncludeSubdomains, e.Policy, status == pending})
	return nil
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
var comments = diag.Regexp(`"(?:[^"\\]|\\.)*"|//[^\n]*|/\*(?s:.*?)\*/`)

func withoutComments(text []byte) []byte {
	return comments().ReplaceAllFunc(text, func(found []byte) []byte {
		if found[0] == '"' {
			return found
		}
		return []byte{' '}
	})
}
