package zonecheck

import (
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/internal/survey"
	"github.com/stretchr/testify/require"
)

// Notices audits a domain, and returns what was noted of each signature.
func Notices(t *testing.T, env *diag.Env, d diag.Domain) (texts []string) {
	s, err := survey.Ask(t.Context(), env, d)
	require.NoError(t, err)
	for _, n := range newEvidence(s).sec.notices {
		texts = append(texts, n.text)
	}
	return texts
}
