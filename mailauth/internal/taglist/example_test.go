package taglist_test

import (
	"fmt"

	"github.com/diagkit/diagkit/mailauth/internal/taglist"
)

func ExampleFormat_Read() {
	format := taglist.Format{
		Protocol: "DMARC", Version: "DMARC1", Readers: "Receivers", FoldNames: true,
		Tags: []taglist.Definition{{Name: "v"}, {Name: "p"}, {Name: "rua"}, {Name: "adkim", Default: "r"}},
	}
	found := format.Read(`v=DMARC1; p=reject rua=mailto:dmarc@example.com; p=none`)
	for _, tag := range found.List.Tags {
		fmt.Printf("%3d %s = %s\n", tag.Offset, tag.Name, tag.Value)
	}
	for _, fault := range found.List.Faults {
		fmt.Printf("%3d %s: %s\n", fault.Offset, fault.Kind, fault.Text)
	}
	fmt.Println(format.Read("DMARC1; p=reject").Strays[0].Why)
	// Output:
	//   0 v = DMARC1
	//  10 p = reject rua=mailto:dmarc@example.com
	//  49 p = none
	//  19 semicolon: there is no semicolon between p and rua
	//  49 repeated: the tag p appears again
	// v= is missing before DMARC1
}
