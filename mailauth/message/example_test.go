package message_test

import (
	"fmt"

	"github.com/diagkit/diagkit/mailauth/message"
)

func Example() {
	m := message.Split([]byte("Received: from mail.example.org\r\n\tby mx.example.com; Sun, 1 Nov 2026 09:00:04 +0000\r\n" +
		"From: =?utf-8?Q?J=C3=BCrgen?= <j@example.org>\r\nthis line was cut\r\n\r\nHello.\r\n"))
	for _, f := range m.Fields {
		fmt.Println(f.Line, f.Name)
	}
	fmt.Println("malformed:", message.Unfold(m.Malformed[0].Raw))
	from := message.ParseAddresses(m.Value("From"))[0]
	fmt.Println(from.Name, from.Domain)
	// Output:
	// 1 Received
	// 3 From
	// malformed: this line was cut
	// Jürgen example.org
}

func ExampleParts() {
	text := "Content-Type: multipart/mixed; boundary=b\n\n" +
		"--b\nContent-Type: text/plain\n\nFor people.\n" +
		"--b\nContent-Type: application/json; name=report.json\nContent-Transfer-Encoding: base64\n\ne30=\n--b--\n"
	for _, p := range message.Parts([]byte(text)) {
		fmt.Println(p.Type, p.Name, string(p.Body()))
	}
	// Output:
	// text/plain  For people.
	// application/json report.json {}
}
