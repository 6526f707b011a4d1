package main

import (
	"maps"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/diagkit/diagkit/diag/phrase"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/target"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// shortNames are what people type for a check, in addition to its path.
var shortNames = map[string]string{
	"spf": "spf/lookup", "dkim": "dkim/lookup", "dmarc": "dmarc/lookup", "bimi": "bimi/lookup",
	"logo": "bimi/logo/lookup", "mta-sts": "mta-sts/lookup", "mtasts": "mta-sts/lookup", "sts": "mta-sts/lookup",
	"tls-rpt": "tls-rpt/lookup", "tlsrpt": "tls-rpt/lookup", "dane": "dane/lookup", "dmarcbis": "dmarcbis/check",
	"smtp": "smtp/check", "blacklist": "blacklist/ip", "blocklist": "blacklist/ip", "dnsbl": "blacklist/ip",
	"rbl": "blacklist/ip", "mail": "mail/domain-check", "score": "deliverability/score",
	"deliverability": "deliverability/score", "message": "mail/header-analyze", "header": "mail/header-analyze",
	"report": "dmarc/report/analyze", "mark": "certificats/bimi/parse", "vmc": "certificats/bimi/parse",
	"headers": "http/headers-check", "hsts": "http/hsts-check", "ssl": "certificates/ssl/check",
	"tls": "certificates/ssl/check", "cert": "certificates/ssl/check", "certificate": "certificates/ssl/check",
	"csr": "certificates/csr/parse", "redirect": "url/check", "redirects": "url/check", "url": "url/check",
	"crawl": "page/crawl-check", "page": "page/crawl-check", "phishing": "phishing/check", "qr": "http/qr",
	"qr-decode": "http/qr/decode", "dig": "resolve", "host": "resolve", "propagation": "resolve/propagation",
	"dnssec": "dnssec/check", "whois": "rdap/lookup", "rdap": "rdap/lookup", "holder": "ip/whois",
	"ptr": "ip/nslookup", "reverse": "ip/nslookup", "nslookup": "ip/nslookup", "subnet": "ip/netmask",
	"netmask": "ip/netmask", "cidr": "ip/netmask", "ipcalc": "ip/netmask", "zone": "domain/dns-check",
	"dns": "domain/dns-check", "idn": "dns/idn", "punycode": "dns/idn", "lower": "text/lower",
	"upper": "text/upper", "stats": "text/stats", "slug": "text/slug", "base64": "text/base64/encode",
	"password": "text/password/generate", "urlencode": "text/urlencode", "urldecode": "text/urldecode",
	"json": "text/json/format", "yaml": "text/yaml/format", "hash": "text/hash", "regex": "text/regex/test",
}

// shortNamesByCheck are the short names of each check, in order.
func shortNamesByCheck() map[string][]string {
	list := map[string][]string{}
	for _, short := range slices.Sorted(maps.Keys(shortNames)) {
		list[shortNames[short]] = append(list[shortNames[short]], short)
	}
	return list
}

// checksByContent are the checks that a short name denotes if its argument is a record, or an address.
var checksByContent = map[string]struct{ record, address string }{
	"spf": {"spf/validate", ""}, "dkim": {"dkim/validate", ""}, "dmarc": {"dmarc/validate", ""},
	"bimi": {"bimi/validate", ""}, "whois": {"", "ip/whois"}, "rdap": {"", "ip/whois"},
}

// replaceShortName replaces short names of checks by their paths.
func replaceShortName(global *pflag.FlagSet, args []string) []string {
	i := commandIndex(global, args)
	if i < 0 {
		return args
	}
	word, rest := strings.ToLower(args[i]), args[i+1:]
	before := args[:i:i]
	if word == "help" && len(rest) > 0 && shortNames[rest[0]] != "" {
		return append(append(before, shortNames[rest[0]]), "--help")
	}
	if _, isPath := httpapi.Endpoints().ByName(word); isPath {
		return args
	}
	if at := commandIndex(global, rest); at >= 0 {
		t, err := target.Parse(rest[at])
		switch other := checksByContent[word]; {
		case err != nil:
		case t.Kind == target.Record && other.record != "":
			return append(append(before, other.record), rest...)
		case t.Kind == target.Address && other.address != "":
			return append(append(before, other.address), rest...)
		}
	}
	if name := shortNames[word]; name != "" {
		return append(append(before, name), rest...)
	}
	return args
}

// findDigLine returns the program whose syntax a command line follows, and where its words begin; a nil program means
// that the line follows none of them.
func findDigLine(global *pflag.FlagSet, args []string) (p *program, at int) {
	i := commandIndex(global, args)
	if x := slices.IndexFunc(args, isDigOption); x >= 0 && commandIndex(global, args[:x]) < 0 {
		return programs["dig"], x
	}
	if i < 0 {
		return nil, 0
	}
	word, rest := strings.ToLower(args[i]), args[i+1:]
	switch {
	case programs[word] != nil:
		return programs[word], i + 1
	case word == "":
		return nil, 0
	case word[0] == '@', word[0] == '+':
		return programs["dig"], i
	case shortNames[word] == "" && isRecordType(word):
		return typeProgram, i
	}
	if _, err := netip.ParseAddr(word); err == nil && slices.ContainsFunc(rest, isDigArgument) {
		return programs["dig"], i
	}
	t, err := target.Parse(args[i])
	if err == nil && t.Kind == target.Domain && slices.ContainsFunc(rest, isDigArgument) {
		return programs["dig"], i // example.com MX, as in dig
	}
	return nil, 0
}

// isDigOption reports whether an argument is an option of dig that diag itself does not have, as in "-x 192.0.2.1".
func isDigOption(arg string) bool {
	return len(arg) > 1 && arg[0] == '-' && strings.IndexByte("46bckpntxy", arg[1]) >= 0
}

// isDigArgument reports whether an argument is one that dig alone has behind a name.
func isDigArgument(arg string) bool {
	return strings.HasPrefix(arg, "@") || strings.HasPrefix(arg, "+") || isDigOption(arg) || isRecordType(arg)
}

// extractDigLine extracts the questions of a command line of dig, host or nslookup. It leaves the check that answers
// them and the flags of diag.
func (a *app) extractDigLine(global *pflag.FlagSet, args []string) ([]string, error) {
	p, at := findDigLine(global, args)
	if p == nil {
		return args, nil
	}
	before := args[:at:at]
	if i := commandIndex(global, before); i >= 0 {
		before = before[:i:i] // without the name of the program
	}
	takes := func(flag string) bool {
		f := global.Lookup(flag)
		return f != nil && f.NoOptDefVal == "" || fieldTakesValue(flag)
	}
	line, err := p.parse(lookup{}, args[at:], takes)
	if err != nil {
		return nil, err
	}
	a.line = line
	operation := "resolve"
	if len(line.questions) > 0 && !slices.ContainsFunc(line.questions, question.isRecordLookup) {
		operation = "ip/nslookup"
	}
	return slices.Concat(before, []string{operation}, line.flags), nil
}

// isFile reports whether a word is the name of a file rather than of a domain.
func isFile(word string) bool {
	info, err := os.Stat(word)
	return err == nil && info.Mode().IsRegular()
}

// suggestCheck names the checks that a word may mean.
func suggestCheck(root *cobra.Command, word string) string {
	word = strings.ToLower(word)
	near := root.SuggestionsFor(word)
	slices.Sort(near)
	if short := phrase.Nearest(word, slices.AppendSeq(slices.Clone(recordTypes), maps.Keys(shortNames))...); short != "" {
		near = append([]string{short}, slices.DeleteFunc(near, func(other string) bool { return other == short })...)
	} else if i := slices.IndexFunc(recordTypes, func(kind string) bool {
		return len(kind) == 2 && len(word) == 3 && strings.Contains(word, kind) // mxx: too short for Nearest
	}); i >= 0 {
		return recordTypes[i]
	}
	if ep, ok := httpapi.Endpoints().Nearest(word); ok && len(near) == 0 {
		near = append(near, ep.Name())
	}
	return strings.Join(near, " or ")
}

// recordTypes are those that people look up by name, without those that are short names.
var recordTypes = []string{"mx", "ns", "ds", "txt", "soa", "srv", "caa", "aaaa", "cname", "tlsa", "https", "dnskey"}

func suggestFlag(cmd *cobra.Command, err error) string {
	_, typed, ok := strings.Cut(err.Error(), "unknown flag: --")
	typed, _, _ = strings.Cut(typed, " ")
	if !ok {
		return ""
	}
	var words []string
	for _, flags := range []*pflag.FlagSet{cmd.LocalFlags(), cmd.InheritedFlags()} {
		flags.VisitAll(func(f *pflag.Flag) { words = append(words, f.Name) })
	}
	return phrase.Nearest(typed, words...)
}

// expandPath accepts values in the name of a check as in the path of the API: it turns spf/hosted/spf_…/history into
// spf/hosted/{id}/history --id=spf_….
func expandPath(global *pflag.FlagSet, args []string) []string {
	i := commandIndex(global, args)
	if i < 0 {
		return args
	}
	var best []string
	for _, ep := range httpapi.Endpoints() {
		if ep.Name() == args[i] {
			return args
		}
		if flags, ok := matchPath(ep.Name(), args[i]); ok {
			best = append([]string{ep.Name()}, flags...)
		}
	}
	if best == nil {
		return args
	}
	return slices.Concat(args[:i], best, args[i+1:])
}

// matchPath compares a word with a name such as spf/hosted/{id}, and returns the flags for the values in the places
// of its parameters.
func matchPath(name, word string) (flags []string, ok bool) {
	names, words := strings.Split(name, "/"), strings.Split(word, "/")
	if len(names) != len(words) {
		return nil, false
	}
	for i, segment := range names {
		field := strings.Trim(segment, "{}")
		switch {
		case field == segment && segment != words[i], words[i] == "":
			return nil, false
		case field != segment:
			flags = append(flags, "--"+flagName(field)+"="+words[i])
		}
	}
	return flags, true
}

// commandIndex returns the index of the word that names the check, behind flags and their values, or -1.
func commandIndex(global *pflag.FlagSet, args []string) int {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			return -1
		}
		if len(arg) < 2 || arg[0] != '-' {
			return i
		}
		if strings.Contains(arg, "=") {
			continue
		}
		var f *pflag.Flag
		switch {
		case strings.HasPrefix(arg, "--"):
			f = global.Lookup(arg[2:])
		case len(arg) == 2:
			f = global.ShorthandLookup(arg[1:])
		default:
			continue // its value is in the same word
		}
		if f == nil || f.NoOptDefVal == "" {
			i++ // the next word is its value
		}
	}
	return -1
}

func flagName(field string) string { return strings.ReplaceAll(field, "_", "-") }
