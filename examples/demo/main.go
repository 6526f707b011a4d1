// Command demo serves the whole API on a small Internet in memory, with domains that are well and
// domains that are broken in one way each. It needs no network, no configuration and no database: the
// place to get to know the API, and to write a client against it.
//
//	go run ./examples/demo                          serves on 127.0.0.1:8089 and says what to try
//	go run ./examples/demo -listen 127.0.0.1:9000
//	go run ./examples/demo -once                    takes the tour by itself, and ends
//
// The Internet is in the package internet, what there is to see in tour.txt.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/diagkit/diagkit/examples/demo/internet"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/agent"
	"github.com/diagkit/diagkit/httpapi/pages"
	"github.com/diagkit/diagkit/httpapi/target"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/memory"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8089", "address to serve on")
	once := flag.Bool("once", false, "take the tour, and end")
	flag.Parse()
	ctx, end := signal.NotifyContext(context.Background(), os.Interrupt)
	defer end()
	if *once {
		*listen = "127.0.0.1:0"
	}
	d, err := start(ctx, *listen)
	if err != nil {
		log.Fatal(err)
	}
	defer d.close()
	if *once {
		if err := d.walk(ctx, os.Stdout); err != nil {
			log.Fatal(err)
		}
		return
	}
	if err := printTour(os.Stdout, d.url, d.secret, time.Now()); err != nil {
		log.Fatal(err)
	}
	<-ctx.Done()
}

// A demo is a running server.
type demo struct {
	url, secret string
	closers     []func()
}

func (d *demo) close() {
	for i := len(d.closers) - 1; i >= 0; i-- {
		d.closers[i]()
	}
}

func start(ctx context.Context, listen string) (*demo, error) {
	d := &demo{}
	world, err := internet.New(time.Now())
	if err != nil {
		return nil, err
	}
	d.closers = append(d.closers, world.Close)
	handler, err := d.handler(ctx, httpapi.Config{Env: world.Env(), IPRate: -1, Pages: pages.Handler(pages.Config{})})
	if err != nil {
		d.close()
		return nil, err
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		d.close()
		return nil, err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	go server.Serve(l)
	d.closers = append(d.closers, func() { server.Close() })
	d.url = "http://" + l.Addr().String()
	return d, nil
}

// handler puts a gate on a store in memory, makes a key with all scopes, and serves.
func (d *demo) handler(ctx context.Context, c httpapi.Config) (http.Handler, error) {
	store := memory.New(memory.Config{})
	d.closers = append(d.closers, func() { store.Close() })
	admin := metering.Admin{Store: store}
	account, err := admin.CreateAccount(ctx, "visitor", "self")
	if err != nil {
		return nil, err
	}
	key, secret, err := admin.CreateKey(ctx, metering.KeyRequest{
		Account: account.ID, Name: "visitor", Environment: metering.Test, Scopes: metering.Scopes(),
	})
	if err != nil {
		return nil, err
	}
	d.secret = secret.Reveal()
	if c.HostedSPF, err = newProfiles(ctx, hostedspf.Owner(key.ID)); err != nil {
		return nil, err
	}
	d.schedule(&hostedspf.Scheduler{Store: c.HostedSPF, Env: c.Env})
	c.Gate, err = metering.NewGate(ctx, metering.GateConfig{Store: store})
	if err != nil {
		return nil, err
	}
	d.closers = append(d.closers, c.Gate.Close)
	api := httpapi.New(c)
	tools := agent.New(agent.Config{API: api})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/mcp" {
			tools.ServeHTTP(w, r)
			return
		}
		api.ServeHTTP(w, r) // which a mux would keep some paths from
	}), nil
}

// schedule resolves profiles when they are due, until the demo is closed.
func (d *demo) schedule(s *hostedspf.Scheduler) {
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Run(ctx) // it ends with the context, and in no other way
	}()
	d.closers = append(d.closers, func() { stop(); <-ended })
}

// walk takes the tour, and fails where something else is seen than was announced.
func (d *demo) walk(ctx context.Context, w io.Writer) error {
	for _, s := range tour(time.Now()) {
		if s.check == "" {
			if err := d.examine(ctx, w, s); err != nil {
				return fmt.Errorf("%s: %w", s.about, err)
			}
			continue
		}
		method, path, body, err := s.request()
		if err != nil {
			return fmt.Errorf("%s: %w", s.about, err)
		}
		status, body, err := d.call(ctx, method, path, body)
		if err != nil {
			return fmt.Errorf("%s: %w", s.about, err)
		}
		fmt.Fprintf(w, "%d  %-23s %s\n", status, s.check, s.about)
		if status != s.status || !strings.Contains(body, s.sees) {
			return fmt.Errorf("%s: there is no %s in the reply %d %s", s.about, s.sees, status, body)
		}
	}
	return nil
}

// examine asks the server for all of a domain, as diag --server does.
func (d *demo) examine(ctx context.Context, w io.Writer, s stop) error {
	t, err := target.Parse(s.args)
	if err != nil {
		return err
	}
	ask := func(ctx context.Context, ep httpapi.Endpoint, body []byte) (*httpapi.Result, error) {
		path, fields, err := ep.Target(body)
		if err != nil {
			return nil, err
		}
		status, reply, err := d.call(ctx, ep.Method, path, string(fields))
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("%d %s", status, reply)
		}
		return &httpapi.Result{Body: []byte(reply)}, err
	}
	whole := target.Run(ctx, t, target.Options{}, ask, nil)
	if err := whole.Err(); err != nil {
		return err
	}
	v := whole.View()
	fmt.Fprintf(w, "%d  %-23s %s\n", http.StatusOK, s.args, s.about)
	if !strings.Contains(v.Headline, s.sees) {
		return fmt.Errorf("the headline is %q", v.Headline)
	}
	return nil
}

func (d *demo) call(ctx context.Context, method, path, body string) (status int, reply string, err error) {
	req, err := http.NewRequestWithContext(ctx, method, d.url+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Authorization", "Bearer "+d.secret)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}
