package spf

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
	"go4.org/netipx"
)

const version = "v=spf1"

// correctRecord returns the record that a text was probably meant to be: one with valid syntax that lists the same
// senders. It reports whether an include without a domain, whose target is unknown, was dropped. It returns an
// empty record if the intended one is unknown, such as for a prefix length out of bounds.
func correctRecord(text string) (record string, lost bool) {
	rest, ok := cutVersion(cleaned(text))
	if !ok {
		return "", false
	}
	words := slices.DeleteFunc(strings.Fields(rest),
		func(w string) bool { return strings.EqualFold(w, "and") || w == "&" })
	record = version
	for _, word := range joinWords(splitWords(words)) {
		record += " " + strings.Join(parted(word), " ")
	}
	for range 4 { // one error may hide another
		next, changed, left := correctTerms(record)
		lost = lost || left
		if !changed {
			break
		}
		if record = next; record == "" {
			return "", false
		}
	}
	return valid(record), lost
}

// correctTerms replaces the terms of a record that are invalid, or whose names cannot exist, and drops those without
// effect: a second exp, and an include without a domain, which counts as lost. It returns an empty text if a
// replacement is unknown.
func correctTerms(text string) (mended string, changed, lost bool) {
	record, faults := eval.Parse(text)
	list := []string{version}
	for i := range record.Terms {
		t := &record.Terms[i]
		if head, tail, ok := cutSwallowedAll(record, t); ok {
			list, changed = append(list, head, tail), true
			continue
		}
		if t.Valid && termFault(t) == "" {
			list = append(list, t.Raw)
			continue
		}
		changed = true
		s := ""
		for i := 0; i < len(faults) && s == ""; i++ {
			if faults[i].Begin == t.Offset {
				s = repair(t, &faults[i])
			}
		}
		s = cmp.Or(s, correctTerm(t.Raw))
		void := t.Name == eval.Include && t.Value == ""
		switch {
		case void || t.Name == eval.Exp && repeated(faults, t):
			lost = lost || void
		case s == "" || s == t.Raw:
			return "", true, false
		default:
			list = append(list, s)
		}
	}
	return strings.Join(list, " "), changed, lost
}

// repeated reports whether a term may appear only once and has appeared before.
func repeated(faults []eval.SyntaxError, t *eval.Term) bool {
	return slices.ContainsFunc(faults,
		func(f eval.SyntaxError) bool { return f.Kind == eval.RepeatedTerm && f.Begin == t.Offset })
}

// termFault returns why the name of a term never exists, as far as that is independent of the message.
func termFault(t *eval.Term) string {
	if !t.Valid || t.Value == "" || strings.Contains(t.Value, "%") || !t.Name.Counted() && t.Name != eval.Exp {
		return ""
	}
	return targetFault(t.Value)
}

// targetFault returns why a name without macros is never that of a host or domain; empty if it can be.
func targetFault(name string) string {
	name = strings.TrimSuffix(name, ".")
	if fault := eval.NameFault(name); fault != "" {
		return fault
	}
	if rest := strings.TrimLeft(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789-_."); rest != "" {
		return "it has the character \"" + string(rune(rest[0])) + "\""
	}
	return ""
}

// repair returns a replacement for a term with an error, if the error implies one; otherwise empty.
func repair(t *eval.Term, f *eval.SyntaxError) string {
	bare := strings.TrimLeft(t.Raw, "+-~?")
	sign := t.Raw[:min(1, len(t.Raw)-len(bare))]
	address, _, _ := strings.Cut(t.Value, "/")
	switch family := familyOf(address); {
	case f.Kind == eval.BadQualifier:
		return t.Raw[1:]
	case f.Kind == eval.GluedTerms:
		return t.Raw[:f.Offset-f.Begin] + " " + t.Raw[f.Offset-f.Begin:]
	case f.Kind == eval.ValueUnexpected:
		return sign + string(t.Name)
	case f.Kind == eval.BadMechanism:
		if meant, value := meantMechanism(t.Raw); meant != "" {
			return sign + string(meant) + value
		}
		if isRecordName(bare) {
			return term(sign + "include:" + bare)
		}
	case f.Kind == eval.BadDomain && t.Kind == eval.Mechanism && family != 0:
		return fmt.Sprintf("%sip%d:%s", sign, family, t.Value)
	case f.Kind == eval.BadDomain && t.Name == eval.Include && !strings.ContainsAny(t.Value[len(address):], ":="):
		return term(sign + "include:" + address)
	}
	return ""
}

// meantMechanism returns the mechanism or modifier that a term with another name was probably meant to be, and the
// rest of it.
func meantMechanism(raw string) (meant eval.Name, value string) {
	raw = strings.TrimLeft(raw, "+-~?")
	end := strings.IndexAny(raw+":", ":/")
	meant, value = correctName(raw[:end]), raw[end:]
	if rest := strings.TrimLeft(value, ":"); rest != "" && rest[0] != '/' {
		value = separator(meant) + rest
	}
	return meant, value
}

var bareMacro = kit.Regexp(`%([slodiphvSLODIPHV])`)

// correctTerm returns the probable intent of one term, which may be several terms; empty if unknown.
func correctTerm(raw string) string {
	sign := raw[:len(raw)-len(strings.TrimLeft(raw, "+-~?"))]
	if len(sign) > 1 {
		sign = sign[len(sign)-1:]
	}
	rest := strings.TrimRight(strings.TrimLeft(raw, "+-~?"), ".,;")
	if name := strings.TrimRight(rest, "+-~?"); name != rest && sign == "" && correctName(name) == eval.All {
		sign, rest = rest[len(name):][:1], name // it is at the end
	}
	end := strings.IndexAny(rest, ":=/")
	if end < 0 {
		end = len(rest)
	}
	name := correctName(rest[:end])
	switch {
	case name == "" && familyOf(bare(rest)) != 0:
		return correctNetwork(sign, rest)
	case name == "":
		return ""
	}
	value := strings.TrimLeft(rest[end:], ":=")
	if strings.HasPrefix(rest[end:], "/") {
		value = rest[end:]
	}
	value = strings.Trim(strings.TrimPrefix(strings.TrimPrefix(value, "https://"), "http://"), "<>[]()")
	switch {
	case name == eval.Redirect || name == eval.Exp:
		return term(string(name) + "=" + hostOf(value))
	case name == eval.All || value == "":
		return term(sign + string(name))
	case name == eval.IP4 || name == eval.IP6:
		return correctNetwork(sign, strings.TrimLeft(value, "/"))
	case strings.Contains(value, "%"):
		return term(sign + string(name) + ":" + bareMacro().ReplaceAllString(value, "%{$1}"))
	case (name == eval.A || name == eval.MX) && !strings.HasPrefix(value, "/"):
		host, length, _ := strings.Cut(value, "/")
		if s := term(sign + string(name) + ":" + hostOf(host) + "/" + length); s != "" {
			return s
		}
		return term(sign + string(name) + ":" + hostOf(host))
	default:
		return term(sign + string(name) + ":" + hostOf(value))
	}
}

func term(text string) string {
	record, faults := eval.Parse(version + " " + text)
	if len(faults) > 0 {
		return ""
	}
	for i := range record.Terms {
		if termFault(&record.Terms[i]) != "" {
			return ""
		}
	}
	return text
}

// hostOf strips everything around a host name: a local part, a path, leading dots; and converts U-labels to A-labels.
func hostOf(value string) string {
	value = value[strings.LastIndexByte(value, '@')+1:]
	value, path, _ := strings.Cut(value, "/")
	if strings.ContainsAny(path, ":=") { // of another term, which must not be lost
		return ""
	}
	return eval.ALabels(strings.Trim(value, "."))
}

// correctNetwork returns the terms for a network in a notation that SPF does not define.
func correctNetwork(sign, value string) string {
	address, length, slash := strings.Cut(value, "/")
	address = strings.Trim(address, ".[]")
	if from, to, ok := strings.Cut(address, "-"); ok && !slash && familyOf(from) != 0 {
		return addressRange(sign, from, to)
	}
	parts := strings.Split(address, ".")
	for i, part := range parts {
		if trimmed := strings.TrimLeft(part, "0"); len(parts) == 4 && part != "" {
			parts[i] = cmp.Or(trimmed, "0") // leading zeros make an address invalid
		}
	}
	if len(parts) == 4 && familyOf(strings.Join(parts, ".")) == 4 {
		address = strings.Join(parts, ".")
	}
	if !slash && len(parts) == 4 && (parts[3] == "*" || parts[3] == "x") {
		address, length, slash = strings.Join(parts[:3], ".")+".0", "24", true
	}
	if host, port, ok := strings.Cut(address, ":"); ok && familyOf(host) == 4 && strings.Trim(port, "0123456789") == "" {
		address = host // a port
	}
	if mask, err := netip.ParseAddr(length); err == nil && mask.Is4() {
		ones, bits := net.IPMask(mask.AsSlice()).Size()
		if bits == 0 { // zeros before ones
			return ""
		}
		length = strconv.Itoa(ones)
	}
	if trimmed := strings.TrimLeft(strings.TrimRight(length, "."), "0"); trimmed != "" {
		length = trimmed
	}
	slash = slash && length != ""
	switch family := familyOf(address); {
	case family != 0 && slash:
		return term(fmt.Sprintf("%sip%d:%s/%s", sign, family, address, length))
	case family != 0:
		return term(fmt.Sprintf("%sip%d:%s", sign, family, address))
	case isHost(address) && isRecordName(address):
		return term(sign + "include:" + address)
	case isHost(address):
		return term(sign + "a:" + eval.ALabels(value))
	default:
		return ""
	}
}

const maxRange = 8

// addressRange converts a range of addresses to networks. The end may be its last number only.
func addressRange(sign, from, to string) string {
	if familyOf(to) == 0 && strings.Contains(from, ".") {
		to = from[:strings.LastIndexByte(from, '.')+1] + to
	}
	r, err := netipx.ParseIPRange(from + "-" + to)
	list := r.Prefixes()
	if err != nil || len(list) > maxRange {
		return ""
	}
	return strings.Join(kit.Map(list, func(p netip.Prefix) string { return sign + NetworkTerm(p) }), " ")
}

// NetworkTerm formats a network as a term; the prefix length of a single address is omitted.
func NetworkTerm(p netip.Prefix) string {
	name := "ip4:"
	if p.Addr().Is6() {
		name = "ip6:"
	}
	if p.IsSingleIP() {
		return name + p.Addr().String()
	}
	return name + p.String()
}

func isHost(s string) bool {
	return term("a:"+eval.ALabels(s)) != "" && strings.Trim(s[strings.LastIndexByte(s, '.')+1:], "0123456789*x") != ""
}

// isRecordName reports whether a name looks like that of a record to include, not of a host.
func isRecordName(s string) bool {
	return strings.HasPrefix(s, "_") || strings.HasPrefix(strings.ToLower(s), "spf.") || providerOf(s) != ""
}

func valid(text string) string {
	if _, faults := eval.Parse(text); len(faults) > 0 || !utf8.ValidString(text) {
		return ""
	}
	return text
}
func familyOf(s string) int {
	a, err := netip.ParseAddr(s)
	switch {
	case err != nil:
		return 0
	case a.Is4():
		return 4
	default:
		return 6
	}
}

// cutSwallowedAll cuts the all from a name that was probably meant to end before it, in a record without all.
func cutSwallowedAll(r *eval.Record, t *eval.Term) (head, tail string, ok bool) {
	head, ok = eval.CutAll(t.Raw)
	if !ok || !t.Valid || t.Value == "" || t.Unknown != "" || t.Network.IsValid() || r.Find(eval.All) != nil {
		return "", "", false
	}
	return head, t.Raw[len(head):], term(head) != ""
}
