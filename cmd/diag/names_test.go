package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What people type, and what it means.
func TestNames(t *testing.T) {
	global := new(app).command().PersistentFlags()
	for typed, want := range map[string]string{
		"spf example.com":        "spf/lookup example.com",
		"spf v=spf1":             "spf/validate v=spf1",
		"help spf":               "spf/lookup --help",
		"resolve example.com MX": "resolve example.com MX",
		"--json ssl example.com": "--json certificates/ssl/check example.com",
		"whois example.com":      "rdap/lookup example.com",
		"whois 192.0.2.1":        "ip/whois 192.0.2.1",
		"ptr 192.0.2.1":          "ip/nslookup 192.0.2.1",
		"subnet 192.0.2.0/24":    "ip/netmask 192.0.2.0/24",
		"spf/lookup example.com": "spf/lookup example.com",
		"example.com --no-smtp":  "example.com --no-smtp",
		"":                       "",
	} {
		assert.Equal(t, want, strings.Join(replaceShortName(global, strings.Fields(typed)), " "), typed)
	}
}

// Every short name denotes an existing check.
func TestShortNames(t *testing.T) {
	for short, name := range shortNames {
		assert.Equal(t, name, endpoint(t, name).Name(), short)
	}
	for short, names := range checksByContent {
		for _, name := range []string{names.record, names.address} {
			if name != "" {
				assert.Equal(t, name, endpoint(t, name).Name(), short)
			}
		}
	}
	assert.Len(t, httpapi.Endpoints(), 62)
}

// A flag that is misspelt names the one that was meant.
func TestSuggestFlag(t *testing.T) {
	s := newSession(nil)
	assert.Equal(t, exitUsage, s.run(t.Context(), []string{"ip/netmask", "192.0.2.0/24", "--jsno"}))
	assert.Contains(t, s.err.String(), "did you mean --json?")
}

// The server that was queried is named; the chain of errors is not printed.
func TestExplain(t *testing.T) {
	silent := fmt.Errorf("looking up a.example: %w", diag.Unavailable("the WHOIS server whois.iana.org", fmt.Errorf("it has no address")))
	assert.Equal(t, []string{"no usable answer from the WHOIS server whois.iana.org"}, errorLines(silent))
	late := diag.Unavailable("the resolver Quad9", context.DeadlineExceeded)
	assert.Equal(t, []string{"timeout waiting for the resolver Quad9"}, errorLines(late))
	assert.Equal(t, []string{"interrupted"}, errorLines(diag.Unavailable("the resolver Quad9", context.Canceled)))
}

// A fault of a file's kind is reported with its name.
func TestFileOfNoKind(t *testing.T) {
	name := filepath.Join(t.TempDir(), "notes")
	require.NoError(t, os.WriteFile(name, []byte("notes"), 0o600))
	s := newSession(nil)
	assert.Equal(t, exitUsage, s.run(t.Context(), []string{name}))
	assert.Contains(t, s.err.String(), "diag: "+name+": is not one of: a message, ")
	s = newSession(nil)
	assert.Equal(t, exitUsage, s.run(t.Context(), []string{"folder/gone.pem"}))
	assert.Contains(t, s.err.String(), "diag: file folder/gone.pem not found; ")
	s = newSession(nil)
	assert.Equal(t, exitUsage, s.run(t.Context(), []string{"nosuchfile.PEM"}))
	assert.Contains(t, s.err.String(), "diag: file nosuchfile.PEM not found ")
}

// The picture of a domain has its name and headline.
func TestSVGTitle(t *testing.T) {
	s := newSession(testWorld(t))
	s.run(t.Context(), []string{"broken.example", "--no-smtp", "--svg"})
	assert.Contains(t, s.out.String(), `<title id="t">broken.example: `)
}

// The short answer about an address is its host names.
func TestShortReverse(t *testing.T) {
	w := testWorld(t)
	w.Zone(`77.2.0.192.in-addr.arpa. PTR host.example.com.`)
	s := newSession(w)
	assert.Equal(t, exitOK, s.run(t.Context(), []string{"-x", "192.0.2.77", "--short"}), "%s", &s.err)
	assert.Equal(t, "host.example.com\n", s.out.String())
}
