//go:build !race

package dmarc

// The race detector makes these many times slower, and nothing in them runs concurrently.

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/stretchr/testify/require"
)

func TestGenerateProperties(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several seconds; runs without -short, as in .ci/run")
	}
	random := rand.New(rand.NewPCG(3, 4))
	one := func(list ...string) string { return list[random.IntN(len(list))] }
	addresses := []string{"a@example.com", "mailto:b@example.net", "c!d@example.org", "e%f&g=h@sub.example.com",
		"i@bücher.example",
		"mailto:j@example.com?subject=x", "k@" + strings.Repeat("l", 60) + ".example"}
	generated := 0
	for range diagtest.Share(3000, 3) {
		req := GenerateRequest{
			Policy: policy.Policy(one("none", "quarantine", "reject")), SubdomainPolicy: policy.Policy(one("", "none",
				"quarantine", "reject")),
			NonexistentSubdomainPolicy: policy.Policy(one("", "", "none", "reject")), DKIMAlignment: policy.Alignment(one("",
				"relaxed", "strict")),
			SPFAlignment: policy.Alignment(one("", "relaxed", "strict")), Style: Style(one("", "dmarcbis", "rfc7489")),
			PSD: policy.PSD(one("", "", "u", "n", "y")), Testing: random.IntN(3) == 0,
		}
		for range random.IntN(11) {
			req.AggregateReports = append(req.AggregateReports, one(addresses...))
		}
		for range random.IntN(3) {
			req.FailureReports, req.FailureOptions = append(req.FailureReports, one(addresses...)), []string{one("0", "1"), "d"}
		}
		if random.IntN(2) == 0 {
			req.Domain = diag.MustDomain(one("example.com", "news.example.com", "co.uk"))
		}
		if random.IntN(3) == 0 {
			req.Percentage = new(random.IntN(101))
		}
		if _, err := Generate(req); err != nil {
			require.ErrorAs(t, err, new(*diag.InputError))
			continue
		}
		checkGenerated(t, req)
		generated++
	}
	require.Greater(t, generated, diagtest.Share(500, 3))
}
