package dkim_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/diagkit/diagkit/mailauth/message"
)

// The message of RFC 8463 appendix A, to which a mailing list has added a footer.
func ExampleVerify() {
	world, err := diagtest.New(diagtest.Config{Zone: `
		brisbane._domainkey.football.example.com. 300 IN TXT "v=DKIM1; k=ed25519; p=11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="`})
	if err != nil {
		panic(err)
	}
	defer world.Close()
	file := strings.NewReader(`DKIM-Signature: v=1; a=ed25519-sha256; c=relaxed/relaxed;
 d=football.example.com; i=@football.example.com;
 q=dns/txt; s=brisbane; t=1528637909; h=from : to :
 subject : date : message-id : from : subject : date;
 bh=2jUSOH9NhtVGCQWNr9BrIAPreKQjO6Sn7XIkfJVOzv8=;
 b=/gCrinpcQOoIfuHNQIbq4pgh9kyIK3AQUdt9OdqQehSwhEIug4D11Bus
 Fa3bT3FY5OsU7ZbnKELq+eXdp1Q1Dw==
From: Joe SixPack <joe@football.example.com>
To: Suzie Q <suzie@shopping.example.net>
Subject: Is dinner ready?
Date: Fri, 11 Jul 2003 21:00:37 -0700 (PDT)
Message-ID: <20030712040037.46341.5F8J@football.example.com>

Hi.

We lost the game.  Are you hungry yet?

Joe.
--
To unsubscribe, write to list-leave@lists.example.net.
`)
	text, err := message.Read(file)
	if err != nil {
		panic(err)
	}
	v, err := dkim.Verify(context.Background(), world.Env(), text, dkim.Options{})
	if err != nil {
		panic(err)
	}
	for _, r := range v.Signatures {
		fmt.Println(r.Domain, r.Selector, r.Result, r.Cause)
		fmt.Println(r.Reason)
		fmt.Println("body:", *r.BodyHashOK, "header:", *r.SignatureOK)
		for _, f := range r.Fields {
			fmt.Println(f.Name, f.Signed, "signed, oversigned:", f.Oversigned)
		}
	}
	// Output:
	// football.example.com brisbane fail footer_added
	// A footer of 60 bytes was added to the body after signing: without it the body is as signed.
	// body: false header: true
	// from 1 signed, oversigned: true
	// to 1 signed, oversigned: false
	// subject 1 signed, oversigned: true
	// date 1 signed, oversigned: true
	// message-id 1 signed, oversigned: false
}
