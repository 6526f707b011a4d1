// Command zone-preview judges records before they are published: checks query a zone file instead of the DNS, and the
// real DNS for all names outside of it.
//
//	go run ./examples/zone-preview example.com db.example.com     asks the Internet for the rest
//	go run ./examples/zone-preview -once                          asks the small Internet of examples/demo
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/overlay"
	"github.com/diagkit/diagkit/examples/demo/internet"
	"github.com/diagkit/diagkit/mailauth/dmarc"
	"github.com/diagkit/diagkit/mailauth/spf"
)

// draft fixes harbour.example, whose SPF record includes a domain that is gone, and whose DMARC policy is p=none.
const draft = `
harbour.example.        300 IN TXT "v=spf1 mx include:_spf.shop.example ~all"
_dmarc.harbour.example. 300 IN TXT "v=DMARC1; p=quarantine; rua=mailto:dmarc@harbour.example"
`

func main() {
	internet.Main("judge a draft for harbour.example of the demonstration", []string{"harbour.example", ""}, preview)
}

func preview(ctx context.Context, env *diag.Env, words []string) error {
	if len(words) != 2 {
		return errors.New("give a domain and a zone file")
	}
	name, text := words[0], draft
	if file := words[1]; file != "" {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		text = string(data)
	}
	domain, err := diag.ParseDomain(name)
	if err != nil {
		return err
	}
	zone, err := overlay.Parse(text, name, name)
	if err != nil {
		return err // it has the line number
	}
	// A world like any other, so that every check works on it.
	soon := env.WithResolver(overlay.New(env.DNS(), zone))
	for i, env := range []*diag.Env{env, soon} {
		senders, err := spf.Lookup(ctx, env, spf.LookupRequest{Domain: domain})
		if err != nil {
			return err
		}
		policy, err := dmarc.Lookup(ctx, env, dmarc.LookupRequest{Domain: domain})
		if err != nil {
			return err
		}
		fmt.Printf("%-5s %s\n      %s\n", []string{"now", "soon"}[i], senders.Headline, policy.Headline)
	}
	return nil
}
