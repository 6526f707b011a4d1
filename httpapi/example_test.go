package httpapi_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/memory"
)

// A server with one account and one key, and a request to it. A server that keeps its accounts opens the store of
// package metering/sqlite instead.
func Example() {
	ctx := context.Background()
	store := memory.New(memory.Config{})
	defer store.Close()
	gate, err := metering.NewGate(ctx, metering.GateConfig{Store: store})
	if err != nil {
		log.Fatal(err)
	}
	defer gate.Close()

	admin := metering.Admin{Store: store}
	account, err := admin.CreateAccount(ctx, "Example Ltd", "free")
	if err != nil {
		log.Fatal(err)
	}
	_, secret, err := admin.CreateKey(ctx, metering.KeyRequest{
		Account: account.ID, Name: "web site", Scopes: []metering.Scope{metering.DNSRead},
	})
	if err != nil {
		log.Fatal(err)
	}

	server := httptest.NewServer(httpapi.Handler(httpapi.Config{Gate: gate}))
	defer server.Close()
	url := server.URL + httpapi.Prefix + "/text/upper"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(`{"text": "Straße"}`))
	if err != nil {
		log.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+secret.Reveal())
	req.Header.Set("Content-Type", "application/json")
	reply, err := http.DefaultClient.Do(req)
	if err != nil {
		log.Fatal(err)
	}
	defer reply.Body.Close()
	body, err := io.ReadAll(reply.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s %s", reply.Status, body)
	// Output: 200 OK {"result":"STRASSE","input_bytes":7,"output_bytes":7,"changed":true}
}
