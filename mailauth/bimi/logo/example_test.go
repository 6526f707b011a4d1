package logo_test

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/bimi/logo"
)

func ExampleLookup() {
	world, err := diagtest.New(diagtest.Config{}) // nil instead of world.Env() is the real Internet
	if err != nil {
		fmt.Println(err)
		return
	}
	defer world.Close()
	world.HTTPS("brand.example.com", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "image/svg+xml")
		io.WriteString(w, `<svg xmlns="http://www.w3.org/2000/svg" version="1.2" baseProfile="tiny-ps" viewBox="0 0 64 64">
	<title>Example</title>
	<rect width="64" height="64" style="fill:#0b5fff"/>
</svg>`)
	}))

	report, err := logo.Lookup(context.Background(), world.Env(), logo.Request{
		URL: diag.MustURL("https://brand.example.com/logo.svg"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Headline)
	for _, f := range report.Findings {
		fmt.Printf("%s: %s: %s\n", f.Severity, f.Title, f.Detail)
	}
	// Output:
	// Logo uses CSS
	// error: Logo uses CSS: The attribute style is not allowed on rect (line 3, column 31).
}
