package internet

import (
	"crypto/tls"
	"io"
	"net/http"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
)

// serveHarbour opens the web shop and the mail server of a company that looked after neither: the shop still speaks
// TLS 1.0, its certificate ends in five days, visitors stay on http, and its login can be overheard. The certificate
// of the mail server was forgotten.
func serveHarbour(world *diagtest.World) {
	const shop = "harbour.example"
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Set-Cookie", "sessionid=5e0c; Path=/")
		io.WriteString(w, `<!doctype html><title>Harbour Coffee</title><h1>Fresh from the roaster</h1>`)
	})
	world.HTTP(shop, handler)
	cert := world.Certificate(diagtest.CertSpec{
		Names: []string{shop, "www." + shop}, NotBefore: world.Now().AddDate(0, 0, -85),
		NotAfter: world.Now().AddDate(0, 0, 5).Add(6 * time.Hour),
	})
	world.Site(diagtest.Site{Host: shop, Handler: handler, TLS: &tls.Config{
		Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS12, Time: world.Now,
	}})
	world.SMTP(diagtest.SMTP{
		Host: "mail." + shop, Cert: diagtest.CertExpired, Extensions: extensions(), Replies: closed(),
	})
}
