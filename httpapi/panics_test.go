package httpapi

import (
	"context"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/mailauth/compose"
	"github.com/stretchr/testify/require"
)

// A panic in a part reaches the log, and not the client.
func TestPanicInAPart(t *testing.T) {
	a := newAPI(t, "free", nil,
		row("/x", 3, func(context.Context, *diag.Env, testRequest) (*testReport, error) {
			return &testReport{Panics: compose.Panics{{Value: "index out of range", Stack: []byte("parts.go:17")}}}, nil
		}))
	r := a.post("/x", `{}`)
	require.Equal(t, 200, r.Code)
	require.NotContains(t, r.Body.String(), "index out of range")
	require.Contains(t, a.log.String(), "index out of range")
	require.Contains(t, a.log.String(), "parts.go:17")
}
