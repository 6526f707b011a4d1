// Command mount puts the API into your own server: next to its own routes, behind its own middleware, on a store that
// it opened itself; and with -all the optional parts: watches, the dashboard, and tools for AI agents.
//
//	go run ./examples/mount           serves on 127.0.0.1:8088 with the store mount.db
//	go run ./examples/mount -all      serves the parts beside the API too, and prints a link into the dashboard
//	go run ./examples/mount -once     serves all on a free port, calls itself, and ends
//
// Three things make the API: a store, which keeps accounts, keys and charges; a gate on it, which admits requests and
// charges for them; and a handler. The handler is an ordinary http.Handler for everything below /public/v1/.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/agent"
	"github.com/diagkit/diagkit/httpapi/dashboard"
	"github.com/diagkit/diagkit/httpapi/watch"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/member"
	"github.com/diagkit/diagkit/metering/sqlite"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8088", "address to serve on")
	all := flag.Bool("all", false, "serve the parts beside the API too")
	once := flag.Bool("once", false, "call the server once, and end")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	file := "mount.db"
	if *once {
		dir, err := os.MkdirTemp("", "mount-")
		if err != nil {
			log.Fatal(err)
		}
		defer os.RemoveAll(dir)
		*listen, file = "127.0.0.1:0", filepath.Join(dir, file)
	}
	if err := run(ctx, *listen, file, *all || *once, *once); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, listen, file string, all, once bool) error {
	store, err := sqlite.Open(ctx, file, sqlite.Config{})
	if err != nil {
		return err
	}
	defer store.Close()
	gate, err := metering.NewGate(ctx, metering.GateConfig{Store: store})
	if err != nil {
		return err
	}
	defer gate.Close()

	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "This server has pages of its own.\n")
	})
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	address := "http://" + l.Addr().String()
	api := httpapi.New(httpapi.Config{Gate: gate})
	mux.Handle(httpapi.Prefix+"/", api)
	if all {
		defer beside(ctx, mux, store, api, address)()
	}
	server := &http.Server{Handler: logged(mux), ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	defer server.Close()

	secret, err := newKey(ctx, store)
	if err != nil {
		return err
	}
	if all {
		if err := invite(ctx, store, address); err != nil {
			return err
		}
	}
	if once {
		return call(ctx, address, secret)
	}
	fmt.Printf("serving on %s with the key %s\n", address, secret.Reveal())
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
		return nil
	}
}

// beside mounts the optional parts, and runs watches until the returned function is called.
func beside(ctx context.Context, mux *http.ServeMux, store metering.Store, api *httpapi.API, address string) (stop func()) {
	watches := watch.New(watch.Config{Store: store, Ask: api.Ask, PublicURL: address})
	pages := dashboard.New(dashboard.Config{Store: store, API: api, Watches: watches, PublicURL: address})
	for _, path := range []string{"/dashboard", "/dashboard/", "/r/"} {
		mux.Handle(path, pages)
	}
	mux.Handle("/mcp", agent.New(agent.Config{API: api}))
	ctx, end := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { _ = watches.Run(ctx) }) // it returns the reason why it ended
	return func() { end(); running.Wait() }
}

// invite makes a member of the first account, and prints a link that signs in once.
func invite(ctx context.Context, store metering.Store, address string) error {
	accounts, err := store.Accounts(ctx)
	if err != nil {
		return err
	}
	people := member.Members{Store: store}
	const email = "you@example.com"
	_, err = people.Add(ctx, accounts[0].ID, email, member.Owner)
	if _, again := errors.AsType[*metering.FieldError](err); err != nil && !again { // at the second start he is one
		return err
	}
	token, err := people.NewLink(ctx, email)
	fmt.Println(dashboard.EnterURL(address, token))
	return err
}

// logged is middleware: it goes around the API as around any other handler.
func logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r)
		// The id of the request is in the reply, and in what the API itself logs.
		log.Printf("%s %s %s", r.Method, r.URL.Path, w.Header().Get("X-Request-Id"))
	})
}

// newKey makes a customer with a new key at each start. Only its creator ever sees its secret: the store keeps a hash.
func newKey(ctx context.Context, store metering.Store) (metering.Secret, error) {
	admin := metering.Admin{Store: store}
	account, err := admin.CreateAccount(ctx, "customer", "pack")
	if err != nil {
		return metering.Secret{}, err
	}
	_, secret, err := admin.CreateKey(ctx, metering.KeyRequest{
		Account: account.ID, Name: "first", Scopes: []metering.Scope{metering.DNSRead},
	})
	return secret, err
}

func call(ctx context.Context, address string, secret metering.Secret) error {
	body := strings.NewReader(`{"text":"hello from one's own mux"}`)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address+httpapi.Prefix+"/text/upper", body)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+secret.Reveal())
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", "one-call-one-charge") // a repetition is free
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return errors.New(string(text))
	}
	fmt.Printf("%s%s credits are left\n", text, resp.Header.Get("X-Credits-Remaining"))
	return nil
}
