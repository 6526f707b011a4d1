package robots_test

import (
	"fmt"

	"github.com/diagkit/diagkit/webcheck/internal/robots"
)

func ExampleParseAs() {
	file := robots.ParseAs([]byte("User-agent: *\nDisallow: /private/\nAllow: /private/open\n"), robots.Standard)
	for _, path := range []string{"/", "/private/offer", "/private/open"} {
		fmt.Println(path, file.Match("Googlebot", path).Allowed)
	}
	// Output:
	// / true
	// /private/offer false
	// /private/open true
}
