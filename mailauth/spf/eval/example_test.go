package eval_test

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/spf/eval"
)

func ExampleCheck() {
	world, err := diagtest.New(diagtest.Config{Zone: `
		example.com.      TXT "v=spf1 mx include:_spf.example.net -all exp=why.example.com"
		example.com.      MX  10 mx.example.com.
		mx.example.com.   A   192.0.2.25
		_spf.example.net. TXT "v=spf1 ip4:198.51.100.0/24 ~all"
		why.example.com.  TXT "%{i} does not send for %{d}"`})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer world.Close()

	// Pass nil instead of world.Env() to query the real Internet.
	for _, client := range []string{"198.51.100.7", "203.0.113.9"} {
		result, err := eval.Check(context.Background(), world.Env(), eval.Request{
			IP: netip.MustParseAddr(client), Sender: "joe@example.com", HELO: "mail.example.org",
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(result.Outcome, result.MatchedTerm, result.MatchedDomain)
		if result.Outcome == eval.Fail {
			fmt.Println("550 5.7.23", result.Explanation) // RFC 7372 section 3.2
		}
	}
	// Output:
	// pass ip4:198.51.100.0/24 _spf.example.net
	// fail -all example.com
	// 550 5.7.23 203.0.113.9 does not send for example.com
}

// Both identities of a message are checked with one set of lookups, so no query is sent twice.
func ExampleLookups_Check() {
	world, err := diagtest.New(diagtest.Config{Zone: `
		example.com.      TXT "v=spf1 a:mail.example.com -all"
		mail.example.com. TXT "v=spf1 a -all"
		mail.example.com. A   192.0.2.25`})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer world.Close()
	ctx, cancel := context.WithTimeout(context.Background(), eval.Timeout)
	defer cancel()
	lookups := eval.NewLookups(ctx, world.Env())
	client := netip.MustParseAddr("192.0.2.25")
	for _, sender := range []string{"joe@example.com", ""} {
		result := lookups.Check(eval.Request{IP: client, Sender: sender, HELO: "mail.example.com"})
		fmt.Println(result.Domain, result.Outcome)
	}
	cancel()
	lookups.Wait()
	// Output:
	// example.com pass
	// mail.example.com pass
}

func ExampleParse() {
	record, faults := eval.Parse("v=spf1 ipv4:192.0.2.1 include:_spf.example.net~all")
	for _, f := range faults {
		fmt.Printf("byte %d: %s\n", f.Offset, f.Text)
	}
	fmt.Println(record)
	// Output:
	// byte 7: there is no mechanism "ipv4"
	// byte 46: a space is missing before ~all
	// v=spf1 ipv4:192.0.2.1 include:_spf.example.net~all
}
