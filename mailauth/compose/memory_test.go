package compose_test

import (
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/compose"
	"github.com/diagkit/diagkit/mailauth/mx"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
)

// A part is reused from an earlier run as long as its DNS answers are the same.
func TestRemembering(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.Zone("example.com. MX 10 mx.example.com.\nmx.example.com. A 192.0.2.1\nexample.com. TXT \"a\"")
	ctx := compose.WithMemory(t.Context())
	ask := func() *mx.Report {
		run := compose.Start(ctx, world.Env())
		part := compose.Ask(run, compose.MX, mx.Lookup, mx.Request{Domain: diag.MustDomain("example.com")})
		run.Wait()
		return part.Result
	}
	first := ask()
	world.Zone("example.com. TXT \"b\"")
	assert.Same(t, first, ask(), "a text is nothing that it asked for")
	world.Remove(func(rr dns.RR) bool { return rr.Header().Rrtype == dns.TypeMX })
	world.Zone("example.com. MX 10 mx2.example.com.\nmx2.example.com. A 192.0.2.2")
	second := ask()
	assert.NotSame(t, first, second)
	assert.Equal(t, "mx2.example.com", second.Hosts[0].Host)
	world.Break("mx2.example.com", dns.RcodeServerFailure)
	assert.NotSame(t, second, ask(), "the answer is another")
	world.Silence("mx2.example.com")
	third := ask()
	assert.NotSame(t, third, ask(), "what was not answered is not known")
}
