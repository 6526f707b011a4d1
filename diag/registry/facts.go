package registry

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/kit"
)

// facts are the data of a registry's answers for a domain, in any protocol.
type facts struct {
	handle              string
	registrar           Registrar
	dates               Dates
	statuses            []string
	nameservers         []Nameserver
	nameserversKnown    bool
	signed, signedKnown bool
	ds                  []DS
	contacts            []Contact
}

// domainRoles are the roles in the words of RDAP (RFC 9083 section 10.2.4).
var domainRoles = []struct {
	word string
	role Role
}{
	{"registrant", Registrant}, {"administrative", Admin}, {"technical", Tech}, {"abuse", Abuse}, {"billing", Billing},
}

func factsOfObject(o *object) facts {
	f := facts{
		handle: o.handle, statuses: o.statuses, nameservers: o.nameservers, signed: o.signed || len(o.ds) > 0,
		nameserversKnown: o.emptyDelegation || len(o.nameservers) > 0,
		signedKnown:      o.signedKnown, ds: o.ds,
		dates: Dates{
			CreatedAt: o.event("registration"), ExpiresAt: o.event("expiration"), UpdatedAt: o.event("last changed"),
			RegistrarExpiresAt: o.event("registrar expiration"),
		},
	}
	for _, r := range domainRoles {
		for _, e := range o.entities {
			if e.depth == 0 && e.hasRole(r.word) {
				f.contacts = append(f.contacts, e.contact(r.role))
			}
		}
		if slices.Contains(o.redacted, r.word) && !f.has(r.role) {
			f.contacts = append(f.contacts, Contact{Role: r.role, Redacted: true})
		}
	}
	f.registrar = registrarOf(o)
	return f
}

func (f *facts) has(role Role) bool {
	return slices.ContainsFunc(f.contacts, func(c Contact) bool { return c.Role == role })
}

func (e entity) contact(role Role) Contact {
	c := Contact{
		Role: role, Name: e.card.name, Organization: e.card.organization, Country: e.card.country, Redacted: e.redacted,
	}
	if len(e.card.emails) > 0 {
		c.Email = e.card.emails[0]
	}
	return c
}

// registrarOf finds the registrar among the entities, and its abuse contact.
func registrarOf(o *object) Registrar {
	var r Registrar
	i := slices.IndexFunc(o.entities, func(e entity) bool { return e.depth == 0 && e.hasRole("registrar") })
	if i < 0 {
		return r
	}
	e := o.entities[i]
	r.Name = cmp.Or(e.card.name, e.card.organization, e.handle)
	r.IANAID, r.URL = e.ianaID, e.card.url
	// Where there is no such number the handle is it (ICANN RDAP Response Profile, section 2.4).
	if r.IANAID == "" && e.handle != "" && strings.Trim(e.handle, "0123456789") == "" && len(e.handle) <= 5 {
		r.IANAID = e.handle
	}
	for _, inner := range o.entities[i+1:] {
		if inner.depth == 0 {
			break
		}
		if inner.hasRole("abuse") {
			r.AbuseEmail = cmp.Or(r.AbuseEmail, first(inner.card.emails))
			r.AbusePhone = cmp.Or(r.AbusePhone, first(inner.card.phones))
		}
	}
	return r
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

func factsOfRecord(r *record) facts {
	return facts{
		handle: r.handle, registrar: r.registrar, statuses: r.statuses,
		nameservers: r.nameservers, nameserversKnown: len(r.nameservers) > 0,
		signed: r.signed, signedKnown: r.signedKnown, ds: r.ds, contacts: r.contacts,
		dates: Dates{
			CreatedAt: r.created.time, ExpiresAt: r.expires.time, UpdatedAt: r.updated.time,
			RegistrarExpiresAt: r.registrarExpires.time,
		},
	}
}

// merge adds the registrar's data to the registry's. The registry is authoritative for all that it decides; the
// registrar knows the holder.
func (f *facts) merge(registrar facts) {
	d, other := &f.dates, registrar.dates
	d.RegistrarExpiresAt = cmp.Or(d.RegistrarExpiresAt, cmp.Or(other.RegistrarExpiresAt, other.ExpiresAt))
	d.CreatedAt, d.UpdatedAt = cmp.Or(d.CreatedAt, other.CreatedAt), cmp.Or(d.UpdatedAt, other.UpdatedAt)
	d.ExpiresAt = cmp.Or(d.ExpiresAt, other.ExpiresAt)
	r := &f.registrar
	r.Name = cmp.Or(r.Name, registrar.registrar.Name)
	r.IANAID = cmp.Or(r.IANAID, registrar.registrar.IANAID)
	r.URL = cmp.Or(r.URL, registrar.registrar.URL)
	r.AbuseEmail = cmp.Or(r.AbuseEmail, registrar.registrar.AbuseEmail)
	r.AbusePhone = cmp.Or(r.AbusePhone, registrar.registrar.AbusePhone)
	if len(f.statuses) == 0 {
		f.statuses = registrar.statuses
	}
	if !f.nameserversKnown {
		f.nameservers, f.nameserversKnown = registrar.nameservers, registrar.nameserversKnown
	}
	for _, c := range registrar.contacts {
		i := slices.IndexFunc(f.contacts, func(have Contact) bool { return have.Role == c.Role })
		if i < 0 {
			f.contacts = append(f.contacts, c)
			continue
		}
		have := &f.contacts[i]
		have.Name, have.Organization = cmp.Or(have.Name, c.Name), cmp.Or(have.Organization, c.Organization)
		have.Country, have.Email = cmp.Or(have.Country, c.Country), cmp.Or(have.Email, c.Email)
		have.Redacted = have.Redacted && c.Redacted
	}
}

const day = 24 * time.Hour

func (e *domainEvidence) report(raw bool, ended time.Time) *DomainReport {
	f, verdict := e.facts, domainRules.Judge(e, domainTexts)
	r := &DomainReport{
		Text: verdict.Text(), Domain: e.domain, DomainUnicode: e.domain.UnicodeIfDifferent(), RegisteredDomain: e.name,
		Protocol: e.protocol, Servers: e.servers(), Handle: f.handle, Registrar: f.registrar, Dates: f.dates,
		Statuses: e.facts.explained(), Nameservers: append([]Nameserver{}, f.nameservers...),
		DNSSEC: DNSSEC{DS: append([]DS{}, f.ds...)}, Contacts: append([]Contact{}, f.contacts...),
		Timing: diag.NewTiming(e.now, ended), Findings: verdict.Findings,
		Partial: !e.outcome.conclusive() || e.registrar.url != "" && e.registrar.outcome != found,
	}
	if e.outcome.conclusive() {
		r.Registered = new(e.outcome == found)
	}
	if f.signedKnown {
		r.DNSSEC.Signed = new(f.signed)
	}
	if !f.dates.CreatedAt.IsZero() {
		r.AgeDays = new(max(0, days(e.now.Sub(f.dates.CreatedAt))))
	}
	if !f.dates.ExpiresAt.IsZero() {
		r.DaysUntilExpiry = new(days(f.dates.ExpiresAt.Sub(e.now)))
	}
	if raw && e.protocol == RDAP {
		r.Raw = clip(e.rdap.raw, maxReportText)
	} else if raw {
		r.Raw = rawWhois(e.whois)
	}
	return r
}

// days returns the whole days of a duration, rounded towards zero.
func days(d time.Duration) int { return int(d / day) }

func (e *domainEvidence) servers() []string {
	list := []string{}
	for _, a := range []rdapAnswer{e.rdap, e.registrar} {
		if a.url != "" && a.outcome != unanswered {
			list = append(list, a.url)
		}
	}
	for _, a := range e.whois {
		if a.err == nil {
			list = append(list, a.host)
		}
	}
	return list
}

// Impact says what a status means for the holder of a domain: protective, neutral or problem.
type Impact string

// The impacts.
const (
	Protective Impact = "protective" // it keeps others from changing something
	Neutral    Impact = "neutral"    // it is worth knowing
	Problem    Impact = "problem"    // it keeps the domain from working, or ends it
)

// Values lists the impacts.
func (Impact) Values() []string { return kit.Values(Protective, Neutral, Problem) }

// A Status is a state of the registration.
type Status struct {
	Code    string `json:"code" doc:"code of EPP, else as the registry puts it" example:"clientTransferProhibited"`
	Meaning string `json:"meaning" doc:"what it means"`
	Impact  Impact `json:"impact" doc:"what it means for the holder"`
}

// A statusRow explains a status, perhaps only beside another one of the same domain.
type statusRow struct {
	Status
	keys        []string // the ways to write it, as letters has them
	otherStatus string   // the other status; empty if it explains the status whatever else there is
}

// statuses explains the statuses of EPP (RFC 5731 section 2.3, RFC 3915 section 3.1), the values of
// RDAP that have no counterpart there (RFC 9083 section 10.2.2), and words of single registries. A
// "client" is the registrar, the "server" the registry. A row is impact, code and meaning; other spellings follow
// the code, each after a bar, or after a plus the second status that the row requires. Of the rows of a code the
// first that applies counts.
var statuses = sync.OnceValue(func() (list []statusRow) {
	for line := range strings.SplitSeq(strings.TrimSpace(embeddedText("status.txt")), "\n") {
		columns := strings.Split(line, "\t")
		code, beside, _ := strings.Cut(columns[1], " + ")
		names := strings.Split(code, " | ")
		list = append(list, statusRow{
			Status{Code: names[0], Meaning: columns[2], Impact: Impact(columns[0])}, kit.Map(names, letters), beside,
		})
	}
	return list
})

// knownStatus returns what is known of a status as a registry puts it: "client transfer prohibited" in
// RDAP (RFC 8056), "CLIENT_TRANSFER_PROHIBITED" or "Transfer Prohibited by Registrar" in WHOIS.
func knownStatus(text string) (Status, bool) {
	key := letters(text)
	for who, by := range map[string]string{"client": "byregistrar", "server": "byregistry"} {
		if what, ok := strings.CutSuffix(key, by); ok {
			key = who + what
		}
	}
	for _, row := range statuses() {
		if row.otherStatus == "" && slices.Contains(row.keys, key) {
			return row.Status, true
		}
	}
	return Status{}, false
}

// explain returns the explanation of a single status.
func explain(text string) Status {
	if s, ok := knownStatus(text); ok {
		return s
	}
	return Status{clip(text, 100), "A status of this registry only.", Neutral}
}

// statusesIn returns the statuses that words name one after the other, as in "ok / autoRenewPeriod", or
// nothing if they do not name statuses only.
func statusesIn(words []string) []Status {
	for n := min(len(words), maxStatusWords); n > 0; n-- {
		s, ok := knownStatus(strings.Join(words[:n], " "))
		if !ok {
			continue
		}
		if n == len(words) {
			return []Status{s}
		}
		if rest := statusesIn(words[n:]); rest != nil {
			return append([]Status{s}, rest...)
		}
	}
	return nil
}

// maxStatusWords is how many words a status has at most: "Transfer Prohibited by Registrar".
const maxStatusWords = 5

func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' {
			return r
		}
		return -1
	}, strings.ToLower(s))
}

// explained returns the combined meaning of a domain's statuses: registries give a domain in its redemption period
// pendingDelete as well (RFC 3915 section 3.1), which alone means that it is too late.
func (f *facts) explained() []Status {
	list := []Status{}
	for _, text := range f.statuses {
		named := statusesIn(strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" /,;", r) }))
		if named == nil {
			named = []Status{explain(text)}
		}
		for _, s := range named {
			if s.Code != "" && !hasStatus(list, s.Code) {
				list = append(list, s)
			}
		}
	}
	for i, s := range list {
		j := slices.IndexFunc(statuses(), func(row statusRow) bool {
			return row.Code == s.Code && row.otherStatus != "" && f.hasStatus(list, row.otherStatus)
		})
		if j >= 0 {
			list[i] = statuses()[j].Status
		}
	}
	return list
}

// hasStatus reports whether a status is in the list, or what the table calls name servers or restrictions.
func (f *facts) hasStatus(list []Status, what string) bool {
	switch what {
	case "name servers":
		return len(f.nameservers) > 0
	case "restrictions": // which ok excludes (RFC 5731 section 2.3)
		return slices.ContainsFunc(list, func(s Status) bool {
			return s.Impact != Neutral || strings.HasPrefix(s.Code, "pending") || strings.HasSuffix(s.Code, "Prohibited")
		})
	}
	return hasStatus(list, what)
}

func hasStatus(list []Status, codes ...string) bool {
	return slices.ContainsFunc(list, func(s Status) bool { return slices.Contains(codes, s.Code) })
}
