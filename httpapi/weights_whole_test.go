//go:build !race

package httpapi

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// hostileWorld holds a domain whose records are as large as answers of the DNS can be, and whose servers send as much as is
// read.
func hostileWorld(t *testing.T) *diagtest.World {
	w := diagtest.NewWorld(t)
	var b strings.Builder
	txt := func(name, text string) {
		fmt.Fprintf(&b, "%s TXT", name)
		for len(text) > 0 {
			n := min(250, len(text))
			fmt.Fprintf(&b, " %q", text[:n])
			text = text[n:]
		}
		b.WriteString("\n")
	}
	const long = 30_000
	fill := func(unit string) string { return strings.Repeat(unit, long/len(unit)) }
	txt("example.com.", "v=spf1 "+fill("ip4:192.0.2.1 ")+"include:a.example.com include:b.example.com -all")
	for _, name := range []string{"a", "b"} {
		txt(name+".example.com.", "v=spf1 "+fill("ip4:198.51.100.0/24 ")+"-all")
	}
	txt("_dmarc.example.com.", "v=DMARC1; p=none; rua="+strings.TrimSuffix(fill("mailto:a@b.example.com,"), ","))
	txt("_mta-sts.example.com.", "v=STSv1; id=1; "+fill("a=b; "))
	txt("_smtp._tls.example.com.", "v=TLSRPTv1; rua="+strings.TrimSuffix(fill("mailto:a@b.example.com,"), ","))
	txt("default._bimi.example.com.", "v=BIMI1; l=https://logo.example.com/l.svg; a=https://logo.example.com/c.pem; "+fill("x=y; "))
	for i, s := range dkim.CommonSelectors() {
		if i < 20 {
			txt(s.String()+"._domainkey.example.com.", "v=DKIM1; "+fill("n=a; ")+"p=AAAA")
		}
	}
	for i := range 50 {
		fmt.Fprintf(&b, "example.com. MX %d mx%d.example.com.\n", i, i)
		for j := range 20 {
			fmt.Fprintf(&b, "mx%d.example.com. A 203.0.%d.%d\n", i, i, j+1)
		}
	}
	w.Zone(b.String())
	w.HTTPS("mta-sts.example.com", body(strings.Repeat("mx: a.example.com\n", 4000)))
	w.HTTPS("logo.example.com", body(`<svg xmlns="http://www.w3.org/2000/svg">`+strings.Repeat("<g>", 200_000)))
	for i := range 5 {
		w.SMTP(diagtest.SMTP{Host: fmt.Sprintf("mx%d.example.com", i), Extensions: strings.Split(strings.Repeat("XLONG aaaaaaaaaaaaaaaa,", 100)+"X", ",")})
	}
	return w
}

func body(text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		io.WriteString(w, text)
	})
}

// The live memory of the combining operations stays within their weight, with all that a hostile domain sends.
func TestWeightsOfWholes(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	if !diagtest.InOwnProcess(t) {
		return
	}
	for path, request := range map[string]string{
		"/mail/domain-check":    `{"domain":"example.com","include_smtp":true}`,
		"/deliverability/score": `{"domain":"example.com"}`,
	} {
		var ep Endpoint
		for _, ep = range endpoints {
			if ep.Path == path {
				break
			}
		}
		w := hostileWorld(t)
		req, err := ep.Operation.decode([]byte(request))
		require.NoError(t, err)
		weight := ep.Operation.memory(req, len(request))
		size := 0
		live := diagtest.LiveBytes(weight, func() {
			result, err := ep.Operation.execute(t.Context(), w.Env(), req)
			if assert.NoError(t, err) {
				size = len(result.Body)
			}
		})
		t.Logf("%s: %d KiB of %d, reply of %d KiB", path, live>>10, weight>>10, size>>10)
		assert.LessOrEqual(t, live, weight, path)
	}
}
