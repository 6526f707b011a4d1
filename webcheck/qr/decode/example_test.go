package decode_test

import (
	"context"
	"fmt"

	"github.com/diagkit/diagkit/webcheck/qr"
	"github.com/diagkit/diagkit/webcheck/qr/decode"
)

func ExampleDecode() {
	img, err := qr.Encode(qr.Request{Data: "WIFI:S:Guests;T:WPA;P:welcome;;"})
	if err != nil {
		panic(err)
	}
	report, err := decode.Decode(context.Background(), nil, decode.Request{Image: img.Bytes()})
	if err != nil {
		panic(err)
	}
	for _, c := range report.Codes {
		fmt.Println(c.ContentType, c.Parsed.SSID, c.Parsed.Security, c.ErrorCorrection)
	}
	for _, f := range report.Findings {
		fmt.Println(f.Severity, f.Title)
	}
	// Output:
	// wifi Guests WPA M
	// info Wi-Fi password can be read by anyone who sees the code
}
