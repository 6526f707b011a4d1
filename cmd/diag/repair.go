package main

import (
	"fmt"
	"net/url"
	"strings"
)

// repaired takes from what was pasted what a field wants: the domain of a URL or of an address for mail,
// without blanks around it. It says so on standard error.
func (a *app) repaired(field, text string) string {
	trimmed := strings.TrimSpace(text)
	switch field {
	case "domain", "qname":
	case "ip", "host", "url":
		return trimmed
	default:
		return text
	}
	host := trimmed
	if strings.Contains(host, "://") {
		u, err := url.Parse(host)
		if err != nil {
			return trimmed
		}
		host = u.Hostname()
	} else {
		host, _, _ = strings.Cut(host, "/")
	}
	host = host[strings.IndexByte(host, '@')+1:]
	if host == trimmed || host == "" {
		return trimmed
	}
	fmt.Fprintf(a.stderr, "diag: note: taking %s from %s\n", printable(host), printable(trimmed))
	return host
}
