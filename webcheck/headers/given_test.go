package headers

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// given is the answer of a handler to a request for a page.
func given(h http.Handler) Answer {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "https://example.com/", nil))
	return Answer{URL: diag.MustURL("https://example.com/"), StatusCode: w.Code, Header: w.Header(), Body: w.Body.Bytes()}
}

// An answer that is given is judged as it is when it is fetched, by all rules that read nothing else.
func TestJudge(t *testing.T) {
	for _, tt := range changes {
		r, err := Judge(given(serve(tt.lines, tt.body)))
		require.NoError(t, err, tt.name)
		var want []string
		for _, code := range strings.Fields(tt.codes) {
			if slices.ContainsFunc(givenRules(), func(r rule.Rule[*evidence]) bool { return string(r.Code) == "headers."+code }) {
				want = append(want, code)
			}
		}
		var got []diag.Code
		for _, f := range r.Findings {
			got = append(got, f.Code)
		}
		if tt.name == "nonce" { // Check knows from a second answer that it is used again, and says no more of it
			want = append(want, "csp.nonce.short")
		}
		slices.Sort(want)
		slices.Sort(got)
		assert.Equal(t, strings.Join(want, " "), join(got), tt.name)
		assert.False(t, r.Partial, tt.name)
		assert.Empty(t, r.Observatory.Grade, "%s: the Observatory asks for more", tt.name)
	}
}

func TestJudgeWhatIsGiven(t *testing.T) {
	good := given(serve("", goodBody))
	r, err := Judge(good)
	require.NoError(t, err)
	assert.Equal(t, diag.Valid, r.State)
	assert.Equal(t, 100, *r.Score)
	assert.True(t, r.SecurityHeaders.StrictTransportSecurity.Valid)
	assert.Equal(t, []string{"plain HTTP left_out", "cross-origin access left_out", "security.txt left_out",
		"header examined"}, scopeOf(r))
	assert.Equal(t, "Cache-Control", r.Headers[0].Name, "by name: a map has no order")

	without := good
	without.Body = nil
	r, err = Judge(without)
	require.NoError(t, err)
	assert.Nil(t, r.Score, "the document is not known")
	assert.Contains(t, scopeOf(r), "document left_out")

	plain := good
	plain.URL, plain.StatusCode = diag.MustURL("http://example.com/"), 0
	r, err = Judge(plain)
	require.NoError(t, err)
	assert.Equal(t, http.StatusOK, r.StatusCode)
	assert.False(t, r.SecurityHeaders.StrictTransportSecurity.Valid, "RFC 6797 section 8.1")
	assert.Contains(t, codesOf(r), "headers.https.missing")

	away := Answer{URL: good.URL, StatusCode: 302, Header: http.Header{"Location": {"https://www.example.com/"}}}
	r, err = Judge(away)
	require.NoError(t, err)
	assert.NotContains(t, codesOf(r), "headers.csp.missing", "a redirect is no page")

	long := good
	long.Body = append([]byte(goodBody), make([]byte, 2*MaxPage)...)
	_, err = Judge(long)
	require.NoError(t, err)

	for _, empty := range []Answer{{URL: good.URL}, {URL: good.URL, StatusCode: 99, Header: http.Header{"": {""}}, Body: []byte{}}} {
		_, err = Judge(empty)
		require.NoError(t, err)
	}
	_, err = Judge(Answer{Header: good.Header})
	input, ok := errors.AsType[*diag.InputError](err)
	require.True(t, ok)
	assert.Equal(t, "url", input.Field)
}

func scopeOf(r *Report) (list []string) {
	for _, p := range r.Examined {
		list = append(list, p.Part+" "+string(p.State))
	}
	return list
}

func codesOf(r *Report) (list []string) {
	for _, f := range r.Findings {
		list = append(list, string(f.Code))
	}
	return list
}
