// Command accept-mail judges a message as a mail server does that has received it: it evaluates SPF (RFC 7208), DKIM
// (RFC 6376) and DMARC (RFC 9989), prints its reply to the client, and the field Authentication-Results (RFC 8601) that
// it would put in front of the message.
//
//	go run ./examples/accept-mail 192.0.2.1 joe@example.com mail.example.com "$(cat message.eml)"    asks the Internet
//	go run ./examples/accept-mail -once                                  asks the small Internet of examples/demo
package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/examples/demo/internet"
	"github.com/diagkit/diagkit/mailauth/authres"
	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
	"github.com/diagkit/diagkit/mailauth/message"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
)

// Messages of the demonstration: good.example signed the first.
var (
	//go:embed order.eml
	order string
	//go:embed forged.eml
	forged string
)

func main() {
	internet.Main("judge messages of the demonstration", []string{
		"192.0.2.12", "orders@good.example", "mx1.good.example", order,
		"198.51.100.77", "alias@shop.example", "out.shop.example", order, // forwarded
		"203.0.113.77", "boss@good.example", "vps.rented.example", forged,
	}, func(ctx context.Context, env *diag.Env, words []string) error {
		for w := range slices.Chunk(words, 4) {
			if len(w) != 4 {
				return errors.New("give the client's address, the sender, the name of HELO and the message")
			}
			reply, results, err := judge(ctx, env, w[0], w[1], w[2], w[3])
			if err != nil {
				return err
			}
			fmt.Printf("%s\nAuthentication-Results: %s\n\n", reply, strings.ReplaceAll(results.String(), "\r\n", "\n"))
		}
		return nil
	})
}

// judge returns the reply to a message and what the server records about it. Before it does so, the server removes
// fields of its own name that others have put in front of the message (RFC 8601 section 5).
func judge(ctx context.Context, env *diag.Env, client, sender, helo, text string) (
	reply string, results *authres.Header, err error) {
	ip, err := netip.ParseAddr(client)
	if err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second) // RFC 7208 section 4.6.4
	defer cancel()
	results = &authres.Header{AuthservID: "mx1.example.com"}

	spf, err := eval.Check(ctx, env, eval.Request{IP: ip, Sender: sender, HELO: helo})
	if err != nil {
		return "", nil, err
	}
	if sender == "" { // a bounce, whose HELO name is checked (RFC 7208 section 2.4)
		results.Add("spf", string(spf.Outcome), "smtp.helo", helo)
	} else {
		results.Add("spf", string(spf.Outcome), "smtp.mailfrom", sender)
	}

	signatures, err := dkim.Verify(ctx, env, []byte(text), dkim.Options{})
	if err != nil {
		return "", nil, err
	}
	for _, s := range signatures.Signatures {
		results.Add("dkim", string(s.Result), "header.d", s.Domain, "header.s", s.Selector)
	}

	from := message.ParseAddresses(strings.Join(dkim.Split([]byte(text)).Values("From"), ", "))
	if len(from) != 1 { // RFC 9989 section 5.3.1
		return "550 5.6.0 the message has no author, or several", results, nil
	}
	author := policy.Message{DKIM: signatures.PassDomains()}
	if author.From, err = diag.ParseName(from[0].Domain); err != nil {
		return "550 5.6.0 the author has no valid address", results, nil
	}
	if spf.Outcome == eval.Pass {
		author.SPF, _ = diag.ParseName(spf.Domain) // a name that is not one is not aligned with any
	}
	dmarc, err := policy.Evaluate(ctx, env, author)
	if err != nil {
		return "", nil, err
	}
	results.Add("dmarc", string(dmarc.Result), "header.from", author.From.String())

	unknown := spf.Outcome == eval.Temperror || signatures.Result() == dkim.TempError
	switch {
	case dmarc.Result == policy.ResultTempError, dmarc.Result == policy.ResultFail && unknown:
		return "451 4.7.5 try again: the DNS did not answer", results, nil
	case dmarc.Result == policy.ResultFail && dmarc.Applied == policy.Reject:
		return "550 5.7.1 refused as the DMARC policy of " + author.From.String() + " asks", results, nil
	case dmarc.Result == policy.ResultFail && dmarc.Applied == policy.Quarantine:
		return "250 2.0.0 delivered to the spam folder", results, nil
	case dmarc.Result == policy.ResultNone && spf.Outcome == eval.Fail: // RFC 7208 section 8.4
		return "550 5.7.23 not authorized by SPF: " + spf.MatchedTerm, results, nil
	}
	return "250 2.0.0 delivered", results, nil
}
