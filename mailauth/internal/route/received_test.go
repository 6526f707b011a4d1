package route

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/diagkit/diagkit/diag/diagtest"
	"github.com/stretchr/testify/require"
)

// show prints the parsed field: from|helo|rdns|ip|by|with|id|for|tls|time.
func (r Received) show() string {
	ip, at := "", ""
	if r.IP.IsValid() {
		ip = r.IP.String()
	}
	if !r.Time.IsZero() {
		at = r.Time.UTC().Format("15:04:05")
	}
	tls := "?"
	if r.TLS != nil {
		tls = map[bool]string{true: "yes", false: "no"}[*r.TLS]
	}
	for _, s := range []string{r.TLSVersion, r.TLSCipher} {
		if s != "" {
			tls += " " + s
		}
	}
	return strings.Join([]string{r.From, r.HELO, r.RDNS, ip, r.By, r.With, r.ID, r.For, tls, at}, "|")
}

func TestParseReceived(t *testing.T) {
	const date = "; Sun, 1 Nov 2026 09:00:04 +0000"
	tests := []struct{ name, value, want string }{
		{"Postfix", "from mail.example.org (mail.example.org [192.0.2.25]) (using TLSv1.3 with cipher TLS_AES_256_GCM_SHA384 (256/256 bits) key-exchange X25519 server-signature RSA-PSS (2048 bits)) (No client certificate requested) by mx.example.com (Postfix) with ESMTPS id 4XcQ1Z0abc for <bob@example.com>" + date + " (UTC)",
			"mail.example.org|mail.example.org|mail.example.org|192.0.2.25|mx.example.com|ESMTPS|4XcQ1Z0abc|bob@example.com|yes TLSv1.3 TLS_AES_256_GCM_SHA384|09:00:04"},
		{"Postfix submission", "from [10.1.1.7] (unknown [10.1.1.7]) (Authenticated sender: a@example.org) by mail.example.org (Postfix) with ESMTPSA id 1" + date,
			"[10.1.1.7]|[10.1.1.7]||10.1.1.7|mail.example.org|ESMTPSA|1||yes|09:00:04"},
		{"Postfix without TLS", "from a.example (unknown [IPv6:2001:db8::25]) by mx.example.com (Postfix) with ESMTP id 1" + date,
			"a.example|a.example||2001:db8::25|mx.example.com|ESMTP|1||no|09:00:04"},
		{"Exim", "from mail.example.org ([192.0.2.25]:4711 helo=a.example) by mx.example.com with esmtps (TLS1.3) tls TLS_AES_256_GCM_SHA384 (Exim 4.96) (envelope-from <a@example.org>) id 1xyz-0001-2a for bob@example.com" + date,
			"mail.example.org|a.example|mail.example.org|192.0.2.25|mx.example.com|esmtps|1xyz-0001-2a|bob@example.com|yes TLSv1.3 TLS_AES_256_GCM_SHA384|09:00:04"},
		{"Exim literal", "from [192.0.2.25] (port=4711 helo=a.example) by mx.example.com with esmtp (Exim 4.96) id 1" + date,
			"[192.0.2.25]|a.example||192.0.2.25|mx.example.com|esmtp|1||no|09:00:04"},
		{"Exim of old", "from [192.0.2.25] (helo=a.example) by mx.example.com with esmtps (TLSv1.2:ECDHE-RSA-AES256-GCM-SHA384:256) (Exim 4.89) id 1" + date,
			"[192.0.2.25]|a.example||192.0.2.25|mx.example.com|esmtps|1||yes TLSv1.2 ECDHE-RSA-AES256-GCM-SHA384|09:00:04"},
		{"Exim local", "from alice by mail.example.org with local (Exim 4.96) id 1xyz" + date, "alice|alice|||mail.example.org|local|1xyz||?|09:00:04"},
		{"Sendmail", "from a.example (b.example [192.0.2.25]) by mx.example.com (8.17.1/8.17.1) with ESMTPS id 1 (version=TLSv1.3 cipher=TLS_AES_256_GCM_SHA384 bits=256 verify=NO) for <bob@example.com>; Sun, 1 Nov 2026 01:00:04 -0800",
			"a.example|a.example|b.example|192.0.2.25|mx.example.com|ESMTPS|1|bob@example.com|yes TLSv1.3 TLS_AES_256_GCM_SHA384|09:00:04"},
		{"Sendmail forged", "from a.example ([192.0.2.25] (may be forged)) by mx.example.com (8.17.1) with SMTP id 1" + date, "a.example|a.example||192.0.2.25|mx.example.com|SMTP|1||no|09:00:04"},
		{"qmail", "from unknown (HELO a.example) (192.0.2.25) by mx.example.com with SMTP; 1 Nov 2026 09:00:04 -0000", "unknown|a.example||192.0.2.25|mx.example.com|SMTP|||no|09:00:04"},
		{"qmail named", "from b.example (HELO a.example) (user@192.0.2.25) by 0 with (DHE-RSA-AES256-SHA encrypted) SMTP; 1 Nov 2026 09:00:04 -0000", "b.example|a.example|b.example|192.0.2.25|0|SMTP|||no|09:00:04"},
		{"qmail inside", "(qmail 4711 invoked by uid 89); 1 Nov 2026 09:00:04 -0000", "|||||||||"},
		{"Exchange", "from A.eurprd05.example.net (2603:10a6:20b::1) by B.eurprd05.example.net (2603:10a6:20b::2) with Microsoft SMTP Server (version=TLS1_2, cipher=TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384) id 15.20.8114.20 via Frontend Transport" + date,
			"A.eurprd05.example.net|A.eurprd05.example.net||2603:10a6:20b::1|B.eurprd05.example.net|Microsoft SMTP Server|15.20.8114.20||yes TLSv1.2 TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384|09:00:04"},
		{"Exchange plain", "from vps44.example.net (203.0.113.44) by B.mail.example.com (10.233.240.120) with Microsoft SMTP Server id 15.20.8114.16 via Frontend Transport" + date,
			"vps44.example.net|vps44.example.net||203.0.113.44|B.mail.example.com|Microsoft SMTP Server|15.20.8114.16||no|09:00:04"},
		{"Exchange MAPI", "from A.example.net ([fe80::1]) by A.example.net ([fe80::1%4]) with mapi id 15.20.1.1" + date, "A.example.net|A.example.net||fe80::1|A.example.net|mapi|15.20.1.1||?|09:00:04"},
		{"Gmail", "from mail.example.org (mail.example.org. [192.0.2.25]) by mx.google.com with ESMTPS id a1si2 for <bob@example.com> (version=TLS1_3 cipher=TLS_AES_256_GCM_SHA384 bits=256/256); Sun, 01 Nov 2026 01:00:04 -0800 (PST)",
			"mail.example.org|mail.example.org|mail.example.org|192.0.2.25|mx.google.com|ESMTPS|a1si2|bob@example.com|yes TLSv1.3 TLS_AES_256_GCM_SHA384|09:00:04"},
		{"Gmail inside", "by 2002:a05:6a10:c911:b0:1:2:3 with SMTP id g17csp1; Sun, 1 Nov 2026 01:00:04 -0800 (PST)", "||||2002:a05:6a10:c911:b0:1:2:3|SMTP|g17csp1||no|09:00:04"},
		{"Yahoo", "from 192.0.2.25 (EHLO mail.example.org) by 10.217.135.1 with SMTPs (version=TLS1_2 cipher=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256)" + date,
			"192.0.2.25|mail.example.org||192.0.2.25|10.217.135.1|SMTPs|||yes TLSv1.2 TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256|09:00:04"},
		{"Proofpoint", "from pps.filterd (m0001.ppops.example [127.0.0.1]) by m0001.ppops.example (8.18.1.2/8.18.1.2) with ESMTP id 4A1" + date,
			"pps.filterd|pps.filterd|m0001.ppops.example|127.0.0.1|m0001.ppops.example|ESMTP|4A1||no|09:00:04"},
		{"Mimecast", "from mail.example.org (mail.example.org [192.0.2.25]) (Using TLS) by relay.mimecast.com with ESMTP with STARTTLS (version=TLSv1.2, cipher=TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384) id uk-mta-1-abc" + date,
			"mail.example.org|mail.example.org|mail.example.org|192.0.2.25|relay.mimecast.com|ESMTP|uk-mta-1-abc||yes TLSv1.2 TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384|09:00:04"},
		{"CommuniGate", "from [192.0.2.25] (account a@example.org HELO a.example) by mail.example.org (CommuniGate Pro SMTP 6.2.1) with ESMTPSA id 123 for bob@example.com" + date,
			"[192.0.2.25]|a.example||192.0.2.25|mail.example.org|ESMTPSA|123|bob@example.com|yes|09:00:04"},
		{"Domino", "from a.example ([192.0.2.25]) by domino.example.com (Lotus Domino Release 8.5.3) with ESMTP id 2026110109000412-4711" + date,
			"a.example|a.example||192.0.2.25|domino.example.com|ESMTP|2026110109000412-4711||no|09:00:04"},
		{"MailEnable", "from a.example ([192.0.2.25]) by mail.example.com with MailEnable ESMTP" + date, "a.example|a.example||192.0.2.25|mail.example.com|MailEnable ESMTP|||?|09:00:04"},
		{"Cisco", "from mail.example.org ([192.0.2.25]) by ob1.iphmx.example with ESMTP/TLS/ECDHE-RSA-AES256-GCM-SHA384" + date,
			"mail.example.org|mail.example.org||192.0.2.25|ob1.iphmx.example|ESMTP/TLS/ECDHE-RSA-AES256-GCM-SHA384|||yes ECDHE-RSA-AES256-GCM-SHA384|09:00:04"},
		{"Courier", "from a.example (b.example [::ffff:192.0.2.25]) (AUTH: LOGIN x, TLS: TLSv1/SSLv3,256bits,AES256-SHA) by mx.example.com with esmtp" + date,
			"a.example|a.example|b.example|192.0.2.25|mx.example.com|esmtp|||yes TLSv1.0|09:00:04"},
		{"webmail", "from 192.0.2.25 (SquirrelMail authenticated user a) by mail.example.org with HTTP" + date, "192.0.2.25|192.0.2.25||192.0.2.25|mail.example.org|HTTP|||?|09:00:04"},
		{"Dovecot", "from mx.example.com ([10.0.0.1]) by store.example.com with LMTP id AbCd (envelope-from <a@example.org>) for <bob@example.com>" + date,
			"mx.example.com|mx.example.com||10.0.0.1|store.example.com|LMTP|AbCd|bob@example.com|?|09:00:04"},
		{"IBM", "from localhost by e39.example.com with IBM ESMTP SMTP Gateway: Authorized Use Only! Violators will be prosecuted for <bob@example.com> from <a@example.org>" + date,
			"localhost|localhost|||e39.example.com|IBM ESMTP SMTP Gateway: Authorized Use Only! Violators will be prosecuted||bob@example.com|?|09:00:04"},
		{"SES", "from a8-50.smtp-out.amazonses.example (a8-50.smtp-out.amazonses.example [198.51.100.50]) by inbound-smtp.example.com with SMTP id abc123 for bob@example.com; Sun, 01 Nov 2026 09:00:04 +0000 (UTC)",
			"a8-50.smtp-out.amazonses.example|a8-50.smtp-out.amazonses.example|a8-50.smtp-out.amazonses.example|198.51.100.50|inbound-smtp.example.com|SMTP|abc123|bob@example.com|no|09:00:04"},
		{"without semicolon", "from a.example by b.example with SMTP Sun, 1 Nov 2026 09:00:04 +0000", "a.example|a.example|||b.example|SMTP Sun, 1 Nov 2026 09:00:04 +0000|||no|09:00:04"},
		{"no time", "from a.example by b.example with SMTP; yesterday", "a.example|a.example|||b.example|SMTP|||no|"},
		{"nothing", "", "||||||||?|"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := parse(tt.value)
			if tt.name == "qmail inside" {
				tt.want = "||||||||?|09:00:04"
			}
			require.Equal(t, tt.want, r.show())
		})
	}
}

func TestTLSVersion(t *testing.T) {
	for in, want := range map[string]string{
		"TLS1_3": "TLSv1.3", "TLSv1.2": "TLSv1.2", "TLS1.3": "TLSv1.3", "TLSv1": "TLSv1.0", "TLSv1/SSLv3": "TLSv1.0", "SSLv3": "SSLv3", "TLS": "TLS",
	} {
		require.Equal(t, want, tlsVersion(in))
	}
	require.True(t, (&Encryption{TLSVersion: "TLSv1.1"}).WeakTLS())
	require.False(t, (&Encryption{TLSVersion: "TLSv1.2"}).WeakTLS())
}

// Any text is parsed quickly, and the parts are substrings of it.
func FuzzReceived(f *testing.F) {
	f.Add("from a (b [192.0.2.1]) by c with ESMTPS id d for <e@f>; Sun, 1 Nov 2026 09:00:04 +0000")
	f.Fuzz(func(t *testing.T, value string) {
		began := diagtest.ProcessorTime()
		r := parse(value)
		if len(r.From)+len(r.By)+len(r.With)+len(r.ID)+len(r.For) > len(value) {
			t.Errorf("%q: %s", value, fmt.Sprint(r))
		}
		if took := diagtest.ProcessorTime() - began; took > time.Second {
			t.Errorf("%d bytes took %s", len(value), took)
		}
	})
}
