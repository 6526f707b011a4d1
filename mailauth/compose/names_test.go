package compose_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/mailauth/compose"
	"github.com/diagkit/diagkit/mailauth/deliverability"
	"github.com/diagkit/diagkit/mailauth/domaincheck"
	"github.com/stretchr/testify/assert"
)

// Every code in the tables is one of a part: otherwise a renamed rule would silently be reported twice.
func TestNamedCodesExist(t *testing.T) {
	rules := slices.Concat((*domaincheck.Report)(nil).Rules(), (*deliverability.Report)(nil).Rules())
	for _, name := range compose.Named() {
		exists := func(r rule.Description) bool { return strings.HasPrefix(string(r.Code), name) }
		assert.True(t, slices.ContainsFunc(rules, exists), name)
	}
}
