package markcert_test

import (
	"context"
	"fmt"
	"reflect"
	"strconv"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/bimi/markcert"
	"github.com/diagkit/diagkit/mailauth/bimi/markcert/markcerttest"
)

func ExampleParse() {
	world, err := diagtest.New(diagtest.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer world.Close()
	authority := markcerttest.New()
	world.Env().Data = authority.Files() // with nil instead of an environment the real authorities count

	report, err := markcert.Parse(context.Background(), world.Env(), markcert.ParseRequest{
		PEM:    authority.Issue(markcerttest.Mark{}),
		Domain: diag.MustDomain("example.net"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Headline)
	fmt.Println(report.Certificate.Type, report.Certificate.MarkType, report.Certificate.TrademarkID, *report.ChainTrusted)
	for _, f := range report.Findings {
		fmt.Printf("%s: %s: %s (%s)\n", f.Severity, f.Code, f.Detail, f.Reference)
	}
	// Output:
	// Certificate is for another domain
	// vmc Registered Mark 7654321 true
	// critical: cert_domain_mismatch: The certificate is for example.com, not for example.net. (draft-fetch-validation-vmc-wchuang-11 section 5.2)
}

// The example in the tag of the request is a certificate that can be judged.
func TestExampleInTag(t *testing.T) {
	field, _ := reflect.TypeFor[markcert.ParseRequest]().FieldByName("PEM")
	if want := markcerttest.New().Issue(markcerttest.Mark{}); field.Tag.Get("example") != want {
		t.Errorf("the example should be %s", strconv.Quote(want))
	}
}
