// Command textutil is the smallest program that calls the package.
package main

import (
	"fmt"

	"github.com/diagkit/diagkit/textutil"
)

func main() {
	r, err := textutil.Slug(textutil.SlugRequest{})
	fmt.Println(r, err)
}
