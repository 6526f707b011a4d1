package registry

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag/kit"
)

// The classes of objects that are asked for (RFC 9083 section 5).
const (
	classDomain  = "domain"
	classNetwork = "ip network"
)

// An object is an RDAP answer about a domain, a network or an autonomous system (RFC 9083).
type object struct {
	class, handle, name string // name: of a domain in ASCII, of the others as given
	statuses            []string
	events              map[string]time.Time // the first of each kind, by its name in lower case
	entities            []entity
	redacted            []string // roles of which something was left out, "" for none in particular
	links               []link
	nameservers         []Nameserver
	signed, signedKnown bool
	ds                  []DS

	start, end      netip.Addr
	cidrs           []netip.Prefix
	kind, country   string
	parent          string
	origins         []int64 // autonomous systems
	emptyDelegation bool    // the answer states that there are no name servers
	errorCode       int64
}

// An entity is a person or organization with a part in the registration (RFC 9083 section 5.1).
type entity struct {
	handle   string
	roles    []string // in lower case
	card     card
	ianaID   string
	statuses []string
	redacted bool
	depth    int    // 0 for entities of the object itself
	within   string // roles of the entity that it belongs to, joined by spaces
}

// A link leads to another document (RFC 9083 section 4.2).
type link struct{ rel, kind, href string }

// parseObject reads an answer. Only what is no JSON object at all is an error: of the rest, what can be
// read is read.
func parseObject(data []byte) (*object, error) {
	n, err := parseJSON(data)
	if err != nil {
		return nil, err
	}
	o := &object{
		class: strings.ToLower(n.get("objectClassName").text()), handle: n.get("handle").text(),
		name: n.get("name").text(), statuses: n.get("status").texts(), events: map[string]time.Time{},
		kind: n.get("type").text(), country: n.get("country").text(), parent: n.get("parentHandle").text(),
	}
	if ldh := n.get("ldhName").text(); ldh != "" {
		o.name = hostName(ldh)
	}
	o.errorCode, _ = n.get("errorCode").number()
	o.readEvents(n)
	for _, l := range n.get("links").list() {
		o.links = append(o.links, link{strings.ToLower(l.get("rel").text()), l.get("type").text(), l.get("href").text()})
	}
	o.readEntities(n, entity{depth: -1})
	o.readRedactions(n)
	o.readNameservers(n)
	o.readSecureDNS(n.get("secureDNS"))
	o.readNetwork(n)
	return o, nil
}

func (o *object) readEvents(n node) {
	events := n.get("events").list()
	dates := datesOf(kit.Map(events, func(e node) string { return e.get("eventDate").text() })...)
	for _, e := range events {
		action := strings.ToLower(e.get("eventAction").text())
		when, ok := dates.parse(e.get("eventDate").text())
		if _, twice := o.events[action]; ok && action != "" && !twice && len(o.events) < maxList {
			o.events[action] = when
		}
	}
}

// event returns when something happened, or the zero time.
func (o *object) event(action string) time.Time { return o.events[action] }

func (o *object) readEntities(n node, parent entity) {
	if parent.depth+1 >= maxDepth {
		return
	}
	for _, e := range n.get("entities").list() {
		if len(o.entities) >= maxEntities {
			return
		}
		if _, ok := e.v.(map[string]any); !ok {
			continue
		}
		read := o.readEntity(e)
		read.depth, read.within = parent.depth+1, strings.Join(parent.roles, " ")
		o.entities = append(o.entities, read)
		o.readEntities(e, read)
	}
}

func (o *object) readEntity(n node) entity {
	e := entity{handle: n.get("handle").text(), statuses: n.get("status").texts(), card: parseCard(n.get("vcardArray"))}
	for _, r := range n.get("roles").texts() {
		e.roles = append(e.roles, strings.ToLower(r))
	}
	for _, id := range n.get("publicIds").list() {
		if strings.Contains(strings.ToLower(id.get("type").text()), "iana") {
			e.ianaID = id.get("identifier").text()
		}
	}
	e.redacted = e.card.redacted || hides(n) || slices.ContainsFunc(e.statuses, func(s string) bool {
		return s == "private" || s == "removed" || s == "obscured" // RFC 9083 section 10.2.2
	})
	return e
}

// hides reports whether a remark says that data were left out (RFC 9083 section 10.2.1, and the title
// that registries of generic domains used before RFC 9537).
func hides(n node) bool {
	for _, r := range n.get("remarks").list() {
		kind := strings.ToLower(r.get("type").text())
		if strings.Contains(strings.ToLower(r.get("title").text()), "redacted") ||
			strings.Contains(kind, "redacted") || kind == "object truncated due to authorization" {
			return true
		}
	}
	return false
}

func (e entity) hasRole(roles ...string) bool {
	return slices.ContainsFunc(roles, func(r string) bool { return slices.Contains(e.roles, r) })
}

func (o *object) readNameservers(n node) {
	list := n.get("nameservers").list()
	o.emptyDelegation = n.has("nameservers") && len(list) == 0
	for _, s := range list {
		name := cmp.Or(hostName(s.get("ldhName").text()), hostName(s.get("unicodeName").text()))
		if name == "" {
			continue
		}
		var addresses []netip.Addr
		ips := s.get("ipAddresses")
		for _, ip := range append(ips.get("v4").list(), ips.get("v6").list()...) {
			if a, err := netip.ParseAddr(ip.text()); err == nil && a.Zone() == "" {
				addresses = append(addresses, a.Unmap())
			}
		}
		o.nameservers = addNameserver(o.nameservers, name, addresses)
	}
}

func (o *object) readSecureDNS(n node) {
	if n.v == nil {
		return
	}
	o.signedKnown = n.has("delegationSigned")
	o.signed = n.get("delegationSigned").isTrue()
	for _, d := range n.get("dsData").list() {
		tag, ok1 := d.get("keyTag").number()
		algorithm, ok2 := d.get("algorithm").number()
		kind, ok3 := d.get("digestType").number()
		digest := strings.ToLower(d.get("digest").text())
		if ok1 && ok2 && ok3 && digest != "" {
			o.ds = append(o.ds, DS{int(tag), int(algorithm), int(kind), clip(digest, 200)})
		}
	}
}

// readNetwork reads what only networks have (RFC 9083 section 5.4).
func (o *object) readNetwork(n node) {
	o.start, _ = parseAddress(n.get("startAddress").text())
	o.end, _ = parseAddress(n.get("endAddress").text())
	for _, c := range n.get("cidr0_cidrs").list() { // the extension cidr0 of the RIRs
		prefix := c.get("v4prefix").text() + c.get("v6prefix").text()
		ip, err := netip.ParseAddr(prefix)
		length, ok := c.get("length").number()
		if p, err2 := ip.Prefix(int(min(max(length, -1), 129))); err == nil && err2 == nil && ok {
			o.cidrs = append(o.cidrs, p)
		}
	}
	if len(o.cidrs) == 0 {
		o.cidrs = prefixes(o.start, o.end)
	}
	for _, as := range n.get("arin_originas0_originautnums").list() { // the extension of ARIN
		if number, ok := as.number(); ok && number >= 0 && number <= 1<<32-1 {
			o.origins = append(o.origins, number)
		}
	}
}

// related returns the link to the answer of the registrar, which is RDAP like this one.
func (o *object) related() string {
	for _, l := range o.links {
		if l.rel == "related" && (strings.Contains(l.kind, "rdap") || strings.Contains(l.href, "/domain/")) {
			return l.href
		}
	}
	return ""
}

// roleWords are the words for roles in the names and paths of redactions, such as "Tech Email" or
// "$.entities[?(@.roles[0]=='technical')]".
var roleWords = []struct{ word, role string }{
	{"registrant", "registrant"}, {"administrative", "administrative"}, {"admin", "administrative"},
	{"technical", "technical"}, {"tech", "technical"}, {"billing", "billing"}, {"abuse", "abuse"},
}

// readRedactions reads the contacts with redacted data (RFC 9537 section 4.2). The contact follows from the name of
// the field, or else from the path to it.
func (o *object) readRedactions(n node) {
	for _, r := range n.get("redacted").list() {
		name := r.get("name")
		role := cmp.Or(roleIn(name.get("type").text()), roleIn(name.get("description").text()),
			roleIn(r.get("prePath").text()), roleIn(r.get("postPath").text()), roleIn(r.get("replacementPath").text()))
		o.redacted = addOnce(o.redacted, role)
	}
	for i, e := range o.entities {
		if e.depth == 0 && e.hasRole(o.redacted...) && !e.hasRole("registrar") {
			o.entities[i].redacted = true
		}
	}
}

func roleIn(text string) string {
	text = strings.ToLower(text)
	for _, w := range roleWords {
		if strings.HasPrefix(text, w.word) || strings.Contains(text, "'"+w.word+"'") {
			return w.role
		}
	}
	return ""
}

// The limits of an answer.
const (
	maxAnswer   = 1 << 20 // bytes of JSON; the largest objects seen have 400 KiB
	maxList     = 200     // elements of a list, as of name servers
	maxText     = 1000    // characters of a text that is reported
	maxEntities = 100     // contacts that are read
	maxDepth    = 4       // of contacts within contacts; a registrar's abuse contact has depth 2
)

// A node is a value of a JSON document whose shape cannot be relied on. Reading what is not there, or
// is of another type, gives nothing.
type node struct{ v any }

func parseJSON(data []byte) (node, error) {
	var object map[string]any
	if err := json.Unmarshal(data, &object); err != nil {
		return node{}, fmt.Errorf("the answer is not a JSON object: %w", err)
	}
	if object == nil {
		return node{}, fmt.Errorf("the answer is not a JSON object")
	}
	return node{object}, nil
}

func (n node) get(key string) node {
	object, _ := n.v.(map[string]any)
	return node{object[key]}
}

func (n node) has(key string) bool {
	object, _ := n.v.(map[string]any)
	_, ok := object[key]
	return ok
}

// list returns the elements of an array. What is no array counts as one element, which some servers
// write where they have one only; null counts as none.
func (n node) list() []node {
	if n.v == nil {
		return nil
	}
	array, ok := n.v.([]any)
	if !ok {
		return []node{n}
	}
	return kit.Map(array[:min(len(array), maxList)], func(v any) node { return node{v} })
}

func (n node) at(i int) node {
	array, _ := n.v.([]any)
	if i >= len(array) {
		return node{}
	}
	return node{array[i]}
}

// text returns a string or the text of a number, as one line without space around it.
func (n node) text() string {
	switch v := n.v.(type) {
	case string:
		return oneLine(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return ""
}

// texts returns the elements of an array that have a text, each once.
func (n node) texts() []string {
	var list []string
	for _, e := range n.list() {
		list = addOnce(list, e.text())
	}
	return list
}

// number returns a whole number that is written as a number or as a string.
func (n node) number() (int64, bool) {
	i, err := strconv.ParseInt(n.text(), 10, 64)
	return i, err == nil
}

// isTrue reports whether the value is true.
func (n node) isTrue() bool {
	b, ok := n.v.(bool)
	return ok && b || strings.EqualFold(n.text(), "true")
}

// oneLine makes a text fit for a report: valid UTF-8, one line, at most maxText characters, no control characters.
func oneLine(s string) string {
	s = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "\uFFFD"), func(r rune) bool {
		return r <= ' ' || r == 0x7F || r == '\u2028' || 0x80 <= r && r < 0xA0
	}), " ")
	return clip(s, maxText)
}

// clip returns at most so many characters of a text.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for i := range s {
		if limit--; limit < 0 {
			return s[:i]
		}
	}
	return s
}

// addOnce adds a text to a list unless it is empty, there already, or one too many.
func addOnce(list []string, s string) []string {
	if s == "" || len(list) >= maxList {
		return list
	}
	for _, have := range list {
		if strings.EqualFold(have, s) {
			return list
		}
	}
	return append(list, s)
}
