package pages_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/diagkit/diagkit/httpapi/pages"
)

// The pages need no API: they describe the public one.
func Example() {
	w := httptest.NewRecorder()
	pages.Handler(pages.Config{}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/docs", nil))
	fmt.Println(w.Code, w.Header().Get("Content-Type"))
	// Output: 200 text/html; charset=utf-8
}
