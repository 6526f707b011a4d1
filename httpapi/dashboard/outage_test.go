package dashboard

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/member"
	"github.com/diagkit/diagkit/metering/meteringtest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// anyForm fills in each form of the dashboard so that it is taken.
func anyForm(own accountData) url.Values {
	return url.Values{
		"name": {"ci"}, "scopes": {"dns:read"}, "environment": {"live"}, "expires_at": {"0"}, "grace": {"24"}, "overlap": {"24"},
		"sure": {"yes"}, "reason": {"manual"}, "kind": {"webhook"}, "target": {"https://hooks.example.com/"},
		"categories": {"billing"}, "since": {"24"}, "email": {"new@example.com"}, "role": {"viewer"}, "overage": {"on"},
		"overage_budget_cents": {"10"}, "cents": {"1"}, "credit_reason": {"outage"}, "account": {string(own.ID)},
		"domain": {"example.net"}, "checks": {"mail"}, "every": {"24h"}, "token": {member.NewToken()}, "f.text": {"A"},
	}
}

// Whichever call of the store fails, and however, no page, no answer to a form and no page to which a form leads shows
// what the database says.
func TestOutageLeaksNothing(t *testing.T) {
	database := errors.New(`ERROR: relation "records" does not exist (SQLSTATE 42P01)`)
	for name, fault := range map[string]meteringtest.Fault{
		"once":        {Call: meteringtest.Any, Err: database, Times: 1},
		"from now on": {Call: meteringtest.Any, Err: database},
		"unavailable": {Call: meteringtest.Any, Err: fmt.Errorf("%w: %w", metering.ErrUnavailable, database)},
		"answer lost": {Call: meteringtest.Any, Err: database, Times: 1, After: true},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "once" {
				t.Skip("needs several seconds; runs without -short, as in .ci/run")
			}
			var store *meteringtest.FaultyStore
			h, own, _ := newSeededFixture(t, withDemoWorld(t), func(c *Config) {
				store = meteringtest.Faulty(c.Store)
				c.Store = store
			})
			own.ids["/dashboard/domains/"], own.ids["/dashboard/playground/"] = "example.net", "text/lower"
			pages := slices.Clone(h.dash.pages)
			removes := func(p *page) int { return strings.Count(p.pattern, "/remove") }
			slices.SortStableFunc(pages, func(a, b *page) int { return removes(a) - removes(b) })
			for _, p := range pages {
				at, _ := own.path(p.pattern)
				for fault.Skip = 0; ; fault.Skip++ {
					h.advance(24 * time.Hour) // changes are counted by day
					b := h.owner()
					before := store.Calls(meteringtest.Any)
					store.Inject(fault)
					r := b.send(p.method, at, anyForm(own))
					calls := store.Calls(meteringtest.Any) - before
					store.Heal()
					require.NotEqual(t, http.StatusTooManyRequests, r.status, "%s %s", p.method, at)
					to := r.header.Get("Location")
					shown := to + r.body
					if to != "" {
						shown += b.send(http.MethodGet, to, nil).body
					}
					shown = strings.NewReplacer("github.com/diagkit/diagkit/", "", "\t&#34;net/http&#34;", "").
						Replace(shown) // which examples in Go import
					assert.Empty(t, diagtest.Leaks(shown), "%s %s, call %d", p.method, at, fault.Skip)
					if calls <= fault.Skip {
						break // and nothing failed
					}
				}
				if p.role != public {
					assert.GreaterOrEqual(t, fault.Skip, 3, "%s %s: session, account, and what is shown or done", p.method, at)
				}
			}
			assert.Empty(t, diagtest.Leaks(h.owner().get("/dashboard/log").body))
			assert.True(t, strings.Contains(h.log.String(), "SQLSTATE"), "the log of the server has it all")
		})
	}
}
