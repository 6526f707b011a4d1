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

// A Scan holds the observations of a site.
type Scan struct {
	Host   string // of the site, as asked for
	Secure bool   // whether the page is that of https; otherwise there is no https, and it is that of http

	Page  Response  // the page at the end of its redirects
	HTTP  *Response // what asking over http led to; nil if nothing answered
	HTTPS *Response // what asking over https led to; nil if nothing answered
	// Redirects are the URLs that asking over http went through, the first and the last among them.
	Redirects []string

	Cookies []Cookie // that were set on the way to the page
	CORS    *CORS    // the answer to a request from a foreign origin; nil if there was none
	// Preloaded reports whether browsers know a host, by itself or by a parent domain, as one for https only. If
	// nil, no host is known.
	Preloaded func(host string) bool
}

// A Response is an answer of the site.
type Response struct {
	Header    http.Header
	Body      string // of the page; the Observatory reads it whatever the status is
	Untrusted bool   // a certificate on the way was not to be trusted
}

// A Cookie is one Set-Cookie line and the URL that sent it.
type Cookie struct{ URL, Line string }

// CORS is the answer of a site to a request from a foreign origin.
type CORS struct {
	Origin string // that was sent
	Header http.Header
}

// A Result is a grade and how it was computed.
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

// Score returns the total of tests: their points taken from 100 or, from 90 on, added too.
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

// Gradable reports whether the Observatory grades pages with this status: it treats others as a sign that it
// was shut out.
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
