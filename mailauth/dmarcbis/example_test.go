package dmarcbis_test

import (
	"context"
	"fmt"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/dmarcbis"
)

func ExampleCheck() {
	world, err := diagtest.New(diagtest.Config{Zone: `
		_dmarc.example.com.   TXT "v=DMARC1; p=reject; pct=20; rua=mailto:dmarc@example.com"
		news.example.com.     A   192.0.2.1
	`})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer world.Close()

	// With nil instead of world.Env(), it queries the real Internet.
	report, err := dmarcbis.Check(context.Background(), world.Env(), dmarcbis.CheckRequest{
		Domain: diag.MustDomain("news.example.com"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Headline)
	for _, s := range report.TreeWalk {
		fmt.Printf("%d %s: %s\n", s.Step, s.RecordName, s.Outcome)
	}
	fmt.Println("organizational domain:", report.OrganizationalDomain)
	for _, o := range report.ObsoleteTags {
		fmt.Printf("%s=%s: %s\n", o.Tag, o.Value, o.Effect)
	}
	// Output:
	// pct is obsolete: RFC 9989 applies the DMARC policy to all mail
	// 1 _dmarc.news.example.com: no_record
	// 2 _dmarc.example.com: record
	// 3 _dmarc.com: no_record
	// organizational domain: example.com
	// pct=20: Receivers of RFC 9989 ignore it and apply the policy to all mail instead of 20 percent. Nothing says the same; the lower policy is what held for the rest.
}

func ExampleMigrate() {
	report, err := dmarcbis.Migrate(dmarcbis.MigrateRequest{
		Record: "v=DMARC1; p=quarantine; pct=0; ri=3600; rua=mailto:dmarc@example.com!10m",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Migrated)
	fmt.Println("change:", report.BehaviorChange)
	for _, c := range report.Changes {
		if c.Action != dmarcbis.Keep {
			fmt.Printf("%s %s: %s\n", c.Action, c.Tag, c.Reason)
		}
	}
	// Output:
	// v=DMARC1; p=none; rua=mailto:dmarc@example.com
	// change: none
	// replace p: With pct=0 the policy held for 0 percent of the mail, and this one for the rest. Receivers of both standards apply it to all, so that no message is treated worse.
	// remove pct: RFC 9989 has no pct, and nothing else by which a policy holds for a share of the mail.
	// remove ri: RFC 9989 has no ri: aggregate reports are sent daily.
	// replace rua: RFC 9989 has no size limits, and reporters ignore them.
}
