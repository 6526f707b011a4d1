package fetch

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
)

// A Lead says where an answer leads, and by what means. The zero Lead leads nowhere.
type Lead struct {
	Type   RedirectType
	Target string        // as it is written there
	Base   string        // what Target is relative to, itself relative to the URL of the hop; empty: to that URL
	After  time.Duration // how long the document stays
}

// forwarded asks where the document of the last hop leads, and writes it down in the hop.
func (r *Result) forwarded(req Request) Lead {
	h := &r.Hops[len(r.Hops)-1]
	lead := req.Next(*h, r.Body)
	if lead.Target == "" || isScript(lead.Target) {
		return Lead{} // HTML Standard, "shared declarative refresh steps", last step but one
	}
	to, err := r.target(lead)
	if err == nil && resource(to) == resource(r.URL) && lead.After > 0 {
		return Lead{} // it is reloaded now and then
	}
	h.RedirectType, h.Location, h.After, h.Target = lead.Type, strings.ToValidUTF8(lead.Target, "\uFFFD"), lead.After, to
	if req.MaxRedirects == 0 {
		return Lead{}
	}
	return lead
}

// target returns the URL to which the last hop leads.
func (r *Result) target(lead Lead) (diag.URL, *Error) {
	if lead.Type == HTTPRedirect {
		return Resolve(r.URL, lead.Target)
	}
	base := r.URL
	if lead.Base != "" {
		if b, err := Resolve(r.URL, withoutBreaks(lead.Base)); err == nil {
			base = b
		}
	}
	return Resolve(base, withoutBreaks(lead.Target))
}

// withoutBreaks removes what a reference in a document may have without meaning anything
// (url.spec.whatwg.org, "basic URL parser", steps 1 and 3).
func withoutBreaks(s string) string {
	s = strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
	return strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(s)
}

func isScript(target string) bool {
	scheme, _, ok := strings.Cut(withoutBreaks(target), ":")
	return ok && strings.EqualFold(scheme, "javascript")
}

// Refresh returns where a Refresh header field leads; the zero Lead if there is none that browsers
// understand (html.spec.whatwg.org, "The `Refresh` header").
func Refresh(h http.Header) Lead {
	values := h.Values("Refresh")
	if len(values) == 0 {
		return Lead{}
	}
	after, target, ok := ParseRefresh(strings.Join(values, ", "))
	if !ok {
		return Lead{}
	}
	return Lead{Type: HeaderRefresh, Target: target, After: after}
}

// maxRefresh bounds a delay: what is longer is as good as for ever.
const maxRefresh = 1 << 31 // seconds

// ParseRefresh reads the value of a Refresh header field or of a meta element of that kind, such as
// "5; url=/new" (html.spec.whatwg.org, "shared declarative refresh steps"): after how long to go where.
// Without a target the document is to be loaded again. It reports whether a browser would do anything.
func ParseRefresh(s string) (after time.Duration, target string, ok bool) {
	s = strings.TrimLeft(s, whitespace)
	digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
	if digits == 0 && !strings.HasPrefix(s, ".") {
		return 0, "", false
	}
	after = seconds(s[:digits])
	s = strings.TrimLeft(s, "0123456789.")
	if s == "" {
		return after, "", true
	}
	if !strings.ContainsAny(s[:1], ";,"+whitespace) {
		return 0, "", false
	}
	s = strings.TrimLeft(s, whitespace)
	if s != "" && (s[0] == ';' || s[0] == ',') {
		s = strings.TrimLeft(s[1:], whitespace)
	}
	return after, refreshTarget(s), true
}

// whitespace is what HTML takes for it (infra.spec.whatwg.org, "ASCII whitespace").
const whitespace = "\t\n\f\r "

func seconds(digits string) time.Duration {
	n, err := strconv.ParseInt("0"+digits, 10, 64)
	if err != nil || n > maxRefresh {
		n = maxRefresh
	}
	return time.Duration(n) * time.Second
}

// refreshTarget reads what follows the delay: "url=", which may be missing, and a URL, which may be in quotes.
func refreshTarget(s string) string {
	rest := s
	if len(s) > 0 && (s[0] == 'u' || s[0] == 'U') {
		if len(s) < 3 || !strings.EqualFold(s[:3], "url") {
			return s
		}
		rest = strings.TrimLeft(s[3:], whitespace)
		if !strings.HasPrefix(rest, "=") {
			return s
		}
		rest = strings.TrimLeft(rest[1:], whitespace)
	}
	if rest != "" && (rest[0] == '"' || rest[0] == '\'') {
		rest, _, _ = strings.Cut(rest[1:], rest[:1])
	}
	return rest
}
