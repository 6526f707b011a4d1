package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/diagkit/diagkit/diag/resolver"
	"github.com/diagkit/diagkit/httpapi"
)

// digExamples is part of the help of resolve.
const digExamples = `
  diag dig example.com A AAAA MX +short
  diag dig @ns1.example.com example.com SOA +norec +nsid
  diag dig -x 192.0.2.1 @9.9.9.9
  diag dig example.com MX +trace
  diag dig +tcp -6 +time=5 +tries=1 example.com
  diag dig CH TXT version.bind @192.0.2.53
  diag kdig +tls @9.9.9.9 example.com
  diag host -t MX example.com 192.0.2.53
  diag nslookup -type=txt example.com`

// A program is one whose command line diag understands.
type program struct {
	name        string
	letters     map[byte]*digOption
	dashOptions []digOption       // options with names behind one dash, of nslookup
	types       []string          // types that are queried by default; none: as resolve does
	fields      map[string]string // of every question
	asksRoot    bool              // without a name it queries the name servers of the root
	singleName  bool
	takesServer bool // follows the name
	interactive bool // begins with "-"
	nameFirst   bool // of two words the first is the name, even if it reads like a type
}

// A digOption is the meaning of an option of these programs. One without effect only formats the output.
type digOption struct {
	names        string     // words that name it, also by a prefix that no other option has
	value        string     // what its value is, such as "a type"; empty: it has none
	withoutValue *digOption // its meaning without a value; nil: it needs one
	unsupported  string     // why it cannot be had
	alwaysOn     string     // why it cannot be switched off
	apply        func(d *digParser, typed, value string, on bool) error
}

// setField sets a field of the question.
func setField(names, field, on, off string) digOption {
	return digOption{names: names, apply: func(d *digParser, _, _ string, given bool) error {
		d.currentLookup().fields[field] = off
		if given {
			d.currentLookup().fields[field] = on
		}
		return nil
	}}
}

// setNumber sets a field to a number, which is at least floor, and plus more than was given.
func setNumber(names, field string, floor, plus, low, high int) digOption {
	return digOption{names: names, value: "a number", apply: func(d *digParser, typed, value string, on bool) error {
		if !on {
			delete(d.currentLookup().fields, field)
			return nil
		}
		n, err := strconv.Atoi(value)
		if n = max(n, floor) + plus; err != nil || value[0] == '-' || n < low || high < n {
			return usagef("%s: must be a number from %d to %d", joinTyped(typed, value), max(low-plus, 0), high-plus)
		}
		d.currentLookup().fields[field] = strconv.Itoa(n)
		return nil
	}}
}

// passFlag is a flag of diag.
func passFlag(names, flag, value string) digOption {
	return digOption{names: names, value: value, apply: func(d *digParser, _, value string, on bool) error {
		switch {
		case on && value != "":
			d.flags = append(d.flags, flag, value)
		case on:
			d.flags = append(d.flags, flag)
		}
		return nil
	}}
}

func formatOnly(names string) digOption { return digOption{names: names} }

func unsupported(names, reason string) digOption { return digOption{names: names, unsupported: reason} }

// useTLS queries over TLS.
func useTLS(names string, t resolver.Transport) digOption {
	return digOption{names: names, apply: func(d *digParser, typed, value string, on bool) error {
		s := &d.currentLookup().tls
		if !on {
			*s = tlsOptions{}
			return nil
		}
		if value != "" && value[0] != '/' {
			return usagef("%s: the path must begin with a slash, such as /dns-query", typed)
		}
		s.typed, s.transport, s.path = typed, t, value
		return nil
	}}
}

// joinTyped is an option as it was typed.
func joinTyped(typed, value string) string {
	if strings.HasSuffix(typed, "="+value) {
		return typed
	}
	return typed + " " + value
}

// useIPVersion queries over one version of the Internet Protocol.
func useIPVersion(version string) *digOption {
	o := setField("", "ip_version", version, "")
	return &o
}

// Options that several programs have.
var (
	typeOption = digOption{names: "type querytype query", value: "a type",
		apply: func(d *digParser, typed, value string, _ bool) error {
			d.currentLookup().typeGiven = true
			return d.addType(joinTyped(typed, value), value)
		}}
	classOption = digOption{names: "class", value: "a class",
		apply: func(d *digParser, typed, value string, _ bool) error {
			return d.setClass(joinTyped(typed, value), value)
		}}
	portOption = digOption{names: "port", value: "a port",
		apply: func(d *digParser, typed, value string, _ bool) error {
			if n, err := strconv.ParseUint(value, 10, 16); err != nil || n == 0 {
				return usagef("%s: is not a port", joinTyped(typed, value))
			}
			d.currentLookup().port = value
			return nil
		}}
	nameOption = digOption{value: "a name", apply: func(d *digParser, _, value string, _ bool) error {
		d.beginLookup(value)
		return nil
	}}
	serverOption = digOption{value: "a name server",
		apply: func(d *digParser, _, value string, _ bool) error { return d.addServer("@" + value) }}
	reverseOption = digOption{value: "an address", apply: func(d *digParser, _, value string, _ bool) error {
		d.beginLookup(value).reverse = true
		return nil
	}}
	certificateOption = digOption{names: "tls-hostname", value: "a name",
		apply: func(d *digParser, _, value string, _ bool) error { d.currentLookup().tls.name = value; return nil }}
	ednsOption = digOption{names: "edns", value: "a version", alwaysOn: "queries always have EDNS",
		withoutValue: &digOption{}, apply: func(_ *digParser, typed, value string, _ bool) error {
			if value != "0" {
				return usagef("%s: queries have EDNS version 0", typed)
			}
			return nil
		}}
)

// Reasons for unsupported options.
const (
	noSignature = "queries are not signed (TSIG)"
	noSource    = "the system chooses the source address"
	noSearch    = "names are looked up as they are, without a search list"
	noFlags     = "the flags that can be set are RD (+recurse), CD (+cdflag) and DO (+dnssec)"
	noHeader    = "queries have the opcode QUERY, a random identifier and one question"
	noEDNS      = "the only EDNS option that can be sent is NSID (+nsid)"
	noCookies   = "DNS cookies are not sent"
	noCheck     = "diag dnssec NAME validates the answer and shows the chain of trust"
	noTransfer  = "zones are not transferred; diag dns NAME says who may transfer one"
	noANY       = "servers answer ANY with whatever they like (RFC 8482); name the types with -t"
	noCompare   = "diag dns NAME compares the answers of all name servers of a zone"
	noPackets   = "packets are not read from files or written to them"
	noClient    = "client certificates are not sent"
	noTransport = "the transports are UDP, +tcp, +tls and +https"
	noTrust     = "the certificate must be valid for the server, or for the name of +tls-hostname=NAME"
	noRetry     = "SERVFAIL is final; no other server is asked after it"
)

// plusOptions are the options of dig, kdig and delv that begin with a plus sign.
var plusOptions = []digOption{
	setField("dnssec do", "dnssec", "true", "false"), setField("recurse rdflag", "recursion_desired", "true", "false"),
	setField("cdflag cd", "checking_disabled", "true", "false"), setField("nsid", "nsid", "true", "false"),
	setField("trace", "trace", "true", "false"), setField("tcp vc", "transport", "tcp", "udp"),
	setNumber("time timeout", "timeout_seconds", 1, 0, 1, 30), setNumber("tries", "tries", 1, 0, 1, 10),
	setNumber("retry", "tries", 0, 1, 1, 10), setNumber("bufsize", "udp_payload_size", 0, 0, 512, 4096),
	useTLS("tls", resolver.DoT),
	{names: "https", value: "a path", withoutValue: new(useTLS("", resolver.DoH)), apply: useTLS("", resolver.DoH).apply},
	certificateOption, ednsOption,
	{names: "tls-ca", value: "a file", withoutValue: &digOption{},
		unsupported: "name the authorities to trust with --ca-file FILE"},
	passFlag("short", "--short", ""), passFlag("json", "--json", ""),

	formatOnly("all additional answer authority class cmd comments crypto dlv expandaaaa generic header identify idn " +
		"idnin idnout mapped multiline onesoa opt optpresent opttext qr question root rrcomments showbadcookie showbadvers " +
		"split stats trust tsig ttl ttlid ttlunits unknownformat"),
	{names: "adflag ad", alwaysOn: "queries always have the AD flag, which asks if the answer is authentic"},
	{names: "fail", alwaysOn: noRetry},

	unsupported("aaflag aaonly coflag raflag tcflag zflag", noFlags), unsupported("badcookie cookie", noCookies),
	unsupported("besteffort", "malformed replies are not shown"),
	unsupported("defname domain ndots search showsearch", noSearch),
	unsupported("dns64prefix", "NAT64 prefixes are not looked up"),
	unsupported("dscp", "the system chooses the DSCP value"),
	unsupported("alignment ednsflags ednsnegotiation ednsopt expire keepalive padding subnet", noEDNS),
	unsupported("header-only opcode qid", noHeader),
	unsupported("ignore", "truncated replies are always asked for again over TCP"),
	unsupported("keepopen", "connections are not kept open between queries"),
	unsupported("nssearch", noCompare), unsupported("mtrace rtrace sigchase topdown trusted-key vtrace", noCheck),
	unsupported("unexpected", "replies from other addresses are never accepted"),
	unsupported("yaml", "reports are printed as JSON with +json; diag text/json/to-yaml - makes YAML of it"),
	unsupported("fastopen http-plain http-plain-get https-get proxy quic", noTransport),
	unsupported("tls-certfile tls-keyfile", noClient),
	unsupported("tls-ocsp-stapling tls-pin tls-sni", noTrust),
}

// The options of nslookup.
var nslookupOptions = []digOption{
	typeOption, classOption, portOption, setField("vc", "transport", "tcp", "udp"),
	setField("recurse", "recursion_desired", "true", "false"), setNumber("timeout", "timeout_seconds", 1, 0, 1, 30),
	setNumber("retry", "tries", 1, 0, 1, 10), formatOnly("debug d2 all"),
	{names: "fail", alwaysOn: noRetry},
	unsupported("defname domain ndots search srchlist", noSearch),
}

// letterOptions are the options of one letter that all programs have, and those of one.
func letterOptions(own map[byte]digOption) map[byte]*digOption {
	letters := map[byte]*digOption{
		'4': useIPVersion("4"), '6': useIPVersion("6"), 'p': &portOption, 't': &typeOption, 'c': &classOption,
		'h': new(passFlag("", "--help", "")), 'v': new(passFlag("", "-v", "")), 'q': new(passFlag("", "-q", "")),
		'o': new(passFlag("", "-o", "a file")), 'f': new(passFlag("", "-f", "a file")),
	}
	for letter, option := range own {
		letters[letter] = new(option)
	}
	return letters
}

// unsupportedValue is an option with a value that cannot be had.
func unsupportedValue(value, reason string) digOption {
	return digOption{value: value, unsupported: reason}
}

var digLetters = letterOptions(map[byte]digOption{
	'q': {value: "a name", withoutValue: new(passFlag("", "-q", "")), apply: nameOption.apply},
	'x': reverseOption, 'n': serverOption, 'J': passFlag("", "--json", ""),
	'd': {}, 'm': {}, 'r': {}, 'u': {},
	'b': unsupportedValue("an address", noSource), 'k': unsupportedValue("a file", noSignature),
	'y': unsupportedValue("a key", noSignature),
	'i': unsupported("", "IP6.INT is no longer used (RFC 4159)"),
	'a': unsupportedValue("a file", noCheck), 'E': unsupportedValue("a file", noPackets),
	'G': unsupportedValue("a file", noPackets),
	'V': unsupported("", "diag version prints the version"),
})

var hostLetters = letterOptions(map[byte]digOption{
	'a': unsupported("", noANY), 'A': unsupported("", noANY), 'C': unsupported("", noCompare),
	'l': unsupported("", noTransfer),
	'd': passFlag("", "-v", ""), 'i': {}, 'm': {value: "a flag"}, 'n': {}, 's': {},
	'N': unsupportedValue("a number", noSearch),
	'r': setField("", "recursion_desired", "false", ""), 'R': setNumber("", "tries", 1, 1, 1, 10),
	'T': setField("", "transport", "tcp", ""), 'U': setField("", "transport", "udp", ""),
	'w': unsupported("", "the wait for a reply is limited; set it with -W SECONDS"),
	'W': setNumber("", "timeout_seconds", 1, 0, 1, 30), 'V': unsupported("", "diag version prints the version"),
})

var drillLetters = letterOptions(map[byte]digOption{
	'D': setField("", "dnssec", "true", ""), 'T': setField("", "trace", "true", ""), 'S': unsupported("", noCheck),
	't': setField("", "transport", "tcp", ""), 'u': setField("", "transport", "udp", ""),
	'x': {}, 'a': {}, 'Q': {}, 'z': {},
	'V': {value: "a number"}, 'b': setNumber("", "udp_payload_size", 0, 0, 512, 4096),
	'o': {value: "flags", apply: setDrillFlags}, 's': unsupported("", noCheck), 'k': unsupportedValue("a file", noCheck),
	'I': unsupportedValue("an address", noSource), 'y': unsupportedValue("a key", noSignature),
	'd': unsupportedValue("a domain", noCheck),
	'f': unsupportedValue("a file", noPackets), 'i': unsupportedValue("a file", noPackets),
	'w': unsupportedValue("a file", noPackets),
	'q': unsupportedValue("a file", noPackets), 'c': unsupportedValue("a file", "name the server as @SERVER"),
	'r': unsupportedValue("a file", "name other root servers with --root-hints FILE"),
})

// setDrillFlags sets the flags RD and CD, in capitals, or clears them.
func setDrillFlags(d *digParser, typed, value string, _ bool) error {
	field := map[string]string{"rd": "recursion_desired", "cd": "checking_disabled"}
	for len(value) > 0 {
		flag := value[:min(2, len(value))]
		value = value[len(flag):]
		name, on := field[flag], "false"
		if name == "" {
			name, on = field[string([]byte{flag[0] | 0x20, flag[len(flag)-1] | 0x20})], "true"
		}
		if name == "" || flag[0]&0x20 != flag[len(flag)-1]&0x20 {
			return usagef("%s %s: %s", typed, flag, noFlags)
		}
		d.currentLookup().fields[name] = on
	}
	return nil
}

// longOptions are those of doggo.
var longOptions = map[string]*digOption{
	"query": &nameOption, "type": &typeOption, "class": &classOption, "nameserver": &serverOption,
}

// programs are those whose names are commands of diag.
var programs = map[string]*program{
	"resolve": {name: "resolve", letters: digLetters, nameFirst: true},
	"dig":     {name: "dig", letters: digLetters, asksRoot: true},
	"kdig":    {name: "kdig", letters: digLetters, asksRoot: true},
	"doggo":   {name: "doggo", letters: digLetters},
	"delv":    {name: "delv", letters: digLetters, asksRoot: true, fields: map[string]string{"dnssec": "true"}},
	"drill":   {name: "drill", letters: drillLetters, asksRoot: true, singleName: true},
	"host": {
		name:        "host",
		letters:     hostLetters,
		types:       []string{"A", "AAAA", "MX"},
		singleName:  true,
		takesServer: true,
	},
	"nslookup": {name: "nslookup", letters: letterOptions(nil), dashOptions: nslookupOptions, types: []string{"A", "AAAA"},
		singleName: true, takesServer: true, interactive: true},
}

// typeProgram is a command line that begins with a type instead of the name of a program.
var typeProgram = &program{name: "diag", letters: digLetters}

// isResolveFlag reports whether a flag is of the operation resolve, and not of ip/nslookup too.
func isResolveFlag(flag string) bool {
	hasFlag := func(operation string) bool {
		ep, _ := httpapi.Endpoints().ByName(operation)
		return slices.ContainsFunc(ep.Params(), func(p httpapi.Param) bool { return flagName(p.Name) == flag })
	}
	return flag != "resolver" && hasFlag("resolve") && !hasFlag("ip/nslookup")
}

// fieldTakesValue reports whether the flag of a field of these operations takes a value.
func fieldTakesValue(flag string) bool {
	for _, operation := range []string{"resolve", "ip/nslookup"} {
		ep, _ := httpapi.Endpoints().ByName(operation)
		for _, p := range ep.Params() {
			if flagName(p.Name) == flag {
				return p.Kinds[0] != "boolean"
			}
		}
	}
	return false
}
