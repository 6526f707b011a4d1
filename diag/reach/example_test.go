package reach_test

import (
	"context"
	"fmt"
	"time"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/diag/fetch"
	"github.com/diagkit/diagkit/diag/reach"
	"github.com/diagkit/diagkit/diag/rule"
)

// evidence is the evidence of a check of a web site.
type evidence struct {
	page *fetch.Result
	now  time.Time
}

func (e *evidence) seen() *reach.Observation { return reach.Observe(e.page, e.now) }

// Unanswered lists the sources without an answer, which leave open the rules that read them, shared and own.
func (e *evidence) Unanswered() []rule.Source { return e.seen().Unanswered() }

// site makes the rules about reaching the site; codes are those of the package.
var site = reach.Server[*evidence]{Name: "site", Observation: (*evidence).seen}

var (
	factorReach = rule.Category{Code: "reach", Label: "Reachability"}
	factorTrust = rule.Category{Code: "trust", Label: "Certificate"}
	factorTLS   = rule.Category{Code: "tls", Label: "TLS"}
)

var rules = site.Rules(
	rule.Rule[*evidence]{Fact: reach.NotLookedUp, Code: "site.lookup.unknown"},
	rule.Rule[*evidence]{Fact: reach.Silent, Code: "site.unknown"},
	rule.Rule[*evidence]{Fact: reach.NoName, Code: "site.nxdomain"},
	rule.Rule[*evidence]{Fact: reach.NoAddress, Code: "site.address", NoScore: true},
	rule.Rule[*evidence]{Fact: reach.NotPublic, Code: "site.blocked", NoScore: true},
	rule.Rule[*evidence]{Fact: reach.Refused, Code: "site.connection", Weight: 3, Category: factorReach},
	rule.Rule[*evidence]{Fact: reach.Handshake, Code: "site.handshake", Weight: 2, Category: factorReach},
	rule.Rule[*evidence]{Fact: reach.Expired, Code: "site.certificate.expired", Weight: 2, Category: factorTrust},
	rule.Rule[*evidence]{Fact: reach.NotYetValid, Code: "site.certificate.early", Weight: 2, Category: factorTrust},
	rule.Rule[*evidence]{Fact: reach.Untrusted, Code: "site.certificate.untrusted", Weight: 2, Category: factorTrust},
	rule.Rule[*evidence]{Fact: reach.OtherName, Code: "site.certificate.name", Weight: 2, Category: factorTrust},
	rule.Rule[*evidence]{Fact: reach.ExpiresNow, Code: "site.certificate.expires_now", Weight: 1, Category: factorTrust},
	rule.Rule[*evidence]{Fact: reach.Expiring, Code: "site.certificate.expiring", Weight: 1, Category: factorTrust},
	rule.Rule[*evidence]{Fact: reach.NotHTTP, Code: "site.protocol", Weight: 2, Category: factorReach},
	rule.Rule[*evidence]{Fact: reach.OldTLS, Code: "site.tls.version", Weight: 1, Category: factorTLS},
	rule.Rule[*evidence]{Fact: reach.BadLine, Code: "site.header.line"},
	rule.Rule[*evidence]{Fact: reach.LongRedirect, Code: "site.redirect.long"},
)

func ExampleServer() {
	world, err := diagtest.New(diagtest.Config{}) // nil instead of world.Env() is the real Internet
	if err != nil {
		fmt.Println(err)
		return
	}
	defer world.Close()
	world.Site(diagtest.Site{Host: "example.com", Cert: diagtest.CertSelfSigned})

	page, err := fetch.Do(context.Background(), world.Env(), fetch.Request{
		URL: diag.MustURL("https://example.com"), AllowUntrusted: true,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := fetch.Unavailable(page); err != nil { // our resolver is dead: nothing is known about the site
		fmt.Println(err)
		return
	}
	v := rules.Judge(&evidence{page, world.Now()}, rule.Texts{})
	for _, f := range v.Findings {
		fmt.Println(f.Severity, f.Code+":", f.Title)
		fmt.Println(f.Detail)
		fmt.Println(f.Advice)
	}
	fmt.Println(*v.Score)
	// Output:
	// critical site.certificate.untrusted: Certificate of the site is not trusted
	// Clients do not trust the certificate of example.com: the certificate is signed with its own key, not by a certificate authority.
	// Install a certificate from a public authority, together with its intermediate certificates.
	// 39
}
