// Command slack-notifier notifies a channel when the state of a domain changes: new faults, and fixed ones. It is
// silent while nothing changes.
//
//	SLACK_WEBHOOK=https://hooks.slack.com/… go run ./examples/slack-notifier example.com     asks each hour
//	go run ./examples/slack-notifier -once      breaks a domain of examples/demo, and prints what would be posted
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/examples/demo/internet"
	"github.com/diagkit/diagkit/mailauth/domaincheck"
	"github.com/miekg/dns"
)

// A watch remembers the last findings. Codes are permanent: they can be compared, sentences cannot.
type watch struct {
	env   *diag.Env
	post  func(text string) error
	known map[diag.Code]bool
}

func (w *watch) check(ctx context.Context, domain diag.Domain) error {
	report, err := domaincheck.Check(ctx, w.env, domaincheck.Request{Domain: domain})
	if err != nil || report.Partial {
		return err // an unknown state has not changed
	}
	now, text := map[diag.Code]bool{}, ""
	for _, f := range report.Findings {
		if f.Severity < diag.Error {
			continue
		}
		if now[f.Code] = true; !w.known[f.Code] {
			text += fmt.Sprintf(":rotating_light: %s: %s\n%s\n", domain, f.Title, f.Advice)
		}
	}
	for code := range w.known {
		if !now[code] {
			text += fmt.Sprintf(":white_check_mark: %s: %s is fixed\n", domain, code)
		}
	}
	if text != "" {
		if err := w.post(text); err != nil {
			return err // it is reported the next time
		}
	}
	w.known = now
	return nil
}

func main() {
	once := flag.Bool("once", false, "break a domain of the demonstration")
	flag.Parse()
	ctx := context.Background()
	if *once {
		if err := simulate(ctx); err != nil {
			log.Fatal(err)
		}
		return
	}
	domain, err := diag.ParseDomain(flag.Arg(0))
	if err != nil {
		log.Fatal(err)
	}
	for w := (&watch{post: slack}); ; time.Sleep(time.Hour) {
		if err := w.check(ctx, domain); err != nil {
			log.Print(err)
		}
	}
}

func slack(text string) error {
	body, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		return err
	}
	resp, err := http.Post(os.Getenv("SLACK_WEBHOOK"), "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("slack answered %s", resp.Status)
	}
	return nil
}

// simulate checks a domain that is healthy, then broken, then fixed.
func simulate(ctx context.Context) error {
	world, err := internet.New(time.Now())
	if err != nil {
		return err
	}
	defer world.Close()
	w := &watch{env: world.Env(), post: func(text string) error { fmt.Print(text); return nil }}
	domain := diag.MustDomain("plain.example")
	for _, change := range []string{"", "plain.example. TXT \"v=spf1 +all\"", ""} {
		world.Remove(func(rr dns.RR) bool {
			return rr.Header().Name == "plain.example." && rr.Header().Rrtype == dns.TypeTXT
		})
		world.Zone(change)
		if err := w.check(ctx, domain); err != nil {
			return err
		}
		fmt.Println("--")
	}
	return world.Err()
}
