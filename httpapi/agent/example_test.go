package agent_test

import (
	"context"
	"log"
	"net/http"

	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/agent"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/memory"
)

// AI agents call the tools at /mcp, with the keys of the API.
func Example() {
	gate, err := metering.NewGate(context.Background(), metering.GateConfig{Store: memory.New(memory.Config{})})
	if err != nil {
		log.Fatal(err)
	}
	api := httpapi.New(httpapi.Config{Gate: gate})
	mux := http.NewServeMux()
	mux.Handle(httpapi.Prefix+"/", api)
	mux.Handle("/mcp", agent.New(agent.Config{API: api}))
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", mux))
}
