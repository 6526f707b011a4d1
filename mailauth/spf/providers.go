package spf

import (
	_ "embed"
	"strings"
	"sync"
)

// A Provider is a service that a domain lets send in its name.
type Provider struct {
	Domain string `json:"domain" doc:"the domain whose record is included"`
	Name   string `json:"name" doc:"the service"`
}

// providersText has one provider on each line: a domain, a blank, and the name of the service. Source and
// date stand in the file.
//
//go:embed data/providers.txt
var providersText string

// providersByDomain reads the table once.
var providersByDomain = sync.OnceValue(func() map[string]string {
	table := map[string]string{}
	for line := range strings.Lines(providersText) {
		domain, name, ok := strings.Cut(strings.TrimSpace(line), " ")
		if ok && domain != "#" {
			table[domain] = name
		}
	}
	return table
})

// providerOf returns the service to which a domain, or one above it, belongs.
func providerOf(domain string) string {
	table := providersByDomain()
	for name := strings.ToLower(domain); name != ""; {
		if provider, ok := table[name]; ok {
			return provider
		}
		_, name, _ = strings.Cut(name, ".")
	}
	return ""
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
