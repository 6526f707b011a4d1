package header

import (
	"slices"
	"time"

	"github.com/diagkit/diagkit/mailauth/arc"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/header/filters"
	"github.com/diagkit/diagkit/mailauth/header/route"
	"github.com/diagkit/diagkit/mailauth/message"
)

// readPasted reads a header that somebody pasted, which copying may have damaged.
func readPasted(text []byte, now time.Time) *evidence {
	repaired, damage := message.Repair(text)
	e := readMessage(message.Split(repaired), now)
	e.damage = damage
	return e
}

// readMessage reads the header of a message as it is. What depends on [evidence.trusted] is decided later.
func readMessage(m *message.Message, now time.Time) *evidence {
	e := &evidence{
		now: now, msg: m, from: addresses(m, "From"), replyTo: addresses(m, "Reply-To"), sender: addresses(m, "Sender"),
		path: route.Read(m), chain: arc.Parse(m.Fields), spam: filters.Read(m),
	}
	for _, f := range m.All("To") {
		e.to = append(e.to, message.ParseAddresses(f.Value())...)
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
