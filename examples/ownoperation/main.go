// Command ownoperation adds a custom check to the API: whether all mail of a domain goes to one provider.
//
//	go run ./examples/ownoperation     serves on 127.0.0.1:8088, and prints a command that calls the check
//
// A check is a function, a request, a report and a table of rules; one row makes it an operation. From there it has
// what ours have: the path, strict decoding by the tags of the request, a price, a scope, idempotency keys, one form of
// errors, and its place in the OpenAPI document. So that it also has pages, watches and tools for agents, give the same
// rows to packages pages and watch; packages dashboard and agent find them in the API.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/rule"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/metering"
	"github.com/diagkit/diagkit/metering/memory"
	"github.com/miekg/dns"
)

// operations are the custom ones. The scope is one that keys can have.
var operations = []httpapi.Endpoint{{
	Method: "POST", Path: "/acme/mail-hosts", Scope: metering.MailRead, Credits: 3,
	Purpose: "mail hosts outside of a provider", Operation: httpapi.Call(check),
}}

// A request is the JSON body. Its tags say what is refused before check is called.
type request struct {
	Domain   diag.Domain `json:"domain" doc:"domain whose mail hosts are examined" example:"good.example"`
	Provider diag.Domain `json:"provider" doc:"domain under which all mail hosts must be" example:"good.example"`
	Max      int         `json:"max_hosts,omitempty" doc:"how many mail hosts there may be" min:"1" max:"20"`
}

// A report is the JSON reply. The verdict is its headline, state and findings.
type report struct {
	diag.Verdict
	Domain diag.Domain `json:"domain" doc:"domain that was examined"`
	Hosts  []string    `json:"hosts" doc:"its mail hosts, by preference"`
}

// Rules lets documents and explanations know the rules.
func (*report) Rules() []rule.Description { return rules.Describe() }

// evidence is the input of the rules.
type evidence struct {
	request
	hosts, foreign []string
}

var rules = rule.Rules[*evidence]{{
	Code: "acme.mail_hosts.missing", Severity: diag.Error, Title: "No MX records",
	Requirement: "The domain has MX records", Advice: "Publish the MX records of the provider.",
	Fails: func(e *evidence) rule.Failures { return rule.FailIf(len(e.hosts) == 0, "%s has none.", e.Domain) },
}, {
	Code: "acme.mail_hosts.foreign", Severity: diag.Error, Title: "Mail goes to a foreign host",
	Requirement: "All mail hosts are the provider's", Advice: "Remove the MX records of other hosts.",
	DependsOn: []diag.Code{"acme.mail_hosts.missing"},
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(len(e.foreign) > 0, "%s: not below %s.", strings.Join(e.foreign, ", "), e.Provider)
	},
}, {
	Code: "acme.mail_hosts.many", Severity: diag.Warning, Title: "Too many mail hosts",
	Requirement: "There are no more mail hosts than wanted", Advice: "Remove MX records that are not needed.",
	Fails: func(e *evidence) rule.Failures {
		return rule.FailIf(e.Max > 0 && len(e.hosts) > e.Max, "There are %d.", len(e.hosts))
	},
}}

// check queries the DNS through env, which tests replace, and applies the rules to the result.
func check(ctx context.Context, env *diag.Env, r request) (*report, error) {
	mx := diag.Lookup[*dns.MX](ctx, env, r.Domain.FQDN())
	if err := mx.Err(); err != nil {
		return nil, diag.Unavailable(diag.DefaultResolver, err) // nothing is known, and nothing is charged
	}
	e := &evidence{request: r, hosts: []string{}}
	for _, record := range mx.Records {
		host := strings.TrimSuffix(record.Mx, ".")
		if e.hosts = append(e.hosts, host); !dns.IsSubDomain(r.Provider.FQDN(), record.Mx) {
			e.foreign = append(e.foreign, host)
		}
	}
	texts := rule.Texts{"valid": {Headline: "All mail goes to " + r.Provider.String()}}
	return &report{rules.Judge(e, texts), r.Domain, e.hosts}, nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	api, key, err := newAPI(ctx, nil, memory.New(memory.Config{}), metering.MailRead)
	if err != nil {
		log.Fatal(err)
	}
	const listen = "127.0.0.1:8088"
	curl, err := operations[0].Curl(operations[0].Example())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("export DIAG_SERVER=http://%s DIAG_KEY=%s\n%s\n", listen, key.Reveal(), curl)
	server := &http.Server{Addr: listen, Handler: api, ReadHeaderTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { server.Close() })
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
}

// newAPI serves on a store, for which it makes a customer with a key. A nil env is the real world.
func newAPI(
	ctx context.Context, env *diag.Env, store metering.Store, scope metering.Scope,
) (*httpapi.API, metering.Secret, error) {
	gate, err := metering.NewGate(ctx, metering.GateConfig{Store: store})
	if err != nil {
		return nil, metering.Secret{}, err
	}
	admin := metering.Admin{Store: store}
	account, err := admin.CreateAccount(ctx, "customer", "free")
	if err != nil {
		return nil, metering.Secret{}, err
	}
	_, key, err := admin.CreateKey(ctx, metering.KeyRequest{
		Account: account.ID, Name: "first", Scopes: []metering.Scope{scope},
	})
	return httpapi.New(httpapi.Config{Gate: gate, Env: env, Endpoints: operations}), key, err
}
