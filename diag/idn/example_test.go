package idn_test

import (
	"fmt"

	"github.com/diagkit/diagkit/diag/idn"
)

func ExampleConvert() {
	for _, domain := range []string{"Bücher.example", "xn--bcher-kva.example", "pаypal.example"} {
		report, err := idn.Convert(idn.Request{Domain: domain})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(report.ASCII, report.Unicode, report.Valid)
		for _, f := range report.Findings {
			fmt.Println("-", f.Code, f.Detail)
		}
	}
	// Output:
	// xn--bcher-kva.example bücher.example true
	// xn--bcher-kva.example bücher.example true
	// xn--pypal-4ve.example pаypal.example true
	// - idn.script.mixed The label "pаypal" has letters of Cyrillic and Latin.
	// - idn.label.confusable "pаypal" looks like "paypal".
}
