package target_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/examples/demo/internet"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/target"
	"github.com/miekg/dns"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func plan(t *testing.T, world *diagtest.World, word string, o target.Options) *target.Plan {
	tg, err := target.Parse(word)
	require.NoError(t, err)
	p, err := target.MakePlan(t.Context(), world.Env(), tg, o)
	require.NoError(t, err)
	return p
}

// For every domain of the demonstration no step makes anything worse, and the commands of a plan are those of diag.
func TestPlans(t *testing.T) {
	command := regexp.MustCompile(`^diag (?:(\S+/\S+) )?(?:https?://)?([a-z0-9.-]+)/?$`)
	inBubble(t, func(t *testing.T, world *diagtest.World) {
		for _, domain := range internet.Domains() {
			p := plan(t, world, domain, target.Options{})
			last := p.Before
			for _, s := range p.Steps {
				assert.Empty(t, s.Worse, "%s %s", domain, s.Code)
				assert.Equal(t, s.Result == nil, s.ByHand != "", "%s %s", domain, s.Code)
				if s.Result != nil {
					last = *s.Result
				}
				if m := command.FindStringSubmatch(s.Check); m == nil || m[2] != domain {
					assert.Regexp(t, `^diag wait \S+ [A-Z]+ '`, s.Check)
				} else if m[1] != "" {
					_, known := httpapi.Endpoints().ByName(m[1])
					assert.True(t, known, m[1])
				}
			}
			assert.Equal(t, last, p.Result, domain)
		}
	})
}

// Name servers and mail servers get no more queries than from the checks alone, for any number of steps, and a web
// server only for a policy whose record has changed.
func TestPlanAsksOnce(t *testing.T) {
	type asking func(t *testing.T, world *diagtest.World)
	count := func(t *testing.T, ask asking) (connections int, questions map[string]int) {
		inBubble(t, func(t *testing.T, world *diagtest.World) {
			ask(t, world)
			questions = map[string]int{}
			for _, q := range world.Queries() {
				if q.Type == dns.TypeDS { // which is queried ahead, and dropped if not needed
					continue
				}
				questions[fmt.Sprint(q.Server, q.Transport, q.Name, q.Type)]++
			}
			for _, c := range world.Connections() {
				if c.Network == "tcp" && c.Addr.Port() != 443 {
					connections++
				}
			}
		})
		return connections, questions
	}
	for _, domain := range []string{"harbour.example", "hopeless.example", "typo.example"} {
		t.Run(domain, func(t *testing.T) {
			connections, questions := count(t, func(t *testing.T, w *diagtest.World) { run(t, w, domain, target.Options{}) })
			computed := 0
			planned, asked := count(t, func(t *testing.T, w *diagtest.World) {
				for _, s := range plan(t, w, domain, target.Options{}).Steps {
					if s.Result != nil {
						computed++
					}
				}
			})
			assert.NotZero(t, computed)
			assert.LessOrEqual(t, planned, connections)
			for q, n := range asked {
				assert.LessOrEqual(t, n, max(questions[q], 1), q)
			}
		})
	}
}
