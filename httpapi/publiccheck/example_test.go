package publiccheck_test

import (
	"context"
	"log"
	"net/http"

	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/publiccheck"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/memory"
)

// Visitors check a domain at /check, next to the API.
func Example() {
	gate, err := metering.NewGate(context.Background(), metering.GateConfig{Store: memory.New(memory.Config{})})
	if err != nil {
		log.Fatal(err)
	}
	api := httpapi.New(httpapi.Config{Gate: gate})
	checks := publiccheck.New(publiccheck.Config{API: api})
	defer checks.Close()
	mux := http.NewServeMux()
	mux.Handle(httpapi.Prefix+"/", api)
	mux.Handle("/check", checks)
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", mux))
}
