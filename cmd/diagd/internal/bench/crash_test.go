package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Customers notice what must not be.
func TestCrashVerdict(t *testing.T) {
	good := crashView{Acknowledged: 3, Charges: 3, Replays: 3}
	assert.True(t, good.isGood())
	for _, spoil := range []func(*crashView){
		func(v *crashView) { v.Charges++ }, func(v *crashView) { v.Charges-- }, func(v *crashView) { v.Different++ },
		func(v *crashView) { v.AuditFaults++ },
	} {
		v := good
		spoil(&v)
		assert.False(t, v.isGood(), "%+v", v)
	}
	replies := make(chan string, 2)
	replies <- `{"result":"PURCHASE-000000001","n":1}`
	replies <- `{"result":"PURCHASE-000000001","n":2}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, <-replies)
	}))
	defer server.Close()
	c := newCustomers(1)
	for range 2 {
		require.True(t, c.buy(t.Context(), server.URL, "purchase-000000001"))
	}
	assert.Equal(t, 1, c.different, "the second reply is another one")
}
