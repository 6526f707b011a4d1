package qr_test

import (
	"fmt"

	"github.com/diagkit/diagkit/webcheck/qr"
)

func ExampleEncode() {
	img, err := qr.Encode(qr.Request{Data: "https://example.com/", ErrorCorrection: qr.High})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(img.MediaType(), "version", img.Version)

	_, err = qr.Encode(qr.Request{Data: "https://example.com/", Size: 20})
	fmt.Println(err)
	// Output:
	// image/png version 3
	// size: must be from 64 to 4096
}
