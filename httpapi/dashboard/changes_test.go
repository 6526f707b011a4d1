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

// A member may make so many changes a day, failed ones included, and an account likewise. A refused change is not in
// the log, others are not affected, and everyone may sign out.
func TestChangesAreBounded(t *testing.T) {
	memberChanges, accountChanges := int(budget.Of(budget.Changes).Person), int(budget.Of(budget.Changes).Account)
	h := newFixture(t)
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
	assert.Contains(t, busy.words("main"), fmt.Sprintf("A member can make %d changes per day", memberChanges))
	wait, err := strconv.Atoi(busy.header.Get("Retry-After"))
	require.NoError(t, err)
	assert.Equal(t, memberChanges, rows())
	viewer.get("/dashboard/keys")
	assert.Equal(t, http.StatusSeeOther, h.owner().post("/dashboard/sessions/end-others", "sure", "yes").status, "another member")
	assert.Equal(t, http.StatusSeeOther, h.as("owner@example.net").post("/dashboard/sessions/end-others", "sure", "yes").status)
	h.advance(time.Duration(wait) * time.Second)
	assert.Equal(t, http.StatusNotFound, viewer.post("/dashboard/sessions/none/end").status)
	assert.Equal(t, http.StatusSeeOther, viewer.post("/dashboard/leave").status)

	h = newFixture(t)
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

// Members may create so many keys and no more, independently of others. A key can be rotated all the same.
func TestKeysAreBounded(t *testing.T) {
	h := newFixture(t)
	most := int(budget.Of(budget.Keys).Account)
	first, _, err := h.admin.CreateKey(t.Context(), metering.KeyRequest{Account: h.account.ID, Name: "a",
		Scopes: metering.Scopes()})
	require.NoError(t, err)
	var keys []metering.Key
	for i := range most - 2 {
		key := first
		key.ID, key.Version, key.Hash = metering.KeyID(fmt.Sprintf("key_%d", i)), 0, [32]byte{byte(i), byte(i >> 8), 1}
		keys = append(keys, key)
	}
	require.NoError(t, h.store.PutKeys(t.Context(), keys...))
	owner := h.owner()
	create := func(b *browser) *reply {
		return b.post("/dashboard/keys", "name", "b", "scopes", "dns:read", "environment", "live", "expires_at", "0")
	}
	require.Equal(t, http.StatusSeeOther, create(owner).status)
	full := create(owner)
	require.Equal(t, http.StatusUnprocessableEntity, full.status)
	require.Contains(t, full.words("#name-fault"), "the account has the maximum of 10000 keys")
	require.Equal(t, http.StatusSeeOther, owner.post("/dashboard/keys/"+string(first.ID)+"/rotate", "grace", "0").status)
	require.Equal(t, http.StatusSeeOther, create(h.as("owner@example.net")).status)
}
