package httpapi

import (
	"net/http"
	"reflect"
	"strings"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/idn"
	"github.com/diagkit/diagkit/diag/netmask"
	"github.com/diagkit/diagkit/diag/resolve"
	"github.com/diagkit/diagkit/mailauth/mtasts"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/textutil"
	"github.com/diagkit/diagkit/webcheck/qr"
)

// Prefix stands before the path of every endpoint.
const Prefix = "/public/v1"

// The scopes, by the names that the table uses.
const (
	dnsRead  = metering.DNSRead
	mailRead = metering.MailRead
	webRead  = metering.WebRead
)

// endpoints is the whole public surface: one line each. Server, command line, OpenAPI document and
// price list are made from it, and from nothing else.
var endpoints = []Endpoint{
	// method, path under Prefix, scope, credits, purpose, function
	{"POST", "/resolve", dnsRead, 1, "standard DNS resolution", call(resolve.Lookup)},
	{"POST", "/ip/nslookup", dnsRead, 1, "reverse DNS (PTR) lookup", call(resolve.Reverse)},
	{"POST", "/ip/netmask", dnsRead, 1, "IPv4 netmask calculator", pure(netmask.Compute)},
	{"POST", "/dns/idn", dnsRead, 1, "convert a domain name between Unicode and ASCII (Punycode)", pure(idn.Convert)},
	{"POST", "/text/lower", dnsRead, 1, "text utility", pure(textutil.Lower).upTo(textBody)},
	{"POST", "/text/upper", dnsRead, 1, "text utility", pure(textutil.Upper).upTo(textBody)},
	{"POST", "/mta-sts/lookup", mailRead, 2, "MTA-STS policy lookup", call(mtasts.Lookup)},
	{"POST", "/http/qr", webRead, 2, "generate a QR code; success body is image bytes; image never stored", image(qr.Encode, "image/png", "image/svg+xml", "image/jpeg")},
}

// An Endpoint is one operation of the public API.
type Endpoint struct {
	Method  string
	Path    string // under Prefix
	Scope   metering.Scope
	Credits int64
	Purpose string
	op      operation
}

// Endpoints lists the table. The caller owns the list.
func Endpoints() []Endpoint { return append([]Endpoint(nil), endpoints...) }

// Name is the path without its first slash, such as "mta-sts/lookup".
func (ep Endpoint) Name() string { return strings.TrimPrefix(ep.Path, "/") }

// ID is the method and the whole path, as the ledger and the metrics name the endpoint.
func (ep Endpoint) ID() string { return ep.Method + " " + Prefix + ep.Path }

// HasBody reports whether a request carries its fields in a JSON body.
func (ep Endpoint) HasBody() bool { return ep.Method == http.MethodPost }

// Rules describes the rules by which the endpoint's reports are judged, if there are any.
func (ep Endpoint) Rules() []diag.RuleInfo {
	if ep.op.report == nil {
		return nil
	}
	if judged, ok := reflect.New(ep.op.report).Interface().(interface{ Rules() []diag.RuleInfo }); ok {
		return judged.Rules()
	}
	return nil
}
