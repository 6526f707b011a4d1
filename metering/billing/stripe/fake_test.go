package stripe_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

const testKey = "sk_test_" + "0123456789abcdefghijABCD"

// fake plays Stripe as far as payments need it. It is a transport, so that nothing listens.
type fake struct {
	t     testing.TB
	clock func() time.Time

	mu        sync.Mutex
	customers []object
	intents   []object
	kept      map[string]keptAnswer
	// outcome is how the next payments end: the status of a PaymentIntent, the code of a decline, or a fault: "lost"
	// makes the payment and breaks the connection, "500" makes it and responds with 500.
	outcome string
	// answer, where it is set, is the answer to every request, whatever was asked.
	answer   *http.Response
	hangs    bool
	lag      time.Duration // by which the search is behind
	requests []string      // method and path
}

type object = map[string]any

// keptAnswer is a response that is repeated for 24 hours.
type keptAnswer struct {
	at     time.Time
	form   string
	status int
	body   object
}

func newFake(t testing.TB, clock func() time.Time) *fake {
	return &fake{t: t, clock: clock, kept: map[string]keptAnswer{}, outcome: "succeeded"}
}

// customer adds one of an account.
func (f *fake) customer(id, account, method string) object {
	c := object{"id": id, "object": "customer", "metadata": object{"diagd_account": account}, "default_source": nil,
		"invoice_settings": object{"default_payment_method": method}}
	f.customers = append(f.customers, c)
	return c
}

// only is the payment, where there is one.
func (f *fake) only() object {
	f.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if !assert.Len(f.t, f.intents, 1) {
		f.t.FailNow()
	}
	return f.intents[0]
}

func (f *fake) RoundTrip(r *http.Request) (*http.Response, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests = append(f.requests, r.Method+" "+r.URL.Path)
	assert.Equal(f.t, "https://api.stripe.com", r.URL.Scheme+"://"+r.URL.Host)
	assert.Equal(f.t, "Bearer "+testKey, r.Header.Get("Authorization"))
	assert.Regexp(f.t, `^20\d\d-\d\d-\d\d\.[a-z]+$`, r.Header.Get("Stripe-Version"))
	if f.answer != nil {
		return f.answer, nil
	}
	if f.hangs {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	status, body := f.serve(r)
	if status == 0 {
		return nil, fmt.Errorf("connection reset by peer")
	}
	w := httptest.NewRecorder()
	w.Header().Set("Request-Id", "req_"+strconv.Itoa(len(f.requests)))
	w.WriteHeader(status)
	assert.NoError(f.t, json.NewEncoder(w).Encode(body))
	return w.Result(), nil
}

var searched = regexp.MustCompile(`^metadata\['([a-z_]+)'\]:'([^']+)'$`)

// serve answers; a status of 0 breaks the connection off.
func (f *fake) serve(r *http.Request) (int, object) {
	id := strings.TrimPrefix(r.URL.Path, "/v1/payment_intents/")
	switch r.Method + " " + r.URL.Path {
	case "POST /v1/payment_intents":
		return f.create(r)
	case "GET /v1/payment_intents/search":
		return f.search(r, f.intents)
	case "GET /v1/customers/search":
		return f.search(r, f.customers)
	case "GET /v1/payment_intents/" + id:
		for _, i := range f.intents {
			if i["id"] == id {
				return 200, i
			}
		}
	}
	return refusal(404, "invalid_request_error", "resource_missing", "No such object")
}

func (f *fake) search(r *http.Request, all []object) (int, object) {
	m := searched.FindStringSubmatch(r.URL.Query().Get("query"))
	if m == nil {
		return refusal(400, "invalid_request_error", "", "unsupported query")
	}
	found := []object{}
	for _, o := range all {
		since, _ := o["created"].(int64)
		if strings.EqualFold(fmt.Sprint(o["metadata"].(object)[m[1]]), m[2]) && !f.clock().Add(-f.lag).Before(time.Unix(since, 0)) {
			found = append(found, o)
		}
	}
	return 200, object{"object": "search_result", "data": found, "has_more": false}
}

// create makes a payment, or answers what it has answered to the key.
func (f *fake) create(r *http.Request) (int, object) {
	key := r.Header.Get("Idempotency-Key")
	assert.NoError(f.t, r.ParseForm())
	form := r.PostForm.Encode()
	if k, ok := f.kept[key]; ok && f.clock().Sub(k.at) < 24*time.Hour {
		switch {
		case k.status == 0:
			return refusal(409, "idempotency_error", "idempotency_key_in_use", "another request with this key is under way")
		case k.form != form:
			return refusal(400, "idempotency_error", "", "keys can only be used with the same parameters")
		}
		return k.status, k.body
	}
	status, body := f.pay(r.PostForm)
	if f.outcome == "lost" {
		f.kept[key] = keptAnswer{f.clock(), form, status, body}
		return 0, nil
	}
	if f.outcome == "500" {
		status, body = refusal(500, "api_error", "", "something went wrong")
	}
	f.kept[key] = keptAnswer{f.clock(), form, status, body}
	return status, body
}

// pay makes a payment with the outcome that was set.
func (f *fake) pay(form url.Values) (int, object) {
	amount, err := strconv.ParseInt(form.Get("amount"), 10, 64)
	assert.NoError(f.t, err)
	for name, want := range map[string]string{
		"confirm": "true", "off_session": "true", "automatic_payment_methods[allow_redirects]": "never",
	} {
		assert.Equal(f.t, want, form.Get(name))
	}
	metadata := object{}
	for name, value := range form {
		if name, ok := strings.CutPrefix(name, "metadata["); ok {
			metadata[strings.TrimSuffix(name, "]")] = value[0]
		}
	}
	i := object{
		"id": fmt.Sprintf("pi_%d", len(f.intents)+1), "object": "payment_intent", "amount": amount,
		"currency": form.Get("currency"), "customer": form.Get("customer"), "payment_method": form.Get("payment_method"),
		"description": form.Get("description"), "metadata": metadata, "created": f.clock().Unix(), "status": f.outcome,
	}
	f.intents = append(f.intents, i)
	switch f.outcome {
	case "lost", "500":
		i["status"] = "succeeded"
	case "card_declined", "authentication_required":
		i["status"] = "requires_payment_method"
		status, body := refusal(402, "card_error", f.outcome, "Your card was declined.")
		body["error"].(object)["payment_intent"] = i
		i["last_payment_error"] = object{"type": "card_error", "code": f.outcome, "message": "Your card was declined."}
		return status, body
	}
	return 200, i
}

func refusal(status int, kind, code, message string) (int, object) {
	return status, object{"error": object{"type": kind, "code": code, "message": message}}
}
