package tlsa_test

import (
	"fmt"

	"github.com/diagkit/diagkit/diag/pki/tlsa"
)

// A record is parsed first; [tlsa.Verify] compares usable ones with the chain of a server.
func ExampleParseRecord() {
	record, err := tlsa.ParseRecord("_25._tcp.mx.example.com. IN TLSA 3 1 1 " +
		"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef")
	fmt.Println(record.Usage, record.Selector, record.Matching, err)
	fmt.Printf("%q %t\n", record.Fault(), record.UsableForSMTP())

	record, err = tlsa.ParseRecord("3 1 1 0123")
	fmt.Printf("%q %v\n", record.Fault(), err)
	// Output:
	// DANE-EE SPKI SHA2-256 <nil>
	// "" true
	// "has 2 bytes of data, and SHA2-256 has 32" <nil>
}
