package main

import (
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/assert"
)

// Without a selector, keys are examined at the common ones; that there is none is not claimed.
func TestCommonSelectors(t *testing.T) {
	const key = ` TXT "v=DKIM1; k=ed25519; p=2J0Vi6Qu3EijgpBSbvrkSF0zb6qpRkEg8oBG9Nu6RXU="` + "\n"
	w := diagtest.NewWorld(t)
	w.Zone("mail._domainkey.one.example." + key + "mail._domainkey.two.example." + key + "s1._domainkey.two.example." + key +
		"other._domainkey.none.example." + key)
	w.Silence("silent.example")
	address, secret := apiServer(t, w)
	for _, tt := range []struct {
		args     string
		code     int
		out, err string
	}{
		{"dkim one.example", exitOK, "mail", "has keys at mail; 4"},
		{"dkim --domain one.example", exitOK, "mail", "has keys at mail; 4"},
		{"dkim two.example --jsonl", exitOK, `"selector":"s1"`, "has keys at mail, s1; 4"},
		{"dkim two.example --svg", exitUsage, "", "for one question"},
		{"dkim none.example", exitIncomplete, "", "may have others: name the selector"},
		{"dkim silent.example", exitIncomplete, "", "no"},
		{"dkim one..example", exitUsage, "", "domain: "},
		{"dkim one.example mail", exitOK, "mail", ""},
	} {
		here, there := newSession(w), newSession(nil)
		args := strings.Fields(tt.args)
		assert.Equal(t, tt.code, here.run(t.Context(), args), "%s: %s%s", tt.args, &here.out, &here.err)
		assert.Contains(t, here.out.String(), tt.out, tt.args)
		assert.Contains(t, here.err.String(), tt.err, tt.args)
		assert.NotContains(t, here.err.String(), "no DKIM")
		assert.Equal(t, tt.code, there.run(t.Context(), append(args, "--server", address, "--key", secret)),
			"%s: %s", tt.args, &there.err)
	}
}
