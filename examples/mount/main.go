// Command mount puts the API into your own server: next to its own routes, behind its own middleware, on a store that
// it opened itself. It is mounted twice: at /public/v1/ for programs with API keys, and below /tools/ for visitors whom
// the server's own cookie authenticates. With -all there are the optional parts as well: watches, the dashboard, and
// tools for AI agents.
//
//	go run ./examples/mount           serves on 127.0.0.1:8088 with the store mount.db
//	go run ./examples/mount -all      serves the optional parts too, and prints a link into the dashboard
//	go run ./examples/mount -once     serves all on a free port, calls itself, and ends
//
// Three things make the API: a store, which keeps accounts, keys and charges; a gate on it, which admits requests and
// charges for them; and a handler, which is an ordinary http.Handler.
package main

import (
	"context"
	"crypto/rand"
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
	"time"

	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/sqlite"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8088", "address to serve on")
	all := flag.Bool("all", false, "serve the optional parts too")
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
	secret, visitor, err := newKeys(ctx, store)
	if err != nil {
		return err
	}

	mux := http.NewServeMux()
	api := httpapi.New(httpapi.Config{Gate: gate})
	mux.Handle(httpapi.Prefix+"/", api)

	signIn := &session{token: rand.Text(), key: visitor}
	mux.Handle("GET /{$}", signIn)
	tools := httpapi.New(httpapi.Config{Gate: gate, PublicURL: "/tools", Authenticate: signIn.authenticate})
	protected := http.NewCrossOriginProtection().Handler(tools) // pages of other origins could send the cookie
	mux.Handle("/tools/", http.StripPrefix("/tools", protected))

	l, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	address := "http://" + l.Addr().String()
	if all {
		defer mountParts(ctx, mux, store, api, address)()
		if err := invite(ctx, store, address); err != nil {
			return err
		}
	}
	server := &http.Server{Handler: logged(mux), ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	defer server.Close()
	if once {
		header := http.Header{"Authorization": {"Bearer " + secret.Reveal()}}
		cookie := http.Header{"Cookie": {"session=" + signIn.token}}
		return errors.Join(call(ctx, address, header), call(ctx, address+"/tools", cookie))
	}
	fmt.Printf("serving on %s with the key %s\n", address, secret.Reveal())
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
		return nil
	}
}

// A session stands for the authentication that your server has. This one has a single visitor, who acts for a key.
type session struct {
	token string
	key   metering.KeyID
}

// ServeHTTP is the page that signs the visitor in.
func (s *session) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	http.SetCookie(w, &http.Cookie{Name: "session", Value: s.token, HttpOnly: true, SameSite: http.SameSiteLaxMode})
	io.WriteString(w, "This server has pages of its own. You are signed in.\n")
}

// authenticate returns the key of the visitor who sends a request, or none for a stranger.
func (s *session) authenticate(r *http.Request) (metering.KeyID, error) {
	if cookie, err := r.Cookie("session"); err == nil && cookie.Value == s.token {
		return s.key, nil
	}
	return "", nil
}

// logged is middleware: it goes around the API as around any other handler.
func logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r)
		// The ID of the request is in the reply, and in what the API itself logs.
		log.Printf("%s %s %s", r.Method, r.URL.Path, w.Header().Get("X-Request-Id"))
	})
}

// newKeys makes a customer with two keys at each start: one for programs, whose secret only its creator ever sees, and
// one for visitors, whose secret nobody needs.
func newKeys(ctx context.Context, store metering.Store) (secret metering.Secret, visitor metering.KeyID, err error) {
	admin := metering.Admin{Store: store}
	account, err := admin.CreateAccount(ctx, "customer", "pack")
	if err != nil {
		return metering.Secret{}, "", err
	}
	_, secret, err = admin.CreateKey(ctx, metering.KeyRequest{
		Account: account.ID, Name: "programs", Scopes: []metering.Scope{metering.DNSRead},
	})
	if err != nil {
		return metering.Secret{}, "", err
	}
	key, err := admin.ServiceKey(ctx, account.ID, "visitors")
	return secret, key.ID, err
}

// call runs an operation of the server at an address, and prints the report.
func call(ctx context.Context, address string, credentials http.Header) error {
	body := strings.NewReader(`{"text":"hello from my own mux"}`)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address+httpapi.Prefix+"/text/upper", body)
	if err != nil {
		return err
	}
	req.Header = credentials
	req.Header.Set("Content-Type", "application/json")
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
