package policy_test

import (
	"fmt"

	"github.com/diagkit/diagkit/mailauth/dmarc/policy"
)

func ExampleParse() {
	r := policy.Parse("v=DMARC1; p=reject; sp=quarantine; t=y; rua=mailto:dmarc@example.com; adkim=strict")
	fmt.Println(r.Policy, r.SubdomainPolicy, r.AggregateURIs[0].Address, r.DKIMAlignment)
	for _, fault := range r.List.Faults {
		fmt.Printf("%d: %s\n", fault.Offset, fault.Text)
	}
	reading := r.Reading(policy.RFC9989)
	fmt.Println(reading.Requested, reading.Applied)
	// Output:
	// reject quarantine dmarc@example.com relaxed
	// 76: the value "strict" of adkim is not r or s; "s" is probably meant
	// {reject quarantine quarantine} {quarantine none none}
}

func ExampleRecord_Reading() {
	r := policy.Parse("v=DMARC1; p=rejct; rua=mailto:dmarc@example.com")
	reading := r.Reading(policy.RFC9989)
	fmt.Println(reading.Applied.Domain, "because", reading.Reason)
	r = policy.Parse("v=DMARC1; p=rejct")
	reading = r.Reading(policy.RFC9989)
	fmt.Println(reading.Usable, "because", reading.Reason)
	// Output:
	// none because the value of p is not a policy
	// false because the value of p is not a policy, and there is no valid rua
}
