package aggregate

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math/rand/v2"
	"net/netip"
)

// The form of a report for encoding/xml, as programs that read reports by it declare it.
type xmlReport struct {
	XMLName  xml.Name `xml:"feedback"`
	Version  string   `xml:"version"`
	Metadata struct {
		Organization string   `xml:"org_name"`
		Email        string   `xml:"email"`
		Contact      string   `xml:"extra_contact_info"`
		ID           string   `xml:"report_id"`
		Begin        int64    `xml:"date_range>begin"`
		End          int64    `xml:"date_range>end"`
		Errors       []string `xml:"error"`
		Generator    string   `xml:"generator,omitempty"`
	} `xml:"report_metadata"`
	Policy struct {
		Domain    string `xml:"domain"`
		ADKIM     string `xml:"adkim"`
		ASPF      string `xml:"aspf"`
		P         string `xml:"p"`
		SP        string `xml:"sp"`
		NP        string `xml:"np,omitempty"`
		PCT       int    `xml:"pct"`
		FO        string `xml:"fo"`
		Testing   string `xml:"testing,omitempty"`
		Discovery string `xml:"discovery_method,omitempty"`
	} `xml:"policy_published"`
	Records []xmlRecord `xml:"record"`
}

type xmlRecord struct {
	Address     string      `xml:"row>source_ip"`
	Count       int64       `xml:"row>count"`
	Disposition string      `xml:"row>policy_evaluated>disposition"`
	DKIM        string      `xml:"row>policy_evaluated>dkim"`
	SPF         string      `xml:"row>policy_evaluated>spf"`
	Reasons     []xmlReason `xml:"row>policy_evaluated>reason"`

	EnvelopeTo   string `xml:"identifiers>envelope_to,omitempty"`
	EnvelopeFrom string `xml:"identifiers>envelope_from,omitempty"`
	HeaderFrom   string `xml:"identifiers>header_from"`

	AuthDKIM []xmlDKIM `xml:"auth_results>dkim"`
	AuthSPF  []xmlSPF  `xml:"auth_results>spf"`
}

type xmlReason struct {
	Type    string `xml:"type"`
	Comment string `xml:"comment"`
}

type xmlDKIM struct {
	Domain   string `xml:"domain"`
	Selector string `xml:"selector"`
	Result   string `xml:"result"`
	Human    string `xml:"human_result,omitempty"`
}

type xmlSPF struct {
	Domain string `xml:"domain"`
	Scope  string `xml:"scope"`
	Result string `xml:"result"`
}

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

// some returns text with what must be escaped in XML.
func some(r *rand.Rand) string {
	return pick(r, "", "arc=pass as.1.google.com", `"a" < b & 'c'`, "Straße ]]>", "local policy: list \u2013 members")
}

// newReport returns a report as a large receiver sends it: few domains and selectors, many addresses.
func newReport(r *rand.Rand, records int) *xmlReport {
	report := &xmlReport{Version: "1.0"}
	report.Metadata.Organization, report.Metadata.Email = "Receiver & Sons", "dmarc-noreply@receiver.example"
	report.Metadata.Contact, report.Metadata.ID = "https://receiver.example/dmarc", "20261031.example.com.1793404800"
	report.Metadata.Begin, report.Metadata.End = 1793404800, 1793491199
	report.Policy.Domain, report.Policy.P, report.Policy.SP, report.Policy.PCT = "example.com", "quarantine",
		"reject", 100
	report.Policy.ADKIM, report.Policy.ASPF, report.Policy.FO = "r", "s", "1:d:s"
	for range records {
		report.Records = append(report.Records, newRecord(r))
	}
	return report
}

func newRecord(r *rand.Rand) xmlRecord {
	address := netip.AddrFrom4([4]byte{byte(1 + r.IntN(222)), byte(r.Uint32()), byte(r.Uint32()), byte(r.Uint32())})
	if r.IntN(4) == 0 {
		address = netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 14: byte(r.Uint32()), 15: byte(r.Uint32())})
	}
	from := pick(r, "example.com", "news.example.com", "shop.example.com", "pay.example.com")
	x := xmlRecord{
		Address: address.String(), Count: int64(1 + r.IntN(1+r.IntN(2000))),
		Disposition: pick(r, "none", "quarantine", "reject"), DKIM: pick(r, "pass", "fail"), SPF: pick(r, "pass", "fail"),
		HeaderFrom: from, EnvelopeFrom: pick(r, from, "bounce."+from, "esp.example.net"),
	}
	if r.IntN(8) == 0 {
		x.Reasons = []xmlReason{{pick(r, "forwarded", "local_policy", "mailing_list"), some(r)}}
	}
	for range r.IntN(2) {
		x.AuthDKIM = append(x.AuthDKIM, xmlDKIM{pick(r, from, "esp.example.net"), pick(r, "s1", "s2", "2026a"),
			pick(r, "pass", "fail", "temperror"), pick(r, "", "", "body hash did not verify")})
	}
	x.AuthSPF = []xmlSPF{{x.EnvelopeFrom, pick(r, "mfrom", "helo"), pick(r, "pass", "softfail", "none")}}
	return x
}

func (report *xmlReport) encode(indent string) []byte {
	var b bytes.Buffer
	b.WriteString(xml.Header)
	e := xml.NewEncoder(&b)
	e.Indent("", indent)
	if err := e.Encode(report); err != nil {
		panic(fmt.Sprint("encoding a report of a test: ", err))
	}
	return b.Bytes()
}

// large returns the report that the benchmarks and the test of memory read: 14,200 records in 8.2 MB.
func large() []byte { return newReport(rand.New(rand.NewPCG(1, 2)), 14_200).encode(" ") }
