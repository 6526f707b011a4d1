package registry

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseCard(t *testing.T) {
	const name = `["version", {}, "text", "4.0"], ["fn", {}, "text", "Example"]`
	tests := []struct {
		name, text string
		want       card
	}{
		{"none", `{}`, card{}},
		{"name", `{"vcardArray": ["vcard", [` + name + `]]}`, card{name: "Example"}},
		{"no vcard", `{"vcardArray": ["card", [` + name + `]]}`, card{faults: 1}},
		{"no properties", `{"vcardArray": ["vcard", {}]}`, card{faults: 1}},
		{"nothing", `{"vcardArray": []}`, card{faults: 1}},
		{"bad properties", `{"vcardArray": ["vcard", [7, [], ["fn"], [7, {}, "text", "x"],
			["fn", 7, "text", "x"], ` + name + `]]}`,
			card{name: "Example", faults: 5}},
		{"structured", `{"vcardArray": ["vcard", [["org", {}, "text", ["Example", "Sales"]],
			["kind", {}, "text", "ORG"]]]}`,
			card{organization: "Example, Sales", kind: "org"}},
		{"addresses", `{"vcardArray": ["vcard", [["email", {}, "text", "a@example.com"],
			["email", {}, "text", "A@example.com"],
			["email", {}, "text", "no address"], ["contact-uri", {}, "uri", "mailto:b@example.com"],
			["contact-uri", {}, "uri", "https://example.com/form"], ["url", {}, "uri", "https://example.com/"]]]}`,
			card{emails: []string{"a@example.com", "b@example.com"}, url: "https://example.com/"}},
		{"telephones", `{"vcardArray": ["vcard", [["tel", {"type": "voice"}, "uri", "tel:+1.5555550100;ext=7"],
			["tel", {"type": ["work", "fax"]}, "text", "+1.5555550101"], ["tel", {}, "text", "+1.5555550102"],
			["tel", {}, "uri", "tel:+7"]]]}`,
			card{phones: []string{"+1.5555550100 ext. 7", "+1.5555550102"}}},
		{"country", `{"vcardArray": ["vcard", [["adr", {}, "text", ["", "", "", "", "", "", "France"]]]]}`,
			card{country: "France"}},
		{"country code", `{"vcardArray": ["vcard", [["adr", {"cc": "FR"}, "text", ["", "", "", "", "", "", "France"]]]]}`,
			card{country: "FR"}},
		{"label", `{"vcardArray": ["vcard", [["adr", {"label": "Street\nTown\nFrance"}, "text",
			["", "", "", "", "", "", ""]]]]}`,
			card{country: "France"}},
		{"redacted", `{"vcardArray": ["vcard", [["fn", {}, "text", "REDACTED FOR PRIVACY"], ["tel", {}, "text", "Redacted"],
			["email", {}, "text", "Please query the RDDS service"], ["adr", {"cc": "redacted"}, "text", []]]]}`,
			card{redacted: true}},
		{"one line", `{"vcardArray": ["vcard", [["fn", {}, "text", " Ex\n\u0000ample\u2028 "]]]}`, card{name: "Ex ample"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n, err := parseJSON([]byte(tt.text))
			require.NoError(t, err)
			require.Equal(t, tt.want, parseCard(n.get("vcardArray")))
		})
	}
}

// Malformed answers are read as far as possible.
func TestTolerance(t *testing.T) {
	o, err := parseObject([]byte(`{
		"objectClassName": "DOMAIN", "ldhName": "Example.COM.", "status": "active", "handle": 7, "links": {"rel": "RELATED",
			"href": "https://rdap.example.net/domain/example.com"},
		"events": [{"eventAction": "Registration", "eventDate": "2020-01-02T03:04:05.678+0200"},
			{"eventAction": "registration", "eventDate": "2021-01-01"},
			{"eventAction": "expiration", "eventDate": "soon"}, 7],
		"entities": {"roles": "Registrar", "handle": 42, "vcardArray": "vcard",
			"publicIds": {"type": "IANA", "identifier": 42}},
		"nameservers": [{"unicodeName": "ns.bücher.example"}, {"ldhName": "-"}, "ns.example.com"],
		"secureDNS": {"delegationSigned": "true", "dsData": [
			{"keyTag": "1", "algorithm": "8", "digestType": 2, "digest": "AB"}, {"keyTag": 1}]},
		"redacted": [7, {"name": {"type": "Tech Name"}}, {"prePath": "$.entities[?(@.roles[0]=='billing')]"}]}`))
	require.NoError(t, err)
	require.Equal(t, "domain", o.class)
	require.Equal(t, "example.com", o.name)
	require.Equal(t, "7", o.handle)
	require.Equal(t, []string{"active"}, o.statuses)
	require.Equal(t, "https://rdap.example.net/domain/example.com", o.related())
	require.Equal(t, "2020-01-02T01:04:05.678Z", o.event("registration").Format("2006-01-02T15:04:05.999Z"))
	require.Zero(t, o.event("expiration"))
	require.Equal(t, []string{"technical", "billing"}, o.redacted)
	require.Equal(t, []DS{{1, 8, 2, "ab"}}, o.ds)
	require.True(t, o.signed && o.signedKnown)
	require.Len(t, o.nameservers, 1)
	require.Equal(t, "ns.xn--bcher-kva.example", o.nameservers[0].Name)
	f := factsOfObject(o)
	require.Equal(t, Registrar{Name: "42", IANAID: "42"}, f.registrar)
	require.Equal(t, []Contact{{Role: Tech, Redacted: true}, {Role: Billing, Redacted: true}}, f.contacts)
}

// A registrar is a company, whose data are not redacted even if it has a role that is.
func TestRedactedRoles(t *testing.T) {
	o, err := parseObject([]byte(`{"entities": [{"roles": ["registrar", "technical"]}, {"roles": ["technical"]},
		{"roles": ["administrative"]}], "redacted": [{"name": {"type": "Tech Email"}}]}`))
	require.NoError(t, err)
	for i, want := range []bool{false, true, false} {
		require.Equal(t, want, o.entities[i].redacted)
	}
}

// Lists without end, and entities within entities, are read up to a limit.
func TestLimits(t *testing.T) {
	deep := strings.Repeat(`{"roles": ["x"], "entities": [`, 20) + strings.Repeat(`]}`, 20)
	o, err := parseObject([]byte(`{"entities": [` + deep + `]}`))
	require.NoError(t, err)
	require.Len(t, o.entities, maxDepth)

	wide := strings.TrimSuffix(strings.Repeat(`{"roles": ["x"], "entities": [{}]},`, 1000), ",")
	hosts := ""
	for i := range 1000 {
		hosts += fmt.Sprintf(`{"ldhName": "ns%d.example.com"},`, i)
	}
	o, err = parseObject([]byte(`{"entities": [` + wide + `], "nameservers": [` + strings.TrimSuffix(hosts, ",") + `]}`))
	require.NoError(t, err)
	require.Len(t, o.entities, maxEntities)
	require.Len(t, o.nameservers, maxList)

	o, err = parseObject([]byte(`{"events": [` + strings.TrimSuffix(strings.Repeat("7,", 1000), ",") + `]}`))
	require.NoError(t, err)
	require.Empty(t, o.events)
}

func TestNoObject(t *testing.T) {
	for _, text := range []string{``, `null`, `[]`, `"x"`, `{`, `{"a": 1} {}`} {
		_, err := parseObject([]byte(text))
		require.Error(t, err, text)
	}
}

// The holder of a network is not the maintainer of its record.
func TestHolder(t *testing.T) {
	o, err := parseObject([]byte(`{"entities": [
		{"handle": "EX-MNT", "roles": ["registrant"]},
		{"handle": "EX1", "roles": ["registrant"], "vcardArray": ["vcard", [["fn", {}, "text", "Person"]]]},
		{"handle": "ORG-EX1-RIPE", "roles": ["registrant"],
			"vcardArray": ["vcard", [["fn", {}, "text", "Example"], ["kind", {}, "text", "org"]]]}]}`))
	require.NoError(t, err)
	require.Equal(t, Organization{Name: "Example", Handle: "ORG-EX1-RIPE"}, holder(o))
	o.entities = o.entities[:2]
	require.Equal(t, Organization{Name: "Person", Handle: "EX1"}, holder(o))
	o.entities = o.entities[:1]
	require.Equal(t, Organization{Name: "EX-MNT", Handle: "EX-MNT"}, holder(o))
	o.entities = nil
	require.Zero(t, holder(o))
}
