package spf

import (
	"slices"
	"strings"

	"github.com/diagkit/diagkit/mailauth/spf/eval"
)

func needsValue(n eval.Name) bool {
	return slices.Contains([]eval.Name{eval.Include, eval.Exists, eval.IP4, eval.IP6, eval.Redirect, eval.Exp}, n)
}

func separator(n eval.Name) string {
	if n == eval.Redirect || n == eval.Exp {
		return "="
	}
	return ":"
}

// names are the mechanisms, and the modifiers that RFC 7208 knows.
var names = []eval.Name{
	eval.All, eval.Include, eval.A, eval.MX, eval.PTR, eval.IP4, eval.IP6, eval.Exists, eval.Redirect, eval.Exp,
}

// misspelled are names as they are often written, separated by blanks.
var misspelled = map[eval.Name]string{
	eval.IP4: "ipv4 ip-4 ip ip4address lp4 1p4", eval.IP6: "ipv6 ip-6 lp6 1p6", eval.Include: "incl inc", eval.Exists: "exist",
	eval.MX: "mxs", eval.All: "al any a11 a1l al1 alll", eval.A: "aaaa", eval.Redirect: "redir",
}

// spelled returns the mechanism or modifier that a name is, or is a slip of the pen away from.
func spelled(name string) eval.Name {
	name = strings.ToLower(strings.Trim(strings.TrimLeft(name, "+-~?"), "."))
	if slices.Contains(names, eval.Name(name)) {
		return eval.Name(name)
	}
	i := slices.IndexFunc(names, func(n eval.Name) bool {
		return slices.Contains(strings.Fields(misspelled[n]), name) || len(n) > 3 && len(name) > 4 && slipped(name, string(n))
	})
	if i < 0 {
		return ""
	}
	return names[i]
}

// slipped reports whether a and b differ by one letter too many, missing or wrong, or two swapped.
func slipped(a, b string) bool {
	if len(a) < len(b) {
		a, b = b, a
	}
	i := 0
	for i < len(b) && a[i] == b[i] {
		i++
	}
	switch len(a) - len(b) {
	case 0:
		swapped := i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
		return i == len(a) || a[i+1:] == b[i+1:] || swapped
	case 1:
		return a[i+1:] == b[i:]
	default:
		return false
	}
}
