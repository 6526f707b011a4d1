package zonecheck

import (
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag/kit"
	"github.com/stretchr/testify/require"
)

// caaCases are CAA records, the finding, the beginning of its text, and the suggestion.
var caaCases = []struct {
	name, records, want, detail, suggests string
}{
	{"none", ``, "", "", ""},
	{"usual", `0 issue "letsencrypt.org"; 0 issuewild ";"; 0 iodef "mailto:security@example.com"`, "", "", ""},
	{"all that is registered", `0 ISSUE "ca.example.net"; 0 issuemail "ca.example.net"; 0 issuevmc "ca.example.net"; ` +
		`0 contactemail "a@example.com"; 0 contactphone "+1 555"; 128 issuewild "ca.example.net"`, "", "", ""},
	{"parameters",
		`0 issue "letsencrypt.org; validationmethods=dns-01; accounturi=https://ca.example.net/1"`, "", "", ""},
	{"nobody", `0 issue ";"`, "", "", ""},
	{"nobody, without a semicolon", `0 issue ""`, "", "", ""},

	{"misspelt issue", `0 isue "letsencrypt.org"`, "caa.tag", `The CAA record 0 isue "letsencrypt.org" of ` +
		`example.com has the ` +
		`tag isue, which no authority knows, in place of issue: it is ignored, and any authority may issue ` +
		`certificates`, ""},
	{"misspelt issue, swapped letters", `0 isseu "letsencrypt.org"`, "caa.tag", "", ""},
	{"misspelt issue, one letter more", `0 issuer "letsencrypt.org"`, "caa.tag", "", ""},
	{"misspelt issue beside another", `0 isue "letsencrypt.org"; 0 issue "digicert.com"`, "caa.tag",
		`The CAA record 0 isue "letsencrypt.org" of example.com has the tag isue, which no authority knows, in place ` +
			`of issue: ` +
			`it is ignored, and authorizes nobody.`, ""},
	{"misspelt issuewild", `0 issue "letsencrypt.org"; 0 issue-wild ";"`, "caa.tag",
		`The CAA record 0 issue-wild ";" of example.com has the tag issue-wild, which no authority knows, in place of ` +
			`issuewild: ` +
			`it is ignored, and the property issue decides`, ""},
	{"misspelt issuewild alone", `0 issuewildcard ";"`, "caa.tag", "", ""},
	{"misspelt issuemail", `0 issue "letsencrypt.org"; 0 isuemail ";"`, "caa.tag", "", ""},
	{"misspelt iodef", `0 issue "letsencrypt.org"; 0 iodeff "mailto:security@example.com"`, "caa.tag",
		`The CAA record 0 iodeff "mailto:security@example.com" of example.com has the tag iodeff`,
		`0 issue "letsencrypt.org"; 0 iodef "mailto:security@example.com"`},
	{"misspelt and critical", `128 isue "letsencrypt.org"`, "caa",
		`The CAA record 128 isue "letsencrypt.org" of example.com is critical, and no authority knows the property ` +
			`isue, which ` +
			`probably means issue: no authority may issue`, `128 issue "letsencrypt.org"`},
	{"unknown and critical", `128 tbs "x"`, "caa", "", ""},
	{"unknown", `0 tbs "x"; 0 issue "letsencrypt.org"`, "caa.unknown", "", ""},

	{"issuer is a URL", `0 issue "https://letsencrypt.org"`, "caa.issuer",
		`The CAA record 0 issue "https://letsencrypt.org" of example.com authorizes nobody, since its value is a URL: ` +
			`no authority ` +
			`may issue certificates for the domain.`, `0 issue "letsencrypt.org"`},
	{"issuer is a URL, beside another", `0 issue "https://letsencrypt.org/"; 0 issue "digicert.com"`, "caa.issuer",
		`The CAA record 0 issue "https://letsencrypt.org/" of example.com authorizes nobody, since its value is a URL.`,
		`0 issue "letsencrypt.org"; 0 issue "digicert.com"`},
	{"issuer with a final dot", `0 issue "letsencrypt.org."`, "caa.issuer", "", `0 issue "letsencrypt.org"`},
	{"issuer with a path", `0 issuewild "www.letsencrypt.org/docs"`, "caa.issuer", "", `0 issuewild "letsencrypt.org"`},
	{"issuer in quotes", `0 issue "\"letsencrypt.org\""`, "caa.issuer", "", `0 issue "letsencrypt.org"`},
	{"issuer by the name of the authority", `0 issue "Let's Encrypt"`, "caa.issuer", "", ""},
	{"issuer without its top-level domain", `0 issue "letsencrypt"`, "caa.issuer", "", ""},
	{"issuer that nobody knows, as a URL", `0 issue "https://ca.example.net"`, "caa.issuer", "", ""},
	{"parameter without a value", `0 issue "letsencrypt.org; validationmethods"`, "caa.issuer",
		`The CAA record 0 issue "letsencrypt.org; validationmethods" of example.com authorizes nobody, since its ` +
			`value has the ` +
			`parameter validationmethods without a value`, ""},
	{"parameter with a blank", `0 issue "letsencrypt.org; validationmethods=dns-01, http-01"`, "caa.issuer", "", ""},

	{"iodef is an address", `0 issue "letsencrypt.org"; 0 iodef "security@example.com"`, "caa.iodef",
		`The CAA record 0 iodef "security@example.com" of example.com has no mailto: or https: URL`,
		`0 issue "letsencrypt.org"; 0 iodef "mailto:security@example.com"`},
	{"iodef is a host", `0 iodef "reports.example.com"`, "caa.iodef", "", ""},
	{"iodef is empty", `0 iodef ""`, "caa.iodef", "", ""},
	{"iodef begins like a URL", `0 iodef "httpd.example.com"`, "caa.iodef", "", ""},
	{"iodef over HTTP", `0 iodef "http://example.com/reports"`, "", "", ""},

	{"flag 1", `1 issue "letsencrypt.org"`, "caa.flags",
		`The CAA record 1 issue "letsencrypt.org" of example.com has the flags 1, of which only 128`, `0 issue ` +
			`"letsencrypt.org"`},
	{"flag 129", `129 issue "letsencrypt.org"`, "caa.flags", "", `128 issue "letsencrypt.org"`},
	{"several faults",
		`1 issue "https://letsencrypt.org"; 0 iodef "security@example.com"`, "caa.issuer caa.iodef caa.flags", "",
		`0 issue "letsencrypt.org"; 0 iodef "mailto:security@example.com"`},
}

// caaZone writes CAA records as in a zone file, each after a semicolon and a flag.
func caaZone(records string) (zone string) {
	for r := range strings.SplitSeq(kit.Regexp(`; (\d)`)().ReplaceAllString(records, "\n$1"), "\n") {
		if r != "" {
			zone += "example.com. IN CAA " + r + "\n"
		}
	}
	return zone
}

// Each fault has a finding of its own, and the suggested record has none.
func TestCAA(t *testing.T) {
	for _, tt := range caaCases {
		t.Run(tt.name, func(t *testing.T) {
			r := play(t, plus(caaZone(tt.records)))
			require.Equal(t, tt.want, codes(r))
			if tt.want == "" {
				return
			}
			require.True(t, strings.HasPrefix(r.Findings[0].Detail, tt.detail), r.Findings[0].Detail)
			value := r.Recommendations[0].SuggestedValue
			require.ElementsMatch(t, strings.Fields(caaZone(tt.suggests)), strings.Fields(value), value)
			if value != "" {
				require.Empty(t, codes(play(t, plus(value))))
			}
		})
	}
}

func caaScenes() (list []scene) {
	for _, c := range caaCases {
		list = append(list, scene{c.name, plus(caaZone(c.records)), c.want})
	}
	return list
}
