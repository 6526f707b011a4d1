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

// A program is one whose habits diag follows.
type program struct {
	name     string
	letters  map[byte]*digOption
	dashed   []digOption       // options with names behind one dash, of nslookup
	types    []string          // types that are queried by default; none: as resolve does
	fields   map[string]string // of every question
	root     bool              // without a name it queries the name servers of the root
	oneName  bool
	server   bool // follows the name
	dialogue bool // begins with "-"
	inOrder  bool // of two words the first is the name, even if it reads like a type
}

// A digOption is the meaning of an option of these programs. One without effect only formats the output.
type digOption struct {
	names   string     // words that name it, also by a prefix that no other option has
	value   string     // what its value is, such as "a type"; empty: it has none
	bare    *digOption // its meaning without a value; nil: it needs one
	refused string     // why it cannot be had
	always  string     // why it cannot be switched off
	do      func(d *digParser, typed, value string, on bool) error
}

// sets sets a field of the question.
func sets(names, field, on, off string) digOption {
	return digOption{names: names, do: func(d *digParser, _, _ string, given bool) error {
		d.current().fields[field] = off
		if given {
			d.current().fields[field] = on
		}
		return nil
	}}
}

// counts sets a field to a number, which is at least floor, and plus more than was given.
func counts(names, field string, floor, plus, low, high int) digOption {
	return digOption{names: names, value: "a number", do: func(d *digParser, typed, value string, on bool) error {
		if !on {
			delete(d.current().fields, field)
			return nil
		}
		n, err := strconv.Atoi(value)
		if n = max(n, floor) + plus; err != nil || value[0] == '-' || n < low || high < n {
			return usagef("%s: must be a number from %d to %d", withValue(typed, value), max(low-plus, 0), high-plus)
		}
		d.current().fields[field] = strconv.Itoa(n)
		return nil
	}}
}

// passes is a flag of diag.
func passes(names, flag, value string) digOption {
	return digOption{names: names, value: value, do: func(d *digParser, _, value string, on bool) error {
		switch {
		case on && value != "":
			d.flags = append(d.flags, flag, value)
		case on:
			d.flags = append(d.flags, flag)
		}
		return nil
	}}
}

func dresses(names string) digOption { return digOption{names: names} }

func refuses(names, reason string) digOption { return digOption{names: names, refused: reason} }

// encrypts queries over TLS.
func encrypts(names string, t resolver.Transport) digOption {
	return digOption{names: names, do: func(d *digParser, typed, value string, on bool) error {
		s := &d.current().secure
		if !on {
			*s = secure{}
			return nil
		}
		if value != "" && value[0] != '/' {
			return usagef("%s: the path must begin with a slash, such as /dns-query", typed)
		}
		s.typed, s.transport, s.path = typed, t, value
		return nil
	}}
}

// withValue is an option as it was typed.
func withValue(typed, value string) string {
	if strings.HasSuffix(typed, "="+value) {
		return typed
	}
	return typed + " " + value
}

// versions queries over one version of the Internet Protocol.
func versions(version string) *digOption {
	o := sets("", "ip_version", version, "")
	return &o
}

func pointer(o digOption) *digOption { return &o }

// Options that several programs have.
var (
	typeOption = digOption{names: "type querytype query", value: "a type",
		do: func(d *digParser, typed, value string, _ bool) error {
			d.current().typed = true
			return d.addType(withValue(typed, value), value)
		}}
	classOption = digOption{names: "class", value: "a class",
		do: func(d *digParser, typed, value string, _ bool) error {
			return d.setClass(withValue(typed, value), value)
		}}
	portOption = digOption{names: "port", value: "a port",
		do: func(d *digParser, typed, value string, _ bool) error {
			if n, err := strconv.ParseUint(value, 10, 16); err != nil || n == 0 {
				return usagef("%s: is not a port", withValue(typed, value))
			}
			d.current().port = value
			return nil
		}}
	nameOption = digOption{value: "a name", do: func(d *digParser, _, value string, _ bool) error {
		d.begin(value)
		return nil
	}}
	serverOption = digOption{value: "a name server",
		do: func(d *digParser, _, value string, _ bool) error { return d.at("@" + value) }}
	reverseOption = digOption{value: "an address", do: func(d *digParser, _, value string, _ bool) error {
		d.begin(value).reverse = true
		return nil
	}}
	certificateOption = digOption{names: "tls-hostname", value: "a name",
		do: func(d *digParser, _, value string, _ bool) error { d.current().secure.name = value; return nil }}
	ednsOption = digOption{names: "edns", value: "a version", always: "queries always have EDNS",
		bare: &digOption{}, do: func(_ *digParser, typed, value string, _ bool) error {
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
	sets("dnssec do", "dnssec", "true", "false"), sets("recurse rdflag", "recursion_desired", "true", "false"),
	sets("cdflag cd", "checking_disabled", "true", "false"), sets("nsid", "nsid", "true", "false"),
	sets("trace", "trace", "true", "false"), sets("tcp vc", "transport", "tcp", "udp"),
	counts("time timeout", "timeout_seconds", 1, 0, 1, 30), counts("tries", "tries", 1, 0, 1, 10),
	counts("retry", "tries", 0, 1, 1, 10), counts("bufsize", "udp_payload_size", 0, 0, 512, 4096),
	encrypts("tls", resolver.DoT),
	{names: "https", value: "a path", bare: pointer(encrypts("", resolver.DoH)), do: encrypts("", resolver.DoH).do},
	certificateOption, ednsOption,
	{names: "tls-ca", value: "a file", bare: &digOption{}, refused: "name the authorities to trust with --ca-file FILE"},
	passes("short", "--short", ""), passes("json", "--json", ""),

	dresses("all additional answer authority class cmd comments crypto dlv expandaaaa generic header identify idn idnin " +
		"idnout mapped multiline onesoa opt optpresent opttext qr question root rrcomments showbadcookie showbadvers " +
		"split stats trust tsig ttl ttlid ttlunits unknownformat"),
	{names: "adflag ad", always: "queries always have the AD flag, to learn whether the answer is authentic"},
	{names: "fail", always: noRetry},

	refuses("aaflag aaonly coflag raflag tcflag zflag", noFlags), refuses("badcookie cookie", noCookies),
	refuses("besteffort", "malformed replies are not shown"),
	refuses("defname domain ndots search showsearch", noSearch),
	refuses("dns64prefix", "NAT64 prefixes are not looked up"),
	refuses("dscp", "the system chooses the DSCP value"),
	refuses("alignment ednsflags ednsnegotiation ednsopt expire keepalive padding subnet", noEDNS),
	refuses("header-only opcode qid", noHeader),
	refuses("ignore", "truncated replies are always asked for again over TCP"),
	refuses("keepopen", "connections are not kept open between queries"),
	refuses("nssearch", noCompare), refuses("mtrace rtrace sigchase topdown trusted-key vtrace", noCheck),
	refuses("unexpected", "replies from other addresses are never accepted"),
	refuses("yaml", "reports are printed as JSON with +json; diag text/json/to-yaml - makes YAML of it"),
	refuses("fastopen http-plain http-plain-get https-get proxy quic", noTransport),
	refuses("tls-certfile tls-keyfile", noClient),
	refuses("tls-ocsp-stapling tls-pin tls-sni", noTrust),
}

// The options of nslookup.
var nslookupOptions = []digOption{
	typeOption, classOption, portOption, sets("vc", "transport", "tcp", "udp"),
	sets("recurse", "recursion_desired", "true", "false"), counts("timeout", "timeout_seconds", 1, 0, 1, 30),
	counts("retry", "tries", 1, 0, 1, 10), dresses("debug d2 all"),
	{names: "fail", always: noRetry},
	refuses("defname domain ndots search srchlist", noSearch),
}

// withLetters are the options of one letter that all programs have, and those of one.
func withLetters(own map[byte]digOption) map[byte]*digOption {
	letters := map[byte]*digOption{
		'4': versions("4"), '6': versions("6"), 'p': &portOption, 't': &typeOption, 'c': &classOption,
		'h': pointer(passes("", "--help", "")), 'v': pointer(passes("", "-v", "")), 'q': pointer(passes("", "-q", "")),
		'o': pointer(passes("", "-o", "a file")), 'f': pointer(passes("", "-f", "a file")),
	}
	for letter, option := range own {
		letters[letter] = pointer(option)
	}
	return letters
}

// valued is an option with a value that cannot be had.
func valued(value, reason string) digOption { return digOption{value: value, refused: reason} }

var digLetters = withLetters(map[byte]digOption{
	'q': {value: "a name", bare: pointer(passes("", "-q", "")), do: nameOption.do},
	'x': reverseOption, 'n': serverOption, 'J': passes("", "--json", ""),
	'd': {}, 'm': {}, 'r': {}, 'u': {},
	'b': valued("an address", noSource), 'k': valued("a file", noSignature), 'y': valued("a key", noSignature),
	'i': refuses("", "IP6.INT is no longer used (RFC 4159)"),
	'a': valued("a file", noCheck), 'E': valued("a file", noPackets), 'G': valued("a file", noPackets),
	'V': refuses("", "diag version prints the version"),
})

var hostLetters = withLetters(map[byte]digOption{
	'a': refuses("", noANY), 'A': refuses("", noANY), 'C': refuses("", noCompare), 'l': refuses("", noTransfer),
	'd': passes("", "-v", ""), 'i': {}, 'm': {value: "a flag"}, 'n': {}, 's': {}, 'N': valued("a number", noSearch),
	'r': sets("", "recursion_desired", "false", ""), 'R': counts("", "tries", 1, 1, 1, 10),
	'T': sets("", "transport", "tcp", ""), 'U': sets("", "transport", "udp", ""),
	'w': refuses("", "the wait for a reply is limited; set it with -W SECONDS"),
	'W': counts("", "timeout_seconds", 1, 0, 1, 30), 'V': refuses("", "diag version prints the version"),
})

var drillLetters = withLetters(map[byte]digOption{
	'D': sets("", "dnssec", "true", ""), 'T': sets("", "trace", "true", ""), 'S': refuses("", noCheck),
	't': sets("", "transport", "tcp", ""), 'u': sets("", "transport", "udp", ""), 'x': {}, 'a': {}, 'Q': {}, 'z': {},
	'V': {value: "a number"}, 'b': counts("", "udp_payload_size", 0, 0, 512, 4096),
	'o': {value: "flags", do: drillFlags}, 's': refuses("", noCheck), 'k': valued("a file", noCheck),
	'I': valued("an address", noSource), 'y': valued("a key", noSignature), 'd': valued("a domain", noCheck),
	'f': valued("a file", noPackets), 'i': valued("a file", noPackets), 'w': valued("a file", noPackets),
	'q': valued("a file", noPackets), 'c': valued("a file", "name the server as @SERVER"),
	'r': valued("a file", "name other root servers with --root-hints FILE"),
})

// drillFlags sets the flags RD and CD, in capitals, or takes them away.
func drillFlags(d *digParser, typed, value string, _ bool) error {
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
		d.current().fields[name] = on
	}
	return nil
}

// longOptions are those of doggo.
var longOptions = map[string]*digOption{
	"query": &nameOption, "type": &typeOption, "class": &classOption, "nameserver": &serverOption,
}

// programs are those whose names are commands of diag.
var programs = map[string]*program{
	"resolve": {name: "resolve", letters: digLetters, inOrder: true},
	"dig":     {name: "dig", letters: digLetters, root: true}, "kdig": {name: "kdig", letters: digLetters, root: true},
	"doggo": {name: "doggo", letters: digLetters},
	"delv":  {name: "delv", letters: digLetters, root: true, fields: map[string]string{"dnssec": "true"}},
	"drill": {name: "drill", letters: drillLetters, root: true, oneName: true},
	"host":  {name: "host", letters: hostLetters, types: []string{"A", "AAAA", "MX"}, oneName: true, server: true},
	"nslookup": {name: "nslookup", letters: withLetters(nil), dashed: nslookupOptions, types: []string{"A", "AAAA"},
		oneName: true, server: true, dialogue: true},
}

// typeFirst is a command line that begins with a type instead of the name of a program.
var typeFirst = &program{name: "diag", letters: digLetters}

// resolveOnly reports whether a flag is of the operation resolve, and not of ip/nslookup too.
func resolveOnly(flag string) bool {
	has := func(operation string) bool {
		ep, _ := httpapi.Endpoints().Named(operation)
		return slices.ContainsFunc(ep.Params(), func(p httpapi.Param) bool { return flagName(p.Name) == flag })
	}
	return flag != "resolver" && has("resolve") && !has("ip/nslookup")
}

// fieldTakes reports whether the flag of a field of these operations takes a value.
func fieldTakes(flag string) bool {
	for _, operation := range []string{"resolve", "ip/nslookup"} {
		ep, _ := httpapi.Endpoints().Named(operation)
		for _, p := range ep.Params() {
			if flagName(p.Name) == flag {
				return p.Kinds[0] != "boolean"
			}
		}
	}
	return false
}
