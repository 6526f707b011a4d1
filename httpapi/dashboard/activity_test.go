package dashboard

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/metering"
)

// The oldest requests of an account are forgotten, and the account that has been silent for the longest time.
func TestActivityIsBounded(t *testing.T) {
	begin := time.Date(2026, 11, 16, 10, 0, 0, 0, time.UTC)
	a := &Activity{}
	n := 0
	observe := func(account metering.AccountID) {
		a.Observe(httpapi.Observation{At: begin.Add(time.Duration(n) * time.Second), Account: account, RequestID: fmt.Sprint(n)})
		n++
	}
	list, since := a.Requests("first")
	require.Empty(t, list)
	require.Zero(t, since)
	for range maxAccountRequests {
		observe("first")
	}
	list, since = a.Requests("first")
	require.Len(t, list, maxAccountRequests)
	require.Equal(t, begin, since, "all that there was is remembered")
	for range maxAccountRequests + 1 {
		observe("first")
		list, since = a.Requests("first")
		require.Len(t, list, maxAccountRequests)
		require.Equal(t, fmt.Sprint(n-1), list[0].RequestID)
		require.Equal(t, fmt.Sprint(n-maxAccountRequests), list[maxAccountRequests-1].RequestID)
		require.Equal(t, list[maxAccountRequests-1].At, since)
		require.True(t, slices.IsSortedFunc(list, func(a, b httpapi.Observation) int { return b.At.Compare(a.At) }))
	}
	for i := range maxActivityAccounts - 1 {
		observe(metering.AccountID(fmt.Sprint(i)))
	}
	observe("first")
	observe("another")
	require.Len(t, a.accounts, maxActivityAccounts)
	for account, want := range map[metering.AccountID]int{"first": maxAccountRequests, "another": 1, "0": 0, "1": 1} {
		list, _ := a.Requests(account)
		require.Len(t, list, want, account)
	}
}

// BenchmarkActivity remembers requests of one account.
func BenchmarkActivity(b *testing.B) {
	a := &Activity{}
	o := httpapi.Observation{At: time.Now(), Account: "acc_example", RequestID: "req_example", Code: "OK"}
	b.ReportAllocs()
	for b.Loop() {
		a.Observe(o)
	}
}
