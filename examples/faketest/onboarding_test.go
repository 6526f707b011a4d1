package faketest

import (
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var domain = diag.MustDomain("example.com")

// newWorld is an Internet in which example.com does everything right. The tests break it.
func newWorld(t *testing.T) *diagtest.World {
	world := diagtest.NewWorld(t) // ends with the test
	world.Zone(`
		example.com.            MX  10 mx.example.com.
		mx.example.com.         A   192.0.2.25
		_mta-sts.example.com.   TXT "v=STSv1; id=20260101T000000"
		_smtp._tls.example.com. TXT "v=TLSRPTv1; rua=mailto:tls@example.com"`)
	world.HTTPS("mta-sts.example.com", servePolicy("enforce"))
	return world
}

func servePolicy(mode string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		io.WriteString(w, "version: STSv1\r\nmode: "+mode+"\r\nmx: mx.example.com\r\nmax_age: 1209600\r\n")
	})
}

func TestReady(t *testing.T) {
	answer, err := ready(t.Context(), newWorld(t).Env(), domain)
	require.NoError(t, err)
	assert.Equal(t, answerReady, answer)
}

// Each case changes one thing in a world that is otherwise sound.
func TestNotReady(t *testing.T) {
	for _, test := range []struct {
		name  string
		spoil func(*diagtest.World)
		later bool // the customer is to try again, not to change something
	}{
		{"the policy is only tested", func(w *diagtest.World) {
			w.HTTPS("mta-sts.example.com", servePolicy("testing"))
		}, false},
		{"the certificate has expired", func(w *diagtest.World) {
			w.Site(diagtest.Site{Host: "mta-sts.example.com", Handler: servePolicy("enforce"), Cert: diagtest.CertExpired})
		}, false},
		{"the web server refuses connections", func(w *diagtest.World) {
			w.Behave("mta-sts.example.com:443", diagtest.Refuses)
		}, false},
		{"the name servers fail", func(w *diagtest.World) {
			w.Break("*.example.com", dns.RcodeServerFailure)
			w.Break("example.com", dns.RcodeServerFailure)
		}, true},
		{"nobody answers", func(w *diagtest.World) {
			w.Silence("*.example.com")
			w.Silence("example.com")
		}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			world := newWorld(t)
			test.spoil(world)
			answer, err := ready(t.Context(), world.Env(), domain)
			require.NoError(t, err)
			assert.NotEmpty(t, answer)
			assert.NotEqual(t, answerReady, answer)
			assert.Equal(t, test.later, answer == answerLater, "%s", answer)
		})
	}
}

// Inside a bubble of testing/synctest waiting costs nothing: the clock jumps to the next moment at
// which something happens. So what takes a customer five seconds is tested in no time, and exactly.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := newWorld(t) // made inside, so that its servers live in the bubble too
		world.Delay("_mta-sts.example.com", time.Minute)
		began := time.Now()
		answer, err := ready(t.Context(), world.Env(), domain)
		require.NoError(t, err)
		assert.Equal(t, answerLater, answer)
		assert.LessOrEqual(t, time.Since(began), timeout)
	})
}

// A world also records its queries: here, one call repeats no lookup.
func TestNothingIsAskedTwice(t *testing.T) {
	world := newWorld(t)
	_, err := ready(t.Context(), world.Env(), domain)
	require.NoError(t, err)
	assert.Equal(t, 1, world.Asked("_mta-sts.example.com", dns.TypeTXT))
	assert.Equal(t, 1, world.Asked("example.com", dns.TypeMX))
}
