package aggregate_test

import (
	"fmt"
	"log"

	"github.com/diagkit/diagkit/mailauth/dmarc/aggregate"
)

// The callback gets the records of a report one by one; the caller decides what to keep.
func ExampleRead() {
	file := []byte(`<?xml version="1.0"?>
<feedback>
  <report_metadata>
    <org_name>receiver.example</org_name><email>dmarc@receiver.example</email><report_id>1</report_id>
    <date_range><begin>1793404800</begin><end>1793491199</end></date_range>
  </report_metadata>
  <policy_published><domain>example.com</domain><p>none</p></policy_published>
  <record>
    <row>
      <source_ip>192.0.2.25</source_ip><count>600</count>
      <policy_evaluated><disposition>none</disposition><dkim>pass</dkim><spf>pass</spf></policy_evaluated>
    </row>
    <identifiers><header_from>example.com</header_from></identifiers>
  </record>
  <record>
    <row>
      <source_ip>203.0.113.200</source_ip><count>many</count>
      <policy_evaluated><disposition>none</disposition><dkim>fail</dkim><spf>fail</spf></policy_evaluated>
    </row>
    <identifiers><header_from>example.com</header_from></identifiers>
  </record>
</feedback>`)
	found, err := aggregate.Read(file, func(r *aggregate.Record) error {
		fmt.Println(r.SourceIP, r.Count, r.DKIM, r.SPF)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, report := range found.Reports {
		fmt.Println(report.Metadata.Organization, "on", report.Policy.Domain)
		for _, fault := range report.Faults {
			fmt.Println(fault.Kind, fault.Element, "in line", fault.Places[0].Line, "is", fault.Places[0].Value)
		}
	}
	// Output:
	// 192.0.2.25 600 pass pass
	// receiver.example on example.com
	// bad_count row/count in line 17 is many
}
