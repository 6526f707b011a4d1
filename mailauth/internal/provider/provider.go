package provider

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
)

// A Category is the purpose of a service: mailbox, marketing, transactional, crm, helpdesk, commerce, business, hr,
// hosting, gateway, forwarder or list.
type Category string

// The categories.
const (
	mailbox       Category = "mailbox"       // user mailboxes
	marketing     Category = "marketing"     // newsletters and campaigns
	transactional Category = "transactional" // mail of programs
	crm           Category = "crm"           // mail to customers and prospects
	helpdesk      Category = "helpdesk"      // tickets
	commerce      Category = "commerce"      // shops
	business      Category = "business"      // invoices, contracts, surveys, events
	hr            Category = "hr"            // applicants and staff
	Hosting       Category = "hosting"       // web hosts and registrars, with mailboxes
	Gateway       Category = "gateway"       // filters mail on its way in or out
	forwarder     Category = "forwarder"     // passes mail on to other addresses
	list          Category = "list"          // mailing lists
)

// Values lists the categories.
func (Category) Values() []string {
	return []string{string(mailbox), string(marketing), string(transactional), string(crm), string(helpdesk),
		string(commerce), string(business), string(hr), string(Hosting), string(Gateway), string(forwarder),
		string(list)}
}

// Relays reports whether a service of this category passes on mail that others wrote.
func (c Category) Relays() bool { return c == Gateway || c == forwarder || c == list }

// Hosts reports whether a service of this category has mailboxes, whose owners write mail and have mail forwarded.
func (c Category) Hosts() bool { return c == mailbox || c == Hosting }

// A Service is a service that handles mail for the domains of others.
type Service struct {
	Name     string
	Category Category
	// PTR, DKIM, Envelope, SPF and MX are the domains that identify it. Each covers all names below it. MX is empty
	// for services that only filter mail on its way in, and for those with selectors of the customer's choice.
	PTR, DKIM, Envelope, SPF, MX []string
	// Selectors are those of the keys that a service with MX signs with.
	Selectors []string
	// Sign describes how a customer makes it sign with the customer's domain. Empty for services that relay.
	Sign string
	// ReturnPath describes how a customer makes it use a return path in the customer's domain; may be empty.
	ReturnPath string
	// Docs is the address of the vendor's instructions; may be empty.
	Docs string
}

// Services lists all services. The list must not be changed.
func Services() []*Service { return table().services }

// ByPTR returns the service whose servers have names in reverse DNS like this one, or nil.
func ByPTR(name string) *Service { return table().find(usePTR, name) }

// ByDKIM returns the service that signs with this domain for customers without keys of their own, or nil.
func ByDKIM(domain string) *Service { return table().find(useDKIM, domain) }

// ByEnvelope returns the service that has return paths in this domain, or nil.
func ByEnvelope(domain string) *Service { return table().find(useEnvelope, domain) }

// BySPF returns the service that asks its customers to include this domain, or nil.
func BySPF(domain string) *Service { return table().find(useSPF, domain) }

// ByMX returns the service that has the mailboxes of a domain with this MX host and sends their mail, or nil.
func ByMX(host string) *Service { return table().find(useMX, host) }

// A Basis is the evidence that identified a service.
type Basis string

// The bases, the strongest first.
const (
	BasisDKIM     Basis = "dkim"
	BasisEnvelope Basis = "envelope"
	BasisPTR      Basis = "ptr"
)

// Values lists the bases.
func (Basis) Values() []string {
	return []string{string(BasisDKIM), string(BasisEnvelope), string(BasisPTR)}
}

// Traces are the names that a source of mail left. They must have been proven: signatures and return paths
// that passed, reverse names that lead back to the address.
type Traces struct {
	DKIM, Envelope, PTR []string
}

// Identify returns the service that traces lead to and the basis, or nil. Of several names of one kind the first
// known one counts.
func Identify(t Traces) (*Service, Basis) {
	for _, step := range []struct {
		names []string
		use   use
		basis Basis
	}{{t.DKIM, useDKIM, BasisDKIM}, {t.Envelope, useEnvelope, BasisEnvelope}, {t.PTR, usePTR, BasisPTR}} {
		for _, name := range step.names {
			if s := table().find(step.use, name); s != nil {
				return s, step.basis
			}
		}
	}
	return nil, ""
}

// find returns the service that the longest known domain at the end of a name belongs to. The work does not
// grow with the table, nor with names that have more labels than any domain in it.
func (t *index) find(u use, name string) *Service {
	name = tail(strings.ToLower(strings.TrimSuffix(name, ".")), t.labels)
	for name != "" {
		if s := t.uses[u][name]; s != nil {
			return s
		}
		_, name, _ = strings.Cut(name, ".")
	}
	return nil
}

func tail(name string, n int) string {
	at := len(name)
	for range n {
		if at = strings.LastIndexByte(name[:at], '.'); at < 0 {
			return name
		}
	}
	return name[at+1:]
}

// providersText is the table. Its format, source and date are in the file.
//
//go:embed data/providers.txt
var providersText string

type use int

const (
	usePTR use = iota
	useDKIM
	useEnvelope
	useSPF
	useMX
	useCount
)

type index struct {
	services []*Service
	uses     [useCount]map[string]*Service
	labels   int // of the longest domain
}

var table = sync.OnceValue(func() *index {
	t, err := parse(providersText)
	if err != nil {
		panic(err) // the table is part of the program, and a test reads it
	}
	return t
})

func parse(text string) (*index, error) {
	t := &index{labels: 1}
	for u := range t.uses {
		t.uses[u] = map[string]*Service{}
	}
	owners := map[string]*Service{}
	var s *Service
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSuffix(line, "\n")
		var err error
		switch {
		case strings.HasPrefix(line, "#"):
		case line == "":
			s = nil
		case s == nil:
			s = &Service{Name: line}
			t.services = append(t.services, s)
		default:
			key, value, _ := strings.Cut(line, " ")
			err = t.set(s, owners, key, value)
		}
		if err != nil {
			return nil, fmt.Errorf("table of providers, line %d: %w", number, err)
		}
	}
	return t, nil
}

func (t *index) set(s *Service, owners map[string]*Service, key, value string) error {
	texts := map[string]*string{
		"category": (*string)(&s.Category), "sign": &s.Sign, "return": &s.ReturnPath, "docs": &s.Docs,
	}
	if field, ok := texts[key]; ok {
		if *field != "" || value == "" {
			return fmt.Errorf("%s of %s is empty or appears twice", key, s.Name)
		}
		*field = value
		return nil
	}
	if key == "selectors" && len(s.Selectors) == 0 {
		s.Selectors = strings.Fields(value)
		return nil
	}
	lists := map[string]struct {
		use  use
		list *[]string
	}{"ptr": {usePTR, &s.PTR}, "dkim": {useDKIM, &s.DKIM}, "envelope": {useEnvelope, &s.Envelope}, "spf": {useSPF, &s.SPF},
		"mx": {useMX, &s.MX}}
	entry, ok := lists[key]
	if !ok || len(*entry.list) > 0 {
		return fmt.Errorf("%s of %s is unknown or appears twice", key, s.Name)
	}
	*entry.list = strings.Fields(value)
	for _, domain := range *entry.list {
		if owner := owners[domain]; owner != nil && owner != s {
			return fmt.Errorf("%s belongs to %s and %s", domain, owner.Name, s.Name)
		}
		owners[domain] = s
		t.uses[entry.use][domain] = s
		t.labels = max(t.labels, strings.Count(domain, ".")+1)
	}
	return nil
}
