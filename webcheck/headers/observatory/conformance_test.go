package observatory_test

import (
	"net/http"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/webcheck/headers/observatory"
	"github.com/stretchr/testify/require"
)

// A vector is one case that the Observatory itself has graded.
type vector struct {
	ID        string
	Host      string
	Preloaded bool
	Input     struct {
		Headers   map[string]any
		Cookies   []string
		CORS      string
		Redirects [][]any
		HTML      string
		Verified  bool
	}
	Expected struct {
		Score       int
		Grade       string
		TestsPassed int `json:"tests_passed"`
		Tests       map[string]struct {
			Result   string
			Modifier int
			Pass     bool
		}
	}
}

// TestConformanceObservatory holds results, score and grade against the Observatory's own.
func TestConformanceObservatory(t *testing.T) {
	vectors, passed := diagtest.Cases[vector](t, diagtest.Vectors(t, "web/headers/observatory.json")), 0
	for _, v := range vectors {
		if t.Run(v.ID, func(t *testing.T) { v.hold(t, observatory.Grade(v.scan(t))) }) {
			passed++
		}
	}
	t.Logf("observatory: %d/%d", passed, len(vectors))
}

func (v *vector) scan(t *testing.T) observatory.Scan {
	page := observatory.Response{Header: http.Header{}, Body: v.Input.HTML, Untrusted: !v.Input.Verified}
	for name, value := range v.Input.Headers {
		switch value := value.(type) {
		case string:
			page.Header.Add(name, value)
		case []any:
			for _, one := range value {
				page.Header.Add(name, one.(string))
			}
		default:
			t.Fatalf("the header %s is a %T", name, value)
		}
	}
	s := observatory.Scan{
		Host: v.Host, Secure: true, Page: page, HTTPS: &page,
		Preloaded: func(string) bool { return v.Preloaded },
	}
	for _, line := range v.Input.Cookies {
		s.Cookies = append(s.Cookies, observatory.Cookie{URL: "https://" + v.Host + "/", Line: line})
	}
	if v.Input.CORS != "" {
		s.CORS = &observatory.CORS{Header: http.Header{"Access-Control-Allow-Origin": {v.Input.CORS}}}
	}
	for _, step := range v.Input.Redirects {
		s.HTTP = &page
		s.Redirects = append(s.Redirects, step[0].(string))
	}
	return s
}

func (v *vector) hold(t *testing.T, r observatory.Result) {
	require.Len(t, r.Tests, len(v.Expected.Tests))
	for _, test := range r.Tests {
		want, ok := v.Expected.Tests[test.Name]
		require.True(t, ok, test.Name)
		require.Equal(t, want.Result, test.Result, test.Name)
		require.Equal(t, want.Modifier, test.Modifier, test.Name)
		require.Equal(t, want.Pass, test.Pass, test.Name)
	}
	require.Equal(t, v.Expected.Score, r.Score)
	require.Equal(t, v.Expected.Grade, r.Grade)
	require.Equal(t, v.Expected.TestsPassed, r.TestsPassed)
}
