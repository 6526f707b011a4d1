package hsts

import (
	"testing"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// vector is a case of conformance/web/hsts.
type vector struct {
	Description string  `json:"description"`
	Kind        string  `json:"kind"`
	Header      string  `json:"header"`
	Parse       *issues `json:"parse"`
	Parsed      *struct {
		IncludeSubDomains bool    `json:"include_sub_domains"`
		MaxAge            *uint64 `json:"max_age"`
		Preload           bool    `json:"preload"`
	} `json:"parsed"`
	Preloadable *issues `json:"preloadable"`
	Removable   *issues `json:"removable"`
	Format      *issues `json:"format"`
	Level       *issues `json:"level"`
}

type issues struct {
	Errors   []Issue `json:"errors"`
	Warnings []Issue `json:"warnings"`
}

func TestConformanceHSTS(t *testing.T) {
	vectors, equal := diagtest.Cases[vector](t, diagtest.Suite(t, "web/hsts/vectors.json")), 0
	for _, v := range vectors {
		if t.Run(v.Kind+"/"+v.Description, func(t *testing.T) { playVector(t, v) }) {
			equal++
		}
	}
	t.Logf("%d/%d vectors equal", equal, len(vectors))
}

func playVector(t *testing.T, v vector) {
	t.Helper()
	switch v.Kind {
	case "header":
		require.True(t, v.Parse != nil && v.Parsed != nil && v.Preloadable != nil && v.Removable != nil)
		got, found := parseStrict(v.Header)
		assert.Equal(t, strict{v.Parsed.MaxAge, v.Parsed.IncludeSubDomains, v.Parsed.Preload}, got)
		compare(t, "parse", v.Parse, found)
		compare(t, "preloadable", v.Preloadable, Preloadable(v.Header))
		compare(t, "removable", v.Removable, removable(v.Header))
	case "domain":
		require.NotNil(t, v.Format)
		compare(t, "format", v.Format, checkFormat(v.Header))
		if v.Level != nil {
			compare(t, "level", v.Level, checkLevel(v.Header))
		}
	default:
		t.Fatalf("cannot play vectors of kind %q", v.Kind)
	}
}

func compare(t *testing.T, what string, want *issues, got Issues) {
	t.Helper()
	assert.Equal(t, append([]Issue{}, want.Errors...), append([]Issue{}, got.Errors...), what)
	assert.Equal(t, append([]Issue{}, want.Warnings...), append([]Issue{}, got.Warnings...), what)
}
