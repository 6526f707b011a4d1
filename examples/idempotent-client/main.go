// Command idempotent-client calls the API without paying twice or exceeding its limits: a call that may have been lost
// is sent again with the same Idempotency-Key, and a call refused for its rate waits as long as the server asks.
//
//	DIAG_SERVER=https://diag.example DIAG_KEY=svc_live_… go run ./examples/idempotent-client example.com
//	go run ./examples/idempotent-client -once      calls a server in memory, through a network that loses replies
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/diagkit/diagkit/examples/demo/internet"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/memory"
)

const attempts = 5

// call returns the body of the reply. All attempts are one call to the server, which charges it once, and answers the
// later ones from memory for 24 hours.
func call(ctx context.Context, server, key, check, body string) (reply []byte, remaining string, err error) {
	idempotency := rand.Text() // one for each thing to do; keep it with the order that it belongs to
	for attempt := range attempts {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, server+httpapi.Prefix+"/"+check, strings.NewReader(body))
		if err != nil {
			return nil, "", err
		}
		req.Header.Set("Authorization", "Bearer "+key)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Idempotency-Key", idempotency)
		wait := time.Second << attempt
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			reply, err = io.ReadAll(resp.Body)
			resp.Body.Close()
			switch {
			case err == nil && resp.StatusCode == http.StatusOK:
				return reply, resp.Header.Get("X-Credits-Remaining"), nil
			case resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode < 500:
				return nil, "", errors.New(string(reply)) // the request is at fault: the same again would be, too
			}
			if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil {
				wait = time.Duration(s) * time.Second // the server knows better
			}
		}
		log.Printf("attempt %d: again in %v", attempt+1, wait)
		select {
		case <-ctx.Done():
			return nil, "", ctx.Err()
		case <-time.After(wait):
		}
	}
	return nil, "", errors.New("the server cannot be reached")
}

func main() {
	once := flag.Bool("once", false, "call a server in memory")
	flag.Parse()
	ctx := context.Background()
	server, key, domain := os.Getenv("DIAG_SERVER"), os.Getenv("DIAG_KEY"), flag.Arg(0)
	if *once {
		s, secret, err := serve(ctx)
		if err != nil {
			log.Fatal(err)
		}
		defer s.Close()
		server, key, domain = s.URL, secret.Reveal(), "good.example"
	}
	reply, remaining, err := call(ctx, server, key, "spf/lookup", fmt.Sprintf(`{"domain":%q}`, domain))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d bytes, %s credits remain: it was charged once\n", len(reply), remaining)
}

// serve runs the API on the Internet of the demonstration. The first reply is lost on its way, and the second attempt
// comes too soon.
func serve(ctx context.Context) (*httptest.Server, metering.Secret, error) {
	world, err := internet.New(time.Now())
	if err != nil {
		return nil, metering.Secret{}, err
	}
	store := memory.New(memory.Config{})
	admin := metering.Admin{Store: store}
	account, err := admin.CreateAccount(ctx, "customer", "free")
	if err != nil {
		return nil, metering.Secret{}, err
	}
	_, secret, err := admin.CreateKey(ctx, metering.KeyRequest{
		Account: account.ID, Name: "client", Scopes: metering.Scopes(),
	})
	if err != nil {
		return nil, metering.Secret{}, err
	}
	gate, err := metering.NewGate(ctx, metering.GateConfig{Store: store})
	if err != nil {
		return nil, metering.Secret{}, err
	}
	api, calls := httpapi.Handler(httpapi.Config{Gate: gate, Env: world.Env()}), 0
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch calls++; calls {
		case 1:
			api.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler) // the call was charged, but the response is lost
		case 2:
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
		default:
			api.ServeHTTP(w, r)
		}
	})), secret, nil
}
