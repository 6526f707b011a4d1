package dkim

import (
	"strings"

	"github.com/diagkit/diagkit/mailauth/message"
)

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

// selected returns the fields that a list of names stands for: of several fields of a name the lowest first; a
// name beyond the last one stands for nothing (RFC 6376 section 5.4.2). The signature itself, which was not there
// when it was made, is left out.
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

// A SignedField says how a signature covers the header fields of a name.
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

// important lists fields that a signature should cover, as they say who sent what to whom, or how it is to be
// shown (RFC 6376 section 5.4.1).
var important = []string{"from", "reply-to", "subject", "date", "to", "cc", "in-reply-to", "references", "message-id",
	"resent-date", "resent-from", "resent-to", "resent-cc", "mime-version", "content-type", "content-transfer-encoding",
	"list-id", "list-help", "list-unsubscribe", "list-unsubscribe-post", "list-subscribe", "list-post", "list-owner",
	"list-archive", "sender"}

// coverage says how a signature covers the header: the fields that h= names, each once, in order; and the
// important ones that are there without being named.
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
