package dnsbl_test

import (
	"context"
	"fmt"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/dnsbl"
)

func Example() {
	// In place of the Internet, for which env would be nil.
	world, _ := diagtest.New(diagtest.Config{})
	defer world.Close()
	world.Zone(`
		2.0.0.127.zen.spamhaus.org.   A   127.0.0.2
		25.2.0.192.zen.spamhaus.org.  A   127.0.0.4
		25.2.0.192.zen.spamhaus.org.  TXT "https://www.spamhaus.org/query/ip/192.0.2.25"
		2.0.0.127.list.dnswl.org.     A   127.0.10.0
	`)
	report, err := dnsbl.Check(context.Background(), world.Env(), dnsbl.Request{
		IP: diag.MustIP("192.0.2.25"), Lists: []string{"spamhaus-zen", "dnswl"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Headline)
	for _, r := range report.Results {
		fmt.Println(r.Name, r.Status, r.ReturnCodes, r.Meanings, r.Reason)
	}
	for _, r := range report.Allowlists {
		fmt.Println(r.Name, r.Status)
	}
	// Output:
	// Listed on the blocklist Spamhaus ZEN
	// Spamhaus ZEN listed [127.0.0.4] [XBL, infected, hijacked or abused by third parties] https://www.spamhaus.org/query/ip/192.0.2.25
	// dnswl.org clean
}
