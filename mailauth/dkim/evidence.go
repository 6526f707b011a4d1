package dkim

import (
	"crypto/rsa"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/internal/provider"
	"github.com/diagkit/diagkit/mailauth/internal/taglist"
	"github.com/miekg/dns"
	"golang.org/x/net/publicsuffix"
)

// evidence is the input of the rules. Without the network it holds only the text and the key.
type evidence struct {
	domain   diag.Domain // zero without a lookup
	selector diag.Selector
	now      time.Time

	txt      diag.Answer[*dns.TXT] // at the selector
	apex     diag.Answer[*dns.SOA] // whether the domain exists
	node     diag.Answer[*dns.TXT] // at _domainkey
	wildcard diag.Answer[*dns.TXT] // at *._domainkey
	places   []place               // other names at which the record may be published
	others   []string              // selectors with keys, if this one has no key

	quoted        bool          // the text was enclosed in quotation marks, which were removed
	found         taglist.Found // what was meant as a key record
	otherTexts    []string      // the other TXT records at the selector
	key           *Key          // if there is exactly one record
	assembled     string        // the record that its parts make in another order, or several records together
	swappedPrefix string        // the beginning of the key, if it was found in the middle of it
	repaired      string        // the record that was probably meant, if there is one that differs
}

type place struct {
	name   string
	what   string // a clause: what the mistake probably was
	answer diag.Answer[*dns.TXT]
}

// addRecords sorts the TXT records at the selector, each as its character-strings, and reads the key.
func (e *evidence) addRecords(answer [][]string) {
	slices.SortFunc(answer, slices.Compare) // resolvers change the order of records
	for _, parts := range answer {
		text := strings.Join(parts, "")
		if !resemblesRecord(text) && len(e.domain.String()) > 0 {
			e.otherTexts = append(e.otherTexts, text)
			continue
		}
		if e.found.Records = append(e.found.Records, text); len(e.found.Records) == 1 {
			e.found.Strings = parts
		}
	}
	if len(e.found.Records) != 1 {
		e.found.Strings = nil
	} else {
		e.key = ParseKey(e.found.Records[0])
		e.found.List = e.key.List
	}
	e.assemble()
	e.repair()
}

// assemble tries to make a record of its parts: several TXT records, or strings that are out of order.
func (e *evidence) assemble() {
	keys, withoutKey := 0, 0
	for _, text := range e.found.Records {
		k := ParseKey(text)
		if _, ok := k.List.Tag("p"); !ok {
			withoutKey++
		} else if k.Details != nil {
			keys++
		}
	}
	switch n := len(e.found.Records); {
	case keys == 1 && withoutKey == n-1 && n > 1: // tags in one record, the key in another
		e.assembled = assemble(e.found.Records)
	case keys > 0 || n == 0:
	case n+len(e.otherTexts) > 1:
		e.assembled = assemble(slices.Concat(e.found.Records, e.otherTexts))
	case repair(e.found.Records[0]) == "":
		if e.assembled = assemble(e.found.Strings); e.assembled == "" {
			e.assembled, e.swappedPrefix = swapHalves(e.found.Records[0])
		}
	}
}

func (e *evidence) repair() {
	switch {
	case e.assembled != "":
		e.repaired = e.assembled
	case len(e.found.Records) > 1:
		e.repaired = e.soleUsableRecord()
	case e.key == nil || e.key.Revoked:
	case e.found.Separated() != e.key.List.Text, slices.ContainsFunc(e.key.List.Faults, repairable):
		e.repaired = repair(e.found.Separated(), allFlags...)
	}
}

// soleUsableRecord is the one of several records that verifiers use, if the others are of no use, or have the same key.
func (e *evidence) soleUsableRecord() string {
	only, key := "", ""
	for _, text := range e.found.Records {
		switch k := ParseKey(text); {
		case k.Revoked:
			return "" // only the owner knows which one is meant
		case k.Err() != nil:
		case only == "":
			only, key = text, k.Base64
		case k.Base64 != key:
			return ""
		}
	}
	return only
}

func repairable(f taglist.Fault) bool { return !f.Harmless || f.Kind != taglist.Unknown }

func lookedUp(e *evidence) bool { return !e.domain.IsZero() }

func (e *evidence) nonexistent() bool {
	return e.apex.NXDomain() && len(e.apex.Aliases) == 0 && !e.txt.Exists() && !aliased(e)
}

// existenceKnown reports whether it is known if the domain exists: what has a name below it does (RFC 8020 section 2).
func (e *evidence) existenceKnown() bool {
	return !lookedUp(e) || e.apex.Err() == nil || aliased(e) || answered(e) && !e.txt.NXDomain() ||
		e.node.Name != "" && e.node.Err() == nil && !e.node.NXDomain()
}

const (
	fromRecord rule.Source = "record" // the TXT records at the selector
	fromDomain rule.Source = "domain" // whether the domain exists
)

// Unanswered implements [rule.Unanswerer].
func (e *evidence) Unanswered() []rule.Source {
	return rule.Unanswered(map[rule.Source]bool{
		fromRecord: !lookedUp(e) || answered(e), fromDomain: e.existenceKnown(),
	})
}

func (e *evidence) partial() bool {
	silent := func(p place) bool { return p.answer.Err() != nil }
	return len(e.Unanswered()) > 0 || absent(e) && (slices.ContainsFunc(e.places, silent) || e.node.Err() != nil)
}

func answered(e *evidence) bool { return e.txt.Err() == nil }

func hasSingleRecord(e *evidence) bool { return e.key != nil }

func inOrder(e *evidence) bool { return e.key != nil && e.assembled == "" }

func (e *evidence) split() bool {
	return e.assembled != "" && len(e.found.Records)+len(e.otherTexts) > 1
}

func (e *evidence) otherProtocol() string {
	if kind := taglist.OtherKind(e.key.List.Text); kind != "a DKIM record" {
		return kind
	}
	return ""
}

func hasKeyData(e *evidence) bool { return e.key != nil && e.key.Base64 != "" }

func hasUsableKey(e *evidence) bool { return hasKeyData(e) && inOrder(e) }

// modulus returns the RSA key of the record, even if k names another type; nil without one.
func (e *evidence) modulus() *rsa.PublicKey {
	if e.key == nil || e.key.Data == nil {
		return nil
	}
	key, _ := identify(e.key.Data).public.(*rsa.PublicKey)
	return key
}

func isRSA(e *evidence) bool { return e.modulus() != nil }

func (e *evidence) name() string { return strings.TrimSuffix(dns.CanonicalName(e.txt.Name), ".") }

func (e *evidence) parent() string { return label + "." + e.domain.String() }

// label is the name below a domain at which its keys are (RFC 6376 section 3.6.2.1).
const label = "_domainkey"

func absent(e *evidence) bool { return answered(e) && len(e.found.Records) == 0 }

func aliased(e *evidence) bool { return len(e.txt.Aliases) > 0 }

// delegated reports whether the selector is an alias into the domain of another organization.
func (e *evidence) delegated() bool {
	own, _ := publicsuffix.EffectiveTLDPlusOne(e.domain.String())
	theirs, err := publicsuffix.EffectiveTLDPlusOne(e.target())
	return lookedUp(e) && aliased(e) && (err != nil || own != theirs)
}

func (e *evidence) target() string {
	if !aliased(e) {
		return ""
	}
	return strings.TrimSuffix(e.txt.Aliases[len(e.txt.Aliases)-1], ".")
}

func (e *evidence) service() *provider.Service {
	target := e.target()
	for _, find := range []func(string) *provider.Service{provider.ByDKIM, provider.ByEnvelope, provider.BySPF,
		provider.ByPTR} {
		if s := find(target); target != "" && s != nil {
			return s
		}
	}
	return nil
}

func textsOf(a diag.Answer[*dns.TXT]) []string {
	list := kit.Map(a.Records, dnsmsg.TXT)
	slices.Sort(list)
	return list
}

func fromWildcard(e *evidence) bool {
	all := textsOf(e.wildcard)
	return len(all) > 0 && slices.Equal(all, textsOf(e.txt))
}
