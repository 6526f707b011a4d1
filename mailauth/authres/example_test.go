package authres_test

import (
	"fmt"

	"github.com/diagkit/diagkit/mailauth/authres"
)

func ExampleParse() {
	h, err := authres.Parse("mx.example.com; dkim=pass (2048-bit key; unprotected) header.d=example.org header.s=s1;" +
		" dmarc=fail (p=reject) header.from=example.com")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range h.Results {
		fmt.Println(h.AuthservID, r.Method, r.Value, r.Domain(), r.Comments)
	}
	// Output:
	// mx.example.com dkim pass example.org [2048-bit key; unprotected]
	// mx.example.com dmarc fail example.com [p=reject]
}
