//go:build promtool

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Prometheus itself reads the rules, runs their tests, and understands each expression of the board.
func TestAgainstPromtool(t *testing.T) {
	board, _ := expressions(t)
	type rule struct {
		Record string `json:"record"`
		Expr   string `json:"expr"`
	}
	var rules []rule
	for _, expr := range board {
		rules = append(rules, rule{"board:expression", strings.ReplaceAll(expr, "$target", ".+")})
	}
	group := map[string]any{"groups": []any{map[string]any{"name": "board", "rules": rules}}}
	text, err := json.Marshal(group) // which is YAML, too
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "board.yaml")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	for _, args := range [][]string{
		{"check", "rules", "--lint=none", file}, {"check", "rules", "alerts.yaml"}, {"test", "rules", "alerts_test.yaml"},
		{"check", "config", "prometheus.yaml"}, {"check", "config", "--lint=none", "../../diagd/deploy/prometheus.yaml"},
	} {
		cmd := exec.CommandContext(t.Context(), "promtool", args...)
		cmd.Dir = "deploy"
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s\n%s", args, out)
	}
}
