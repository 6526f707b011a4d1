package main

import (
	"errors"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/resolve"
	"github.com/miekg/dns"
)

// A question is a query of a command line of dig, host or nslookup.
type question struct {
	operation string            // resolve, or ip/nslookup for the names of an address
	fields    map[string]string // of the request
	servers   []digServer       // queried in turn; empty: as the flags say
}

func (q question) isRecordLookup() bool { return q.operation == "resolve" }

// A digLine is a command line of dig, of host or of nslookup.
type digLine struct {
	program   *program
	global    lookup // what precedes the first name, and applies to all
	questions []question
	flags     []string // of diag, in their order
}

// names lists the names to look up.
func (l *digLine) names() (names []string) {
	if l == nil {
		return nil
	}
	for _, q := range l.questions {
		if name := q.fields["qname"]; name != "" {
			names = append(names, name)
		}
	}
	return names
}

// server returns the first name server that the line names, as typed, or "".
func (l *digLine) server() string {
	if l == nil {
		return ""
	}
	for _, q := range l.questions {
		if len(q.servers) > 0 {
			return q.servers[0].typed
		}
	}
	return ""
}

// A lookup holds the options of a command line for one name, or for all.
type lookup struct {
	name          string
	hasName       bool // there is a name
	reverse       bool // the name is an address, after -x
	typeGiven     bool // the type has been given as an option, so that a word may be a name that reads like one
	types         []string
	fields        map[string]string
	servers       []string // as typed after "@"
	hasOwnServers bool     // they are its own
	port          string
	tls           tlsOptions
}

// digParser reads a command line from left to right.
type digParser struct {
	digLine
	lookups      []*lookup
	words        []string               // still to be read
	takesValue   func(flag string) bool // whether a flag of diag takes a value
	optionsEnded bool                   // behind "--" nothing is an option
	bareTypes    []string               // types without an option
}

// parse reads the words that follow the name of a program. Options before the first name apply to all names, those
// after a name to that name, as with dig. Options that were read already are in global.
func (p *program) parse(global lookup, words []string, takesValue func(flag string) bool) (*digLine, error) {
	d := &digParser{digLine: digLine{program: p, global: global.clone()}, words: words, takesValue: takesValue}
	maps.Copy(d.global.fields, p.fields)
	for len(d.words) > 0 {
		word := d.words[0]
		d.words = d.words[1:]
		if err := d.readWord(word); err != nil {
			return nil, err
		}
	}
	return &d.digLine, d.finish()
}

func (l lookup) clone() lookup {
	l.types, l.servers, l.fields = slices.Clone(l.types), slices.Clone(l.servers), maps.Clone(l.fields)
	if l.fields == nil {
		l.fields = map[string]string{}
	}
	return l
}

// readWord reads one word.
func (d *digParser) readWord(word string) error {
	switch {
	case word == "":
		return usagef("qname: is required") // a variable of a script that is not set
	case d.optionsEnded || word == "-" && !d.program.interactive:
		return d.readPlain(word)
	case word == "-":
		return usagef("%s - SERVER is interactive: name what to look up", d.program.name)
	case word == "--":
		d.optionsEnded = true
	case strings.HasPrefix(word, "--"):
		return d.readLong(word)
	case word[0] == '-':
		return d.readDash(word)
	case word[0] == '+':
		return d.readPlus(word)
	case word[0] == '@':
		return d.addServer(word)
	default:
		return d.readPlain(word)
	}
	return nil
}

// currentLookup is the lookup that options are about: the last one, or all.
func (d *digParser) currentLookup() *lookup {
	if len(d.lookups) == 0 {
		return &d.global
	}
	return d.lookups[len(d.lookups)-1]
}

// nextValue is the next word, for an option that needs one.
func (d *digParser) nextValue(option, what string) (string, error) {
	if len(d.words) == 0 || d.words[0] == "" {
		return "", usagef("%s: %s is missing", option, what)
	}
	value := d.words[0]
	d.words = d.words[1:]
	return value, nil
}

// readLong reads a flag of diag, or the long name of an option that other programs have.
func (d *digParser) readLong(word string) error {
	name, value, inside := strings.Cut(word[2:], "=")
	if option := longOptions[name]; option != nil {
		if !inside && option.value != "" {
			var err error
			if value, err = d.nextValue("--"+name, option.value); err != nil {
				return err
			}
		}
		return d.apply(option, "--"+name, value, true)
	}
	d.flags = append(d.flags, word)
	if !inside && d.takesValue(name) && len(d.words) > 0 {
		d.flags, d.words = append(d.flags, d.words[0]), d.words[1:]
	}
	return nil
}

// readDash reads options of one letter, of which the last may have a value in the same word, or those of nslookup.
func (d *digParser) readDash(word string) error {
	if d.program.dashOptions != nil && len(word) > 2 {
		return d.readNamed(d.program.dashOptions, word, word[1:])
	}
	for i := 1; i < len(word); i++ {
		typed := "-" + word[i:i+1]
		option := d.program.letters[word[i]]
		if option == nil {
			return usagef("%s: unknown option of %s; diag resolve --help shows examples", typed, d.program.name)
		}
		if option.value == "" {
			if err := d.apply(option, typed, "", true); err != nil {
				return err
			}
			continue
		}
		value := word[i+1:]
		if value == "" && option.withoutValue != nil && d.optionFollows() {
			return d.apply(option.withoutValue, typed, "", true)
		}
		if value == "" {
			var err error
			if value, err = d.nextValue(typed, option.value); err != nil {
				return err
			}
		}
		return d.apply(option, typed, value, true)
	}
	return nil
}

// optionFollows reports whether the next word is no value, if there is one at all.
func (d *digParser) optionFollows() bool {
	return len(d.words) == 0 || d.words[0] != "" && strings.IndexByte("-+@", d.words[0][0]) >= 0
}

// readPlus reads an option of dig, which may be cut short.
func (d *digParser) readPlus(word string) error {
	return d.readNamed(plusOptions, word, strings.TrimLeft(word, "+"))
}

// readNamed reads an option that has a name: NAME, noNAME or NAME=VALUE.
func (d *digParser) readNamed(options []digOption, word, text string) error {
	name, value, inside := strings.Cut(text, "=")
	typed, on := word[:len(word)-len(text)]+name, true
	found, err := findOption(options, strings.ToLower(name), typed)
	if without, ok := strings.CutPrefix(strings.ToLower(name), "no"); err != nil && ok {
		on = false
		found, err = findOption(options, without, typed)
	}
	switch {
	case err != nil:
		return err
	case inside && value == "" && found.value != "":
		return usagef("%s: %s is missing", typed, found.value)
	case !inside && found.value != "" && found.withoutValue != nil && on:
		return d.apply(found.withoutValue, typed, "", on)
	case !inside && found.value != "" && on:
		return usagef("%s: %s is missing, as in %s=…", typed, found.value, typed)
	case inside:
		typed = word
	}
	return d.apply(found, typed, value, on)
}

// findOption finds an option by its name or an unambiguous prefix of it.
func findOption(options []digOption, name, typed string) (*digOption, error) {
	var found []*digOption
	var names []string
	for i := range options {
		for _, full := range strings.Fields(options[i].names) {
			if full == name {
				return &options[i], nil
			}
			if name != "" && strings.HasPrefix(full, name) {
				names = append(names, typed[:1]+full)
				if !slices.Contains(found, &options[i]) {
					found = append(found, &options[i])
				}
			}
		}
	}
	switch len(found) {
	case 0:
		return nil, usagef("%s: unknown option; diag resolve --help shows examples", typed)
	case 1:
		return found[0], nil
	}
	return nil, usagef("%s is short for several options: %s", typed, strings.Join(names, ", "))
}

// apply applies an option.
func (d *digParser) apply(o *digOption, typed, value string, on bool) error {
	switch {
	case on && o.unsupported != "":
		return usagef("%s: %s", typed, o.unsupported)
	case !on && o.alwaysOn != "":
		return usagef("%s: %s", typed, o.alwaysOn)
	case o.apply != nil:
		return o.apply(d, typed, value, on)
	}
	return nil // it only formats the output
}

// addServer adds a server to the current lookup.
func (d *digParser) addServer(word string) error {
	if len(word) == 1 {
		return usagef("@: the name server is missing, as in @192.0.2.53")
	}
	l := d.currentLookup()
	if !l.hasOwnServers {
		l.servers, l.hasOwnServers = nil, true // not those of all
	}
	l.servers = append(l.servers, splitServers(word[1:])...)
	return nil
}

// readPlain reads a type, a class, a name or, behind the name for host and nslookup, a server.
func (d *digParser) readPlain(word string) error {
	l := d.currentLookup()
	if kind, value, ok := strings.Cut(word, "="); ok {
		switch strings.ToLower(kind) {
		case "type", "querytype", "query", "q":
			return d.addType(word, value)
		case "class":
			return d.setClass(word, value)
		case "ixfr":
			return d.addType(word, "IXFR")
		}
	}
	if !d.optionsEnded && (!l.typeGiven || l.hasName) {
		switch {
		case isRecordType(word):
			d.bareTypes = append(d.bareTypes, word)
			return d.addType(word, word)
		case isRecordClass(word):
			return d.setClass(word, word)
		case l.hasName && d.program.nameFirst && !strings.Contains(word, "."):
			l.types = append(l.types, word) // the check reports an unknown type
			return nil
		case l.hasName && looksLikeType(word):
			return d.addType(word, word)
		}
	}
	switch {
	case !d.program.singleName || len(d.lookups) == 0:
		d.beginLookup(word)
	case d.program.takesServer && !l.hasOwnServers:
		return d.addServer("@" + word)
	case d.program.takesServer:
		return usagef("%s takes one name and one server: %q is one too many", d.program.name, word)
	default:
		return usagef("%s takes one name: %q is one too many", d.program.name, word)
	}
	return nil
}

// beginLookup begins the lookup of a name.
func (d *digParser) beginLookup(name string) *lookup {
	l := d.global.clone()
	l.name, l.hasName, l.typeGiven, l.hasOwnServers = name, true, false, false
	d.lookups = append(d.lookups, &l)
	return &l
}

// isRecordType reports whether a word is the name of a type.
func isRecordType(word string) bool {
	upper := strings.ToUpper(word)
	_, ok := dns.StringToType[upper]
	if digits, generic := strings.CutPrefix(upper, "TYPE"); generic && digits != "" {
		_, err := strconv.ParseUint(digits, 10, 16)
		ok = ok || err == nil
	}
	return ok && upper != "NONE"
}

// looksLikeType reports whether a word behind a name is more likely a type that there is not than another name.
func looksLikeType(word string) bool {
	return strings.Trim(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == "" && len(word) > 1
}

// classes are those that dig knows by name.
var classes = map[string]string{"in": "IN", "ch": "CH", "chaos": "CH", "hs": "HS", "hesiod": "HS"}

func isRecordClass(word string) bool { return classes[strings.ToLower(word)] != "" }

func (d *digParser) addType(typed, kind string) error {
	t, err := resolve.ParseType(kind)
	if fault, ok := errors.AsType[*diag.InputError](err); ok {
		return usagef("%s: %s", typed, fault.Reason)
	}
	l := d.currentLookup()
	if !slices.Contains(l.types, t.String()) {
		l.types = append(l.types, t.String())
	}
	return nil
}

func (d *digParser) setClass(typed, class string) error {
	class = classes[strings.ToLower(class)]
	if !slices.Contains(resolve.Internet.Values(), class) {
		return usagef("%s: supported classes are %s", typed, strings.Join(resolve.Internet.Values(), " and "))
	}
	d.currentLookup().fields["qclass"] = class
	return nil
}

// finish makes the questions of the parsed words.
func (d *digParser) finish() error {
	if d.hasFlag("file", "f") {
		if len(d.lookups) > 0 {
			return usagef("-f names the questions: omit %q", d.lookups[0].name)
		}
		return nil
	}
	if d.program.nameFirst && len(d.lookups) == 0 && len(d.bareTypes) == 2 && !d.hasFlag("qname") {
		d.beginLookup(d.bareTypes[0]).types = d.global.types[len(d.global.types)-1:]
	}
	if len(d.lookups) == 0 && d.program.asksRoot && len(d.global.types) == 0 && !d.hasFlag("qname") {
		d.beginLookup(".").types = []string{"NS"} // as dig does
	}
	if len(d.lookups) == 0 {
		l := d.global.clone() // what is missing is reported where the request is made, unless a flag has it
		d.lookups = append(d.lookups, &l)
	}
	for _, l := range d.lookups {
		if err := d.addQuestions(l); err != nil {
			return err
		}
	}
	return nil
}

// hasFlag reports whether a flag of diag is there.
func (d *digParser) hasFlag(names ...string) bool {
	return slices.ContainsFunc(d.flags, func(word string) bool {
		name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
		return strings.HasPrefix(word, "-") && slices.Contains(names, name)
	})
}

// addQuestions adds the questions about a name: one for each type.
func (d *digParser) addQuestions(l *lookup) error {
	servers, err := l.parseServers()
	if err != nil {
		return err
	}
	ip, arpa, err := l.parseAddress()
	switch {
	case err != nil:
		return err
	case ip.IsValid() && len(l.fields) == 0 && !d.asksResolve():
		d.questions = append(d.questions, question{"ip/nslookup", map[string]string{"ip": ip.String()}, servers})
		return nil
	case arpa != "":
		l.name = arpa
		if len(l.types) == 0 {
			l.types = []string{"PTR"}
		}
	case len(l.types) == 0 && l.hasName && !d.hasFlag("qtype"):
		l.types = d.program.types
	}
	for _, kind := range l.types {
		fields := maps.Clone(l.fields)
		fields["qtype"] = kind
		d.questions = append(d.questions, question{"resolve", fields, servers})
	}
	if len(l.types) == 0 {
		d.questions = append(d.questions, question{"resolve", l.fields, servers})
	}
	for i := range d.questions {
		if q := &d.questions[i]; l.hasName && q.fields["qname"] == "" && q.operation == "resolve" {
			q.fields["qname"] = l.name
		}
	}
	return nil
}

// asksResolve reports whether a flag of diag concerns the lookup of records, so that an address is looked up as PTR
// records.
func (d *digParser) asksResolve() bool {
	return slices.ContainsFunc(d.flags, func(word string) bool {
		name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
		return strings.HasPrefix(word, "--") && isResolveFlag(name)
	})
}

// parseAddress returns the address whose names are looked up, and its reverse name in the DNS; an address may be the
// beginning of one, as of a network.
func (l *lookup) parseAddress() (ip netip.Addr, arpa string, err error) {
	wantsPTR := len(l.types) == 0 || slices.Equal(l.types, []string{"PTR"})
	if ip, err = netip.ParseAddr(l.name); err == nil && ip.Zone() == "" && (l.reverse || wantsPTR) {
		if arpa, err = dns.ReverseAddr(ip.String()); !wantsPTR {
			ip = netip.Addr{}
		}
		return ip, arpa, err
	}
	if !l.reverse {
		return netip.Addr{}, "", nil
	}
	arpa = "in-addr.arpa."
	octets := strings.Split(strings.TrimSuffix(l.name, "."), ".")
	for _, octet := range octets {
		if _, err := strconv.ParseUint(octet, 10, 8); err != nil || len(octets) > 3 {
			return netip.Addr{}, "", usagef("-x: %q is not an IP address, nor the beginning of an IPv4 address", l.name)
		}
		arpa = octet + "." + arpa
	}
	return netip.Addr{}, arpa, nil
}
