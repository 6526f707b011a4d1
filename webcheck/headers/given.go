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

// An Answer is the answer of a server to another client, such as an [http.Client] of the caller, or to a test of
// the caller's handler.
type Answer struct {
	URL        diag.URL    // that was asked for; one with https is taken to have come with a trusted certificate
	StatusCode int         // 0 means 200
	Header     http.Header // its values are read and not changed
	// Body is the document without content codings; of more than MaxPage bytes the rest is not read. Nil means that it is
	// not known: then what the page loads is not compared with its policy, and there is no score.
	Body []byte
	// At is when the answer came, from which the ages of cookies count. Zero means now.
	At time.Time
}

// Judge examines the header fields of an answer that was given, by the rules of [Check] that need nothing else. It
// sends no requests: what plain HTTP leads to, other sites may read and security.txt says is left out, and the
// report says so. The score is that of the tests of the HTTP Observatory which the answer alone decides. An answer
// without a URL is a *[diag.InputError].
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
