package spf

import (
	"strings"

	"github.com/diagkit/diagkit/mailauth/provider"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
)

// A Provider is a service that a domain lets send in its name.
type Provider struct {
	Domain string `json:"domain" doc:"the domain whose record is included"`
	Name   string `json:"name" doc:"the service"`
}

func providerOf(domain string) string {
	if s := provider.BySPF(domain); s != nil {
		return s.Name
	}
	return ""
}

// meantProvider returns the domain to include of the one service from which a name differs by a slip of the pen. It is
// empty if there is no such service, or more than one, or if the name belongs to a service itself.
func meantProvider(name string) string {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	meant, owner := "", (*provider.Service)(nil)
	for _, s := range provider.Services() {
		for _, domain := range s.SPF {
			switch {
			case eval.Below(name, domain), owner != nil && owner != s && slipped(name, domain):
				return ""
			case owner == nil && slipped(name, domain):
				meant, owner = domain, s
			}
		}
	}
	return meant
}

// providers names the services in a tree, each where the record of the domain first leads to it.
func (t *Tree) providers() []Provider {
	list := []Provider{}
	seen := map[Provider]bool{}
	var visit func(*Node)
	visit = func(n *Node) {
		for _, c := range n.Children {
			p := Provider{strings.ToLower(c.Domain), providerOf(c.Domain)}
			switch {
			case p.Name == "":
				visit(c)
			case !seen[p]:
				seen[p] = true
				list = append(list, p)
			}
		}
	}
	visit(t.Root)
	return list
}
