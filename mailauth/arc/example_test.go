package arc_test

import (
	"context"
	"fmt"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/diagkit/diagkit/mailauth/arc"
	"github.com/diagkit/diagkit/mailauth/dkim"
	"github.com/diagkit/diagkit/mailauth/message"
)

const sealed = `ARC-Seal: i=3; a=rsa-sha256; cv=pass; d=relay3.example.net; s=arc; b=QUFB
ARC-Message-Signature: i=3; a=rsa-sha256; d=relay3.example.net; s=arc; h=from; bh=QUFB; b=QUFB
ARC-Authentication-Results: i=3; relay3.example.net; arc=pass
ARC-Seal: i=1; a=rsa-sha256; cv=none; d=relay1.example.net; s=arc; b=QUFB
ARC-Message-Signature: i=1; a=rsa-sha256; d=relay1.example.net; s=arc; h=from; bh=QUFB; b=QUFB
ARC-Authentication-Results: i=1; relay1.example.net; spf=pass smtp.mailfrom=example.org
From: alice@example.org

`

func ExampleParse() {
	chain := arc.Parse(message.Split([]byte(sealed)).Fields)
	for _, set := range chain.Sets {
		fmt.Println(set.Instance, set.Domain, set.State)
	}
	for _, fault := range chain.Faults {
		fmt.Println(fault.Text)
	}
	// Output:
	// 1 relay1.example.net none
	// 3 relay3.example.net pass
	// The set i=2 is missing: the chain goes up to i=3.
}

func ExampleVerify() {
	world, err := diagtest.New(diagtest.Config{Zone: `arc._domainkey.lists.example.net. 300 IN TXT "v=DKIM1; p="`})
	if err != nil {
		panic(err)
	}
	defer world.Close()
	message := `ARC-Seal: i=1; a=rsa-sha256; cv=none; d=lists.example.net; s=arc; b=QUFB
ARC-Message-Signature: i=1; a=rsa-sha256; d=lists.example.net; s=arc; h=from; bh=QUFB; b=QUFB
ARC-Authentication-Results: i=1; lists.example.net; dkim=pass header.d=example.org
From: alice@example.org

`
	r, err := arc.Verify(context.Background(), world.Env(), []byte(message), dkim.Options{HeaderOnly: true})
	if err != nil {
		panic(err)
	}
	fmt.Println(r.Result)
	fmt.Println(r.Reason)
	// Output:
	// fail
	// The message signature i=1 of lists.example.net is not valid: The key at arc._domainkey.lists.example.net has been revoked: the value of p= is empty.
}
