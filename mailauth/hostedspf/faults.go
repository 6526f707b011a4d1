package hostedspf

import (
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/spf"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
)

type fault struct {
	kind   faultKind
	name   string // of the domain or host concerned
	detail string // a clause that names it
}

type faultKind string

const (
	silent faultKind = "silent" // name servers did not say
	broken faultKind = "broken" // receivers end in permerror
	large  faultKind = "large"  // the tree is too large
	own    faultKind = "own"    // the source record leads to what is made of it
)

const maxFaults = 20

// faultsOf lists what is wrong with a tree. What an explanation leads to does not matter: it changes no result.
func faultsOf(tree *spf.Tree, host string) []fault {
	var list []fault
	for _, n := range tree.Nodes() {
		if f, ok := nodeFault(n, host); ok {
			list = append(list, f)
		}
		for i := range n.Terms {
			if f, ok := termFault(&n.Terms[i]); ok {
				list = append(list, f)
			}
		}
		if len(list) >= maxFaults {
			return list[:maxFaults]
		}
	}
	return list
}

func nodeFault(n *spf.Node, host string) (fault, bool) {
	name := diag.Quote(n.Domain)
	switch {
	case n.Via != spf.ViaRoot && belongs(n.Domain, host):
		return fault{own, name, "the flat records themselves are published at " + name}, true
	case n.State == spf.NodeUnknown:
		return fault{silent, name, "the name servers did not say what SPF record " + name + " has: " + n.Error}, true
	case n.State == spf.NodeCut:
		return fault{large, name, "there is too much to look up: " + name + " was not looked at"}, true
	case n.State == spf.NodeFound && len(n.Faults) > 0:
		return fault{broken, name, "the SPF record of " + name + " has an error: " + n.Faults[0].Text}, true
	case n.State == spf.NodeNone:
		return fault{broken, name, "there is no SPF record at " + name + ": " + n.Error}, true
	case n.State == spf.NodeMultiple, n.State == spf.NodeLoop, n.State == spf.NodeMalformed:
		return fault{broken, name, "the record of " + name + " cannot be evaluated: " + n.Error}, true
	default:
		return fault{}, false
	}
}

var partLabel = diag.Regexp(`^_[a-z2-7]{8}$`)

// belongs reports whether a name is one of the records that are published under a host.
func belongs(name, host string) bool {
	name = strings.ToLower(name)
	first, rest, _ := strings.Cut(name, ".")
	return name == host || rest == host && partLabel().MatchString(first)
}

func termFault(t *spf.ResolvedTerm) (fault, bool) {
	name := diag.Quote(t.Target)
	switch {
	case !t.Reached || t.Kind != eval.Mechanism || t.Child != nil: // that of a child is one of its node
		return fault{}, false
	case t.Err != nil:
		for _, h := range t.Hosts {
			if h.Err != nil {
				name = diag.Quote(h.Name)
			}
		}
		detail := fmt.Sprintf("the name servers did not say what %s has for %s: %v", name, diag.Quote(t.Raw), t.Err)
		return fault{silent, name, detail}, true
	case t.Cut:
		return fault{large, name, "there is too much to look up: " + diag.Quote(t.Raw) + " was not looked at"}, true
	case t.MXCount > eval.MaxMX: // RFC 7208 section 4.6.4
		detail := fmt.Sprintf("there are %d mail exchangers behind %s, and receivers accept %d", t.MXCount, name, eval.MaxMX)
		return fault{broken, name, detail}, true
	default:
		return fault{}, false
	}
}
