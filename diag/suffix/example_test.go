package suffix_test

import (
	"fmt"

	"github.com/diagkit/diagkit/diag/suffix"
)

func Example() {
	fmt.Println(suffix.Registry("www.example.co.uk", nil))

	// "mx.example.net" without its final dot, in the zone file of example.com
	fmt.Println(suffix.Undotted("mx.example.net.example.com", "example.com"))
	// Output:
	// co.uk true
	// mx.example.net true
}
