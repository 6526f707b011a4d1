package filters

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/mailauth/authres"
	"github.com/diagkit/diagkit/mailauth/message"
	"github.com/stretchr/testify/require"
)

func TestSpamVerdicts(t *testing.T) {
	tests := []struct{ field, want string }{ // vendor verdict score, then details by their keys
		{"X-Forefront-Antispam-Report: CIP:203.0.113.44;CTRY:US;LANG:de;SCL:5;SRV:;IPV:NLI;SFV:SPM;H:a.example;PTR:;CAT:SPOOF;SFS:(1);DIR:INB;",
			"microsoft spoofing 5 CAT=SPOOF: spoofing: the sender is not who it claims to be CIP=203.0.113.44 CTRY=US DIR=INB: inbound H=a.example IPV=NLI: the address is on no list LANG=de SCL=5: spam SFV=SPM: marked as spam by the filter"},
		{"X-Forefront-Antispam-Report: SCL:1;SFV:NSPM;CAT:NONE;", "microsoft not_spam 1 CAT=NONE: no category SCL=1: not spam SFV=NSPM: not spam"},
		{"X-Forefront-Antispam-Report: SCL:-1;SFV:SKN;", "microsoft allowed -1 SCL=-1: not filtered: a trusted sender, an allow list or a mail flow rule SFV=SKN: marked as not spam before filtering, mostly by a mail flow rule"},
		{"X-MS-Exchange-Organization-SCL: 9", "microsoft spam 9 SCL=9: high confidence spam"},
		{"X-MS-Exchange-Organization-SCL: 3", "microsoft suspicious 3 SCL=3: rarely used: between not spam and spam"},
		{"X-Microsoft-Antispam: BCL:7;ARA:13230040;", "microsoft bulk 7 BCL=7: from a bulk sender with a mixed number of complaints"},
		{"X-Microsoft-Antispam: BCL:0;", "microsoft not_spam 0 BCL=0: not from a bulk sender"},
		{"X-MS-Exchange-Organization-AuthAs: Anonymous", "microsoft not_stated AuthAs=Anonymous: came from outside without logging in"},
		{"Authentication-Results: spf=fail; compauth=fail reason=601", "microsoft spoofing compauth=fail reason=601: implicit authentication failed for a domain of the recipient's own organization"},
		{"Authentication-Results: spf=pass; compauth=pass reason=109", "microsoft not_spam compauth=pass reason=109: authentication passed"},
		{"X-Spam-Status: Yes, score=15.2 required=5.0 tests=A,B,\n\tC autolearn=no version=3.4.2", "spamassassin spam 15.2 autolearn=no required=5.0 tests=A,B, C version=3.4.2"},
		{"X-Spam-Status: No, score=-7.1 tagged_above=-999 required=5 tests=[BAYES_00=-1.9, SPF_PASS=-0.001] autolearn=ham", "spamassassin not_spam -7.1 autolearn=ham required=5 tests=BAYES_00=-1.9, SPF_PASS=-0.001"},
		{"X-Spam-Status: No, hits=2 required=5", "spamassassin not_spam 2 required=5"},
		{"X-Spam-Flag: YES", "spamassassin spam value=YES"},
		{"X-Spam-Level: *****", "spamassassin not_stated level=*****"},
		{"X-Spamd-Result: default: False [1.40 / 15.00]; R_SPF_ALLOW(-0.20)[+ip4:192.0.2.0/24]", "rspamd not_spam 1.4 required=15.00 tests=R_SPF_ALLOW(-0.20)[+ip4:192.0.2.0/24]"},
		{"X-Rspamd-Action: add header", "rspamd spam action=add header"},
		{"X-Proofpoint-Spam-Details: rule=notspam policy=default score=0 spamscore=0 phishscore=0", "proofpoint not_spam 0 phishscore=0 policy=default rule=notspam spamscore=0"},
		{"X-Proofpoint-Spam-Details: rule=spam policy=default score=100", "proofpoint spam 100 policy=default rule=spam"},
		{"X-Mimecast-Spam-Score: 7", "mimecast spam 7 scale=5 and more is spam with moderate settings, 3 with aggressive, 7 with relaxed ones"},
		{"X-Mimecast-Impersonation-Protect: Policy=Default;Similar Internal Domain=true", "mimecast suspicious policy=Default similar internal domain=true"},
		{"X-Barracuda-Spam-Status: Yes, SCORE=8.00 using global scores of TAG_LEVEL=1000.0 KILL_LEVEL=7.0 tests=A", "barracuda spam 8 kill_level=7.0 tag_level=1000.0 tests=A"},
		{"X-ThreatScanner-Verdict: Negative", "cisco not_spam value=Negative"},
		{"X-PMX-Spam: Gauge=IIIIIIII, Probability=98%, Report='A 0.1'", "sophos spam 98 report=Gauge=IIIIIIII, Probability=98%, Report='A 0.1'"},
		{"X-TM-AS-Result: Yes--21.1-5.0-31-10", "trendmicro spam 21.1 result=Yes--21.1-5.0-31-10"},
		{"X-Amavis-Alert: INFECTED, message contains virus: EICAR", "amavis malware alert=INFECTED, message contains virus: EICAR"},
		{"X-Bogosity: Unsure, tests=bogofilter, spamicity=0.5", "bogofilter suspicious spamicity=0.5"},
		{"X-KLMS-AntiSpam-Status: not_detected", "kaspersky not_spam status=not_detected"},
		{"X-Example-MailScanner-SpamCheck: not spam, SpamAssassin (score=-1.9, required 5)", "mailscanner not_spam -1.9 check=not spam, SpamAssassin (score=-1.9, required 5)"},
		{"X-Gm-Spam: 1", "gmail spam value=1"},
		{"X-Gm-Phishy: 1", "gmail phishing"},
		{"X-YahooFilteredBulk: 192.0.2.25", "yahoo bulk address=192.0.2.25"},
		{"X-Apple-Action: MOVE_TO_FOLDER/INBOX", "apple not_spam folder=MOVE_TO_FOLDER/INBOX"},
		{"X-Spam-known-sender: yes", "fastmail not_stated known sender=yes"},
		{"X-GMX-Antispam: 5 (Sender is in blacklist); Detail=V3", "gmx spam 5 result=5 (Sender is in blacklist); Detail=V3"},
		{"X-UI-Filterresults: notjunk:1;V03:K0:x", "gmx not_spam result=notjunk"},
		{"X-Yandex-Spam: 4", "yandex spam value=4: spam"},
		{"X-Mras: Ok", "mailru not_spam status=Ok"},
		{"X-SES-Virus-Verdict: FAIL", "amazon malware verdict=FAIL"},
		{"X-VR-SPAMSTATE: OK", "vade not_spam value=OK"},
	}
	for _, tt := range tests {
		t.Run(tt.field[:min(len(tt.field), 50)], func(t *testing.T) {
			m := message.Split([]byte(tt.field + "\n"))
			found := Read(m)
			for _, f := range m.All("Authentication-Results") {
				h, err := authres.Parse(f.Value())
				require.NoError(t, err)
				found = append(found, Composite(f, h.Results[len(h.Results)-1]))
			}
			require.Len(t, found, 1)
			v := found[0]
			got := v.Vendor + " " + string(v.Verdict)
			if v.Score != nil {
				got += fmt.Sprintf(" %g", *v.Score)
			}
			for _, key := range slices.Sorted(maps.Keys(v.Details)) {
				got += " " + key + "=" + v.Details[key]
			}
			require.Equal(t, tt.want, got)
		})
	}
}

// Every known field accepts any value, including the words of other filters.
func TestSpamFieldsCope(t *testing.T) {
	for _, value := range []string{"", "x", "Yes", "-", "1e999", "NaN", "=", ":", ";;;=:", "[", "a=b;c:d", strings.Repeat("a=1;", 5000)} {
		var header strings.Builder
		for _, f := range fields() {
			fmt.Fprintf(&header, "%s: %s\n", f.name, value)
		}
		for _, v := range Read(message.Split([]byte(header.String()))) {
			require.NotEmpty(t, v.Vendor)
			require.Contains(t, Judgment("").Values(), string(v.Verdict))
			require.LessOrEqual(t, len(v.Details), maxDetails)
		}
	}
	require.Greater(t, len(fields()), 60)
}
