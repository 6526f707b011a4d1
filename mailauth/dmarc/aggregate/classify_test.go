package aggregate

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// Each case is about the source of its first record; others set the stage.
func TestClassify(t *testing.T) {
	direct := rowXML("192.0.2.25 900 none pass pass example.com", "dkim example.com s1 pass", "spf example.com pass")
	tests := []struct {
		name    string
		policy  string
		records []string
		class   Class
		reason  Reason
		service string
	}{
		{"SPF aligned", pNone, []string{rowXML("192.0.2.1 1 none fail pass example.com", "spf example.com pass")}, Legitimate, ReasonSPF, ""},
		{"SPF aligned for a subdomain", pNone, []string{rowXML("192.0.2.1 1 none fail pass example.com", "spf bounce.example.com pass")},
			Legitimate, ReasonSPF, ""},
		{"an evaluation without results", pNone, []string{rowXML("192.0.2.1 1 none pass pass example.com")}, Legitimate, ReasonSPF, ""},
		{"a service that signs", pNone, []string{rowXML("192.0.2.1 1 none pass fail example.com", "dkim example.com k2 pass", "spf mail7.mcsv.net pass")},
			Legitimate, ReasonServiceSigned, "Mailchimp"},
		{"a service that is not set up", pNone, []string{mailchimp}, Unlisted, ReasonService, "Mailchimp"},
		{"a service in whose name SPF failed", pNone, []string{rowXML("203.0.113.7 1 none fail fail example.com", "spf mail7.mcsv.net fail"), direct},
			Spoofing, ReasonForgedPath, ""},
		{"the owner's account at Google without a key", pNone, []string{rowXML("192.0.2.1 1 none fail fail example.com",
			"dkim example-com.20230601.gappssmtp.com x pass", "spf example.com fail")}, Unlisted, ReasonService, "Google Workspace"},
		{"a mailbox that forwards", pNone, []string{rowXML("192.0.2.1 1 none pass fail example.com", "dkim example.com s1 pass", "spf gmail.com pass"), direct},
			Forwarding, ReasonSharedSignature, "Google Workspace"},
		{"forwarding without rewriting", pNone, []string{forwarder, direct}, Forwarding, ReasonDKIMSurvived, ""},
		{"forwarding with rewriting", pNone, []string{rowXML("192.0.2.1 1 none pass fail example.com", "dkim example.com s1 pass", "spf forward.example pass"), direct},
			Forwarding, ReasonSharedSignature, ""},
		{"a service of one's own", pNone, []string{rowXML("192.0.2.1 1 none pass fail example.com", "dkim example.com shop pass", "spf shop.example pass"), direct},
			Legitimate, ReasonDKIM, ""},
		{"a known forwarder", pNone, []string{rowXML("192.0.2.1 1 none fail fail example.com", "spf pobox.com pass")}, Forwarding, ReasonForwarder, "Pobox"},
		{"a mailing list by override", pNone, []string{rowXML("192.0.2.1 1 none fail fail example.com", "reason mailing_list", "spf list.example pass")},
			Forwarding, ReasonOverride, ""},
		{"trusted by ARC", pNone, []string{rowXML("192.0.2.1 1 none fail fail example.com", "reason local_policy arc=pass as.1.list.example=pass", "spf example.com fail")},
			Forwarding, ReasonOverride, ""},
		{"an override for few of many", pNone, []string{spoofer, rowXML("203.0.113.200 1 none fail fail example.com", "reason forwarded", "spf example.com fail")},
			Spoofing, ReasonSPFDenied, ""},
		{"a list that breaks signatures", pNone, []string{rowXML("192.0.2.1 1 none fail fail example.com", "dkim example.com s1 fail", "spf list.example pass"), direct},
			Forwarding, ReasonBrokenSignature, ""},
		{"a broken signature and nothing else", pNone, []string{rowXML("192.0.2.1 1 none fail fail example.com", "dkim example.com s1 fail", "spf example.com fail"), direct},
			UnknownSource, ReasonBrokenSignature, ""},
		{"a made-up signature", pNone, []string{rowXML("203.0.113.7 1 none fail fail example.com", "dkim example.com nobody fail", "spf example.com fail"), direct},
			Spoofing, ReasonSPFDenied, ""},
		{"strict alignment", `<p>none</p><aspf>s</aspf>`, []string{rowXML("192.0.2.1 1 none fail fail example.com", "spf bounce.example.com pass")},
			Legitimate, ReasonRelated, ""},
		{"strict alignment that is met", `<p>none</p><adkim>s</adkim><aspf>s</aspf>`, []string{rowXML("192.0.2.1 1 none pass pass example.com",
			"dkim example.com s1 pass", "spf example.com pass")}, Legitimate, ReasonSPF, ""},
		{"a stranger", pNone, []string{rowXML("192.0.2.1 1 none fail fail example.com", "spf other.example pass")}, UnknownSource, ReasonUnrelatedDomain, ""},
		{"errors on the way", pNone, []string{rowXML("192.0.2.1 1 none fail fail example.com", "spf example.com temperror")}, UnknownSource, ReasonNotChecked, ""},
		{"failed without results", pNone, []string{rowXML("192.0.2.1 1 none fail fail example.com")}, UnknownSource, ReasonNoResults, ""},
		{"another domain", pNone, []string{rowXML("192.0.2.1 1 none pass pass example.net", "spf example.net pass"), direct}, UnknownSource, ReasonForeignDomain, ""},
		{"contradiction", pNone, []string{rowXML("192.0.2.1 1 none pass fail example.com", "dkim example.com s1 fail", "spf example.com fail")},
			UnknownSource, ReasonContradiction, ""},
		{"spoofing", pNone, []string{spoofer}, Spoofing, ReasonSPFDenied, ""},
		{"spoofing with a null sender", pNone, []string{rowXML("203.0.113.7 1 none fail fail example.com", "helo spammer.example none"), direct}, UnknownSource, ReasonUnauthenticated, ""},
		{"softfail from elsewhere", pNone, []string{rowXML("203.0.113.9 400 none fail fail example.com", "spf example.com softfail"), direct},
			UnknownSource, ReasonUnauthenticated, ""},
		{"softfail in the network of a good server", pNone, []string{rowXML("192.0.2.77 400 none fail fail example.com", "spf example.com softfail"), direct},
			Unlisted, ReasonNetwork, ""},
		{"an unlisted server although SPF ends in -all", pNone, []string{rowXML("192.0.2.77 400 none fail fail example.com", "spf example.com fail"), direct},
			Unlisted, ReasonNetwork, ""},
		{"IPv6 in the network of a good server", pNone, []string{rowXML("2001:db8:1:2::7 4 none fail fail example.com", "spf example.com softfail"),
			rowXML("2001:db8:1:f::1 9 none pass pass example.com", "dkim example.com s1 pass", "spf example.com pass")}, Unlisted, ReasonNetwork, ""},
		{"a domain without signatures, whose forwarded mail looks as forged mail does", pNone, []string{
			rowXML("203.0.113.9 4 none fail fail example.com", "spf example.com fail"), rowXML("192.0.2.1 90 none fail pass example.com", "spf example.com pass")},
			UnknownSource, ReasonUnauthenticated, ""},
		{"a botnet", pNone, append([]string{rowXML("198.18.0.1 2 none fail fail example.com", "spf example.com softfail"), direct}, scattered...),
			Spoofing, ReasonScattered, ""},
		{"much from one address beside a botnet", pNone, append([]string{rowXML("198.51.100.1 200 none fail fail example.com", "spf example.com softfail"), direct}, scattered...),
			UnknownSource, ReasonUnauthenticated, ""},
		{"a domain that is not set up yet", pNone, []string{rowXML("192.0.2.1 1 none fail fail example.com", "spf example.com none")},
			UnknownSource, ReasonUnauthenticated, ""},
		{"a gateway on the way out, or in", pNone, []string{rowXML("192.0.2.1 1 none fail fail example.com", "spf pphosted.com pass"), direct},
			UnknownSource, ReasonGateway, "Proofpoint"},
		{"a HELO name of the domain", pNone, []string{rowXML("192.0.2.1 1 none fail pass example.com", "helo mx.example.com pass")}, Legitimate, ReasonSPF, ""},
		{"no messages", pNone, []string{rowXML("192.0.2.1 0 none fail fail example.com", "spf example.com fail")}, UnknownSource, ReasonNoMessages, ""},
	}
	seen := map[string]bool{string(ReasonMailboxRelay): true, string(ReasonHosting): true, // need reverse DNS, see TestResolvePTR
		string(ReasonOwnName): true, string(ReasonSameDays): true} // likewise, and several reports
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := feedbackXML(tt.policy, tt.records...)
			first := strings.Split(strings.Split(tt.records[0], "<source_ip>")[1], "<")[0]
			for _, order := range []string{file, feedbackXML(tt.policy, reversed(tt.records)...)} {
				for _, s := range analyze(t, order).Sources {
					if s.SourceIP.String() != first {
						continue
					}
					require.Equal(t, tt.class, s.Classification, s.Reason)
					require.Equal(t, tt.reason, s.Reason)
					require.Equal(t, tt.service, s.Service)
				}
			}
			seen[string(tt.reason)] = true
		})
	}
	for _, reason := range Reason("").Values() {
		require.True(t, seen[reason], "no test has the reason %s", reason)
		require.NotEmpty(t, explanations[Reason(reason)])
	}
}

// scattered is mail of a botnet.
var scattered = func() (rows []string) {
	for i := range scatteredNetworks {
		rows = append(rows, rowXML(fmt.Sprintf("100.%d.7.1 2 none fail fail example.com", i), "spf example.com softfail"))
	}
	return rows
}()

func reversed(list []string) []string {
	var r []string
	for i := range list {
		r = append(r, list[len(list)-1-i])
	}
	return r
}

// The names of the largest sources are looked up only if requested, and count only if forward-confirmed.
func TestResolvePTR(t *testing.T) {
	w := diagtest.NewWorld(t)
	w.SetTime(testNow)
	w.Zone(`
		10.2.0.192.in-addr.arpa. PTR mail-sor-f41.google.com.
		mail-sor-f41.google.com. A   192.0.2.10
		11.2.0.192.in-addr.arpa. PTR mail-sor-f42.google.com.
		mail-sor-f42.google.com. A   192.0.2.99
		12.2.0.192.in-addr.arpa. PTR a.pphosted.com.
		a.pphosted.com.          A   192.0.2.12
		13.2.0.192.in-addr.arpa. PTR o1.sendgrid.net.
		13.2.0.192.in-addr.arpa. PTR alias.example.
		o1.sendgrid.net.         A   192.0.2.13
		15.2.0.192.in-addr.arpa. PTR w1.kasserver.com.
		16.2.0.192.in-addr.arpa. PTR printer.example.com.
		printer.example.com.     A   192.0.2.16
		17.2.0.192.in-addr.arpa. PTR www.example.com.
		w1.kasserver.com.        A   192.0.2.15`)
	var records []string
	for _, ip := range []string{"192.0.2.10", "192.0.2.11", "192.0.2.12", "192.0.2.13", "192.0.2.14", "192.0.2.15", "192.0.2.16", "192.0.2.17", "2001:db8::1", "none"} {
		records = append(records, rowXML(ip+" 10 none fail fail example.com", "spf example.com fail"))
	}
	a, err := Analyze(t.Context(), w.Env(), Request{XML: feedbackXML(pNone, records...), ResolvePTR: true})
	require.NoError(t, err)
	require.False(t, a.Partial)
	got := map[string]string{}
	for _, s := range a.Sources {
		name := s.SourceText
		if s.SourceIP.IsValid() {
			name = s.SourceIP.String()
		}
		got[name] = strings.Join([]string{s.PTR, s.Service, string(s.Reason)}, " · ")
	}
	require.Equal(t, map[string]string{
		"192.0.2.10":  "mail-sor-f41.google.com · Google Workspace · mailbox_relay",
		"192.0.2.11":  "mail-sor-f42.google.com ·  · spf_denied", // anybody may write such a name
		"192.0.2.12":  "a.pphosted.com · Proofpoint · mail_gateway",
		"192.0.2.13":  "o1.sendgrid.net · Twilio SendGrid · known_service",
		"192.0.2.14":  " ·  · spf_denied",
		"192.0.2.15":  "w1.kasserver.com · All-Inkl · hosting_provider",
		"192.0.2.16":  "printer.example.com ·  · own_name",
		"192.0.2.17":  "www.example.com ·  · spf_denied", // the name is not forward-confirmed
		"2001:db8::1": " ·  · spf_denied",
		"none":        " ·  · spf_denied",
	}, got)
}

// All sources concurrently: one round trip for the names, one for their addresses.
func TestRoundTrips(t *testing.T) {
	trips := diagtest.RoundTrips(t, func(w *diagtest.World) {
		w.Zone(`
			25.2.0.192.in-addr.arpa. PTR mx.example.com.
			mx.example.com.          A   192.0.2.25`)
	}, func(ctx context.Context, env *diag.Env) {
		_, err := Analyze(ctx, env, Request{XML: feedbackXML(pReject, own, spoofer, forwarder), ResolvePTR: true})
		require.NoError(t, err)
	})
	require.Equal(t, 2, trips)
}

// testIP is one of many addresses.
func testIP(i int) string {
	return netip.AddrFrom4([4]byte{198, 51 + byte(i>>16), byte(i >> 8), byte(i)}).String()
}

// Only the largest sources are looked up.
func TestResolvePTRIsBounded(t *testing.T) {
	w := diagtest.NewWorld(t)
	var records []string
	for i := range 3 * maxResolved {
		records = append(records, rowXML(testIP(i)+" 1 none fail fail example.com", "spf example.com fail"))
	}
	_, err := Analyze(t.Context(), w.Env(), Request{XML: feedbackXML(pNone, records...), ResolvePTR: true})
	require.NoError(t, err)
	require.Len(t, w.Queries(), maxResolved)
}
