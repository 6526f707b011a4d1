// Command agent is a small agent: it connects to the tools of the API by the Model Context Protocol, lists them with
// their prices, checks a domain, and prints what to do about it. A language model would choose the tools; here a few
// lines do.
//
//	go run ./examples/agent -once                                  asks a server of its own, on an Internet in memory
//	DIAG_KEY=svc_live_… go run ./examples/agent -server https://diag.example/mcp -domain example.com
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag/view"
	"github.com/diagkit/diagkit/examples/demo/internet"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/agent"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/memory"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	server := flag.String("server", "",
		"address of /mcp at a server; its key is in $DIAG_KEY (default: a server in memory)")
	domain := flag.String("domain", "harbour.example", "domain to check")
	flag.Bool("once", false, "end after one domain (always)")
	flag.Parse()
	ctx := context.Background()
	key := os.Getenv("DIAG_KEY")
	if *server == "" {
		address, secret, err := serveInMemory(ctx)
		if err != nil {
			log.Fatal(err)
		}
		*server, key = address, secret
	}
	if err := checkDomain(ctx, *server, key, *domain); err != nil {
		log.Fatal(err)
	}
}

// authorized sends the key with each request.
type authorized string

func (key authorized) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(key))
	return http.DefaultTransport.RoundTrip(r)
}

func checkDomain(ctx context.Context, server, key, domain string) error {
	client := mcp.NewClient(&mcp.Implementation{Name: "example", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: server, HTTPClient: &http.Client{Transport: authorized(key)}, DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		return err
	}
	defer session.Close()
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			return err
		}
		_, price, _ := strings.Cut(tool.Description, "Price: ")
		fmt.Printf("%-20s %-32s %s\n", tool.Name, tool.Title, price)
	}
	arguments := map[string]any{"domain": domain, "full": true} // for a model the text alone is enough
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "check_domain", Arguments: arguments})
	if err != nil {
		return err
	}
	if result.IsError { // the text says what to do about it
		return errors.New(result.Content[0].(*mcp.TextContent).Text)
	}
	// What is untrusted may quote the domain: it is printed, and nothing else is done with it.
	var reply struct {
		Credits   int       `json:"credits"`
		Untrusted view.View `json:"untrusted"`
	}
	text, err := json.Marshal(result.StructuredContent)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &reply); err != nil {
		return err
	}
	fmt.Printf("\n%s: %s (%d credits)\n", domain, reply.Untrusted.Headline, reply.Credits)
	for i, step := range reply.Untrusted.Steps {
		fmt.Printf("%d. %s\n", i+1, step.Text)
		if step.Value != "" {
			fmt.Printf("   %s %s %q\n", step.Name, step.Type, step.Value)
		}
	}
	return nil
}

// serveInMemory serves the tools on the Internet of the demonstration until the program ends.
func serveInMemory(ctx context.Context) (address, secret string, err error) {
	world, err := internet.New(time.Now())
	if err != nil {
		return "", "", err
	}
	store := memory.New(memory.Config{})
	admin := metering.Admin{Store: store}
	account, err := admin.CreateAccount(ctx, "agent", "self")
	if err != nil {
		return "", "", err
	}
	_, key, err := admin.CreateKey(ctx, metering.KeyRequest{
		Account: account.ID, Name: "agent", Environment: metering.Test, Scopes: metering.Scopes(),
	})
	if err != nil {
		return "", "", err
	}
	gate, err := metering.NewGate(ctx, metering.GateConfig{Store: store})
	if err != nil {
		return "", "", err
	}
	api := httpapi.New(httpapi.Config{Gate: gate, Env: world.Env()})
	return httptest.NewServer(agent.New(agent.Config{API: api})).URL, key.Reveal(), nil
}
