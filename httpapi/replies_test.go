package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
)

// problemSchema is the schema of every reply that is not a success.
var problemSchema = sync.OnceValue(func() *jsonschema.Schema {
	t := &testing.T{}
	return newDocument(t).schema(t, "components", "schemas", "PublicAPIError")
})

// The subjects of a troubled world, by the field that names them.
var subjects = map[string][]string{
	"domain": {"example.com", "nothing.example", "servfail.example", "silent.example", "alias.example", "empty.example",
		"plain.example", "hostile.example", "bücher.example", "a..b", "xn--a", "-"},
	"qname":  {"example.com", "nothing.example", "servfail.example", "silent.example", "alias.example", "hostile.example", "*.example.com", "."},
	"ip":     {"192.0.2.25", "192.0.2.1", "192.0.2.77", "2001:db8::25", "127.0.0.1", "10.0.0.0/8", "192.0.2.1/31"},
	"text":   {"", "Straße", "ΣΑΣ\u0000\u202e", "i̇"},
	"data":   {"x", "ünïcödé", "HTTPS://EXAMPLE.COM"},
	"record": {"", "v=spf1 -all", "v=DMARC1; p=none", "\u0000"},
}

func troubledWorld(t *testing.T) *diagtest.World {
	w := exampleWorld(t)
	w.Zone(`
alias.example.            CNAME example.com.
_mta-sts.alias.example.   CNAME _mta-sts.example.com.
empty.example.            TXT   "nothing to see"
plain.example.            MX    10 mx.plain.example.
_mta-sts.plain.example.   TXT   "v=STSv1; id=1;"
_mta-sts.plain.example.   TXT   "v=STSv1; id=2;"
hostile.example.          TXT   "\255\254\000\027[31m<script>"
hostile.example.          MX    0 .
_mta-sts.hostile.example. TXT   "v=STSv1; id=\255;"
77.2.0.192.in-addr.arpa.  PTR   a\000b.example.
xn--bcher-kva.example.    MX    10 example.com.
`)
	w.HTTPS("mta-sts.plain.example", http.NotFoundHandler())
	for _, sub := range []string{"", "_mta-sts.", "mta-sts.", "_smtp._tls."} {
		w.Break(sub+"servfail.example", dns.RcodeServerFailure)
		w.Silence(sub + "silent.example")
	}
	return w
}

func testReplies(t *testing.T, d *document, ep Endpoint) {
	world := troubledWorld(t)
	base := map[string]json.RawMessage{}
	require.NoError(t, json.Unmarshal(exampleRequest(t, ep), &base))
	answered := tryReply(t, d, world, ep, base)
	for name, values := range subjects {
		if _, ok := base[name]; !ok {
			continue
		}
		for _, v := range values {
			quoted, err := json.Marshal(v)
			require.NoError(t, err)
			body := maps.Clone(base)
			body[name] = quoted
			answered += tryReply(t, d, world, ep, body)
		}
	}
	require.NotZero(t, answered, "no request was answered: give the operation subjects of its own")
}

// tryReply runs one request and returns 1 if it was answered.
func tryReply(t *testing.T, d *document, world *diagtest.World, ep Endpoint, body map[string]json.RawMessage) int {
	t.Helper()
	text, err := json.Marshal(body)
	require.NoError(t, err)
	result, err := runExample(t, world, ep, text)
	if err != nil {
		f := problemFor(err)
		known := f.problem.Code == InvalidRequest || errors.Is(err, diag.ErrUnavailable) ||
			errors.Is(err, context.DeadlineExceeded)
		require.True(t, known, "%s: %v", text, err)
		f.problem.RequestID = "req_aaaaaaaaaaaaaaaaaaaaaaaaaa"
		problem, err := encode(f.problem)
		require.NoError(t, err)
		validate(t, problemSchema(), problem)
		checkProse(t, problem)
		return 0
	}
	if ep.Operation.report != nil {
		validate(t, d.reply(t, ep), result.Body)
		checkProse(t, result.Body)
		return 1
	}
	require.True(t, slices.Contains(ep.Operation.media, result.MediaType))
	return 1
}
