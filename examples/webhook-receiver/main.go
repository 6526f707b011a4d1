// Command webhook-receiver receives events from a server: it accepts only signed ones, and handles none twice. For a
// watched domain that got worse it prints who can fix what.
//
//	DIAG_SIGNING_SECRET=whsec_… go run ./examples/webhook-receiver     listens on 127.0.0.1:8090
//	go run ./examples/webhook-receiver -once                           sends itself an event three times, once forged
//
// Delivery is at least once: if the reply is lost, the same event is sent again, with the same Webhook-Id.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/notify"
)

// A receiver is an http.Handler.
type receiver struct {
	secret notify.Secret
	handle func(event string, body []byte) error

	mu   sync.Mutex
	seen map[string]time.Time // by id; with several servers, keep these in the database, with your own writes
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(io.LimitReader(req.Body, 1<<20)) // the signature is of these bytes: verify before parsing
	if err != nil || notify.Verify(req.Header, body, time.Now(), r.secret) != nil {
		http.Error(w, "invalid signature", http.StatusUnauthorized)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	id := req.Header.Get("Webhook-Id")
	if _, again := r.seen[id]; !again {
		if err := r.handle(req.Header.Get("X-Service-Event-Type"), body); err != nil {
			http.Error(w, "try again later", http.StatusServiceUnavailable) // it comes again
			return
		}
		r.seen[id] = time.Now()
	}
	for old, at := range r.seen {
		if time.Since(at) > 24*time.Hour { // deliveries are tried for seven hours
			delete(r.seen, old)
		}
	}
	w.WriteHeader(http.StatusNoContent)
}

func main() {
	once := flag.Bool("once", false, "send an event to itself, and end")
	flag.Parse()
	secret, err := notify.ParseSecret(os.Getenv("DIAG_SIGNING_SECRET"))
	if *once {
		secret, err = notify.NewSecret(), nil
	}
	if err != nil {
		log.Fatal(err)
	}
	r := &receiver{secret: secret, seen: map[string]time.Time{}, handle: printEvent}
	if !*once {
		log.Fatal(http.ListenAndServe("127.0.0.1:8090", r))
	}
	signature := notify.Sign(secret, "msg_1", time.Now(), []byte(worsened))
	for _, body := range []string{worsened, worsened, strings.Replace(worsened, "ns1", "evil", 1)} { // once again, and forged
		fmt.Println(deliver(r, "msg_1", signature, body))
	}
}

const worsened = `{"event_type":"domain.worsened","data":{"domain":"example.com","mend":"the DNS of example.com "+
	"(ns1.example.net)",
	"url":"https://diag.example/dashboard/domains/example.com",
	"findings":[{"code":"spf.all.pass","severity":"error","title":"Everybody may send"}]}}`

// printEvent prints what to do about an event, or the event unchanged.
func printEvent(event string, body []byte) error {
	var e struct {
		Data struct {
			Domain, Mend, URL string
			Findings          []struct{ Severity, Title string }
		}
	}
	if event != string(metering.EventDomainWorsened) {
		_, err := fmt.Printf("%s %s\n", event, body)
		return err
	}
	if err := json.Unmarshal(body, &e); err != nil {
		return err
	}
	for _, f := range e.Data.Findings {
		fmt.Printf("%s: %s (%s). To be fixed by %s; see %s\n", e.Data.Domain, f.Title, f.Severity, e.Data.Mend, e.Data.URL)
	}
	return nil
}

func deliver(r http.Handler, id, signature, body string) (status int) {
	req := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	req.Header.Set("Webhook-Id", id)
	req.Header.Set("Webhook-Timestamp", strconv.FormatInt(time.Now().Unix(), 10))
	req.Header.Set("Webhook-Signature", signature)
	req.Header.Set("X-Service-Event-Type", string(metering.EventDomainWorsened))
	reply := httptest.NewRecorder()
	r.ServeHTTP(reply, req)
	return reply.Code
}
