package svg_test

import (
	"fmt"

	"github.com/diagkit/diagkit/mailauth/bimi/svg"
)

func ExampleValidate() {
	d := svg.Validate([]byte(`<svg xmlns="http://www.w3.org/2000/svg" version="1.2" baseProfile="tiny-ps" viewBox="0 0 64 64">
	<title>Example</title>
	<rect width="64" height="64" style="fill:#0b5fff" onclick="alert(1)"/>
</svg>`))
	fmt.Println(d.Title, d.Compliant(), d.Forbidden())
	for _, f := range d.Faults {
		fmt.Printf("%d:%d: %s (%s): %s\n", f.Line, f.Column, f.Kind, f.Severity(), f.Message)
	}
	// Output:
	// Example false [event_handler stylesheet]
	// 3:31: stylesheet (error): The attribute style is not allowed on rect.
	// 3:52: event_handler (critical): The attribute onclick of rect runs a script.
}
