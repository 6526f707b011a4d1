package header

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/mailauth/arc"
	"github.com/diagkit/diagkit/mailauth/authres"
	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/internal/filters"
	"github.com/diagkit/diagkit/mailauth/internal/route"
	"github.com/diagkit/diagkit/mailauth/message"
)

type evidence struct {
	now    time.Time
	msg    *message.Message
	damage []Damage
	// trusted are the authserv-ids that the request trusts, in lower case; nil: it names no servers, and the position
	// of a field decides.
	trusted []string

	from, sender, replyTo, to []message.Address
	returnPath                *message.Address // nil without Return-Path; zero for <>
	date                      message.Date
	dateErr                   error // why Date cannot be read; nil also without Date
	dated                     bool  // whether Date could be read

	fromDomain string // domain of the only author, in lower case with A-labels; empty without exactly one author
	fromOrg    string // its organizational domain

	path       route.Path
	authFields []authField
	signatures []signature
	best       *cover // signature of the author's domain that covers most of the message; nil if no signature counts
	// lengthKnown means that the effect of l= on this body is known, and that other rules report it where it matters.
	lengthKnown bool
	chain       *arc.Chain
	spam        []filters.Verdict
	list        List
}

type authField struct {
	field    *message.Field
	header   *authres.Header      // nil for Received-SPF
	spf      *authres.ReceivedSPF // nil for Authentication-Results
	id       string               // server that wrote it, in lower case; may be empty
	foreign  bool                 // it is in the sender's part of the header, or names a foreign server
	position int                  // index among all fields
}

type result = authres.Result

type signature struct {
	Signature
	field  *message.Field
	parsed *dkim.Signature
}

func (s *signature) signs(name string) bool {
	return slices.ContainsFunc(s.parsed.Names, func(h string) bool { return strings.EqualFold(h, name) })
}

// The bounds of what a report repeats from a header.
const (
	maxRaw      = 2000 // bytes of one field
	maxShown    = 200  // bytes of a name or a value in it
	maxListed   = 50   // items of a list
	maxResults  = 50   // results of one method
	maxSubject  = 1000 // bytes of the subject
	maxBadLines = 50
)

func clip(s string) string { return phrase.Clip(s, maxShown) }

func (e *evidence) count(name string) int { return len(e.msg.All(name)) }

func (e *evidence) text(name string, most int) string {
	if f := e.msg.First(name); f != nil {
		return phrase.Clip(f.Text(), most)
	}
	return ""
}

func (e *evidence) authors() []message.Address {
	var list []message.Address
	seen := map[string]bool{}
	for _, a := range e.from {
		if key := strings.ToLower(a.Addr()); !seen[key] {
			seen[key] = true
			list = append(list, a)
		}
	}
	return list
}

func (e *evidence) author() *message.Address {
	if list := e.authors(); len(list) == 1 {
		return &list[0]
	}
	return nil
}

func shown(list []message.Address) []string {
	texts := []string{}
	for _, a := range list[:min(len(list), maxListed)] {
		switch addr := clip(message.DecodeText(a.Addr())); {
		case addr == "":
			texts = append(texts, clip(a.Name))
		case a.Name == "":
			texts = append(texts, addr)
		default:
			texts = append(texts, clip(a.Name)+" <"+addr+">")
		}
	}
	return texts
}

func quoted(s string) string {
	q := phrase.Quote(s)
	if strings.HasPrefix(q, `"`) {
		return q
	}
	return `"` + q + `"`
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

func orDomain(domain string) string { return cmp.Or(phrase.Quote(domain), "an unnamed domain") }

func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// readPasted reads a pasted header, which copying may have damaged.
func readPasted(text []byte, now time.Time) *evidence {
	repaired, damage := message.Repair(text)
	e := readMessage(message.Split(repaired), now)
	e.damage = damage
	return e
}

// readMessage reads the header of a message as it is. Decisions that depend on [evidence.trusted] are made later.
func readMessage(m *message.Message, now time.Time) *evidence {
	e := &evidence{
		now: now, msg: m, from: addresses(m, "From"), replyTo: addresses(m, "Reply-To"), sender: addresses(m, "Sender"),
		to: addresses(m, "To"), path: route.Read(m), chain: arc.Parse(m.Fields), spam: filters.Read(m),
	}
	if f := m.First("Return-Path"); f != nil {
		e.returnPath = new(message.Address{})
		if list := message.ParseAddresses(f.Value()); len(list) > 0 {
			*e.returnPath = list[0]
		}
	}
	if f := m.First("Date"); f != nil {
		e.date, e.dateErr = message.ParseDate(f.Value())
		e.dated = e.dateErr == nil
	}
	if domains := domainsOf(e.from); len(domains) == 1 {
		e.fromDomain = domains[0]
		e.fromOrg = policy.PublicSuffixOrganizational(e.fromDomain)
	}
	e.readAuthentication()
	e.readComposite()
	e.readSignatures()
	e.best = e.choose(e.candidates())
	e.readList()
	return e
}

func addresses(m *message.Message, name string) (list []message.Address) {
	for _, f := range m.All(name) {
		list = append(list, message.ParseAddresses(f.Value())...)
	}
	return slices.DeleteFunc(list, message.Address.IsZero)
}

func domainsOf(list []message.Address) []string {
	var domains []string
	seen := map[string]bool{}
	for _, a := range list {
		if d := route.Canonical(a.Domain); d != "" && !seen[d] {
			seen[d] = true
			domains = append(domains, d)
		}
	}
	return domains
}
