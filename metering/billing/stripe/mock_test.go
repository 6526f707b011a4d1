//go:build stripemock

package stripe_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/diagkit/diagkit/metering/billing/stripe"
)

// toMock passes requests on, notes what stripe-mock thinks of them, and says what the biller needs to hear to go on:
// stripe-mock answers with examples, which are of no customer of ours.
type toMock struct {
	t      *testing.T
	said   []string // method, path and status
	bodies map[string]string
}

func (m *toMock) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	require.NoError(m.t, err)
	text, err := io.ReadAll(resp.Body)
	require.NoError(m.t, err)
	require.NoError(m.t, resp.Body.Close())
	m.said = append(m.said, fmt.Sprintf("%s %s %d", r.Method, r.URL.Path, resp.StatusCode))
	if resp.StatusCode != http.StatusOK {
		m.t.Logf("%s", text)
	}
	if body, ok := m.bodies[r.URL.Path]; ok && resp.StatusCode == http.StatusOK {
		text = []byte(body)
	}
	resp.Body = io.NopCloser(strings.NewReader(string(text)))
	return resp, nil
}

// Stripe's description of its API has every request of ours, with every parameter, in the version that is asked for.
func TestAgainstStripeMock(t *testing.T) {
	url := os.Getenv("DIAG_TEST_STRIPE")
	require.NotEmpty(t, url, "the address of stripe-mock; .ci/stripe starts one")
	now := time.Now()
	biller := func() (*stripe.Biller, *toMock) {
		m := &toMock{t: t, bodies: map[string]string{
			"/v1/customers/search": `{"object":"search_result","data":[{"id":"cus_a","metadata":{"diagd_account":"acc_a"},` +
				`"invoice_settings":{"default_payment_method":"pm_a"}}]}`,
		}}
		b, err := stripe.New(testKey)
		require.NoError(t, err)
		b.URL, b.Client = url, &http.Client{Transport: m}
		return b, m
	}
	b, m := biller()
	p, err := b.Charge(t.Context(), bill(now))
	require.NoError(t, err)
	assert.NotEmpty(t, p.Reference)
	assert.Equal(t, []string{"GET /v1/customers/search 200", "POST /v1/payment_intents 200"}, m.said)

	v := bill(now)
	v.Payment = p.Reference
	b, m = biller()
	_, _ = b.Payment(t.Context(), v) // which is of another amount
	assert.Equal(t, []string{"GET /v1/payment_intents/" + string(p.Reference) + " 200"}, m.said)

	b, m = biller()
	_, err = b.Charge(t.Context(), bill(now.Add(-48*time.Hour)))
	require.NoError(t, err)
	assert.Equal(t, []string{"GET /v1/customers/search 200", "GET /v1/payment_intents/search 200",
		"POST /v1/payment_intents 200"}, m.said)

	// It would refuse what it does not know.
	refused, err := http.NewRequest("POST", url+"/v1/payment_intents", strings.NewReader("amount=1&currency=eur&nonsense=1"))
	require.NoError(t, err)
	refused.Header.Set("Authorization", "Bearer "+testKey)
	refused.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	_, err = m.RoundTrip(refused)
	require.NoError(t, err)
	assert.Equal(t, "POST /v1/payment_intents 400", m.said[len(m.said)-1])
}
