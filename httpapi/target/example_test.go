package target_test

import (
	"context"
	"log"
	"os"
	"time"

	"github.com/diagkit/diagkit/diag/view/render"
	"github.com/diagkit/diagkit/examples/demo/internet"
	"github.com/diagkit/diagkit/httpapi/target"
)

// A nil Env instead of that of the world in memory is the Internet.
func Example() {
	world, err := internet.New(time.Now())
	if err != nil {
		log.Fatal(err)
	}
	defer world.Close()
	t, err := target.Parse("plain.example")
	if err != nil {
		log.Fatal(err)
	}
	o := target.Options{Only: []string{target.Web}}
	whole := target.Run(context.Background(), t, o, target.Local(world.Env()), nil)
	v := whole.View()
	v.Foot = "" // it states the time
	if err := render.Text(os.Stdout, v, render.Options{}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// – plain.example
	//   There was nothing to examine.
	//
	// WEB  – site  no address, no website (not counted as a fault)
}
