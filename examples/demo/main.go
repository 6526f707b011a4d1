// Command demo serves the whole API on a small Internet in memory, with domains that are well and
// domains that are broken in one way each. It needs no network, no configuration and no database: the
// place to get to know the API, and to write a client against it.
//
//	go run ./examples/demo                          serves on 127.0.0.1:8089 and says where to begin
//	go run ./examples/demo -tour                    and prints a call of each operation
//	go run ./examples/demo -listen 127.0.0.1:9000
//	eval "$(go run ./examples/demo -background)"    serves in the background, and sets DIAG_SERVER and DIAG_KEY
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

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/examples/demo/internet"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/dashboard"
	"github.com/diagkit/diagkit/httpapi/pages"
	"github.com/diagkit/diagkit/httpapi/target"
	"github.com/diagkit/diagkit/mailauth/hostedspf"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/memory"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8089", "address to serve on")
	once := flag.Bool("once", false, "take the tour, and end")
	background := flag.Bool("background", false,
		"serve in the background, and print commands that set DIAG_SERVER and DIAG_KEY")
	listTour := flag.Bool("tour", false, "print a call of each operation")
	operator := flag.Bool("operator", false, "let the owner void and credit invoices, as the operator of a server can")
	flag.Parse()
	if *background {
		if err := startInBackground(os.Stdout, os.Stderr); err != nil {
			log.Fatal(err)
		}
		return
	}
	ctx := context.Background()
	if !signal.Ignored(os.Interrupt) {
		var end context.CancelFunc
		ctx, end = signal.NotifyContext(ctx, os.Interrupt)
		defer end()
	}
	if *once {
		*listen = "127.0.0.1:0"
	}
	d := &demo{operator: *operator}
	err := d.start(ctx, *listen, history)
	if err != nil {
		log.Fatal(err)
	}
	defer d.close()
	if *once {
		if err := d.runTour(ctx, os.Stdout); err != nil {
			log.Fatal(err)
		}
		return
	}
	d.printStart(os.Stdout)
	if *listTour {
		if err := printTour(os.Stdout, d.url, tour(time.Now())); err != nil {
			log.Fatal(err)
		}
	}
	<-ctx.Done()
}

// A demo is a running server.
type demo struct {
	url, secret, mail string
	operator          bool // whether the owner may void and credit invoices
	closers           []func()
}

func (d *demo) close() {
	for i := len(d.closers) - 1; i >= 0; i-- {
		d.closers[i]()
	}
}

// startBackground runs a function next to the server until the demo is closed.
func (d *demo) startBackground(f func(context.Context) error) {
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = f(ctx) // it ends with the context only
	}()
	d.closers = append(d.closers, func() { stop(); <-ended })
}

// start serves, with so many days behind it.
func (d *demo) start(ctx context.Context, listen string, days int) (err error) {
	defer func() {
		if err != nil {
			d.close()
		}
	}()
	world, err := internet.New(time.Now())
	if err != nil {
		return err
	}
	d.closers = append(d.closers, world.Close)
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	d.url = "http://" + l.Addr().String()
	server := &http.Server{ReadHeaderTimeout: 5 * time.Second}
	if server.Handler, err = d.handler(ctx, world, days); err != nil {
		l.Close()
		return err
	}
	go server.Serve(l)
	d.closers = append(d.closers, func() { server.Close() })
	return nil
}

// handler puts a gate on a store in memory, makes a key with all scopes, and serves.
func (d *demo) handler(ctx context.Context, world *diagtest.World, days int) (http.Handler, error) {
	h := &environment{movableClock: &movableClock{}, world: world, days: days}
	if days > 0 {
		h.setTime(time.Now().Add(-2*untilNow).AddDate(0, 0, -days))
	}
	h.store = memory.New(memory.Config{Clock: h.Now})
	d.closers = append(d.closers, func() { h.store.Close() })
	h.admin = metering.Admin{Store: h.store, Clock: h.Now}
	var err error
	if h.account, err = h.admin.CreateAccount(ctx, "Harbour Coffee", "agency"); err != nil {
		return nil, err
	}
	key, secret, err := h.admin.CreateKey(ctx, metering.KeyRequest{
		Account: h.account.ID, Name: "visitor", Environment: metering.Test, Scopes: metering.Scopes(),
	})
	if err != nil {
		return nil, err
	}
	d.secret = secret.Reveal()
	activity := &dashboard.Activity{}
	c := httpapi.Config{
		Env: world.Env(), IPRate: -1, Clock: h.Now, Observe: activity.Observe,
		Pages: pages.Handler(pages.Config{Dashboard: "/dashboard", PublicCheck: true, LetterBox: true}),
	}
	if c.HostedSPF, err = newProfiles(ctx, hostedspf.Owner(key.ID)); err != nil {
		return nil, err
	}
	c.Gate, err = metering.NewGate(ctx, metering.GateConfig{Store: h.store, Clock: h.Now})
	if err != nil {
		return nil, err
	}
	d.closers = append(d.closers, c.Gate.Close)
	h.api = httpapi.New(c)
	handler, err := d.mountParts(ctx, h, dashboard.Config{Activity: activity, HostedSPF: c.HostedSPF,
		SPFZone: diag.MustName("spf.harbour.example"), Seller: "Example Diagnostics Ltd\n1 Main Street\nDublin"})
	if err != nil {
		return nil, err
	}
	d.startBackground((&hostedspf.Scheduler{Store: c.HostedSPF, Env: c.Env}).Run)
	return handler, nil
}

// runTour takes the tour, and fails at a result that differs from the announced one.
func (d *demo) runTour(ctx context.Context, w io.Writer) error {
	for _, s := range tour(time.Now()) {
		if s.check == "" {
			if err := d.runOverview(ctx, w, s); err != nil {
				return fmt.Errorf("%s: %w", s.title, err)
			}
			continue
		}
		method, path, body, err := s.request()
		if err != nil {
			return fmt.Errorf("%s: %w", s.title, err)
		}
		status, body, err := d.call(ctx, method, path, body)
		if err != nil {
			return fmt.Errorf("%s: %w", s.title, err)
		}
		fmt.Fprintf(w, "%d  %-23s %s\n", status, s.check, s.title)
		if status != s.status || !strings.Contains(body, s.want) {
			return fmt.Errorf("%s: there is no %s in the reply %d %s", s.title, s.want, status, body)
		}
	}
	return d.checkPages(ctx, w)
}

// checkPages opens pages of the dashboard as a signed-in member.
func (d *demo) checkPages(ctx context.Context, w io.Writer) error {
	for _, p := range []struct{ path, sees string }{
		{"/dashboard", "10 domains, worst first"},
		{"/dashboard/domains/harbour.example", "SPF includes a domain without an SPF record"},
		{"/dashboard/domains/slip.example", "p=rejct"},
		{"/dashboard/channels", "Operations"},
		{"/dashboard/billing", "Invoices"},
		{"/dashboard/members", "dev@agency.example"},
		{"/dashboard/playground/spf/lookup", "<form"},
		{"/letterbox", "<button"},
		{"/", `action="/check"`},
	} {
		status, page, err := d.call(ctx, http.MethodGet, p.path, "")
		fmt.Fprintf(w, "%d  %s\n", status, p.path)
		if err != nil || status != http.StatusOK || !strings.Contains(page, p.sees) {
			return fmt.Errorf("%s: there is no %q (%d, %v)", p.path, p.sees, status, err)
		}
	}
	return nil
}

func (d *demo) runOverview(ctx context.Context, w io.Writer, s stop) error {
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
	overview := target.Run(ctx, t, target.Options{}, ask, nil)
	if err := overview.Err(); err != nil {
		return err
	}
	v := overview.View()
	fmt.Fprintf(w, "%d  %-23s %s\n", http.StatusOK, s.args, s.title)
	if !strings.Contains(v.Headline, s.want) {
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
