package registry

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// TestConformanceRDAP reads samples of RDAP answers and fragments, valid and not. All that are JSON
// objects are read without an error, and every contact in them is found; the others are never read as an answer.
// Where the contents of an answer are documented, they are read as documented.
func TestConformanceRDAP(t *testing.T) {
	paths := diagtest.Suite(t, "dns/rdap/*.json")
	right, total := 0, 0
	check := func(name string, ok bool, what string) {
		total++
		if ok {
			right++
			return
		}
		t.Errorf("%s: %s", name, what)
	}
	for _, path := range paths {
		name := filepath.Base(path)
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		var v any
		invalid := json.Unmarshal(data, &v)
		o, failure := parseObject(data)
		object, isObject := v.(map[string]any)
		if invalid != nil || !isObject {
			check(name, failure != nil, "what is no JSON object was read")
		} else {
			check(name, failure == nil, "it was not read")
			want := contactsIn(object, 0)
			check(name, slices.Equal(want, contactsOf(o)), "contacts are not those of the answer")
		}
		if array, ok := v.([]any); ok {
			check(name, parseCard(node{array}).faults > 0, "the faults of the card were not seen")
		}
		if want, err := os.ReadFile(strings.TrimSuffix(path, ".json") + "-expected.gtld"); err == nil {
			compareWHOIS(t, o, want)
			check(name, !t.Failed(), "it does not say what it should")
		}
	}
	t.Logf("dns/rdap: %d samples, %d/%d checks", len(paths), right, total)
}

// contactsIn finds the names of contacts in a document in a way of its own: role and name of each
// entity, at any depth that is read.
func contactsIn(object map[string]any, depth int) []string {
	var list []string
	entities, _ := object["entities"].([]any)
	for _, e := range entities {
		entity, ok := e.(map[string]any)
		if !ok || depth >= maxDepth {
			continue
		}
		roles, _ := json.Marshal(entity["roles"])
		list = append(list, string(roles)+" "+nameIn(entity["vcardArray"]))
		list = append(list, contactsIn(entity, depth+1)...)
	}
	return list
}

// nameIn returns the first formatted name of a card.
func nameIn(card any) string {
	array, _ := card.([]any)
	if len(array) != 2 {
		return ""
	}
	properties, _ := array[1].([]any)
	for _, p := range properties {
		property, _ := p.([]any)
		if len(property) == 4 && property[0] == "fn" {
			name, _ := property[3].(string)
			if name != "" && !isRedaction(name) {
				return strings.TrimSpace(name)
			}
		}
	}
	return ""
}

func contactsOf(o *object) []string {
	var list []string
	for _, e := range o.entities {
		roles, _ := json.Marshal(e.roles)
		list = append(list, string(roles)+" "+e.card.name)
	}
	return list
}

// compareWHOIS compares an answer with the same in the form of WHOIS.
func compareWHOIS(t *testing.T, o *object, text []byte) {
	t.Helper()
	f := factsOfObject(o)
	r := readRecord(string(text), o.name)
	require.Equal(t, r.domain, o.name)
	require.Equal(t, r.handle, f.handle)
	require.Equal(t, r.registrar.Name, f.registrar.Name)
	require.Equal(t, r.registrar.AbuseEmail, f.registrar.AbuseEmail)
	require.Equal(t, strings.TrimPrefix(r.registrar.AbusePhone, "tel:"), f.registrar.AbusePhone)
	require.Equal(t, r.nameservers, f.nameservers)
	require.Equal(t, r.statuses, f.statuses)
	require.True(t, r.created.time.Equal(f.dates.CreatedAt))
	require.True(t, r.expires.time.Equal(f.dates.ExpiresAt))
	require.True(t, r.updated.time.Equal(f.dates.UpdatedAt))
	require.True(t, bytes.Contains(text, []byte(f.contacts[0].Organization)))
}
