package main

import (
	"fmt"
	"net/url"
	"strings"
)

// repaired takes from what was pasted what a field wants: the domain of a URL or of an address for mail,
// without blanks around it. It says so on standard error.
func (a *app) repaired(field, text string) (string, error) {
	trimmed := strings.TrimSpace(text)
	if field != "domain" && field != "qname" {
		if field == "ip" || field == "host" || field == "url" {
			return trimmed, nil
		}
		return text, nil
	}
	host := trimmed
	if strings.Contains(host, "://") {
		u, err := url.Parse(host)
		if err != nil || u.Hostname() == "" {
			return trimmed, nil
		}
		host = u.Hostname()
	} else if before, _, ok := strings.Cut(host, "/"); ok {
		host = before
	}
	if _, after, ok := strings.Cut(host, "@"); ok {
		host = after
	}
	if host != trimmed && host != "" {
		fmt.Fprintf(a.stderr, "diag: note: taking %s from %s\n", printable(host), printable(trimmed))
		return host, nil
	}
	return trimmed, nil
}
