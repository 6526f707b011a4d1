package compose_test

import (
	"context"
	"fmt"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/compose"
	"github.com/diagkit/diagkit/mailauth/dmarc"
	"github.com/diagkit/diagkit/mailauth/spf"
)

func Example() {
	world, err := diagtest.New(diagtest.Config{Zone: `
		example.com.        MX  10 mx.example.com.
		example.com.        TXT "v=spf1 +all"
		mx.example.com.     A   192.0.2.25
		_dmarc.example.com. TXT "v=DMARC1; p=none; rua=mailto:dmarc@example.com"
	`})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer world.Close()
	domain := diag.MustDomain("example.com")

	run := compose.Start(context.Background(), world.Env())
	spfPart := compose.Ask(run, compose.SPF, spf.Lookup, spf.LookupRequest{Domain: domain})
	dmarcPart := compose.Ask(run, compose.DMARC, dmarc.Lookup, dmarc.LookupRequest{Domain: domain})
	run.Wait()

	whole := compose.Composite{Parts: []compose.WeightedPart{
		{Summary: &spfPart.Summary, Weight: 50}, {Summary: &dmarcPart.Summary, Weight: 50},
	}}
	v := whole.Verdict()
	fmt.Println(v.Headline)
	for _, f := range v.Findings {
		fmt.Println(f.Severity, f.Target, f.Title)
	}
	// Output:
	// Fix first: SPF record lets every host pass (+all)
	// critical spf SPF record lets every host pass (+all)
	// warning dmarc DMARC policy is none: forged mail is delivered
}
