package fetch

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/input"
)

// redirects reports whether an answer leads elsewhere (RFC 9110 section 15.4). 300 lets the user
// choose, and 304 and 305 are no redirects.
func redirects(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// resolve returns the URL to which a reference in an answer leads, such as a Location (RFC 9110 section 10.2.2). It is
// read as browsers do, see [input.URL.Read].
func resolve(base diag.URL, ref string) (diag.URL, input.Oddities, *Error) {
	next, odd, err := base.Read(ref)
	if err != nil {
		return diag.URL{}, odd, &Error{Code: Blocked, Step: Answering, Cause: err, Limit: errors.Is(err, input.ErrURLLong),
			Message: "the target of the redirect is not fetched: " + err.Error()}
	}
	// RFC 9110 section 10.2.2: a redirect without a fragment inherits that of the URL.
	if _, fragment, ok := strings.Cut(base.String(), "#"); ok && !strings.Contains(ref, "#") {
		if with, err := diag.ParseURL(next.String() + "#" + fragment); err == nil {
			return with, odd, nil
		}
	}
	return next, odd, nil
}

// resource is a URL without its fragment, which never reaches the server: the same resource twice is a loop.
func resource(u diag.URL) string {
	s, _, _ := strings.Cut(u.String(), "#")
	return s
}

// Looped returns the hops of a redirect loop, and the names of the cookies that they set: a browser, which
// sends these back, may get further. Without a loop both are empty.
func (r *Result) Looped() (hops []Hop, cookies []string) {
	if !r.Loop || len(r.Hops) == 0 {
		return nil, nil
	}
	hops = r.Hops
	for to := resource(hops[len(hops)-1].Target); len(hops) > 1; hops = hops[1:] {
		if u, err := diag.ParseURL(hops[0].URL); err == nil && resource(u) == to {
			break
		}
	}
	for i := range hops {
		cookies = append(cookies, hops[i].Cookies()...)
	}
	return hops, cookies
}

// maxCookies bounds the reported cookies of a response.
const maxCookies = 50

// Cookies returns the names of the cookies that the response sets, without duplicates.
func (h *Hop) Cookies() []string {
	names := []string{}
	for _, line := range h.Header.Values("Set-Cookie") {
		name, _, ok := strings.Cut(line, "=")
		name = strings.ToValidUTF8(strings.TrimSpace(name), "\uFFFD")
		if ok && !slices.Contains(names, name) && len(names) < maxCookies {
			names = append(names, name)
		}
	}
	return names
}

// A Lead is a redirect in a document. The zero Lead is none.
type Lead struct {
	Type   RedirectType
	Target string        // as written in the document
	Base   string        // what Target is relative to, itself relative to the URL of the hop; empty: the URL of the hop
	After  time.Duration // delay before the redirect
}

// forwarded asks where the document of the last hop leads, and writes it down in the hop.
func (r *Result) forwarded(req Request) Lead {
	h := &r.Hops[len(r.Hops)-1]
	lead := req.Next(*h, r.Body)
	if lead.Target == "" || isScript(lead.Target) {
		return Lead{} // HTML Standard, "shared declarative refresh steps", last step but one
	}
	leading := *h
	leading.lead(r.URL, lead)
	if leading.Refused == nil && resource(leading.Target) == resource(r.URL) && lead.After > 0 {
		return Lead{} // it is reloaded now and then
	}
	*h = leading
	if req.MaxRedirects == 0 {
		return Lead{}
	}
	return lead
}

// lead writes down where a hop leads. A Location with a control character is not followed: what put it there may have
// put anything there (RFC 9110 section 5.5).
func (h *Hop) lead(own diag.URL, l Lead) {
	base := own
	if l.Base != "" {
		if b, _, err := resolve(own, l.Base); err == nil {
			base = b
		}
	}
	h.RedirectType, h.Location, h.After = l.Type, strings.ToValidUTF8(l.Target, "\uFFFD"), l.After
	h.Target, h.Oddities, h.Refused = resolve(base, l.Target)
	if l.Type == HTTPRedirect && h.Oddities.Control && h.Refused == nil {
		h.Target, h.Refused = diag.URL{}, &Error{Code: Protocol, Step: Answering,
			Message: "the redirect has a control character, which browsers remove and other clients refuse"}
	}
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

// Refresh returns the redirect in a Refresh header field, or the zero Lead if there is none that browsers
// follow (html.spec.whatwg.org, "The `Refresh` header").
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

// ParseRefresh parses the value of a Refresh header field or of the equivalent meta element, such as "5;
// url=/new" (html.spec.whatwg.org, "shared declarative refresh steps"): the delay and the target. An empty
// target means that the document is reloaded. The bool is false if browsers ignore the value.
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

// whitespace is the whitespace of HTML (infra.spec.whatwg.org, "ASCII whitespace").
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
