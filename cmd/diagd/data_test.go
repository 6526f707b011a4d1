package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The output of "diagd data show" for a built-in list can be edited and put into the folder of --data: it passes the
// check of such a file. Empty lists, which are printed as nothing, are reported as such.
func TestListsPassTheirChecks(t *testing.T) {
	for name, list := range lists {
		t.Run(name, func(t *testing.T) {
			assert.NotEmpty(t, list.purpose)
			data := list.builtIn()
			if len(data) == 0 {
				return
			}
			require.NoError(t, list.check(data))
			require.Error(t, list.check([]byte("neither JSON nor PEM {")))
		})
	}
}

// The lists have the names of CONTRACT 8.1.
func TestListsHaveTheNamesOfTheContract(t *testing.T) {
	for _, name := range []string{
		"vantages.json", "dnsbl.json", "rdap-bootstrap.json", "whois-servers.json", "plans.json", "hsts-preload.json",
		"mark-roots.pem", "ct-logs.json", "key-blocklist.json",
	} {
		_, ok := lists[name]
		assert.True(t, ok, name)
	}
}
