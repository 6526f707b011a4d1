package input_test

import (
	"encoding/json"
	"fmt"

	"github.com/diagkit/diagkit/diag/input"
)

// A request that has these types as fields is validated when it is decoded.
func Example() {
	var request struct {
		Domain input.Domain `json:"domain"`
		URL    input.URL    `json:"url"`
	}
	err := json.Unmarshal([]byte(`{"domain": "Bücher.example", "url": "HTTPS://Example.com:443/a/../b"}`), &request)
	fmt.Println(request.Domain, request.Domain.Unicode(), request.URL, err)

	err = json.Unmarshal([]byte(`{"domain": "exa mple.com"}`), &request)
	fmt.Println(err)
	// Output:
	// xn--bcher-kva.example bücher.example https://example.com/b <nil>
	// domain: "exa mple.com" is not a domain name: it must not contain ' '
}
