package dkim

import (
	"bytes"
	"crypto/rsa"
	"fmt"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/mailauth/message"
)

const (
	maxSubjectWords = 6       // before the subject, as in "Re: [list] [External] Minutes"
	maxDropped      = 40      // fields of which each is left out once
	maxTriedHeader  = 8 << 20 // bytes of headers, for all signatures of a message: real headers have 10 KiB
	minTry          = 8 << 10 // minimum cost of each try, for its cryptography
)

type change struct {
	index    int    // of the field
	original []byte // what it may have been
	cause    Cause
	text     string // a clause
}

// tryHeaders looks for the changes that broke a signature among those that mailing lists and gateways make.
func (c *Checker) tryHeaders(s *Signature, self int, same target) (Cause, string) {
	signed := c.Selected(s, self)
	size := max(len(s.Value), minTry)
	for _, i := range signed {
		size += len(c.header.fields[i].Raw)
	}
	try := func(canonical Canonicalization, signed []int, undone ...change) bool {
		c.hashBudget -= size
		if c.hashBudget < 0 {
			return false
		}
		defer c.undo(undone)()
		return same(c.digest(s, canonical, signed, self))
	}
	if other := s.Header.other(); try(other, signed) {
		return WrongCanonicalization, fmt.Sprintf("The signer canonicalized the header as %s, although c= says %s.",
			other, s.Header)
	}
	for _, fewer := range c.fieldSubsets(signed, self) {
		for _, from := range c.rewritten(signed) {
			for _, subject := range c.tagged(signed) {
				if try(s.Header, fewer, from, subject) {
					return c.headerCause(signed, fewer, from, subject)
				}
			}
		}
	}
	for at := range signed[:min(len(signed), maxDropped)] {
		if fewer := slices.Concat(signed[:at], signed[at+1:]); try(s.Header, fewer) {
			return c.headerCause(signed, fewer)
		}
	}
	return "", ""
}

// undo puts the originals of changes into the header, until the function that it returns is called.
func (c *Checker) undo(changes []change) (redo func()) {
	fields := c.header.fields
	var old []change
	for _, ch := range changes {
		if ch.original != nil {
			old = append(old, change{index: ch.index, original: fields[ch.index].Raw})
			fields[ch.index].Raw = ch.original
		}
	}
	return func() {
		for _, ch := range old {
			fields[ch.index].Raw = ch.original
		}
	}
}

// fieldSubsets returns the signed fields, and which of them may have been there when the message was signed: those
// below the signature, since servers put what they add in front; and those that are not of a mailing list.
func (c *Checker) fieldSubsets(signed []int, self int) [][]int {
	below := slices.DeleteFunc(slices.Clone(signed), func(i int) bool { return i < self })
	unlisted := slices.DeleteFunc(slices.Clone(signed), func(i int) bool {
		name := strings.ToLower(c.header.fields[i].Name)
		return strings.HasPrefix(name, "list-") || name == "sender" || name == "precedence"
	})
	return slices.CompactFunc([][]int{signed, below, unlisted}, slices.Equal)
}

// rewritten returns what From may have been before a mailing list put its own address there. The first one, as in
// tagged, is no change.
func (c *Checker) rewritten(signed []int) []change {
	list := []change{{}}
	for _, i := range signed {
		if from := &c.header.fields[i]; from.Is("From") {
			for _, name := range []string{"x-original-from", "x-google-original-from", "reply-to"} {
				for _, other := range c.header.byName[name] {
					f := &c.header.fields[other]
					list = append(list, change{i, slices.Concat([]byte("From:"), f.RawValue()), FromRewritten,
						fmt.Sprintf("From was rewritten (what was signed is now in %s)", f.Name)})
				}
			}
			break
		}
	}
	return list[:min(len(list), 1+maxSubjectWords)]
}

// tagged returns what the subject may have been: without its first word, without its first two, and so on.
func (c *Checker) tagged(signed []int) []change {
	list := []change{{}}
	for _, i := range signed {
		if f := &c.header.fields[i]; f.Is("Subject") {
			value := f.RawValue()
			rest := bytes.TrimLeft(value, " \t")
			for range maxSubjectWords {
				n := bytes.IndexAny(rest, " \t")
				if n < 0 {
					break
				}
				rest = bytes.TrimLeft(rest[n:], " \t")
				list = append(list, change{i, slices.Concat(f.Raw[:len(f.Raw)-len(value)], []byte(" "), rest), SubjectTagged,
					fmt.Sprintf("%q was added before the subject",
						phrase.Quote(string(bytes.TrimSpace(value[:len(value)-len(rest)]))))})
			}
			break
		}
	}
	return list
}

func (c *Checker) headerCause(signed, fewer []int, changes ...change) (Cause, string) {
	cause, texts := FieldAdded, []string{}
	for _, ch := range changes {
		if ch.original != nil {
			cause, texts = ch.cause, append(texts, ch.text)
		}
	}
	var added []string
	for at, next := 0, 0; at < len(signed) && len(added) < maxDropped; at++ {
		if next < len(fewer) && fewer[next] == signed[at] {
			next++
		} else {
			added = append(added, c.header.fields[signed[at]].Name)
		}
	}
	switch n := len(added); {
	case n == 1:
		texts = append(texts, "a field "+added[0]+" was added")
	case n > 1:
		texts = append(texts, "the fields "+strings.Join(added[:n-1], ", ")+" and "+added[n-1]+" were added")
	}
	return cause, "The header was changed after signing: " + strings.Join(texts, ", and ") + "."
}

// Explain returns why a check failed: the causes, that of the body first, and the same in sentences.
func (c *Checker) Explain(s *Signature, check Check, self int) (causes []Cause, text string) {
	if check.BodyHashOK != nil && !*check.BodyHashOK {
		cause, why := c.explainBody(s)
		causes, text = append(causes, cause), why
	}
	if check.SignatureOK != nil && !*check.SignatureOK && check.Key.Key != nil {
		cause, why := c.explainHeader(s, check, self)
		causes, text = append(causes, cause), strings.TrimPrefix(text+" "+why, " ")
	}
	return causes, text
}

// A target reports whether a digest is the signed one.
type target func(digest []byte) bool

// explainHeader returns why a signature does not match the header. The digest can be recovered from an RSA signature,
// which distinguishes another key from another header; with Ed25519 it can only be tried.
func (c *Checker) explainHeader(s *Signature, check Check, self int) (Cause, string) {
	name, same := check.Key.Name, target(nil)
	key, isRSA := check.Key.Key.Public.(*rsa.PublicKey)
	if isRSA {
		signed, hash, ok := signedDigest(key, s.Bytes)
		switch bits := key.N.BitLen(); {
		case !ok && len(s.Bytes) != (bits+7)/8:
			return OtherKey, fmt.Sprintf("The signature was made with another key than the one published at %s: "+
				"the signature has %d bits, the key %d. If the key is the right one, b= was damaged.", name, 8*len(s.Bytes), bits)
		case !ok:
			return OtherKey, fmt.Sprintf(
				"The signature was made with another key than the one published at %s, or was damaged.", name)
		case hash != s.Hash:
			return OtherHash, fmt.Sprintf("The signature was made with %s, although a= says %s.", hash, s.Algorithm)
		}
		same = func(digest []byte) bool { return bytes.Equal(digest, signed) }
	} else {
		same = func(digest []byte) bool { return matches(check.Key.Key.Public, s.Hash, digest, s.Bytes) }
	}
	if cause, text := c.tryHeaders(s, self, same); cause != "" {
		return cause, text
	}
	if names := c.changed(s); len(names) > 0 {
		return HeaderChanged, fmt.Sprintf("Header fields were changed after signing, as the copies in z= show: %s.",
			strings.Join(names, ", "))
	}
	if isRSA {
		return HeaderChanged,
			"A signed header field was changed, removed or added after signing. The key is the one that signed."
	}
	return BadSignature, fmt.Sprintf(
		"A signed header field was changed after signing, or the key at %s is not the one that signed.", name)
}

func (c *Checker) changed(s *Signature) (names []string) {
	squeeze := func(v string) string { return strings.Join(strings.Fields(v), " ") }
	for _, old := range s.Copied {
		if all := c.header.byName[strings.ToLower(old.Name)]; len(all) == 1 && len(names) < maxSubjectWords {
			f := &c.header.fields[all[0]]
			if squeeze(f.Value()) != squeeze(old.Value) {
				names = append(names, f.Name)
			}
		}
	}
	return names
}

type header struct {
	fields []message.Field
	byName map[string][]int // lower-case names
}

func newHeader(fields []message.Field) *header {
	h := &header{fields: fields, byName: map[string][]int{}}
	for i, f := range fields {
		name := strings.ToLower(f.Name)
		h.byName[name] = append(h.byName[name], i)
	}
	return h
}

func (h *header) count(name string) int { return len(h.byName[strings.ToLower(name)]) }

// selected returns the fields that a list of names selects: of several fields of a name the lowest first; a name
// beyond the last one selects nothing (RFC 6376 section 5.4.2). The signature itself, which did not exist when it was
// made, is left out.
func (h *header) selected(names []string, self int) []int {
	taken, list := map[string]int{}, make([]int, 0, len(names))
	for _, n := range names {
		n = strings.ToLower(n)
		all := h.byName[n]
		next := len(all) - 1 - taken[n]
		if next >= 0 && all[next] == self {
			taken[n]++
			next--
		}
		if next >= 0 {
			list = append(list, all[next])
			taken[n]++
		}
	}
	return list
}

// A SignedField describes how a signature covers the header fields of a name.
type SignedField struct {
	Name    string `json:"name" doc:"name of the header field, lower case" example:"from"`
	Listed  int    `json:"listed_count" min:"0" doc:"how often h= names it"`
	Present int    `json:"present_count" min:"0" doc:"how many such fields the message has"`
	Signed  int    `json:"signed_count" min:"0" doc:"how many of them the signature covers, the lowest ones"`
	// Oversigned fields are named more often than they were present: one that is added breaks the signature.
	Oversigned bool `json:"oversigned" doc:"whether adding another such field breaks the signature"`
}

// Unsigned returns how many of the fields the signature does not cover: they were added after signing, or not
// meant to be signed.
func (f SignedField) Unsigned() int { return f.Present - f.Signed }

// MaxFields bounds the names of h= that are reported, the first ones. Signers name up to sixty.
const MaxFields = 100

// important lists fields that a signature should cover, as they state who sent what to whom, or how to display it (RFC
// 6376 section 5.4.1).
var important = []string{"from", "reply-to", "subject", "date", "to", "cc", "in-reply-to", "references", "message-id",
	"resent-date", "resent-from", "resent-to", "resent-cc", "mime-version", "content-type", "content-transfer-encoding",
	"list-id", "list-help", "list-unsubscribe", "list-unsubscribe-post", "list-subscribe", "list-post", "list-owner",
	"list-archive", "sender"}

// coverage returns how a signature covers the header: the fields that h= names, each once, in order; and the important
// ones that are there without being named.
func (h *header) coverage(s *Signature) (fields []SignedField, unsigned []string) {
	fields, unsigned = []SignedField{}, []string{}
	at := map[string]int{}
	for _, n := range s.Names {
		n = strings.ToLower(n)
		i, ok := at[n]
		if !ok {
			i = len(at)
			at[n] = i
			if i < MaxFields {
				fields = append(fields, SignedField{Name: n, Present: len(h.byName[n])})
			}
		}
		if i < MaxFields {
			fields[i].Listed++
		}
	}
	own := strings.ToLower(string(s.Kind))
	for i := range fields {
		f := &fields[i]
		if f.Name == own {
			f.Present--
		}
		f.Signed = min(f.Listed, f.Present)
		f.Oversigned = f.Listed > f.Present
	}
	for _, n := range important {
		if _, ok := at[n]; !ok && h.count(n) > 0 {
			unsigned = append(unsigned, n)
		}
	}
	return fields, unsigned
}
