package yaml_test

import (
	"errors"
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/textutil/internal/yaml"
)

func Example() {
	stream, err := yaml.Parse("# ports\nweb:   &p [80,  0x1BB] # both\nalso: *p\n", 100)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := stream.Check(); err != nil {
		fmt.Println(err)
		return
	}
	key := stream.Documents[0].Root.First()
	for port := key.Next().First(); port != nil; port = port.Next() {
		t, text, _ := stream.Resolve(port)
		fmt.Println(t == yaml.Int, text)
	}
	text, _ := stream.Format(yaml.Layout{Indent: 2, SortKeys: false, Limit: 1000})
	fmt.Print(text)
	// Output:
	// true 80
	// true 443
	// # ports
	// web: &p [80, 0x1BB] # both
	// also: *p
}

func ExampleParse_invalid() {
	text := "a: 1\nb: [1, 2\nc: 3\n"
	_, err := yaml.Parse(text, 100)
	if wrong, ok := errors.AsType[*yaml.SyntaxError](err); ok {
		fmt.Println("line", 1+strings.Count(text[:wrong.Offset], "\n"), wrong.Message)
	}
	// Output:
	// line 3 '[' of line 2, column 4 is still open; write ']' where it ends, or indent this line by more than 0
}
