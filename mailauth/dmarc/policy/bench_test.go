package policy

import (
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// BenchmarkEvaluate evaluates a message whose From field is deep, and which two other domains sign.
func BenchmarkEvaluate(b *testing.B) {
	w := diagtest.NewWorld(b)
	w.Zone(zone)
	m := Message{
		From: diag.MustName("1.2.3.4.5.6.7.8.example.com"), SPF: diag.MustName("bounces.example.net"),
		DKIM: []diag.Name{diag.MustName("own.example.com"), diag.MustName("example.org")},
	}
	b.ReportAllocs()
	for b.Loop() {
		e, err := Evaluate(b.Context(), w.Env(), m)
		require.NoError(b, err)
		require.Equal(b, ResultPass, e.Result)
	}
}
