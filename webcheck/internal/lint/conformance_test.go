package lint_test

import (
	"crypto/x509"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/pki"
	"github.com/diagkit/diagkit/webcheck/internal/lint"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type limboCase struct {
	ID            string    `json:"id"`
	Description   string    `json:"description"`
	Kind          string    `json:"validation_kind"`
	Trusted       []string  `json:"trusted_certs"`
	Intermediates []string  `json:"untrusted_intermediates"`
	Peer          string    `json:"peer_certificate"`
	Time          time.Time `json:"validation_time"`
	Expected      string    `json:"expected_result"`
	PeerName      struct {
		Kind, Value string
	} `json:"expected_peer_name"`
	MaxDepth *int     `json:"max_chain_depth"`
	CRLs     []string `json:"crls"`
}

// TestConformanceLimbo plays the cases of servers, each in the profile of its suite. Some contradict one another
// within a suite, so that a share must agree.
func TestConformanceLimbo(t *testing.T) {
	type limbo struct {
		Cases []limboCase `json:"testcases"`
	}
	suite := diagtest.Documents[limbo](t, diagtest.Suite(t, "web/certs/limbo.json"))[0]
	played, agreed := 0, 0
	for _, c := range suite.Cases {
		if c.Kind != "SERVER" {
			continue
		}
		played++
		accepted, faults := c.play(t)
		switch c.Expected {
		case "SUCCESS", "FAILURE":
			if accepted == (c.Expected == "SUCCESS") {
				agreed++
			} else {
				t.Logf("differs: %s is %s, faults %v", c.ID, c.Expected, faults)
			}
		default:
			t.Errorf("%s: no such result: %q", c.ID, c.Expected)
		}
	}
	t.Logf("%d/%d cases of servers agree", agreed, played)
	require.NotZero(t, played)
	const want = 0.94
	assert.GreaterOrEqual(t, float64(agreed)/float64(played), want)
}

// play reports whether the certificate of a case is accepted, and otherwise why not. A certificate that
// crypto/x509 cannot read counts as rejected.
func (c limboCase) play(t *testing.T) (bool, []string) {
	t.Helper()
	roots := x509.NewCertPool()
	for _, text := range c.Trusted {
		if cert, err := parse(text); err == nil {
			roots.AddCert(cert)
		}
	}
	peer, err := parse(c.Peer)
	if err != nil {
		return false, []string{err.Error()}
	}
	sent := []*x509.Certificate{peer}
	for _, text := range c.Intermediates {
		if cert, err := parse(text); err == nil {
			sent = append(sent, cert)
		}
	}
	var lists []*x509.RevocationList
	for _, text := range c.CRLs {
		block, _ := pem.Decode([]byte(text))
		require.NotNil(t, block, c.ID)
		list, err := x509.ParseRevocationList(block.Bytes)
		require.NoError(t, err, c.ID)
		lists = append(lists, list)
	}
	at := c.Time
	if at.IsZero() {
		at = time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	}
	v := pki.Verifier{Roots: roots, ServerName: c.PeerName.Value, Now: at}
	path, faults := lint.Server(sent, v, c.profile(), lists)
	var ids []string
	for _, f := range faults {
		ids = append(ids, f.ID)
	}
	if c.MaxDepth != nil && path != nil && depth(path) > *c.MaxDepth {
		ids = append(ids, "deeper than the caller wants")
	}
	return len(ids) == 0, ids
}

// profile returns the profile of the suite, the name before the first colon.
func (c limboCase) profile() lint.Profile {
	if suite, _, _ := strings.Cut(c.ID, ":"); suite == "webpki" || suite == "online" {
		return lint.WebPKI
	}
	return lint.RFC5280
}

// depth counts the intermediates that are not self-issued.
func depth(path []*x509.Certificate) int {
	n := 0
	for _, c := range path[1 : len(path)-1] {
		if string(c.RawSubject) != string(c.RawIssuer) {
			n++
		}
	}
	return n
}

func parse(text string) (*x509.Certificate, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, assert.AnError
	}
	return x509.ParseCertificate(block.Bytes)
}
