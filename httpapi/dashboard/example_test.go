package dashboard_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"

	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/dashboard"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/member"
	"github.com/diagkit/diagkit/metering/memory"
)

// The dashboard is served next to the API, on the same store. Its first member signs in by a link.
func Example() {
	ctx := context.Background()
	store := memory.New(memory.Config{})
	gate, err := metering.NewGate(ctx, metering.GateConfig{Store: store})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer gate.Close()
	activity := &dashboard.Activity{} // the outcome of recent requests
	api := httpapi.New(httpapi.Config{Gate: gate, Observe: activity.Observe})
	pages := dashboard.New(dashboard.Config{
		Store: store, API: api, Activity: activity, Secure: true, PublicURL: "https://diag.example.com",
	})
	mux := http.NewServeMux()
	mux.Handle("/", api)
	mux.Handle("/dashboard", pages)
	mux.Handle("/dashboard/", pages)
	mux.Handle("/r/", pages) // results that members share

	account, _ := metering.Admin{Store: store}.CreateAccount(ctx, "Example", "free")
	people := member.Members{Store: store}
	_, _ = people.Add(ctx, account.ID, "ada@example.com", member.Owner)
	token, _ := people.NewLink(ctx, "ada@example.com")
	fmt.Println(strings.ReplaceAll(dashboard.SignInURL("https://diag.example.com", token), token, "…"))

	form := url.Values{"token": {token}, "account": {string(account.ID)}} // which the button of that page sends
	r := httptest.NewRequest("POST", "https://diag.example.com/dashboard/enter", strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	fmt.Println(w.Code, w.Header().Get("Location"), w.Result().Cookies()[0].Name)
	// Output:
	// https://diag.example.com/dashboard/enter?token=…
	// 303 /dashboard __Host-diagkit
}
