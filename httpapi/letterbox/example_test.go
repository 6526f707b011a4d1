package letterbox_test

import (
	"log"
	"net"
	"net/http"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/httpapi/letterbox"
)

// Messages come in on port 25, and their senders read the reports at /letterbox.
func Example() {
	box, err := letterbox.New(letterbox.Config{Domain: diag.MustDomain("box.example.com")})
	if err != nil {
		log.Fatal(err)
	}
	defer box.Close()
	l, err := net.Listen("tcp", ":25")
	if err != nil {
		log.Fatal(err)
	}
	go func() { log.Print(box.Serve(l)) }()
	http.Handle("/letterbox", box)
	http.Handle("/letterbox/", box)
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", nil))
}
