package dashboard

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/budget"
	"github.com/diagkit/diagkit/metering/member"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A member may change so many things a day, also where nothing comes of them, and an account likewise. What is refused
// is not in the log, others are not affected, and everybody may sign out.
func TestChangesAreBounded(t *testing.T) {
	memberChanges, accountChanges := int(budget.Of(budget.Changes).Person), int(budget.Of(budget.Changes).Account)
	h := newHouse(t)
	rows := func() int {
		acts, err := metering.Acts(t.Context(), h.store, metering.ActFilter{})
		require.NoError(t, err)
		return len(acts)
	}
	viewer := h.as("viewer@example.com")
	for range memberChanges {
		require.Equal(t, http.StatusNotFound, viewer.post("/dashboard/sessions/none/end").status)
	}
	require.Equal(t, memberChanges, rows())
	busy := viewer.post("/dashboard/sessions/none/end")
	assert.Equal(t, http.StatusTooManyRequests, busy.status)
	assert.Contains(t, busy.words("main"), fmt.Sprintf("A member may change %d things a day", memberChanges))
	wait, err := strconv.Atoi(busy.header.Get("Retry-After"))
	require.NoError(t, err)
	assert.Equal(t, memberChanges, rows())
	viewer.get("/dashboard/keys")
	assert.Equal(t, http.StatusSeeOther, h.owner().post("/dashboard/sessions/end-others").status, "another member")
	assert.Equal(t, http.StatusSeeOther, h.as("owner@example.net").post("/dashboard/sessions/end-others").status)
	h.pass(time.Duration(wait) * time.Second)
	assert.Equal(t, http.StatusNotFound, viewer.post("/dashboard/sessions/none/end").status)
	assert.Equal(t, http.StatusSeeOther, viewer.post("/dashboard/leave").status)

	h = newHouse(t)
	refused := 0
	for i := range accountChanges/memberChanges + 1 {
		email := fmt.Sprintf("m%d@example.com", i)
		_, err := h.people.Add(t.Context(), h.account.ID, email, member.Viewer)
		require.NoError(t, err)
		b := h.as(email)
		for range memberChanges {
			if b.post("/dashboard/sessions/none/end").status == http.StatusTooManyRequests {
				refused++
			}
		}
	}
	assert.Equal(t, memberChanges, refused)
	assert.Equal(t, accountChanges, rows())
}
