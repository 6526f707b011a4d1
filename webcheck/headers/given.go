package headers

import (
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/input"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/diag/rule"
)

// An Answer is a response that the caller already has, for [Judge].
type Answer struct {
	URL        diag.URL    // URL of the request; if it is https, the certificate is assumed to be trusted
	StatusCode int         // 0 means 200
	Header     http.Header // read, not modified
	// Body is the document without content codings; only the first [MaxPage] bytes are read. Nil means that
	// it is not known: then there is no score, and what the page loads is not compared with its policy.
	Body []byte
	// At is the time of the response, to which the ages of cookies are relative. Zero means now.
	At time.Time
}

// Judge examines the header fields of a given response. It sends no requests, so it leaves out the rules of
// [Check] about redirects from plain HTTP, CORS and security.txt; the report says so. The score is that of
// the HTTP Observatory's tests that need only the response. The error is a *[diag.InputError] if the URL is
// missing.
func Judge(a Answer) (*Report, error) {
	if a.URL.IsZero() {
		return nil, input.Invalid("url", "is missing")
	}
	if a.At.IsZero() {
		a.At = time.Now()
	}
	hop := fetch.Hop{Index: 1, URL: a.URL.String(), Method: http.MethodGet, StatusCode: a.StatusCode, Header: a.Header}
	if hop.StatusCode == 0 {
		hop.StatusCode = http.StatusOK
	}
	hop.StatusText = http.StatusText(hop.StatusCode)
	if hop.Location = a.Header.Get("Location"); hop.Location != "" && hop.StatusCode/100 == 3 {
		hop.RedirectType = fetch.HTTPRedirect
	}
	for _, name := range slices.Sorted(maps.Keys(a.Header)) {
		for _, value := range a.Header[name] {
			hop.Fields = append(hop.Fields, fetch.Field{Name: name, Value: value})
		}
	}
	page := &fetch.Result{URL: a.URL, Body: a.Body[:min(len(a.Body), MaxPage)], Truncated: len(a.Body) > MaxPage}
	e := &evidence{req: Request{URL: a.URL, Method: http.MethodGet}, now: a.At, page: page, given: true}
	if a.Body == nil {
		e.req.Method = http.MethodHead
	}
	if a.URL.Scheme() == "https" {
		hop.TLS = &pki.TLS{}
		e.overHTTPS = page
	}
	page.Hops = []fetch.Hop{hop}
	e.digest()
	return e.report(a.At), nil
}

// givenRules are those that an answer alone decides.
var givenRules = sync.OnceValue(func() rule.Rules[*evidence] {
	list := slices.Concat(transportRules, hstsRules, policyRules, policyDetailRules, framingRules, fieldRules,
		isolationRules, cookieRules, hygieneRules, observatoryRules)
	list = slices.DeleteFunc(list, func(r rule.Rule[*evidence]) bool { return len(r.Reads) > 0 })
	for i := range list {
		list[i].DependsOn = slices.DeleteFunc(slices.Clone(list[i].DependsOn), func(code diag.Code) bool {
			return !slices.ContainsFunc(list, func(r rule.Rule[*evidence]) bool { return r.Code == code })
		})
	}
	return list
})

// notInAnswer are the sources that an answer which was given is silent about. Nobody asked them.
func (e *evidence) notInAnswer() []rule.Source {
	list := []rule.Source{fromHTTP, fromPreflight, fromForeign, fromNull, fromSecurity}
	if !e.secure() {
		list = append(list, fromHTTPS)
	}
	return list
}

// givenScope lists what an answer alone does not show.
func (e *evidence) givenScope() []diag.ScopePart {
	const reason = "an answer was given, and nobody was asked"
	scope := []diag.ScopePart{{Part: "header", State: diag.Examined}}
	if e.unread() {
		scope = append(scope, diag.ScopePart{Part: "document", State: diag.LeftOut, Reason: "it was not given"})
	}
	for _, part := range []string{"plain HTTP", "cross-origin access", "security.txt"} {
		scope = append(scope, diag.ScopePart{Part: part, State: diag.LeftOut, Reason: reason})
	}
	return scope
}
