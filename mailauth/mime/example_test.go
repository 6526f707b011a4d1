package mime_test

import (
	"fmt"

	"github.com/diagkit/diagkit/mailauth/mime"
)

func ExampleParts() {
	message := "Content-Type: multipart/mixed; boundary=b\n\n" +
		"--b\nContent-Type: text/plain\n\nFor people.\n" +
		"--b\nContent-Type: application/json; name=report.json\nContent-Transfer-Encoding: base64\n\ne30=\n--b--\n"
	for _, p := range mime.Parts([]byte(message)) {
		fmt.Println(p.Type, p.Name, string(p.Body()))
	}
	// Output:
	// text/plain  For people.
	// application/json report.json {}
}
