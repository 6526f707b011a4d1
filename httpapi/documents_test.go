package httpapi

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// makeExample runs an operation with the request that its tags describe. It has a world of its own and its own
// randomness, so that its document depends on no other operation.
func makeExample(t *testing.T, d *document, ep Endpoint) example {
	request := exampleRequest(t, ep)
	d.validateRequest(t, ep, request)
	result, err := runExample(t, exampleWorld(t), ep, request)
	require.NoError(t, err)
	if ep.Operation.report == nil {
		require.Contains(t, ep.Operation.media, result.MediaType)
		require.NotEmpty(t, result.Body)
		return example{Request: request}
	}
	validate(t, d.reply(t, ep), result.Body)
	return example{Request: request, Reply: bytes.TrimSpace(result.Body)}
}

func goldenFile(t *testing.T, name string, text []byte) {
	t.Helper()
	diagtest.Golden(t, filepath.Join("docs", filepath.FromSlash(name)), text)
}

// checkFolder fails for files of operations that are not in the table any more.
func checkFolder(t *testing.T, folder string, wanted func(Endpoint) bool) {
	files, err := os.ReadDir(filepath.Join("docs", folder))
	require.NoError(t, err)
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), filepath.Ext(f.Name()))
		known := slices.ContainsFunc(endpoints, func(ep Endpoint) bool { return ep.docName() == name && wanted(ep) })
		require.True(t, known, "docs/%s/%s belongs to no operation: delete it", folder, f.Name())
	}
}

// The OpenAPI document is small enough for clients, which load all of it.
func TestSizeOfDocument(t *testing.T) { require.LessOrEqual(t, len(Endpoints().OpenAPI()), 450_000) }

func endpointsPage() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Operations\n\nThe operations under `%s`, each with an example and with the findings that it can report. "+
		"This page is made from\nthe table in `httpapi/endpoints.go`. Go functions and commands: [operations.md](operations.md).\n\n", Prefix)
	b.WriteString("| operation | scope | credits | purpose | documents |\n|---|---|---|---|---|\n")
	for _, ep := range endpoints {
		documents := "[example](operations/" + ep.docName() + ".json)"
		if hasFindings(ep) {
			documents += " [findings](findings/" + ep.docName() + ".md)"
		}
		fmt.Fprintf(&b, "| `%s %s` | %s | %d | %s | %s |\n", ep.Method, ep.Path, ep.Scope, ep.Credits, ep.Purpose, documents)
	}
	return b.Bytes()
}

// incompleteRules lists the rules without a reference or advice. The list only shrinks.
func incompleteRules() []byte {
	var b bytes.Buffer
	for _, ep := range endpoints {
		for _, r := range ep.Rules() {
			for _, lack := range []struct{ what, text string }{{"reference", r.Reference}, {"advice", r.Advice}} {
				if lack.text == "" {
					fmt.Fprintf(&b, "%s: %s has no %s\n", ep.Path, r.Code, lack.what)
				}
			}
		}
	}
	return b.Bytes()
}

func hasFindings(ep Endpoint) bool { return len(ep.Rules()) > 0 }

// findingsPage lists the codes that an operation can report, or returns nil if it has none.
func findingsPage(ep Endpoint) []byte {
	if !hasFindings(ep) {
		return nil
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Findings of `%s %s`\n\nEvery code that a report can hold. Codes are permanent. "+
		"This page is made from the table of rules.\n\n", ep.Method, ep.Path)
	b.WriteString("| code | severity | points | fault | requirement | reference | advice |\n|---|---|---|---|---|---|---|\n")
	for _, r := range ep.Rules() {
		cells := []string{"`" + string(r.Code) + "`", r.Severity.String(), fmt.Sprint(r.Weight), r.Title, r.Requirement, r.Reference, r.Advice}
		for i, c := range cells {
			cells[i] = strings.ReplaceAll(strings.ReplaceAll(c, "|", `\|`), "\n", " ")
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	return b.Bytes()
}
