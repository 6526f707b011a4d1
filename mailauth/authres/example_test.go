package authres_test

import (
	"fmt"
	"strings"

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

// A server writes what it found in front of a message.
func ExampleHeader_String() {
	h := &authres.Header{AuthservID: "mx.example.com"}
	h.Add("spf", "pass", "smtp.mailfrom", "joe@example.org")
	h.Add("dkim", "pass", "header.d", "example.org", "header.s", "s1")
	h.Add("dmarc", "pass", "header.from", "example.org")
	field := fmt.Sprintf("Authentication-Results: %s\r\n", h)
	fmt.Print(strings.ReplaceAll(field, "\r\n", "\n"))
	// Output:
	// Authentication-Results: mx.example.com;
	// 	spf=pass smtp.mailfrom=joe@example.org;
	// 	dkim=pass header.d=example.org header.s=s1;
	// 	dmarc=pass header.from=example.org
}
