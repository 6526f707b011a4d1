package httpapi

// unbuilt are the rows of the contract that the table does not have yet. The list only shrinks.
var unbuilt = []string{
	"POST /public/v1/url/check",
	"POST /public/v1/page/crawl-check",
	"POST /public/v1/phishing/check",
	"POST /public/v1/http/headers-check",
	"POST /public/v1/http/hsts-check",
	"POST /public/v1/certificates/ssl/check",
	"POST /public/v1/certificates/csr/parse",
	"POST /public/v1/http/qr/decode",
}
