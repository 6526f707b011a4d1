package tlsrpt_test

import (
	"fmt"

	"github.com/diagkit/diagkit/mailauth/tlsrpt"
)

func ExampleParseRecord() {
	record, err := tlsrpt.ParseRecord("v=TLSRPTv1; rua=mailto:tls-reports@example.com,https://tls.example.com/v1")
	fmt.Println(record.RUA, err)
	_, err = tlsrpt.ParseRecord("v=TLSRPTv1; rua=tls-reports@example.com")
	fmt.Println(err)
	// Output:
	// [mailto:tls-reports@example.com https://tls.example.com/v1] <nil>
	// the TLSRPT record is not valid: "tls-reports@example.com" is not a URI of mailto or https
}
