package httpapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// specialNames are names that a caller may submit and that no zone of the Internet has, in the spellings that a
// request may have: those of RFC 6761 and its successors, and one that is too long with a label in front of it.
var specialNames = []string{
	"localhost", "LOCALHOST", "localhost.", "foo.localhost", "x.localhost.", "a.b.LocalHost",
	"test", "host.test", "invalid", "host.invalid", "example", "host.local", "local", "onion", "host.onion", "home.arpa",
	"alt", "host.alt", "localhost.localdomain", "_http.localhost", "arpa", "in-addr.arpa", "1.0.0.127.in-addr.arpa", "ip6.arpa", "com", "co.uk",
	strings.Repeat(strings.Repeat("a", 49)+".", 5) + "com",    // 253 octets
	strings.Repeat(strings.Repeat("a", 48)+".", 5) + "com",    // room for a short label
	strings.Repeat(strings.Repeat("a", 60)+".", 4) + "museum", // room for none of ours
}

// named maps the request fields that hold the name of a host or a domain to the form of the name there.
var named = map[string]string{
	"domain": "", "host": "", "qname": "", "name": "", "mx_host": "", "hostname": "", "helo": "", "ehlo": "",
	"mail_from": "user@", "sender": "user@", "from": "user@", "email": "user@", "url": "https://", "image_url": "https://",
	"target": "", "server": "", "organization_domain": "", "policy_domain": "",
}

// A special-use name is an answer or a fault of the request, in every operation.
func TestSpecialNames(t *testing.T) {
	env, asked := exampleWorld(t).Env(), 0
	for _, ep := range endpoints {
		if ep.Hosted() {
			continue
		}
		var fields map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(exampleRequest(t, ep), &fields))
		for _, p := range ep.Params() {
			prefix, ok := named[p.Name]
			if !ok || !slices.Contains(p.Kinds, "string") || p.List {
				continue
			}
			asked++
			for _, name := range specialNames {
				request := map[string]json.RawMessage{}
				for k, v := range fields {
					request[k] = v
				}
				request[p.Name] = p.JSON(prefix + name)
				body, err := json.Marshal(request)
				require.NoError(t, err)
				assert.NotPanics(t, func() {
					if _, err := ep.Run(t.Context(), env, body); err != nil {
						f := problemFor(err)
						// No registry of this world answers, which is no fault of the name.
						silent := f.status == http.StatusBadGateway && errors.Is(err, diag.ErrUnavailable)
						assert.True(t, silent || f.status < http.StatusInternalServerError, "%s %s: %v", ep.Path, body, err)
					}
				}, "%s %s", ep.Path, body)
			}
		}
	}
	require.Greater(t, asked, 30)
}
