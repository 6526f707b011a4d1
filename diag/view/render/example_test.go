package render_test

import (
	"fmt"
	"os"

	"github.com/diagkit/diagkit/diag/idn"
	"github.com/diagkit/diagkit/diag/view/render"
)

// Every report has a view, and each function of this package writes it in one format.
func ExampleText() {
	report, err := idn.Convert(idn.Request{Domain: "bücher.example"})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := render.Text(os.Stdout, report.View(), render.Options{Width: 80}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// ✔ bücher.example
	//   xn--bcher-kva.example
	//
	//   ascii    xn--bcher-kva.example
	//   unicode  bücher.example
	//   length   21 of 253 bytes
	//
	// Labels
	//   ascii          unicode  scripts
	//   xn--bcher-kva  bücher   Latin
	//   example        example  Latin
}
