package dkim_test

import (
	"context"
	"fmt"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/dkim"
)

func ExampleLookup() {
	world, err := diagtest.New(diagtest.Config{Zone: `
		example.com.               MX  10 mx.example.com.
		s1._domainkey.example.com. TXT "v=DKIM1; k=rsa; p=2J0Vi6Qu3EijgpBSbvrkSF0zb6qpRkEg8oBG9Nu6RXU="`})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer world.Close()

	// With nil instead of world.Env(), it queries the real Internet.
	report, err := dkim.Lookup(context.Background(), world.Env(), dkim.LookupRequest{
		Domain: diag.MustDomain("example.com"), Selector: diag.MustSelector("s1"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Headline)
	for _, f := range report.Findings {
		fmt.Printf("%s: %s: %s (%s)\n", f.Severity, f.Code, f.Detail, f.Reference)
	}
	fmt.Println(report.Recommendations[0].SuggestedValue)
	// Output:
	// DKIM key is of another type than k= says
	// critical: dkim.key.type.mismatch: The key type is k=rsa, but p= holds an Ed25519 key. (RFC 6376 section 3.6.1)
	// v=DKIM1; k=ed25519; p=2J0Vi6Qu3EijgpBSbvrkSF0zb6qpRkEg8oBG9Nu6RXU=
}

func ExampleParseKey() {
	key := dkim.ParseKey("v=DKIM1; k=ed25519; t=s; p=2J0Vi6Qu3EijgpBSbvrkSF0zb6qpRkEg8oBG9Nu6RXU=")
	fmt.Println(key.Type, key.Details.SizeBits, key.Strict(), key.Err())
	key = dkim.ParseKey("v=DKIM1; k=ed25519; p=2J0Vi6Qu")
	fmt.Println(key.Err())
	fmt.Println(key.List.Faults[0].Offset)
	// Output:
	// ed25519 256 true <nil>
	// the DKIM key cannot be used: the Ed25519 key in p= has 6 bytes, not 32
	// 22
}
