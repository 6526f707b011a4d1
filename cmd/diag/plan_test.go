package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag/overlay"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPlan(t *testing.T) {
	w := testWorld(t)
	for _, tt := range []struct {
		name     string
		args     string
		code     int
		out, err string
	}{
		{"text", "broken.example --plan --only mail", exitFinding, "PLAN  broken.example", ""},
		{"a threshold", "broken.example --plan --only mail --fail-on critical --no-smtp", exitPartial,
			"check: diag wait", ""},
		{"zone", "broken.example --plan --only mail --format zone", exitFinding, "$ORIGIN broken.example.\n", ""},
		{"nsupdate", "broken.example --plan --only mail --format nsupdate", exitFinding, "\nsend\n", ""},
		{"JSON", "broken.example --plan --only mail --format json", exitFinding, `"domain": "broken.example"`, ""},
		{"JSON as of all", "broken.example --plan --only mail --json", exitFinding, `"domain": "broken.example"`, ""},
		{"of a mailbox", "postmaster@broken.example --plan --only mail", exitFinding, "PLAN  broken.example", "note: "},
		{"an address", "192.0.2.1 --plan", exitUsage, "", "--plan is for domains"},
		{"a record", "v=spf1 --plan", exitUsage, "", "--plan is for domains"},
		{"nothing", "--plan", exitUsage, "", "--plan needs a domain"},
		{"a server", "broken.example --plan --server https://diag.example --key x", exitUsage, "", "--plan works locally only: omit --server"},
		{"a zone", "broken.example --plan --zone x", exitUsage, "", "omit --zone"},
		{"a list", "--plan -f x", exitUsage, "", "omit -f"},
		{"an unknown format", "broken.example --plan --format bind", exitUsage, "",
			`"bind" is not one of zone, nsupdate, json`},
		{"two formats", "broken.example --plan --format zone --json", exitUsage, "", "--plan is printed as text"},
		{"another format", "broken.example --plan --html", exitUsage, "", "--plan is printed as text"},
		{"a format alone", "broken.example --format zone", exitUsage, "", "--format needs --plan"},
		{"no such group", "broken.example --plan --only x", exitUsage, "", "--only"},
		{"no answer", "silent.example --plan --only mail", exitFinding, "mail unknown", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSession(w)
			assert.Equal(t, tt.code, s.run(t.Context(), strings.Fields(tt.args)), "%s%s", &s.out, &s.err)
			assert.Contains(t, s.out.String(), tt.out)
			assert.Contains(t, s.err.String(), tt.err)
		})
	}
}

// What is printed can be read by programs: JSON by any, and the zone by --zone.
func TestPlanOutput(t *testing.T) {
	w := testWorld(t)
	file := filepath.Join(t.TempDir(), "plan")
	for _, format := range []string{"zone", "json"} {
		s := newSession(w)
		args := strings.Fields("broken.example --plan --only mail --no-smtp --fail-on critical --format " + format)
		require.Equal(t, exitPartial, s.run(t.Context(), append(args, "-o", file)), &s.err)
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		if format == "json" {
			require.True(t, json.Valid(text))
			continue
		}
		zone, err := overlay.Parse(string(text), "", "")
		require.NoError(t, err)
		assert.Equal(t, "broken.example.", zone.Name)
		assert.NotEmpty(t, zone.Records)
	}
}
