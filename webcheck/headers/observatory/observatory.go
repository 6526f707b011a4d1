package observatory

import (
	_ "embed" // outcomes.txt
	"fmt"
	"net/http"
	"strings"
	"sync"
)

// algorithmVersion is the version of the Observatory's algorithm that this package follows.
const algorithmVersion = 6

// A Scan has the responses of a site.
type Scan struct {
	Host   string // host of the site, as requested
	Secure bool   // whether Page was fetched over https; false only if the site has no https

	Page  Response  // the page at the end of its redirects
	HTTP  *Response // response to the request over http, after redirects; nil if there was none
	HTTPS *Response // response to the request over https, after redirects; nil if there was none
	// Redirects are the URLs of the request over http, including the first and the last.
	Redirects []string

	Cookies []Cookie // cookies set by the page and the redirects to it
	CORS    *CORS    // response to a request from a foreign origin; nil if there was none
	// Preloaded reports whether a host or a parent domain is on the HSTS preload list. If nil, none is.
	Preloaded func(host string) bool
}

// A Response is a response of the site.
type Response struct {
	Header    http.Header
	Body      string // body of the page, whatever the status
	Untrusted bool   // a certificate of the chain of redirects was not trusted
}

// A Cookie is one Set-Cookie line and the URL that sent it.
type Cookie struct{ URL, Line string }

// CORS is the response to a request from a foreign origin.
type CORS struct {
	Origin string // value of Origin in the request
	Header http.Header
}

// A Result is a grade, and the results of the tests.
type Result struct {
	Version     int    `json:"version" doc:"version of the algorithm of the HTTP Observatory"`
	Score       int    `json:"score" min:"0" max:"200" doc:"points, above 100 with bonuses"`
	Grade       string `json:"grade" doc:"grade that follows from the points" example:"B+"`
	TestsPassed int    `json:"tests_passed" min:"0" max:"12" doc:"how many tests were passed"`
	Tests       []Test `json:"tests" maxitems:"12" doc:"the tests, in the order of the Observatory"`
}

// A Test is the outcome of one test.
type Test struct {
	Name     string `json:"name" doc:"name of the test" example:"x-content-type-options"`
	Result   string `json:"result" doc:"the outcome, in the Observatory's words" example:"x-content-type-options-nosniff"`
	Modifier int    `json:"modifier" doc:"points that the outcome adds or takes"`
	Pass     bool   `json:"pass" doc:"whether the test is passed"`
}

// tests are the twelve tests in the Observatory's order.
var tests = []struct {
	name string
	run  func(*scan) string
}{
	{"content-security-policy", (*scan).contentSecurityPolicy},
	{"cookies", (*scan).cookies},
	{"cross-origin-embedder-policy",
		isolation("Cross-Origin-Embedder-Policy", "coep", "require-corp", "credentialless", "unsafe-none")},
	{"cross-origin-opener-policy", isolation("Cross-Origin-Opener-Policy", "coop",
		"same-origin", "same-origin-allow-popups", "noopener-allow-popups", "unsafe-none")},
	{"cross-origin-resource-sharing", (*scan).sharing},
	{"redirection", (*scan).redirection},
	{"referrer-policy", (*scan).referrerPolicy},
	{"strict-transport-security", (*scan).transportSecurity},
	{"subresource-integrity", (*scan).integrity},
	{"x-content-type-options", (*scan).contentTypeOptions},
	{"x-frame-options", (*scan).frameOptions},
	{"cross-origin-resource-policy", (*scan).resourcePolicy},
}

// A scan is a Scan in work, with what several tests need.
type scan struct {
	Scan
	policies policies
	page     markup
}

// Grade grades a site.
func Grade(s Scan) Result {
	w := &scan{Scan: s, page: readMarkup(s.Page)}
	w.policies = w.readPolicies()
	r := Result{Version: algorithmVersion, Tests: []Test{}}
	for _, t := range tests {
		result := t.run(w)
		o := outcomes()[result]
		r.Tests = append(r.Tests, Test{t.name, result, o.modifier, o.pass})
		if o.pass {
			r.TestsPassed++
		}
	}
	r.Score = Score(r.Tests)
	r.Grade = gradeOf(r.Score)
	return r
}

// Score returns the total of the tests: 100 minus their penalties and, if that is at least 90, plus their
// bonuses.
func Score(tests []Test) int {
	without, with := 100, 100
	for _, t := range tests {
		with += t.Modifier
		without += min(0, t.Modifier)
	}
	if without >= bonusFrom {
		return max(0, with)
	}
	return max(0, without)
}

// Gradable reports whether the Observatory grades pages with this status code.
func Gradable(status int) bool {
	return status >= 200 && status < 400 || status == http.StatusUnauthorized || status == http.StatusForbidden
}

// bonusFrom is the score without bonuses from which bonuses count.
const bonusFrom = 90

// grades are the lowest scores of each grade.
var grades = []struct {
	from  int
	grade string
}{
	{100, "A+"}, {90, "A"}, {85, "A-"}, {80, "B+"}, {70, "B"}, {65, "B-"}, {60, "C+"}, {50, "C"}, {45, "C-"},
	{40, "D+"}, {30, "D"}, {25, "D-"},
}

func gradeOf(score int) string {
	for _, g := range grades {
		if score >= g.from {
			return g.grade
		}
	}
	return "F"
}

// An outcome is the meaning of a test result.
type outcome struct {
	modifier int
	pass     bool
}

//go:embed outcomes.txt
var outcomeText string

// outcomes are all results: the points and whether the test is passed.
var outcomes = sync.OnceValue(func() map[string]outcome {
	all := map[string]outcome{}
	for line := range strings.Lines(outcomeText) {
		var name, word string
		var o outcome
		if n, _ := fmt.Sscan(line, &name, &o.modifier, &word); n == 3 {
			o.pass = word == "pass"
			all[name] = o
		}
	}
	return all
})
