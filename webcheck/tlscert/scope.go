package tlscert

import (
	"fmt"
	"slices"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/webcheck/internal/probe"
)

// Scope lists the addresses of the host, if there are several, and what was not checked at one.
func (e *evidence) Scope() []diag.ScopePart {
	if e.whole == nil {
		return nil
	}
	return e.whole.scope()
}

// Absent reports whether the evidence is that of parts which did not answer.
func (e *evidence) Absent() bool { return e.absent }

// judged lists the parts for the rules.
func (x *examination) judged() []*evidence {
	if x.missing == nil {
		return x.parts
	}
	return append(slices.Clone(x.parts), x.missing)
}

func (x *examination) scope() []diag.ScopePart {
	parts := kit.Map(x.places, (*place).part)
	for _, e := range x.parts {
		parts = append(parts, e.missing(e.unknownTypes, diag.NotAnswered, "a client that accepts no other got no answer")...)
		parts = append(parts, e.missing(e.overlong, diag.LeftOut, "its chain is longer than what is read")...)
	}
	if x.leftOut > 0 {
		more := map[bool]string{true: "1 more address", false: fmt.Sprintf("%d more addresses", x.leftOut)}[x.leftOut == 1]
		parts = append(parts, diag.ScopePart{Part: more, State: diag.LeftOut,
			Reason: fmt.Sprintf("at most %d are examined", maxAddresses)})
	}
	for _, kind := range x.unansweredKinds {
		parts = append(parts, diag.ScopePart{Part: kind + " addresses", State: diag.NotAnswered,
			Reason: "the lookup failed"})
	}
	parts = append(append(parts, x.uncheckedRevocation()...), x.uncheckedNames()...)
	if first := x.parts[0].addr; len(x.places) == 0 && len(parts) > 0 && first.IsValid() {
		parts = append(parts, diag.ScopePart{Part: first.Addr().String(), State: diag.Examined})
	}
	return parts
}

// missing lists certificates at the address that were not examined.
func (e *evidence) missing(keys []probe.KeyType, state diag.ScopeState, reason string) []diag.ScopePart {
	return kit.Map(keys, func(key probe.KeyType) diag.ScopePart {
		return diag.ScopePart{Part: fmt.Sprintf("%s certificate at %s", key, e.addr.Addr()), State: state, Reason: reason}
	})
}

// part says whether an address was examined. One that refuses connections was: clients learn no more.
func (p *place) part() diag.ScopePart {
	s := diag.ScopePart{Part: p.addr.String(), State: diag.Examined}
	switch {
	case p.blocked:
		s.State, s.Reason = diag.LeftOut, "not a public address"
	case p.failure.Unavailable() != nil:
		s.State, s.Reason = diag.LeftOut, "cannot be reached from here"
	case p.failure != nil && p.failure.Unanswered:
		s.State, s.Reason = diag.NotAnswered, p.failure.Message
	case p.failure != nil:
	case p.main.isSilent():
		s.State, s.Reason = diag.NotAnswered, "it accepts connections and sends nothing"
	case len(p.main.observation().Unanswered()) > 0:
		s.State, s.Reason = diag.NotAnswered, p.main.failure.Message
	}
	return s
}

// refuses reports whether the address is known to take no connections.
func (p *place) refuses() bool { return p.failure != nil && !p.failure.Unanswered && !p.blocked }

// affected names some of the parts: the addresses, and where these have several certificates the types of the keys.
func (x *examination) affected(parts []int) (a rule.Affected) {
	var kinds []string
	at := map[string][]string{} // by kind
	for _, i := range parts {
		if i >= len(x.parts) {
			continue // what did not answer
		}
		e := x.parts[i]
		addr, kind := e.addr.Addr().String(), e.kind()
		if x.all(parts, e) {
			kind = ""
		}
		if !slices.Contains(at[kind], addr) {
			at[kind] = append(at[kind], addr)
		}
		if !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
		if len(x.places) > 1 && !slices.Contains(a.Targets, addr) {
			a.Targets = append(a.Targets, addr)
		}
	}
	for i, kind := range kinds {
		if i > 0 {
			a.Phrase += "; "
		}
		a.Phrase += x.phrase(kind, at[kind])
	}
	return a
}

// all reports whether the parts are all that were presented where this one was.
func (x *examination) all(parts []int, e *evidence) bool {
	for i, other := range x.parts {
		if other.addr == e.addr && !slices.Contains(parts, i) {
			return false
		}
	}
	return true
}

// maxNamed bounds the addresses in a sentence.
const maxNamed = 4

// phrase names the certificates of a kind at some addresses.
func (x *examination) phrase(kind string, addrs []string) string {
	where := phrase.Series(addrs, maxNamed)
	switch {
	case kind == "":
		return where
	case len(x.places) < 2:
		return "the " + kind + " certificate"
	default:
		return "the " + kind + " certificate at " + where
	}
}

// kind is the type of the key of the certificate, in words.
func (e *evidence) kind() string {
	if e.leaf() == nil {
		return ""
	}
	return e.leaf().PublicKeyAlgorithm.String()
}

// server names the server in a sentence. Where the host has several addresses the verdict says which are concerned.
func (e *evidence) server() string {
	if several(e) {
		return "the server"
	}
	return "the server at " + e.addr.String()
}
