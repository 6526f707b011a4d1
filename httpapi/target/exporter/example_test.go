package exporter_test

import (
	"context"
	"log"
	"net/http"
	"time"

	"github.com/diagkit/diagkit/httpapi/target"
	"github.com/diagkit/diagkit/httpapi/target/exporter"
)

// Two domains, checked every six hours, for Prometheus at http://127.0.0.1:9781/metrics.
func Example() {
	e := exporter.New(exporter.Config{
		List:     func() (string, error) { return "example.com\nexample.net\n", nil },
		Ask:      func() target.Ask { return target.Local(nil) },
		Interval: 6 * time.Hour,
	})
	go func() { log.Fatal(http.ListenAndServe("127.0.0.1:9781", e)) }()
	if err := e.Run(context.Background()); err != nil {
		log.Fatal(err)
	}
}
