package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/examples/demo/internet"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func startDemo(t *testing.T) *demo {
	return startAfter(t, 0)
}

func startAfter(t *testing.T, days int) *demo {
	d := &demo{}
	require.NoError(t, d.start(t.Context(), "127.0.0.1:0", days))
	t.Cleanup(d.close)
	return d
}

// Every operation answers its own example, so that the description can be tried out on the demo.
func TestEveryOperation(t *testing.T) {
	d := startDemo(t)
	for _, ep := range httpapi.Endpoints() {
		t.Run(ep.Name(), func(t *testing.T) {
			t.Parallel()
			target, fields, err := ep.Target(example(t, ep))
			require.NoError(t, err)
			status, body, err := d.call(t.Context(), ep.Method, target, string(fields))
			require.NoError(t, err)
			assert.Equal(t, http.StatusOK, status, "%s", body)
			assert.NotRegexp(t, `"checked_at":"[^"]*\.`, body, "whole seconds do")
		})
	}
}

// The operations that join many checks answer in a few kilobytes, unless the whole of each part is asked for.
func TestSizeOfReplies(t *testing.T) {
	d := startDemo(t)
	for _, name := range []string{"mail/domain-check", "deliverability/score"} {
		size := map[string]int{}
		for _, detail := range []string{"summary", "full"} {
			body := `{"domain":"good.example","detail":"` + detail + `"}`
			status, reply, err := d.call(t.Context(), http.MethodPost, httpapi.Prefix+"/"+name, body)
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, status, reply)
			size[detail] = len(reply)
		}
		assert.LessOrEqual(t, size["summary"], 25_600, name)
		assert.Greater(t, size["full"], 2*size["summary"], name)
	}
}

// The good domain is good in every operation on domains: no finding above info.
func TestGoodDomain(t *testing.T) {
	d, tested := startDemo(t), 0
	for _, ep := range httpapi.Endpoints() {
		fields := map[string]string{}
		for _, p := range ep.Params() {
			switch {
			case p.Name == "domain" || p.Name == "qname":
				fields[p.Name] = "good.example"
			case p.Name == "selector" && p.Required:
				fields[p.Name] = "s1"
			case p.Name == "qtype" && p.Required:
				fields[p.Name] = "A"
			case p.Required:
				fields["?"] = p.Name
			}
		}
		if ep.Method != http.MethodPost || !ep.HasVerdict() || fields["?"] != "" || fields["domain"]+fields["qname"] == "" {
			continue
		}
		tested++
		t.Run(ep.Name(), func(t *testing.T) {
			body, err := json.Marshal(fields)
			require.NoError(t, err)
			status, reply, err := d.call(t.Context(), ep.Method, httpapi.Prefix+ep.Path, string(body))
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, status, reply)
			assert.NotContains(t, reply, `"severity":"warning"`)
			assert.NotContains(t, reply, `"severity":"error"`)
			assert.NotContains(t, reply, `"severity":"critical"`)
		})
	}
	assert.NotZero(t, tested)
}

// Every operation has a stop on the tour, but for those without a world, of which one shows how.
func TestTourIsComplete(t *testing.T) {
	shown := map[string]bool{}
	for _, s := range tour(time.Now()) {
		shown[s.check] = true
	}
	for _, ep := range httpapi.Endpoints() {
		if ep.HasVerdict() {
			assert.True(t, shown[ep.Name()], ep.Name())
		}
	}
}

// example makes a request of the examples that the table gives for the fields.
func example(t *testing.T, ep httpapi.Endpoint) []byte {
	fields, groups := map[string]json.RawMessage{}, map[string]bool{}
	for _, p := range ep.Params() {
		if !p.Required && (p.OneOf == "" || groups[p.OneOf]) {
			continue
		}
		groups[p.OneOf] = true
		if fields[p.Name] = p.JSON(p.Example); p.List {
			fields[p.Name] = json.RawMessage("[" + string(p.JSON(p.Example)) + "]")
		}
	}
	text, err := json.Marshal(fields)
	require.NoError(t, err)
	return text
}

// The lines to paste name checks that exist, and quote what the shell would take apart.
func TestPrintedTour(t *testing.T) {
	var b bytes.Buffer
	stops, calls := tour(time.Now()), 0 // the letters have the current date, and are signed each time
	require.NoError(t, printTour(&b, "http://127.0.0.1:1", stops))
	for _, s := range stops {
		if s.check == "" {
			assert.Contains(t, b.String(), "diag "+s.args+" --server http://127.0.0.1:1\n")
			continue
		}
		calls++
		_, target, _, err := s.request()
		require.NoError(t, err)
		assert.NotContains(t, s.fields, "'")
		path, _, _ := strings.Cut(target, "?")
		check := strings.TrimPrefix(path, httpapi.Prefix+"/")
		assert.Contains(t, b.String(), "diag "+strings.TrimSpace(check+" "+s.args)+" --server http://127.0.0.1:1\n")
	}
	assert.Contains(t, b.String(), "diag spf/hosted/"+profileID+"/history --limit 5 --server ")
	assert.Contains(t, b.String(), "/spf/hosted/"+profileID+"/history?limit=5' ")
	var first strings.Builder
	(&demo{url: "http://127.0.0.1:1", secret: "svc_test_x"}).printStart(&first)
	assert.Contains(t, first.String(), "export DIAG_SERVER=http://127.0.0.1:1\n  export DIAG_KEY=svc_test_x\n")
	assert.LessOrEqual(t, strings.Count(first.String(), "\n"), 10)
	assert.Equal(t, calls, strings.Count(b.String(), "  curl "))
	assert.Less(t, strings.Index(b.String(), "diag hopeless.example "), strings.Index(b.String(), "diag good.example "))
}

// Every domain of the tour is registered, but for the one that is free and those that do not exist or do not answer.
func TestRegistrations(t *testing.T) {
	d := startDemo(t)
	subject := regexp.MustCompile(`"(?:domain|host|url)":"(?:https?://)?(?:www\.)?([a-z0-9-]+\.(?:example|com))[/"]`)
	domains := map[string]bool{}
	for _, s := range tour(time.Now()) {
		if m := subject.FindStringSubmatch(s.fields); m != nil && m[1] != "paypa1.com" {
			domains[m[1]] = true
		}
	}
	assert.Greater(t, len(domains), 30)
	domains[internet.Free] = false
	for domain, registered := range domains {
		status, reply, err := d.call(t.Context(), http.MethodPost, httpapi.Prefix+"/rdap/lookup", `{"domain":"`+domain+`"}`)
		require.NoError(t, err)
		assert.Equal(t, http.StatusOK, status, reply)
		assert.Equal(t, !registered, strings.Contains(reply, "rdap.domain.unregistered"), domain)
	}
	for _, ip := range []string{"8.8.8.8", "192.0.2.12", "2001:4860:4860::8888"} {
		status, reply, err := d.call(t.Context(), http.MethodPost, httpapi.Prefix+"/ip/whois", `{"ip":"`+ip+`"}`)
		require.NoError(t, err)
		assert.Equal(t, http.StatusOK, status, reply)
	}
}
