//go:build !race || nightly

package httpapi

// The race detector makes these many times slower, and their only concurrency is covered by other tests.

import (
	"hash/fnv"
	"path/filepath"
	"testing"
	"testing/cryptotest"
	"testing/synctest"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// The files of docs/ match the table, the operations and their rules, to the byte. Each operation has files of its
// own, so that one row can be added or changed without touching the files of others. go test ./httpapi -update writes
// all of them together.
func TestDocuments(t *testing.T) {
	d := newDocument(t)
	examples := map[string]example{}
	for _, ep := range endpoints {
		require.NotContains(t, examples, ep.docName(), "two operations share a file")
		examples[ep.docName()] = example{}
		t.Run(ep.Name(), func(t *testing.T) {
			seed := fnv.New64a()
			seed.Write([]byte(ep.ID()))
			cryptotest.SetGlobalRandom(t, seed.Sum64())
			var ex example
			synctest.Test(t, func(t *testing.T) { ex = makeExample(t, d, ep) }) // nothing of it draws numbers later
			examples[ep.docName()] = ex
			goldenFile(t, "operations/"+ep.docName()+".json", laidOut(ex, " "))
			if page := findingsPage(ep); page != nil {
				goldenFile(t, "findings/"+ep.docName()+".md", page)
			}
		})
	}
	goldenFile(t, "endpoints.md", endpointsPage())
	diagtest.Golden(t, filepath.Join("testdata", "incomplete.txt"), incompleteRules())
	goldenFile(t, "openapi.json", openAPI(endpoints, func(ep Endpoint) example { return examples[ep.docName()] }))
	checkFolder(t, "operations", func(Endpoint) bool { return true })
	checkFolder(t, "findings", hasFindings)
}

// Every reply and refusal of an operation in a troubled world conforms to the document.
func TestRepliesMatchDocument(t *testing.T) {
	d := newDocument(t)
	for _, ep := range endpoints {
		t.Run(ep.Name(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testReplies(t, d, ep) }) // silence costs no time
		})
	}
}
