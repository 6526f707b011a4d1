package registry

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"unicode/utf8"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
)

// The limits of WHOIS.
const (
	whoisPort     = 43        // RFC 3912 section 2
	maxWhois      = 256 << 10 // bytes of an answer; the longest seen have 60 KiB
	maxReferrals  = 4         // servers that are asked in turn: IANA, a registry, another, a registrar
	maxReportText = 512 << 10 // bytes of raw answers in a report
)

// A whoisAnswer is what a WHOIS server said.
type whoisAnswer struct {
	host string
	text string // UTF-8
	err  error  // why there is no answer, or only a part of one
}

// askWhois puts a question to a WHOIS server (RFC 3912).
func askWhois(ctx context.Context, env *diag.Env, host, query string) whoisAnswer {
	ctx, cancel := diag.Within(ctx, whoisTimeout)
	defer cancel()
	text, err := exchange(ctx, env, host, query)
	if err == nil && strings.TrimSpace(text) == "" {
		err = fmt.Errorf("%s closed the connection without an answer", host)
	}
	return whoisAnswer{host, text, err}
}

func exchange(ctx context.Context, env *diag.Env, server, query string) (string, error) {
	host, port := endpoint(server)
	conn, err := env.DialHost(ctx, host, port, diag.WhoisPorts)
	if err != nil {
		return "", fetch.DialError(ctx, host, err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })() // reading knows no context
	if _, err := io.WriteString(conn, query+"\r\n"); err != nil {
		return "", fmt.Errorf("asking %s: %s", host, diag.Reason(err))
	}
	data, err := io.ReadAll(io.LimitReader(conn, maxWhois))
	if len(data) > 0 && ctx.Err() == nil {
		err = nil // some servers break the connection instead of closing it
	}
	if err != nil {
		return decode(data), fmt.Errorf("reading the answer of %s: %s", host, diag.Reason(err))
	}
	return decode(data), nil
}

// decode returns a text in UTF-8. WHOIS knows no character sets (RFC 3912 section 4); what is not UTF-8 is nearly
// always ISO-8859-1 or its superset of Windows, and from Japan ISO-2022-JP (RFC 1468), which shows by its escapes.
func decode(data []byte) string {
	decoder := charmap.Windows1252.NewDecoder()
	switch {
	case strings.Contains(string(data), "\x1b$"):
		decoder = japanese.ISO2022JP.NewDecoder()
	case utf8.Valid(data):
		return string(data)
	}
	text, err := decoder.Bytes(data)
	if err != nil {
		text = data
	}
	return strings.ToValidUTF8(string(text), "\uFFFD")
}

// domainQuery returns the question for a domain, in the syntax of the server.
func domainQuery(host, name string) string {
	switch host {
	case "whois.denic.de":
		return "-T dn,ace " + name // all data, the name in ASCII
	case "whois.jprs.jp":
		return name + "/e" // in English
	case "whois.verisign-grs.com", "ccwhois.verisign-grs.com", "whois.nic.name":
		return "domain " + name // not name servers of which the name is a part
	case "whois.punktum.dk", "whois.dk-hostmaster.dk":
		return "--charset=utf-8 " + name
	}
	return name
}

// addressQuery returns the question for an address, in the syntax of the server.
func addressQuery(host string, ip netip.Addr) string {
	switch host {
	case "whois.arin.net":
		return "n + " + ip.String() // networks, all details
	case "whois.ripe.net":
		return "-B " + ip.String() // with addresses for mail
	}
	return ip.String()
}

// follow asks one server after the other, each as the answer of the one before refers to it.
func follow(ctx context.Context, env *diag.Env, host string, query func(host string) string,
	next func(text string) string) []whoisAnswer {
	var answers []whoisAnswer
	asked := map[string]bool{}
	for host != "" && !asked[host] && len(answers) < maxReferrals && ctx.Err() == nil {
		asked[host] = true
		a := askWhois(ctx, env, host, query(host))
		answers = append(answers, a)
		host = ""
		if a.err == nil {
			host = next(a.text)
		}
	}
	return answers
}

// rawWhois joins answers as they came, each under the name of its server.
func rawWhois(answers []whoisAnswer) string {
	var b strings.Builder
	for _, a := range answers {
		if a.text != "" {
			fmt.Fprintf(&b, "[%s]\n%s\n", a.host, strings.TrimRight(strings.ReplaceAll(a.text, "\r\n", "\n"), "\n"))
		}
	}
	return clip(b.String(), maxReportText)
}
