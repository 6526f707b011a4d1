package registry

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/kit"
)

// The keys under which registries write what is looked for, each as normalKey has it.
var (
	createdKeys = words(
		`creation date|created|created on|created date|domain registered|create date|creation|domain created|
		domain create date|domain registration date|registered|registered on|registered date|registration date|
		registration time|record created|record created on|domain record activated|first registration date|
		domain name commencement date|domain dateregistered|domain datecreated|registered since|activated|
		activation date|date created|fecha de creación|date registered|registration|domain created on`,
	)
	expiresKeys = words(`registry expiry date|registrar registration expiration date|expiry date|expiration date|
		expire date|expires|expires on|expire|expiry|expiration|expiration time|paid-till|valid until|renewal date|
		record expires on|record will expire on|domain expires|domain expires on|expire-date|domain expiration date|
		expires at|		validity|domain datebilleduntil|registry expiration date|
		valid-date|domain expiry date|renewal|exp date|record expired|fecha de vencimiento`)
	updatedKeys = words(
		`updated date|update date|updated|updated on|last updated|last update|last-update|last-updated|last modified|
		last-modified|modified|changed|modification date|domain record last updated|last updated date|last updated on|
		domain datelastmodified|record last updated on|date updated|last changed|domain last updated date|
		domain last updated on|last edited on|record last modified|ultima actualización`,
	)
	statusKeys = words(`domain status|status|state|query status|registration status|domain state|eppstatus|
		domaintype|epp status|estatus del dominio`)
	serverKeys = words(`name server|name servers|nameserver|nameservers|nserver|nservers|ns|ns name|dns|dns server|
		dns servers|hostname|host name|host|primary server|secondary server|domain servers in listed order|
		domain name servers|domain nameservers|name servers information|domain servers|nameserver in listed order|
		primary name server|secondary name server|domain name server|nserver name|name server information|
		name servers in the listed order|
		servidor(es) de nombres de dominio`)
	registrarKeys = words(`registrar|sponsoring registrar|registrar name|current registar|current registrar|
		registration service provider|authorized agency|registrar of record|registrar organization|registrar company|
		registrar company name|registrar-name`)
	referralKeys = words(`registrar whois server|whois server|whois|refer|referralserver|registry whois server`)
	handleKeys   = words(`registry domain id|roid|domain id|domain handle`)
	domainKeys   = words(`domain name|domain|domainname|ascii|puny name|nombre de dominio`)
	signedKeys   = words(`dnssec|signed|domain signed|dnssec status|dnssec signed|dnskey`)
	dsKeys       = words(`ds-rdata|ds|ds-list|dsrecord|ds record|dnssec ds data|ds data`)
)

func words(list string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Split(list, "|") {
		set[strings.TrimSpace(w)] = true
	}
	return set
}

// A record is the answer of a WHOIS server about a domain.
type record struct {
	dates                      *dateReader
	domain, handle             string
	registrar                  Registrar
	created, expires, updated  whoisDate
	registrarExpires           whoisDate
	statuses                   []string // as the server puts them
	nameservers                []Nameserver
	signed, signedKnown        bool
	ds                         []DS
	contacts                   []Contact
	referral                   string // host name of the next server
	toRegistrar                bool   // that is the registrar's
	freeStatus, reservedStatus bool   // a status says that it is free, or that it cannot be registered
	nothing                    bool   // a status says that there is nothing: "No Object Found"
	hasStatus, mine            bool   // there is another one; it names the domain
}

// contactSections are paragraphs about others than the domain, in which dates and statuses are theirs.
var contactSections = kit.Regexp(`regist(rant|rar)|holder|owner|admin|tech|billing|contact|person|role|` +
	`nic-hdl|organi[sz]ation|reseller|mntner|service-provider|irt`)

// readRecord reads the answer of a WHOIS server about a domain.
func readRecord(text, name string) *record {
	fields := scan(text)
	r := &record{dates: recordDates(text, name, fields)}
	for _, f := range fields {
		r.read(f, name)
	}
	r.readRegistrar(fields)
	r.contacts = readContacts(fields)
	return r
}

// foreign reports whether a field is about a contact in the registration, not about the domain. A key of several
// words is unambiguous.
func (f field) foreign() bool {
	return contactSections().MatchString(f.section) && !statusKeys[f.section] && !createdKeys[f.section] &&
		!strings.HasPrefix(f.key, "domain ") && !strings.HasSuffix(f.key, " date")
}

// namesServer reports whether a field is a name server. Contacts may have a host as well, but no unambiguous key.
func (f field) namesServer() bool {
	if f.key == "name" {
		return serverKeys[f.section]
	}
	return serverKeys[f.key] && (strings.Contains(f.key, "server") || !strings.Contains(f.section, "contact"))
}

func (r *record) read(f field, name string) {
	switch {
	case domainKeys[f.key], f.key == "name" && f.section == "domain":
		words := strings.Fields(f.value)
		if host := hostName(words[0]); host != "" {
			r.domain = cmp.Or(r.domain, host)
			r.mine = r.mine || host == name
		}
		if len(words) == 3 && words[1] == "is" { // "EXAMPLE.TK is Active"
			r.readStatus(words[2])
		}
	case handleKeys[f.key]:
		r.handle = cmp.Or(r.handle, f.value)
	case referralKeys[f.key]:
		if host := referralHost(f.value); host != "" && r.referral == "" {
			r.referral, r.toRegistrar = host, f.key == "registrar whois server"
		}
	case f.namesServer():
		r.readServer(f, name)
	case dsKeys[f.key] || strings.HasPrefix(f.key, "signing key"):
		r.readDS(f.value)
	case signedKeys[f.key] && f.section == "registrar": // whether that one can do it
	case signedKeys[f.key]:
		r.readSigned(f.value)
	case f.foreign():
	case f.key == "registrar registration expiration date":
		r.dates.set(&r.registrarExpires, f.value)
		r.dates.set(&r.expires, f.value)
	case createdKeys[f.key]:
		r.dates.set(&r.created, f.value)
	case expiresKeys[f.key]:
		r.dates.set(&r.expires, f.value)
	case updatedKeys[f.key]:
		if dateBehind().MatchString(f.value) {
			r.dates.later(&r.updated, f.value) // one line for each change
		}
		r.dates.set(&r.updated, f.value)
	case f.key == "state" && !stateOfDomain().MatchString(f.value):
	case statusKeys[f.key]:
		if m := endInStatus().FindStringSubmatch(f.value); m != nil && (m[1] == "" || f.key == "state") {
			r.dates.set(&r.expires, cmp.Or(m[2], m[3]))
		}
		r.readStatus(f.value)
	}
}

// endInStatus is how two registries tell when the registration ends: "[State] Connected (2027/03/31)" for organizations
// under jp, whose statuses alone are called a state, and "OK-UNTIL 20270102120000" under com.ua.
var endInStatus = kit.Regexp(`^(?:(Connected|Registered) \((\d{4}/\d\d/\d\d)\)|OK-UNTIL (\d{14}))$`)

// readServer reads a name server with its addresses: "ns.example.com. [192.0.2.1]".
func (r *record) readServer(f field, name string) {
	words := strings.FieldsFunc(f.value, func(c rune) bool { return strings.ContainsRune(" \t,[]()", c) })
	if len(words) == 0 {
		return
	}
	if len(words) == 3 && words[1] == "NS" { // a record of the zone
		words = words[2:]
	}
	host := hostName(words[0])
	if host == "" || !strings.Contains(host, ".") {
		return
	}
	if f.key == "dns" && host == name && len(words) == 1 {
		return // the name as it is displayed
	}
	var addresses []netip.Addr
	for _, w := range words[1:] {
		if ip, ok := parseAddress(strings.TrimSuffix(w, "/32")); ok {
			addresses = append(addresses, ip)
		}
	}
	r.nameservers = addNameserver(r.nameservers, host, addresses)
}

// statusSeparator is a comma between two statuses of EPP, which have no spaces.
var statusSeparator = kit.Regexp(`,(client|server|pending|add|auto|ok|inactive)`)

// stateOfDomain are words by which the key "state" speaks of a domain, and not of where a contact lives.
var stateOfDomain = kit.Regexp(
	`(?i)regist|delegat|verif|^ok|active|hold|lock|expire|delet|pend|quarant|free|avail|connect`,
)

// statusTail matches the text that may follow a status: a link, an explanation, a date.
var statusTail = kit.Regexp(`\s*(?:\(.*|https?://.*| - .*|\s\d{4}-\d\d-\d\d.*)$`)

// readStatus reads one or several statuses, separated by commas.
func (r *record) readStatus(value string) {
	for text := range strings.SplitSeq(statusSeparator().ReplaceAllString(value, ", $1"), ", ") {
		text = strings.TrimRight(strings.TrimSpace(statusTail().ReplaceAllString(text, "")), ".,;")
		if text == "" {
			continue
		}
		if freeStatus().MatchString(text) {
			r.freeStatus = true
			r.nothing = r.nothing || strings.Contains(strings.ToLower(text), "no")
			continue
		}
		if reservedStatus().MatchString(text) {
			r.reservedStatus = true
		} else {
			r.hasStatus = true
		}
		r.statuses = addOnce(r.statuses, text)
	}
}

var freeStatus = kit.Regexp(`(?i)^(?:220 )?(?:available|free|no object found|not found|not registered|` +
	`domain not found|unassignable|undelegated|no match)$`)

// reservedStatus matches statuses of names that are not registered and cannot be.
var reservedStatus = kit.Regexp(`(?i)^(?:230 )?reserved$`)

func (r *record) readSigned(value string) {
	word := letters(value)
	r.signedKnown = true
	switch {
	case strings.HasPrefix(word, "unsigned"), strings.HasPrefix(word, "no"), strings.HasPrefix(word, "inactive"),
		word == "false", word == "":
	default:
		r.signed = true
	}
}

var dsRecord = kit.Regexp(`^(\d{1,5})\s+(\d{1,3})\s+(\d{1,3})\s+([0-9A-Fa-f ]{2,200})`)

// readDS reads a DS record in the presentation form (RFC 4034 section 5.3).
func (r *record) readDS(value string) {
	r.signed, r.signedKnown = true, true
	if m := dsRecord().FindStringSubmatch(value); m != nil && len(r.ds) < maxList {
		digest := strings.ToLower(strings.ReplaceAll(m[4], " ", ""))
		r.ds = append(r.ds, DS{atoi(m[1]), atoi(m[2]), atoi(m[3]), digest})
	}
}

// registrarURL separates a name from the web page behind it.
var registrarURL = kit.Regexp(`^(.*\S)\s+\(\s*(https?://[^)\s]+)\s*\)$`)

// readRegistrar reads the registrar of the domain. A paragraph about the registrar may have its name next to its
// handle.
func (r *record) readRegistrar(fields []field) {
	var named, first string
	for _, f := range fields {
		inside := f.section == "registrar" && !f.bare
		switch {
		case inside && (f.key == "name" || f.key == "organization name"):
			named = cmp.Or(named, f.value)
		case registrarKeys[f.key] && (!f.foreign() || strings.Contains(f.section, "registrar")):
			first = cmp.Or(first, f.value)
		case strings.HasSuffix(f.key, "registrar iana id"):
			r.registrar.IANAID = cmp.Or(r.registrar.IANAID, f.value)
		case f.key == "registrar url" || f.key == "registration service url" || f.key == "registrar www" ||
			inside && slices.Contains([]string{"url", "www", "web", "website"}, f.key):
			r.registrar.URL = cmp.Or(r.registrar.URL, f.value)
		case f.key == "registrar abuse contact email" || f.key == "abuse-email":
			r.registrar.AbuseEmail = cmp.Or(r.registrar.AbuseEmail, f.value)
		case f.key == "registrar abuse contact phone" || f.key == "abuse-phone":
			r.registrar.AbusePhone = cmp.Or(r.registrar.AbusePhone, f.value)
		}
	}
	r.registrar.Name = cmp.Or(named, first)
	if m := registrarURL().FindStringSubmatch(r.registrar.Name); m != nil {
		r.registrar.Name, r.registrar.URL = m[1], cmp.Or(r.registrar.URL, m[2])
	}
}
