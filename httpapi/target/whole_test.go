package target_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/examples/demo/internet"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/target"
	"github.com/diagkit/diagkit/mailauth/spf"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// inBubble runs a test in the Internet of the demonstration, with a synthetic clock.
func inBubble(t *testing.T, test func(t *testing.T, world *diagtest.World)) {
	synctest.Test(t, func(t *testing.T) {
		world, err := internet.New(time.Now())
		require.NoError(t, err)
		defer world.Close()
		test(t, world)
	})
}

func run(t *testing.T, world *diagtest.World, word string, o target.Options) *target.Whole {
	tg, err := target.Parse(word)
	require.NoError(t, err)
	return target.Run(t.Context(), tg, o, target.Local(world.Env()), nil)
}

// All checks run concurrently: together they take hardly longer than the slowest alone.
func TestConcurrency(t *testing.T) {
	inBubble(t, func(t *testing.T, world *diagtest.World) {
		tg, err := target.Parse("good.example")
		require.NoError(t, err)
		slowest := time.Duration(0)
		for _, c := range tg.Checks(target.Options{}) {
			if c.Name == "reputation" {
				continue // which runs two operations, one after the other
			}
			env := world.NewEnv()
			env.Data = world.Env().Data
			began := time.Now()
			_, err := target.Local(env)(t.Context(), c.Endpoint, c.Body)
			require.NoError(t, err, c.Name)
			slowest = max(slowest, time.Since(began))
		}
		var waiting [][]string
		told := func(names []string) { waiting = append(waiting, names) }
		w := target.Run(t.Context(), tg, target.Options{}, target.Local(world.Env()), told)
		assert.LessOrEqual(t, w.Took, slowest*3/2)
		assert.Len(t, waiting, len(w.Parts)+1)
		assert.Len(t, waiting[0], len(w.Parts))
		assert.Empty(t, waiting[len(w.Parts)])
	})
}

// Sending addresses are looked up concurrently. Answers are charged, and a silent address leaves the others partial.
func TestSenders(t *testing.T) {
	inBubble(t, func(t *testing.T, world *diagtest.World) {
		local := target.Local(world.Env())
		ask := func(ctx context.Context, ep httpapi.Endpoint, body []byte) (*httpapi.Result, error) {
			switch time.Sleep(time.Second); {
			case ep.Name() == "spf/lookup":
				term := func(addr string) spf.TermReport {
					return spf.TermReport{Mechanism: eval.IP4, Qualifier: eval.QualifierPass, Value: addr}
				}
				return &httpapi.Result{Report: &spf.LookupReport{Terms: []spf.TermReport{term("8.8.8.8"), term("9.9.9.9")}}}, nil
			case ep.Name() == "blacklist/ip" && strings.Contains(string(body), "8.8.8.8"):
				return local(ctx, ep, body)
			}
			return nil, diag.ErrUnavailable
		}
		tg, err := target.Parse("good.example")
		require.NoError(t, err)
		w := target.Run(t.Context(), tg, target.Options{Only: []string{target.Mail}}, ask, nil)
		i := slices.IndexFunc(w.Parts, func(p target.Part) bool { return p.Name == "reputation" })
		require.NoError(t, w.Parts[i].Err)
		assert.True(t, w.Parts[i].View.Partial)
		assert.Equal(t, int64(1+5), w.Credits)
		assert.Less(t, w.Took, 3*time.Second)
	})
}

func TestHeadlines(t *testing.T) {
	inBubble(t, func(t *testing.T, world *diagtest.World) {
		for word, want := range map[string]string{
			"good.example":     "Everything that was checked is in order.",
			"hopeless.example": "Nobody can send mail to this domain, and anybody can send mail as it.",
			"harbour.example":  "Receivers may refuse mail from this domain, and browsers will warn visitors away from it within days.",
			"free.example":     "This domain does not exist.",
			"museum.example":   "Anybody can send mail as this domain.",
			"silent.example":   "The name servers of this domain do not answer.",
			"bogus.example":    "Everyone whose provider checks DNSSEC is kept from this domain.",
			"8.8.8.8":          "Many mail servers refuse mail from this address.",
		} {
			v := run(t, world, word, target.Options{}).View()
			assert.Equal(t, want, v.Headline, word)
			worst := func(a, b diag.Finding) int { return int(b.Severity) - int(a.Severity) }
			assert.True(t, slices.IsSortedFunc(v.Findings, worst), word)
		}
	})
}

// Nothing that was not examined is praised: without answers, no line has a good mark except for what others reported,
// and the headline praises nothing.
func TestIgnorance(t *testing.T) {
	inBubble(t, func(t *testing.T, world *diagtest.World) {
		world.Silence("*.good.example")
		world.Silence("good.example")
		w := run(t, world, "good.example", target.Options{})
		v := w.View()
		assert.True(t, v.Partial)
		assert.NotContains(t, v.Headline, "in order")
		for _, r := range v.Drawing.Rows {
			if !strings.Contains(r.Cells[1], "registration") { // from the registry
				assert.NotEqual(t, view.Good, r.Mark, r.Cells)
			}
		}
	})
	inBubble(t, func(t *testing.T, world *diagtest.World) {
		world.Behave("rdap.nic.example:443", diagtest.Refuses)
		v := run(t, world, "good.example", target.Options{Only: []string{target.DNS}}).View()
		assert.Equal(t, "Nothing wrong was found, but not everything answered.", v.Headline)
		assert.Contains(t, v.Foot, "1 of 2 checks")
	})
}

// A group in which there is nothing to examine is not in order, and without answers nothing is claimed.
func TestNothingToExamine(t *testing.T) {
	inBubble(t, func(t *testing.T, world *diagtest.World) {
		v := run(t, world, "plain.example", target.Options{Only: []string{target.Web}}).View()
		assert.Equal(t, "There was nothing to examine.", v.Headline)
		assert.Equal(t, view.Optional, v.Mark())
		for _, r := range run(t, world, "silent.example", target.Options{Only: []string{target.Mail}}).View().Drawing.Rows {
			assert.NotContains(t, r.Cells[2], "No DKIM key")
		}
	})
}

// The website of the second clause is that of the domain of the first.
func TestGenitive(t *testing.T) {
	inBubble(t, func(t *testing.T, world *diagtest.World) {
		world.Behave("museum.example:443", diagtest.Refuses)
		v := run(t, world, "museum.example", target.Options{}).View()
		assert.Equal(t, "Visitors cannot reach the website of this domain, and anybody can send mail as it.", v.Headline)
	})
}

// A reason is shown once: everything that it makes unavailable shares a line, and so do its findings.
func TestToldOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, world *diagtest.World) {
		v := run(t, world, "free.example", target.Options{}).View()
		assert.Len(t, v.Findings, 2, "it does not exist, and it is not registered")
		assert.Len(t, v.Steps, 2)
		said := map[string]int{}
		for _, r := range run(t, world, "hopeless.example", target.Options{}).View().Drawing.Rows {
			said[r.Cells[0]+r.Cells[2]]++
			assert.Equal(t, 1, said[r.Cells[0]+r.Cells[2]], r.Cells)
		}
	})
}
