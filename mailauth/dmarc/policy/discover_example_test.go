package policy_test

import (
	"context"
	"fmt"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
)

func ExampleEvaluate() {
	world, err := diagtest.New(diagtest.Config{Zone: `
		_dmarc.example.com.      TXT "v=DMARC1; p=reject; sp=quarantine"
		news.example.com.        A   192.0.2.1
	`})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer world.Close()
	e, err := policy.Evaluate(context.Background(), world.Env(), policy.Message{
		From: diag.MustName("news.example.com"),
		SPF:  diag.MustName("bounces.example.net"),
		DKIM: []diag.Name{diag.MustName("mail.example.com")},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, step := range e.Discovery.Walk.Steps {
		fmt.Println(step.Name, step.Outcome)
	}
	for _, id := range e.Identifiers {
		fmt.Println(id.Mechanism, id.Domain, "aligned:", id.Aligned)
	}
	fmt.Printf("%s, %s=%s of %s\n", e.Result, e.Tag, e.Policy, e.Discovery.Tree.PolicyDomain())
	// Output:
	// _dmarc.news.example.com no_record
	// _dmarc.example.com record
	// _dmarc.com no_record
	// spf bounces.example.net aligned: false
	// dkim mail.example.com aligned: true
	// pass, sp=quarantine of example.com
}
