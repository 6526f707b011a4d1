package fetch_test

import (
	"context"
	"fmt"
	"net/http"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/fetch"
)

func ExampleDo() {
	world, err := diagtest.New(diagtest.Config{}) // nil instead of world.Env() is the real Internet
	if err != nil {
		fmt.Println(err)
		return
	}
	defer world.Close()
	world.HTTP("example.com", http.RedirectHandler("https://example.com/", http.StatusMovedPermanently))
	world.HTTPS("example.com", http.RedirectHandler("http://192.168.0.1/admin", http.StatusFound))

	r, err := fetch.Do(context.Background(), world.Env(), fetch.Request{
		URL:          diag.MustURL("http://example.com"),
		MaxRedirects: fetch.DefaultRedirects,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, h := range r.Hops {
		fmt.Println(h.Index, h.URL, h.StatusCode, h.HTTPVersion, h.Location)
	}
	fmt.Printf("%s: %s\n", r.Err.Code, r.Err.Message)
	// Output:
	// 1 http://example.com/ 301 HTTP/1.1 https://example.com/
	// 2 https://example.com/ 302 HTTP/2 http://192.168.0.1/admin
	// blocked: the host leads to an address or port that must not be reached
}
