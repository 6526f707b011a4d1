package metering_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/memory"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A cacheFixture is a cache of a kilobyte.
type cacheFixture struct {
	t testing.TB
	metering.RecordCache
	at time.Time
}

func newCacheFixture(t testing.TB) (*cacheFixture, metering.AccountID, metering.AccountID) {
	store := memory.New(memory.Config{})
	t.Cleanup(func() { store.Close() })
	one, err := metering.Admin{Store: store}.CreateAccount(t.Context(), "one", "free")
	require.NoError(t, err)
	two, err := metering.Admin{Store: store}.CreateAccount(t.Context(), "two", "free")
	require.NoError(t, err)
	s := &cacheFixture{t, metering.RecordCache{Store: store, Kind: "result", Bytes: 1000, Age: time.Hour},
		time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)}
	return s, one.ID, two.ID
}

// put stores something of so many parts of 100 bytes.
func (s *cacheFixture) put(account metering.AccountID, id string, parts int) error {
	records := make([]metering.Record, parts)
	for i := range records {
		records[i] = metering.Record{Account: account, Kind: s.Kind, ID: metering.PartID(id, i), At: s.at,
			Body: make([]byte, 100)}
	}
	return s.Put(s.t.Context(), records...)
}

func (s *cacheFixture) has(account metering.AccountID) (ids []string) {
	for r, err := range s.Store.Records(s.t.Context(), metering.RecordFilter{Kind: s.Kind, Account: account}) {
		require.NoError(s.t, err)
		ids = append(ids, r.ID)
	}
	return ids
}

// An account keeps so many bytes, of which the oldest go first, and takes nothing from another.
func TestRecordCache(t *testing.T) {
	s, one, two := newCacheFixture(t)
	require.NoError(t, s.put(two, "theirs", 9))
	for i := range 3 {
		require.NoError(t, s.put(one, fmt.Sprint("r", i), 3))
		s.at = s.at.Add(time.Minute)
	}
	require.Len(t, s.has(one), 9)
	require.NoError(t, s.put(one, "r3", 2), "a third of them goes")
	require.Equal(t, []string{"r1", "r1.1", "r1.2", "r2", "r2.1", "r2.2", "r3", "r3.1"}, s.has(one))
	require.Len(t, s.has(two), 9)
	require.ErrorIs(t, s.put(one, "r3", 1), metering.ErrVersion, "it is there already")
	field := &metering.FieldError{}
	require.ErrorAs(t, s.put(one, "r4", 11), &field)
	require.Len(t, s.has(one), 8, "what is refused removes nothing")
	require.NoError(t, s.put(one, "r5", 10))
	require.Len(t, s.has(one), 10)

	s.at = s.at.Add(time.Hour) // entries forgotten meanwhile are not removed again
	require.NoError(t, s.put(one, "r6", 10))
	require.Len(t, s.has(one), 20)
}

// Small things are bounded by their number, so that the list of them is.
func TestRecordCacheOfMany(t *testing.T) {
	s, one, _ := newCacheFixture(t)
	s.Bytes = 1 << 20
	for i := range 350 {
		require.NoError(t, s.put(one, fmt.Sprintf("%0128d", i), 1))
	}
	require.Len(t, s.has(one), 300)
}

// With any number of concurrent writers, the bound holds and none is refused.
func TestRecordCacheAtOnce(t *testing.T) {
	s, one, _ := newCacheFixture(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 5 {
				assert.NoError(t, s.put(one, fmt.Sprint(i, "-", j), 2))
			}
		})
	}
	wg.Wait()
	require.Len(t, s.has(one), 10)
}

// What takes the place of something with the same id counts once, and is not removed in its place.
func TestRecordCacheReplaces(t *testing.T) {
	s, one, _ := newCacheFixture(t)
	for version := range int64(9) {
		require.NoError(t, s.Put(t.Context(), metering.Record{Account: one, Kind: s.Kind, ID: "r", Version: version, At: s.at,
			Body: make([]byte, 500)}))
	}
	require.NoError(t, s.put(one, "s", 5))
	require.Contains(t, s.has(one), "r")
}
