package main

import (
	"os"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The contract (httpapi/CONTRACT.md 8.3) has each flag.
func TestContractOfDiag(t *testing.T) {
	text, err := os.ReadFile("../../httpapi/CONTRACT.md")
	require.NoError(t, err)
	_, about, _ := strings.Cut(string(text), "\n### 8.3 ")
	(&app{}).command().PersistentFlags().VisitAll(func(f *pflag.Flag) {
		assert.Contains(t, about, "`--"+f.Name+"`")
	})
}
