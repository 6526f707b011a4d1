package diagtest_test

import (
	"context"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/dnsmsg"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// get fetches a URL through an Env, as a diagnostic would.
func get(ctx context.Context, t *testing.T, env *diag.Env, url string) (int, string, error) {
	t.Helper()
	client := webClient(env)
	defer client.CloseIdleConnections()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	require.NoError(t, err)
	reply, err := client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer reply.Body.Close()
	body, err := io.ReadAll(reply.Body)
	return reply.StatusCode, string(body), err
}

func TestWorldIsAnInternet(t *testing.T) {
	world := diagtest.NewWorld(t)
	world.Zone(`
		example.com.      MX    10 mx.example.com.
		www.example.com.  CNAME web.example.net.
	`)
	world.HTTPS("www.example.com", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "hello from "+r.Host)
	}))
	env := world.Env()

	mx := diag.Lookup[*dns.MX](t.Context(), env, "EXAMPLE.com")
	require.NoError(t, mx.Err())
	assert.Equal(t, "mx.example.com.", mx.Records[0].Mx)
	assert.True(t, diag.Lookup[*dns.MX](t.Context(), env, "nowhere.example.com").NXDomain())

	code, body, err := get(t.Context(), t, env, "https://www.example.com/")
	require.NoError(t, err)
	assert.Equal(t, 200, code)
	assert.Equal(t, "hello from www.example.com", body)
}

func TestTimeOutCostsNothingInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := diagtest.NewWorld(t)
		world.HTTPS("slow.example.com", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			panic(http.ErrAbortHandler) // no reply: a client that has gone might still read it
		}))
		world.Silence("example.com")
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()

		begin := world.Now()
		_, _, err := get(ctx, t, world.Env(), "https://slow.example.com/")
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, 20*time.Second, world.Now().Sub(begin))
		assert.True(t, diag.Lookup[*dns.MX](ctx, world.Env(), "example.com").Silent())
	})
}

func BenchmarkNewWorld(b *testing.B) {
	for b.Loop() {
		world, err := diagtest.New(diagtest.Config{})
		require.NoError(b, err)
		world.Close()
	}
}

func BenchmarkExchange(b *testing.B) {
	world := diagtest.NewWorld(b)
	world.Zone(semantics)
	q := dnsmsg.Question("www.example.com", dns.TypeA, false)
	for b.Loop() {
		if _, err := world.Exchange(b.Context(), q); err != nil {
			b.Fatal(err)
		}
	}
}
