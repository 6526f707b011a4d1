// Command accept-mail decides as a mail server would whether a client may send mail in the name of a domain: the
// function check_host of SPF (RFC 7208), which the package eval has alone, for servers that need nothing else.
//
//	go run ./examples/accept-mail 192.0.2.1 joe@example.com mail.example.com     asks the Internet
//	go run ./examples/accept-mail -once                                          asks the small Internet of examples/demo
package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/examples/demo/internet"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
)

func main() {
	internet.Main("judge clients of the demonstration", []string{
		"192.0.2.12", "orders@good.example", "mx1.good.example",
		"203.0.113.77", "boss@good.example", "vps.rented.example",
		"192.0.2.51", "shop@harbour.example", "mail.harbour.example",
	}, func(ctx context.Context, env *diag.Env, words []string) error {
		for c := range slices.Chunk(words, 3) {
			if len(c) != 3 {
				return errors.New("give the client's address, the sender and the name of HELO")
			}
			reply, err := decide(ctx, env, c[0], c[1], c[2])
			if err != nil {
				return err
			}
			fmt.Printf("%-15s %-22s %s\n", c[0], c[1], reply)
		}
		return nil
	})
}

// decide returns the reply to MAIL FROM. RFC 7208 section 8 says how a server handles each result.
func decide(ctx context.Context, env *diag.Env, client, sender, helo string) (reply string, err error) {
	ip, err := netip.ParseAddr(client)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second) // RFC 7208 section 4.6.4
	defer cancel()
	result, err := eval.Check(ctx, env, eval.Request{IP: ip, Sender: sender, HELO: helo})
	if err != nil {
		return "", err
	}
	switch result.Outcome {
	case eval.Fail:
		return "550 5.7.23 not authorized by SPF: " + result.MatchedTerm, nil
	case eval.Permerror:
		return "550 5.7.24 the SPF record of the sender cannot be evaluated", nil
	case eval.Temperror:
		return "451 4.4.3 try again: the DNS did not answer", nil
	}
	return fmt.Sprintf("250 2.1.0 Ok (spf=%s)", result.Outcome), nil
}
