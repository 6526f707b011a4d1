package internet

import (
	_ "embed"
	"net/http"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/bimi/markcert/markcerttest"
)

// brands are the hosts with the logos of domains.
const (
	goodBrand   = "brand.good.example"
	sketchBrand = "brand.sketch.example"
)

// sketch is a logo as a drawing program exports it, with a script and without what SVG Tiny PS asks for.
const sketch = `<svg xmlns="http://www.w3.org/2000/svg" version="1.1" viewBox="0 0 64 32">
<script>alert(1)</script>
<rect width="64" height="32" fill="#ff5f0b"/>
</svg>
`

// exported is a logo as another one exports it, with a raster image, CSS and a position.
//
//go:embed exported.svg
var exported string

// authority issues mark certificates. This Internet trusts it.
var authority = markcerttest.New()

// serveBrands publishes logos, and the certificate of the good one, which was issued a month ago.
func serveBrands(world *diagtest.World) {
	certificate := authority.Issue(markcerttest.Mark{
		Domains: []string{"good.example"}, NotBefore: world.Now().AddDate(0, -1, 0), NotAfter: world.Now().AddDate(0, 11, 0),
	})
	mux := http.NewServeMux()
	mux.Handle("/logo.svg", file("image/svg+xml", markcerttest.Logo))
	mux.Handle("/exported.svg", file("image/svg+xml", exported))
	mux.Handle("/mark.pem", file("application/pem-certificate-chain", certificate))
	past := authority.Issue(markcerttest.Mark{
		Domains: []string{"good.example"}, NotBefore: world.Now().AddDate(-1, -1, 0), NotAfter: world.Now().AddDate(0, -1, 0),
	})
	mux.Handle("/past.pem", file("application/pem-certificate-chain", past))
	world.HTTPS(goodBrand, mux)
	world.HTTPS(sketchBrand, file("image/svg+xml", sketch))
}
