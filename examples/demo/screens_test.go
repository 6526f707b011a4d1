package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/view/render"
	"github.com/diagkit/diagkit/examples/demo/internet"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/target"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What a person sees of each operation, at a narrow and a wide terminal: of every stop of the tour, and of the example of
// each operation that is no stop. A reply that came over the network, and was read again, looks the same.
func TestScreens(t *testing.T) {
	if !alone(t) {
		return
	}
	cryptotest.SetGlobalRandom(t, 1) // the same keys each time
	synctest.Test(t, func(t *testing.T) {
		at := time.Date(2026, time.November, 1, 12, 0, 0, 0, time.UTC)
		time.Sleep(time.Until(at)) // costs nothing: the clock is the bubble's
		world, err := internet.New(at)
		require.NoError(t, err)
		defer world.Close()
		store, err := newProfiles(t.Context(), "visitor")
		require.NoError(t, err)
		access := hostedspf.Access{Store: store, Owner: "visitor"}
		stops, counts := append(operationStops(at), storyStops()...), map[string]int{} // so that the story moves no number
		for _, s := range stops {
			counts[s.check]++
		}
		for _, ep := range httpapi.Endpoints() {
			if counts[ep.Name()] == 0 && ep.Name() != "text/password/generate" { // which has another reply each time
				stops = append(stops, stop{check: ep.Name(), fields: string(example(t, ep))})
			}
		}
		counts = map[string]int{}
		for _, s := range stops {
			if s.check == "" {
				continue
			}
			ep := endpoint(t, s.check)
			counts[s.check]++
			screen(t, ep, fmt.Sprintf("%s.%d", strings.NewReplacer("/", "-", "{", "", "}", "").Replace(s.check), counts[s.check]),
				func() (*httpapi.Result, error) { return runStop(t.Context(), ep, world.Env(), access, s) })
		}
		wholes(t, world.Env())
	})
}

// wholes returns the screens of all checks of a domain, a URL and an address.
func wholes(t *testing.T, env *diag.Env) {
	for _, word := range []string{"hopeless.example", "good.example", "harbour.example", "free.example", "bogus.example",
		"https://careless.example/", "203.0.113.77"} {
		name := strings.Trim(strings.TrimPrefix(word, "https:"), "/")
		tg, err := target.Parse(word)
		require.NoError(t, err)
		w := target.Run(t.Context(), tg, target.Options{}, target.Local(env), nil)
		w.Took = 1200 * time.Millisecond // however the questions came to each other
		for _, width := range []int{80, 140} {
			var b bytes.Buffer
			require.NoError(t, render.Text(&b, w.View(), render.Options{Width: width}))
			diagtest.Golden(t, fmt.Sprintf("testdata/screens/whole.%s.%d.txt", name, width), b.Bytes())
		}
	}
}

func runStop(ctx context.Context, ep httpapi.Endpoint, env *diag.Env, access hostedspf.Access, s stop) (*httpapi.Result, error) {
	if ep.Hosted() {
		return ep.RunHosted(ctx, env, access, []byte(s.fields))
	}
	return ep.Run(ctx, env, []byte(s.fields))
}

func endpoint(t *testing.T, name string) httpapi.Endpoint {
	for _, ep := range httpapi.Endpoints() {
		if ep.Name() == name {
			return ep
		}
	}
	require.Fail(t, "no such operation", name)
	return httpapi.Endpoint{}
}

// screen compares what is printed with the golden files.
func screen(t *testing.T, ep httpapi.Endpoint, name string, run func() (*httpapi.Result, error)) {
	result, err := run()
	var violations *httpapi.ViolationsError
	if errors.Is(err, diag.ErrUnavailable) || errors.As(err, &violations) {
		return // there is no report to see
	}
	require.NoError(t, err, name)
	if result.Report == nil {
		return // an image
	}
	read, err := ep.Decode(result.Body)
	require.NoError(t, err, name)
	v := httpapi.View(result.Report)
	assert.LessOrEqual(t, len(v.Facts), 8, name)
	assert.NotEmpty(t, v.Headline, name)
	for _, width := range []int{80, 140} {
		var b, again bytes.Buffer
		o := render.Options{Width: width, Title: ep.Name()}
		require.NoError(t, render.Text(&b, v, o))
		require.NoError(t, render.Text(&again, httpapi.View(read), o))
		assert.Equal(t, b.String(), again.String(), name)
		diagtest.Golden(t, fmt.Sprintf("testdata/screens/%s.%d.txt", name, width), b.Bytes())
	}
}

// alone reports whether no other test runs in this process. Otherwise it runs the test in a separate process, and the
// caller returns: connections that another test has left open draw random numbers while they are closed. Golden files
// are written where the flag is known.
func alone(t *testing.T) bool {
	return flag.Lookup("update").Value.String() == "true" || diagtest.InOwnProcess(t)
}
